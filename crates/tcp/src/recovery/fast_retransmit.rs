//! The fast retransmit of Reno and NewReno.

use crate::segment::Output;
use crate::state::{LastCut, State};
use paceline_core::Instant;
use std::cmp::Ordering;

/// A duplicate acknowledgement. The third means a loss, if the recovery `may_retransmit` now; later ones inflate the window; the
/// first two let a new packet out each, if limited transmit is on.
pub(super) fn on_duplicate(state: &mut State, may_retransmit: bool, now: Instant, out: &mut impl Output) {
    state.count_duplicate();
    match state.duplicates.cmp(&state.config.duplicate_threshold) {
        Ordering::Less if state.config.limited_transmit => state.limited_transmit(now, out),
        Ordering::Less => {}
        Ordering::Equal if state.is_within_mark() => {
            state.repair_within_mark(now, out);
            state.inflation = state.config.duplicate_threshold;
        }
        Ordering::Equal if may_retransmit => {
            state.recover = state.end;
            state.last_cut = LastCut::DuplicateAcks;
            state.cut_to_half();
            state.restart_timer_and_stop_timing(now);
            state.transmit(state.una, now, out);
            state.inflation = state.config.duplicate_threshold;
        }
        Ordering::Equal => {}
        Ordering::Greater if state.last_cut == LastCut::DuplicateAcks => state.inflation += 1,
        Ordering::Greater => {}
    }
}

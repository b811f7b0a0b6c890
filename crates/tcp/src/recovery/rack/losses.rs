//! What is lost: what was sent before something that has arrived, and enough before it.

use super::arrivals::Arrivals;
use crate::sack::{CaState, SackState};
use crate::state::{State, probed_at};
use paceline_core::{Instant, Span};

/// What [`mark_lost`] found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marked {
    /// Packets lost that were not before.
    pub(super) lost: u32,
    /// Retransmissions among them.
    pub(super) again: bool,
    /// Something may have been overtaken: the timer runs for that.
    pub(super) waits: bool,
}

/// `tcp_rack_mark_lost`: what is lost, as far as what has arrived tells.
pub(super) fn mark_lost(state: &mut State, arrivals: &Arrivals, now: Instant) -> Marked {
    let mut marked = Marked::default();
    if arrivals.delivered == 0 {
        return marked;
    }
    let waits = detect_losses(state, now, &mut marked);
    if waits > Span::ZERO {
        state.await_reordering(waits, now);
        marked.waits = true;
    }
    marked
}

/// `tcp_rack_detect_loss`: how long until the last of what may be lost is.
pub(super) fn detect_losses(state: &mut State, now: Instant, marked: &mut Marked) -> Span {
    let (una, end) = (state.una, state.end);
    let threshold = state.config.duplicate_threshold;
    let patience = Span::from_nanos(state.cold.least().as_nanos() / 4);
    let smoothed = Span::from_seconds(state.cold.smoothed);
    let cold = &mut *state.cold;
    let (probe, trains) = (cold.probed(), &cold.trains);
    let SackState { board, rack, .. } = &mut *cold.sack;
    let sure = rack.ca_state >= CaState::Recovery || board.held() >= threshold;
    let patience = if sure { Span::ZERO } else { patience.min(smoothed) };
    let mut longest = Span::ZERO;
    // Until when one waits that was sent then; `None` where nothing sent after it has arrived.
    let (latest, round_trip) = (rack.latest, rack.round_trip);
    let wait = |at: Instant, end: u32| (latest > (at, end)).then(|| (at + round_trip + patience).since(now));
    let mut seq = board.gap_from(rack.lost_to.max(una));
    while seq < end {
        let at = probed_at(probe, seq).unwrap_or_else(|| trains.of(seq).at);
        match wait(at, seq + 1) {
            None => break,
            Some(Span::ZERO) => {
                marked.lost += 1;
                rack.lost_to = seq + 1;
            }
            Some(more) => longest = longest.max(more),
        }
        seq = board.gap_from(seq + 1);
    }
    let again = rack.latest_resent;
    for one in rack.resent.iter_mut().filter(|one| !one.lost) {
        match wait(one.at, if again { one.seq + 1 } else { one.end }) {
            None => break,
            Some(Span::ZERO) => {
                one.lost = true;
                marked.lost += 1;
                marked.again = true;
            }
            Some(more) => longest = longest.max(more),
        }
    }
    longest
}

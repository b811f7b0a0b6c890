//! Tahoe: fast retransmit, then slow start.
//!
//! *Idea.* Three duplicate acknowledgements mean a loss: back to the first packet not acknowledged, with a window of one.
//! *Parameters.* Those of Reno; `careful`: duplicates for packets sent before the last loss cause no second fast retransmit.
//! *Where it breaks.* It retransmits packets that have arrived after the lost one, and the pipe drains at every loss.
//! *References.* V. Jacobson, "Congestion avoidance and control" (1988); ns-2.35 tcp/tcp.cc `TcpAgent::dupack_action`.

use super::loss_recovery::{LossRecovery, WHOLE_WINDOW};
use crate::feedback::Ack;
use crate::segment::Output;
use crate::state::{LastCut, State};
use paceline_core::Instant;
use std::cmp::Ordering;

pub(super) struct Tahoe;

impl LossRecovery for Tahoe {
    #[inline]
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
        match ack.next.cmp(&state.una) {
            Ordering::Greater => state.on_new_ack(ack, now),
            Ordering::Equal => on_duplicate(state, now, out),
            Ordering::Less => {}
        }
        WHOLE_WINDOW
    }

    fn on_timeout(state: &mut State) {
        state.recover = state.end; // ns-2 goes on counting duplicates
    }
}

fn on_duplicate(state: &mut State, now: Instant, out: &mut impl Output) {
    state.count_duplicate();
    match state.duplicates.cmp(&state.config.duplicate_threshold) {
        // After a timeout the packet may be a retransmission, since ns-2 goes on counting duplicates.
        Ordering::Less if state.config.limited_transmit => state.limited_transmit(now, out),
        Ordering::Equal if state.is_within_mark() => {
            state.last_cut = LastCut::DuplicateAcks;
            state.shrink_to_one();
            state.restart_timer_and_stop_timing(now);
            state.next = state.una;
        }
        Ordering::Equal if state.recovered() => {
            state.recover = state.end;
            state.last_cut = LastCut::DuplicateAcks;
            state.cut_to_one();
            state.restart_timer_and_stop_timing(now);
            state.next = state.una;
        }
        Ordering::Less | Ordering::Equal | Ordering::Greater => {}
    }
}

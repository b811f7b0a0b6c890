//! FACK: the packets beyond the highest one held are in flight, and no others.
//!
//! *Idea.* `forward` is one more than the highest packet that the receiver reports. In flight are the packets sent beyond it and the
//! retransmissions: `next - forward + retransmitted`. A hole of three packets' width below `forward` starts recovery, without waiting
//! for three duplicates. While the packets in flight are below the window, holes are filled in order, then new data are sent. As in
//! ns-2, the window is cut to one packet and grows on each acknowledgement of the recovery, by slow start up to half of its earlier
//! size, which it reaches when half a window has left the network.
//! *Parameters.* None of its own; limited transmit does not apply. Every acknowledgement in recovery is timed by its echo.
//! *Where it breaks.* Reordering beyond three packets is taken for a loss. A lost retransmission is noticed (a packet sent after it has
//! arrived), but stops everything until the timeout.
//! *References.* M. Mathis, J. Mahdavi, "Forward acknowledgment" (1996); ns-2.35 tcp/tcp-fack.cc, tcp/scoreboard.cc.

use super::loss_recovery::{LossRecovery, NOTHING, WHOLE_WINDOW};
use crate::feedback::{Ack, Block};
use crate::rtt::smoothed;
use crate::sack::SackState;
use crate::segment::Output;
use crate::state::{LastCut, State};
use paceline_core::Instant;

pub(super) struct Fack;

impl LossRecovery for Fack {
    #[inline(never)]
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
        if !state.cold.sack.is_blank() || !ack.blocks.is_empty() || ack.next == state.una {
            return on_ack_with_holes(state, ack, now, out);
        }
        if ack.next > state.una {
            state.on_new_ack(ack, now);
        }
        WHOLE_WINDOW
    }

    fn on_timeout(state: &mut State) {
        if state.cold.sack.is_blank() {
            return;
        }
        // A recovery that runs continues to its recovery point.
        state.cold.sack.stalled = false;
        state.cold.sack.forward = state.una;
        forget(&mut state.cold.sack);
    }

    /// Holes first, in order, then new data.
    fn next_packet(state: &State) -> Option<u32> {
        let sack = &*state.cold.sack;
        let retransmitted = sack.retransmitted.len() as i64 + i64::from(sack.counted_twice);
        let in_flight = i64::from(state.next) - i64::from(sack.forward) + retransmitted;
        if in_flight >= i64::from(state.window()) || sack.stalled {
            return None;
        }
        let hole = match sack.board.is_empty() {
            true => None,
            false => sack.board.hole_from(sack.retransmitted_to.max(state.una)),
        };
        hole.or_else(|| {
            let room = state.next - state.una < state.config.max_window && state.next < state.limit;
            room.then_some(state.next)
        })
    }

    fn on_sent(state: &mut State, seq: u32, _now: Instant) {
        if seq < state.next {
            mark_retransmitted(state, seq);
        } else {
            state.next = seq + 1;
        }
    }
}

fn on_ack_with_holes(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
    if state.cold.sack.is_blank() {
        state.cold.sack.forward = state.una;
    }
    if state.cold.sack.recovering {
        if ack.next >= state.una {
            on_ack_in_recovery(state, ack, now);
        }
        return WHOLE_WINDOW;
    }
    if ack.next > state.una && ack.blocks.is_empty() {
        state.on_new_ack(ack, now);
        let sack = &mut *state.cold.sack;
        sack.forward = ack.next;
        sack.beyond = 0;
        sack.stalled = false;
        forget(sack);
    } else if ack.next >= state.una {
        learn(state, state.una, ack);
        acknowledge(state, ack, now);
        let sack = &mut *state.cold.sack;
        sack.beyond = i64::from(sack.forward) - i64::from(ack.next) - 1;
        if sack.beyond >= i64::from(state.config.duplicate_threshold) {
            enter_recovery(state, now, out);
        }
    }
    if state.cold.sack.beyond == 0 { WHOLE_WINDOW } else { NOTHING }
}

fn enter_recovery(state: &mut State, now: Instant, out: &mut impl Output) {
    state.recover = state.next + 1; // the packet that is sent next must be acknowledged too
    state.last_cut = LastCut::DuplicateAcks;
    state.cut_to_one();
    state.restart_timer_and_stop_timing(now);
    state.cold.sack.recovering = true;
    mark_retransmitted(state, state.una);
    state.transmit(state.una, now, out);
}

fn on_ack_in_recovery(state: &mut State, ack: Ack<'_>, now: Instant) {
    acknowledge(state, ack, now);
    learn(state, state.una, ack);
    let una = state.una;
    let sack = &mut *state.cold.sack;
    for block in ack.blocks {
        // A retransmission is lost when a packet sent after it has arrived.
        let lost = |&(seq, next): &(u32, u32)| seq < block.end && next < block.end;
        sack.stalled |= sack.retransmitted.iter().any(lost);
    }
    state.grow();
    let sack = &mut *state.cold.sack;
    if ack.blocks.is_empty() && una >= state.recover {
        sack.recovering = false;
        sack.stalled = false;
        sack.beyond = 0;
        forget(sack);
    }
}

/// Records an acknowledgement's number and time (ns-2 `oldack`), and the highest packet that it reports.
fn acknowledge(state: &mut State, ack: Ack<'_>, now: Instant) {
    state.una = ack.next;
    state.restart_timer(now); // by the estimate before this sample, as ns-2 does
    let sample = if state.config.timestamps {
        state.rtt.on_echo(&state.config, smoothed!(state), ack.next, now, ack.echo)
    } else {
        state.rtt.on_echo_in_recovery(&state.config, smoothed!(state), ack.next, now, ack.echo)
    };
    state.note_round_trip(Some(sample));
    let highest = ack.blocks.iter().map(|block| block.end).filter(|end| *end <= state.end).max();
    let forward = &mut state.cold.sack.forward;
    *forward = (*forward).max(highest.unwrap_or(0)).max(ack.next);
    state.next = state.next.max(*forward);
    state.stop_timer_if_finished(now);
}

/// Records the packets that the receiver holds beyond `una`.
fn learn(state: &mut State, una: u32, ack: Ack<'_>) {
    let end = state.end;
    let sack = &mut *state.cold.sack;
    sack.board.forget_below(una);
    for &Block { start, end: block_end } in ack.blocks {
        if block_end <= end {
            sack.board.add(Block { start: start.max(una), end: block_end });
        }
    }
    let board = &sack.board;
    sack.retransmitted.retain(|(seq, _)| *seq >= una && !board.holds(*seq));
}

fn mark_retransmitted(state: &mut State, seq: u32) {
    let next = state.next;
    let sack = &mut *state.cold.sack;
    match sack.retransmitted.iter_mut().find(|(known, _)| *known == seq) {
        // Before recovery by data that were written, then as it begins: ns-2 counts both in flight, and takes one off (`retran_data_`).
        Some((_, sent_before)) => {
            *sent_before = next;
            sack.counted_twice += 1;
        }
        None => sack.retransmitted.push((seq, next)),
    }
    sack.retransmitted_to = sack.retransmitted_to.max(seq + 1);
}

#[inline]
fn forget(sack: &mut SackState) {
    if !sack.board.is_empty() || !sack.retransmitted.is_empty() {
        sack.board.clear();
        sack.retransmitted.clear();
    }
    (sack.retransmitted_to, sack.counted_twice) = (0, 0);
}

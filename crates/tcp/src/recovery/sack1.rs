//! Sack1: ns-2's selective acknowledgements, with a count of what is in the pipe.
//!
//! *Idea.* Three duplicate acknowledgements that report something new start fast recovery: the window is halved, and `pipe`
//! counts the packets in flight: one less for each acknowledgement (two for a partial one, since the lost packet and its
//! retransmission have both left) and one more for each packet sent. While it is below the window, holes are filled in order, then
//! new data are sent.
//! *Parameters.* `partial_ack`: a partial acknowledgement sends two packets, whatever the pipe holds.
//! *Where it breaks.* A lost retransmission is found by a timeout only. A hole counts as lost as soon as one
//! packet beyond it has arrived, so reordering costs needless retransmissions once recovery runs.
//! *References.* K. Fall, S. Floyd, "Simulation-based comparisons of Tahoe, Reno and SACK TCP" (1996); RFC 2018; ns-2.35
//! tcp/tcp-sack1.cc, tcp/scoreboard-rq.cc.

use super::loss_recovery::{LossRecovery, NOTHING, WHOLE_WINDOW};
use crate::feedback::{Ack, Block};
use crate::segment::Output;
use crate::state::{LastCut, State};
use paceline_core::Instant;
use std::cmp::Ordering;

pub(super) struct Sack1;

impl LossRecovery for Sack1 {
    #[inline(never)]
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
        if state.cold.sack.is_blank() && ack.blocks.is_empty() {
            if ack.next > state.una {
                state.partial_seen = false;
                state.on_new_ack(ack, now);
            }
            return burst(state);
        }
        on_ack_with_holes(state, ack, now, out)
    }

    fn on_timeout(state: &mut State) {
        state.duplicates = 0;
        state.cold.sack.recovering = false;
        state.cold.sack.stalled = true;
        state.recover = state.end;
        clear(state);
    }

    /// Holes first, in order, then new data.
    fn next_packet(state: &State) -> Option<u32> {
        let sack = &*state.cold.sack;
        let room = if sack.recovering {
            sack.pipe < i64::from(state.cwnd as u32)
        } else {
            state.next - state.una < state.window()
        };
        if !room {
            return None;
        }
        let hole = match sack.board.is_empty() {
            true => None,
            false => sack.board.hole_from(sack.retransmitted_to.max(state.una)),
        };
        let limit = state.config.max_window;
        match hole {
            Some(hole) => (state.recover > 1 && hole - state.una < limit).then_some(hole),
            None => (state.next - state.una < limit && state.next < state.limit).then_some(state.next),
        }
    }

    fn on_sent(state: &mut State, seq: u32, _now: Instant) {
        if seq < state.next {
            mark_retransmitted(state, seq);
        } else {
            state.next = seq + 1;
        }
        state.cold.sack.pipe += 1;
    }
}

/// On a duplicate only recovery and limited transmit send.
fn burst(state: &State) -> u32 {
    if state.duplicates == 0 { WHOLE_WINDOW } else { NOTHING }
}

fn on_ack_with_holes(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
    if state.cold.sack.recovering {
        on_ack_in_recovery(state, ack, now, out);
        return WHOLE_WINDOW;
    }
    match ack.next.cmp(&state.una) {
        Ordering::Greater => {
            state.partial_seen = false;
            state.on_new_ack(ack, now);
            state.cold.sack.stalled = false;
            clear(state);
        }
        Ordering::Equal if !state.cold.sack.stalled => {
            if learn(state, ack) {
                on_duplicate(state, now, out);
            }
        }
        Ordering::Equal | Ordering::Less => {}
    }
    burst(state)
}

fn on_ack_in_recovery(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) {
    state.cold.sack.pipe -= 1;
    if ack.next >= state.recover {
        state.recover = 1;
        state.cold.sack.recovering = false;
        state.advance(Ack { next: ack.next.max(state.una), ..ack }, now);
        clear(state);
    } else if ack.next > state.una {
        state.una = ack.next;
        state.next = state.next.max(ack.next); // which a timeout may have set back
        learn(state, ack);
        if state.config.partial_ack {
            on_partial_ack(state, now, out);
        } else {
            state.cold.sack.pipe -= 1;
            state.restart_timer(now);
            state.rtt.end_back_off(&state.config, state.cold.smoothed);
        }
    } else {
        learn(state, ack);
    }
}

/// A duplicate acknowledgement that reports something new.
fn on_duplicate(state: &mut State, now: Instant, out: &mut impl Output) {
    state.count_duplicate();
    match state.duplicates.cmp(&state.config.duplicate_threshold) {
        Ordering::Less if state.config.limited_transmit => state.limited_transmit(now, out),
        Ordering::Equal if state.is_within_mark() => {
            begin_recovery(state);
            state.repair_within_mark(now, out);
        }
        Ordering::Equal if state.recovered() => {
            state.recover = state.end;
            begin_recovery(state);
            state.restart_timer_and_stop_timing(now);
            state.last_cut = LastCut::DuplicateAcks;
            state.cut_to_half();
            state.transmit(state.una, now, out);
        }
        Ordering::Less | Ordering::Equal | Ordering::Greater => {}
    }
}

/// The pipe lacks what the duplicates stand for; the first packet is sent again.
fn begin_recovery(state: &mut State) {
    let left = i64::from(state.config.duplicate_threshold);
    state.cold.sack.pipe = i64::from(state.end - state.una) - left;
    state.cold.sack.recovering = true;
    mark_retransmitted(state, state.una);
}

/// `partial_ack`: two packets at once, to be no slower than slow start.
fn on_partial_ack(state: &mut State, now: Instant, out: &mut impl Output) {
    for _ in 0..2 {
        let from = state.cold.sack.partial_from.max(state.una);
        let seq = state.cold.sack.board.gap_from(from);
        if seq >= state.limit || seq - state.una >= state.config.max_window {
            break;
        }
        state.next = state.next.max(seq);
        state.transmit(seq, now, out);
        mark_retransmitted(state, seq);
        state.cold.sack.partial_from = seq + 1;
    }
    state.cold.sack.pipe += 1;
    if !state.partial_seen {
        state.partial_seen = true;
        state.restart_timer(now);
        state.rtt.end_back_off(&state.config, state.cold.smoothed);
    }
}

fn mark_retransmitted(state: &mut State, seq: u32) {
    let to = &mut state.cold.sack.retransmitted_to;
    *to = (*to).max(seq + 1);
}

/// Records the blocks that an acknowledgement reports. Returns whether any packet of them was not known to be held.
fn learn(state: &mut State, ack: Ack<'_>) -> bool {
    let board = &mut state.cold.sack.board;
    let held = board.held();
    board.forget_below(state.una);
    let mut is_new = held != board.held();
    for &Block { start, end } in ack.blocks {
        // A packet that was never sent is not held, and one that is acknowledged needs no entry.
        if end <= state.end {
            is_new |= board.add(Block { start: start.max(state.una), end }) > 0;
        }
    }
    is_new
}

#[inline]
fn clear(state: &mut State) {
    let sack = &mut *state.cold.sack;
    if !sack.board.is_empty() {
        sack.board.clear();
    }
    sack.retransmitted_to = 0;
}

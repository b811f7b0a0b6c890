//! RFC 6675: conservative loss recovery from selective acknowledgements.
//!
//! *Idea.* A packet is lost when three packets sent after it are held. Recovery starts with the third duplicate
//! acknowledgement or when the first packet is lost by that rule. It halves the window, and sends while the window is above `pipe`:
//! the packets sent that are neither held nor lost, and the retransmissions. It sends lost packets first, then new data, then other
//! holes, and once in a recovery the last packet not held (the rescue). `pipe` limits limited transmit too. After a timeout the
//! reported packets stay known, and slow start skips them.
//! *Parameters.* `duplicate_threshold`; `limited_transmit`. With `rack`, [`super::rack`] recovers instead.
//! *Where it breaks.* A lost retransmission is found by a timeout only.
//! *References.* RFC 6675 (the code quotes the numbers of its steps); RFC 5681; RFC 6298.

use super::loss_recovery::{LossRecovery, NOTHING, WHOLE_WINDOW};
use crate::feedback::{Ack, Block};
use crate::sack::SackState;
use crate::segment::Output;
use crate::state::{LastCut, State};
use paceline_core::Instant;

pub(super) struct Rfc6675;

impl LossRecovery for Rfc6675 {
    #[inline(never)]
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
        if ack.blocks.is_empty() && state.cold.sack.board.is_empty() && !state.cold.sack.recovering {
            if ack.next <= state.una {
                return NOTHING; // a duplicate that reports nothing is ignored (section 2)
            }
            state.on_new_ack(ack, now);
            return WHOLE_WINDOW;
        }
        on_ack_with_holes(state, ack, now, out)
    }

    fn on_timeout(state: &mut State) {
        state.duplicates = 0;
        state.recover = state.end; // 5.1: no new recovery before this
        if state.cold.sack.is_blank() {
            return;
        }
        state.cold.sack.recovering = false;
        if state.cold.sack.board.holds(state.una) {
            state.cold.sack.board.clear(); // the receiver no longer has what it reported (RFC 2018 section 8)
        }
        state.cold.sack.retransmitted_to = 0;
    }

    /// `NextSeg`, while `pipe` is below the window.
    fn next_packet(state: &State) -> Option<u32> {
        let SackState { board, recovering, retransmitted_to, .. } = &*state.cold.sack;
        let window = state.window();
        if !recovering {
            // Limited transmit, or after a timeout: from `next` on, skipping what is held.
            let seq = board.gap_from(state.next);
            let in_flight = state.next - state.una - board.held_below(state.next);
            return (in_flight < window && fits(state, seq)).then_some(seq);
        }
        if pipe(state) >= window {
            return None;
        }
        match board.hole_from((*retransmitted_to).max(state.una)) {
            Some(hole) if hole < lost_below(state) => Some(hole), // (1)
            _ if fits(state, state.next) => Some(state.next),     // (2)
            Some(hole) => Some(hole),                             // (3)
            None => rescue(state),                                // (4)
        }
    }

    fn on_sent(state: &mut State, seq: u32, _now: Instant) {
        let una = state.una;
        let SackState { board, retransmitted_to, rescue, .. } = &mut *state.cold.sack;
        if seq >= state.next {
            state.next = seq + 1;
        } else if board.hole_from((*retransmitted_to).max(una)) == Some(seq) {
            *retransmitted_to = seq + 1;
        } else {
            *rescue = state.recover;
        }
    }
}

#[inline(never)]
fn on_ack_with_holes(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
    let una = state.una;
    let (held, held_below) = (state.cold.sack.board.held(), state.cold.sack.board.held_below(ack.next));
    let is_new = learn(state, ack);
    // Packets that were not known to have arrived.
    let reported = (state.cold.sack.board.held() + held_below).saturating_sub(held);
    let delivered = ack.next.saturating_sub(una).saturating_sub(held_below) + reported;
    if ack.next > una {
        if state.cold.sack.recovering {
            state.cold.sack.recovering = ack.next < state.recover; // A: beyond the recovery point it is over
            state.advance(ack, now);
        } else if state.config.count_packets {
            state.on_delivered(delivered, ack, now);
        } else {
            state.on_new_ack(ack, now);
        }
    } else if is_new && !state.cold.sack.recovering {
        state.count_duplicate();
        if !recovers(state, now, out) && !state.config.limited_transmit {
            return NOTHING;
        }
    }
    WHOLE_WINDOW
}

/// A packet is held beyond a gap. Enters recovery if that means a loss, and returns whether it did.
fn recovers(state: &mut State, now: Instant, out: &mut impl Output) -> bool {
    let allowed = state.una >= state.recover || state.last_cut == LastCut::None;
    let threshold = state.config.duplicate_threshold;
    let lost = state.duplicates >= threshold || state.cold.sack.board.highest_held(threshold).is_some();
    if allowed && lost {
        enter_recovery(state, now, out);
    }
    allowed && lost
}

/// 4: the first packet not acknowledged is retransmitted at once.
fn enter_recovery(state: &mut State, now: Instant, out: &mut impl Output) {
    state.recover = state.end;
    state.last_cut = LastCut::DuplicateAcks;
    state.cut_to_half();
    state.restart_timer_and_stop_timing(now);
    state.transmit(state.una, now, out);
    state.cold.sack.recovering = true;
    state.cold.sack.retransmitted_to = state.una + 1;
    state.cold.sack.rescue = state.una + 1;
}

/// New data: the receiver's window has room, and the application has written them.
fn fits(state: &State, seq: u32) -> bool {
    seq - state.una < state.config.max_window && seq < state.limit
}

/// (4): the last packet not held, once in a recovery, after more than the first retransmission has been acknowledged.
fn rescue(state: &State) -> Option<u32> {
    let last = state.cold.sack.board.last_gap_before(state.end);
    (state.una > state.cold.sack.rescue && last >= state.una).then_some(last)
}

/// `SetPipe`: the packets sent that are neither held nor lost, and the retransmissions.
fn pipe(state: &State) -> u32 {
    let SackState { board, retransmitted_to, .. } = &*state.cold.sack;
    let threshold = state.config.duplicate_threshold;
    let not_lost = state.end - lost_below(state) - board.held().min(threshold);
    let to = (*retransmitted_to).max(state.una);
    not_lost + (to - state.una - board.held_below(to))
}

/// `IsLost`: every packet before this that is not held is lost, since three above it are held.
fn lost_below(state: &State) -> u32 {
    state.cold.sack.board.highest_held(state.config.duplicate_threshold).unwrap_or(state.una)
}

/// `Update`: records the blocks that an acknowledgement reports. Returns whether any packet of them was not known to be held.
fn learn(state: &mut State, ack: Ack<'_>) -> bool {
    let una = ack.next.max(state.una);
    let end = state.end;
    let board = &mut state.cold.sack.board;
    board.forget_below(una);
    let mut is_new = false;
    for &Block { start, end: block_end } in ack.blocks {
        if block_end <= end {
            is_new |= board.add(Block { start: start.max(una), end: block_end }) > 0;
        }
    }
    is_new
}

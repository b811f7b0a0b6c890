//! Rate halving: loss recovery of BIC and CUBIC in Linux before 2012, as ns-2's TCP-Linux has it.
//!
//! *Idea.* A packet is lost when it is more than three below the highest held (FACK); the packets sent after a retransmission reveal
//! whether it is lost (`sack/marks.rs`). The first loss cuts the window to ssthresh, but the number of packets in flight decreases
//! gradually: with each packet sent it may be one less, so that a packet is sent for every second acknowledgement. Lost packets are
//! sent first, then new data. Recovery ends when everything that was outstanding at the loss is acknowledged. After a timeout every
//! packet that is not held is lost and retransmitted by slow start; a loss found then cuts the window once more. At the end of both
//! the window is at least ssthresh, if that lets out at most three packets at once. Every acknowledgement, duplicates included,
//! restarts the timer and, with timestamps, is timed.
//! With `overhead`, as in ns-2, what leaves at the end of a wait does not count: the number in flight decreases only as
//! acknowledgements find no wait, and the window ends a packet above ssthresh.
//! *Parameters.* `duplicate_threshold`; `data_with_syn`. `limited_transmit`, `careful` and `halving` of what is in flight do not apply.
//! *Where it breaks.* As FACK: reordering is taken for a loss, and no cut is undone. While a packet is missing, packets held beyond it
//! do not count in the receiver's window.
//! *References.* ns-2.35 tcp/tcp-linux.cc; M. Mathis, J. Semke, J. Mahdavi, "The rate-halving algorithm for TCP congestion
//! control" (1999).

use super::loss_recovery::{LossRecovery, WHOLE_WINDOW};
use crate::feedback::Ack;
use crate::rtt::smoothed;
use crate::sack::Changes;
use crate::segment::Output;
use crate::state::{LastCut, State};
use paceline_core::Instant;

/// Most packets let out at once where the window jumps (`tcp_max_burst`).
const BURST: u32 = 3;

pub(super) struct RateHalving;

impl LossRecovery for RateHalving {
    #[inline(never)]
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, _out: &mut impl Output) -> u32 {
        if ack.blocks.is_empty() && ack.next > state.una && state.cold.sack.is_blank() {
            state.on_new_ack(ack, now);
        } else if ack.next >= state.una {
            on_dubious_ack(state, ack, now);
        }
        WHOLE_WINDOW
    }

    fn on_timeout(state: &mut State) {
        state.recover = state.end;
        let (una, next) = (state.una, state.next);
        if una < next {
            let sack = &mut *state.cold.sack;
            (sack.recovering, sack.stalled, sack.most) = (false, true, 0);
            if sack.marks.holds(una) {
                sack.marks.clear(); // the receiver no longer has what it reported (RFC 2018 section 8)
            }
            sack.marks.lose_all(una, next);
        }
    }

    /// Lost packets first, then new data.
    fn next_packet(state: &State) -> Option<u32> {
        let sack = &*state.cold.sack;
        if in_flight(state) >= state.window().max(sack.most) {
            return None;
        }
        sack.marks.next_lost().or((state.next < state.limit).then_some(state.next))
    }

    fn on_sent(state: &mut State, seq: u32, _now: Instant) {
        if seq < state.next {
            let next = state.next;
            state.cold.sack.marks.retransmit(next);
        } else {
            state.next = seq + 1;
        }
        let most = in_flight(state).saturating_sub(1).max(1);
        let sack = &mut *state.cold.sack;
        sack.most = sack.most.min(most);
    }
}

/// A packet is missing, or may be (`tcp_ack_is_dubious`).
fn on_dubious_ack(state: &mut State, ack: Ack<'_>, now: Instant) {
    let before = in_flight(state);
    let (una, end, threshold) = (state.una, state.end, state.config.duplicate_threshold);
    let handshake = state.is_handshake(ack.next);
    let packets = ack.next - una;
    let sack = &*state.cold.sack;
    let is_open = !sack.recovering && !sack.stalled;
    let learns = !ack.blocks.is_empty() || !sack.marks.is_empty();
    let mut sample = None;
    if packets > 0 {
        sample = state.advance(ack, now);
    } else {
        if state.config.timestamps {
            sample = Some(state.rtt.on_echo(&state.config, smoothed!(state), ack.next, now, ack.echo));
        }
        state.restart_timer(now);
    }
    let changes = match learns {
        true => state.cold.sack.marks.learn((ack.next, end), ack.blocks, threshold),
        false => Changes::default(),
    };
    let dubious = packets == 0 || changes.held || !is_open;
    if packets > 0 && !state.cold.sack.recovering {
        state.grow_by_control((packets, is_open, dubious), before, sample, now);
    }
    let sack = &mut *state.cold.sack;
    if !is_open && ack.next >= state.recover {
        (sack.recovering, sack.stalled, sack.most) = (false, false, 0);
        sack.marks.clear();
        let ssthresh = state.ssthresh;
        if (state.cwnd as u32) < ssthresh {
            state.deflate_to(state.next - ack.next + BURST);
        }
        state.last_cut = LastCut::RecoveryLeft;
    } else if dubious && changes.lost && !sack.recovering {
        enter_recovery(state);
    }
    if handshake {
        state.end_handshake(ack.echo);
    }
    if state.cold.overhead.is_none() || state.cold.host_at == Instant::MAX {
        limit_to_flight(state);
    }
}

/// What was acknowledged does not leave again at once.
fn limit_to_flight(state: &mut State) {
    let most = in_flight(state) + 1;
    if state.cold.sack.most > most {
        state.cold.sack.most = most;
    }
}

/// The wait for the host is over, and what the window lets out leaves now. Returns what [`after_wait`] needs.
pub(super) fn before_wait_ends(state: &mut State) -> u32 {
    let most = state.cold.sack.most;
    limit_to_flight(state);
    most
}

/// What the window let out has left. TCP-Linux takes its window for ns-2's own before and back after (`save_from_linux`,
/// `load_to_linux`), which undoes what the packets between have counted.
pub(super) fn after_wait(state: &mut State, most: u32) {
    let window = state.cwnd as u32;
    if state.cold.sack.most > window {
        state.cold.sack.most = most;
    } else if most > window {
        state.cwnd = f64::from(most);
    }
}

fn enter_recovery(state: &mut State) {
    state.recover = state.end;
    state.last_cut = LastCut::DuplicateAcks;
    state.cold.sack.most = state.cwnd as u32;
    state.cut_to_half();
    state.cold.sack.recovering = true;
    state.cold.sack.stalled = false;
}

/// Packets sent that are neither held nor lost, and retransmissions.
fn in_flight(state: &State) -> u32 {
    state.next - state.una - state.cold.sack.marks.gone()
}

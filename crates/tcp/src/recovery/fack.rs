//! FACK: what lies beyond the highest packet held is in flight, and nothing else.
//!
//! *Idea.* `forward` is one more than the highest packet that the receiver reports. In flight are the packets sent beyond it
//! and those sent again: `next - forward + retransmitted`. A hole of three packets' width below `forward` starts
//! recovery, without waiting for three duplicates; then holes are filled in order, then new data sent, while that is
//! below the window. As ns-2 has it, the window is cut to one packet and grows on each acknowledgement of the recovery,
//! by slow start up to the half of what it was: by the time that half a window has left the network, it is back there.
//! *Parameters.* None of its own; limited transmit does not apply. Every acknowledgement in recovery is timed by its echo.
//! *Where it breaks.* Reordering beyond three packets is taken for a loss. A packet sent again and lost again is noticed
//! (something sent after it has arrived), but stops everything until the timeout.
//! *References.* M. Mathis, J. Mahdavi, "Forward acknowledgment" (1996); ns-2.35 tcp/tcp-fack.cc, tcp/scoreboard.cc.

use super::{LastCut, Selective};
use crate::feedback::{Block, Told};
use crate::rtt::smoothed;
use crate::sender::{Output, Sender};
use paceline_core::Instant;

#[inline]
pub(super) fn on_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    if !sender.rare.selective.is_blank() || !told.blocks.is_empty() || next == sender.una {
        on_ack_with_holes(sender, next, told, now, out);
        super::settle(sender);
        return;
    }
    if next > sender.una {
        sender.on_new_ack(next, told, now);
    }
    sender.send_what_the_window_allows(u32::MAX, now, out);
}

#[inline(never)]
fn on_ack_with_holes(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    if sender.rare.selective.is_blank() {
        sender.rare.selective.forward = sender.una;
    }
    if sender.rare.selective.recovering {
        if next >= sender.una {
            on_ack_in_recovery(sender, next, told, now);
        }
        sender.send_what_the_window_allows(u32::MAX, now, out);
        return;
    }
    if next > sender.una && told.blocks.is_empty() {
        sender.on_new_ack(next, told, now);
        let selective = &mut *sender.rare.selective;
        selective.forward = next;
        selective.beyond = 0;
        selective.stalled = false;
        forget(selective);
    } else if next >= sender.una {
        learn(sender, sender.una, told);
        acknowledge(sender, next, told, now);
        let selective = &mut *sender.rare.selective;
        selective.beyond = i64::from(selective.forward) - i64::from(next) - 1;
        if selective.beyond >= i64::from(sender.config.duplicate_threshold) {
            enter_recovery(sender, now, out);
        }
    }
    if sender.rare.selective.beyond == 0 {
        sender.send_what_the_window_allows(u32::MAX, now, out);
    }
}

fn enter_recovery(sender: &mut Sender, now: Instant, out: &mut impl Output) {
    sender.recover = sender.next + 1; // the packet that is sent next must be acknowledged too
    sender.last_cut = LastCut::DuplicateAcks;
    sender.cut_to_one();
    sender.restart_timer_and_stop_timing(now);
    sender.rare.selective.recovering = true;
    mark_retransmitted(sender, sender.una);
    sender.transmit(sender.una, now, out);
}

fn on_ack_in_recovery(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant) {
    acknowledge(sender, next, told, now);
    learn(sender, sender.una, told);
    let una = sender.una;
    let selective = &mut *sender.rare.selective;
    for block in told.blocks {
        // A hole sent again, and what was sent after it has arrived: lost again.
        let lost = |&(seq, next): &(u32, u32)| seq < block.end && next < block.end;
        selective.stalled |= selective.retransmitted.iter().any(lost);
    }
    sender.grow();
    let selective = &mut *sender.rare.selective;
    if told.blocks.is_empty() && una >= sender.recover {
        selective.recovering = false;
        selective.stalled = false;
        selective.beyond = 0;
        forget(selective);
    }
}

/// Takes in an acknowledgement's number and time (ns-2 `oldack`), and the highest packet that it reports.
fn acknowledge(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant) {
    sender.una = next;
    sender.restart_timer(now); // by the estimate before this sample, as ns-2 does
    let sample = if sender.config.timestamps {
        sender.rtt.on_echo(&sender.config, smoothed!(sender), next, now, told.echo)
    } else {
        sender.rtt.on_echo_in_recovery(&sender.config, smoothed!(sender), next, now, told.echo)
    };
    sender.note_round_trip(Some(sample));
    let highest = told.blocks.iter().map(|block| block.end).filter(|end| *end <= sender.end).max();
    let forward = &mut sender.rare.selective.forward;
    *forward = (*forward).max(highest.unwrap_or(0)).max(next);
    sender.next = sender.next.max(*forward);
    sender.stop_timer_if_finished(now);
}

/// Takes in what the receiver holds beyond `una`.
fn learn(sender: &mut Sender, una: u32, told: Told<'_>) {
    let end = sender.end;
    let selective = &mut *sender.rare.selective;
    selective.board.forget_below(una);
    for &Block { start, end: block_end } in told.blocks {
        if block_end <= end {
            selective.board.add(Block { start: start.max(una), end: block_end });
        }
    }
    let board = &selective.board;
    selective.retransmitted.retain(|(seq, _)| *seq >= una && !board.holds(*seq));
}

pub(super) fn on_timeout(sender: &mut Sender) {
    if sender.rare.selective.is_blank() {
        return;
    }
    // Recovery, if it runs, goes on to where it was to end.
    sender.rare.selective.stalled = false;
    sender.rare.selective.forward = sender.una;
    forget(&mut sender.rare.selective);
}

/// Holes first, in order, then new data.
pub(super) fn next_packet(sender: &Sender) -> Option<u32> {
    let selective = &*sender.rare.selective;
    let in_flight =
        i64::from(sender.next) - i64::from(selective.forward) + selective.retransmitted.len() as i64;
    if in_flight >= i64::from(sender.window()) || selective.stalled {
        return None;
    }
    let hole = match selective.board.is_empty() {
        true => None,
        false => selective.board.hole_from(selective.retransmitted_to.max(sender.una)),
    };
    hole.or_else(|| {
        let room = sender.next - sender.una < sender.config.max_window && sender.next < sender.limit;
        room.then_some(sender.next)
    })
}

#[inline]
pub(super) fn on_sent(sender: &mut Sender, seq: u32) {
    if seq < sender.next {
        mark_retransmitted(sender, seq);
    } else {
        sender.next = seq + 1;
    }
}

fn mark_retransmitted(sender: &mut Sender, seq: u32) {
    let next = sender.next;
    let selective = &mut *sender.rare.selective;
    selective.retransmitted.push((seq, next));
    selective.retransmitted_to = selective.retransmitted_to.max(seq + 1);
}

#[inline]
fn forget(selective: &mut Selective) {
    if !selective.board.is_empty() || !selective.retransmitted.is_empty() {
        selective.board.clear();
        selective.retransmitted.clear();
    }
    selective.retransmitted_to = 0;
}

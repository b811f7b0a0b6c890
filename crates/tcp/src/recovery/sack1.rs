//! Sack1: ns-2's selective acknowledgements, with a count of what is in the pipe.
//!
//! *Idea.* Three duplicate acknowledgements that report something new start fast recovery: the window is halved, and `pipe`
//! counts the packets under way, one less for each acknowledgement (two for one that acknowledges new data in part: the
//! lost packet and the one sent again have both left) and one more for each packet sent. While it is below the
//! window, holes are filled in order, then new data are sent.
//! *Parameters.* `partial_ack`: a partial acknowledgement sends two packets, whatever the pipe holds.
//! *Where it breaks.* A packet sent again and lost again is found by a timeout only; a hole counts as lost as soon as one
//! packet beyond it has arrived, so reordering costs needless retransmissions once recovery runs.
//! *References.* K. Fall, S. Floyd, "Simulation-based comparisons of Tahoe, Reno and SACK TCP" (1996); RFC 2018; ns-2.35
//! tcp/tcp-sack1.cc, tcp/scoreboard-rq.cc.

use super::{LastCut, count_duplicate};
use crate::feedback::{Block, Told};
use crate::sender::{Output, Sender};
use paceline_core::Instant;
use std::cmp::Ordering;

#[inline]
pub(super) fn on_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    if sender.rare.selective.is_blank() && told.blocks.is_empty() {
        if next > sender.una {
            sender.partial_seen = false;
            sender.on_new_ack(next, told, now);
        }
        if sender.duplicates == 0 {
            sender.send_what_the_window_allows(u32::MAX, now, out);
        }
        return;
    }
    on_ack_with_holes(sender, next, told, now, out);
    super::settle(sender);
}

#[inline(never)]
fn on_ack_with_holes(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    if sender.rare.selective.recovering {
        on_ack_in_recovery(sender, next, told, now, out);
        return;
    }
    match next.cmp(&sender.una) {
        Ordering::Greater => {
            sender.partial_seen = false;
            sender.on_new_ack(next, told, now);
            sender.rare.selective.stalled = false;
            clear(sender);
        }
        Ordering::Equal if !sender.rare.selective.stalled => {
            if learn(sender, told) {
                on_duplicate(sender, now, out);
            }
        }
        Ordering::Equal | Ordering::Less => {}
    }
    if sender.duplicates == 0 {
        sender.send_what_the_window_allows(u32::MAX, now, out);
    }
}

fn on_ack_in_recovery(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    sender.rare.selective.pipe -= 1;
    if next >= sender.recover {
        sender.recover = 1;
        sender.rare.selective.recovering = false;
        sender.advance(next.max(sender.una), told, now);
        clear(sender);
    } else if next > sender.una {
        sender.una = next;
        sender.next = sender.next.max(next); // which a timeout may have set back
        learn(sender, told);
        if sender.config.partial_ack {
            on_partial_ack(sender, now, out);
        } else {
            sender.rare.selective.pipe -= 1;
            sender.restart_timer(now);
            sender.rtt.end_back_off(&sender.config, sender.rare.smoothed);
        }
    } else {
        learn(sender, told);
    }
    sender.send_what_the_window_allows(u32::MAX, now, out);
}

/// A duplicate acknowledgement that reports something new.
fn on_duplicate(sender: &mut Sender, now: Instant, out: &mut impl Output) {
    count_duplicate(sender);
    match sender.duplicates.cmp(&sender.config.duplicate_threshold) {
        Ordering::Less if sender.config.limited_transmit => sender.limited_transmit(now, out),
        Ordering::Equal if sender.recovered() => {
            sender.recover = sender.end;
            let left = i64::from(sender.config.duplicate_threshold);
            sender.rare.selective.pipe = i64::from(sender.end - sender.una) - left;
            sender.restart_timer_and_stop_timing(now);
            sender.rare.selective.recovering = true;
            mark_retransmitted(sender, sender.una);
            sender.last_cut = LastCut::DuplicateAcks;
            sender.cut_to_half();
            sender.transmit(sender.una, now, out);
        }
        Ordering::Less | Ordering::Equal | Ordering::Greater => {}
    }
}

/// `partial_ack`: two packets at once, so as not to do worse than slow start.
fn on_partial_ack(sender: &mut Sender, now: Instant, out: &mut impl Output) {
    for _ in 0..2 {
        let from = sender.rare.selective.partial_from.max(sender.una);
        let seq = sender.rare.selective.board.gap_from(from);
        if seq >= sender.limit || seq - sender.una >= sender.config.max_window {
            break;
        }
        sender.next = sender.next.max(seq);
        sender.transmit(seq, now, out);
        mark_retransmitted(sender, seq);
        sender.rare.selective.partial_from = seq + 1;
    }
    sender.rare.selective.pipe += 1;
    if !sender.partial_seen {
        sender.partial_seen = true;
        sender.restart_timer(now);
        sender.rtt.end_back_off(&sender.config, sender.rare.smoothed);
    }
}

pub(super) fn on_timeout(sender: &mut Sender) {
    sender.duplicates = 0;
    sender.rare.selective.recovering = false;
    sender.rare.selective.stalled = true;
    sender.recover = sender.end;
    clear(sender);
}

/// Holes first, in order, then new data.
pub(super) fn next_packet(sender: &Sender) -> Option<u32> {
    let selective = &*sender.rare.selective;
    let room = if selective.recovering {
        selective.pipe < i64::from(sender.cwnd as u32)
    } else {
        sender.next - sender.una < sender.window()
    };
    if !room {
        return None;
    }
    let hole = match selective.board.is_empty() {
        true => None,
        false => selective.board.hole_from(selective.retransmitted_to.max(sender.una)),
    };
    let limit = sender.config.max_window;
    match hole {
        Some(hole) => (sender.recover > 1 && hole - sender.una < limit).then_some(hole),
        None => (sender.next - sender.una < limit && sender.next < sender.limit).then_some(sender.next),
    }
}

#[inline]
pub(super) fn on_sent(sender: &mut Sender, seq: u32) {
    if seq < sender.next {
        mark_retransmitted(sender, seq);
    } else {
        sender.next = seq + 1;
    }
    sender.rare.selective.pipe += 1;
}

fn mark_retransmitted(sender: &mut Sender, seq: u32) {
    let to = &mut sender.rare.selective.retransmitted_to;
    *to = (*to).max(seq + 1);
}

/// Takes in what an acknowledgement reports; whether it was news.
fn learn(sender: &mut Sender, told: Told<'_>) -> bool {
    let board = &mut sender.rare.selective.board;
    let held = board.held();
    board.forget_below(sender.una);
    let mut news = held != board.held();
    for &Block { start, end } in told.blocks {
        // What was never sent is not held, and what is acknowledged needs no entry.
        if end <= sender.end {
            news |= board.add(Block { start: start.max(sender.una), end }) > 0;
        }
    }
    news
}

#[inline]
fn clear(sender: &mut Sender) {
    let selective = &mut *sender.rare.selective;
    if !selective.board.is_empty() {
        selective.board.clear();
    }
    selective.retransmitted_to = 0;
}

//! RFC 6675: conservative loss recovery from selective acknowledgements.
//!
//! *Idea.* A packet is lost when three packets sent after it are held. Recovery starts with the third duplicate
//! acknowledgement or when the first packet is lost by that rule, halves the window, and sends while it is above `pipe`:
//! what was sent and is neither held nor lost, and what was sent again. In order: lost packets, new data, other holes,
//! and once a recovery the last packet not held (the rescue). Limited transmit is governed by `pipe` too. A timeout keeps
//! what was reported: slow start then passes over what is held.
//! *Parameters.* `duplicate_threshold`; `limited_transmit`. With `rack` it is [`super::rack`] that recovers.
//! *Where it breaks.* A packet sent again and lost again is found by a timeout only.
//! *References.* RFC 6675 (numbers of its steps stand in the code); RFC 5681; RFC 6298.

use super::{LastCut, Selective, count_duplicate};
use crate::feedback::{Block, Told};
use crate::sender::{Output, Sender};
use paceline_core::Instant;

#[inline(never)]
pub(super) fn on_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    if told.blocks.is_empty() && sender.rare.selective.board.is_empty() && !sender.rare.selective.recovering {
        if next > sender.una {
            sender.on_new_ack(next, told, now);
            sender.send_what_the_window_allows(u32::MAX, now, out);
        }
        return; // a duplicate that reports nothing counts for nothing (section 2)
    }
    on_ack_with_holes(sender, next, told, now, out);
    super::settle(sender);
}

#[inline(never)]
fn on_ack_with_holes(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    let una = sender.una;
    let (held, held_below) =
        (sender.rare.selective.board.held(), sender.rare.selective.board.held_below(next));
    let news = learn(sender, next, told);
    // What is known to have arrived that was not before.
    let reported = (sender.rare.selective.board.held() + held_below).saturating_sub(held);
    let delivered = next.saturating_sub(una).saturating_sub(held_below) + reported;
    if next > una {
        if sender.rare.selective.recovering {
            sender.rare.selective.recovering = next < sender.recover; // A: beyond the recovery point it is over
            sender.advance(next, told, now);
        } else if sender.config.count_packets {
            sender.on_delivered(next, delivered, told, now);
        } else {
            sender.on_new_ack(next, told, now);
        }
    } else if news && !sender.rare.selective.recovering {
        count_duplicate(sender);
        if !judge(sender, now, out) && !sender.config.limited_transmit {
            return;
        }
    }
    sender.send_what_the_window_allows(u32::MAX, now, out);
}

/// Something is held beyond what is not: whether that is a loss, and recovery has begun.
fn judge(sender: &mut Sender, now: Instant, out: &mut impl Output) -> bool {
    let allowed = sender.una >= sender.recover || sender.last_cut == LastCut::None;
    let threshold = sender.config.duplicate_threshold;
    let lost =
        sender.duplicates >= threshold || sender.rare.selective.board.highest_held(threshold).is_some();
    if allowed && lost {
        enter_recovery(sender, now, out);
    }
    allowed && lost
}

/// 4: the first packet not acknowledged is sent again at once.
fn enter_recovery(sender: &mut Sender, now: Instant, out: &mut impl Output) {
    sender.recover = sender.end;
    sender.last_cut = LastCut::DuplicateAcks;
    sender.cut_to_half();
    sender.restart_timer_and_stop_timing(now);
    sender.transmit(sender.una, now, out);
    sender.rare.selective.recovering = true;
    sender.rare.selective.retransmitted_to = sender.una + 1;
    sender.rare.selective.rescue = sender.una + 1;
}

pub(super) fn on_timeout(sender: &mut Sender) {
    sender.duplicates = 0;
    sender.recover = sender.end; // 5.1: no new recovery before this
    if sender.rare.selective.is_blank() {
        return;
    }
    sender.rare.selective.recovering = false;
    if sender.rare.selective.board.holds(sender.una) {
        sender.rare.selective.board.clear(); // the receiver no longer has what it reported (RFC 2018 section 8)
    }
    sender.rare.selective.retransmitted_to = 0;
}

/// `NextSeg`, while `pipe` is below the window.
pub(super) fn next_packet(sender: &Sender) -> Option<u32> {
    let Selective { board, recovering, retransmitted_to, .. } = &*sender.rare.selective;
    let window = sender.window();
    if !recovering {
        // Limited transmit, or after a timeout: on from `next`, past what is held.
        let seq = board.gap_from(sender.next);
        let in_flight = sender.next - sender.una - board.held_below(sender.next);
        return (in_flight < window && fits(sender, seq)).then_some(seq);
    }
    if pipe(sender) >= window {
        return None;
    }
    match board.hole_from((*retransmitted_to).max(sender.una)) {
        Some(hole) if hole < lost_below(sender) => Some(hole), // (1)
        _ if fits(sender, sender.next) => Some(sender.next),   // (2)
        Some(hole) => Some(hole),                              // (3)
        None => rescue(sender),                                // (4)
    }
}

/// New data: the receiver's window has room, and the application has given them.
fn fits(sender: &Sender, seq: u32) -> bool {
    seq - sender.una < sender.config.max_window && seq < sender.limit
}

pub(super) fn on_sent(sender: &mut Sender, seq: u32) {
    let una = sender.una;
    let Selective { board, retransmitted_to, rescue, .. } = &mut *sender.rare.selective;
    if seq >= sender.next {
        sender.next = seq + 1;
    } else if board.hole_from((*retransmitted_to).max(una)) == Some(seq) {
        *retransmitted_to = seq + 1;
    } else {
        *rescue = sender.recover;
    }
}

/// (4): the last packet not held, once a recovery, after more than the first packet sent again has been acknowledged.
fn rescue(sender: &Sender) -> Option<u32> {
    let last = sender.rare.selective.board.last_gap_before(sender.end);
    (sender.una > sender.rare.selective.rescue && last >= sender.una).then_some(last)
}

/// `SetPipe`: what was sent and is neither held nor lost, and what was sent again.
fn pipe(sender: &Sender) -> u32 {
    let Selective { board, retransmitted_to, .. } = &*sender.rare.selective;
    let threshold = sender.config.duplicate_threshold;
    let not_lost = sender.end - lost_below(sender) - board.held().min(threshold);
    let to = (*retransmitted_to).max(sender.una);
    not_lost + (to - sender.una - board.held_below(to))
}

/// `IsLost`: every packet before this that is not held has three above it that are.
fn lost_below(sender: &Sender) -> u32 {
    sender.rare.selective.board.highest_held(sender.config.duplicate_threshold).unwrap_or(sender.una)
}

/// `Update`: takes in what an acknowledgement reports; whether it was news.
fn learn(sender: &mut Sender, next: u32, told: Told<'_>) -> bool {
    let una = next.max(sender.una);
    let end = sender.end;
    let board = &mut sender.rare.selective.board;
    board.forget_below(una);
    let mut news = false;
    for &Block { start, end: block_end } in told.blocks {
        if block_end <= end {
            news |= board.add(Block { start: start.max(una), end: block_end }) > 0;
        }
    }
    news
}

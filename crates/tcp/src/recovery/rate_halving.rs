//! Rate halving: loss recovery of BIC and CUBIC in Linux before 2012, as ns-2's TCP-Linux has it.
//!
//! *Idea.* A packet is lost that lies more than three below the highest held (FACK), and one sent again is found lost by what was sent
//! after it ([`super::marks`]). The first loss cuts the window to ssthresh, but what is in flight comes down gently: with each
//! packet sent it may be one less, so that a packet leaves for every second acknowledgement. Lost packets go first, then new data.
//! Recovery ends when all that was outstanding at the loss is acknowledged. After a timeout all that is not held is lost, and slow
//! start sends it again; a loss found then cuts once more. At the end of either the window is at least ssthresh, if that lets out no
//! more than three packets at once. Every acknowledgement restarts the timer and, with timestamps, is timed, duplicates too.
//! *Parameters.* `duplicate_threshold`; `data_with_syn`. `limited_transmit`, `careful` and `halving` of what is in flight do not apply.
//! *Where it breaks.* As FACK: reordering is taken for a loss, and nothing is undone. While a packet is missing, what is held beyond
//! it does not count in the receiver's window.
//! *References.* ns-2.35 tcp/tcp-linux.cc; M. Mathis, J. Semke, J. Mahdavi, "The rate-halving algorithm for TCP congestion
//! control" (1999).

use super::LastCut;
use super::marks::News;
use crate::feedback::Told;
use crate::rtt::smoothed;
use crate::sender::{Output, Sender};
use paceline_core::Instant;

/// Most packets let out at once where the window jumps (`tcp_max_burst`).
const BURST: u32 = 3;

#[inline(never)]
pub(super) fn on_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    if told.blocks.is_empty() && next > sender.una && sender.rare.selective.is_blank() {
        sender.on_new_ack(next, told, now);
    } else if next >= sender.una {
        on_dubious_ack(sender, next, told, now);
        super::settle(sender);
    }
    sender.send_what_the_window_allows(u32::MAX, now, out);
}

/// Something is missing, or may be (`tcp_ack_is_dubious`).
fn on_dubious_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant) {
    let before = in_flight(sender);
    let (una, end, threshold) = (sender.una, sender.end, sender.config.duplicate_threshold);
    let handshake = sender.is_handshake(next);
    let packets = next - una;
    let selective = &*sender.rare.selective;
    let is_open = !selective.recovering && !selective.stalled;
    let learns = !told.blocks.is_empty() || !selective.marks.is_empty();
    let mut sample = None;
    if packets > 0 {
        sample = sender.advance(next, told, now);
    } else {
        if sender.config.timestamps {
            sample = Some(sender.rtt.on_echo(&sender.config, smoothed!(sender), next, now, told.echo));
        }
        sender.restart_timer(now);
    }
    let news = match learns {
        true => sender.rare.selective.marks.learn((next, end), told.blocks, threshold),
        false => News::default(),
    };
    let dubious = packets == 0 || news.held || !is_open;
    if packets > 0 && !sender.rare.selective.recovering {
        sender.grow_by_control((packets, is_open, dubious), before, sample, now);
    }
    let selective = &mut *sender.rare.selective;
    if !is_open && next >= sender.recover {
        (selective.recovering, selective.stalled, selective.most) = (false, false, 0);
        selective.marks.clear();
        let ssthresh = sender.ssthresh();
        if (sender.cwnd as u32) < ssthresh {
            sender.deflate_to(sender.next - next + BURST);
        }
        sender.last_cut = LastCut::RecoveryLeft;
    } else if dubious && news.lost && !selective.recovering {
        enter_recovery(sender);
    }
    if handshake {
        sender.end_handshake(told.echo);
    }
    let most = in_flight(sender) + 1;
    if sender.rare.selective.most > most {
        sender.rare.selective.most = most;
    }
}

fn enter_recovery(sender: &mut Sender) {
    sender.recover = sender.end;
    sender.last_cut = LastCut::DuplicateAcks;
    sender.rare.selective.most = sender.cwnd as u32;
    sender.cut_to_half();
    sender.rare.selective.recovering = true;
    sender.rare.selective.stalled = false;
}

/// What was sent and is neither held nor lost, or was sent again.
fn in_flight(sender: &Sender) -> u32 {
    sender.next - sender.una - sender.rare.selective.marks.gone()
}

pub(super) fn on_timeout(sender: &mut Sender) {
    sender.recover = sender.end;
    let (una, next) = (sender.una, sender.next);
    if una < next {
        let selective = &mut *sender.rare.selective;
        (selective.recovering, selective.stalled, selective.most) = (false, true, 0);
        if selective.marks.holds(una) {
            selective.marks.clear(); // the receiver no longer has what it reported (RFC 2018 section 8)
        }
        selective.marks.lose_all(una, next);
    }
}

/// Lost packets first, then new data.
pub(super) fn next_packet(sender: &Sender) -> Option<u32> {
    let selective = &*sender.rare.selective;
    if in_flight(sender) >= sender.window().max(selective.most) {
        return None;
    }
    selective.marks.next_lost().or((sender.next < sender.limit).then_some(sender.next))
}

pub(super) fn on_sent(sender: &mut Sender, seq: u32) {
    if seq < sender.next {
        let next = sender.next;
        sender.rare.selective.marks.send_again(next);
    } else {
        sender.next = seq + 1;
    }
    let most = in_flight(sender).saturating_sub(1).max(1);
    let selective = &mut *sender.rare.selective;
    selective.most = selective.most.min(most);
}

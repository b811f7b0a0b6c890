//! Tahoe: fast retransmit, then slow start.
//!
//! *Idea.* Three duplicate acknowledgements mean a loss: back to the first packet not acknowledged, with a window of one.
//! *Parameters.* Those of Reno; `careful`: what was sent before the last loss brings no second fast retransmit.
//! *Where it breaks.* It sends again what has arrived behind the loss, and the pipe runs empty at every loss.
//! *References.* V. Jacobson, "Congestion avoidance and control" (1988); ns-2.35 tcp/tcp.cc `TcpAgent::dupack_action`.

use super::{LastCut, count_duplicate};
use crate::feedback::Told;
use crate::sender::{Output, Sender};
use paceline_core::Instant;
use std::cmp::Ordering;

#[inline]
pub(super) fn on_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    match next.cmp(&sender.una) {
        Ordering::Greater => sender.on_new_ack(next, told, now),
        Ordering::Equal => on_duplicate(sender, now, out),
        Ordering::Less => {}
    }
    sender.send_what_the_window_allows(u32::MAX, now, out);
}

fn on_duplicate(sender: &mut Sender, now: Instant, out: &mut impl Output) {
    count_duplicate(sender);
    match sender.duplicates.cmp(&sender.config.duplicate_threshold) {
        // The packet may be one sent before: after a timeout ns-2 counts on from where the window starts again.
        Ordering::Less if sender.config.limited_transmit => sender.limited_transmit(now, out),
        Ordering::Equal if sender.recovered() => {
            sender.recover = sender.end;
            sender.last_cut = LastCut::DuplicateAcks;
            sender.cut_to_one();
            sender.restart_timer_and_stop_timing(now);
            sender.next = sender.una;
        }
        Ordering::Less | Ordering::Equal | Ordering::Greater => {}
    }
}

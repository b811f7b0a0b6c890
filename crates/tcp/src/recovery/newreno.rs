//! NewReno: fast recovery goes on until all that was outstanding at the loss is acknowledged.
//!
//! *Idea.* As Reno, but a partial acknowledgement (new data, not yet all of the window that had the loss) means the next
//! packet is lost too: send it again at once and stay in recovery.
//! *Parameters.* `impatient`: only the first partial acknowledgement restarts the timer (RFC 6582 section 4);
//! `partial_deflation`: a partial acknowledgement takes what it covers off the window, less one (RFC 6582 step 3);
//! `full_ack_deflation`: at the end the window is at most what is in flight and one; `less_careful`.
//! *Where it breaks.* It repairs one loss a round trip.
//! *References.* RFC 6582; ns-2.35 tcp/tcp-newreno.cc.

use super::{LastCut, on_duplicate};
use crate::feedback::Told;
use crate::sender::{Output, Sender};
use paceline_core::Instant;
use std::cmp::Ordering;

/// New data go out at most two at a time while recovering (ns-2 tcp-newreno.cc, `recv`).
pub(crate) const BURST_IN_RECOVERY: u32 = 2;

#[inline]
pub(super) fn on_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    match next.cmp(&sender.una) {
        Ordering::Greater => {
            if next >= sender.recover || sender.last_cut != LastCut::DuplicateAcks {
                if sender.inflation > 0 {
                    sender.inflation = 0;
                    if sender.last_cut == LastCut::DuplicateAcks {
                        sender.last_cut = LastCut::RecoveryLeft;
                    }
                    if sender.config.full_ack_deflation {
                        sender.deflate_to(sender.end - next + 1);
                    }
                }
                sender.partial_seen = false;
                sender.on_new_ack(next, told, now);
            } else {
                on_partial_ack(sender, next, now, out);
            }
        }
        Ordering::Equal => {
            let less_careful = sender.config.less_careful && sender.una == sender.recover;
            on_duplicate(sender, sender.recovered() || less_careful, now, out);
        }
        Ordering::Less => {}
    }
    if sender.duplicates == 0 {
        sender.send_what_the_window_allows(u32::MAX, now, out);
    } else if sender.duplicates >= sender.config.duplicate_threshold {
        sender.send_what_the_window_allows(BURST_IN_RECOVERY, now, out);
    }
}

fn on_partial_ack(sender: &mut Sender, next: u32, now: Instant, out: &mut impl Output) {
    let covered = next - sender.una;
    if !sender.config.partial_deflation {
        sender.inflation = 0;
    }
    if !sender.config.impatient || !sender.partial_seen {
        sender.partial_seen = true;
        sender.restart_timer(now);
    }
    if sender.config.partial_deflation {
        if sender.inflation > covered {
            sender.inflation -= covered - 1;
        } else {
            sender.cwnd = (sender.cwnd - f64::from(covered - sender.inflation)).max(1.0);
            sender.inflation = 1; // recovery is not over
        }
    }
    sender.una = next;
    sender.next = sender.next.max(next);
    sender.rtt.on_partial_ack(&sender.config, sender.rare.smoothed, next);
    sender.transmit(next, now, out);
}

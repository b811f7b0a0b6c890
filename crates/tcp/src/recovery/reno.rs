//! Reno: fast retransmit, then fast recovery until the next acknowledgement of new data.
//!
//! *Idea.* Three duplicate acknowledgements mean one packet is lost: send it again, halve the window, and let each further
//! duplicate (a packet has left the network) inflate the window by one. The first new acknowledgement ends recovery.
//! *Where it breaks.* Several losses in one window: each partial acknowledgement ends recovery, and what is left of the
//! window rarely brings three more duplicates, so a timeout follows.
//! *References.* RFC 5681 section 3.2; RFC 3042 (limited transmit); ns-2.35 tcp/tcp-reno.cc.

use super::{LastCut, on_duplicate};
use crate::feedback::Told;
use crate::sender::{Output, Sender};
use paceline_core::Instant;
use std::cmp::Ordering;

#[inline]
pub(super) fn on_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    match next.cmp(&sender.una) {
        Ordering::Greater => {
            if sender.last_cut == LastCut::DuplicateAcks {
                sender.last_cut = LastCut::RecoveryLeft;
            }
            sender.inflation = 0;
            sender.on_new_ack(next, told, now);
        }
        Ordering::Equal => {
            // A second fast retransmit for one window of data is allowed only while recovery runs
            // (ns-2 bugFix_, tcp-reno.cc `dupack_action`).
            let may_retransmit = sender.recovered() || sender.last_cut == LastCut::DuplicateAcks;
            on_duplicate(sender, may_retransmit, now, out);
        }
        Ordering::Less => {}
    }
    if sender.duplicates == 0 || sender.duplicates >= sender.config.duplicate_threshold {
        sender.send_what_the_window_allows(u32::MAX, now, out);
    }
}

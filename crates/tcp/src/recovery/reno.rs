//! Reno: fast retransmit, then fast recovery until the next acknowledgement of new data.
//!
//! *Idea.* Three duplicate acknowledgements mean one packet is lost: retransmit it, halve the window, and let each further
//! duplicate (a packet has left the network) inflate the window by one. The first new acknowledgement ends recovery.
//! *Where it breaks.* Several losses in one window: each partial acknowledgement ends recovery, and the rest of the window
//! rarely causes three more duplicates, so that a timeout follows.
//! *References.* RFC 5681 section 3.2; RFC 3042 (limited transmit); ns-2.35 tcp/tcp-reno.cc.

use super::fast_retransmit::on_duplicate;
use super::loss_recovery::{LossRecovery, NOTHING, WHOLE_WINDOW};
use crate::feedback::Ack;
use crate::segment::Output;
use crate::state::{LastCut, State};
use paceline_core::Instant;
use std::cmp::Ordering;

pub(super) struct Reno;

impl LossRecovery for Reno {
    #[inline]
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
        match ack.next.cmp(&state.una) {
            Ordering::Greater => {
                if state.last_cut == LastCut::DuplicateAcks {
                    state.last_cut = LastCut::RecoveryLeft;
                }
                state.inflation = 0;
                state.on_new_ack(ack, now);
            }
            Ordering::Equal => {
                // A second fast retransmit for one window of data is allowed only while recovery runs
                // (ns-2 bugFix_, tcp-reno.cc `dupack_action`).
                let may_retransmit = state.recovered() || state.last_cut == LastCut::DuplicateAcks;
                on_duplicate(state, may_retransmit, now, out);
            }
            Ordering::Less => {}
        }
        let may_send = state.duplicates == 0 || state.duplicates >= state.config.duplicate_threshold;
        if may_send { WHOLE_WINDOW } else { NOTHING }
    }
}

//! NewReno: fast recovery continues until everything that was outstanding at the loss is acknowledged.
//!
//! *Idea.* As Reno, but a partial acknowledgement (new data, not yet all of the window that had the loss) means that
//! the next packet is lost too: retransmit it at once and stay in recovery.
//! *Parameters.* `impatient`: only the first partial acknowledgement restarts the timer (RFC 6582 section 4);
//! `partial_deflation`: a partial acknowledgement deflates the window by what it covers, less one (RFC 6582 step 3);
//! `full_ack_deflation`: at the end the window is at most what is in flight and one; `less_careful`.
//! *Where it breaks.* It repairs one loss a round trip.
//! *References.* RFC 6582; ns-2.35 tcp/tcp-newreno.cc.

use super::fast_retransmit::on_duplicate;
use super::loss_recovery::{LossRecovery, NOTHING, WHOLE_WINDOW};
use crate::feedback::Ack;
use crate::segment::Output;
use crate::state::{LastCut, State};
use paceline_core::Instant;
use std::cmp::Ordering;

/// Most new packets that a duplicate lets out in recovery (ns-2 tcp-newreno.cc, `recv`).
pub(crate) const BURST_IN_RECOVERY: u32 = 2;

pub(super) struct NewReno;

impl LossRecovery for NewReno {
    #[inline]
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
        match ack.next.cmp(&state.una) {
            Ordering::Greater => {
                if ack.next >= state.recover || state.last_cut != LastCut::DuplicateAcks {
                    if state.inflation > 0 {
                        state.inflation = 0;
                        if state.last_cut == LastCut::DuplicateAcks {
                            state.last_cut = LastCut::RecoveryLeft;
                        }
                        if state.config.full_ack_deflation {
                            state.deflate_to(state.end - ack.next + 1);
                        }
                    }
                    state.partial_seen = false;
                    state.on_new_ack(ack, now);
                } else {
                    on_partial_ack(state, ack.next, now, out);
                }
            }
            Ordering::Equal => {
                let less_careful = state.config.less_careful && state.una == state.recover;
                on_duplicate(state, state.recovered() || less_careful, now, out);
            }
            Ordering::Less => {}
        }
        match state.duplicates {
            0 => WHOLE_WINDOW,
            duplicates if duplicates >= state.config.duplicate_threshold => BURST_IN_RECOVERY,
            _ => NOTHING,
        }
    }
}

fn on_partial_ack(state: &mut State, next: u32, now: Instant, out: &mut impl Output) {
    let covered = next - state.una;
    if !state.config.partial_deflation {
        state.inflation = 0;
    }
    if !state.config.impatient || !state.partial_seen {
        state.partial_seen = true;
        state.restart_timer(now);
    }
    if state.config.partial_deflation {
        if state.inflation > covered {
            state.inflation -= covered - 1;
        } else {
            state.cwnd = (state.cwnd - f64::from(covered - state.inflation)).max(1.0);
            state.inflation = 1; // recovery is not over
        }
    }
    state.una = next;
    state.next = state.next.max(next);
    state.rtt.on_partial_ack(&state.config, state.cold.smoothed, next);
    state.transmit(next, now, out);
}

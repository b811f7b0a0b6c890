//! Loss recovery: what an acknowledgement says about losses, and what is sent again. One file a variant.

mod newreno;
mod reno;

use crate::config::Variant;
use crate::sender::{Output, Sender};
use paceline_core::Instant;
use std::cmp::Ordering;

/// The last thing that cut the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LastCut {
    #[default]
    None,
    /// Three duplicate acknowledgements: fast recovery runs.
    DuplicateAcks,
    /// Fast recovery is over.
    RecoveryLeft,
    Timeout,
}

/// Duplicate acknowledgements that mean a loss (RFC 5681).
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;

/// Processes a cumulative acknowledgement of all before `next`.
#[inline]
pub(crate) fn on_ack(sender: &mut Sender, next: u32, now: Instant, out: &mut impl Output) {
    match sender.config.variant {
        Variant::Reno => reno::on_ack(sender, next, now, out),
        Variant::NewReno | Variant::Bic | Variant::Cubic => newreno::on_ack(sender, next, now, out),
    }
}

/// A duplicate acknowledgement: the third means a loss, if this variant `may_retransmit` now; later ones inflate the window;
/// the first two let a new packet out each, if limited transmit is on.
fn on_duplicate(sender: &mut Sender, may_retransmit: bool, now: Instant, out: &mut impl Output) {
    sender.duplicates += 1;
    match sender.duplicates.cmp(&DUPLICATE_THRESHOLD) {
        Ordering::Less if sender.config.limited_transmit => sender.limited_transmit(now, out),
        Ordering::Less => {}
        Ordering::Equal if may_retransmit => {
            sender.recover = sender.end;
            sender.last_cut = LastCut::DuplicateAcks;
            sender.cut_to_half();
            sender.restart_timer_and_stop_timing(now);
            sender.transmit(sender.una, now, out);
            sender.inflation = DUPLICATE_THRESHOLD;
        }
        Ordering::Equal => {}
        Ordering::Greater if sender.last_cut == LastCut::DuplicateAcks => sender.inflation += 1,
        Ordering::Greater => {}
    }
}

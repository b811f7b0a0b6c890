//! Loss recovery: what an acknowledgement says about losses, and what is sent again. One file a variant.

mod newreno;
mod reno;

use crate::config::Variant;
use crate::sender::{Output, Sender};
use paceline_core::Instant;

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
        Variant::NewReno => newreno::on_ack(sender, next, now, out),
    }
}

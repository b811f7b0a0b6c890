//! What the retransmission timer is set for, and the probe that waits for an answer.

use paceline_core::Instant;

/// What the timer is set for (Linux `icsk_pending`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PendingTimer {
    Timeout,
    Probe,
    Reordering,
}

/// A probe that has not been answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    /// One more than the highest packet sent by then.
    pub(crate) end: u32,
    /// It was a retransmission of the last packet.
    pub(crate) again: bool,
    pub(crate) at: Instant,
}

/// When packet `seq` was sent as the probe `probed`, if it was: [`super::Cold::probed`].
pub(crate) fn probed_at(probed: Option<(u32, Instant)>, seq: u32) -> Option<Instant> {
    probed.filter(|(probed, _)| *probed == seq).map(|(_, at)| at)
}

//! Adaptive fallback to the reference engine, where epochs hold too few packets: decided in the time of [`EPOCHS`] of them, from the first
//! event on.
//!
//! *Idea.* Packets are counted that links serve before a fixed time, whatever epochs end there: a run with a trace has other epochs, and
//! decides alike. What has been enough before that time is enough.
//! *What it buys.* No row of the bench shows it; few packets over one link (`scenarios/mdk1.toml`) take twice as long without it
//! (`benches/ablation.py --path adaptive-fallback`).

use paceline_core::{Instant, Span};

/// Epochs after which it is decided.
const EPOCHS: u64 = 256;
/// Packets for each link and epoch that pay for sorting and going round.
const WORTHWHILE: u64 = 2;
/// Packets for each epoch, over all links, that pay for the barriers between threads.
const CROWD: u64 = 10_000;

#[derive(Debug)]
pub(crate) struct Fallback {
    /// Epochs were chosen by name: nothing to decide.
    is_waived: bool,
    length: Span,
    until: Instant,
    /// Packets that links have served so far; how many are enough.
    served: u64,
    enough: u64,
}

impl Fallback {
    /// Of epochs of about so many nanoseconds, over so many links.
    pub(crate) fn new(window: u64, links: usize, is_waived: bool) -> Self {
        Fallback {
            is_waived,
            length: Span::from_nanos(window.saturating_mul(EPOCHS)),
            until: Instant::MAX,
            served: 0,
            enough: EPOCHS * WORTHWHILE * links as u64,
        }
    }

    /// The first event is then.
    pub(crate) fn begin(&mut self, first: Instant) {
        self.until = first + self.length;
    }

    pub(crate) fn count(&mut self, served: u64) {
        self.served += served;
    }

    /// Epochs are known to pay.
    pub(crate) fn is_passed(&self) -> bool {
        self.is_waived || !crate::ablation::FastPath::AdaptiveFallback.is_on() || self.served >= self.enough
    }

    /// How far to run before this time: while nothing is decided yet, no further than the time of the decision.
    pub(crate) fn limit(&self, until: Instant) -> Instant {
        if self.is_passed() { until } else { until.min(self.until) }
    }

    /// Whether the barriers of an epoch pay; asked for every epoch, and decided in the one in which the fallback is.
    pub(crate) fn occupies_threads(&self, (from, to): (Instant, Instant)) -> bool {
        self.is_waived || self.until <= from || to < self.until || self.served >= EPOCHS * CROWD
    }
}

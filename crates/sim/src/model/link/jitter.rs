//! Jitter at work: when packets that have left a link are at its far end.
//!
//! *Idea.* The link does with a packet what it does without jitter; then a delay is added that is drawn from a stream of the link's own, in the order
//! in which packets leave it. So a link with jitter costs a draw a packet, and no other link anything.
//! *Where it breaks.* What leaves it is not in the order of time: the engine serves its next link in order, or has an event for each packet where
//! the next place is a host.

use crate::kernel::chance::Stream;
use crate::network::{JitterShape, JitterSpec};
use paceline_core::{Instant, Span};

/// Of one link.
#[derive(Debug)]
pub(crate) struct Jitter {
    spec: JitterSpec,
    draws: Stream,
    /// The latest at the far end so far.
    latest: Instant,
}

impl Jitter {
    /// Of a link of this name.
    pub(super) fn new(spec: JitterSpec, seed: u64, link: &str) -> Self {
        Jitter { spec, draws: Stream::of(seed, link, "jitter"), latest: Instant::ZERO }
    }

    /// The next packet to leave, which would be at the far end then: when it is.
    pub(crate) fn delay(&mut self, arrival: Instant) -> Instant {
        let late = arrival + self.draw();
        if self.spec.reorder {
            return late;
        }
        self.latest = late.max(self.latest);
        self.latest
    }

    fn draw(&mut self) -> Span {
        let (mean, spread) = (self.spec.mean.as_nanos(), self.spec.spread.as_nanos());
        match self.spec.shape {
            JitterShape::Uniform => Span::from_nanos(self.draws.between(mean - spread, mean + spread)),
            JitterShape::Normal => loop {
                let nanos = mean as f64 + spread as f64 * self.draws.gaussians().0;
                if (0.0..=2.0 * mean as f64).contains(&nanos) {
                    break Span::from_nanos((nanos + 0.5) as u64);
                }
            },
        }
    }
}

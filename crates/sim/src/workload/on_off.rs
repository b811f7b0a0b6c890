//! ON-OFF source: a constant rate while on, silence while off.
//!
//! *Idea.* Periods alternate, each drawn on its own. With exponential periods the rate is a Markov process, of
//! auto-covariance h^2 r1 r2 / (r1 + r2)^2 exp(-(r1 + r2) t) at peak rate h, mean off time 1 / r1 and mean on time 1 / r2.
//! With Pareto periods of shape a below 2, many such sources add up to traffic with long-range dependence, H = (3 - a) / 2.
//! *Parameters.* `rate` (bit/s while on), `on`, `off` (seconds; distributions with a mean).
//! *Where it breaks.* The first period is on with the probability of a source that has run for long, but its length is drawn
//! like any other: exact for exponential periods, not for Pareto's, whose rest would have no mean.
//! *References.* Y. Cai et al., "QLBP" (equation 5); W. Willinger et al., "Self-similarity through high-variability"
//! (SIGCOMM 1995); ns-2 Application/Traffic/Exponential and /Pareto.

use super::distribution::Distribution;
use crate::kernel::chance::Stream;
use paceline_core::{Rate, Span};

/// What a source's periods are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnOff {
    /// On the wire, while on.
    pub rate: Rate,
    /// Lengths of periods that are on, seconds.
    pub on: Distribution,
    /// Lengths of periods that are off, seconds.
    pub off: Distribution,
}

/// Periods, one after the other.
#[derive(Debug)]
pub(crate) struct Periods {
    spec: OnOff,
    /// What the next one is.
    is_on: bool,
    draws: Stream,
}

impl Periods {
    pub(crate) fn new(spec: OnOff, mut draws: Stream) -> Self {
        let (on, off) = (spec.on.mean(), spec.off.mean());
        Periods { spec, is_on: draws.unit() < on / (on + off), draws }
    }

    /// Rate, bit/s, and length.
    pub(crate) fn next(&mut self) -> (u64, Span) {
        let OnOff { rate, on, off } = &self.spec;
        let period = match self.is_on {
            true => (rate.bits_per_second(), on.draw_span(&mut self.draws)),
            false => (0, off.draw_span(&mut self.draws)),
        };
        self.is_on = !self.is_on;
        period
    }
}

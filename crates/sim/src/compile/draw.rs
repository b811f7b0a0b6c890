//! Where the values of ranges come from: a seed's draws, or either end of every range.

use paceline_core::{Rate, Span};

use crate::input::Range;
use crate::kernel::chance::Stream;

/// How ranges become values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Draw {
    /// Uniformly, each entity from a stream of its own under this seed.
    Seeded(u64),
    /// The low end of every range.
    Lowest,
    /// The high end of every range.
    Highest,
}

impl Draw {
    /// The rate of `entity`.
    pub(crate) fn rate(self, range: Range<Rate>, entity: &str) -> Rate {
        let (low, high) = (range.low.bits_per_second(), range.high.bits_per_second());
        Rate::from_bits_per_second(self.whole(low, high, entity, "rate"))
    }

    /// The delay of `entity`.
    pub(crate) fn delay(self, range: Range<Span>, entity: &str) -> Span {
        self.span(range, entity, "delay")
    }

    /// A time that belongs to `entity`.
    pub(crate) fn span(self, range: Range<Span>, entity: &str, what: &str) -> Span {
        Span::from_nanos(self.whole(range.low.as_nanos(), range.high.as_nanos(), entity, what))
    }

    fn whole(self, low: u64, high: u64, entity: &str, what: &str) -> u64 {
        match self {
            Draw::Lowest => low,
            Draw::Highest => high,
            Draw::Seeded(_) if low == high => low,
            Draw::Seeded(seed) => Stream::of(seed, entity, what).between(low, high),
        }
    }
}

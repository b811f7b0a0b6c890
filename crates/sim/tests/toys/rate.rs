//! Square: a rate for a while, then none for as long.

use super::pieces::{Pieces, Succession};
use super::rate_model::RateModel;
use crate::input::keys::{Key, Kind, needed};
use crate::input::{Field, Result, Table};
use crate::kernel::chance::Stream;
use paceline_core::{Instant, Rate, Span};

/// The rate, and how long it is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Square {
    high: Rate,
    half: Span,
}

impl RateModel for Square {
    const KEYS: &'static [Key] = &[
        needed("square", Kind::Rate, "the rate"),
        needed("half", Kind::Time, "how long it is there, and how long it is not"),
    ];
    const EXAMPLE: &'static str = "square = \"10 Mbit/s\" with half";

    fn read(table: &Table<'_>) -> Result<Self> {
        let high = table.needs("square", "\"10 Mbit/s\"", Field::one_of)?;
        Ok(Square { high, half: table.needs("half", "\"1 s\"", Field::positive_span)? })
    }

    fn mean_bps(&self, _: Span) -> u128 {
        u128::from(self.high.bits_per_second() / 2)
    }

    fn most_bps(&self) -> u64 {
        self.high.bits_per_second()
    }

    type Transmitter = Pieces<Halves>;

    fn transmitter(&self, _: Stream) -> Self::Transmitter {
        Pieces::new(Halves { square: *self, is_high: false })
    }
}

#[derive(Debug)]
pub(crate) struct Halves {
    square: Square,
    is_high: bool,
}

impl Succession for Halves {
    fn next(&mut self, now: Instant) -> (u64, Instant) {
        self.is_high = !self.is_high;
        (if self.is_high { self.square.high.bits_per_second() } else { 0 }, now + self.square.half)
    }
}

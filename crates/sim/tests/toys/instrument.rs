//! Silence: the longest time for which a link's wire is idle.
//!
//! *Parameters.* None but the links and the time watched.

use super::classes::LINKS;
use super::described::{Described, Measure, Passing, Placed, Placing, View};
use super::observer::Observer;
use super::rows::{Curve, FlowRow, Point, SeriesRow};
use super::sampling::{FROM, TO};
use crate::input::keys::Key;
use crate::input::{Result, Table};
use crate::kernel::packet::Packet;
use paceline_core::{Instant, Span};

/// The table `silence`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Silence;

impl Described for Silence {
    const KEYS: &'static [Key] = &[LINKS, FROM, TO];

    fn read(_: &Table<'_>, _: (Instant, Instant)) -> Result<Self> {
        Ok(Silence)
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        Ok(placing.on_links(Silence))
    }
}

impl Measure for Silence {
    fn view(&self) -> View {
        View::Link(Passing::Departure)
    }

    fn observer(&self, (from, _): (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Longest { until: from, longest: Span::ZERO })
    }
}

/// At work on one link.
#[derive(Debug)]
struct Longest {
    until: Instant,
    longest: Span,
}

impl Observer for Longest {
    fn on_departure(&mut self, _: &Packet, (start, finish): (Instant, Instant), _: &mut Vec<SeriesRow>) {
        self.longest = self.longest.max(start.since(self.until));
        self.until = finish;
    }

    fn curves(self: Box<Self>, link: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        let point = Point { x: f64::NAN, y: self.longest.as_seconds(), count: 1 };
        curves.push(Curve::at_link("silence", link, ("", "s"), vec![point]));
    }
}

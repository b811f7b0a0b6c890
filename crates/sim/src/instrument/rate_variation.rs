//! Coefficient of variation of a link's rate against time scale.
//!
//! *Idea.* Count the bytes in intervals of the finest scale; two neighbours add up to an interval of twice the length, and
//! so on. Each scale keeps the number of its intervals, their sum and the sum of their squares, as integers: a few words a
//! scale, whatever the traffic. The coefficient of variation is standard deviation (of a sample, n - 1) over mean.
//! *Parameters.* The finest scale (`finest`), the number of dyadic scales (from `coarsest`), and whether a packet counts as
//! it reaches the link or as its serialisation begins (`at`).
//! *Where it breaks.* Neighbouring scales share their intervals, so their errors go together; a scale of few intervals
//! means little (see `count`), and intervals of a stream with long memory are not independent: intervals come from seeds.
//! A packet counts whole at one instant: below its own time on the wire the rate is that of a point process.
//! *References.* W. Leland et al. 1994 (variance against scale); V. Sivaraman et al. 2009, section II (burstiness of a pacer).
//! A Poisson stream of rate lambda has 1/sqrt(lambda T) at scale T, equal packets at equal gaps 0 at multiples of the gap.

use super::classes::LINKS;
use super::described::{Described, Measure, Passing, Placed, Placing, View};
use super::intervals::{Intervals, length};
use super::observer::Observer;
use super::rows::{Curve, FlowRow, Point, SeriesRow};
use super::sampling::{FROM, TO};
use crate::input::keys::{Key, Kind, key};
use crate::input::{Result, Table};
use crate::kernel::ids::FlowId;
use crate::kernel::packet::Packet;
use paceline_core::{Instant, Span};

/// The table `rate_variation`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scales {
    at: Passing,
    finest: Span,
    /// How many, each twice the one before.
    count: u32,
}

impl Described for Scales {
    const KEYS: &'static [Key] = &[
        LINKS,
        Passing::AT,
        key("finest", Kind::Time, "the shortest interval; 1 ms unless given"),
        key("coarsest", Kind::Time, "no interval is longer; a sixteenth of the time watched unless given"),
        FROM,
        TO,
    ];

    fn read(table: &Table<'_>, (from, to): (Instant, Instant)) -> Result<Self> {
        let finest = length(table, "finest", from, to)?;
        let watched = to.since(from);
        let coarsest = match table.get("coarsest") {
            None => Span::from_nanos(watched.as_nanos() / 16).max(finest),
            Some(field) => match field.span()? {
                coarsest if coarsest < finest => {
                    return Err(field.refused(format!("is finer than finest; write \"{finest}\" or more")));
                }
                coarsest if coarsest.as_nanos() > watched.as_nanos() / 2 => {
                    let most = Span::from_nanos(watched.as_nanos() / 2);
                    return Err(field.refused(format!(
                        "leaves fewer than two intervals in \"{watched}\"; write \"{most}\" or less"
                    )));
                }
                coarsest => coarsest,
            },
        };
        let count = (coarsest.as_nanos() / finest.as_nanos()).ilog2() + 1;
        Ok(Scales { at: Passing::read(table)?, finest, count })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        Ok(placing.on_links(self.clone()))
    }
}

impl Measure for Scales {
    fn view(&self) -> View {
        View::Link(self.at)
    }

    fn observer(&self, (from, to): (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(RateVariation::new(from, to, self.finest, self.count))
    }

    fn points(&self, seconds: f64, _: &dyn Fn(FlowId) -> f64) -> f64 {
        seconds / self.finest.as_seconds().max(1e-9) / 8.0
    }
}

/// At work on one link.
#[derive(Debug)]
struct RateVariation {
    intervals: Intervals,
    scales: Vec<Scale>,
}

#[derive(Debug, Clone, Default)]
struct Scale {
    /// The first of two neighbours that make one interval of the next scale.
    waiting: Option<u64>,
    count: u64,
    sum: u128,
    squares: u128,
}

impl RateVariation {
    fn new(from: Instant, to: Instant, finest: Span, scales: u32) -> Self {
        RateVariation {
            intervals: Intervals::new(from, to, finest),
            scales: vec![Scale::default(); scales as usize],
        }
    }

    /// Bytes at one instant.
    fn add(&mut self, at: Instant, bytes: u32) {
        let scales = &mut self.scales;
        self.intervals.add(at, bytes, |amount| take(scales, amount));
    }
}

impl Observer for RateVariation {
    fn on_arrival(&mut self, bytes: u32, at: Instant) {
        self.add(at, bytes);
    }

    fn on_departure(&mut self, packet: &Packet, (start, _): (Instant, Instant), _: &mut Vec<SeriesRow>) {
        self.add(start, u32::from(packet.bytes));
    }

    fn curves(mut self: Box<Self>, link: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        let scales = &mut self.scales;
        self.intervals.finish(|amount| take(scales, amount));
        let finest = self.intervals.length().as_seconds();
        let points = self.scales.iter().enumerate().filter_map(|(power, scale)| {
            let x = finest * (1_u64 << power) as f64;
            scale.variation().map(|y| Point { x, y, count: scale.count })
        });
        curves.push(Curve::at_link("rate_variation", link, ("s", "1"), points.collect()));
    }
}

/// An interval of the finest scale is over.
fn take(scales: &mut [Scale], amount: u64) {
    let mut amount = amount;
    for scale in scales {
        scale.count += 1;
        scale.sum += u128::from(amount);
        scale.squares += u128::from(amount) * u128::from(amount);
        match scale.waiting.take() {
            Some(before) => amount += before,
            None => {
                scale.waiting = Some(amount);
                return;
            }
        }
    }
}

impl Scale {
    /// Standard deviation over mean; `None` of a silent link, or of fewer than two intervals.
    fn variation(&self) -> Option<f64> {
        if self.count < 2 || self.sum == 0 {
            return None;
        }
        let count = u128::from(self.count);
        // Exact: n Σx² - (Σx)² = n (n - 1) s²; at most (Σx)² n, far below 2^128.
        let spread = (count * self.squares - self.sum * self.sum) as f64;
        let deviation = (spread / self.count as f64 / (self.count - 1) as f64).sqrt();
        Some(deviation / (self.sum as f64 / self.count as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    #[test]
    fn each_scale_adds_up_two_intervals_of_the_one_before() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let mut variation = RateVariation::new(at(0), at(8), Span::from_millis(1), 4);
        for (millis, bytes) in [(0, 1), (1, 3), (2, 1), (3, 3), (4, 1), (5, 3), (6, 1), (7, 3)] {
            variation.add(at(millis), bytes);
        }
        let points = found(variation).remove(0).points;
        // 1, 3, 1, 3, …: mean 2, sample variance 8/7; pairs add up to 4 each.
        let expected = (8.0_f64 / 7.0).sqrt() / 2.0;
        assert!((points[0].y - expected).abs() < 1e-15);
        let rest: Vec<(f64, f64, u64)> = points.iter().skip(1).map(|p| (p.x, p.y, p.count)).collect();
        assert_eq!(rest, [(0.002, 0.0, 4), (0.004, 0.0, 2)], "one interval of 8 ms has no variation");
    }
}

//! Auto-covariance of a link's rate.
//!
//! *Idea.* Count bytes in intervals of one length; for each lag k keep the sum of products of intervals that are k apart,
//! with the last intervals in a ring. The mean is taken off at the end, from the sum of all and those of the first and last
//! k intervals: exact in integers. C(k) = sum over i of (x_i - m)(x_(i+k) - m) / (n - k), m the mean of all n.
//! *Parameters.* Length of an interval (`interval`), the longest lag (`lags`), when a packet counts (`at`).
//! *Where it breaks.* An interval costs a multiplication a lag. With lags near the time watched few pairs are left (`count`).
//! A mean that drifts (a slow start within the time watched) shows as covariance at every lag.
//! *References.* P. Brockwell and R. Davis, "Time Series" (1991), section 7.2; Y. Cai et al. 2012 (QLBP), section IV, takes
//! the auto-covariance of a pacer's output. Counts of a Poisson stream: variance lambda T, 0 at every lag.

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

/// More lags than this are no picture.
const MOST_LAGS: u64 = 10_000;

/// The table `auto_covariance`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lags {
    at: Passing,
    /// The rate is that over intervals of this length.
    interval: Span,
    /// The longest lag, intervals.
    most: u32,
}

impl Described for Lags {
    const KEYS: &'static [Key] = &[
        LINKS,
        Passing::AT,
        key("interval", Kind::Time, "over which a rate is taken; 1 ms unless given"),
        key("lags", Kind::Whole(1, MOST_LAGS), "the most, intervals; 50 unless given"),
        FROM,
        TO,
    ];

    fn read(table: &Table<'_>, (from, to): (Instant, Instant)) -> Result<Self> {
        let interval = length(table, "interval", from, to)?;
        let intervals = to.since(from).as_nanos() / interval.as_nanos();
        let most = match table.get("lags") {
            None => 50.min(intervals / 2),
            Some(field) => {
                let lags = field.whole(1, MOST_LAGS)?;
                if lags >= intervals {
                    let problem = format!("is too many: there are {intervals} intervals; write fewer");
                    return Err(field.refused(problem));
                }
                lags
            }
        };
        Ok(Lags { at: Passing::read(table)?, interval, most: most as u32 })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        Ok(placing.on_links(self.clone()))
    }
}

impl Measure for Lags {
    fn view(&self) -> View {
        View::Link(self.at)
    }

    fn observer(&self, (from, to): (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(AutoCovariance::new(from, to, self.interval, self.most))
    }

    fn points(&self, seconds: f64, _: &dyn Fn(FlowId) -> f64) -> f64 {
        seconds / self.interval.as_seconds().max(1e-9) / 8.0
    }
}

/// At work on one link.
#[derive(Debug)]
struct AutoCovariance {
    intervals: Intervals,
    sums: Sums,
}

#[derive(Debug)]
struct Sums {
    count: u64,
    sum: u128,
    /// Sum of products at lag k.
    products: Vec<u128>,
    /// The last intervals, number i at i modulo the length; as many as there are lags, and itself.
    last: Vec<u64>,
    /// The first ones.
    first: Vec<u64>,
}

impl AutoCovariance {
    fn new(from: Instant, to: Instant, interval: Span, lags: u32) -> Self {
        let length = lags as usize + 1;
        let sums = Sums { count: 0, sum: 0, products: vec![0; length], last: vec![0; length], first: vec![] };
        AutoCovariance { intervals: Intervals::new(from, to, interval), sums }
    }

    /// Bytes at one instant.
    fn add(&mut self, at: Instant, bytes: u32) {
        let sums = &mut self.sums;
        self.intervals.add(at, bytes, |amount| sums.take(amount));
    }
}

impl Observer for AutoCovariance {
    fn on_arrival(&mut self, bytes: u32, at: Instant) {
        self.add(at, bytes);
    }

    fn on_departure(&mut self, packet: &Packet, (start, _): (Instant, Instant), _: &mut Vec<SeriesRow>) {
        self.add(start, u32::from(packet.bytes));
    }

    fn curves(mut self: Box<Self>, link: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        let sums = &mut self.sums;
        self.intervals.finish(|amount| sums.take(amount));
        let interval = self.intervals.length().as_seconds();
        let to_rate = 8.0 / interval;
        let points = self.sums.covariances().enumerate().map(|(lag, (covariance, pairs))| Point {
            x: lag as f64 * interval,
            y: covariance * to_rate * to_rate,
            count: pairs,
        });
        curves.push(Curve::at_link("auto_covariance", link, ("s", "(bit/s)²"), points.collect()));
    }
}

impl Sums {
    fn take(&mut self, amount: u64) {
        let length = self.last.len();
        let here = (self.count % length as u64) as usize;
        self.last[here] = amount;
        if self.first.len() < length {
            self.first.push(amount);
        }
        self.count += 1;
        self.sum += u128::from(amount);
        if amount > 0 {
            let reach = self.count.min(length as u64) as usize;
            for lag in 0..reach {
                let before = self.last[(here + length - lag) % length];
                self.products[lag] += u128::from(amount) * u128::from(before);
            }
        }
    }

    /// Covariance in bytes², and the number of pairs, at each lag.
    fn covariances(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let length = self.last.len() as u64;
        let (n, sum) = (self.count, self.sum as i128);
        let (mut head, mut tail) = (0_i128, 0_i128);
        (0..length.min(n)).map(move |lag| {
            if lag > 0 {
                head += i128::from(self.first[lag as usize - 1]);
                tail += i128::from(self.last[((n - lag) % length) as usize]);
            }
            let pairs = n - lag;
            // n² Σ(x_i - m)(x_(i+k) - m), exact; its terms stay below n (Σx)², which the limits on n keep under 2^127.
            let count = i128::from(n);
            let scaled = count * count * self.products[lag as usize] as i128
                - count * sum * ((sum - head) + (sum - tail))
                + i128::from(pairs) * sum * sum;
            (scaled as f64 / (n as f64 * n as f64) / pairs as f64, pairs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        let at = Instant::from_nanos;
        let amounts: Vec<u32> = (0..57_u32).map(|i| (i * i * 31 + i * 7) % 23).collect();
        let mut covariance = AutoCovariance::new(at(0), at(57), Span::from_nanos(1), 60);
        for (time, amount) in amounts.iter().enumerate() {
            covariance.add(at(time as u64), *amount);
        }
        let points = found(covariance).remove(0).points;
        assert_eq!(points.len(), 57);
        let n = amounts.len();
        let mean = amounts.iter().sum::<u32>() as f64 / n as f64;
        for (lag, point) in points.iter().enumerate() {
            let products = (0..n - lag)
                .map(|i| (f64::from(amounts[i]) - mean) * (f64::from(amounts[i + lag]) - mean))
                .sum::<f64>();
            let expected = products / (n - lag) as f64 * 64e18;
            assert!((point.y - expected).abs() < 1e-9 * 64e18, "lag {lag}: {} {expected}", point.y);
            assert_eq!(point.count, (n - lag) as u64);
        }
    }
}

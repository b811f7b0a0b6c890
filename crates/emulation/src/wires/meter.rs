//! How much waits before a link: exactly, over the statistics' window, and in samples.

use paceline_core::Instant;
use std::collections::{BTreeMap, VecDeque};

/// Bytes that wait before one link; what is on the wire does not wait.
///
/// Service is known when a packet is admitted, so departures to come are kept, and settled in order when next asked.
#[derive(Debug)]
pub(crate) struct Meter {
    level: u64,
    since: Instant,
    from: Instant,
    to: Instant,
    /// When packets that wait now will begin to be served, and their sizes.
    leaving: VecDeque<(Instant, u32)>,
    /// Nanoseconds spent at each level, within the window.
    stood: BTreeMap<u64, u64>,
    samples: Option<Samples>,
}

/// Levels at regular times.
#[derive(Debug)]
struct Samples {
    start: Instant,
    every_ns: u64,
    levels: Vec<u64>,
}

impl Meter {
    /// Statistics from `from` to `to`; samples from `start`, each `every_ns`.
    pub(crate) fn new(start: Instant, from: Instant, to: Instant, every_ns: Option<u64>) -> Self {
        let samples = every_ns.map(|every| Samples { start, every_ns: every.max(1), levels: Vec::new() });
        Meter { level: 0, since: start, from, to, leaving: VecDeque::new(), stood: BTreeMap::new(), samples }
    }

    /// A packet begins to wait.
    pub(crate) fn enter(&mut self, bytes: u32, now: Instant) {
        self.settle(now);
        self.change(now, self.level + u64::from(bytes));
    }

    /// A packet that waits will be served from `at` on; calls come in that order.
    pub(crate) fn leave_at(&mut self, bytes: u32, at: Instant) {
        self.leaving.push_back((at, bytes));
    }

    /// A packet that waits is lost.
    pub(crate) fn lose(&mut self, bytes: u32, now: Instant) {
        self.settle(now);
        self.change(now, self.level.saturating_sub(u64::from(bytes)));
    }

    /// Mean and 99th percentile over time, bytes; `None` for a window of no length.
    pub(crate) fn finish(&mut self) -> Option<(f64, u64)> {
        self.settle(self.to);
        self.change(self.to, self.level);
        let whole: u64 = self.stood.values().sum();
        let area: u128 = self.stood.iter().map(|(&level, &ns)| u128::from(level) * u128::from(ns)).sum();
        let mut left = whole - whole / 100;
        let p99 = self.stood.iter().find(|&(_, &ns)| {
            let reached = ns >= left;
            left = left.saturating_sub(ns);
            reached
        });
        Some((area as f64 / whole as f64, *p99?.0))
    }

    /// The samples, bytes.
    pub(crate) fn samples(&self) -> &[u64] {
        self.samples.as_ref().map_or(&[], |samples| &samples.levels)
    }

    fn settle(&mut self, now: Instant) {
        while let Some(&(at, bytes)) = self.leaving.front().filter(|(at, _)| *at <= now) {
            self.leaving.pop_front();
            self.change(at, self.level.saturating_sub(u64::from(bytes)));
        }
    }

    fn change(&mut self, at: Instant, level: u64) {
        let (from, to) = (self.since.max(self.from), at.min(self.to));
        if from < to {
            *self.stood.entry(self.level).or_default() += to.since(from).as_nanos();
        }
        if let Some(samples) = &mut self.samples {
            let next = |taken: usize| samples.start.as_nanos() + taken as u64 * samples.every_ns;
            while next(samples.levels.len()) < at.min(self.to).as_nanos() {
                samples.levels.push(self.level);
            }
        }
        self.level = level;
        self.since = self.since.max(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn mean_percentile_and_samples_of_a_staircase() {
        // From 100 on: 0 B for 10 ns, 5 B for 10 ns, 8 B for 10 ns, 3 B for 10 ns, 0 B for 60 ns; the window is 105 to 200.
        let mut meter = Meter::new(at(100), at(105), at(200), Some(10));
        meter.enter(5, at(110));
        meter.leave_at(5, at(130));
        meter.enter(3, at(120));
        meter.leave_at(3, at(140));
        let (mean, p99) = meter.finish().expect("a window");
        assert!((mean - (50.0 + 80.0 + 30.0) / 95.0).abs() < 1e-12);
        assert_eq!(p99, 8);
        assert_eq!(meter.samples(), [0, 5, 8, 3, 0, 0, 0, 0, 0, 0]);
    }
}

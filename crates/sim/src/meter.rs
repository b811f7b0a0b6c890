//! How much waits at a link, over time: its mean, its distribution, its level at any moment.
//!
//! *Idea.* Departures are known when a packet is admitted, so the meter keeps those to come and settles them in order when
//! next asked; each level counts for as long as it stood. Time before the warm-up's end does not count.

use hdrhistogram::Histogram;
use paceline_core::Instant;
use paceline_core::queue::Waited;
use std::collections::VecDeque;

/// Bytes that wait at one link, pacer and buffer together; what is on the wire does not wait.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    level: u64,
    /// The level stands since then, or counts from then on.
    since: Instant,
    /// Statistics start and end here; a packet that passes ahead of time may enter after the end.
    from: Instant,
    to: Instant,
    /// When packets that wait now will begin to be served, and their sizes.
    leaving: VecDeque<(Instant, u32)>,
    /// Sum of level times time, byte nanoseconds.
    area: u128,
    /// Nanoseconds spent at each level.
    levels: Histogram<u64>,
    /// The same of a few levels, not yet in either: packets of one size make but a few, which come again and again.
    recent: [(u64, u64); RECENT],
    /// The same by how many packets wait, of so many bytes each.
    alike: (u32, Vec<u64>),
}

/// Levels remembered.
const RECENT: usize = 16;

impl Meter {
    pub(crate) fn new(from: Instant, to: Instant) -> Option<Self> {
        let levels = Histogram::new_with_bounds(1, 1 << 40, 3).ok()?;
        Some(Meter {
            level: 0,
            since: from,
            from,
            to,
            leaving: VecDeque::new(),
            area: 0,
            levels,
            recent: [(0, 0); RECENT],
            alike: (0, Vec::new()),
        })
    }

    /// A packet begins to wait; whoever keeps those that do tells when its service begins.
    #[inline(always)]
    pub(crate) fn waits_elsewhere(&mut self, bytes: u32, now: Instant) {
        self.note(now);
        self.level += u64::from(bytes);
    }

    /// The service of such a packet begins at `at`; all calls come in the order of time.
    #[inline(always)]
    pub(crate) fn starts(&mut self, bytes: u32, at: Instant) {
        self.note(at);
        self.level -= u64::from(bytes);
    }

    /// Whether all of this time counts, or nothing of it: then from when on to say for how long how many packets wait.
    pub(crate) fn counts_together(&self, (first, latest): (Instant, Instant)) -> Option<Instant> {
        if latest <= self.from {
            return Some(first);
        }
        (self.from <= first && latest <= self.to).then_some(self.since)
    }

    /// Packets of one size have waited since then.
    pub(crate) fn have_waited(&mut self, waited: &Waited<'_>) {
        self.level = waited.waiting * u64::from(waited.bytes);
        if waited.until <= self.from {
            return;
        }
        self.since = waited.until;
        if self.alike.0 != waited.bytes {
            self.settle_alike();
            self.alike.0 = waited.bytes;
        }
        let times = &mut self.alike.1;
        if times.len() < waited.times.len() {
            times.resize(waited.times.len(), 0);
        }
        times.iter_mut().zip(waited.times).for_each(|(sum, time)| *sum += time);
    }

    fn settle_alike(&mut self) {
        let Meter { levels, area, alike: (bytes, times), .. } = self;
        for (packets, time) in (0..).zip(times.drain(..)) {
            settle_level(levels, area, &mut (packets * u64::from(*bytes), time));
        }
    }

    /// A packet begins to wait.
    #[inline(always)]
    pub(crate) fn enter(&mut self, bytes: u32, now: Instant) {
        self.settle(now);
        self.note(now);
        self.level += u64::from(bytes);
    }

    /// A packet that waits has at `now` been promised the start of its service; calls come in the order of both.
    #[inline(always)]
    pub(crate) fn leaves(&mut self, bytes: u32, now: Instant, start: Instant) {
        self.settle(now);
        if start <= now {
            self.starts(bytes, start);
        } else {
            self.leave_at(bytes, start);
        }
    }

    /// A packet that waits will leave the queue at `at`; calls come in the order of departure.
    #[inline]
    fn leave_at(&mut self, bytes: u32, at: Instant) {
        self.leaving.push_back((at, bytes));
    }

    /// A packet waits from its arrival at `at` to the start of its service; calls come in the order of both.
    #[inline]
    pub(crate) fn waits(&mut self, bytes: u32, at: Instant, start: Instant) {
        self.enter(bytes, at);
        self.leave_at(bytes, start);
    }

    /// A packet that waits is dropped.
    #[inline]
    pub(crate) fn drop_now(&mut self, bytes: u32, now: Instant) {
        self.settle(now);
        self.note(now);
        self.level = self.level.saturating_sub(u64::from(bytes));
    }

    /// The level at `now`, departures at that instant counted as gone.
    pub(crate) fn level(&mut self, now: Instant) -> u64 {
        self.settle(now);
        self.level
    }

    /// Mean and 99th percentile over the window, bytes.
    pub(crate) fn finish(&mut self) -> (f64, f64) {
        self.settle(self.to);
        self.note(self.to);
        self.settle_alike();
        for recent in &mut self.recent {
            settle_level(&mut self.levels, &mut self.area, recent);
        }
        let time = self.to.since(self.from).as_nanos().max(1) as f64;
        // The lower edge of the histogram's bin: never more than ever waited.
        let p99 = self.levels.lowest_equivalent(self.levels.value_at_quantile(0.99));
        (self.area as f64 / time, p99 as f64)
    }

    #[inline(always)]
    fn settle(&mut self, now: Instant) {
        while let Some(&(at, bytes)) = self.leaving.front()
            && at <= now
        {
            self.leaving.pop_front();
            self.starts(bytes, at);
        }
    }

    /// The present level has stood until `until`.
    #[inline(always)]
    fn note(&mut self, until: Instant) {
        let until = until.min(self.to).max(self.since);
        // Packets of 40, 1000, 1040 or 1500 B: a few of them on top of each other make different remainders.
        let recent = &mut self.recent[(self.level / 8) as usize % RECENT];
        if recent.0 != self.level {
            settle_level(&mut self.levels, &mut self.area, recent);
            recent.0 = self.level;
        }
        recent.1 += until.as_nanos() - self.since.as_nanos();
        self.since = until;
    }
}

/// A remembered level makes room for another.
#[inline(never)]
fn settle_level(levels: &mut Histogram<u64>, area: &mut u128, recent: &mut (u64, u64)) {
    if recent.1 > 0 {
        levels.saturating_record_n(recent.0, recent.1);
        *area += u128::from(recent.0) * u128::from(recent.1);
    }
    recent.1 = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_count_by_their_time_after_the_warm_up() {
        let at = Instant::from_nanos;
        let mut meter = Meter::new(at(100), at(300)).unwrap();
        meter.enter(1000, at(0));
        meter.leave_at(1000, at(150)); // 50 ns of 1000 B count
        meter.enter(500, at(120));
        meter.leave_at(500, at(200)); // 80 ns of 500 B
        assert_eq!(meter.level(at(160)), 500);
        let (mean, p99) = meter.finish();
        assert_eq!(mean, (50.0 * 1000.0 + 80.0 * 500.0) / 200.0);
        assert_eq!(p99, 1500.0);
    }
}

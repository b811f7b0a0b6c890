//! How much waits at a link, over time: its mean, its distribution, its level at any moment.
//!
//! *Idea.* Departures are known when a packet is admitted, so the meter keeps those to come and settles them in order when
//! next asked; each level counts for as long as it stood. Time before the warm-up's end does not count.

use hdrhistogram::Histogram;
use paceline_core::Instant;
use paceline_core::queue::{Booking, Waited};
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
    levels: Levels,
    /// The same of a few levels, not yet in there: packets of one size make but a few, which come again and again.
    recent: [(u64, u64); RECENT],
    /// The same by how many packets wait, of so many bytes each.
    alike: (u32, Vec<u64>),
}

/// Time by level.
#[derive(Debug, Clone, Default)]
struct Levels {
    /// Sum of level times time, byte nanoseconds.
    area: u128,
    /// Nanoseconds in which nothing waited.
    idle: u64,
    /// Nanoseconds spent at each other level, of three digits; none where nothing ever waited, as at most links.
    others: Option<Histogram<u64>>,
}

/// Levels remembered.
const RECENT: usize = 64;
/// Higher levels count as this one, bytes.
const HIGHEST: u64 = 1 << 40;

impl Meter {
    pub(crate) fn new(from: Instant, to: Instant) -> Self {
        Meter {
            level: 0,
            since: from,
            from,
            to,
            leaving: VecDeque::new(),
            levels: Levels::default(),
            recent: [(0, 0); RECENT],
            alike: (0, Vec::new()),
        }
    }

    /// A packet begins to wait; the queue that keeps it reports when its service begins.
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

    /// `None` where only part of this time counts; else from when on to report how long how many packets waited.
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

    /// So many packets wait at `now`.
    pub(crate) fn waiting(&mut self, now: Instant) -> usize {
        self.settle(now);
        self.leaving.len()
    }

    /// These wait now, and no others.
    pub(crate) fn wait_on(&mut self, bookings: impl Iterator<Item = Booking>) {
        self.leaving.clear();
        self.leaving.extend(bookings.map(|booking| (booking.start, booking.bytes)));
    }

    fn settle_alike(&mut self) {
        let Meter { levels, alike: (bytes, times), .. } = self;
        for (packets, time) in (0..).zip(times.drain(..)) {
            levels.add(packets * u64::from(*bytes), time);
        }
    }

    /// A packet begins to wait.
    #[inline(always)]
    pub(crate) fn enter(&mut self, bytes: u32, now: Instant) {
        self.settle(now);
        self.note(now);
        self.level += u64::from(bytes);
    }

    /// A packet comes and leaves at once.
    #[inline]
    pub(crate) fn passes(&mut self, now: Instant) {
        self.settle(now);
        self.note(now);
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
        for (level, time) in &mut self.recent {
            self.levels.add(*level, std::mem::take(time));
        }
        let time = self.to.since(self.from).as_nanos().max(1) as f64;
        (self.levels.area as f64 / time, self.levels.p99() as f64)
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
            self.levels.add(recent.0, recent.1);
            *recent = (self.level, 0);
        }
        recent.1 += until.as_nanos() - self.since.as_nanos();
        self.since = until;
    }
}

impl Levels {
    /// A level has stood for so long, nanoseconds.
    #[inline(never)]
    fn add(&mut self, level: u64, time: u64) {
        if level == 0 {
            self.idle += time;
        } else if time > 0 {
            self.record(level, time);
            self.area += u128::from(level) * u128::from(time);
        }
    }

    fn record(&mut self, level: u64, time: u64) {
        if self.others.is_none() {
            self.others = Histogram::new(3).ok(); // which grows with what is recorded
        }
        if let Some(others) = &mut self.others {
            let recorded = others.record_n(level.min(HIGHEST), time);
            debug_assert!(recorded.is_ok(), "it has room for every level below its highest");
        }
    }

    /// The 99th percentile: the lower edge of its bin, which is never more than ever waited.
    fn p99(&mut self) -> u64 {
        let idle = std::mem::take(&mut self.idle);
        if self.others.is_none() {
            return 0;
        }
        self.record(0, idle);
        self.others.as_ref().map_or(0, |levels| levels.lowest_equivalent(levels.value_at_quantile(0.99)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 99 of a hundred nanoseconds nothing waits, in two parts: the percentile is 0; a nanosecond more of the level, and it is that.
    #[test]
    fn a_percentile_counts_the_time_in_which_nothing_waits() {
        let at = Instant::from_nanos;
        for (waits, expected) in [(10, 0.0), (11, 1000.0)] {
            let mut meter = Meter::new(at(0), at(1000));
            meter.waits(1000, at(500), at(500 + waits));
            let (mean, p99) = meter.finish();
            assert_eq!((mean, p99), (waits as f64, expected), "{waits}");
        }
    }

    #[test]
    fn levels_count_by_their_time_after_the_warm_up() {
        let at = Instant::from_nanos;
        let mut meter = Meter::new(at(100), at(300));
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

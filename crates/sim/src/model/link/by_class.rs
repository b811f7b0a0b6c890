//! What a queue that tells packets by their classes does with each class.

use crate::kernel::packet::Event;
use paceline_core::queue::CLASSES;
use paceline_core::{Instant, Packet};
use std::sync::Arc;

/// Counts by class over the window from warm-up to end.
#[derive(Debug)]
pub(crate) struct ByClass {
    class_of: Arc<[u8]>,
    from: Instant,
    to: Instant,
    counts: [ClassCounts; CLASSES],
}

/// Of one class.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClassCounts {
    /// Packets that reached the queue, and those of them that it dropped.
    pub(crate) arrived: u64,
    pub(crate) dropped: u64,
    /// Bytes that wait, since when, and the sum of that times time, byte nanoseconds.
    level: u64,
    since: Instant,
    area: u128,
}

impl ClassCounts {
    /// What waits changes at `now`.
    fn settle(&mut self, now: Instant, (from, to): (Instant, Instant)) {
        let nanos = now.min(to).since(self.since.max(from)).as_nanos();
        self.area += u128::from(self.level) * u128::from(nanos);
        self.since = now;
    }
}

impl ByClass {
    pub(super) fn new(classes: &Arc<[u8]>, (from, to): (Instant, Instant)) -> Self {
        ByClass { class_of: Arc::clone(classes), from, to, counts: [ClassCounts::default(); CLASSES] }
    }

    fn of(&mut self, event: &Event) -> (&mut ClassCounts, (Instant, Instant)) {
        let class = self.class_of.get(event.flow() as usize).copied().unwrap_or(0);
        (&mut self.counts[usize::from(class)], (self.from, self.to))
    }

    /// A packet comes, and is taken or not.
    pub(super) fn comes(&mut self, event: &Event, now: Instant, is_taken: bool) {
        let counts_now = u64::from(self.from <= now && now < self.to);
        let (counts, window) = self.of(event);
        counts.arrived += counts_now;
        if is_taken {
            counts.settle(now, window);
            counts.level += u64::from(event.bytes);
        } else {
            counts.dropped += counts_now;
        }
    }

    /// One that waited leaves, or is dropped.
    pub(super) fn goes(&mut self, event: &Event, now: Instant, is_dropped: bool) {
        let counts_now = u64::from(self.from <= now && now < self.to);
        let (counts, window) = self.of(event);
        counts.settle(now, window);
        counts.level -= u64::from(event.bytes);
        counts.dropped += counts_now * u64::from(is_dropped);
    }

    /// By class: what was counted, and the mean of what waited, bytes.
    pub(crate) fn finish(&mut self) -> impl Iterator<Item = (ClassCounts, f64)> {
        let (from, to) = (self.from, self.to);
        self.counts.iter_mut().map(move |counts| {
            counts.settle(to, (from, to));
            (*counts, counts.area as f64 / to.since(from).as_nanos() as f64)
        })
    }
}

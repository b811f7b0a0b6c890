//! A histogram of times that one thread writes and others read, in bounded memory: 16 buckets to each doubling.

use std::sync::atomic::{AtomicU64, Ordering};

/// Buckets to each doubling, as a power of two: a value is known to 1/16.
const FINE: u32 = 4;
const BUCKETS: usize = ((64 - FINE as usize) + 1) << FINE;

/// Counts of times, nanoseconds.
///
/// ```
/// let times = paceline_dataplane::histogram::Histogram::default();
/// assert!(times.summary().is_none());
/// (1..=100).for_each(|nanos| times.record(nanos));
/// let summary = times.summary().expect("a hundred");
/// assert_eq!((times.count(), times.sum(), summary.mean, summary.max), (100, 5050, 50.5, 100));
/// assert!((50..=53).contains(&summary.p50)); // to a sixteenth
/// assert_eq!(times.at_most(20), 20);
/// ```
#[derive(Debug)]
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    count: AtomicU64,
    most: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            count: AtomicU64::new(0),
            most: AtomicU64::new(0),
        }
    }
}

/// What a histogram says, nanoseconds; nothing of nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half are below.
    pub p50: u64,
    /// Of a hundred, 99 are below.
    pub p99: u64,
    /// The largest, exactly.
    pub max: u64,
}

/// Adds where only one thread does.
#[inline]
pub(crate) fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

impl Histogram {
    /// Counts a time. Only one thread may.
    #[inline]
    pub fn record(&self, nanos: u64) {
        if let Some(bucket) = self.buckets.get(bucket(nanos)) {
            bump(bucket, 1);
        }
        bump(&self.sum, nanos);
        bump(&self.count, 1);
        if nanos > self.most.load(Ordering::Relaxed) {
            self.most.store(nanos, Ordering::Relaxed);
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Their sum, nanoseconds.
    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }

    /// How many are at most that, to a sixteenth.
    pub fn at_most(&self, nanos: u64) -> u64 {
        self.buckets.iter().take(bucket(nanos) + 1).map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Mean and quantiles; `None` of nothing. Quantiles are upper bounds of their bucket, 1/16 too high at most.
    pub fn summary(&self) -> Option<Summary> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let most = self.most.load(Ordering::Relaxed);
        let quantile = |per_mille: u64| {
            let rank = (count * per_mille).div_ceil(1000).max(1);
            let mut seen = 0;
            let found = self.buckets.iter().position(|bucket| {
                seen += bucket.load(Ordering::Relaxed);
                seen >= rank
            });
            found.map_or(most, |index| upper(index).min(most))
        };
        let mean = self.sum() as f64 / count as f64;
        Some(Summary { mean, p50: quantile(500), p99: quantile(990), max: most })
    }
}

/// Values below 32 have a bucket each; then 16 to each doubling.
fn bucket(value: u64) -> usize {
    let bits = 64 - value.leading_zeros();
    let shift = bits.saturating_sub(FINE + 1);
    ((shift as usize) << FINE) + (value >> shift) as usize
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let shift = (bucket >> FINE).saturating_sub(1) as u32;
    let leading = (bucket - ((shift as usize) << FINE)) as u64;
    ((u128::from(leading + 1) << shift) - 1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        let mut next = 0;
        for index in 0..bucket(u64::MAX) {
            assert_eq!((bucket(next), bucket(upper(index))), (index, index));
            next = upper(index) + 1;
        }
        assert_eq!(upper(bucket(u64::MAX)), u64::MAX);
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn quantiles_are_those_of_a_sorted_list() {
        let histogram = Histogram::default();
        assert_eq!(histogram.summary(), None);
        let mut values: Vec<u64> = (0..10_000u64).map(|n| (n * n * 31) % 1_000_003).collect();
        values.iter().for_each(|value| histogram.record(*value));
        values.sort_unstable();
        let summary = histogram.summary().unwrap();
        for (found, exact) in
            [(summary.p50, values[4999]), (summary.p99, values[9899]), (summary.max, values[9999])]
        {
            assert!(found >= exact && found as f64 <= exact as f64 * 1.0626, "{found} {exact}");
        }
        assert_eq!(histogram.at_most(u64::MAX), 10_000);
    }
}

//! A histogram as it is reported: ranges of values, and how many fell into each.
//!
//! *Idea.* Ranges are a sixteenth of their value wide, whole numbers below 32 stand alone: memory depends on how far values
//! reach, not on how many there are.

use hdrhistogram::Histogram;

/// A histogram that grows as it must, and what is exact beside it.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    histogram: Histogram<u64>,
    sum: u128,
    least: u64,
    most: u64,
}

/// How often which values were.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Counts {
    /// How many there were.
    pub count: u64,
    /// Their mean; `None` if there were none.
    pub mean: Option<f64>,
    /// The median, to a sixteenth of itself.
    pub p50: Option<u64>,
    /// The 99th percentile, to a sixteenth of itself.
    pub p99: Option<u64>,
    /// The largest.
    pub max: Option<u64>,
    /// Ranges that have any: the least and the largest value, both within, and how many.
    pub bins: Vec<(u64, u64, u64)>,
}

impl Tally {
    #[allow(clippy::expect_used, reason = "one significant digit is always accepted")]
    pub(super) fn new() -> Self {
        Tally {
            histogram: Histogram::new(1).expect("one significant digit"),
            sum: 0,
            least: u64::MAX,
            most: 0,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        let _ = self.histogram.record(value); // it grows as it must
        self.sum += u128::from(value);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    pub(super) fn counts(&self) -> Counts {
        let histogram = &self.histogram;
        let count = histogram.len();
        let any = |value: u64| (count > 0).then_some(value);
        let quantile =
            |share: f64| any(histogram.value_at_quantile(share).clamp(self.least.min(self.most), self.most));
        let bins = histogram.iter_recorded().map(|bin| {
            let at = bin.value_iterated_to();
            (histogram.lowest_equivalent(at), histogram.highest_equivalent(at), bin.count_at_value())
        });
        Counts {
            count,
            mean: (count > 0).then(|| self.sum as f64 / count as f64),
            p50: quantile(0.5),
            p99: quantile(0.99),
            max: any(self.most),
            bins: bins.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_of_the_values_not_of_their_ranges() {
        let mut tally = Tally::new();
        assert_eq!(
            tally.counts(),
            Counts { count: 0, mean: None, p50: None, p99: None, max: None, bins: vec![] }
        );
        tally.add(100);
        let counts = tally.counts();
        assert_eq!(
            (counts.mean, counts.p50, counts.p99, counts.max),
            (Some(100.0), Some(100), Some(100), Some(100))
        );
        tally.add(u64::MAX);
        assert_eq!(tally.counts().mean, Some((u128::from(u64::MAX) + 100) as f64 / 2.0));
        assert_eq!(tally.counts().max, Some(u64::MAX));
    }
}

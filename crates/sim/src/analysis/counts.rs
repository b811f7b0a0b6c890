//! A histogram as it is reported: ranges of values, and how many fell into each.
//!
//! *Idea.* Ranges are a sixteenth of their value wide, whole numbers below 32 stand alone: memory depends on how far values
//! reach, not on how many there are.

use hdrhistogram::Histogram;

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
    /// The largest, to a sixteenth of itself.
    pub max: Option<u64>,
    /// Ranges that have any: the least and the largest value, both within, and how many.
    pub bins: Vec<(u64, u64, u64)>,
}

/// A histogram that grows as it must.
#[allow(clippy::expect_used, reason = "one significant digit is always accepted")]
pub(super) fn empty() -> Histogram<u64> {
    Histogram::new(1).expect("one significant digit")
}

pub(super) fn counts_of(histogram: &Histogram<u64>) -> Counts {
    let any = !histogram.is_empty();
    let value = |value: u64| any.then_some(value);
    let bins = histogram.iter_recorded().map(|bin| {
        let at = bin.value_iterated_to();
        (histogram.lowest_equivalent(at), histogram.highest_equivalent(at), bin.count_at_value())
    });
    Counts {
        count: histogram.len(),
        mean: any.then(|| histogram.mean()),
        p50: value(histogram.value_at_quantile(0.5).min(histogram.max())),
        p99: value(histogram.value_at_quantile(0.99).min(histogram.max())),
        max: value(histogram.max()),
        bins: bins.collect(),
    }
}

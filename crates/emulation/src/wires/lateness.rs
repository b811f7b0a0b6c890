//! How late things were done: a distribution over four decades.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Delays in ns.
#[derive(Debug)]
pub struct Lateness {
    delays: Histogram<u64>,
}

/// What a [`Lateness`] comes to, us; `None` where nothing was done.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    count: u64,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    max_us: Option<f64>,
}

impl Lateness {
    /// Of nothing yet; `None` where the histogram refuses its bounds.
    pub(crate) fn new() -> Option<Self> {
        Histogram::new_with_bounds(1, 1 << 40, 2).ok().map(|delays| Lateness { delays })
    }

    pub(crate) fn record(&mut self, ns: u64) {
        self.delays.saturating_record(ns);
    }

    pub(crate) fn summary(&self) -> Summary {
        let us = |ns: u64| (!self.delays.is_empty()).then(|| ns as f64 / 1e3);
        Summary {
            count: self.delays.len(),
            p50_us: us(self.delays.value_at_quantile(0.5)),
            p99_us: us(self.delays.value_at_quantile(0.99)),
            max_us: us(self.delays.max()),
        }
    }
}

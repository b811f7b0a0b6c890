//! What a pacer costs: delay, and packets that find it full.

use hdrhistogram::Histogram;

/// Delays and drops so far.
#[derive(Debug, Clone)]
pub(super) struct Cost {
    delays: Histogram<u64>,
    sum_ns: u128,
    most_ns: u64,
    dropped_packets: u64,
    dropped_bytes: u64,
}

/// The same as it is reported. A delay is from a packet's time in the capture to when its first bit leaves.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CostReport {
    /// Mean delay, seconds; `None` where no packet left.
    pub delay_mean_s: Option<f64>,
    /// Its median, seconds, to three digits (two for a flow).
    pub delay_p50_s: Option<f64>,
    /// Its 99th percentile, seconds, to as many.
    pub delay_p99_s: Option<f64>,
    /// The longest, seconds.
    pub delay_max_s: Option<f64>,
    /// Packets that the pacer or the link behind it refused.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
}

impl Cost {
    /// `digits` of a delay are kept.
    #[allow(clippy::expect_used, reason = "so few significant digits are always accepted")]
    pub(super) fn new(digits: u8) -> Cost {
        let delays = Histogram::new(digits.clamp(1, 3)).expect("one to three significant digits");
        Cost { delays, sum_ns: 0, most_ns: 0, dropped_packets: 0, dropped_bytes: 0 }
    }

    #[inline]
    pub(super) fn delayed(&mut self, delay_ns: u64) {
        let _ = self.delays.record(delay_ns); // it grows as it must
        self.sum_ns += u128::from(delay_ns);
        self.most_ns = self.most_ns.max(delay_ns);
    }

    pub(super) fn dropped(&mut self, bytes: u32) {
        self.dropped_packets += 1;
        self.dropped_bytes += u64::from(bytes);
    }

    pub(super) fn finish(&self) -> CostReport {
        let count = self.delays.len();
        let seconds = |ns: u64| (count > 0).then(|| ns.min(self.most_ns) as f64 / 1e9);
        CostReport {
            delay_mean_s: (count > 0).then(|| self.sum_ns as f64 / count as f64 / 1e9),
            delay_p50_s: seconds(self.delays.value_at_quantile(0.5)),
            delay_p99_s: seconds(self.delays.value_at_quantile(0.99)),
            delay_max_s: seconds(self.most_ns),
            dropped_packets: self.dropped_packets,
            dropped_bytes: self.dropped_bytes,
        }
    }
}

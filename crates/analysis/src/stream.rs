//! What there is to say of a stream of packets, as captured or as a pacer lets it go.

use super::bursts::Bursts;
use super::counts::Counts;
use super::scales::{Scale, Scales};
use super::series::{RateSeries, Series};

/// Statistics of packets that come in the order of time.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    packets: u64,
    bytes: u64,
    /// Nanoseconds since 1970.
    first_ns: u64,
    last_ns: u64,
    scales: Scales,
    series: Series,
    bursts: Bursts,
}

/// The same as it is reported.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct StreamReport {
    /// How many packets.
    pub packets: u64,
    /// Bytes of them all, on the wire.
    pub bytes: u64,
    /// Time of the first packet, nanoseconds since 1970; `None` without one.
    pub first_ns: Option<u64>,
    /// Time of the last; `None` without one.
    pub last_ns: Option<u64>,
    /// From the first packet to the last, seconds.
    pub duration_s: Option<f64>,
    /// Bits over duration, bit/s; `None` where all packets have one time.
    pub rate_mean_bps: Option<f64>,
    /// Burstiness and peak rates by the length of the interval, 1, 2, 5, 10 us and on.
    pub scales: Vec<Scale>,
    /// The rate over time.
    pub rate: RateSeries,
    /// Gaps between packets, nanoseconds.
    pub gaps_ns: Counts,
    /// Bursts, packets.
    pub bursts: Counts,
    /// The largest burst, bytes.
    pub burst_most_bytes: u64,
}

impl Stream {
    pub(super) fn new(burst_gap_ns: u64) -> Stream {
        Stream {
            packets: 0,
            bytes: 0,
            first_ns: 0,
            last_ns: 0,
            scales: Scales::default(),
            series: Series::new(),
            bursts: Bursts::new(burst_gap_ns),
        }
    }

    /// A packet; time never runs backwards between calls.
    #[inline]
    pub(super) fn add(&mut self, time_ns: u64, bytes: u32) {
        let bytes = u64::from(bytes);
        let gap = match self.packets {
            0 => {
                self.first_ns = time_ns;
                None
            }
            _ => Some(time_ns.saturating_sub(self.last_ns)),
        };
        self.last_ns = time_ns;
        self.packets += 1;
        self.bytes += bytes;
        let since = time_ns.saturating_sub(self.first_ns);
        self.scales.add(since, bytes);
        self.series.add(since, bytes);
        self.bursts.add(gap, bytes);
    }

    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn finish(self) -> StreamReport {
        let any = self.packets > 0;
        let duration_s = self.last_ns.saturating_sub(self.first_ns) as f64 / 1e9;
        let (gaps_ns, bursts, burst_most_bytes) = self.bursts.finish();
        StreamReport {
            packets: self.packets,
            bytes: self.bytes,
            first_ns: any.then_some(self.first_ns),
            last_ns: any.then_some(self.last_ns),
            duration_s: any.then_some(duration_s),
            rate_mean_bps: (duration_s > 0.0).then(|| self.bytes as f64 * 8.0 / duration_s),
            scales: self.scales.finish(),
            rate: self.series.finish(),
            gaps_ns,
            bursts,
            burst_most_bytes,
        }
    }
}

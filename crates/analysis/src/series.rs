//! The rate over time, in at most 1024 intervals.
//!
//! *Idea.* Intervals begin at 1 us. Whenever the next packet would need one too many, neighbours are merged and all become
//! twice as long. So memory is bounded, and at the end there are between 512 and 1024 whatever the length of the capture.

const MOST: usize = 1024;

/// Bytes by interval.
#[derive(Debug, Clone)]
pub(super) struct Series {
    width_ns: u64,
    bytes: Vec<u64>,
}

/// The rate over time as it is reported.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RateSeries {
    /// Length of an interval, seconds. The first begins with the first packet.
    pub interval_s: f64,
    /// Bytes in each.
    pub bytes: Vec<u64>,
}

impl Series {
    pub(super) fn new() -> Series {
        Series { width_ns: super::scales::SHORTEST_NS, bytes: Vec::new() }
    }

    /// A packet so long after the first.
    #[inline]
    pub(super) fn add(&mut self, since_ns: u64, bytes: u64) {
        let mut place = since_ns / self.width_ns;
        while place >= MOST as u64 {
            self.merge();
            place = since_ns / self.width_ns;
        }
        let place = place as usize;
        if place >= self.bytes.len() {
            self.bytes.resize(place + 1, 0);
        }
        if let Some(interval) = self.bytes.get_mut(place) {
            *interval += bytes;
        }
    }

    #[cold]
    fn merge(&mut self) {
        self.bytes = self.bytes.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.width_ns = self.width_ns.saturating_mul(2);
    }

    pub(super) fn finish(self) -> RateSeries {
        RateSeries { interval_s: self.width_ns as f64 / 1e9, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_neither_grows_nor_loses_bytes() {
        let mut series = Series::new();
        let times = (0..5_000u64).map(|n| n * n * 997).chain([u64::MAX]);
        for (count, time) in times.enumerate() {
            series.add(time, 3);
            assert_eq!(series.bytes.iter().sum::<u64>(), 3 * (count as u64 + 1));
            assert!(series.bytes.len() <= MOST);
        }
    }
}

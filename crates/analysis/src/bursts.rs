//! Gaps between packets, and bursts: packets in a row with short gaps.
//!
//! *Parameters.* A gap of at most `gap` (100 us unless given) belongs to a burst; a longer one ends it. A packet alone is a
//! burst of one.
//! *Where it breaks.* Packets back to back on a slow link are further apart than `gap`: 1500 B take 120 us at 100 Mbit/s.

use super::counts::{Counts, Tally};

/// Bursts and gaps so far.
#[derive(Debug, Clone)]
pub(super) struct Bursts {
    gap_ns: u64,
    /// The open burst.
    packets: u64,
    bytes: u64,
    most_bytes: u64,
    gaps: Tally,
    sizes: Tally,
}

impl Bursts {
    pub(super) fn new(gap_ns: u64) -> Bursts {
        Bursts { gap_ns, packets: 0, bytes: 0, most_bytes: 0, gaps: Tally::new(), sizes: Tally::new() }
    }

    /// A packet, so long after the one before it.
    #[inline]
    pub(super) fn add(&mut self, gap_ns: Option<u64>, bytes: u64) {
        if let Some(gap) = gap_ns {
            self.gaps.add(gap);
            if gap > self.gap_ns {
                self.close();
            }
        }
        self.packets += 1;
        self.bytes += bytes;
    }

    fn close(&mut self) {
        self.sizes.add(self.packets);
        self.most_bytes = self.most_bytes.max(self.bytes);
        (self.packets, self.bytes) = (0, 0);
    }

    /// Gaps in nanoseconds, burst sizes in packets, and the largest burst in bytes.
    pub(super) fn finish(mut self) -> (Counts, Counts, u64) {
        if self.packets > 0 {
            self.close();
        }
        (self.gaps.counts(), self.sizes.counts(), self.most_bytes)
    }
}

//! Cache blocking of a fan-in merge: an epoch with many packets is cut into blocks.

use crate::engine::links::fastpath::cache_blocking::BLOCK;
use crate::engine::links::merge_buffer::Feed;
use paceline_core::{Instant, Span};

/// log2 of the nanoseconds in a block at most, and of those that count of a packet's time on the wire.
pub(crate) const LONGEST: u32 = Feed::BITS - 2;

/// How time is cut into blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cut {
    /// Where the first begins, and the last one ends.
    pub(crate) from: Instant,
    pub(crate) end: Instant,
    /// log2 of how long each is, nanoseconds.
    pub(crate) length: u32,
    pub(crate) blocks: usize,
    /// A packet may come to the common link so much sooner than it is sorted for.
    pub(crate) slack: Span,
}

impl Cut {
    /// So many packets, up to this end.
    pub(crate) fn of(self, packets: usize, end: Instant) -> Self {
        let nanos = end.since(self.from).as_nanos();
        let (whole, halvings) = (
            u64::BITS - nanos.leading_zeros(),
            if crate::ablation::FastPath::CacheBlocking.is_on() {
                (2 * packets / BLOCK).max(1).ilog2()
            } else {
                0
            },
        );
        let length = whole.saturating_sub(halvings).min(LONGEST);
        Cut { end, length, blocks: (nanos >> length) as usize + 1, ..self }
    }

    pub(crate) fn end_of(self, block: usize) -> Instant {
        self.from + Span::from_nanos((block as u64 + 1) << self.length)
    }

    /// Where packets belong that come to the common link then, if they need not wait.
    pub(crate) fn piece_of(self, next: Instant) -> usize {
        (next.since(self.from).as_nanos() >> self.length) as usize
    }

    /// The keys of a block count from here, nanoseconds modulo 2^64: before all that may be in it.
    pub(crate) fn origin(self, block: usize) -> u64 {
        let begin = self.from.as_nanos().wrapping_add((block as u64) << self.length);
        begin.wrapping_sub(self.slack.as_nanos())
    }

    /// By that packets of a feed are sorted.
    #[inline(always)]
    pub(crate) fn key(self, block: usize, next: Instant, feed: usize) -> Instant {
        Feed::key(next.as_nanos().wrapping_sub(self.origin(block)), feed)
    }
}

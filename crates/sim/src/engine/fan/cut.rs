//! A window in which much comes is cut into pieces, which stay in the caches.

use super::super::line::Feed;
use super::super::pieces::PIECE;
use paceline_core::{Instant, Span};

/// log2 of the nanoseconds in a piece at most, and of those that count of a packet's time on the wire.
pub(super) const LONGEST: u32 = Feed::BITS - 2;

/// How time is cut into pieces.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cut {
    /// Where the first begins, and the last one ends.
    pub(super) from: Instant,
    pub(super) end: Instant,
    /// log2 of how long each is, nanoseconds.
    pub(super) length: u32,
    pub(super) pieces: usize,
    /// A packet may come to the common link so much sooner than it is put in order for.
    pub(super) slack: Span,
}

impl Cut {
    /// So many packets, up to this end.
    pub(super) fn of(self, packets: usize, end: Instant) -> Self {
        let nanos = end.since(self.from).as_nanos();
        let (whole, halvings) = (
            u64::BITS - nanos.leading_zeros(),
            if crate::ablation::FastPath::Pieces.is_on() { (2 * packets / PIECE).max(1).ilog2() } else { 0 },
        );
        let length = whole.saturating_sub(halvings).min(LONGEST);
        Cut { end, length, pieces: (nanos >> length) as usize + 1, ..self }
    }

    pub(super) fn end_of(self, piece: usize) -> Instant {
        self.from + Span::from_nanos((piece as u64 + 1) << self.length)
    }

    /// Where packets belong that come to the common link then, if they need not wait.
    pub(super) fn piece_of(self, next: Instant) -> usize {
        (next.since(self.from).as_nanos() >> self.length) as usize
    }

    /// The keys of a piece count from here, nanoseconds modulo 2^64: before all that may be in it.
    pub(super) fn origin(self, piece: usize) -> u64 {
        let begin = self.from.as_nanos().wrapping_add((piece as u64) << self.length);
        begin.wrapping_sub(self.slack.as_nanos())
    }

    /// By that packets of a feed are put in order.
    #[inline(always)]
    pub(super) fn key(self, piece: usize, next: Instant, feed: usize) -> Instant {
        Feed::key(next.as_nanos().wrapping_sub(self.origin(piece)), feed)
    }
}

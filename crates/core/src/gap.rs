//! The gap between two packets of one sender: host pacing (one gap a flow) and port pacing (one gap a host).
//!
//! Not a [`crate::Stage`]: it holds no packets, because the sender decides what goes next only when it may go.

use crate::units::{Instant, Span};

/// When the next packet may be released.
///
/// ```
/// use paceline_core::{Gap, Instant, Span};
///
/// let (mut gap, at) = (Gap::default(), Instant::from_nanos);
/// gap.set_gap(Span::from_nanos(10));
/// gap.released(at(7));
/// assert_eq!(gap.next_release(at(8)), at(17));
/// assert_eq!(gap.next_release(at(20)), at(20));
/// gap.reset();
/// assert_eq!(gap.next_release(at(8)), at(8));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Gap {
    /// Time of the last release; `None` before the first.
    last: Option<Instant>,
    /// Least time between two releases; zero does not pace.
    gap: Span,
}

impl Gap {
    /// Sets the least time between two releases. It applies to the gap that runs now, too.
    #[inline]
    pub fn set_gap(&mut self, gap: Span) {
        self.gap = gap;
    }

    /// The gap in force.
    #[inline]
    pub fn gap(&self) -> Span {
        self.gap
    }

    /// When the next packet may leave; `now` if the gap has passed.
    #[inline]
    pub fn next_release(&self, now: Instant) -> Instant {
        match self.last {
            Some(last) => now.max(last + self.gap),
            None => now,
        }
    }

    /// Says that a packet left at `now`.
    #[inline]
    pub fn released(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// Forgets the schedule: the next packet may leave at once.
    #[inline]
    pub fn reset(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_for_the_gap_and_no_longer() {
        let mut gap = Gap::default();
        let at = Instant::from_nanos;
        assert_eq!(gap.next_release(at(7)), at(7));
        gap.set_gap(Span::from_nanos(10));
        gap.released(at(7));
        assert_eq!(gap.next_release(at(8)), at(17));
        gap.set_gap(Span::from_nanos(4));
        assert_eq!(gap.next_release(at(8)), at(11));
        assert_eq!(gap.next_release(at(20)), at(20));
        gap.reset();
        assert_eq!(gap.next_release(at(8)), at(8));
    }
}

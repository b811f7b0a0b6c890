//! How a discipline signals congestion: packets that it marks or drops, and those that know when they came.

use std::collections::VecDeque;

use super::ties::mix;
use crate::stage::{Cause, Ecn, Packet, Verdict};
use crate::units::{Instant, Span};

/// What a discipline does beside what its verdicts say.
#[derive(Debug, Clone)]
pub(crate) struct Signals<P> {
    dropped: VecDeque<(P, Cause)>,
    marks: u64,
    /// A packet that understands marks is marked instead of dropped.
    marks_packets: bool,
    why_refused: Cause,
}

impl<P: Packet> Signals<P> {
    pub(super) fn new(marks_packets: bool) -> Self {
        Signals { dropped: VecDeque::new(), marks: 0, marks_packets, why_refused: Cause::Overflow }
    }

    /// A mark will do.
    #[inline]
    pub(super) fn can_mark(&self, packet: &P) -> bool {
        self.marks_packets && packet.ecn().is_capable()
    }

    /// Marks it, if that will do. One that is marked already stays so, and is not counted again.
    pub(super) fn mark(&mut self, packet: &mut P) -> bool {
        let can = self.can_mark(packet);
        if can && packet.ecn() != Ecn::Ce {
            packet.mark();
            self.marks += 1;
        }
        can
    }

    /// A packet that comes is not taken.
    pub(super) fn refuse(&mut self, packet: P, why: Cause) -> Verdict<P> {
        self.why_refused = why;
        Verdict::Refused(packet)
    }

    /// Why it refused one last.
    pub(super) fn why_refused(&self) -> Cause {
        self.why_refused
    }

    /// It is dropped, and no longer held.
    pub(super) fn drop(&mut self, packet: P, cause: Cause) {
        self.dropped.push_back((packet, cause));
    }

    #[inline]
    pub(super) fn take_dropped(&mut self) -> Option<(P, Cause)> {
        self.dropped.pop_front()
    }

    #[inline]
    pub(super) fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    #[inline]
    pub(super) fn marks(&self) -> u64 {
        self.marks
    }
}

/// A packet, and when it came.
#[derive(Debug, Clone)]
pub(super) struct Stamped<P> {
    pub(super) packet: P,
    pub(super) came: Instant,
}

impl<P: Packet> Packet for Stamped<P> {
    #[inline]
    fn bytes(&self) -> u32 {
        self.packet.bytes()
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }

    #[inline]
    fn mark(&mut self) {
        self.packet.mark();
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.packet.flow()
    }
}

/// Draws of a discipline: SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Draws(seed)
    }

    /// A number from 0 (included) to 1 (not), each of 2^53 as likely.
    pub(super) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
}

/// A controller's updates: at every multiple of a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Updates {
    next: Instant,
    every: Span,
}

impl Updates {
    /// While nothing comes or goes, further ones than so many are left out: the controller has long been at rest.
    const MOST: u32 = 1 << 14;

    pub(super) fn new(every: Span) -> Self {
        Updates { next: Instant::ZERO + every, every }
    }

    /// Those that are due until `now`, each at its time.
    pub(super) fn until(&mut self, now: Instant, mut update: impl FnMut(Instant)) {
        let mut updates = 0;
        while self.next <= now && self.next < Instant::MAX {
            update(self.next);
            updates += 1;
            if updates == Updates::MOST {
                let left_out = now.since(self.next).as_nanos() / self.every.as_nanos();
                self.next += Span::from_nanos(left_out * self.every.as_nanos());
            }
            self.next += self.every;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A millisecond's updates over 20 s without a packet: 2^14 of them, and then those that are due from there on.
    #[test]
    fn updates_come_at_multiples_and_a_long_pause_leaves_some_out() {
        let ms = |ms: u64| Span::from_nanos(ms * 1_000_000);
        let mut updates = Updates::new(ms(1));
        let mut times = |until: Span| {
            let mut times = Vec::new();
            updates.until(Instant::ZERO + until, |at| times.push(at.since(Instant::ZERO)));
            times
        };
        assert_eq!(times(ms(3)), [ms(1), ms(2), ms(3)]);
        assert_eq!(times(ms(3)), []);
        let all = times(ms(20_000) + Span::from_nanos(500_000));
        assert_eq!((all.len(), all[0], all[all.len() - 1]), (1 << 14, ms(4), ms(3 + (1 << 14))));
        assert_eq!(times(ms(20_002)), [ms(20_001), ms(20_002)]);
    }

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Sent(Ecn);

    impl Packet for Sent {
        fn bytes(&self) -> u32 {
            99
        }

        fn ecn(&self) -> Ecn {
            self.0
        }

        fn mark(&mut self) {
            self.0 = Ecn::Ce;
        }

        fn flow(&self) -> u32 {
            7
        }
    }

    #[test]
    fn a_stamped_packet_is_the_packet() {
        let mut stamped = Stamped { packet: Sent(Ecn::Ect0), came: Instant::ZERO };
        assert_eq!((stamped.bytes(), stamped.flow(), stamped.ecn()), (99, 7, Ecn::Ect0));
        stamped.mark();
        assert_eq!((stamped.ecn(), stamped.packet.ecn()), (Ecn::Ce, Ecn::Ce));
    }
}

//! The closed form of the drop-tail queue: what will become of a packet is said at its arrival.
//!
//! *Idea.* A FIFO promises: an admitted packet's service begins when that of those before it has ended. So an engine needs no
//! event for it. What waits is kept as [`Booking`]s, the times at which service begins, for the admission rule alone.
//!
//! *Where it breaks.* Drop-front has no closed form: what is displaced was promised a departure already.

use super::rule::{Found, QueueSpec, Rule};
use crate::units::{Instant, Rate};
use crate::wire::Wire;
use std::hint::select_unpredictable;

/// What is kept of a packet that waits.
#[derive(Debug, Clone, Copy)]
pub struct Booking {
    /// When its service begins.
    pub start: Instant,
    /// Size on the wire, bytes.
    pub bytes: u32,
}

/// When an admitted packet is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When its first bit leaves.
    pub start: Instant,
    /// When its last bit has left.
    pub finish: Instant,
}

/// A FIFO and the wire it feeds, in closed form.
#[derive(Debug, Clone)]
pub struct ClosedDropTail {
    wire: Wire,
    rule: Rule,
    /// What waits, in a ring of a power of two of places. Behind the youngest, one never starts.
    ring: Box<[Booking]>,
    /// Of the oldest and of the first place behind the youngest, counted on and on.
    oldest: usize,
    behind: usize,
    /// When the service of the oldest begins; [`Instant::MAX`] where none waits.
    next_start: Instant,
    /// Sum over the ring, bytes.
    queued_bytes: u64,
    /// Size of the packet whose service began last, bytes.
    served_bytes: u32,
}

const NOTHING: Booking = Booking { start: Instant::MAX, bytes: 0 };

impl ClosedDropTail {
    /// `None` for drop-front, which has no closed form.
    pub fn new(spec: &QueueSpec, rate: Rate) -> Option<Self> {
        (!spec.drop_front || spec.limit.is_none()).then(|| ClosedDropTail {
            wire: Wire::new(rate),
            rule: Rule::new(spec),
            ring: Box::new([NOTHING; 8]),
            oldest: 0,
            behind: 0,
            next_start: Instant::MAX,
            queued_bytes: 0,
            served_bytes: 0,
        })
    }

    /// Offers a packet that arrives at `now`: when it will be served, or `None` if it is refused.
    ///
    /// Time never runs backwards between calls. Without a limit nothing is kept.
    #[inline(always)]
    pub fn admit(&mut self, bytes: u32, now: Instant) -> Option<Departure> {
        self.admit_and_tell(bytes, now, |_| {})
    }

    /// The same; tells of each packet that had to wait when its service has begun, at the latest by then
    /// ([`Self::tell_started`]).
    #[inline(always)]
    pub fn admit_and_tell(
        &mut self,
        bytes: u32,
        now: Instant,
        started: impl FnMut(Booking),
    ) -> Option<Departure> {
        if !self.rule.is_limited {
            let (start, finish) = self.wire.send(bytes, now);
            return Some(Departure { start, finish });
        }
        self.tell_started(now, started);
        let is_idle = self.wire.free_at() <= now;
        let found = Found {
            waiting_bytes: self.queued_bytes,
            waiting_packets: self.waiting(),
            in_service: if is_idle { None } else { Some(self.served_bytes) },
        };
        if self.rule.refuses(bytes, &found) {
            return None;
        }
        let (start, finish) = self.wire.send(bytes, now);
        if is_idle {
            self.served_bytes = bytes;
        } else {
            self.book(Booking { start, bytes });
        }
        Some(Departure { start, finish })
    }

    #[inline(always)]
    fn book(&mut self, booking: Booking) {
        if self.behind - self.oldest == self.ring.len() - 1 {
            self.grow();
        }
        self.next_start = self.next_start.min(booking.start);
        self.queued_bytes += u64::from(booking.bytes);
        let last = self.ring.len() - 1;
        self.ring[self.behind & last] = booking;
        self.behind += 1;
        self.ring[self.behind & last].start = Instant::MAX;
    }

    /// Every place but one is taken: twice as many.
    #[cold]
    fn grow(&mut self) {
        let places = self.ring.len();
        let in_order = (self.oldest..self.behind).map(|place| self.ring[place & (places - 1)]);
        self.ring = in_order.chain(std::iter::repeat(NOTHING)).take(2 * places).collect();
        (self.oldest, self.behind) = (0, self.behind - self.oldest);
    }

    fn waiting(&self) -> u64 {
        (self.behind - self.oldest) as u64
    }

    /// Bytes that wait at `now`, not counting what is on the wire; `None` without a limit, where nothing is kept.
    #[inline]
    pub fn waiting_bytes(&mut self, now: Instant) -> Option<u64> {
        self.tell_started(now, |_| {});
        self.rule.is_limited.then_some(self.queued_bytes)
    }

    /// Packets that wait at `now`, not counting what is on the wire; `None` without a limit, where nothing is kept.
    #[inline]
    pub fn waiting_packets(&mut self, now: Instant) -> Option<u64> {
        self.tell_started(now, |_| {});
        self.rule.is_limited.then_some(self.waiting())
    }

    /// Whether it keeps what waits: it has a limit.
    pub fn keeps_what_waits(&self) -> bool {
        self.rule.is_limited
    }

    /// Forgets the packets whose service has begun by `now`, in order, and tells of each; or of zero bytes at time zero where
    /// there is none.
    #[inline(always)]
    pub fn tell_started(&mut self, now: Instant, mut started: impl FnMut(Booking)) {
        // Whether one has begun since the last arrival, nobody can guess, the processor neither: no jumps for the first one.
        let has_begun = self.next_start <= now && self.oldest != self.behind;
        let last = self.ring.len() - 1;
        let Booking { start, bytes } = self.ring[self.oldest & last];
        let first = Booking {
            start: select_unpredictable(has_begun, start, Instant::ZERO),
            bytes: select_unpredictable(has_begun, bytes, 0),
        };
        self.oldest += usize::from(has_begun);
        self.queued_bytes -= u64::from(first.bytes);
        self.served_bytes = select_unpredictable(has_begun, bytes, self.served_bytes);
        self.next_start = self.ring[self.oldest & last].start;
        started(first);
        while self.next_start <= now && self.oldest != self.behind {
            let booking = self.ring[self.oldest & last];
            self.oldest += 1;
            self.queued_bytes -= u64::from(booking.bytes);
            self.served_bytes = booking.bytes;
            self.next_start = self.ring[self.oldest & last].start;
            started(booking);
        }
    }
}

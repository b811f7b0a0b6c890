//! The closed form of the drop-tail queue: what will become of a packet is said at its arrival.
//!
//! *Idea.* A FIFO promises: an admitted packet's service begins when that of those before it has ended. So an engine needs no
//! event for it. What waits is kept as [`Booking`]s, the times at which service begins, for the admission rule alone.
//!
//! *Where it breaks.* Drop-front has no closed form: what is displaced was promised a departure already.

use super::alike::{Alike, Tally};
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
    tally: Tally,
}

/// The time spent at each queue length, of packets of one size.
#[derive(Debug, Clone, Copy)]
pub struct Waited<'a> {
    /// Size of each on the wire, bytes.
    pub bytes: u32,
    /// By how many wait, from none on: for how long, nanoseconds.
    pub times: &'a [u64],
    /// Up to then, all services that begin at that time begun.
    pub until: Instant,
    /// So many wait then.
    pub waiting: u64,
}

/// Hears what becomes of the packets of a line, in the order of time.
pub trait Observer<P> {
    /// Packets of one size come. From when on to report the time spent at each queue length, where the observer can take that;
    /// `None`: each packet that waits is reported.
    fn takes_times_from(&self) -> Option<Instant>;

    /// From then on, up to the end of these packets: the time spent at each queue length.
    fn have_waited(&mut self, waited: &Waited<'_>);

    /// A packet of so many bytes that arrives now will wait.
    fn waits(&mut self, bytes: u32, now: Instant);

    /// The service of a packet that had to wait has begun; or none has, and this one has zero bytes.
    fn has_begun(&mut self, waited: Booking);

    /// This packet arrives, and will be served so; or it is refused.
    fn arrives(&mut self, packet: &P, departure: Option<Departure>);

    /// So do these, one after another. The loop is the observer's, for it to keep what it needs at hand.
    #[inline(always)]
    fn all_arrive(&mut self, line: &[P], mut departure: impl FnMut(&P) -> Option<Departure>) {
        line.iter().for_each(|packet| self.arrives(packet, departure(packet)));
    }
}

/// Fewer packets than these are not worth a look at all that waits. In tests two are many.
const MANY: usize = if cfg!(debug_assertions) { 2 } else { 64 };
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
            tally: Tally::default(),
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

    /// The same of all packets of a line, which may be known to be of one size; it comes to what [`Self::admit_and_tell`] of each
    /// says: `size_and_time` is how many bytes one has and when it arrives. Returns the observer.
    #[inline(always)]
    pub fn admit_all<P, C: Observer<P>>(
        &mut self,
        (mut line, are_alike): (&[P], bool),
        size_and_time: impl Fn(&P) -> (u32, Instant),
        mut observer: C,
    ) -> C {
        while let (Some(first), Some(last)) = (line.first(), line.last()) {
            let bytes = size_and_time(first).0;
            let room = self.rule.room_for(bytes);
            if line.len() >= MANY
                && let Some(since) = observer.takes_times_from()
                && let Some(mut alike) = self.alike(bytes)
                && alike.are_few(&room, line.len())
                && alike.are_over_in_time(line.len(), size_and_time(last).1)
            {
                let taken;
                (observer, taken) = alike.admit_first(
                    (&room, since),
                    (line, are_alike),
                    &size_and_time,
                    &mut self.tally,
                    observer,
                );
                self.go_on_from(alike);
                line = &line[taken..];
            }
            // Until those that wait now have gone, and no other size is before the next ones, if all goes well.
            let few = (self.waiting() as usize).max(MANY);
            let (run, behind) = line.split_at(line.len().min(few));
            observer = self.admit_each(run, &size_and_time, observer);
            line = behind;
        }
        observer
    }

    #[inline(always)]
    fn admit_each<P, C: Observer<P>>(
        &mut self,
        line: &[P],
        size_and_time: impl Fn(&P) -> (u32, Instant),
        mut observer: C,
    ) -> C {
        for packet in line {
            let (bytes, now) = size_and_time(packet);
            let departure = self.admit_and_tell(bytes, now, |waited| observer.has_begun(waited));
            if departure.is_some_and(|departure| departure.start > now) {
                observer.waits(bytes, now);
            }
            observer.arrives(packet, departure);
        }
        observer
    }

    /// What it comes to if all that waits and is on the wire has this size, and takes whole nanoseconds.
    fn alike(&self, bytes: u32) -> Option<Alike> {
        if bytes == 0 || self.served_bytes != bytes || !self.rule.is_limited {
            return None;
        }
        let nanos = self.wire.exact(bytes)?.as_nanos();
        let last = self.ring.len() - 1;
        let are_alike = (self.oldest..self.behind).all(|count| self.ring[count & last].bytes == bytes);
        let (free_at, waiting) = (self.wire.free_at().as_nanos(), self.waiting());
        are_alike.then_some(Alike { bytes, nanos, free_at, waiting })
    }

    /// That is what it has come to.
    fn go_on_from(&mut self, alike: Alike) {
        self.wire.is_free_from(Instant::from_nanos(alike.free_at));
        (self.oldest, self.behind, self.queued_bytes, self.next_start) = (0, 0, 0, Instant::MAX);
        self.ring[0] = NOTHING;
        alike.bookings().for_each(|booking| self.book(booking));
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

    /// See [`Wire::latest`].
    pub fn latest(&self, packets: usize, bytes: u32, now: Instant) -> Instant {
        self.wire.latest(packets, bytes, now)
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

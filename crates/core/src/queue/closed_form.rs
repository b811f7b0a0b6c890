//! The closed form of the drop-tail queue: the fate of a packet is known at its arrival.
//!
//! *Idea.* A FIFO promises: an admitted packet's service begins when that of those before it has ended. So an engine needs no
//! event for it. What waits is kept as [`Booking`]s, the times at which service begins, for the admission rule alone.
//!
//! *Where it breaks.* Drop-front has no closed form: what is displaced was promised a departure already.

mod tied;

use super::alike::{Alike, Tally};
use super::rule::{Found, QueueSpec, Rule};
use super::ties::{Arrival, TieBreaker, Ties};
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

/// What becomes of a packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// When it is on the wire; `None` if it is dropped.
    pub departure: Option<Departure>,
    /// It waits, if for no time: [`ClosedDropTail::report_started`] will report it.
    pub is_booked: bool,
    /// It came so near to a departure that it could as well have met the other fate.
    pub is_tied: bool,
}

/// A FIFO and the wire it feeds, in closed form.
///
/// ```
/// use paceline_core::queue::{Arrival, ClosedDropTail, Limit, QueueSpec};
/// use paceline_core::{Instant, Rate};
///
/// let spec = QueueSpec { limit: Some(Limit::Packets(1)), ..QueueSpec::default() };
/// let mut queue = ClosedDropTail::new(&spec, Rate::from_bits_per_second(8_000_000)).expect("not drop-front");
/// let mut offer = || queue.admit(Arrival::new(1000, Instant::ZERO)).departure.map(|one| one.finish.as_nanos());
/// assert_eq!([offer(), offer(), offer()], [Some(1_000_000), Some(2_000_000), None]);
/// assert_eq!(queue.waiting_packets(Instant::ZERO), Some(1));
/// assert_eq!(queue.waiting_bytes(Instant::from_nanos(1_000_000)), Some(0));
/// ```
#[derive(Debug, Clone)]
pub struct ClosedDropTail {
    wire: Wire,
    rule: Rule,
    ties: TieBreaker,
    /// What is no further apart is one time, where packets take no whole number of nanoseconds; nanoseconds.
    rounding: u64,
    /// What waits, in a ring of a power of two of places. The one after the youngest never starts.
    ring: Box<[Booking]>,
    /// Of the first whose service has begun and that a tie may bring back, of the oldest that waits, and of the first place after
    /// the youngest, counted on and on.
    kept: usize,
    oldest: usize,
    newest: usize,
    /// When the service of the oldest begins; [`Instant::MAX`] where none waits.
    next_start: Instant,
    /// Sum over the ring, bytes.
    queued_bytes: u64,
    /// Size of the packet whose service began last, bytes; and of the first of this busy period.
    served_bytes: u32,
    first_bytes: u32,
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

/// Is notified of what becomes of the packets of a list, in the order of time.
pub trait Observer<P> {
    /// Packets of one size come. From when on to report the time spent at each queue length, where the observer accepts that;
    /// `None`: each packet that waits is reported.
    fn takes_times_from(&self) -> Option<Instant>;

    /// From then on, up to the end of these packets: the time spent at each queue length.
    fn have_waited(&mut self, waited: &Waited<'_>);

    /// A packet of so many bytes that arrives now will wait.
    fn waits(&mut self, bytes: u32, now: Instant);

    /// The service of a packet that had to wait has begun; or none has, and this one has zero bytes.
    fn has_begun(&mut self, waited: Booking);

    /// So many packets, of which so many were dropped, arrived at the instant of a departure, so that the order decided. The first, or
    /// all of them, came then.
    fn were_tied(&mut self, now: Instant, packets: u64, refused: u64);

    /// This packet arrives, and will be served so; or it is dropped.
    fn arrives(&mut self, packet: &P, departure: Option<Departure>);

    /// So do these, one after another. The loop is the observer's, for it to keep what it needs at hand.
    #[inline(always)]
    fn all_arrive(&mut self, line: &[P], mut departure: impl FnMut(&P) -> Option<Departure>) {
        line.iter().for_each(|packet| self.arrives(packet, departure(packet)));
    }
}

/// Fewer packets than these are not worth a look at all that waits; the second, where they are known to be of one size. In tests two are
/// many.
const MANY: usize = if cfg!(debug_assertions) { 2 } else { 64 };
const MANY_ALIKE: usize = if cfg!(debug_assertions) { 2 } else { 16 };
/// So many whose service has begun are kept whatever their time.
const KEPT: usize = 2;
const NOTHING: Booking = Booking { start: Instant::MAX, bytes: 0 };

impl ClosedDropTail {
    /// `None` where the discipline has no closed form.
    pub fn new(spec: &QueueSpec, rate: Rate) -> Option<Self> {
        spec.discipline.has_closed_form(spec.limit.is_some()).then(|| ClosedDropTail {
            wire: Wire::new(rate),
            rule: Rule::new(spec),
            ties: TieBreaker::new(spec.ties, rate),
            rounding: 0,
            ring: Box::new([NOTHING; 8]),
            kept: 0,
            oldest: 0,
            newest: 0,
            next_start: Instant::MAX,
            queued_bytes: 0,
            served_bytes: 0,
            first_bytes: 0,
            tally: Tally::default(),
        })
    }

    /// Offers a packet: what becomes of it.
    ///
    /// Time never runs backwards between calls. Without a limit nothing is kept.
    #[inline(always)]
    pub fn admit(&mut self, arrival: Arrival) -> Admission {
        self.admit_and_report(arrival, |_| {})
    }

    /// The same; reports each packet that had to wait once its service has begun, at the latest by then
    /// ([`Self::report_started`]).
    #[inline(always)]
    pub fn admit_and_report(&mut self, arrival: Arrival, started: impl FnMut(Booking)) -> Admission {
        let Arrival { bytes, now, .. } = arrival;
        if !self.rule.is_limited {
            let (start, finish) = self.wire.send(bytes, now);
            let departure = Some(Departure { start, finish });
            return Admission { departure, is_booked: false, is_tied: false };
        }
        self.report_started(now, started);
        if self.may_be_tied(now) {
            return self.admit_tied(arrival);
        }
        let is_idle = self.wire.free_at() <= now;
        let in_service = if is_idle { None } else { Some(self.served_bytes) };
        let (waiting_bytes, waiting_packets) = (self.queued_bytes, self.waiting());
        if self.rule.drops(bytes, &Found { waiting_bytes, waiting_packets, in_service }) {
            return Admission { departure: None, is_booked: false, is_tied: false };
        }
        let free_at = self.wire.free_at().as_nanos();
        let (start, finish) = self.wire.send(bytes, now);
        if is_idle {
            let [_, by] = self.by(&arrival);
            self.ties.takes(by, free_at, start.as_nanos());
            (self.first_bytes, self.served_bytes) = (bytes, bytes);
        } else {
            self.book(Booking { start, bytes });
        }
        Admission { departure: Some(Departure { start, finish }), is_booked: !is_idle, is_tied: false }
    }

    /// The same of all packets of a list, which may be known to be of one size, with the result of [`Self::admit_and_report`] of each.
    /// Returns the observer.
    #[inline(always)]
    pub fn admit_all<P, C: Observer<P>>(
        &mut self,
        (mut line, are_alike): (&[P], bool),
        arrival: impl Fn(&P) -> Arrival,
        mut observer: C,
    ) -> C {
        let many = if are_alike { MANY_ALIKE } else { MANY };
        while let (Some(first), Some(last)) = (line.first(), line.last()) {
            let bytes = arrival(first).bytes;
            let most = self.rule.most_waiting(bytes);
            if line.len() >= many
                && let Some(since) = observer.takes_times_from()
                && let Some(mut alike) = self.alike(bytes)
                && alike.waiting <= 4 * line.len() as u64 // each costs a look, a quarter of what it saves
                && alike.are_few(most, (line.len(), arrival(last).now))
                && alike.are_over_in_time(line.len(), arrival(last).now)
            {
                let taken;
                (observer, taken) =
                    alike.admit_first((most, since), (line, are_alike), &arrival, &mut self.tally, observer);
                self.go_on_from(alike);
                line = &line[taken..];
            }
            // Until those that wait now have gone, and no other size is before the next ones, if all goes well.
            let few = (self.waiting() as usize).max(MANY);
            let (run, newest) = line.split_at(line.len().min(few));
            observer = self.admit_each(run, &arrival, observer);
            line = newest;
        }
        observer
    }

    #[inline(always)]
    fn admit_each<P, C: Observer<P>>(
        &mut self,
        line: &[P],
        arrival: impl Fn(&P) -> Arrival,
        mut observer: C,
    ) -> C {
        for packet in line {
            let arrival = arrival(packet);
            let Admission { departure, is_booked, is_tied } =
                self.admit_and_report(arrival, |waited| observer.has_begun(waited));
            if is_booked {
                observer.waits(arrival.bytes, arrival.now);
            }
            if is_tied {
                observer.were_tied(arrival.now, 1, departure.is_none().into());
            }
            observer.arrives(packet, departure);
        }
        observer
    }

    /// What it comes to if all that waits and is on the wire has this size, and takes whole nanoseconds, more of them than a draw.
    fn alike(&mut self, bytes: u32) -> Option<Alike> {
        if bytes == 0 || self.served_bytes != bytes || !self.rule.is_limited || self.ties.ties == Ties::Ns2 {
            return None;
        }
        let nanos = self.wire.exact(bytes)?.as_nanos();
        self.forget();
        let last = self.ring.len() - 1;
        let is_of_now = |booking: &Booking| booking.start.as_nanos() > self.ties.busy_from;
        let begun = (self.kept..self.oldest).map(|count| self.ring[count & last]).filter(is_of_now);
        let waiting = (self.oldest..self.newest).map(|count| self.ring[count & last]);
        let are_alike = begun.clone().chain(waiting).all(|booking| booking.bytes == bytes);
        let first_is_over = begun.count() >= KEPT || self.first_bytes == bytes;
        let (free_at, waiting) = (self.wire.free_at().as_nanos(), self.waiting());
        let is_one = are_alike && first_is_over && nanos > self.ties.instant;
        is_one.then_some(Alike { bytes, nanos, free_at, waiting, ties: self.ties })
    }

    /// That is what it has come to.
    fn go_on_from(&mut self, alike: Alike) {
        self.wire.is_free_from(Instant::from_nanos(alike.free_at));
        (self.kept, self.oldest, self.newest, self.queued_bytes) = (0, 0, 0, 0);
        (self.next_start, self.ring[0]) = (Instant::MAX, NOTHING);
        if alike.ties.busy_from != self.ties.busy_from {
            self.first_bytes = alike.bytes;
        }
        self.ties = alike.ties;
        for begun in alike.begun(KEPT as u64) {
            self.book(begun);
            self.report_started(begun.start, |_| {});
        }
        self.book_all(alike);
    }

    /// [`Self::book`] of all that wait.
    fn book_all(&mut self, alike: Alike) {
        let end = self.newest + alike.waiting as usize;
        if end >= self.ring.len() {
            let more = (end + 1).next_power_of_two() - self.ring.len();
            let ring = std::mem::take(&mut self.ring).into_iter();
            self.ring = ring.chain(std::iter::repeat_n(NOTHING, more)).collect();
        }
        self.ring[self.newest..end].iter_mut().zip(alike.bookings()).for_each(|(place, one)| *place = one);
        self.ring[end].start = Instant::MAX;
        self.next_start = self.ring[self.oldest].start;
        self.queued_bytes += alike.waiting * u64::from(alike.bytes);
        self.newest = end;
    }

    #[inline(always)]
    fn book(&mut self, booking: Booking) {
        if self.newest - self.kept == self.ring.len() - 1 {
            self.make_room();
        }
        self.next_start = self.next_start.min(booking.start);
        self.queued_bytes += u64::from(booking.bytes);
        let last = self.ring.len() - 1;
        self.ring[self.newest & last] = booking;
        self.newest += 1;
        self.ring[self.newest & last].start = Instant::MAX;
    }

    /// Every place but one is taken: those that no tie can bring back are given up, or there are twice as many.
    #[cold]
    fn make_room(&mut self) {
        self.forget();
        let places = self.ring.len();
        if self.newest - self.kept < places - 1 {
            return;
        }
        let in_order = (self.kept..self.newest).map(|place| self.ring[place & (places - 1)]);
        self.ring = in_order.chain(std::iter::repeat(NOTHING)).take(2 * places).collect();
        (self.kept, self.oldest, self.newest) = (0, self.oldest - self.kept, self.newest - self.kept);
    }

    /// Forgets those whose service began so long before the latest one's that no tie can bring them back, nor the next one: what a
    /// tie brings back has the one before it on the wire.
    fn forget(&mut self) {
        let last = self.ring.len() - 1;
        while self.kept + KEPT < self.oldest {
            let [next, latest] = [self.kept + 1, self.oldest - 1].map(|place| self.ring[place & last].start);
            if latest.since(next).as_nanos() <= 2 * self.ties.instant {
                return;
            }
            self.kept += 1;
        }
    }

    /// See [`Wire::latest`].
    pub fn latest(&self, packets: usize, bytes: u32, now: Instant) -> Instant {
        self.wire.latest(packets, bytes, now)
    }

    fn waiting(&self) -> u64 {
        (self.newest - self.oldest) as u64
    }

    /// Bytes that wait at `now`, not counting what is on the wire; `None` without a limit, where nothing is kept.
    #[inline]
    pub fn waiting_bytes(&mut self, now: Instant) -> Option<u64> {
        self.report_started(now, |_| {});
        self.rule.is_limited.then_some(self.queued_bytes)
    }

    /// Packets that wait at `now`, not counting what is on the wire; `None` without a limit, where nothing is kept.
    #[inline]
    pub fn waiting_packets(&mut self, now: Instant) -> Option<u64> {
        self.report_started(now, |_| {});
        self.rule.is_limited.then_some(self.waiting())
    }

    /// Whether it keeps what waits: it has a limit.
    pub fn keeps_what_waits(&self) -> bool {
        self.rule.is_limited
    }

    /// Forgets the packets whose service has begun by `now`, in order, and reports each; or zero bytes at time zero where
    /// there is none.
    #[inline(always)]
    pub fn report_started(&mut self, now: Instant, mut started: impl FnMut(Booking)) {
        // Whether one has begun since the last arrival is unpredictable: branchless for the first one.
        let has_begun = self.next_start <= now && self.oldest != self.newest;
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
        while self.next_start <= now && self.oldest != self.newest {
            let booking = self.ring[self.oldest & last];
            self.oldest += 1;
            self.queued_bytes -= u64::from(booking.bytes);
            self.served_bytes = booking.bytes;
            self.next_start = self.ring[self.oldest & last].start;
            started(booking);
        }
    }
}

#[cfg(test)]
mod tests;

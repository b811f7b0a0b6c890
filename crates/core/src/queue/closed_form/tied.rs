//! The closed form where a packet arrives as another leaves: who goes first decides what it finds ([`super::super::ties`]).

use super::{Admission, Booking, ClosedDropTail, Departure};
use crate::queue::rule::Found;
use crate::queue::ties::{Arrival, Ties};
use crate::units::Instant;

/// Fractions that an arrival and a departure have lost on their ways are less together, nanoseconds.
const ROUNDING: u64 = 4;

impl ClosedDropTail {
    /// The seed of its draws, where ties are drawn.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.ties.seed(seed);
        self
    }

    /// Times that differ by fractions of nanoseconds alone are one, as in ns-2.
    pub fn with_rounding(mut self) -> Self {
        self.rounding = ROUNDING;
        self
    }

    /// Whether a service began, begins or ends so near to an arrival now that who goes first may matter. What began last may have
    /// been given up, and is looked at all the same: to say yes needlessly does no harm.
    #[inline(always)]
    pub(super) fn may_be_tied(&self, now: Instant) -> bool {
        let (now, instant) = (now.as_nanos(), self.ties.instant);
        let is_near = |time: Instant| time.as_nanos().wrapping_sub(now).wrapping_add(instant) <= 2 * instant;
        let begun = self.ring[self.oldest.wrapping_sub(1) & (self.ring.len() - 1)].start;
        is_near(begun) | is_near(self.next_start) | is_near(self.wire.free_at())
    }

    /// By when a service must have begun, nanoseconds, for its packet not to be in the way of this one: for the decision, and for
    /// what comes after it.
    #[inline(always)]
    pub(super) fn by(&self, arrival: &Arrival) -> [u64; 2] {
        match self.ties.ties {
            Ties::Departure => [self.ties.exact(arrival, false); 2],
            Ties::Arrival => [self.ties.exact(arrival, true); 2],
            Ties::Random => self.ties.drawn(arrival),
            Ties::Ns2 => [self.as_scheduled(arrival); 2],
        }
    }

    /// The same where packets take no whole number of nanoseconds: a departure has its fraction cut off, and so has an arrival that keeps time
    /// with an earlier one, so that what is one time comes a nanosecond or two apart. It counts as one.
    fn by_rounded(&self, arrival: &Arrival) -> [u64; 2] {
        let by = self.by(arrival);
        if self.rounding == 0 || self.wire.exact(arrival.bytes).is_some() {
            return by;
        }
        let now = arrival.now.as_nanos();
        let near = |time: Instant| time.as_nanos().abs_diff(now) <= self.rounding;
        let last = self.ring.len() - 1;
        let begun = self.ring[self.oldest.wrapping_sub(1) & last].start;
        let tied = [self.wire.free_at(), self.next_start, begun].into_iter().find(|time| near(*time));
        tied.map_or(by, |now| self.by(&Arrival { now, ..*arrival }))
    }

    /// [`Self::admit_and_report`] where who goes first may matter.
    #[inline(never)]
    pub(super) fn admit_tied(&mut self, arrival: Arrival) -> Admission {
        let Arrival { bytes, now, .. } = arrival;
        let free_at = self.wire.free_at().as_nanos();
        let [decided_by, by] = self.by_rounded(&arrival);
        let is_dropped = self.is_full(bytes, decided_by);
        let (early, late) = self.ties.either_side(now.as_nanos());
        let is_tied = self.is_full(bytes, early) && !self.is_full(bytes, late);
        if is_dropped {
            return Admission { departure: None, is_booked: false, is_tied };
        }
        let (start, finish) = self.wire.send(bytes, now);
        self.ties.takes(by, free_at, start.as_nanos());
        if free_at <= by {
            self.first_bytes = bytes;
        }
        let is_booked = free_at > now.as_nanos().min(by);
        if is_booked {
            self.book(Booking { start, bytes });
        } else {
            self.served_bytes = bytes;
        }
        Admission { departure: Some(Departure { start, finish }), is_booked, is_tied }
    }

    /// Whether a packet is dropped that finds in its way what has not begun to be served by `by`, nanoseconds.
    fn is_full(&self, bytes: u32, by: u64) -> bool {
        let (mut packets, mut queued) = (self.waiting(), self.queued_bytes);
        let mut served_bytes = self.served_bytes;
        let last = self.ring.len() - 1;
        let mut place = self.oldest;
        while place > self.kept && self.ring[(place - 1) & last].start.as_nanos() > by {
            place -= 1;
            (packets, queued) = (packets + 1, queued + u64::from(self.ring[place & last].bytes));
            let before = self.ring[place.wrapping_sub(1) & last];
            let is_behind_first = place > self.kept && before.start.as_nanos() > self.ties.busy_from;
            served_bytes = if is_behind_first { before.bytes } else { self.first_bytes };
        }
        while place < self.newest && self.ring[place & last].start.as_nanos() <= by {
            let booking = self.ring[place & last];
            (packets, queued) = (packets - 1, queued - u64::from(booking.bytes));
            served_bytes = booking.bytes;
            place += 1;
        }
        let is_idle = self.wire.free_at().as_nanos() <= by;
        let in_service = if is_idle { None } else { Some(served_bytes) };
        self.rule.drops(bytes, &Found { waiting_bytes: queued, waiting_packets: packets, in_service })
    }

    /// As ns-2 has it: `LinkDelay::recv` schedules a packet's arrival when its service at the link before begins, and the end of a
    /// service here when that begins; what was scheduled first goes first.
    fn as_scheduled(&self, arrival: &Arrival) -> u64 {
        let now = arrival.now;
        let ends_now = self.service_that_ends(now);
        let is_known_first = ends_now.is_some_and(|began| now.since(began) < arrival.lead);
        self.ties.exact(arrival, is_known_first)
    }

    /// When the service began that ends at `now`, if one does.
    fn service_that_ends(&self, now: Instant) -> Option<Instant> {
        let last = self.ring.len() - 1;
        let begun = |place: usize| {
            let is_kept =
                place > self.kept && self.ring[(place - 1) & last].start.as_nanos() > self.ties.busy_from;
            if is_kept {
                self.ring[(place - 1) & last].start
            } else {
                Instant::from_nanos(self.ties.busy_from)
            }
        };
        let latest = begun(self.oldest);
        if latest == now && self.oldest > self.kept {
            return Some(begun(self.oldest - 1));
        }
        (self.wire.free_at() == now).then_some(latest)
    }
}

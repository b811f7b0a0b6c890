//! Packets of one size at a drop-tail queue.
//!
//! *Idea.* Where all that waits and is on the wire has the size of what arrives, and takes a whole number of nanoseconds T,
//! the work that is left determines all: while there are w nanoseconds of it, ceil(w / T) - 1 packets wait. So a limit is one of
//! work, and nothing need be kept of each packet.
//!
//! *The time spent at each queue length.* Work falls by one a nanosecond, and so often past each height as packets have lifted it past
//! that. One lifts it from w = k T + r to w + T: k packets wait for T - r nanoseconds more by that, and k + 1 for r more,
//! whatever comes in between. So nobody need find out when a service begins.

use super::closed_form::{Booking, Departure, Observer, Waited};
use super::ties::{Arrival, Drawn, Exact, Order, TieBreaker, Ties};
use crate::units::Instant;
use std::num::NonZeroU32;

/// A queue and its wire while packets of one size arrive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alike {
    pub(super) bytes: u32,
    /// What one takes, nanoseconds.
    pub(super) nanos: u64,
    /// When the wire is free, nanoseconds.
    pub(super) free_at: u64,
    pub(super) waiting: u64,
    pub(super) ties: TieBreaker,
}

/// Arrivals that found the work k T + r, by k: how many, and the sum of the work that they found, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Lifts {
    packets: u32,
    work: u64,
}

/// Room to count the time spent at each queue length.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    lifts: Vec<Lifts>,
    /// By how many wait: for how long, nanoseconds.
    times: Vec<u64>,
}

/// More packets are not counted so, nor more work, in nanoseconds: what waits is found by a division of 32 bits.
const MOST: u64 = 1 << 16;
const MOST_WORK: u64 = u32::MAX as u64;

impl Alike {
    /// So many more of them, the last of which arrives at `now`, have been served before the end of time.
    pub(super) fn are_over_in_time(&self, packets: usize, now: Instant) -> bool {
        let begin = self.free_at.max(now.as_nanos());
        (packets as u64).checked_mul(self.nanos).and_then(|all| begin.checked_add(all)).is_some()
    }

    /// Whether so few may wait, of so many that arrive up to `last`, that counting them is worth it; and time does not end before
    /// as many have been served.
    pub(super) fn are_few(&self, most: u64, (packets, last): (usize, Instant)) -> bool {
        // A tie lets one more in.
        let is_short = || (most + 1).checked_mul(self.nanos).is_some_and(|work| work <= MOST_WORK);
        let has_end = last.as_nanos() < u64::MAX - 2 * MOST_WORK;
        most < MOST && is_short() && has_end && u32::try_from(packets).is_ok()
    }

    /// What waits, the oldest first.
    pub(super) fn bookings(self) -> impl Iterator<Item = Booking> {
        let start = move |younger| Instant::from_nanos(self.free_at - younger * self.nanos);
        (1..=self.waiting).rev().map(move |younger| Booking { start: start(younger), bytes: self.bytes })
    }

    /// Of those that waited in this busy period and whose service has begun the latest, so many at most, the oldest first.
    pub(super) fn begun(self, most: u64) -> impl Iterator<Item = Booking> {
        let start = move |younger: u64| self.free_at.checked_sub(younger * self.nanos);
        let of_now = move |younger: u64| start(younger).filter(|start| *start > self.ties.busy_from);
        let latest = self.waiting + 1..=self.waiting + most;
        latest
            .rev()
            .filter_map(of_now)
            .map(move |start| Booking { start: Instant::from_nanos(start), bytes: self.bytes })
    }

    /// Few packets arrive ([`Self::are_few`]), up to the first of another size, if there may be one: how many. The observer is notified
    /// of the time spent at each queue length from `since` on.
    #[inline(always)]
    pub(super) fn admit_first<P, C: Observer<P>>(
        &mut self,
        room: (u64, Instant),
        line: (&[P], bool),
        arrival: impl Fn(&P) -> Arrival,
        tally: &mut Tally,
        observer: C,
    ) -> (C, usize) {
        match self.ties.ties {
            Ties::Departure | Ties::Ns2 => {
                self.admit_by::<Exact<false>, _, _>(room, line, arrival, tally, observer)
            }
            Ties::Arrival => self.admit_by::<Exact<true>, _, _>(room, line, arrival, tally, observer),
            Ties::Random => self.admit_by::<Drawn, _, _>(room, line, arrival, tally, observer),
        }
    }

    /// The same by one rule for ties.
    #[inline(never)]
    fn admit_by<O: Order, P, C: Observer<P>>(
        &mut self,
        (most, since): (u64, Instant),
        (line, are_alike): (&[P], bool),
        arrival: impl Fn(&P) -> Arrival,
        tally: &mut Tally,
        mut observer: C,
    ) -> (C, usize) {
        let Alike { bytes: size, nanos, mut free_at, ties, .. } = *self;
        let mut order = O::begin(ties, free_at);
        let Some(each) = NonZeroU32::new(nanos as u32) else { return (observer, 0) };
        let most_work = most * nanos;
        let tied_to = 2 * ties.instant.cast_signed() + 1; // and a nanosecond, by which arrivals may go first
        debug_assert!(most_work <= MOST_WORK && nanos > ties.instant);
        // As many as can wait, not as many as may; and one that a tie lets in.
        let can_wait = (self.waiting as usize + line.len()).min(most as usize);
        let lifts = tally.make_room(can_wait);
        let other = || line.iter().position(|packet| arrival(packet).bytes != size);
        let line = if are_alike { line } else { &line[..other().unwrap_or(line.len())] };
        let (mut tied, mut dropped_tied) = (0, 0);
        observer.all_arrive(line, |packet| {
            let arrival = arrival(packet);
            let (now, met) = (arrival.now.as_nanos(), order.meets(&arrival, free_at));
            let over = met.free_at.wrapping_sub(met.comes[0] + most_work).cast_signed();
            let is_dropped = over > 0;
            // No tie is further off: a packet comes within an instant by one clock, and by the other.
            if over.wrapping_add(tied_to).cast_unsigned() <= 2 * tied_to.cast_unsigned() {
                let (early, late) = order.ties(free_at).either_side(now);
                let is_full = |by: u64| free_at.saturating_sub(by) > most_work;
                let is_tied = u64::from(is_full(early) && !is_full(late));
                (tied, dropped_tied) = (tied + is_tied, dropped_tied + is_tied * u64::from(is_dropped));
            }
            if is_dropped {
                return None;
            }
            let work = free_at.saturating_sub(now);
            let (start, waiting) = (now + work, work as u32 / each);
            let lift = &mut lifts[waiting as usize];
            lift.packets += 1;
            lift.work += work;
            order.takes(met, start, nanos);
            free_at = start + nanos;
            Some(Departure { start: Instant::from_nanos(start), finish: Instant::from_nanos(free_at) })
        });
        if let (Some(first), true) = (line.first(), tied > 0) {
            observer.were_tied(arrival(first).now, tied, dropped_tied);
        }
        let until = line.last().map_or(since, |last| arrival(last).now).max(since);
        let before = *self;
        (self.free_at, self.ties) = (free_at, order.ties(free_at));
        self.waiting = free_at.saturating_sub(until.as_nanos()).saturating_sub(1) / nanos;
        let times = tally.times((before.waiting as usize, can_wait), nanos);
        self.correct(&before, (since.as_nanos(), until.as_nanos()), times);
        let waited = times.iter().sum::<u64>();
        times[0] = until.since(since).as_nanos() - waited;
        observer.have_waited(&Waited { bytes: self.bytes, times, until, waiting: self.waiting });
        (observer, line.len())
    }

    /// The time spent at each queue length between two times has been counted of what has arrived in between, for as long as it waits: adds
    /// what those have waited that were there `before`, and takes out what is still to come.
    pub(super) fn correct(&self, before: &Alike, (since, until): (u64, u64), times: &mut [u64]) {
        let Alike { nanos, free_at, .. } = *self;
        // Before one begins to be served as many wait as there are up to it. Those whose service has begun by `since` waited before.
        let begin = before.waiting.min(before.free_at.saturating_sub(since).saturating_sub(1) / nanos);
        let (first, last) = (begin as usize, self.waiting as usize);
        if first > 0 {
            times[first] += before.free_at - begin * nanos - since;
        }
        // The same for both at the lengths that both have.
        if let Some(more) = times.get_mut(last.max(1)..first) {
            more.iter_mut().for_each(|time| *time += nanos);
        }
        if last > 0 {
            times[last] -= free_at - self.waiting * nanos - until;
        }
        if let Some(fewer) = times.get_mut(first.max(1)..last) {
            fewer.iter_mut().for_each(|time| *time -= nanos);
        }
    }
}

impl Tally {
    /// So many may wait.
    fn make_room(&mut self, most: usize) -> &mut [Lifts] {
        if self.lifts.len() <= most {
            self.lifts.resize(most + 1, Lifts::default());
        }
        &mut self.lifts[..=most]
    }

    /// For how long how many wait, but none, where so many waited before, and so many could wait since; forgets how many have been
    /// lifted.
    fn times(&mut self, (before, most): (usize, usize), nanos: u64) -> &mut [u64] {
        let mut lifted = self.lifts[..=most].iter().enumerate().filter(|(_, lift)| lift.packets > 0);
        let lowest = lifted.next().map_or(0, |(waiting, _)| waiting);
        let highest = lifted.next_back().map_or(lowest, |(waiting, _)| waiting);
        self.times.clear();
        self.times.resize(highest.max(before) + 2, 0);
        let mut parts = 0;
        for (waiting, time) in self.times.iter_mut().enumerate().take(highest + 2).skip(lowest) {
            let lift = self.lifts.get_mut(waiting).map(std::mem::take).unwrap_or_default();
            let packets = u64::from(lift.packets);
            let rests = lift.work - packets * waiting as u64 * nanos;
            *time = packets * nanos - rests + parts;
            parts = rests;
        }
        self.times[0] = 0;
        &mut self.times
    }
}

//! Packets of one size at a wire with an unlimited buffer.
//!
//! *Idea.* As in [`super::alike`]: the work that is left determines how many wait, and what a packet adds to the time spent at each
//! queue length is known as it arrives. So what waits need not be followed.

use super::alike::Alike;
use super::closed_form::{Booking, Waited};
use super::ties::{TieBreaker, Ties};
use crate::units::Instant;
use crate::wire::Wire;
use std::hint::select_unpredictable;

/// A wire while packets of one size arrive, which each take a whole number of nanoseconds.
#[derive(Debug, Clone)]
pub struct AlikeWire {
    alike: Alike,
    before: Alike,
    latest: Instant,
    /// What arrivals that found nobody waiting add to the time at which one waits, nanoseconds.
    one: u64,
    /// What others add, by how many wait.
    times: Vec<u64>,
}

impl AlikeWire {
    /// So many packets will arrive, all of so many bytes, from the first of these times on and by the last; all that is on the wire
    /// or waits for it is such a one. `None` where they do not take whole nanoseconds, or end when time does.
    pub fn new(wire: &Wire, bytes: u32, packets: usize, (first, last): (Instant, Instant)) -> Option<Self> {
        let (nanos, free_at) = (wire.exact(bytes)?.as_nanos(), wire.free_at());
        let waiting = free_at.since(first).as_nanos().saturating_sub(1) / nanos.max(1);
        let ties = TieBreaker::new(Ties::Departure, wire.rate()); // nothing is dropped
        let alike = Alike { bytes, nanos, free_at: free_at.as_nanos(), waiting, ties };
        let is_one = nanos > 0 && alike.are_over_in_time(packets, last);
        is_one.then(|| AlikeWire { alike, before: alike, latest: Instant::ZERO, one: 0, times: Vec::new() })
    }

    /// So many waited at the first of these times.
    pub fn waiting(&self) -> usize {
        self.before.waiting as usize
    }

    /// One arrives at `now`: when its last bit has left.
    #[inline(always)]
    pub fn send(&mut self, now: Instant) -> Instant {
        let (free_at, nanos) = (self.alike.free_at, now.as_nanos());
        let work = select_unpredictable(free_at > nanos, free_at.wrapping_sub(nanos), 0);
        if work >= self.alike.nanos {
            self.lift(work);
        } else {
            self.one += work;
        }
        self.latest = now;
        self.alike.free_at = now.as_nanos() + work + self.alike.nanos;
        Instant::from_nanos(self.alike.free_at)
    }

    /// It finds others waiting.
    #[cold]
    fn lift(&mut self, work: u64) {
        let Alike { nanos, .. } = self.alike;
        let (waiting, rest) = ((work / nanos) as usize, work % nanos);
        if self.times.len() < waiting + 2 {
            self.times.resize(waiting + 2, 0);
        }
        self.times[waiting] += nanos - rest;
        self.times[waiting + 1] += rest;
    }

    /// Some have arrived: how all have waited from `since` up to when the last did; and those that wait then, the oldest first.
    pub fn waited(&mut self, since: Instant) -> (Waited<'_>, impl Iterator<Item = Booking>) {
        let AlikeWire { alike, before, one, times, latest } = self;
        let until = (*latest).max(since);
        let nanos = alike.free_at.saturating_sub(until.as_nanos()).saturating_sub(1);
        alike.waiting = nanos / alike.nanos;
        times.resize(times.len().max(2).max(before.waiting as usize + 1).max(alike.waiting as usize + 1), 0);
        times[1] += std::mem::take(one);
        alike.correct(before, (since.as_nanos(), until.as_nanos()), times);
        times[0] = until.since(since).as_nanos() - times[1..].iter().sum::<u64>();
        (Waited { bytes: alike.bytes, times, until, waiting: alike.waiting }, alike.bookings())
    }

    /// Size of each, bytes.
    pub fn bytes(&self) -> u32 {
        self.alike.bytes
    }

    /// The wire has sent them.
    pub fn have_left(&self, wire: &mut Wire) {
        wire.is_free_from(Instant::from_nanos(self.alike.free_at));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;
    use crate::units::Rate;
    use proptest::prelude::*;

    /// For how long, from one time to another, so many wait of those that arrive at these times and are served from these on.
    fn waited(packets: &[(u64, u64)], (since, until): (u64, u64)) -> Vec<u64> {
        let mut times = vec![0; packets.len() + 1];
        let mut ends: Vec<u64> = packets.iter().flat_map(|&(at, start)| [at, start]).collect();
        ends.extend([since, until]);
        ends.sort_unstable();
        for span in ends.windows(2).filter(|span| since <= span[0] && span[1] <= until) {
            let waiting = packets.iter().filter(|(at, start)| *at <= span[0] && span[1] <= *start).count();
            times[waiting] += span[1] - span[0];
        }
        times
    }

    proptest! {
        #[test]
        fn it_serves_as_the_wire_does_and_says_how_all_have_waited(
            gaps in prop::collection::vec(prop_oneof![3 => 0..15_000_u64, 1 => Just(8_000_u64), 1 => 0..90_000_u64], 1..80),
            runs in 1..6_usize,
        ) {
            let mut wire = Wire::new(Rate::from_bits_per_second(1_000_000_000)); // 1000 B in 8 microseconds
            let mut step_by_step = wire;
            let (mut now, mut since, mut packets, mut waiting) = (0, 0, Vec::new(), 0);
            for gaps in gaps.chunks(gaps.len().div_ceil(runs)) {
                let last = now + gaps.iter().sum::<u64>();
                let times = (Instant::from_nanos(now), Instant::from_nanos(last));
                let mut alike = AlikeWire::new(&wire, 1000, gaps.len(), times).unwrap();
                prop_assert_eq!(alike.waiting(), waiting);
                for gap in gaps {
                    now += gap;
                    let (start, finish) = step_by_step.send(1000, Instant::from_nanos(now));
                    prop_assert_eq!(alike.send(Instant::from_nanos(now)), finish);
                    packets.push((now, start.as_nanos()));
                }
                alike.have_left(&mut wire);
                prop_assert_eq!(wire.free_at(), step_by_step.free_at());
                let (said, bookings) = alike.waited(Instant::from_nanos(since));
                let mut times = waited(&packets, (since, now));
                let said_times = said.times.to_vec();
                times.resize(times.len().max(said_times.len()), 0);
                prop_assert_eq!(&times[..said_times.len()], &said_times[..]);
                prop_assert_eq!(times[said_times.len()..].iter().sum::<u64>(), 0);
                prop_assert_eq!((said.until.as_nanos(), said.bytes), (now, 1000));
                let starts: Vec<u64> = bookings.map(|booking| booking.start.as_nanos()).collect();
                let wait = packets.iter().map(|packet| packet.1).filter(|start| *start > now);
                prop_assert_eq!(&starts, &wait.collect::<Vec<_>>());
                waiting = starts.len();
                since = now;
            }
        }
    }

    #[test]
    fn what_takes_fractions_of_a_nanosecond_or_has_no_end_is_refused() {
        let wire = |bps| Wire::new(Rate::from_bits_per_second(bps));
        let alike =
            |wire: Wire, packets| AlikeWire::new(&wire, 1000, packets, (Instant::ZERO, Instant::ZERO));
        assert_eq!(alike(wire(1_000_000), 1).map(|one| one.bytes()), Some(1000));
        assert!(alike(wire(7), 1).is_none());
        assert!(alike(wire(1_000_000), 10).is_some());
        assert!(alike(wire(1_000_000), usize::MAX).is_none());
    }
}

//! Who goes first where a packet arrives as another leaves.
//!
//! *Idea.* TCP clocks itself: acknowledgements come one service time of the bottleneck apart, so that data reach it at the very
//! instants at which others leave it. In a buffer of a few packets the order of these two decides who is dropped, and a fixed
//! order locks flows in phase (Floyd and Jacobson 1992). On a real network jitter decides it. So by
//! default the queue decides as if each packet took a little longer to come in, by a time that is drawn for it, and the packets behind
//! it in the same busy period were served as much later as the first of them was. Only the decision is shifted: a packet that is
//! taken is served when it would have been, so that no time changes where nothing is dropped.
//!
//! *Parameters.* The seed of the draws; the longest of them: 1 us, or what a packet of 1000 B takes on the link if that is less.
//!
//! *Where it breaks.* Packets that are served in less time than the longest draw: several departures may fall between a packet's
//! arrival and its drawn time, all of which the decision then counts as over. Packets that arrive at one instant from several links
//! keep the order of their flows.
//!
//! *References.* S. Floyd, V. Jacobson, "On traffic phase effects in packet-switched gateways", Internetworking 3(3), 1992;
//! ns-2 2.35, `link/delay.cc` and `common/scheduler.cc`, for [`Ties::Ns2`].

use crate::units::{Instant, NANOS_PER_SECOND, Rate, Span};
use std::hint::select_unpredictable;

/// Who goes first where a packet arrives as another leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ties {
    /// The departure: the arrival finds its place free.
    #[default]
    Departure,
    /// The arrival: it finds the other still there.
    Arrival,
    /// Whichever ns-2 scheduled first: the arrival if it was known before the service that ends now began ([`Arrival::lead`]).
    Ns2,
    /// As jitter would have it: drawn for each packet.
    Random,
}

impl Ties {
    /// Every rule and its name in a scenario.
    pub const ALL: &'static [(&'static str, Ties)] = &[
        ("random", Ties::Random),
        ("departure", Ties::Departure),
        ("arrival", Ties::Arrival),
        ("ns2", Ties::Ns2),
    ];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Ties::Random => "random",
            Ties::Departure => "departure",
            Ties::Arrival => "arrival",
            Ties::Ns2 => "ns2",
        }
    }
}

/// A packet that comes to a queue.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Size on the wire, bytes.
    pub bytes: u32,
    /// When it comes.
    pub now: Instant,
    /// Whose it is: draws are by flow and time.
    pub flow: u32,
    /// How long before ns-2 would have scheduled its arrival: what it took on the wire before and on the way from there. For
    /// [`Ties::Ns2`] alone.
    pub lead: Span,
}

impl Arrival {
    /// A packet of flow 0 that comes out of nowhere.
    pub fn new(bytes: u32, now: Instant) -> Self {
        Arrival { bytes, now, flow: 0, lead: Span::ZERO }
    }
}

/// The longest draw, nanoseconds.
const LONGEST: u64 = 1_000;
/// A packet by which it is bounded, bits.
const BITS: u64 = 8_000;

/// How a queue decides ties.
///
/// It has two clocks: the one by which packets are served, and one by which they are decided upon. By that, each comes later by its
/// draw, and what is served in this busy period is served later by `lag`.
#[derive(Debug, Clone, Copy)]
pub(super) struct TieBreaker {
    pub(super) ties: Ties,
    seed: u64,
    /// No draw is longer, nanoseconds; 0 where none is made.
    pub(super) longest: u64,
    /// Nanoseconds.
    lag: u64,
    /// When this busy period began, which is when the first packet that found the link idle by the second clock began to be served:
    /// by the second clock, nanoseconds.
    floor: u64,
    /// The same by the first clock.
    pub(super) busy_from: u64,
}

impl TieBreaker {
    pub(super) fn new(ties: Ties, rate: Rate) -> Self {
        let nanos =
            u128::from(BITS) * u128::from(NANOS_PER_SECOND) / u128::from(rate.bits_per_second().max(1));
        let bounded = u64::try_from(nanos).unwrap_or(LONGEST).clamp(1, LONGEST);
        let longest = if ties == Ties::Random { bounded } else { 0 };
        TieBreaker { ties, seed: 0, longest, lag: 0, floor: 0, busy_from: 0 }
    }

    pub(super) fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// What is before a packet must have begun to be served by then, nanoseconds, not to be in its way: where departures go first,
    /// or the arrival.
    pub(super) fn exact(&self, arrival: &Arrival, is_arrival_first: bool) -> u64 {
        arrival.now.as_nanos().saturating_sub(is_arrival_first.into()).max(self.floor)
    }

    /// The same where it is drawn.
    pub(super) fn drawn(&self, arrival: &Arrival) -> u64 {
        self.comes(arrival).saturating_sub(self.lag)
    }

    /// When a packet comes by the second clock, nanoseconds: not before the busy period began.
    #[inline(always)]
    fn comes(&self, arrival: &Arrival) -> u64 {
        arrival.now.as_nanos().saturating_add(self.draw(arrival)).max(self.floor)
    }

    /// Uniform, by flow and time, nanoseconds.
    #[inline(always)]
    fn draw(&self, arrival: &Arrival) -> u64 {
        let bits = (arrival.now.as_nanos() ^ u64::from(arrival.flow) << 32 ^ self.seed).wrapping_mul(ODD);
        let bits = (bits ^ bits >> 32).wrapping_mul(ODD);
        ((u128::from(bits ^ bits >> 29) * u128::from(self.longest)) >> 64) as u64
    }

    /// A packet is taken that was decided upon `by` then: the wire was free at `free_at`, and its service begins at `start`.
    pub(super) fn takes(&mut self, by: u64, free_at: u64, start: u64) {
        let is_drawn = self.longest > 0;
        let begins = if is_drawn { free_at.max(by).saturating_add(self.lag) } else { start };
        self.lag = begins.saturating_sub(start);
        if free_at <= by {
            (self.floor, self.busy_from) = (begins, start);
        }
    }

    /// From when to when a departure would have to be for this arrival to be on either side of it, nanoseconds.
    #[inline(always)]
    pub(super) fn either_side(&self, now: u64) -> (u64, u64) {
        let late = now.saturating_add(self.longest);
        (now.saturating_sub(self.longest + 1).max(self.busy_from).min(late), late)
    }
}

/// [`TieBreaker`] over many packets of one size ([`super::alike`]), the rule known beforehand.
pub(super) trait Order {
    /// It goes on from there: the wire is free at `free_at`, nanoseconds.
    fn begin(ties: TieBreaker, free_at: u64) -> Self;
    /// The work that a packet finds before it, nanoseconds.
    fn finds(&mut self, arrival: &Arrival, free_at: u64) -> u64;
    /// It is taken: it had found so much, and its service begins at `start` and takes so long.
    fn takes(&mut self, found: u64, start: u64, nanos: u64);
    /// How it stands.
    fn ties(&self, free_at: u64) -> TieBreaker;
    /// No draw is longer.
    fn longest(&self) -> u64;
}

/// Departures go first, or arrivals do.
pub(super) struct Exact<const ARRIVAL_FIRST: bool>(TieBreaker);

impl<const ARRIVAL_FIRST: bool> Order for Exact<ARRIVAL_FIRST> {
    fn begin(ties: TieBreaker, _free_at: u64) -> Self {
        Exact(ties)
    }

    #[inline(always)]
    fn finds(&mut self, arrival: &Arrival, free_at: u64) -> u64 {
        let now = arrival.now.as_nanos();
        let by = if ARRIVAL_FIRST { now.saturating_sub(1).max(self.0.floor) } else { now };
        free_at.saturating_sub(by)
    }

    #[inline(always)]
    fn takes(&mut self, found: u64, start: u64, _nanos: u64) {
        self.0.floor = select_unpredictable(found == 0, start, self.0.floor);
    }

    fn ties(&self, _free_at: u64) -> TieBreaker {
        TieBreaker { busy_from: self.0.floor, ..self.0 }
    }

    #[inline(always)]
    fn longest(&self) -> u64 {
        0
    }
}

/// As is drawn.
pub(super) struct Drawn {
    ties: TieBreaker,
    /// When the packet comes that has found so much, and when the wire is free, by the second clock, nanoseconds.
    comes: u64,
    free_at: u64,
}

impl Order for Drawn {
    fn begin(ties: TieBreaker, free_at: u64) -> Self {
        Drawn { ties, comes: 0, free_at: free_at + ties.lag }
    }

    #[inline(always)]
    fn finds(&mut self, arrival: &Arrival, _free_at: u64) -> u64 {
        self.comes = self.ties.comes(arrival);
        self.free_at.saturating_sub(self.comes)
    }

    #[inline(always)]
    fn takes(&mut self, found: u64, start: u64, nanos: u64) {
        self.ties.floor = select_unpredictable(found == 0, self.comes, self.ties.floor);
        self.ties.busy_from = select_unpredictable(found == 0, start, self.ties.busy_from);
        self.free_at = self.comes + found + nanos;
    }

    fn ties(&self, free_at: u64) -> TieBreaker {
        TieBreaker { lag: self.free_at.saturating_sub(free_at), ..self.ties }
    }

    #[inline(always)]
    fn longest(&self) -> u64 {
        self.ties.longest
    }
}

/// 2^64 over the golden ratio, odd: multiples of it are spread evenly (Knuth, volume 3, 6.4).
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): every bit of the outcome hangs on every bit.
#[inline(always)]
pub fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::super::{ClosedDropTail, Counts, Limit, QueueSpec};
    use super::*;
    use proptest::prelude::*;

    /// One that was taken: when it is served by the queue's clock, and when by that of the decisions.
    struct Taken {
        bytes: u64,
        began: u64,
        finish: u64,
        decided: [u64; 2],
    }

    /// The rule in words: whom a queue of so many packets that may wait takes, each with its draw.
    fn in_words(ties: Ties, room: u64, nanos: u64, arrivals: &[(u64, u64, u64)]) -> Vec<bool> {
        let mut taken: Vec<Taken> = Vec::new();
        let mut fates = Vec::new();
        for &(now, draw, lead) in arrivals {
            let free_at = taken.last().map_or([0, 0], |last| [last.finish, last.decided[1]]);
            let ends_now = taken.iter().find(|one| one.finish == now && one.began < now);
            let arrival_is_first = match ties {
                Ties::Arrival => true,
                Ties::Ns2 => ends_now.is_some_and(|one| now - one.began < lead),
                Ties::Departure | Ties::Random => false,
            };
            // It does not overtake who found the queue empty.
            let comes = now + if ties == Ties::Random { draw } else { 0 };
            let is_in_the_way = |one: &Taken| {
                let begins = one.decided[0];
                let waited = one.bytes > 0;
                waited && if arrival_is_first { begins >= comes } else { begins > comes }
            };
            let waiting = taken.iter().filter(|one| is_in_the_way(one)).count() as u64;
            let is_busy = free_at[1] > comes || arrival_is_first && free_at[1] == comes && now > 0;
            let is_refused = is_busy && waiting >= room;
            fates.push(!is_refused);
            if !is_refused {
                let starts = [free_at[0].max(now), free_at[1].max(comes)];
                let bytes = u64::from(is_busy); // it waits by that clock
                taken.push(Taken {
                    bytes,
                    began: starts[0],
                    finish: starts[0] + nanos,
                    decided: [starts[1], starts[1] + nanos],
                });
            }
        }
        fates
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_queue_takes_whom_the_rule_says(
            gaps in prop::collection::vec(prop_oneof![4 => Just(0u64), 8 => Just(8_000), 4 => 7_000..9_000u64, 2 => 0..40_000u64], 1..60),
            ties in prop::sample::select(Ties::ALL.iter().map(|(_, ties)| *ties).collect::<Vec<_>>()),
            room in 0..4u64,
            lead in 7_000..9_000u64,
        ) {
            let rate = Rate::from_bits_per_second(1_000_000_000); // 1000 B take 8 microseconds
            let spec = QueueSpec { limit: Some(Limit::Packets(room)), counts: Counts::Waiting, drop_front: false, ties };
            let mut queue = ClosedDropTail::new(&spec, rate).unwrap().with_seed(9);
            let mut draws = TieBreaker::new(ties, rate);
            draws.seed(9);
            let (mut now, mut arrivals, mut fates) = (0, Vec::new(), Vec::new());
            for (flow, gap) in (0..).zip(&gaps) {
                now += gap;
                let (flow, lead) = (flow % 3, lead * u64::from(flow % 2 == 0));
                let arrival = Arrival { bytes: 1000, now: Instant::from_nanos(now), flow, lead: Span::from_nanos(lead) };
                arrivals.push((now, draws.drawn(&arrival) - now, lead));
                fates.push(queue.admit(arrival).departure.is_some());
            }
            prop_assert_eq!(fates, in_words(ties, room, 8_000, &arrivals));
        }
    }

    #[test]
    fn a_draw_is_uniform_and_short() {
        for (bps, longest) in [(1_000_000, 1_000), (100_000_000_000, 80), (u64::MAX, 1)] {
            let draws = TieBreaker::new(Ties::Random, Rate::from_bits_per_second(bps));
            let mean = (0..10_000u64)
                .map(|k| {
                    let arrival =
                        Arrival { flow: (k % 7) as u32, ..Arrival::new(1, Instant::from_nanos(k * 8_000)) };
                    draws.drawn(&arrival) - k * 8_000
                })
                .inspect(|draw| assert!(*draw < longest))
                .sum::<u64>() as f64
                / 10_000.0;
            assert!((mean - (longest - 1) as f64 / 2.0).abs() < 0.02 * longest as f64, "{bps}: {mean}");
        }
    }
}

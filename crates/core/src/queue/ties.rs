//! Who goes first where a packet arrives as another leaves.
//!
//! *Idea.* TCP clocks itself: acknowledgements come one service time of the bottleneck apart, so that data reach it at the very
//! instants at which others leave it. In a buffer of a few packets the order of these two decides who is dropped, and a fixed
//! order locks flows in phase (Floyd and Jacobson 1992). On a real network jitter decides it. So by default
//! the queue decides as if each packet took a little longer to come in, by a time that is drawn for it, and the packets behind
//! it in the same busy period were served as much later as the first of them was. Only the decision is shifted: a packet that is
//! taken is served when it would have been, so that no time changes where nothing is dropped.
//!
//! *Parameters.* The seed of the draws, which are no longer than an instant: 64 ns, or 1/1250 of what a packet of 1000 B takes on the
//! link. Times of a simulation are whole nanoseconds, and a rate that is 0.1 % higher makes no tie.
//!
//! *Where it breaks.* Packets that are served in less than an instant: several departures may fall between a packet's arrival and its
//! drawn time, all of which the decision then counts as over. Packets that arrive at one instant from several links come in the order
//! that the network gives them: by flow, or as ns-2 schedules them.
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

/// What is no further apart is of one instant, nanoseconds: each hop rounds to a nanosecond. No draw is longer.
const INSTANT: u64 = 64;
/// Nor further than a packet of so many bits takes, divided by so much: a rate that is 0.1 % higher makes no tie.
const BITS: u64 = 8_000;
const PARTS: u64 = 1_250;

/// How a queue decides ties.
///
/// It has two clocks: the one by which packets are served, and one by which they are decided upon. By that, each comes later by its
/// draw, and what is served in this busy period is served later by `lag`.
#[derive(Debug, Clone, Copy)]
pub(super) struct TieBreaker {
    pub(super) ties: Ties,
    seed: u64,
    /// What is no further apart is of one instant, nanoseconds.
    pub(super) instant: u64,
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
        let instant = u64::try_from(nanos / u128::from(PARTS)).unwrap_or(INSTANT).min(INSTANT);
        TieBreaker { ties, seed: 0, instant, lag: 0, floor: 0, busy_from: 0 }
    }

    pub(super) fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// What is before a packet must have begun to be served by then, nanoseconds, not to be in its way: where departures go first,
    /// or the arrival.
    pub(super) fn exact(&self, arrival: &Arrival, is_arrival_first: bool) -> u64 {
        arrival.now.as_nanos().saturating_sub(is_arrival_first.into()).max(self.floor)
    }

    /// The same where it is drawn: for the packet itself, and for what is behind it.
    pub(super) fn drawn(&self, arrival: &Arrival) -> [u64; 2] {
        self.comes(arrival).map(|time| time.saturating_sub(self.lag))
    }

    /// When a packet comes by the second clock, nanoseconds, not before the busy period began: uniform over an instant, by flow and
    /// time. The first is a nanosecond earlier for half of the packets, so that equal draws are no order either.
    #[inline(always)]
    fn comes(&self, arrival: &Arrival) -> [u64; 2] {
        let now = arrival.now.as_nanos();
        let bits = draw(now ^ self.seed, arrival.flow);
        let comes = now.saturating_add(((u128::from(bits) * u128::from(self.instant)) >> 64) as u64);
        [comes.saturating_sub((bits >> 32) & 1).max(self.floor), comes.max(self.floor)]
    }

    /// A packet is taken that came `by` then: the wire was free at `free_at`, and its service begins at `start`.
    pub(super) fn takes(&mut self, by: u64, free_at: u64, start: u64) {
        let is_drawn = self.ties == Ties::Random;
        let begins = if is_drawn { free_at.max(by).saturating_add(self.lag) } else { start };
        self.lag = begins.saturating_sub(start);
        if free_at <= by {
            (self.floor, self.busy_from) = (begins, start);
        }
    }

    /// A departure after the first and by the second of these times, nanoseconds, is of the instant of this arrival.
    #[inline(always)]
    pub(super) fn either_side(&self, now: u64) -> (u64, u64) {
        let late = now.saturating_add(self.instant);
        (now.saturating_sub(self.instant + 1).max(self.busy_from).min(late), late)
    }
}

/// What a packet meets, by the clock of the decisions, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meets {
    /// When the wire is free.
    pub(super) free_at: u64,
    /// When the packet comes to be decided upon, and to be served.
    pub(super) comes: [u64; 2],
}

/// [`TieBreaker`] over many packets of one size ([`super::alike`]), the rule known beforehand.
pub(super) trait Order {
    /// It goes on from there: the wire is free at `free_at`, nanoseconds.
    fn begin(ties: TieBreaker, free_at: u64) -> Self;
    /// What a packet meets.
    fn meets(&self, arrival: &Arrival, free_at: u64) -> Meets;
    /// It is taken, and its service begins at `start` and takes so long.
    fn takes(&mut self, met: Meets, start: u64, nanos: u64);
    /// How it stands.
    fn ties(&self, free_at: u64) -> TieBreaker;
}

/// Departures go first, or arrivals do.
pub(super) struct Exact<const ARRIVAL_FIRST: bool>(TieBreaker);

impl<const ARRIVAL_FIRST: bool> Order for Exact<ARRIVAL_FIRST> {
    fn begin(ties: TieBreaker, _free_at: u64) -> Self {
        Exact(ties)
    }

    #[inline(always)]
    fn meets(&self, arrival: &Arrival, free_at: u64) -> Meets {
        let now = arrival.now.as_nanos();
        // A busy period that begins now has no departure yet that the arrival could go before.
        let later = u64::from(ARRIVAL_FIRST && now > self.0.floor);
        Meets { free_at: free_at + later, comes: [now; 2] }
    }

    #[inline(always)]
    fn takes(&mut self, met: Meets, start: u64, _nanos: u64) {
        self.0.floor = select_unpredictable(met.free_at <= met.comes[1], start, self.0.floor);
    }

    fn ties(&self, _free_at: u64) -> TieBreaker {
        TieBreaker { busy_from: self.0.floor, ..self.0 }
    }
}

/// As is drawn.
pub(super) struct Drawn {
    ties: TieBreaker,
    /// When the wire is free by the second clock, nanoseconds.
    free_at: u64,
}

impl Order for Drawn {
    fn begin(ties: TieBreaker, free_at: u64) -> Self {
        Drawn { ties, free_at: free_at + ties.lag }
    }

    #[inline(always)]
    fn meets(&self, arrival: &Arrival, _free_at: u64) -> Meets {
        Meets { free_at: self.free_at, comes: self.ties.comes(arrival) }
    }

    #[inline(always)]
    fn takes(&mut self, met: Meets, start: u64, nanos: u64) {
        let comes = met.comes[1];
        let is_idle = met.free_at <= comes;
        self.ties.floor = select_unpredictable(is_idle, comes, self.ties.floor);
        self.ties.busy_from = select_unpredictable(is_idle, start, self.ties.busy_from);
        self.free_at = select_unpredictable(is_idle, comes, met.free_at) + nanos;
    }

    fn ties(&self, free_at: u64) -> TieBreaker {
        TieBreaker { lag: self.free_at.saturating_sub(free_at), ..self.ties }
    }
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): every bit of the outcome hangs on every bit.
#[inline(always)]
pub fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// A number whose upper half is drawn by flow and time, if that has been keyed, with each value as likely: in half of the instructions
/// of [`mix`], whose constants it has.
#[inline(always)]
pub fn draw(time: u64, flow: u32) -> u64 {
    let bits = time.wrapping_mul(0xbf58_476d_1ce4_e5b9 + 2 * u64::from(flow));
    (bits ^ bits >> 32).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::super::{ClosedDropTail, Counts, Limit, QueueSpec};
    use super::*;
    use proptest::prelude::*;

    /// One that was taken: whether it found others before it, when it is served by the queue's clock, and when by that of the decisions.
    struct Taken {
        bytes: u64,
        waited: bool,
        began: u64,
        finish: u64,
        decided: [u64; 2],
    }

    /// The rule in words: whom a queue takes, each with its draw and size, a byte taking 8 ns. `room` says of a packet of this size
    /// whether it fits, where these wait and this one is on the wire.
    fn in_words(
        ties: Ties,
        room: impl Fn(u64, &[u64], Option<u64>) -> bool,
        arrivals: &[(u64, (u64, bool), u64, u64)],
    ) -> Vec<bool> {
        let mut taken: Vec<Taken> = Vec::new();
        let mut fates = Vec::new();
        for &(now, (draw, is_drawn_first), lead, bytes) in arrivals {
            let nanos = 8 * bytes;
            let free_at = taken.last().map_or([0, 0], |last| [last.finish, last.decided[1]]);
            let ends_now = taken.iter().find(|one| one.finish == now && one.began < now);
            let (comes, is_first) = match ties {
                Ties::Departure => (now, false),
                Ties::Arrival => (now, true),
                Ties::Ns2 => (now, ends_now.is_some_and(|one| now - one.began < lead)),
                Ties::Random => (now + draw, is_drawn_first),
            };
            let is_ahead = |time: u64| time > comes || is_first && time == comes;
            let is_busy = is_ahead(free_at[1]) && !taken.is_empty();
            let waits = |one: &&Taken| one.waited && is_ahead(one.decided[0]);
            let waiting: Vec<u64> = taken.iter().filter(waits).map(|one| one.bytes).collect();
            let served = taken.iter().rfind(|one| !waits(one)).map(|one| one.bytes);
            let is_taken = room(bytes, &waiting, served.filter(|_| is_busy));
            fates.push(is_taken);
            if is_taken {
                let starts = [free_at[0].max(now), free_at[1].max(comes)];
                // Who is drawn to be first, and finds the link idle at that very time, is served at once all the same.
                let waited = if ties == Ties::Random { free_at[1] > comes } else { is_busy };
                let (began, finish) = (starts[0], starts[0] + nanos);
                taken.push(Taken { bytes, waited, began, finish, decided: [starts[1], starts[1] + nanos] });
            }
        }
        fates
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_queue_takes_whom_the_rule_says(
            gaps in prop::collection::vec(prop_oneof![4 => Just(0u64), 8 => Just(8_000), 4 => 7_990..8_010u64, 2 => 7_000..9_000u64, 2 => 0..40_000u64], 1..60),
            ties in prop::sample::select(Ties::ALL.iter().map(|(_, ties)| *ties).collect::<Vec<_>>()),
            room in 0..4usize,
            lead in 7_000..9_000u64,
        ) {
            let rate = Rate::from_bits_per_second(1_000_000_000); // 1000 B take 8 microseconds
            let spec = QueueSpec { limit: Some(Limit::Packets(room as u64)), counts: Counts::Waiting, drop_front: false, ties };
            let mut queue = ClosedDropTail::new(&spec, rate).unwrap().with_seed(9);
            let mut draws = TieBreaker::new(ties, rate);
            draws.seed(9);
            let (mut now, mut arrivals, mut fates) = (1, Vec::new(), Vec::new());
            for (flow, gap) in (0..).zip(&gaps) {
                now += gap;
                let (flow, lead) = (flow % 3, lead * u64::from(flow % 2 == 0));
                let arrival = Arrival { bytes: 1000, now: Instant::from_nanos(now), flow, lead: Span::from_nanos(lead) };
                let [first, comes] = draws.drawn(&arrival);
                arrivals.push((now, (comes - now, first < comes), lead, 1_000));
                fates.push(queue.admit(arrival).departure.is_some());
            }
            let fits = |_, waiting: &[u64], served: Option<u64>| served.is_none() || waiting.len() < room;
            prop_assert_eq!(fates, in_words(ties, fits, &arrivals));
        }

        /// The same of packets of several sizes, where bytes count, and that on the wire too.
        #[test]
        fn a_queue_counts_the_bytes_on_the_wire_as_the_rule_says(
            gaps in prop::collection::vec((0..9_u64, 0..14_u64, 1..4_u64), 1..60),
            ties in prop::sample::select(vec![Ties::Departure, Ties::Arrival, Ties::Random]),
            limit in 4..16_u64,
        ) {
            let rate = Rate::from_bits_per_second(1_000_000_000);
            let limit = limit * 250;
            let spec = QueueSpec { limit: Some(Limit::Bytes(limit)), counts: Counts::WaitingAndService, drop_front: false, ties };
            let mut queue = ClosedDropTail::new(&spec, rate).unwrap().with_seed(9);
            let mut draws = TieBreaker::new(ties, rate);
            draws.seed(9);
            let (mut now, mut arrivals, mut fates) = (1_u64, Vec::new(), Vec::new());
            for (flow, (steps, off, size)) in (0..).zip(&gaps) {
                // On a grid of what 250 B take, within a few nanoseconds.
                now = now.max(((now + 1_000) / 2_000 + steps) * 2_000 + off).saturating_sub(7).max(now);
                let bytes = size * 250;
                let arrival = Arrival { bytes: bytes as u32, now: Instant::from_nanos(now), flow, lead: Span::ZERO };
                let [first, comes] = draws.drawn(&arrival);
                arrivals.push((now, (comes - now, first < comes), 0, bytes));
                fates.push(queue.admit(arrival).departure.is_some());
            }
            let fits = |bytes, waiting: &[u64], served: Option<u64>| {
                waiting.iter().sum::<u64>() + bytes + served.unwrap_or(0) <= limit
            };
            prop_assert_eq!(fates, in_words(ties, fits, &arrivals));
        }
    }

    #[test]
    fn a_draw_hangs_on_flow_time_and_seed_alike() {
        let comes = |now, flow, seed| {
            let mut draws = TieBreaker::new(Ties::Random, Rate::from_bits_per_second(1_000_000));
            draws.seed(seed);
            draws
                .drawn(&Arrival { flow, ..Arrival::new(1, Instant::from_nanos(now)) })
                .map(|time| time.wrapping_sub(now))
        };
        let at = |k: u64| (5 << 32) + k * 8_000;
        let seeds = (0..1_000).filter(|k| comes(at(*k), 1, 0) != comes(at(*k), 1, 9)).count();
        let flows = (0..1_000).filter(|k| comes(at(*k), 5, 0) != comes(at(*k), 4, 0)).count();
        assert!(seeds > 950 && flows > 950, "{seeds}, {flows}");
    }

    /// The first numbers of SplitMix64 from 1234567, as its authors' C program prints them.
    #[test]
    fn bits_are_mixed_as_by_splitmix64() {
        let numbers = (1..=5_u64).map(|k| mix(k.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1_234_567)));
        assert_eq!(
            numbers.collect::<Vec<_>>(),
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }

    /// Of packets that come one service time apart, of one flow and of many: each sixteenth as often, whatever the one before drew.
    #[test]
    fn draws_are_uniform_and_independent() {
        for (apart, flows) in [(80_000, 1), (83_200, 1), (800, 1), (1, 1), (80_000, 100), (0, 25_600)] {
            let mut pairs = [0_u32; 256];
            let mut before = 0;
            for packet in 0..25_600_u64 {
                let bits = draw((packet * apart) ^ 0x1234_5678_9abc_def1, (packet % flows) as u32);
                let bits = ((bits >> 61) << 1) | ((bits >> 32) & 1); // the highest and the lowest
                pairs[((before << 4) | bits) as usize] += 1;
                before = bits;
            }
            let chi2: f64 = pairs.iter().map(|n| (f64::from(*n) - 100.0).powi(2) / 100.0).sum();
            assert!((150.0..400.0).contains(&chi2), "{apart} {flows} {chi2}"); // 255 degrees of freedom: 255 +- 23
        }
    }

    /// One waits, and no more may: it begins at 8000 ns, and what is no further from that than an instant, 6 ns, is tied.
    #[test]
    fn a_tie_is_a_departure_within_an_instant_of_an_arrival() {
        let rate = Rate::from_bits_per_second(1_000_000_000); // 1000 B take 8 microseconds
        let limit = Some(Limit::Packets(1));
        for (_, ties) in Ties::ALL {
            let spec = QueueSpec { limit, counts: Counts::Waiting, drop_front: false, ties: *ties };
            for (now, is_tied) in
                [(7_980, false), (7_993, false), (7_994, true), (8_000, true), (8_006, true), (8_007, false)]
            {
                let mut queue = ClosedDropTail::new(&spec, rate).unwrap();
                let mut admit = |now| queue.admit(Arrival::new(1_000, Instant::from_nanos(now)));
                assert!(admit(0).departure.is_some() && admit(1).departure.is_some());
                assert_eq!(admit(now).is_tied, is_tied, "{now} by {ties:?}");
            }
        }
    }

    /// What is decided for one size at a time goes on from the lag of the packets before.
    #[test]
    fn many_at_once_keep_the_lag_of_those_before() {
        let ties =
            TieBreaker { lag: 7, ..TieBreaker::new(Ties::Random, Rate::from_bits_per_second(1_000_000)) };
        let order = Drawn::begin(ties, 1_000);
        assert_eq!(order.meets(&Arrival::new(1, Instant::ZERO), 0).free_at, 1_007);
        assert_eq!((order.ties(1_000).lag, order.ties(1_010).lag), (7, 0));
    }

    #[test]
    fn draws_are_uniform_and_short_and_equal_ones_are_no_order() {
        for (bps, instant) in [(1_000_000, 64), (1_000_000_000, 6), (100_000_000_000, 0), (u64::MAX, 0)] {
            let draws = TieBreaker::new(Ties::Random, Rate::from_bits_per_second(bps));
            assert_eq!(draws.instant, instant);
            let (mut sum, mut first) = (0, 0_u64);
            for now in (1..=10_000).map(|k| k * 8_000) {
                let flow = (now / 8_000 % 7) as u32;
                let [decided, comes] =
                    draws.drawn(&Arrival { flow, ..Arrival::new(1, Instant::from_nanos(now)) });
                assert!(comes - now < instant.max(1));
                sum += comes - now;
                first += comes - decided;
            }
            let mean = instant.saturating_sub(1) as f64 / 2.0;
            assert!((sum as f64 / 10_000.0 - mean).abs() <= 0.02 * instant as f64, "{bps}: {sum}");
            assert!(first.abs_diff(5_000) < 200, "{bps}: {first}");
        }
    }
}

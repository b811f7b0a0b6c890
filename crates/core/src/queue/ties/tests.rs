//! Ties, against a second definition of the rules in words.

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
        let spec = QueueSpec { limit: Some(Limit::Packets(room as u64)), counts: Counts::Waiting, discipline: Default::default(), ties };
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
        let spec = QueueSpec { limit: Some(Limit::Bytes(limit)), counts: Counts::WaitingAndService, discipline: Default::default(), ties };
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
        let spec = QueueSpec { limit, counts: Counts::Waiting, discipline: Default::default(), ties: *ties };
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
    let ties = TieBreaker { lag: 7, ..TieBreaker::new(Ties::Random, Rate::from_bits_per_second(1_000_000)) };
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

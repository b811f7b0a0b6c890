//! The edge pacer against an independent O(n) computation: at every arrival and every deadline, the slope of the service
//! curve is the largest of (D_i - S) / (t_i - now) over all pending deadlines.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::pacer::edge::{Edge, Parameters, Release};
use paceline_core::pacer::none;
use paceline_core::{Instant, Packet, Rate, Span, Stage, Verdict};
use proptest::prelude::*;

const LINK: Rate = Rate::from_bits_per_second(100_000_000);

#[derive(Debug, Clone, Copy)]
struct Sent {
    number: usize,
    bytes: u32,
}

impl Packet for Sent {
    fn bytes(&self) -> u32 {
        self.bytes
    }
}

/// Departure times in floating point, straight from the definition; no hull.
fn oracle(arrivals: &[(u64, u32)], delay: u64, release: Release) -> Vec<f64> {
    let mut times = vec![f64::NAN; arrivals.len()];
    let mut pending: Vec<(f64, f64)> = Vec::new(); // deadline (ns), bytes served by then
    let (mut now, mut served, mut total) = (0f64, 0f64, 0f64);
    let mut goals: std::collections::VecDeque<(usize, f64)> = std::collections::VecDeque::new();
    let mut next = 0;
    loop {
        // Serve until the next arrival, a deadline at a time.
        let until = arrivals.get(next).map_or(f64::INFINITY, |arrival| arrival.0 as f64);
        while let Some((slope, corner)) = steepest(&pending, now, served) {
            let end = corner.0.min(until);
            while let Some(&(number, goal)) = goals.front() {
                // What the corner reaches is reached at the corner at the latest, however it is rounded.
                let at = if goal <= served { now } else { now + (goal - served) / slope };
                let at = if corner.1 >= goal { at.min(corner.0) } else { at };
                if at > end {
                    break;
                }
                times[number] = at;
                goals.pop_front();
            }
            (now, served) = if end == corner.0 { corner } else { (end, served + slope * (end - now)) };
            pending.retain(|deadline| deadline.0 > now);
            if end == until {
                break;
            }
        }
        let Some(&(at, bytes)) = arrivals.get(next) else { break };
        now = at as f64;
        let before = total;
        total += f64::from(bytes);
        pending.push(((at + delay) as f64, total));
        goals.push_back((next, if release == Release::Start { before } else { total }));
        next += 1;
    }
    times
}

/// The largest slope to a pending deadline, and the furthest deadline that has it.
fn steepest(pending: &[(f64, f64)], now: f64, served: f64) -> Option<(f64, (f64, f64))> {
    let slope = |deadline: &(f64, f64)| (deadline.1 - served) / (deadline.0 - now);
    let best = pending.iter().map(slope).fold(f64::NEG_INFINITY, f64::max);
    let last = pending.iter().rev().find(|deadline| slope(deadline) >= best)?;
    Some((best, *last))
}

/// Departure times of the pacer, driven on time, and its pops.
fn paced(arrivals: &[(u64, u32)], delay: u64, release: Release) -> (Vec<u64>, u64) {
    let mut pacer = Edge::new(&Parameters { delay: Span::from_nanos(delay), release }, LINK);
    let times = drive(&mut pacer, arrivals);
    assert_eq!(pacer.arrivals(), arrivals.len() as u64);
    (times, pacer.pops())
}

fn drive<S: Stage<Sent>>(stage: &mut S, arrivals: &[(u64, u32)]) -> Vec<u64> {
    let mut times = vec![u64::MAX; arrivals.len()];
    let mut now = Instant::ZERO;
    let mut serve = |stage: &mut S, until: Instant| {
        while let Some(wakeup) = stage.next_wakeup().filter(|wakeup| *wakeup <= until) {
            assert!(wakeup >= now, "never due in the past");
            now = wakeup;
            times[stage.dequeue(wakeup).expect("due at its wake-up").number] = wakeup.as_nanos();
        }
        now = until;
    };
    for (number, &(at, bytes)) in arrivals.iter().enumerate() {
        serve(stage, Instant::from_nanos(at));
        let _ = stage.enqueue(Sent { number, bytes }, Instant::from_nanos(at));
    }
    serve(stage, Instant::MAX);
    times
}

fn check(arrivals: &[(u64, u32)], delay: u64, release: Release) -> Result<(), TestCaseError> {
    let (times, pops) = paced(arrivals, delay, release);
    let expected = oracle(arrivals, delay, release);
    for (number, (&time, &expected)) in times.iter().zip(&expected).enumerate() {
        prop_assert!(
            time as f64 > expected - 1e-3 && (time as f64) < expected + 1.001,
            "packet {number} at {time}, expected {expected}"
        );
        let arrival = arrivals[number].0;
        prop_assert!(
            (arrival..=arrival + delay).contains(&time),
            "packet {number} of {arrival} left at {time}"
        );
    }
    prop_assert!(pops <= arrivals.len() as u64);
    Ok(())
}

/// Gaps around `gap` ns, alone and in bursts, of mixed sizes.
fn arrivals(gap: u64) -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gaps = prop_oneof![0..2 * gap, 0..gap / 50, Just(0), Just(gap), gap * 5..gap * 50];
    let bytes = prop_oneof![Just(1_040u32), Just(40), 1..1_500u32];
    prop::collection::vec((gaps, bytes), 1..150).prop_map(|mut arrivals| {
        let mut now = 0;
        for (at, _) in &mut arrivals {
            now += *at;
            *at = now;
        }
        arrivals
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn follows_the_definition(
        arrivals in arrivals(100_000),
        delay in prop_oneof![Just(10_000_000u64), 1..1_000_000u64, Just(1), 1_000_000..50_000_000u64],
        release in prop_oneof![Just(Release::Start), Just(Release::Finish)],
    ) {
        check(&arrivals, delay, release)?;
    }

    #[test]
    fn no_delay_is_no_pacing(
        arrivals in arrivals(1_000),
        release in prop_oneof![Just(Release::Start), Just(Release::Finish)],
    ) {
        let mut unpaced = none::Unpaced::new(&none::Parameters, LINK);
        let (times, _) = paced(&arrivals, 0, release);
        prop_assert_eq!(&times, &drive(&mut unpaced, &arrivals));
        prop_assert!(times.iter().zip(&arrivals).all(|(time, arrival)| *time == arrival.0));
    }
}

/// A deterministic draw, uniform in 0..below.
struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 32)) % below
    }
}

#[test]
fn long_runs_follow_the_definition_and_pop_less_than_once_an_arrival() {
    for (seed, load_percent, delay_ms) in [(1, 50, 1), (2, 90, 10), (3, 90, 1), (4, 140, 5), (5, 20, 50)] {
        for burst in [1, 10] {
            let mut draws = Draws(seed);
            let mut now = 0;
            let mean = 1_040 * 8 * 10 * 100 / load_percent;
            let arrivals: Vec<(u64, u32)> = (0..20_000)
                .map(|index| {
                    if index % burst == 0 {
                        now += draws.below(2 * mean * burst);
                    }
                    (now, if draws.below(4) == 0 { 40 } else { 1_040 })
                })
                .collect();
            for release in [Release::Start, Release::Finish] {
                check(&arrivals, delay_ms * 1_000_000, release).expect("as defined");
                let (_, pops) = paced(&arrivals, delay_ms * 1_000_000, release);
                assert!(pops < arrivals.len() as u64);
            }
        }
    }
}

#[test]
fn a_lone_packet_leaves_at_once_or_is_held_for_the_whole_delay() {
    assert_eq!(paced(&[(7, 1_000)], 1_000, Release::Start).0, [7]);
    assert_eq!(paced(&[(7, 1_000)], 1_000, Release::Finish).0, [1_007]);
    // One without bytes is not held: all of it has been served.
    assert_eq!(paced(&[(7, 0)], 1_000, Release::Start).0, [7]);
    assert_eq!(paced(&[(7, 0)], 1_000, Release::Finish).0, [7]);
    // A burst of four is spread over the delay: S rises by 4 packets in 1000 ns.
    assert_eq!(paced(&[(0, 500); 4], 1_000, Release::Start).0, [0, 250, 500, 750]);
    assert_eq!(paced(&[(0, 500); 4], 1_000, Release::Finish).0, [250, 500, 750, 1_000]);
    // The curve goes on when the queue is empty. At 100 it has served 50; it must serve 950 in the next 1000 ns, and
    // the first packet's last byte, where the second one begins, is 450 away.
    assert_eq!(paced(&[(0, 500), (100, 500)], 1_000, Release::Start).0, [0, 100 + 474]);
}

#[test]
fn extreme_times_and_sizes() {
    let end = u64::MAX;
    let hours = 100 * 3_600 * 1_000_000_000;
    let arrivals = [
        (0, 1 << 30),
        (1, 0),
        (end / 2, 1 << 29),
        (end / 2, 1),
        (end - 10, 65_536),
        (end - 1, 0),
        (end, 1_000),
    ];
    for delay in [0, 1, 1_000_000, hours, end] {
        for release in [Release::Start, Release::Finish] {
            let (times, _) = paced(&arrivals, delay, release);
            for (time, (arrival, _)) in times.iter().zip(&arrivals) {
                assert!((*arrival..=arrival.saturating_add(delay)).contains(time));
            }
        }
    }
}

#[test]
fn more_than_two_gibibytes_are_refused_but_for_one_packet_alone() {
    let mut pacer = Edge::new(&Parameters { delay: Span::from_millis(10), release: Release::Start }, LINK);
    let mut offer = |bytes, at| pacer.enqueue(Sent { number: 0, bytes }, Instant::from_nanos(at));
    assert!(matches!(offer(u32::MAX, 0), Verdict::Queued));
    assert!(matches!(offer(1, 1), Verdict::Refused(_)));
    let mut other = Edge::new(&Parameters { delay: Span::from_millis(10), release: Release::Start }, LINK);
    let mut takes =
        |bytes| matches!(other.enqueue(Sent { number: 0, bytes }, Instant::ZERO), Verdict::Queued);
    assert_eq!([(1 << 31) - 1, 1, 1].map(&mut takes), [true, true, false]);
    assert_eq!(pacer.dequeue(Instant::ZERO).map(|sent| sent.bytes), Some(u32::MAX));
    assert!(matches!(
        pacer.enqueue(Sent { number: 1, bytes: 1 << 31 }, Instant::from_nanos(2)),
        Verdict::Queued
    ));
}

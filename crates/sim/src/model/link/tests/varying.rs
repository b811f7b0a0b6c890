//! Transmitters beside their definitions: a rate that is integrated from the start of the busy period, and a trace's
//! opportunities in a list.

use super::cases::Draws;
use crate::varying::{Transmit, VaryingRate};
use paceline_core::{Instant, Span};

const SECOND: u128 = 1_000_000_000;

/// Rates from when on, bit/s, and after how long they begin again; nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Rates {
    pub(super) steps: Vec<(u64, u64)>,
    pub(super) every: Option<u64>,
}

impl Rates {
    pub(super) fn draw(draws: &mut Draws) -> Rates {
        let count = 1 + draws.below(4);
        let mut steps = vec![(0, draws.one_of(&[8_000_000, 3_000_000]))];
        for _ in 1..count {
            let from = steps[steps.len() - 1].0 + 500_000 + draws.below(4_000_000);
            steps.push((from, draws.one_of(&[0, 8_000_000, 1_000_000, 7_654_321])));
        }
        let last = steps[steps.len() - 1];
        let every = (last.1 == 0 || draws.below(2) == 0).then(|| last.0 + 500_000 + draws.below(4_000_000));
        Rates { steps, every }
    }

    pub(super) fn spec(&self) -> VaryingRate {
        let steps = self.steps.iter().map(|(from, bps)| (Span::from_nanos(*from), *bps));
        VaryingRate::of_steps(steps, self.every.map(Span::from_nanos))
    }

    /// What could have been sent by then, in bits times nanoseconds a second.
    fn sent(&self, by: u64) -> u128 {
        let within = |by: u64| -> u128 {
            let ends = self.steps.iter().skip(1).map(|step| step.0).chain([u64::MAX]);
            let pieces = self.steps.iter().zip(ends);
            pieces
                .map(|((from, bps), end)| u128::from(*bps) * u128::from(by.min(end).saturating_sub(*from)))
                .sum()
        };
        match self.every {
            Some(every) => u128::from(by / every) * within(every) + within(by % every),
            None => within(by),
        }
    }

    /// When so many bits will have left of a busy period that began at `start`: the nanosecond that has begun then.
    pub(super) fn finish(&self, start: u64, bits: u64) -> u64 {
        let due = self.sent(start) + u128::from(bits) * SECOND;
        let (mut low, mut high) = (start, start + 100_000_000_000);
        while low < high {
            let middle = u64::midpoint(low, high);
            if self.sent(middle) >= due { high = middle } else { low = middle + 1 }
        }
        if self.sent(low) > due { low - 1 } else { low }
    }
}

#[test]
fn packets_leave_once_their_bits_have_been_sent() {
    for seed in 0..300 {
        let mut draws = Draws::of(seed);
        let rates = Rates::draw(&mut draws);
        let mut transmitter = rates.spec().transmitter(1, "link");
        let (mut begun, mut bits, mut free) = (0, 0, 0);
        for number in 0..100 {
            let bytes = draws.one_of(&[40, 1000, 1500]);
            if number == 0 || draws.below(4) == 0 {
                // not where the one before has just left: that continues its busy period
                (begun, bits) = (free + 1 + draws.below(3_000_000), 0);
                assert_eq!(transmitter.opens(Instant::from_nanos(begun)), Instant::from_nanos(begun));
                free = begun;
            }
            bits += 8 * u64::from(bytes);
            let (finish, next) = transmitter.send(bytes, Instant::from_nanos(free));
            free = rates.finish(begun, bits);
            assert_eq!(
                (finish.as_nanos(), next.as_nanos()),
                (free, free),
                "seed {seed}, {number}: {rates:?}"
            );
        }
        for _ in 0..5 {
            let (from, to) = (draws.below(20_000_000), draws.below(20_000_000));
            let (from, to) = (from.min(to), from.max(to));
            let found = rates
                .spec()
                .transmitter(1, "link")
                .bits_between(Instant::from_nanos(from), Instant::from_nanos(to));
            let expected = (rates.sent(to) - rates.sent(from)) as f64 / SECOND as f64;
            assert!((found - expected).abs() < 1e-6, "seed {seed}: {found} {expected} {rates:?}");
        }
    }
}

/// An outage without end lets nothing go.
#[test]
fn nothing_leaves_where_the_rate_is_zero_for_good() {
    let steps = [(Span::ZERO, 8_000_000), (Span::from_millis(2), 0)];
    let mut transmitter = VaryingRate::of_steps(steps.into_iter(), None).transmitter(1, "link");
    assert_eq!(transmitter.send(2000, Instant::ZERO).0, Instant::from_nanos(2_000_000));
    assert_eq!(transmitter.send(1, Instant::from_nanos(2_000_000)).0, Instant::MAX);
}

/// A chain begins in a state as often as it is there: of 200, 100 and 300 ms.
#[test]
fn a_chain_begins_as_one_that_has_run_for_long() {
    let states = [(1_000_000, 200), (2_000_000, 100), (4_000_000, 300)];
    let states = VaryingRate::of_states(states.map(|(bps, ms)| (bps, Span::from_millis(ms))).into_iter());
    let mut counts = [0; 3];
    for seed in 0..6000 {
        // 40 bytes are sent before the state ends, but for one in a thousand
        let (finish, _) = states.transmitter(seed, "link").send(40, Instant::ZERO);
        match finish.as_nanos() {
            320_000 => counts[0] += 1,
            160_000 => counts[1] += 1,
            80_000 => counts[2] += 1,
            _ => {}
        }
    }
    for (count, share) in counts.into_iter().zip([2.0, 1.0, 3.0].map(|share| share / 6.0)) {
        let deviation = f64::sqrt(6000.0 * share * (1.0 - share));
        assert!((f64::from(count) - 6000.0 * share).abs() < 3.3 * deviation + 12.0, "{counts:?}");
    }
}

/// mahimahi: each opportunity carries 1504 bytes; a packet has 4 more than its own, and leaves with its last byte; what
/// finds the link idle begins with the opportunity after it, and what an opportunity has left goes to the next of those
/// that wait.
#[test]
fn by_a_trace_a_packet_leaves_with_the_opportunity_of_its_last_byte() {
    const MS: u64 = 1_000_000;
    for seed in 0..200 {
        let mut draws = Draws::of(seed);
        let mut round = vec![draws.below(3)];
        for _ in 0..draws.below(6) {
            round.push(round[round.len() - 1] + draws.below(4));
        }
        let last = round[round.len() - 1].max(1);
        *round.last_mut().unwrap() = last;
        let spec = VaryingRate::of_trace(round.iter().copied());
        let all: Vec<u64> =
            (0..3000).flat_map(|number| round.iter().map(move |at| (number * last + at) * MS)).collect();
        let mut trace = spec.transmitter(1, "link");
        // The first opportunity of the busy period, and the bytes that it and those after have carried.
        let (mut first, mut carried, mut free) = (0, 0, None);
        let mut now = 0;
        for number in 0..60 {
            let bytes = draws.one_of(&[40, 700, 1500, 1496, 2000]);
            let begin = match free {
                Some(at) if draws.below(4) > 0 => at,
                _ => {
                    now = free.unwrap_or(0) + draws.below(5 * MS) * draws.below(2);
                    first = all.iter().position(|at| *at > now).unwrap();
                    carried = 0;
                    assert_eq!(
                        trace.opens(Instant::from_nanos(now)).as_nanos(),
                        all[first],
                        "{seed} {number}"
                    );
                    all[first]
                }
            };
            carried += usize::from(bytes) + 4;
            let (finish, next) = trace.send(bytes, Instant::from_nanos(begin));
            let at = |byte: usize| all[first + byte / 1504];
            assert_eq!(
                (finish.as_nanos(), next.as_nanos()),
                (at(carried - 1), at(carried)),
                "seed {seed}, {number} at {now}: {round:?}"
            );
            free = Some(next.as_nanos());
        }
        let (from, to) = (draws.below(30) * MS, draws.below(30) * MS);
        let (from, to) = (from.min(to), from.max(to));
        let found =
            spec.transmitter(1, "link").bits_between(Instant::from_nanos(from), Instant::from_nanos(to));
        let expected = all.iter().filter(|at| (from..to).contains(at)).count() * 12_000;
        assert_eq!(found, expected as f64, "seed {seed}: {round:?}, {from} to {to}");
    }
}

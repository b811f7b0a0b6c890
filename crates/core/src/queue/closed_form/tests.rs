use super::*;
use crate::queue::{Counts, Limit};
use proptest::prelude::*;

const SIZE: u32 = 1_000;

fn queue(limit: Limit, counts: Counts, ties: Ties) -> Option<ClosedDropTail> {
    let spec = QueueSpec { limit: Some(limit), counts, discipline: Default::default(), ties };
    ClosedDropTail::new(&spec, Rate::from_bits_per_second(1_000_000_000)) // 8 microseconds each
}

/// Counts lines that are taken at once.
#[derive(Default)]
struct Lines(usize);

impl Observer<(u64, u32)> for Lines {
    fn takes_times_from(&self) -> Option<Instant> {
        Some(Instant::ZERO)
    }
    fn have_waited(&mut self, _: &Waited<'_>) {
        self.0 += 1;
    }
    fn waits(&mut self, _: u32, _: Instant) {}
    fn has_begun(&mut self, _: Booking) {}
    fn were_tied(&mut self, _: Instant, _: u64, _: u64) {}
    fn arrives(&mut self, _: &(u64, u32), _: Option<Departure>) {}
}

fn lines(queue: &mut ClosedDropTail, line: &[(u64, u32)]) -> usize {
    let arrival = |packet: &(u64, u32)| Arrival::new(packet.1, Instant::from_nanos(packet.0));
    queue.admit_all((line, false), arrival, Lines::default()).0
}

/// Which lines pay only once for all of their packets: those of one size, which is that of all that is before them.
#[test]
fn packets_of_one_size_are_taken_at_once() {
    let (by_packets, by_bytes) = (Limit::Packets(7), Limit::Bytes(7_000));
    let before: [(&[(u64, u32)], bool); 7] = [
        (&[], false), // none has been served: one by one, of which the first two are
        (&[(0, SIZE)], true),
        (&[(0, SIZE), (1, SIZE), (2, SIZE)], true),
        (&[(0, SIZE), (1, 40), (2, SIZE)], false), // another size waits
        (&[(0, 40), (1, SIZE), (2, SIZE)], false), // and is on the wire
        (&[(0, 40), (1, 40), (2, 40), (3, 40)], false),
        (&[(0, SIZE), (50_000, SIZE)], true), // a busy period later
    ];
    for limit in [by_packets, by_bytes] {
        for counts in [Counts::Waiting, Counts::WaitingAndService, Counts::Ns2] {
            for ties in [Ties::Departure, Ties::Arrival, Ties::Random, Ties::Ns2] {
                for (before, at_once) in before {
                    let Some(mut queue) = queue(limit, counts, ties) else { continue };
                    for packet in before {
                        queue.admit(Arrival::new(packet.1, Instant::from_nanos(packet.0)));
                    }
                    let from = before.last().map_or(0, |last| last.0);
                    let line: Vec<_> = (1..=2).map(|k| (from + k, SIZE)).collect();
                    let expected = usize::from(at_once && ties != Ties::Ns2);
                    assert_eq!(lines(&mut queue, &line), expected, "{before:?} {limit} {counts:?} {ties:?}");
                }
            }
        }
    }
}

/// So many may not wait that counting them costs more than it saves, nor for longer than 32 bits of nanoseconds.
#[test]
fn few_may_wait_of_those_taken_at_once() {
    // At 8 microseconds each: 2^32 ns are 536,870.9 packets; so the limit is that of packets.
    let line = [(1, SIZE), (2, SIZE)];
    for (most, rate, at_once) in [
        ((1 << 16) - 1, 1_000_000_000, true),
        (1 << 16, 1_000_000_000, false),
        (42_948, 80_000_000, true), // with one that a tie lets in 42,949 of 100,000 ns
        (42_949, 80_000_000, false),
    ] {
        let spec = QueueSpec { limit: Some(Limit::Packets(most)), ..QueueSpec::default() };
        let Some(mut queue) = ClosedDropTail::new(&spec, Rate::from_bits_per_second(rate)) else {
            continue;
        };
        queue.admit(Arrival::new(SIZE, Instant::ZERO));
        assert_eq!(lines(&mut queue, &line), usize::from(at_once), "{most}");
    }
}

/// What has been served for longer than any tie lasts is given up: room is for what waits, not for what has been.
#[test]
fn a_long_busy_period_needs_no_more_room_than_what_waits() {
    for ties in [Ties::Departure, Ties::Random] {
        let Some(mut queue) = queue(Limit::Packets(4), Counts::Waiting, ties) else { continue };
        for k in 0..1_000 {
            queue.admit(Arrival::new(SIZE, Instant::from_nanos(k * 7_900)));
        }
        assert_eq!(queue.ring.len(), 8, "{ties:?}");
    }
}

/// Times that only rounding parts are one: at 30 Mbit/s a packet takes 266,666.67 ns, and one that comes 2 ns after the service of
/// another began finds that one waiting still, where arrivals go first.
#[test]
fn a_service_that_began_by_rounding_alone_is_tied() {
    for is_rounded in [false, true] {
        let spec = QueueSpec { limit: Some(Limit::Packets(1)), ties: Ties::Arrival, ..QueueSpec::default() };
        let queue = ClosedDropTail::new(&spec, Rate::from_bits_per_second(30_000_000)).unwrap();
        let mut queue = if is_rounded { queue.with_rounding() } else { queue };
        let mut send = |ns| queue.admit(Arrival::new(SIZE, Instant::from_nanos(ns))).departure;
        let (first, second) = (send(0).unwrap(), send(10).unwrap());
        assert_eq!(second.start, first.finish);
        assert_eq!(send(second.start.as_nanos() + 2).is_none(), is_rounded);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is given up for want of room decides nothing, nor do lists, nor when its length is asked for: where several services begin within a
    /// nanosecond either.
    #[test]
    fn neither_room_nor_lists_decide(
        packets in prop::collection::vec((prop_oneof![8 => 0..3_u64, 1 => 0..40_u64], prop_oneof![6 => Just(20), 1 => Just(1_000), 1 => 1..200_u32]), 1..400),
        (a_gap, rate) in prop::sample::select(vec![(1, 700_000_000_000), (1, 320_000_000_000), (160, 1_000_000_000), (1_250, 128_000_000), (3_556, 45_000_000)]),
        ties in prop::sample::select(Ties::ALL.iter().map(|(_, ties)| *ties).collect::<Vec<_>>()),
        counts in prop::sample::select(vec![Counts::Waiting, Counts::WaitingAndService, Counts::Ns2]),
        limit in prop_oneof![(40..3_000_u64).prop_map(Limit::Bytes), (1..50_u64).prop_map(Limit::Packets)],
        cuts in prop::collection::vec((1..90_usize, 0..3_u64), 30),
    ) {
        let spec = QueueSpec { limit: Some(limit), counts, discipline: Default::default(), ties };
        let mut tight = ClosedDropTail::new(&spec, Rate::from_bits_per_second(rate)).unwrap();
        let mut roomy = ClosedDropTail { ring: Box::new([NOTHING; 1_024]), ..tight.clone() };
        let mut now = 0;
        let mut line = Vec::new();
        for (gap, bytes) in packets {
            now += gap * a_gap;
            line.push((now, bytes));
        }
        let arrival = |packet: &(u64, u32)| Arrival::new(packet.1, Instant::from_nanos(packet.0));
        let mut one_by_one = Fates::default();
        for packet in &line {
            let Admission { departure, is_tied, .. } = roomy.admit(arrival(packet));
            one_by_one.tied += u64::from(is_tied);
            one_by_one.departures.push(departure);
        }
        let (mut listed, mut line) = (Fates::default(), &line[..]);
        for (cut, more) in cuts.into_iter().cycle() {
            let Some(last) = line.get(..cut.min(line.len())).and_then(<[_]>::last) else { break };
            let part;
            (part, line) = line.split_at(cut.min(line.len()));
            listed = tight.admit_all((part, false), arrival, listed);
            let next = line.first().map_or(last.0 + more, |next| next.0.min(last.0 + more));
            tight.report_started(Instant::from_nanos(next), |_| {});
        }
        prop_assert_eq!(listed, one_by_one);
    }
}

/// What becomes of each packet, and how many came at a tie.
#[derive(Debug, Default, PartialEq)]
struct Fates {
    departures: Vec<Option<Departure>>,
    tied: u64,
}

impl Observer<(u64, u32)> for Fates {
    fn takes_times_from(&self) -> Option<Instant> {
        Some(Instant::ZERO)
    }
    fn have_waited(&mut self, _: &Waited<'_>) {}
    fn waits(&mut self, _: u32, _: Instant) {}
    fn has_begun(&mut self, _: Booking) {}
    fn were_tied(&mut self, _: Instant, packets: u64, _: u64) {
        self.tied += packets;
    }
    fn arrives(&mut self, _: &(u64, u32), departure: Option<Departure>) {
        self.departures.push(departure);
    }
}

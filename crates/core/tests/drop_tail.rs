//! The two forms of the drop-tail queue agree, and each rule admits what it says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::queue::{
    Admission, Arrival, Booking, ClosedDropTail, Counts, Departure, Discipline, DropTail, Limit, Observer,
    Queue, QueueSpec, Ties, Waited,
};
use paceline_core::{Instant, Packet, Rate, Span, Stage, Verdict};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
struct Numbered {
    number: usize,
    bytes: u32,
}

impl Packet for Numbered {
    fn bytes(&self) -> u32 {
        self.bytes
    }
}

/// Start and finish of each packet, `None` if it was refused.
type Fates = Vec<Option<(Instant, Instant)>>;

fn closed(spec: &QueueSpec, rate: Rate, arrivals: &[(u64, u32)]) -> (Fates, Vec<(u64, u64)>) {
    let mut queue = ClosedDropTail::new(spec, rate).expect("not drop-front");
    let mut waiting = Vec::new();
    let fates = arrivals.iter().map(|&(at, bytes)| {
        let now = Instant::from_nanos(at);
        waiting.extend(queue.waiting_bytes(now).zip(queue.waiting_packets(now)));
        queue.admit(Arrival::new(bytes, now)).departure.map(|departure| (departure.start, departure.finish))
    });
    let fates = fates.collect();
    (fates, waiting)
}

fn stepped(spec: &QueueSpec, rate: Rate, arrivals: &[(u64, u32)], eager: bool) -> (Fates, Vec<(u64, u64)>) {
    let mut queue = DropTail::new(spec, rate);
    let mut fates: Fates = vec![None; arrivals.len()];
    let mut waiting = Vec::new();
    for (number, &(at, bytes)) in arrivals.iter().enumerate() {
        let now = Instant::from_nanos(at);
        // A lazy driver leaves the departure of this very instant for later. It makes no difference, unless a packet
        // takes no time at all.
        serve(&mut queue, &mut fates, |wakeup| wakeup < now || (eager && wakeup == now));
        waiting.push((queue.waiting_bytes(now), queue.waiting_packets(now)));
        match queue.enqueue(Numbered { number, bytes }, now) {
            Verdict::Queued => {}
            Verdict::Refused(packet) => assert_eq!(packet, Numbered { number, bytes }),
            Verdict::Displaced(_) => unreachable!("not drop-front"),
        }
    }
    serve(&mut queue, &mut fates, |_| true);
    (fates, waiting)
}

fn serve(queue: &mut DropTail<Numbered>, fates: &mut Fates, due: impl Fn(Instant) -> bool) {
    while let Some(wakeup) = queue.next_wakeup().filter(|wakeup| due(*wakeup)) {
        let packet = queue.dequeue(wakeup).expect("due at its wake-up");
        fates[packet.number] = Some((wakeup, queue.wire().free_at()));
    }
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0u64), 0..2_000u64, Just(1_000), 0..100_000u64];
    let bytes = prop_oneof![Just(0u32), Just(40), Just(125), Just(1_000), 0..2_000u32, Just(70_000)];
    prop::collection::vec((gap, bytes), 0..120).prop_map(|mut arrivals| {
        let mut now = 0;
        for (at, _) in &mut arrivals {
            now += *at;
            *at = now;
        }
        arrivals
    })
}

fn spec() -> impl Strategy<Value = QueueSpec> {
    let limit = prop_oneof![
        (0..10_000u64).prop_map(|bytes| Some(Limit::Bytes(bytes))),
        (0..12u64).prop_map(|packets| Some(Limit::Packets(packets))),
    ];
    let counts = prop::sample::select(Counts::ALL).prop_map(|(_, counts)| counts);
    (limit, counts).prop_map(|(limit, counts)| QueueSpec {
        limit,
        counts,
        discipline: Default::default(),
        ties: Ties::Departure,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn closed_form_is_step_by_step(
        spec in spec(),
        arrivals in arrivals(),
        rate in prop::sample::select(vec![1_000_000u64, 8_000_000, 1_000_000_000, 7_777_777_777, 100_000_000_000_000]),
    ) {
        let rate = Rate::from_bits_per_second(rate);
        let closed_form = closed(&spec, rate, &arrivals);
        prop_assert_eq!(&closed_form, &stepped(&spec, rate, &arrivals, true));
        if closed_form.0.iter().flatten().all(|(start, finish)| start < finish) {
            prop_assert_eq!(&closed_form, &stepped(&spec, rate, &arrivals, false));
        }
        let unlimited = QueueSpec { limit: None, ..spec };
        let (fates, _) = closed(&unlimited, rate, &arrivals);
        prop_assert_eq!(fates, stepped(&unlimited, rate, &arrivals, true).0);
    }
}

/// How many of 20 simultaneous packets of 1000 B an idle link takes.
fn taken(limit: Limit, counts: Counts) -> usize {
    let spec =
        QueueSpec { limit: Some(limit), counts, discipline: Default::default(), ties: Ties::Departure };
    let burst = vec![(5, 1_000); 20];
    closed(&spec, Rate::from_bits_per_second(1_000_000), &burst).0.iter().flatten().count()
}

#[test]
fn many_may_wait() {
    // A thousand come faster than they go, then none, then a thousand more: twice a deep queue that falls empty.
    let burst =
        |from: u64| (0..1_000).map(move |number| (from + number * 700, 40 + (number % 90) as u32 * 16));
    let arrivals: Vec<(u64, u32)> = burst(0).chain(burst(900_000_000)).collect();
    let rate = Rate::from_bits_per_second(8_000_000);
    for limit in [Limit::Packets(7), Limit::Packets(8), Limit::Packets(500), Limit::Bytes(300_000)] {
        let spec = QueueSpec { limit: Some(limit), ..QueueSpec::default() };
        assert_eq!(closed(&spec, rate, &arrivals), stepped(&spec, rate, &arrivals, true), "{limit}");
    }
}

#[test]
fn what_each_rule_takes() {
    assert_eq!(taken(Limit::Packets(5), Counts::Waiting), 6);
    assert_eq!(taken(Limit::Packets(5), Counts::WaitingAndService), 5);
    assert_eq!(taken(Limit::Packets(5), Counts::Ns2), 5); // four wait, one is served
    assert_eq!(taken(Limit::Bytes(5_000), Counts::Waiting), 6);
    assert_eq!(taken(Limit::Bytes(5_000), Counts::WaitingAndService), 5);
    assert_eq!(taken(Limit::Bytes(5_000), Counts::Ns2), 5);
    assert_eq!(taken(Limit::Bytes(5_001), Counts::Ns2), 6);
    // Nothing may wait: an idle link takes a packet, or not.
    assert_eq!(taken(Limit::Packets(0), Counts::Waiting), 1);
    assert_eq!(taken(Limit::Packets(0), Counts::WaitingAndService), 0);
    assert_eq!(taken(Limit::Packets(1), Counts::Ns2), 0);
}

#[test]
fn the_papers_5_kb_hold_four_data_packets() {
    // ns-2's packets of 1000 B payload and 40 B header: four wait and one is served.
    let spec = QueueSpec {
        limit: Some(Limit::Bytes(5_000)),
        counts: Counts::Ns2,
        discipline: Default::default(),
        ties: Ties::Departure,
    };
    let (fates, _) = closed(&spec, Rate::from_bits_per_second(100_000_000), &[(0, 1_040); 20]);
    assert_eq!(fates.iter().flatten().count(), 5);
}

#[test]
fn departures_precede_arrivals() {
    let spec = QueueSpec {
        limit: Some(Limit::Packets(1)),
        counts: Counts::WaitingAndService,
        discipline: Default::default(),
        ties: Ties::Departure,
    };
    let rate = Rate::from_bits_per_second(8_000_000); // 1000 B take 1 ms
    let (fates, _) = closed(&spec, rate, &[(0, 1_000), (999_999, 1_000), (1_000_000, 1_000)]);
    assert_eq!(fates.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn drop_front_displaces_the_oldest_that_waits() {
    let spec = QueueSpec {
        limit: Some(Limit::Packets(2)),
        counts: Counts::Waiting,
        discipline: Discipline::DropFront(Default::default()),
        ties: Ties::Departure,
    };
    let mut queue = Queue::new(&spec, Rate::from_bits_per_second(8_000_000));
    let packet = |number| Numbered { number, bytes: 1_000 };
    assert!(matches!(queue.enqueue(packet(0), Instant::ZERO), Verdict::Queued));
    assert_eq!(queue.dequeue(Instant::ZERO), Some(packet(0)));
    assert!(matches!(queue.enqueue(packet(1), Instant::ZERO), Verdict::Queued));
    assert!(matches!(queue.enqueue(packet(2), Instant::ZERO), Verdict::Queued));
    assert_eq!(queue.enqueue(packet(3), Instant::ZERO), Verdict::Displaced(packet(1)));
    let finish = queue.wire().free_at();
    assert_eq!(queue.dequeue(finish), Some(packet(2)));
    // One that would have to displace two is refused.
    let spec = QueueSpec { limit: Some(Limit::Bytes(2_000)), ..spec };
    let mut queue = Queue::new(&spec, Rate::from_bits_per_second(8_000_000));
    for number in 0..3 {
        assert!(matches!(queue.enqueue(packet(number), Instant::ZERO), Verdict::Queued));
    }
    let large = Numbered { number: 3, bytes: 2_000 };
    assert_eq!(queue.enqueue(large.clone(), Instant::ZERO), Verdict::Refused(large));
    // A smaller one has room by one, if all that waits and it are within the limit then: 1000 B and these.
    let of = |bytes| Numbered { number: 4, bytes };
    assert_eq!(queue.enqueue(of(1_001), Instant::ZERO), Verdict::Refused(of(1_001)));
    assert_eq!(queue.enqueue(of(1_000), Instant::ZERO), Verdict::Displaced(packet(1)));
    assert!(ClosedDropTail::new(&spec, Rate::from_bits_per_second(1)).is_none());
}

#[test]
fn a_queue_says_when_all_will_have_left_and_whether_it_is_limited() {
    let rate = Rate::from_bits_per_second(3_000_000);
    for limit in [None, Some(Limit::Packets(9))] {
        let queue = ClosedDropTail::new(&QueueSpec { limit, ..QueueSpec::default() }, rate).unwrap();
        assert_eq!(queue.keeps_what_waits(), limit.is_some());
        // Five of 1000 B take 13,333,333.3 ns; and a nanosecond for what is owed.
        assert_eq!(queue.latest(5, 1_000, Instant::from_nanos(7)), Instant::from_nanos(7 + 13_333_334));
    }
}

/// What a queue has told: starts and ends of service, and for how long how much has waited.
#[derive(Debug, Default, PartialEq)]
struct Told {
    fates: Vec<Option<Departure>>,
    /// Bytes that wait, and for how long so many have, nanoseconds.
    level: u64,
    since: Instant,
    times: BTreeMap<u64, u64>,
    /// How many could have met the other fate, and how many of them were refused.
    tied: (u64, u64),
    /// It hears of that for all packets of one size at a time.
    at_once: bool,
}

impl Told {
    fn stands_until(&mut self, until: Instant) {
        *self.times.entry(self.level).or_default() += until.since(self.since).as_nanos();
        self.since = until;
    }
}

impl Observer<(u64, u32)> for Told {
    fn takes_times_from(&self) -> Option<Instant> {
        self.at_once.then_some(self.since)
    }

    fn have_waited(&mut self, waited: &Waited<'_>) {
        let bytes = u64::from(waited.bytes);
        for (packets, time) in (0..).zip(waited.times) {
            *self.times.entry(packets * bytes).or_default() += time;
        }
        (self.level, self.since) = (waited.waiting * bytes, waited.until);
    }

    fn waits(&mut self, bytes: u32, now: Instant) {
        self.stands_until(now);
        self.level += u64::from(bytes);
    }

    fn has_begun(&mut self, waited: Booking) {
        if waited.bytes > 0 || waited.start > Instant::ZERO {
            self.stands_until(waited.start);
            self.level -= u64::from(waited.bytes);
        }
    }

    fn were_tied(&mut self, _: Instant, packets: u64, refused: u64) {
        self.tied = (self.tied.0 + packets, self.tied.1 + refused);
    }

    fn arrives(&mut self, _: &(u64, u32), departure: Option<Departure>) {
        self.fates.push(departure);
    }
}

/// The same packets, each at a time at which one of 1040 B may leave at that rate, or within what is of one instant.
fn on_the_grid(mut arrivals: Vec<(u64, u32)>, rate: u64) -> Vec<(u64, u32)> {
    let half = 1_040 * 4 * 1_000_000_000 / rate;
    for (at, _) in &mut arrivals {
        let off = if half > 520 { (*at % 141).min(half) } else { (*at % 7).saturating_sub(5) };
        *at = (*at / 520 * half + off).saturating_sub(if half > 520 { 70 } else { 0 });
    }
    arrivals.sort_by_key(|(at, _)| *at);
    arrivals
}

/// Packets nearly all of which have one size.
fn alike() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![3 => Just(0u64), 9 => 0..3_000u64, 1 => 0..100_000u64];
    let bytes = prop_oneof![30 => Just(1_040u32), 1 => Just(40), 1 => Just(0)];
    prop::collection::vec((gap, bytes), 0..300).prop_map(|mut arrivals| {
        arrivals.iter_mut().fold(0, |now, (at, _)| {
            *at += now;
            *at
        });
        arrivals
    })
}

proptest! {
    #[test]
    fn a_line_at_once_is_each_of_its_packets(
        (arrivals, limit, by_packets) in (prop_oneof![alike(), arrivals()], 0..20u64, prop::bool::ANY),
        counts in prop::sample::select(Counts::ALL.iter().map(|(_, counts)| *counts).collect::<Vec<_>>()),
        // By the last ones what waits takes seconds, around 2^32 ns.
        rate in prop::sample::select(vec![
            8_000_000_000, 10_000_000_000, 4_000_000_000, 3_000_000_000, 1_000_000_000, 16_000_000, 7_777_777, 16_000, 8_000,
            2_000, 1_000,
        ]),
        at_once in 1..100usize,
        ties in prop::sample::select(Ties::ALL.iter().map(|(_, ties)| *ties).collect::<Vec<_>>()),
        on_a_grid in prop::bool::ANY,
    ) {
        let limit = if by_packets { Limit::Packets(limit) } else { Limit::Bytes(limit * 700) };
        let spec = QueueSpec { limit: Some(limit), counts, discipline: Default::default(), ties };
        let arrivals = if on_a_grid { on_the_grid(arrivals, rate) } else { arrivals };
        let mut one_by_one = ClosedDropTail::new(&spec, Rate::from_bits_per_second(rate)).unwrap().with_seed(7);
        let mut in_lines = one_by_one.clone();
        let (mut told, mut told_of_lines) = (Told::default(), Told { at_once: true, ..Told::default() });
        let arrival_of = |packet: &(u64, u32)| {
            let (now, bytes) = (Instant::from_nanos(packet.0), packet.1);
            Arrival { flow: packet.1 % 3, lead: Span::from_nanos(packet.0 % 2_000), ..Arrival::new(bytes, now) }
        };
        for line in arrivals.chunks(at_once) {
            for packet in line {
                let arrival = arrival_of(packet);
                let Admission { departure, is_booked, is_tied } =
                    one_by_one.admit_and_report(arrival, |waited| told.has_begun(waited));
                if is_booked {
                    told.waits(arrival.bytes, arrival.now);
                }
                if is_tied {
                    told.were_tied(arrival.now, 1, departure.is_none().into());
                }
                told.arrives(packet, departure);
            }
            let are_alike = line.windows(2).all(|two| two[0].1 == two[1].1);
            told_of_lines = in_lines.admit_all((line, are_alike), arrival_of, told_of_lines);
        }
        let last = Instant::from_nanos(arrivals.last().map_or(0, |(at, _)| *at));
        // One that waits for no time is told of later.
        one_by_one.report_started(last, |waited| told.has_begun(waited));
        in_lines.report_started(last, |waited| told_of_lines.has_begun(waited));
        for told in [&mut told, &mut told_of_lines] {
            told.stands_until(last);
            told.times.retain(|_, time| *time > 0);
            told.at_once = false;
        }
        prop_assert_eq!(told, told_of_lines);
    }
}

#[test]
fn the_end_of_time_is_no_trouble() {
    let end = Instant::MAX.as_nanos();
    for counts in Counts::ALL.iter().map(|(_, counts)| *counts) {
        let spec = QueueSpec {
            limit: Some(Limit::Bytes(u64::MAX)),
            counts,
            discipline: Default::default(),
            ties: Ties::Departure,
        };
        let arrivals = [(0, u32::MAX), (end - 1, u32::MAX), (end, 0), (end, u32::MAX), (end, 1)];
        for rate in [1, 100_000_000_000_000, u64::MAX] {
            let rate = Rate::from_bits_per_second(rate);
            assert_eq!(closed(&spec, rate, &arrivals).0, stepped(&spec, rate, &arrivals, true).0);
        }
    }
}

//! The laws that every stage obeys, over random inputs: every pacer and every queue discipline of the lists, with parameters drawn from
//! what they say of them. One that joins its list is tested here without another line.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::pacer::parameters::{Kind, Parameter, Value};
use paceline_core::pacer::{Backlog, Envelope, METHODS, Pacer, PacerSpec, Row, parse};
use paceline_core::queue::{self, Counts, DISCIPLINES, Limit, Queue, QueueSpec, Ties};
use paceline_core::{Ecn, Instant, Packet, Rate, Span, Stage, Verdict};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Numbered {
    number: usize,
    bytes: u32,
    ecn: Ecn,
}

impl Numbered {
    /// The packet of that number: of three flows, two of which understand marks.
    fn new(number: usize, bytes: u32) -> Self {
        Numbered { number, bytes, ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][number % 3] }
    }
}

impl Packet for Numbered {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) {
        assert!(self.ecn.is_capable(), "only a packet that understands marks is marked");
        self.ecn = Ecn::Ce;
    }

    fn flow(&self) -> u32 {
        self.number as u32 % 3
    }
}

/// A stage that says what it holds.
trait Counted: Stage<Numbered> {
    /// Packets and bytes.
    fn held(&self) -> (u64, u64);

    /// The next that it has dropped beside its verdicts.
    fn take_dropped(&mut self) -> Option<Numbered> {
        None
    }

    /// How many packets it has marked.
    fn marks(&self) -> u64 {
        0
    }
}

impl Counted for Pacer<Numbered> {
    fn held(&self) -> (u64, u64) {
        (self.held_packets(), self.held_bytes())
    }
}

impl Counted for Queue<Numbered> {
    fn held(&self) -> (u64, u64) {
        (self.held_packets(), self.held_bytes())
    }

    fn take_dropped(&mut self) -> Option<Numbered> {
        let has_dropped = self.has_dropped();
        let dropped = Queue::take_dropped(self);
        assert_eq!(has_dropped, dropped.is_some());
        dropped.map(|(packet, _)| packet)
    }

    fn marks(&self) -> u64 {
        Queue::marks(self)
    }
}

/// What a stage promises beyond the laws that hold for all.
struct Promise<'a> {
    /// Longest stay of a packet that arrives to make up this backlog.
    delay: &'a dyn Fn(Backlog) -> Option<Span>,
    envelope: Option<Envelope>,
    keeps_order: bool,
    /// Whether it refuses a packet of that size on top of this backlog, if that depends on nothing else.
    refuses: &'a dyn Fn(Backlog, u32) -> Option<bool>,
}

/// What became of every packet: when it left.
#[derive(Debug, Default, PartialEq)]
struct Record {
    left: Vec<(usize, Instant)>,
    dropped: Vec<usize>,
    marked: Vec<usize>,
}

impl Record {
    /// A packet leaves; it is as it came, or marked.
    fn leaves(&mut self, packet: &Numbered, now: Instant) -> Law {
        self.left.push((packet.number, now));
        let came = Numbered::new(packet.number, packet.bytes);
        if packet.ecn != came.ecn {
            prop_assert_eq!(packet.ecn, Ecn::Ce);
            self.marked.push(packet.number);
        }
        Ok(())
    }

    /// What the stage has dropped since, beside its verdicts, is no longer held.
    fn drain<S: Counted>(&mut self, stage: &mut S, held: &mut Backlog) {
        while let Some(packet) = stage.take_dropped() {
            held.packets -= 1;
            held.bytes -= u64::from(packet.bytes);
            let came = Numbered::new(packet.number, packet.bytes);
            self.marked.extend((packet.ecn != came.ecn).then_some(packet.number));
            self.dropped.push(packet.number);
        }
    }
}

type Law = Result<(), TestCaseError>;

/// Drives a stage, each wake-up late by one of `lateness` in turn (on time if there are none), and checks the laws.
fn drive<S: Counted>(
    stage: &mut S,
    arrivals: &[(u64, u32)],
    lateness: &[u64],
    promise: &Promise<'_>,
) -> Result<Record, TestCaseError> {
    let mut record = Record::default();
    let mut bounds = vec![Span::MAX; arrivals.len()];
    let mut held = Backlog { packets: 0, bytes: 0, largest: 0 };
    let mut now = Instant::ZERO;
    let punctual = lateness.is_empty();
    let mut lateness = lateness.iter().cycle();
    let mut next = 0;
    loop {
        let arrival = arrivals.get(next).map(|(at, _)| Instant::from_nanos(*at));
        prop_assert_eq!(stage.held(), (held.packets, held.bytes), "it counts what it holds");
        let wakeup = stage.next_wakeup();
        prop_assert_eq!(
            wakeup.is_some(),
            held.packets > 0,
            "a wake-up while something is held, and only then"
        );
        let due = wakeup.map(|wakeup| wakeup + Span::from_nanos(lateness.next().copied().unwrap_or(0)));
        if let (Some(wakeup), Some(due)) = (wakeup, due)
            && arrival.is_none_or(|arrival| due <= arrival)
        {
            prop_assert!(!punctual || wakeup >= now, "never due in the past");
            if wakeup > now {
                let before = wakeup - Span::from_nanos(1);
                prop_assert_eq!(stage.dequeue(before), None, "nothing leaves before the wake-up");
            }
            now = now.max(due);
            while stage.next_wakeup().is_some_and(|wakeup| wakeup <= now) {
                let Some(packet) = stage.dequeue(now) else {
                    return Err(TestCaseError::fail("something leaves at the wake-up"));
                };
                record.drain(stage, &mut held);
                let stay = now.since(Instant::from_nanos(arrivals[packet.number].0));
                let allowed = bounds[packet.number];
                prop_assert!(!punctual || stay <= allowed, "held {stay}, promised {allowed}");
                held.packets -= 1;
                held.bytes -= u64::from(packet.bytes);
                record.leaves(&packet, now)?;
            }
        } else if let Some(&(at, bytes)) = arrivals.get(next) {
            now = now.max(Instant::from_nanos(at));
            let packet = Numbered::new(next, bytes);
            held.largest = held.largest.max(bytes);
            let refuses = (promise.refuses)(held, bytes);
            let verdict = stage.enqueue(packet, now);
            let refused = matches!(verdict, Verdict::Refused(_));
            prop_assert!(
                refuses.is_none_or(|refuses| refuses == refused),
                "it refuses what exceeds its limit"
            );
            match verdict {
                Verdict::Refused(refused) => {
                    prop_assert_eq!(refused, packet, "the refused packet is handed back");
                    record.dropped.push(next);
                }
                verdict => {
                    held.packets += 1;
                    held.bytes += u64::from(bytes);
                    if let Verdict::Displaced(older) = verdict {
                        prop_assert!(older.number < next, "what is displaced is older");
                        held.packets -= 1;
                        held.bytes -= u64::from(older.bytes);
                        record.dropped.push(older.number);
                    }
                    record.drain(stage, &mut held);
                    bounds[next] = (promise.delay)(held).unwrap_or(Span::MAX);
                }
            }
            next += 1;
        } else {
            break;
        }
    }
    prop_assert_eq!(
        record.left.len() + record.dropped.len(),
        arrivals.len(),
        "in = out + dropped + held (nothing)"
    );
    prop_assert_eq!(record.marked.len() as u64, stage.marks(), "it counts what it marks");
    let is_in_order = record.left.windows(2).all(|pair| pair[0].0 < pair[1].0);
    prop_assert!(is_in_order || !promise.keeps_order, "the order is kept");
    within_envelope(&record, arrivals, promise)?;
    Ok(record)
}

/// No interval sees more leave than the envelope allows, however late the wake-ups were.
fn within_envelope(record: &Record, arrivals: &[(u64, u32)], promise: &Promise<'_>) -> Law {
    let Some(envelope) = promise.envelope else { return Ok(()) };
    let burst = u128::from(envelope.burst) * 8_000_000_000;
    let rate = u128::from(envelope.rate.bits_per_second());
    for (first, &(_, from)) in record.left.iter().enumerate() {
        let mut sent = 0;
        for &(number, to) in &record.left[first..] {
            sent += u128::from(arrivals[number].1) * 8_000_000_000;
            let allowed = burst + u128::from(to.since(from).as_nanos() + 1) * rate;
            prop_assert!(sent <= allowed, "{} bytes in {}", sent / 8_000_000_000, to.since(from));
        }
    }
    Ok(())
}

/// All laws for one stage, made anew for each run.
fn laws<S: Counted>(
    make: impl Fn() -> S,
    arrivals: &[(u64, u32)],
    lateness: &[u64],
    promise: &Promise<'_>,
    drops: bool,
) -> Law {
    let punctual = drive(&mut make(), arrivals, &[], promise)?;
    let again = drive(&mut make(), arrivals, &[], promise)?;
    prop_assert_eq!(&punctual, &again, "the same input gives the same output");
    let late = drive(&mut make(), arrivals, lateness, promise)?;
    if !drops {
        prop_assert!(punctual.dropped.is_empty() && late.dropped.is_empty(), "no limit, no loss");
        if promise.envelope.is_none() {
            // Without an envelope of its own a stage makes up for a late wake-up, but never gets ahead.
            let ahead = punctual.left.iter().zip(&late.left).find(|(on_time, late)| late.1 < on_time.1);
            prop_assert_eq!(ahead, None, "a late wake-up makes nothing leave earlier");
        }
    }
    Ok(())
}

fn pacer_laws(
    drawn: &Drawn,
    row: &Row,
    arrivals: &[(u64, u32)],
    lateness: &[u64],
    limit: Option<Limit>,
) -> Law {
    let spec = PacerSpec { limit, ..drawn.spec(row) };
    let largest = arrivals.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let promise = Promise {
        delay: &|backlog| spec.method.delay_bound(drawn.link_rate, Backlog { largest, ..backlog }),
        envelope: spec.method.envelope(drawn.link_rate, largest),
        keeps_order: true,
        refuses: &|held, bytes| {
            let exceeded = match limit {
                None => false,
                Some(Limit::Bytes(most)) => held.bytes + u64::from(bytes) > most,
                Some(Limit::Packets(most)) => held.packets + 1 > most,
            };
            Some(exceeded && held.packets > 0) // an empty pacer takes any packet
        },
    };
    laws(|| Pacer::new(&spec, drawn.link_rate), arrivals, lateness, &promise, limit.is_some())
        .map_err(|error| TestCaseError::fail(format!("{} (limit {limit:?}): {error}", spec.method)))
}

/// Parameters drawn for a method from its own description of them.
#[derive(Debug, Clone)]
struct Drawn {
    link_rate: Rate,
    seed: u64,
}

impl Drawn {
    /// Draws which parameters are given, and what they are, until they are legal together.
    fn legal<T, E>(
        &self,
        parameters: &[Parameter],
        parse: impl Fn(&mut dyn FnMut(&str) -> Option<Value>, Rate) -> Result<T, E>,
    ) -> T {
        let mut draws = Draws(self.seed);
        let legal = (0..100_000).find_map(|_| {
            let given = draws.below(1 << parameters.len());
            let drawn: Vec<Option<Value>> = (parameters.iter().enumerate())
                .map(|(bit, parameter)| (given >> bit & 1 == 1).then(|| self.value(parameter, &mut draws)))
                .collect();
            let mut values = |name: &str| {
                let index = parameters.iter().position(|parameter| parameter.name == name);
                index.and_then(|index| drawn[index].clone())
            };
            parse(&mut values, self.link_rate).ok()
        });
        legal.expect("there are legal parameters")
    }

    fn spec(&self, row: &Row) -> PacerSpec {
        self.legal(row.parameters, |values, rate| parse(row.name, values, rate))
    }

    fn value(&self, parameter: &Parameter, draws: &mut Draws) -> Value {
        let link = self.link_rate.bits_per_second();
        Value::Text(match parameter.kind {
            Kind::Rate => format!("{} bit/s", (link / 100 * (1 + draws.below(100))).max(1)),
            Kind::Span => format!("{} us", [0, 10, 1_000, 20_000][draws.below(4) as usize]),
            Kind::Bytes => format!("{} B", [0, 40, 1_500, 20_000][draws.below(4) as usize]),
            Kind::Buffer if draws.below(2) == 0 => format!("{} packets", draws.below(20)),
            Kind::Buffer => format!("{} B", draws.below(20_000)),
            Kind::Fraction => return Value::Number((1 + draws.below(100)) as f64 / 100.0),
            Kind::Choice(words) => words[draws.below(words.len() as u64) as usize].to_owned(),
        })
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

fn drawn() -> impl Strategy<Value = Drawn> {
    let rate = prop::sample::select(vec![100_000u64, 10_000_000, 33_333_333, 1_000_000_000, 400_000_000_000]);
    (rate, any::<u64>()).prop_map(|(rate, seed)| Drawn { link_rate: Rate::from_bits_per_second(rate), seed })
}

/// Packets from one at a time to bursts, 10 Mbit/s to 1 Gbit/s.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0u64), 0..20_000u64, 0..1_000_000u64, 0..50_000_000u64];
    let bytes = prop_oneof![4 => Just(1_500u32), 2 => Just(40), 2 => 0..3_000u32, 1 => Just(70_000)];
    prop::collection::vec((gap, bytes), 0..80).prop_map(|mut arrivals| {
        let mut now = 0;
        for (at, _) in &mut arrivals {
            now += *at;
            *at = now;
        }
        arrivals
    })
}

fn lateness() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![Just(0u64), 1..100_000u64, 1..10_000_000u64], 1..20)
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![(0..30_000u64).prop_map(Limit::Bytes), (0..20u64).prop_map(Limit::Packets)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pacer(drawn in drawn(), arrivals in arrivals(), lateness in lateness(), limit in limit()) {
        for row in METHODS {
            pacer_laws(&drawn, row, &arrivals, &lateness, None)?;
            pacer_laws(&drawn, row, &arrivals, &lateness, Some(limit))?;
        }
    }

    #[test]
    fn every_queue(drawn in drawn(), arrivals in arrivals(), lateness in lateness(), limit in limit()) {
        let rate = drawn.link_rate;
        let largest = arrivals.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        for row in DISCIPLINES {
            let discipline = drawn.legal(row.parameters, |values, rate| queue::parse(row.name, values, rate));
            for (_, counts) in Counts::ALL {
                for limit in [None, Some(limit)] {
                    let discipline = discipline.clone();
                    let spec = QueueSpec { limit, counts: *counts, discipline, ties: Ties::Departure };
                    let ahead = |backlog: Backlog| backlog.bytes + u64::from(largest);
                    let promise = Promise {
                        delay: &|backlog| row.keeps_order.then(|| rate.time_to_send(ahead(backlog))),
                        envelope: Some(Envelope { rate, burst: u64::from(largest) }),
                        keeps_order: row.keeps_order,
                        refuses: &|_, _| (limit.is_none() && !row.acts_early).then_some(false),
                    };
                    let drops = limit.is_some() || row.acts_early;
                    laws(|| Queue::new(&spec, rate).with_seed(drawn.seed), &arrivals, &lateness, &promise, drops)
                        .map_err(|error| TestCaseError::fail(format!("{spec:?} at {rate}: {error}")))?;
                }
            }
        }
    }
}

/// Packets of all sizes, from the start of time to its end.
fn extreme_arrivals() -> Vec<(u64, u32)> {
    let end = u64::MAX;
    let sizes = [u32::MAX, 0, 1, 65_536, 1_500, u32::MAX, u32::MAX];
    let times = [0, 0, 1, end / 2, end - 5_000, end - 1, end];
    times.into_iter().zip(sizes).collect()
}

/// What a seed gives a parameter, the least or the most that it may be, if it gives it.
fn extreme(parameters: &[Parameter], name: &str, seed: u64) -> Option<Value> {
    let bit = parameters.iter().position(|parameter| parameter.name == name)?;
    let choices: &[&str] = match parameters[bit].kind {
        Kind::Span => &["0 ns", "1 ns", "100000 s", "18446744073709551615 ns"],
        Kind::Rate => &["1 bit/s", "100 Tbit/s", "18446744073709551615 bit/s"],
        Kind::Bytes => &["0 B", "1 B", "18446744073709551615 B"],
        Kind::Buffer => &["0 packets", "1 B", "18446744073709551615 B", "18446744073709551615 packets"],
        Kind::Fraction => &["1e-300", "1"],
        Kind::Choice(words) => words,
    };
    let given = Draws(seed).below(1 << parameters.len());
    let choice = Draws(seed ^ (bit as u64) << 32).below(choices.len() as u64) as usize;
    (given >> bit & 1 == 1).then(|| Value::Text(choices[choice].to_owned()))
}

#[test]
fn nothing_overflows() {
    let arrivals = extreme_arrivals();
    let mut built = vec![0; METHODS.len()];
    for link_rate in [1, 100_000_000_000_000, u64::MAX].map(Rate::from_bits_per_second) {
        for (index, row) in METHODS.iter().enumerate() {
            for seed in 0..4_000 {
                let mut values = |name: &str| extreme(row.parameters, name, seed);
                let Ok(spec) = parse(row.name, &mut values, link_rate) else { continue };
                built[index] += 1;
                let mut pacer = Pacer::new(&spec, link_rate);
                // A pacer may hold as little as 2 GiB.
                let refuses =
                    |held: Backlog, bytes: u32| (held.bytes + u64::from(bytes) <= 1 << 31).then_some(false);
                let nothing =
                    Promise { delay: &|_| None, envelope: None, keeps_order: true, refuses: &refuses };
                drive(&mut pacer, &arrivals, &[0, u64::MAX / 3, 7], &nothing)
                    .expect("the laws hold at the extremes");
            }
        }
    }
    assert!(built.iter().all(|built| *built > 100), "{built:?}");
}

#[test]
fn no_queue_overflows() {
    let arrivals = extreme_arrivals();
    let limits =
        [None, Some(Limit::Packets(0)), Some(Limit::Bytes(u64::MAX)), Some(Limit::Packets(u64::MAX))];
    let mut built = vec![0; DISCIPLINES.len()];
    for link_rate in [1, 100_000_000_000_000, u64::MAX].map(Rate::from_bits_per_second) {
        for (index, row) in DISCIPLINES.iter().enumerate() {
            for seed in 0..60 {
                let mut values = |name: &str| extreme(row.parameters, name, seed);
                let Ok(discipline) = queue::parse(row.name, &mut values, link_rate) else { continue };
                built[index] += 1;
                let limit = limits[seed as usize % limits.len()];
                let spec = QueueSpec { limit, discipline, ..QueueSpec::default() };
                let mut queue = Queue::new(&spec, link_rate).with_seed(seed);
                let nothing = Promise {
                    delay: &|_| None,
                    envelope: None,
                    keeps_order: row.keeps_order,
                    refuses: &|_, _| None,
                };
                drive(&mut queue, &arrivals, &[0, u64::MAX / 3, 7], &nothing)
                    .unwrap_or_else(|error| panic!("{spec:?} at {link_rate}: {error}"));
            }
        }
    }
    assert!(built.iter().all(|built| *built > 10), "{built:?}");
}

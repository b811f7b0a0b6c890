//! A sender and a receiver over two links, packet by packet against ns-2 2.35.
//!
//! Each file of `tests/oracles/ns2/` (made by benches/peers/one_flow.py) is one flow of ns-2: data as they reach the second link, with
//! their fate, and acknowledgements as they reach the sender. The cases force each rule of loss recovery and of the retransmission
//! timer; every row must be ns-2's, within 0.1 ms. `tests/test_oracle_ns2.py` asks the same of the simulator.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use flate2::read::GzDecoder;
use paceline_core::queue::{Arrival, ClosedDropTail, Counts, Limit, QueueSpec, Ties};
use paceline_core::{Instant, Rate, Span, Wire};
use paceline_tcp::{Config, Feedback, Output, Profile, Receiver, Reply, Segment, Sender, Variant};
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// How far ns-2's floating-point times, and clocks of 10 ms, are from ours at most, nanoseconds.
const TOLERANCE: u64 = 100_000;

/// A row of a trace: time in nanoseconds, what happens, to which packet, of how many bytes.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    time: u64,
    event: String,
    seq: u32,
    bytes: u32,
}

/// A case: its settings, and what ns-2 did with data and acknowledgements.
struct Case {
    settings: BTreeMap<String, String>,
    data: Vec<Row>,
    acks: Vec<Row>,
}

impl Case {
    fn read(path: &Path) -> Self {
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        let mut case = Case { settings: BTreeMap::new(), data: Vec::new(), acks: Vec::new() };
        for line in text.lines() {
            if let Some((key, value)) = line.strip_prefix("# ").and_then(|head| head.split_once(" = ")) {
                case.settings.insert(key.to_owned(), value.trim_matches('"').to_owned());
            } else if let [time, event, kind, seq, bytes] = line.split(',').collect::<Vec<_>>()[..]
                && let Ok(time) = time.parse()
            {
                let seq = seq.parse::<i64>().unwrap() as u32; // -1 acknowledges nothing
                let bytes = bytes.parse().unwrap();
                let rows = if kind == "data" { &mut case.data } else { &mut case.acks };
                rows.push(Row { time, event: event.to_owned(), seq, bytes });
            }
        }
        case
    }

    fn number(&self, key: &str) -> u64 {
        self.settings[key].parse().unwrap()
    }

    fn config(&self) -> Config {
        let (_, variant) =
            Variant::ALL.into_iter().find(|(name, _)| *name == self.settings["variant"]).unwrap();
        let plain = Config::of_variant(Profile::Ns2, variant);
        let overhead = Span::from_nanos(u64::from(self.settings.contains_key("waits")));
        let plain = Config {
            overhead,
            payload: self.number("payload_bytes") as u32,
            max_window: self.number("window_packets") as u32,
            limited_transmit: self.settings["limited_transmit"] == "true",
            data_with_syn: matches!(variant, Variant::Bic | Variant::Cubic),
            ..plain
        };
        if !self.settings.contains_key("delayed") {
            return plain;
        }
        // The timestamp option is 10 B more.
        Config { delayed_ack: Some(Span::from_millis(100)), timestamps: true, header: 50, ..plain }
    }
}

#[derive(Default)]
struct Sent(Vec<Segment>);

impl Output for Sent {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// Two links from the sender to the receiver, the first without delay, and back.
struct Links {
    first: Wire,
    second: ClosedDropTail,
    back: [Wire; 2],
    delay: Span,
    lost: Vec<u64>,
    arrived: u64,
}

impl Links {
    fn new(case: &Case) -> Self {
        let rate = |key| Rate::from_bits_per_second(case.number(key));
        let [first, second] = [rate("first_bps"), rate("second_bps")];
        let limit = Some(Limit::Packets(case.number("queue_packets")));
        let spec = QueueSpec { limit, counts: Counts::Ns2, discipline: Default::default(), ties: Ties::Ns2 };
        let drops = case.settings["drops"].trim_matches(['[', ']']);
        Links {
            first: Wire::new(first),
            second: ClosedDropTail::new(&spec, second).unwrap(),
            back: [Wire::new(second), Wire::new(first)],
            delay: Span::from_millis(case.number("delay_ms")),
            lost: drops.split(", ").filter_map(|number| number.parse().ok()).collect(),
            arrived: 0,
        }
    }

    /// When a packet reaches the second link, and, if it passes that, the receiver.
    fn forth(&mut self, bytes: u32, now: Instant) -> (Instant, Option<Instant>) {
        let (start, at) = self.first.send(bytes, now);
        let is_lost = self.lost.contains(&self.arrived);
        self.arrived += 1;
        let arrival = Arrival { lead: at.since(start), ..Arrival::new(bytes, at) };
        let passes = if is_lost { None } else { self.second.admit(arrival).departure };
        (at, passes.map(|departure| departure.finish + self.delay))
    }

    fn back(&mut self, bytes: u32, now: Instant) -> Instant {
        let [second, first] = &mut self.back;
        first.send(bytes, second.send(bytes, now).1 + self.delay).1
    }
}

/// Compares with the rows of a trace as they come.
struct Rows<'a> {
    name: &'a str,
    kind: &'a str,
    expected: std::slice::Iter<'a, Row>,
    until: u64,
}

impl Rows<'_> {
    fn push(&mut self, found: &Row) {
        if found.time >= self.until {
            return;
        }
        let expected = self.expected.next();
        let is_same = expected.is_some_and(|row| {
            row.time.abs_diff(found.time) <= TOLERANCE && *row == Row { time: row.time, ..found.clone() }
        });
        assert!(is_same, "{}, {}: {found:?}, but ns-2 {expected:?}", self.name, self.kind);
    }

    fn end(mut self) {
        let next = self.expected.next().filter(|row| row.time < self.until);
        assert_eq!(next, None, "{}, {}: and no more", self.name, self.kind);
    }
}

fn replay(name: &str, case: &Case) {
    let config = case.config();
    let phase = Span::from_nanos(case.number("tick_phase_ns"));
    let mut links = Links::new(case);
    let mut receiver = Receiver::with(&config, 0);
    let mut sender = Sender::new(Arc::new(config.clone()), None, phase, 1);
    let until = case.number("until_ns") - TOLERANCE;
    let mut data_rows = Rows { name, kind: "data", expected: case.data.iter(), until };
    let mut ack_rows = Rows { name, kind: "acknowledgements", expected: case.acks.iter(), until };
    let mut data: VecDeque<(Instant, u32, Instant)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, u32, Feedback)> = VecDeque::new();
    let mut wire = Sent::default();
    let mut now = Instant::from_nanos(case.number("start_ns"));
    sender.start(now, &mut wire);
    loop {
        for Segment { seq, bytes, .. } in wire.0.drain(..) {
            let (at, arrives) = links.forth(bytes, now);
            let event = if arrives.is_some() { "enqueue" } else { "drop" };
            data_rows.push(&Row { time: at.as_nanos(), event: event.to_owned(), seq, bytes });
            data.extend(arrives.map(|arrives| (arrives, seq, now)));
        }
        let arrival = data.front().map_or(Instant::MAX, |(at, ..)| *at);
        let ack = acks.front().map_or(Instant::MAX, |(at, ..)| *at);
        let due = receiver.due().unwrap_or(Instant::MAX);
        let wait = sender.pacing_at().unwrap_or(Instant::MAX);
        let timer = sender.retransmission_at().unwrap_or(Instant::MAX);
        now = arrival.min(ack).min(due).min(wait).min(timer);
        if now.as_nanos() >= until {
            break;
        }
        let answer = if arrival == now {
            let (_, seq, sent) = data.pop_front().unwrap();
            receiver.on_data(seq);
            match receiver.reply(seq, sent, now) {
                Reply::Now(feedback) => Some(feedback),
                _ => None,
            }
        } else if ack == now {
            let (_, next, feedback) = acks.pop_front().unwrap();
            let bytes = config.ack_bytes(feedback.blocks().len());
            let event = "receive".to_owned();
            ack_rows.push(&Row { time: now.as_nanos(), event, seq: next.wrapping_sub(1), bytes });
            sender.on_ack_with(next, feedback.echo, feedback.blocks(), now, &mut wire);
            None
        } else if due == now {
            Some(receiver.on_delayed_ack_timer())
        } else if wait == now {
            sender.on_pacing_timer(now, &mut wire);
            None
        } else {
            sender.on_retransmission_timer(now, &mut wire);
            None
        };
        if let Some(feedback) = answer {
            let bytes = config.ack_bytes(feedback.blocks().len());
            acks.push_back((links.back(bytes, now), receiver.next(), feedback));
        }
    }
    data_rows.end();
    ack_rows.end();
}

/// All cases of a variant; how many.
fn replay_all(variant: &str) -> usize {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/ns2");
    let mut paths: Vec<_> = Path::new(folder).read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    paths.sort();
    let mut count = 0;
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.split('.').nth(1) == Some(variant) {
            replay(name, &Case::read(&path));
            count += 1;
        }
    }
    count
}

macro_rules! variants {
    ($($variant:ident: $cases:literal),+) => {$(
        #[test]
        fn $variant() {
            assert_eq!(replay_all(stringify!($variant)), $cases);
        }
    )+};
}

variants!(tahoe: 54, reno: 54, newreno: 54, sack1: 54, fack: 27, bic: 78, cubic: 78);

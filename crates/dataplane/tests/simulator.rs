//! Same code, same departures: what arrives at a paced link of the simulator goes through the data plane's replay back end
//! and must leave at the same nanosecond.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use std::collections::HashSet;
use std::io::Cursor;

use paceline_capture::link_type::LinkType;
use paceline_capture::write::{Form, Writer};
use paceline_capture::{Capture, Interface};
use paceline_core::pacer::{self, parameters::Value};
use paceline_core::queue::{Limit, QueueSpec};
use paceline_core::{Instant, Rate};
use paceline_dataplane::lane::{Frame, LaneSpec, Overload};
use paceline_dataplane::replay::{self, Fate, Replay};
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Scenario};

/// 2020-09-13, nanoseconds since 1970.
const EPOCH_NS: u64 = 1_600_000_000_000_000_000;

/// The paced link's rate.
const RATE: u64 = 30_000_000;

/// A pacer: its name, its parameters, its limit in packets.
type Case = (&'static str, &'static [(&'static str, &'static str)], Option<u64>);

const CASES: [Case; 9] = [
    ("none", &[], None),
    ("edge", &[("delay", "10 ms")], None),
    ("edge", &[("delay", "0 ms")], None),
    ("edge", &[("delay", "3 ms"), ("release", "finish")], None),
    ("edge", &[("delay", "30 ms")], Some(20)),
    ("qlbp", &[("load", "0.8"), ("max_delay", "5 ms")], None),
    ("qlbp", &[("mu_min", "10 Mbit/s"), ("mu_max", "30 Mbit/s"), ("q_max", "20 packets")], None),
    ("token-bucket", &[("rate", "24 Mbit/s"), ("burst", "4000 B")], None),
    ("token-bucket", &[("rate", "19 Mbit/s"), ("burst", "1500 B")], Some(7)),
];

fn spec(case: &Case) -> LaneSpec {
    let (method, parameters, limit) = case;
    let mut values = |key: &str| -> Option<Value> {
        parameters.iter().find(|(name, _)| *name == key).map(|(_, value)| match value.parse() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::Text((*value).to_owned()),
        })
    };
    let line_rate = Rate::from_bits_per_second(RATE);
    let mut pacer = pacer::parse(method, &mut values, line_rate).unwrap();
    pacer.limit = limit.map(Limit::Packets);
    LaneSpec { pacer, line_rate, overload: Overload::Drop }
}

/// Rows of a run of two Poisson sources, an on-off one and a constant one into one paced link.
fn simulated(case: &Case, seed: u64) -> Vec<TraceRow> {
    let (method, parameters, limit) = case;
    let parameters: Vec<String> = parameters
        .iter()
        .map(|(key, value)| match value.parse::<f64>() {
            Ok(number) => format!(", {key} = {number}"),
            Err(_) => format!(", {key} = {value:?}"),
        })
        .collect();
    let limit = limit.map(|limit| format!("pacer_buffer = \"{limit} packets\"")).unwrap_or_default();
    let parameters = parameters.concat();
    let scenario = Scenario::from_toml(&format!(
        r#"
        duration = "3 s"
        pacing = {{ method = "{method}"{parameters}, at = "slow" }}
        probes = {{}}
        [network]
        template = "graph"
        [[node]]
        name = "a"
        kind = "host"
        [[node]]
        name = "r"
        kind = "router"
        [[node]]
        name = "b"
        kind = "host"
        [[link]]
        name = "fast"
        from = "a"
        to = "r"
        rate = "1 Gbit/s"
        delay = "13 us"
        [[link]]
        name = "slow"
        from = "r"
        to = "b"
        rate = "30 Mbit/s"
        delay = "1 ms"
        {limit}
        [[traffic]]
        kind = "poisson"
        packet = "1500 B"
        rate = "11 Mbit/s"
        from = "a"
        to = "b"
        [[traffic]]
        kind = "poisson"
        packet = "211 B"
        rate = "7 Mbit/s"
        from = "a"
        to = "b"
        [[traffic]]
        kind = "cbr"
        packet = "999 B"
        rate = "3 Mbit/s"
        from = "a"
        to = "b"
        "#
    ))
    .unwrap();
    let network = scenario.network(seed).unwrap();
    let place = network.links.iter().position(|link| link.name == "slow").unwrap() as u32;
    let mut rows = Vec::new();
    Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    rows.retain(|row: &TraceRow| row.place == place);
    rows
}

/// A packet is known by its flow and number.
fn name(row: &TraceRow) -> (u32, i64) {
    (row.flow, row.seq)
}

/// What arrives, once each, in order; what leaves; how many were refused.
fn arrivals(rows: &[TraceRow]) -> (Vec<&TraceRow>, Vec<&TraceRow>, usize) {
    let mut seen = HashSet::new();
    let came = |row: &&TraceRow| matches!(row.event, TraceEvent::Enqueue | TraceEvent::Drop);
    let arrived = rows.iter().filter(came).filter(|row| seen.insert(name(row))).collect();
    let left = rows.iter().filter(|row| row.event == TraceEvent::Dequeue).collect();
    (arrived, left, rows.iter().filter(|row| row.event == TraceEvent::Drop).count())
}

#[test]
fn frames_leave_when_simulated_packets_do() {
    for (index, case) in CASES.iter().enumerate() {
        let rows = simulated(case, index as u64 + 1);
        let (arrived, left, dropped) = arrivals(&rows);
        assert!(left.len() > 1000, "{case:?}");
        assert_eq!(dropped > 0, case.2.is_some(), "{case:?}");

        let wire = (Rate::from_bits_per_second(RATE), QueueSpec::default());
        let mut replay = Replay::new(spec(case), Some(wire));
        let (mut ours, mut refused) = (Vec::new(), 0);
        let mut tell = |frame: Frame<(u32, i64)>, fate| match fate {
            Fate::Leaves(at) => ours.push((at.as_nanos(), frame.handle)),
            Fate::Refused | Fate::Overflowed => refused += 1,
        };
        for row in &arrived {
            replay.arrive(Frame::new(name(row), row.bytes, Instant::from_nanos(row.time_ns)), &mut tell);
        }
        replay.finish(&mut tell);
        assert_eq!((ours.len() + refused, refused), (arrived.len(), dropped), "{case:?}");
        for (row, ours) in left.iter().zip(&ours) {
            assert_eq!((row.time_ns, name(row)), *ours, "{case:?}");
        }
    }
}

#[test]
fn a_capture_of_the_trace_is_replayed_to_the_same_departures() {
    let ethernet = [Interface { link_type: LinkType::ETHERNET, name: None }];
    let names = Form::suffixes().into_iter().cycle();
    for ((index, case), suffix) in CASES.iter().enumerate().zip(names) {
        let form = Form::of_name(format!("x{suffix}").as_ref()).unwrap();
        let rows = simulated(case, 100 + index as u64);
        let (arrived, left, dropped) = arrivals(&rows);
        let mut capture = Vec::new();
        let mut writer = Writer::new(Box::new(&mut capture), form).unwrap();
        for row in &arrived {
            let frame = [row.flow.to_le_bytes().to_vec(), row.seq.to_le_bytes().to_vec()].concat();
            writer.write(EPOCH_NS + row.time_ns, row.bytes + 14, 0, &frame, &ethernet).unwrap();
        }
        writer.finish(&ethernet).unwrap();

        let mut paced: Vec<u8> = Vec::new();
        let wire = Rate::from_bits_per_second(RATE);
        let capture = Capture::read_from(Box::new(Cursor::new(capture))).unwrap();
        let writer = Writer::new(Box::new(&mut paced), form).unwrap();
        let outcome = replay::capture(capture, Some(writer), spec(case), Some(wire), 14).unwrap();
        assert_eq!((outcome.received.0 as usize, outcome.dropped as usize), (arrived.len(), dropped));
        let mut paced = Capture::read_from(Box::new(Cursor::new(paced))).unwrap();
        assert_eq!(paced.format(), form.format);
        for row in &left {
            let record = paced.read().unwrap().unwrap();
            assert_eq!(record.time_ns, EPOCH_NS + row.time_ns, "{case:?}");
            assert_eq!(record.frame[..4], row.flow.to_le_bytes());
            assert_eq!(record.frame[4..], row.seq.to_le_bytes());
        }
    }
}

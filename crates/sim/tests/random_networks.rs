//! Random small networks: packets are conserved at every moment, order is kept, no link beats its capacity, watching
//! changes nothing, and the same input gives the same bytes. That the engines agree in what they find is `equality.rs`'s to show.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use crate::random;
use paceline_core::{Ecn, Instant};

use paceline_sim::network::FlowKind;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, Network, Scenario};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

/// Everything that can be measured, everywhere.
const INSTRUMENTS: &str = r#"
[probes]
departures = { links = ALL, from = "500 ms", to = "2 s" }
WINDOW
rate_variation = [
    { links = ALL, finest = "10 ms" },
    { links = ALL, at = "arrival" },
]
auto_covariance = { links = ALL, at = "arrival", lags = 3 }
succession = { links = ALL, by = "traffic" }
bursts = { links = ALL, of = "flow" }
drop_events = { links = ALL, length = "20 ms" }
delay = { by = "pacing" }
transfers = {}
fairness = { window = "400 ms", every = "100 ms" }
throughput = { links = ALL, by = "traffic", every = "33 ms", from = "1 s" }
"#;

fn network(text: &str) -> Result<Network, TestCaseError> {
    let network = Scenario::from_toml(text).and_then(|scenario| scenario.network(scenario.seed()));
    network.map_err(|error| TestCaseError::reject(error.to_string()))
}

/// What of a trace's order is in its rows: by time, then received, sent, at links; by place, and at hosts by flow.
fn place_in_order(row: &TraceRow) -> (u64, u8, u32, u32) {
    match row.event {
        TraceEvent::Receive => (row.time_ns, 0, row.place, row.flow),
        TraceEvent::Send => (row.time_ns, 1, row.place, row.flow),
        TraceEvent::Enqueue | TraceEvent::Drop | TraceEvent::Dequeue | TraceEvent::Mark => {
            (row.time_ns, 2, row.place, 0)
        }
    }
}

/// Order per link and direction: packets of one flow leave a link in the order in which it took them. What it took and
/// then dropped (displaced, or refused by the buffer behind a pacer) is skipped. `has_dualpi2`: a queue of DualPI2 takes what an earlier
/// one has marked for L4S traffic, and lets it overtake the rest of its flow (RFC 9332 section 2.5.1.1): such flows have no order there.
fn assert_order(rows: &[TraceRow], has_dualpi2: bool) {
    #[derive(Default)]
    struct Inside {
        taken: VecDeque<i64>,
        dropped: usize,
        is_parted: bool,
    }
    let mut links: HashMap<(u32, u32, bool), Inside> = HashMap::new();
    for row in rows {
        let inside = links.entry((row.place, row.flow, row.is_ack)).or_default();
        match row.event {
            TraceEvent::Enqueue => {
                inside.is_parted |= has_dualpi2 && row.detail.ecn == Ecn::Ce;
                inside.taken.push_back(row.seq);
            }
            TraceEvent::Dequeue if inside.is_parted => {}
            TraceEvent::Drop => inside.dropped += 1,
            TraceEvent::Dequeue => {
                while inside.taken.pop_front() != Some(row.seq) {
                    assert!(inside.dropped > 0 && !inside.taken.is_empty(), "order lost: {row:?}");
                    inside.dropped -= 1;
                }
            }
            TraceEvent::Send | TraceEvent::Receive | TraceEvent::Mark => {}
        }
    }
}

/// Conservation, at any pause; the same under all engines, traced or not; order; and no link sends more than it can.
fn laws(text: &str) -> Result<(), TestCaseError> {
    let network = network(text)?;
    let mut engines = Method::ALL.map(|(_, method)| Engine::with_method(&network, method, None));
    for millis in (0..=4000).step_by(37) {
        let until = Instant::from_nanos(millis * 1_000_000);
        engines.iter_mut().for_each(|engine| engine.run_until(until, &Control::default()).unwrap());
        let [census, others @ ..] = engines.each_ref().map(Engine::census);
        prop_assert_eq!(
            census.sent,
            census.received + census.dropped + census.in_flight,
            "at {} ms: {:?}\n{}",
            millis,
            census,
            text
        );
        prop_assert_eq!([census; 2], others, "at {} ms\n{}", millis, text);
    }
    let plain = Engine::run(&network, &Control::default(), None).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    let traced = Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let json = |output| serde_json::to_string(output).unwrap();
    prop_assert_eq!(json(&plain), json(&traced), "{}", text);
    prop_assert_eq!(&plain.flow_rows, &traced.flow_rows, "{}", text);
    prop_assert!(rows.is_sorted_by_key(place_in_order), "{}", text);
    assert_order(&rows, text.contains("dualpi2"));
    for (name, link) in &plain.links {
        // A packet that is on the wire as the window begins or ends counts by its time in it. Where the rate varies, or is 0 for a while,
        // that is not what was sent in it: two packets at most.
        let capacity = link.throughput_bps / link.utilisation;
        let varies = text.contains("rate.") && link.utilisation > 0.0;
        let edges = if varies { 2.0 * 8.0 * 1500.0 / 3.0 / capacity } else { 0.0 };
        prop_assert!(link.utilisation <= 1.0 + 1e-9 + edges, "{}: {:?}\n{}", name, link, text);
    }
    Ok(())
}

#[test]
fn laws_of_networks_that_once_broke_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/paused");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        laws(&std::fs::read_to_string(&file).unwrap())
            .unwrap_or_else(|why| panic!("{}: {why}", file.display()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("PACELINE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(150)))]

    #[test]
    fn laws_of_a_network(text in random::unwatched()) {
        laws(&text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("PACELINE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(50)))]

    #[test]
    fn instruments_change_nothing_and_see_what_the_trace_sees(text in random::unwatched()) {
        let plain = network(&text)?;
        let links: Vec<&str> = plain.links.iter().map(|link| link.name.as_str()).collect();
        let tcp = plain.flows.iter().find(|flow| !matches!(flow.kind, FlowKind::OpenLoop { .. }));
        let window = tcp.map_or(String::new(), |flow| format!("window = {{ flows = {:?}, every = \"7 ms\" }}", flow.name));
        let instruments = INSTRUMENTS.replace("ALL", &format!("{links:?}")).replace("WINDOW", &window);
        let watched = network(&format!("{text}{instruments}"))?;
        let json = |output| serde_json::to_string(output).unwrap();
        let unwatched = Engine::run(&plain, &Control::default(), None).unwrap();
        let output = Engine::run(&watched, &Control::default(), None).unwrap();
        prop_assert_eq!(json(&unwatched), json(&output), "{}", &text);
        let mut rows: Vec<TraceRow> = Vec::new();
        let traced = Engine::run(&watched, &Control::default(), Some(&mut rows)).unwrap();
        prop_assert_eq!(format!("{:?}", &output.curves), format!("{:?}", &traced.curves), "{}", &text);
        for (place, (name, link)) in output.links.iter().enumerate() {
            let curve = |instrument: &str| {
                output.curves.iter().find(|curve| curve.instrument == instrument && curve.link == *name)
            };
            let carried = curve("carried").unwrap().points.last().unwrap();
            let expected = link.throughput_bps * 3.0 / 8.0;
            prop_assert!((carried.y - expected).abs() <= 1e-9 * expected, "{}: {:?} {}\n{}", name, carried, expected, &text);
            let mut counts = vec![0_u64; 300]; // bytes in intervals of 10 ms after the warm-up
            let leaves = |row: &&TraceRow| row.event == TraceEvent::Dequeue && row.place == place as u32;
            for row in rows.iter().filter(leaves) {
                if let Some(index) = row.time_ns.checked_sub(1_000_000_000)
                    && let Some(count) = counts.get_mut((index / 10_000_000) as usize)
                {
                    *count += u64::from(row.bytes);
                }
            }
            let sum: u64 = counts.iter().sum();
            if sum == 0 {
                continue; // no departures: the only curve is that of arrivals
            }
            let found = curve("rate_variation").map(|found| found.points[0].y);
            let mean = sum as f64 / 300.0;
            let squares = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>();
            let expected = Some((squares / 299.0).sqrt() / mean);
            let close = found.zip(expected).is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * b);
            prop_assert!(close || found == expected, "{}: {:?} {:?}\n{}", name, found, expected, &text);
        }
    }
}

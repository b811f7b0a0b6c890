//! The engine as a whole: nothing is lost or invented, watching changes nothing, the same input gives the same output.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::Instant;
use paceline_sim::trace::{TraceEvent, TraceRow, TraceSink};
use paceline_sim::{Control, Engine, Method, Network, RunError, Scenario};

fn network(text: &str) -> Network {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{error}"));
    scenario.network(1).unwrap_or_else(|error| panic!("{error}"))
}

fn dumbbell(pacing: &str, extra: &str) -> String {
    format!(
        r#"
        duration = "20 s"
        warmup = "5 s"
        pacing = "{pacing}"
        [network]
        template = "dumbbell"
        counts = "ns2"
        core = {{ rate = "10 Mbit/s", delay = "20 ms", buffer = "5 KB" }}
        edge = {{ count = 3, rate = "10 Mbit/s", delay = "5 ms .. 15 ms" }}
        access = {{ per_edge = 10, rate = "1 Mbit/s .. 2 Mbit/s", delay = "1 ms .. 5 ms" }}
        [[traffic]]
        kind = "bulk"
        tcp = {{ profile = "rfc", max_window = "1000 packets" }}
        start = "0 s .. 2 s"
        {extra}
        "#
    )
}

#[test]
fn a_trace_changes_nothing() {
    // With a trace the reference engine by name has an event for every hop; else links with one feeder are passed at once.
    for pacing in ["none", "host", "edge 10 ms", "port"] {
        let network = network(&dumbbell(pacing, ""));
        let plain = Engine::run(&network, &Control::default(), None).unwrap();
        let mut traces = Vec::new();
        for (name, method) in Method::ALL {
            let mut rows: Vec<TraceRow> = Vec::new();
            let traced = Engine::run_by(&network, method, 2, &Control::default(), Some(&mut rows)).unwrap();
            let expected = if method == Method::Auto { plain.method } else { method };
            assert_eq!((traced.method, traced.threads), (expected, 1), "{pacing}");
            let json = |output| serde_json::to_string_pretty(output).unwrap();
            assert_eq!(json(&plain), json(&traced), "{pacing} {name}");
            assert_eq!(plain.flow_rows, traced.flow_rows, "{pacing} {name}");
            assert!(rows.len() > 10_000, "{pacing}: {} rows", rows.len());
            traces.push(format!("{rows:?}"));
        }
        assert!(traces.iter().all(|trace| *trace == traces[0]), "{pacing}");
    }
}

/// Takes so many rows.
struct Full(u32);

impl TraceSink for Full {
    fn row(&mut self, _: &TraceRow) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

#[test]
fn a_trace_that_cannot_be_written_ends_the_run() {
    let network = network(&dumbbell("none", ""));
    for (name, method) in Method::ALL {
        for room in [1, 10_000, 100_000] {
            let mut sink = Full(room);
            let run = Engine::run_by(&network, method, 1, &Control::default(), Some(&mut sink));
            assert_eq!(run.err(), Some(RunError::TraceRefused), "{name} {room}");
        }
    }
}

#[test]
fn every_packet_is_somewhere_at_every_moment() {
    for pacing in ["none", "host", "edge 10 ms", "port"] {
        let network = network(&dumbbell(pacing, ""));
        let mut engine = Engine::new(&network, None);
        for millis in (0..20_000).step_by(7) {
            engine.run_until(Instant::from_nanos(millis * 1_000_000), &Control::default()).unwrap();
            let census = engine.census();
            assert_eq!(
                census.sent,
                census.received + census.dropped + census.in_flight,
                "{pacing} {millis} ms: {census:?}"
            );
        }
        assert!(engine.census().received > 5_000);
    }
}

/// Gaps between packets that leave a host with four flows, as fractions of their mean, after the start.
fn gaps_at_a_host(pacing: &str) -> Vec<f64> {
    let text = format!(
        r#"
        duration = "20 s"
        {pacing}
        [network]
        template = "path"
        links = [
            {{ name = "host", rate = "1 Gbit/s", delay = "0 ms" }},
            {{ name = "core", rate = "1 Gbit/s", delay = "50 ms" }},
        ]
        [[traffic]]
        kind = "bulk"
        count = 4
        tcp = {{ profile = "rfc", max_window = "40 packets" }}
        "#
    );
    let network = network(&text);
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let leaves =
        |row: &&TraceRow| row.event == TraceEvent::Enqueue && row.place == 0 && row.time_ns > 5_000_000_000;
    let times: Vec<u64> = rows.iter().filter(leaves).map(|row| row.time_ns).collect();
    let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
    let mean = (times[times.len() - 1] - times[0]) as f64 / (times.len() - 1) as f64;
    gaps.map(|gap| gap / mean).collect()
}

#[test]
fn one_gap_for_a_port_keeps_its_flows_apart() {
    // Flows paced each on its own still leave together; through one port they cannot.
    let close = |pacing: &str| {
        let gaps = gaps_at_a_host(pacing);
        assert!(gaps.len() > 5_000, "{pacing}: {}", gaps.len());
        gaps.iter().filter(|gap| **gap < 0.5).count() as f64 / gaps.len() as f64
    };
    let (host, port) = (close("pacing = \"host\""), close("pacing = \"port\""));
    assert!(host > 0.2, "host: {host}");
    assert!(port < 0.01, "port: {port}");
    assert!(close("[pacing]\nmethod = \"port\"\nper_flow = false") < 0.01);
}

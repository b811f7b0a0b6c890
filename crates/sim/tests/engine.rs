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

/// Ports that send a packet each in the time of four at the core have at most one each wait there: four, and one on the wire.
#[test]
fn ports_capped_at_their_share_of_the_core_lose_nothing() {
    let stats = |pacing: &str| {
        let text = format!(
            r#"
            duration = "10 s"
            warmup = "2 s"
            network = {{ template = "dumbbell", core = {{ rate = "100 Mbit/s", delay = "5 ms", buffer = "4 packets" }}, access = {{ hosts = 4, rate = "1 Gbit/s", delay = "50 us .. 500 us" }} }}
            traffic = [{{ kind = "bulk", count = 4, tcp = {{ profile = "rfc", variant = "newreno" }} }}]
            pacing = {{ method = "port", per_flow = false{pacing} }}
            "#
        );
        let output = Engine::run(&network(&text), &Control::default(), None).unwrap();
        let core = &output.links.iter().find(|(name, _)| name == "core").unwrap().1;
        (core.dropped_packets, core.utilisation)
    };
    let (dropped, utilisation) = stats(", cap = \"25 Mbit/s\"");
    assert_eq!(dropped, 0);
    assert!(utilisation > 0.999, "{utilisation}");
    let (dropped, utilisation) = stats("");
    assert!(dropped > 1_000 && utilisation < 0.95, "{dropped} {utilisation}");
}

#[test]
fn a_port_does_not_hold_what_asks_for_no_rate() {
    // 5 Mbit/s beside a transfer of two packets a second, on one host: the port paces by the transfers' small windows.
    // Held behind them, the CBR packets would leave in bursts, whenever no transfer runs, into a buffer of five.
    let stats = |pacing: &str| {
        let text = format!(
            r#"
            duration = "20 s"
            {pacing}
            [network]
            template = "path"
            links = [{{ rate = "100 Mbit/s", delay = "20 ms", buffer = "5 packets" }}]
            [[traffic]]
            kind = "cbr"
            rate = "5 Mbit/s"
            packet = "1000 B"
            [[traffic]]
            kind = "closed-loop"
            size = "2 KB"
            think = "50 ms"
            "#
        );
        let output = Engine::run(&network(&text), &Control::default(), None).unwrap();
        let link = &output.links[0].1;
        (link.arrived_packets, link.dropped_packets)
    };
    let (arrived, dropped) = stats("pacing = \"port\"");
    assert!(arrived > 12_500, "{arrived}");
    assert_eq!(dropped, 0);
}

/// Sends of the first flow, seconds.
struct Sends(Vec<f64>);

impl TraceSink for Sends {
    fn row(&mut self, row: &TraceRow) -> bool {
        if row.event == TraceEvent::Send && !row.is_ack {
            self.0.push(row.time_ns as f64 / 1e9);
        }
        true
    }
}

#[test]
fn a_window_that_the_receiver_limits_is_spread_over_the_round_trip_for_ever() {
    // 64 packets in 100 ms, 1.56 ms apart; Reno's window would be 1000 packets after 100 s.
    // (Wei's rule lets an acknowledgement that finds no timer send at once, so that bunches of slow start stay.)
    for tcp in [
        "profile = \"rfc\"",
        "profile = \"rfc\", variant = \"sack\"",
        "profile = \"rfc\", variant = \"cubic\"",
        "profile = \"rfc\", initial_ssthresh = \"5000 packets\"",
        "profile = \"ns2\"",
        "profile = \"ns2\", variant = \"newreno\"",
    ] {
        let text = format!(
            "duration = \"102 s\"\npacing = {{ method = \"host\", rule = \"ideal\" }}\n\
             [network]\ntemplate = \"path\"\nlinks = [{{ rate = \"100 Gbit/s\", delay = \"50 ms\" }}]\n\
             [[traffic]]\nkind = \"bulk\"\ntcp = {{ {tcp}, max_window = \"64 packets\" }}"
        );
        let mut sends = Sends(Vec::new());
        Engine::run(&network(&text), &Control::default(), Some(&mut sends)).unwrap();
        for from in [3.0, 100.0] {
            let some: Vec<f64> =
                sends.0.iter().copied().filter(|at| (from..from + 1.0).contains(at)).collect();
            let gaps: Vec<f64> = some.windows(2).map(|pair| 1e3 * (pair[1] - pair[0])).collect();
            let even = gaps.iter().filter(|gap| (**gap - 1.5625).abs() < 0.02).count();
            assert!(gaps.len() > 600 && even * 10 > gaps.len() * 9, "{tcp}, {from} s: {gaps:?}");
        }
    }
}

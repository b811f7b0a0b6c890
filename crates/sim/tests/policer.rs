//! Policers in a network: packet by packet against the arithmetic of a token bucket, and two reports from the field as scenarios.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use crate::sweeps::settings;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, RunOutput, Scenario};
use serde_json::Value;
use std::path::Path;

/// Tokens as a fraction of a byte, by floating point, which the simulator does not use; within a thousandth of a byte of the limit either is right.
struct Tokens {
    bytes: f64,
    at: u64,
}

#[test]
fn each_packet_meets_the_fate_that_its_tokens_say() {
    let (rate, burst) = (4e6, 7000.0);
    for seed in 1..6 {
        let text = r#"
            duration = "20 s"
            [network]
            template = "path"
            links = [
              { name = "near", rate = "1 Gbit/s", delay = "1 ms" },
              { name = "far", rate = "100 Mbit/s", delay = "1 ms", police = { rate = "4 Mbit/s", burst = "7 KB" } },
            ]
            [[traffic]]
            kind = "poisson"
            rate = "3 Mbit/s"
            packet = "700 B"
            [[traffic]]
            kind = "on-off"
            rate = "30 Mbit/s"
            on = { exponential = "10 ms" }
            off = { exponential = "90 ms" }
            packet = "1500 B"
        "#;
        let network = Scenario::from_toml(text).and_then(|scenario| scenario.network(seed)).unwrap();
        let mut rows: Vec<TraceRow> = Vec::new();
        Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
        let mut tokens = Tokens { bytes: burst, at: 0 };
        let (mut passed, mut dropped) = (0, 0);
        let arrives =
            |row: &&TraceRow| row.place == 1 && matches!(row.event, TraceEvent::Enqueue | TraceEvent::Drop);
        for row in rows.iter().filter(arrives) {
            tokens.bytes = (tokens.bytes + (row.time_ns - tokens.at) as f64 * rate / 8e9).min(burst);
            tokens.at = row.time_ns;
            let left = tokens.bytes - f64::from(row.bytes);
            let passes = row.event == TraceEvent::Enqueue;
            assert!(left.abs() < 1e-3 || passes == (left > 0.0), "{row:?} finds {} B", tokens.bytes);
            if passes {
                tokens.bytes = left;
                passed += 1;
            } else {
                dropped += 1;
            }
        }
        assert!(passed > 5_000 && dropped > 500, "{passed} {dropped}");
    }
}

/// A scenario of the project in each of its settings, under both engines.
fn in_all_settings(name: &str) -> Vec<(Value, RunOutput)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let file: Value = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let run = |setting: Value| {
        let network = Scenario::from_json(&setting.to_string()).unwrap().network(1).unwrap();
        let by = |method| Engine::run_by(&network, method, 1, &Control::default(), None).unwrap();
        let (one, other) = (by(Method::Windowed), by(Method::Reference));
        let json = |output: &RunOutput| serde_json::to_string(output).unwrap();
        assert_eq!(json(&one), json(&other), "{setting}");
        (setting, one)
    };
    settings(file).into_iter().map(run).collect()
}

/// quinn#2627.
#[test]
fn of_ten_packets_at_a_time_a_bucket_of_four_passes_four() {
    let all = in_all_settings("policer-trains.toml");
    assert_eq!(all.len(), 6);
    for (setting, output) in all {
        let (on, links) = (&setting["traffic"][0]["on"], &setting["network"]["links"]);
        let passes = match links[1]["police"]["burst"].as_str().unwrap() {
            "5 KB" => 4,
            _ => 5,
        };
        let expected = if on == "100 us" { f64::from(10 - passes) / 10.0 } else { 0.0 };
        let limiter = output.links.iter().find(|(name, _)| name == "limiter").unwrap();
        let loss = limiter.1.loss_ratio.unwrap();
        assert!((loss - expected).abs() < 1e-9, "{on}: {loss}, not {expected}");
    }
}

/// quinn#2627 as a connection: what a train loses at the policer keeps the window shut.
#[test]
fn a_connection_in_trains_of_more_than_the_bucket_gets_a_tenth() {
    let all = in_all_settings("gso-trains.toml");
    assert_eq!(all.len(), 5);
    for (setting, output) in all {
        let quantum = setting["pacing"]["quantum"].as_str();
        let limiter = output.links.iter().find(|(name, _)| name == "limiter").unwrap();
        let share = limiter.1.throughput_bps / 10e6;
        let is_long = matches!(quantum, Some("10 packets" | "5 packets"));
        assert!(if is_long { share < 0.1 } else { share > 0.97 }, "{quantum:?}: {share}");
        assert_eq!(output.flows.retransmits > Some(0), is_long, "{quantum:?}");
    }
}

/// NetworkOptimizer#1006.
#[test]
fn a_bucket_of_5_kb_caps_a_connection_at_two_thirds_of_the_rate() {
    let shares = in_all_settings("policer-burst.toml").into_iter().map(|(setting, output)| {
        let burst = setting["network"]["links"][1]["police"]["burst"].as_str().unwrap().to_owned();
        let core = output.links.iter().find(|(name, _)| name == "limiter").unwrap();
        (burst, core.1.throughput_bps / 20e6)
    });
    let shares: Vec<(String, f64)> = shares.collect();
    let share = |burst: &str| shares.iter().find(|(name, _)| name == burst).unwrap().1;
    assert!((0.65..0.70).contains(&share("5 KB")), "{shares:?}");
    assert!(share("10 KB") > 0.9 && share("20 KB") > 0.95, "{shares:?}");
}

//! What is wrong with a scenario is one line: where, what, and what to write instead.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::Scenario;

/// A scenario without fault; each case in `scenario_errors.txt` changes a line of it.
const SOUND: &str = r#"
title = "sound"
duration = "10 s"
warmup = "1 s"
seed = 1

[network]
template = "dumbbell"
core = { rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }
edge = { count = 2, rate = "20 Mbit/s", delay = "1 ms .. 2 ms" }
access = { per_edge = 3, rate = "10 Mbit/s", delay = "1 ms" }

[[traffic]]
kind = "bulk"
tcp = { variant = "reno", profile = "ns2" }
start = "0 s .. 1 s"

[[traffic]]
kind = "cbr"
packet = "1000 B"
rate = "1 Mbit/s"
from = "left.0"

[pacing]
method = "edge"
delay = "10 ms"

[[drop]]
link = "core"
flow = 0
arrivals = [3]

[probes]
queue = { links = "core", every = "10 ms" }
"#;

#[test]
fn the_scenario_that_the_cases_change_is_sound() {
    assert_eq!(error_of(SOUND), None);
}

#[test]
fn every_error_is_one_line_that_says_where_and_what_to_write() {
    let mut wrong = String::new();
    let mut count = 0;
    let (mut line, mut instead) = (Vec::new(), Vec::new());
    for text in include_str!("scenario_errors.txt").lines() {
        if let Some(removed) = text.strip_prefix('-') {
            line.push(removed.trim_start());
        } else if let Some(added) = text.strip_prefix('+') {
            instead.push(added.trim_start());
        } else if let Some(expected) = text.strip_prefix("  ") {
            let (from, to) = (line.join("\n"), instead.join("\n"));
            assert!(SOUND.contains(&from), "no such line: {from}");
            let found = error_of(&SOUND.replacen(&from, &to, 1)).unwrap_or_else(|| "accepted".to_owned());
            let found = found.replace('\n', " | "); // each fault once, and none that follows from another
            if found != expected {
                wrong += &format!("+ {to}\n  gives    {found}\n  expected {expected}\n");
            }
            count += 1;
            (line, instead) = (Vec::new(), Vec::new());
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(count > 80, "{count} cases: the file was not read");
}

#[test]
fn all_faults_are_told_at_once() {
    let mut text = SOUND.to_owned();
    for (right, wrong) in [
        ("duration = \"10 s\"", "duration = 10"),
        ("10 Mbit/s\", delay = \"10 ms\", buffer", "10 MB/s\", delay = 10, bufer"),
        ("per_edge = 3", "per_edge = 0"),
        ("variant = \"reno\", profile = \"ns2\"", "variant = \"renno\", profile = \"Linucks\""),
        ("packet = \"1000 B\"\nrate = \"1 Mbit/s\"", "packet = 1000\nrate = 10000000"),
        ("method = \"edge\"", "method = \"egde\""),
        ("link = \"core\"\nflow = 0", "link = 5\nflow = -1"),
        ("every = \"10 ms\"", "evry = \"10 ms\""),
    ] {
        assert!(text.contains(right), "{right}");
        text = text.replacen(right, wrong, 1);
    }
    let told = error_of(&text).unwrap();
    let paths: Vec<&str> = told.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    let expected = [
        "duration",
        "network.core.bufer",
        "network.core.rate",
        "network.core.delay",
        "network.access.per_edge",
        "traffic[0].tcp.profile",
        "traffic[0].tcp.variant",
        "traffic[1].packet",
        "traffic[1].rate",
        "pacing.method",
        "drop[0].link",
        "drop[0].flow",
        "probes.queue.evry",
    ];
    assert_eq!(paths, expected, "{told}");
}

#[test]
fn what_is_wrong_with_names_is_told_at_once() {
    let text = SOUND
        .replacen("delay = \"10 ms\"\n\n[[drop]]", "delay = \"10 ms\"\nat = \"edge.x.0\"\n\n[[drop]]", 1)
        .replacen("flow = 0", "flow = 700", 1)
        .replacen("links = \"core\"", "links = \"coer\"", 1);
    let told = error_of(&text).unwrap();
    let paths: Vec<&str> = told.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    assert_eq!(paths, ["pacing.at", "drop[0].flow", "probes.queue.links"], "{told}");
}

#[test]
fn a_single_table_is_told_how_several_are_written() {
    let text = SOUND.replacen("[[traffic]]\nkind = \"bulk\"", "[traffic]\nkind = \"bulk\"", 1);
    let one = text.replace("[[traffic]]\nkind = \"cbr\"", "[other]\nkind = \"cbr\"");
    let told = error_of(&one).unwrap();
    assert!(
        told.contains("traffic: a single table, where there may be several; write [[traffic]]"),
        "{told}"
    );
}

fn error_of(text: &str) -> Option<String> {
    let network = Scenario::from_toml(text).and_then(|scenario| scenario.network(1));
    network.err().map(|error| error.to_string())
}

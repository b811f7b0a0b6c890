//! Jitter: its distribution against closed forms, order, and what TCP makes of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, RunOutput, Scenario};

/// A path of two links, the second with jitter, to a host or on over a third.
fn text(jitter: &str, traffic: &str, more: &str) -> String {
    format!(
        r#"
        duration = "40 s"
        [network]
        template = "path"
        core = "far"
        links = [
          {{ name = "near", rate = "100 Mbit/s", delay = "1 ms" }},
          {{ name = "far", rate = "80 Mbit/s", delay = "5 ms"{jitter} }},
          {more}
        ]
        [[traffic]]
        {traffic}
        "#
    )
}

const SPARSE: &str = "kind = \"cbr\"\npacket = \"1000 B\"\nrate = \"1 Mbit/s\""; // 8 ms apart
const DENSE: &str = "kind = \"cbr\"\npacket = \"1000 B\"\nrate = \"16 Mbit/s\""; // 0.5 ms apart

/// By packet, how much later it is at its host than without jitter, nanoseconds; in the order in which packets arrive, with their numbers.
fn late(jitter: &str, traffic: &str) -> Vec<(i64, u64)> {
    let network =
        Scenario::from_toml(&text(jitter, traffic, "")).and_then(|scenario| scenario.network(1)).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let of = |event| move |row: &&TraceRow| row.event == event && !row.is_ack;
    let begun: Vec<u64> = rows
        .iter()
        .filter(of(TraceEvent::Dequeue))
        .filter(|row| row.place == 1)
        .map(|row| row.time_ns)
        .collect();
    let received = rows.iter().filter(of(TraceEvent::Receive));
    received.map(|row| (row.seq, row.time_ns - begun[row.seq as usize] - 5_100_000)).collect()
}

/// Values cover a distribution: nowhere is their share below a value further from it than chance allows once in a thousand
/// (Dvoretzky, Kiefer and Wolfowitz 1956, with Massart's constant).
fn assert_distributed(values: &[u64], below: impl Fn(f64) -> f64) {
    let mut values = values.to_vec();
    values.sort_unstable();
    let n = values.len() as f64;
    let most = (libm::log(2000.0) / (2.0 * n)).sqrt();
    for (before, value) in values.iter().enumerate() {
        let expected = below(*value as f64);
        let apart = (expected - before as f64 / n).abs().max((expected - (before + 1) as f64 / n).abs());
        assert!(apart < most, "{before} of {n} are below {value}, not {expected}");
    }
}

fn assert_mean(values: &[u64], mean: f64, deviation: f64) {
    let n = values.len() as f64;
    let found = values.iter().map(|value| *value as f64).sum::<f64>() / n;
    let most = 3.29 * deviation / n.sqrt(); // once in a thousand
    assert!((found - mean).abs() < most, "{found}, not {mean} within {most}");
}

#[test]
fn it_is_uniform_from_mean_less_spread_to_mean_plus_spread() {
    for reorder in [false, true] {
        let jitter = format!(", jitter = {{ mean = \"2 ms\", spread = \"1 ms\", reorder = {reorder} }}");
        let values: Vec<u64> = late(&jitter, SPARSE).into_iter().map(|(_, late)| late).collect();
        assert!(values.len() > 4_900 && values.iter().all(|late| (1_000_000..=3_000_000).contains(late)));
        assert_distributed(&values, |value| (value - 1e6) / 2e6);
        assert_mean(&values, 2e6, 1e6 / 3_f64.sqrt());
    }
}

#[test]
fn it_is_normal_between_zero_and_twice_the_mean() {
    let jitter = ", jitter = { mean = \"2 ms\", spread = \"1500 us\", shape = \"normal\" }";
    let values: Vec<u64> = late(jitter, SPARSE).into_iter().map(|(_, late)| late).collect();
    assert!(values.len() > 4_900 && values.iter().all(|late| *late <= 4_000_000));
    let phi = |x: f64| 0.5 * (1.0 + libm::erf(x / 2_f64.sqrt()));
    let cut = phi(2.0 / 1.5);
    assert_distributed(&values, |value| (phi((value - 2e6) / 1.5e6) - 1.0 + cut) / (2.0 * cut - 1.0));
    assert_mean(&values, 2e6, 1.5e6);
}

/// Without reordering a packet arrives with the latest of those before it and of itself, each as it would arrive with reordering.
#[test]
fn no_packet_overtakes_unless_it_may() {
    let arrivals = |reorder: bool| {
        let jitter = format!(", jitter = {{ mean = \"3 ms\", spread = \"3 ms\", reorder = {reorder} }}");
        let mut all = late(&jitter, DENSE);
        let in_order = all.is_sorted_by_key(|(seq, _)| *seq);
        all.sort_by_key(|(seq, _)| *seq);
        let at = |(seq, late): &(i64, u64)| *seq as u64 * 500_000 + late;
        (in_order, all.iter().map(at).collect::<Vec<u64>>())
    };
    let ((ordered, kept), (overtakes, free)) = (arrivals(false), arrivals(true));
    assert!(ordered && !overtakes && free.len() > 70_000);
    let mut latest = 0;
    for (number, (kept, free)) in kept.iter().zip(&free).enumerate() {
        latest = latest.max(*free);
        assert_eq!(*kept, latest, "packet {number}");
    }
}

fn retransmits(jitter: &str, tcp: &str, more: &str) -> u64 {
    let traffic = format!("kind = \"bulk\"\ntcp = {{ {tcp}, max_window = \"40 packets\" }}");
    let network =
        Scenario::from_toml(&text(jitter, &traffic, more)).and_then(|scenario| scenario.network(1)).unwrap();
    let by = |method| Engine::run_by(&network, method, 1, &Control::default(), None).unwrap();
    let (one, other) = (by(Method::Windowed), by(Method::Reference));
    let json = |output: &RunOutput| serde_json::to_string(output).unwrap();
    assert_eq!(json(&one), json(&other), "{jitter} {tcp}");
    assert!(one.links.iter().all(|(_, link)| link.dropped_packets == 0));
    assert!(one.flows.goodput_mean_bps.unwrap() > 1e5);
    one.flows.retransmits.unwrap()
}

/// Nothing is dropped: every retransmission is spurious.
#[test]
fn tcp_takes_what_is_late_for_lost() {
    let third = "{ name = \"last\", rate = \"100 Mbit/s\", delay = \"1 ms\" },";
    let newreno = "variant = \"newreno\", profile = \"rfc\"";
    for more in ["", third] {
        for tcp in [newreno, "variant = \"cubic\", profile = \"linux\""] {
            let jitter =
                |reorder| format!(", jitter = {{ mean = \"4 ms\", spread = \"4 ms\", reorder = {reorder} }}");
            assert_eq!(retransmits(&jitter(false), tcp, more), 0, "{tcp}");
            assert_eq!(retransmits("", tcp, more), 0, "{tcp}");
        }
        // There and back together, nothing is later than a quarter of the round trip, for which RACK waits; but this one, unlike Linux's, not
        // once three packets behind have come.
        let jitter = ", jitter = { mean = \"700 us\", spread = \"700 us\", reorder = true }";
        let of = |tcp| retransmits(jitter, tcp, more);
        let (by_threshold, by_time) = (of(newreno), of("variant = \"cubic\", profile = \"linux\""));
        assert!(by_threshold > 500 && by_time * 2 < by_threshold, "{by_threshold}, and by RACK {by_time}");
    }
}

/// A packet that comes before one that was sent earlier waits for it: its delay counts from when it was sent itself.
#[test]
fn what_waits_for_a_packet_that_was_overtaken_has_its_own_delay() {
    let jitter = ", jitter = { mean = \"700 us\", spread = \"700 us\", reorder = true }";
    let traffic =
        "kind = \"bulk\"\ntcp = { variant = \"newreno\", profile = \"rfc\", max_window = \"40 packets\" }";
    let network =
        Scenario::from_toml(&text(jitter, traffic, "")).and_then(|scenario| scenario.network(1)).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    let output = Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let (mut sent, mut has_come, mut delays) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows.iter().filter(|row| !row.is_ack) {
        let seq = row.seq as usize;
        if row.event == TraceEvent::Send && seq == sent.len() {
            sent.push(row.time_ns);
            has_come.push(false);
        } else if row.event == TraceEvent::Receive {
            has_come[seq] = true;
            while has_come.get(delays.len()) == Some(&true) {
                delays.push(row.time_ns - sent[delays.len()]);
            }
        }
    }
    let data = &delays[1..]; // the first is the SYN
    let mean = data.iter().sum::<u64>() as f64 / data.len() as f64 * 1e-9;
    let found = output.flows.delay_mean_s.unwrap();
    assert!((found - mean).abs() < 1e-12 && data.len() > 30_000, "{found}, not {mean}, of {}", data.len());
}

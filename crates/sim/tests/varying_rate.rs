//! Rates that vary, each against a program that is not the simulator's.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, RunOutput, Scenario};
use std::collections::VecDeque;
use std::path::PathBuf;

const MS: u64 = 1_000_000;

/// A path of a fast link and one of this rate, with packets of several sizes that come at random.
fn text(rate: &str, more: &str, traffic: &str) -> String {
    format!(
        r#"
        duration = "20 s"
        warmup = "2 s"
        [network]
        template = "path"
        core = "cell"
        links = [
          {{ name = "near", rate = "1 Gbit/s", delay = "100 us" }},
          {{ name = "cell", rate = {rate}, delay = "3 ms"{more} }},
        ]
        {traffic}
        "#
    )
}

const MIXED: &str = r#"
    [[traffic]]
    kind = "poisson"
    packet = "1500 B"
    rate = "3 Mbit/s"
    [[traffic]]
    kind = "poisson"
    packet = "300 B"
    rate = "500 kbit/s"
    [[traffic]]
    kind = "on-off"
    rate = "20 Mbit/s"
    on = { exponential = "50 ms" }
    off = { exponential = "700 ms" }
    packet = "700 B"
"#;

fn run(text: &str, seed: u64) -> (Vec<TraceRow>, RunOutput) {
    let network = Scenario::from_toml(text).and_then(|scenario| scenario.network(seed)).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    let output = Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    (rows, output)
}

/// What comes to the link and is not dropped, and when each is at the host, both by flow and number: (flow, seq, time, bytes).
type Seen = Vec<(u32, i64, u64, u64)>;

fn seen(rows: &[TraceRow], event: TraceEvent, place: u32) -> Seen {
    let here = |row: &&TraceRow| row.event == event && row.place == place;
    rows.iter().filter(here).map(|row| (row.flow, row.seq, row.time_ns, u64::from(row.bytes))).collect()
}

fn trace_file(name: &str, times: &[u64]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("paceline-{}-{name}", std::process::id()));
    let lines: Vec<String> = times.iter().map(u64::to_string).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

/// mahimahi's link queue with its drop-tail queue, written from its source: `rationalize` before each arrival, 1504 bytes an opportunity, 4 bytes a
/// packet for the tun device. Returns when each packet leaves, `None` where it is dropped.
fn mahimahi(times: &[u64], arrivals: &[(u64, u64)], most: usize, end: u64) -> Vec<Option<u64>> {
    let (mut next, mut base) = (0, 0);
    let mut queue: VecDeque<(usize, u64)> = VecDeque::new();
    let mut in_transit: Option<(usize, u64)> = None;
    let mut left = vec![None; arrivals.len()];
    let mut rationalize = |now: u64, queue: &mut VecDeque<(usize, u64)>, left: &mut Vec<Option<u64>>| {
        while base + times[next] * MS <= now {
            let this = base + times[next] * MS;
            next += 1;
            if next == times.len() {
                (next, base) = (0, base + times[times.len() - 1] * MS);
            }
            let mut room = 1504;
            while room > 0 {
                if in_transit.is_none() {
                    in_transit = queue.pop_front();
                }
                let Some((packet, missing)) = in_transit.take() else { break };
                let sent = missing.min(room);
                room -= sent;
                if missing == sent {
                    left[packet] = Some(this);
                } else {
                    in_transit = Some((packet, missing - sent));
                }
            }
        }
    };
    for (packet, (at, bytes)) in arrivals.iter().enumerate() {
        rationalize(*at, &mut queue, &mut left);
        if queue.len() < most {
            queue.push_back((packet, bytes + 4));
        }
    }
    rationalize(end, &mut queue, &mut left);
    left
}

#[test]
fn a_trace_is_mahimahis_packet_for_packet() {
    let traces: [Vec<u64>; 4] = [
        vec![3],
        vec![0, 0, 5, 5, 5, 9, 10, 30, 31],
        (1..=40).map(|n| n * n / 10).collect(),
        vec![2, 2, 2, 2, 400, 400, 401],
    ];
    for (number, times) in traces.iter().enumerate() {
        let file = trace_file(&number.to_string(), times);
        let rate = format!("{{ trace = {:?} }}", file.to_str().unwrap());
        let (rows, _) = run(&text(&rate, ", buffer = \"12 packets\"", MIXED), number as u64 + 1);
        std::fs::remove_file(file).unwrap();
        let at_link =
            |row: &&TraceRow| row.place == 1 && matches!(row.event, TraceEvent::Enqueue | TraceEvent::Drop);
        let arrivals: Vec<&TraceRow> = rows.iter().filter(at_link).collect();
        let times_and_sizes: Vec<(u64, u64)> =
            arrivals.iter().map(|row| (row.time_ns, u64::from(row.bytes))).collect();
        let end = 20_000 * MS - 3 * MS - 1;
        let left = mahimahi(times, &times_and_sizes, 12, end);
        let mut received: Seen = seen(&rows, TraceEvent::Receive, 5);
        received.sort_unstable();
        let mut expected: Seen = Vec::new();
        let mut dropped = 0;
        for (row, left) in arrivals.iter().zip(&left) {
            match left {
                Some(left) if *left > end => {}
                Some(left) => expected.push((row.flow, row.seq, left + 3 * MS, u64::from(row.bytes))),
                None => dropped += u64::from(row.event == TraceEvent::Drop),
            }
            assert!(
                row.event == TraceEvent::Enqueue || left.is_none(),
                "trace {number}: {row:?} left at {left:?}"
            );
        }
        expected.sort_unstable();
        assert!(expected.len() > 500, "trace {number}: {}", expected.len());
        let apart = received.iter().zip(&expected).position(|(one, other)| one != other);
        if let Some(at) = apart {
            panic!("trace {number}: {:?} for {:?}", received[at], expected[at]);
        }
        assert_eq!(received.len(), expected.len(), "trace {number}");
        assert!(dropped > 10, "trace {number}: {dropped} dropped");
    }
}

/// Bits that steps send from the start to a time, times 10^9.
fn sent_by(steps: &[(u64, u64)], every: Option<u64>, time: u64) -> u128 {
    let round = every.map_or(0, |every| time / every);
    let within = |time: u64| -> u128 {
        let ends = steps.iter().skip(1).map(|(from, _)| *from).chain([u64::MAX]);
        let pieces = steps.iter().zip(ends);
        pieces
            .map(|((from, bps), end)| u128::from(*bps) * u128::from(end.min(time).saturating_sub(*from)))
            .sum()
    };
    match every {
        None => within(time),
        Some(every) => u128::from(round) * within(every) + within(time % every),
    }
}

/// Each packet leaves when as much has been sent, in all, as it takes from the beginning of its busy period: by the integral of the steps.
#[test]
fn steps_are_integrated() {
    type Case = (&'static str, Vec<(u64, u64)>, Option<u64>);
    let cases: [Case; 3] = [
        (
            r#"{ steps = [["0 s", "6 Mbit/s"], ["3 s", "700 kbit/s"], ["4500 ms", "0 bit/s"], ["5 s", "29 Mbit/s"]] }"#,
            vec![(0, 6_000_000), (3_000 * MS, 700_000), (4_500 * MS, 0), (5_000 * MS, 29_000_000)],
            None,
        ),
        (
            r#"{ steps = [["0 s", "3333333 bit/s"], ["7 ms", "10 Mbit/s"]], every = "13 ms" }"#,
            vec![(0, 3_333_333), (7 * MS, 10_000_000)],
            Some(13 * MS),
        ),
        (
            r#"{ steps = [["0 s", "0 bit/s"], ["100 ms", "9 Mbit/s"]], every = "150 ms" }"#,
            vec![(0, 0), (100 * MS, 9_000_000)],
            Some(150 * MS),
        ),
    ];
    for (rate, steps, every) in cases {
        let (rows, output) = run(&text(rate, "", MIXED), 1);
        let arrivals = seen(&rows, TraceEvent::Enqueue, 1);
        let received = seen(&rows, TraceEvent::Receive, 5);
        assert!(received.len() > 3_000, "{rate}: {}", received.len());
        let (mut begins, mut work, mut free_at) = (0, 0_u128, 0);
        for ((flow, seq, at, bytes), got) in arrivals.iter().zip(&received) {
            if *at > free_at {
                (begins, work) = (*at, 0);
            }
            work += 8_000_000_000 * u128::from(*bytes);
            assert_eq!((got.0, got.1), (*flow, *seq), "{rate}: first in, first out");
            free_at = got.2 - 3 * MS;
            let sent = |time| sent_by(&steps, every, time) - sent_by(&steps, every, begins);
            // The last bit leaves within this nanosecond.
            assert!(sent(free_at) <= work && work <= sent(free_at + 1), "{rate}: {got:?}");
        }
        let could = (sent_by(&steps, every, 20_000 * MS) - sent_by(&steps, every, 2_000 * MS)) as f64 / 18e9;
        let cell = &output.links.iter().find(|(name, _)| name == "cell").unwrap().1;
        assert!((cell.utilisation * could / cell.throughput_bps - 1.0).abs() < 1e-9, "{rate}: {cell:?}");
    }
}

/// A chain of three states, kept busy, sends what its states come to: means of 20 seeds cover it (Student t, 99.9 %). No packet is lost to a change: the
/// link is never idle. (How long states are held is tested in `varying/markov.rs`.)
#[test]
fn a_chain_sends_the_mean_of_its_states() {
    let rate = r#"{ states = ["12 Mbit/s", "3 Mbit/s", "1 Mbit/s"], hold = ["200 ms", "100 ms", "300 ms"] }"#;
    let busy = "[[traffic]]\nkind = \"cbr\"\npacket = \"1000 B\"\nrate = \"13 Mbit/s\"";
    let text = text(rate, ", buffer = \"20 packets\"", busy);
    let throughput = |seed| {
        let network = Scenario::from_toml(&text).and_then(|scenario| scenario.network(seed)).unwrap();
        let output = Engine::run(&network, &Control::default(), None).unwrap();
        let cell = &output.links.iter().find(|(name, _)| name == "cell").unwrap().1;
        assert!((cell.utilisation - 1.0).abs() < 1e-3, "{cell:?}");
        cell.throughput_bps
    };
    let all: Vec<f64> = (1..=20).map(throughput).collect();
    let mean = all.iter().sum::<f64>() / 20.0;
    let half = 3.883 * (all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 19.0 / 20.0).sqrt();
    let asked = (12e6 * 0.2 + 3e6 * 0.1 + 1e6 * 0.3) / 0.6;
    assert!((mean - asked).abs() < half && half < asked / 5.0, "{mean} ± {half}, not {asked}");
}

//! Hosts with offloads: trains that leave back to back, receivers that answer a train once, packet by packet from traces.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_sim::output::RunOutput;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// A connection over a host's interface of 1 Gbit/s and a link of `rate`, which holds `buffer` packets; 30 ms there and back.
fn scenario(rate: &str, buffer: u32, tcp: &str, more: &str) -> String {
    format!(
        "duration = \"5 s\"\nwarmup = \"1 s\"\n[network]\ntemplate = \"path\"\nlinks = [\n\
        {{ name = \"host\", rate = \"1 Gbit/s\", delay = \"1 ms\" }},\n\
        {{ name = \"core\", rate = \"{rate}\", delay = \"14 ms\", buffer = \"{buffer} packets\" }}]\n\
        [[traffic]]\nkind = \"bulk\"\ntcp = {{ {tcp} }}\n{more}"
    )
}

fn trace(text: &str) -> Vec<TraceRow> {
    let network = Scenario::from_toml(text).and_then(|scenario| scenario.network(1)).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    rows
}

fn run(text: &str, method: Method) -> RunOutput {
    let network = Scenario::from_toml(text).unwrap().network(1).unwrap();
    Engine::run_by(&network, method, 1, &Control::default(), None).unwrap()
}

fn data(rows: &[TraceRow], event: TraceEvent) -> impl Iterator<Item = &TraceRow> {
    rows.iter().filter(move |row| row.event == event && !row.is_ack && row.seq > 0)
}

/// New data that left at one instant: when, and how many packets.
fn trains(rows: &[TraceRow]) -> Vec<(u64, u32)> {
    let mut trains: Vec<(u64, u32)> = Vec::new();
    for row in data(rows, TraceEvent::Send) {
        match trains.last_mut() {
            Some((at, packets)) if *at == row.time_ns => *packets += 1,
            _ => trains.push((row.time_ns, 1)),
        }
    }
    trains
}

/// Once the queue of the bottleneck stands, acknowledgements come at its rate, one for two packets. The sender waits while a millisecond has
/// not passed since the last train, unless the window lets out as much as 1.2 times the rate sends in 1.024 ms: so a train is that, or
/// what a millisecond of acknowledgements lets out. The last train of a buffer of 45 packets of the send queue is what is left of it.
#[test]
fn a_train_is_a_millisecond_of_the_rate() {
    for (rate, packets_in_ms) in [(20e6, 1.67), (50e6, 4.17), (100e6, 8.33), (200e6, 16.7)] {
        let tcp = |gso: &str| {
            format!("profile = \"linux\", variant = \"cubic\", hystart = false, push = 0, gso = {gso}")
        };
        let buffer = (rate / 12_000.0 * 0.030) as u32;
        let mean = |gso: &str| {
            let rows = trace(&scenario(&format!("{rate} bit/s"), buffer, &tcp(gso), ""));
            let steady: Vec<_> = trains(&rows).into_iter().filter(|(at, _)| *at > 2_000_000_000).collect();
            steady.iter().map(|(_, packets)| f64::from(*packets)).sum::<f64>() / steady.len() as f64
        };
        let (with, without) = (mean("\"64 KB\""), mean("false"));
        let few = f64::max(2.0, packets_in_ms);
        let least = 45.0 / (45.0 / few).ceil() - 0.5;
        assert!(with >= least && with <= few + 2.5, "{rate}: {with} packets, for {packets_in_ms} a ms");
        assert!(without < 2.6, "{rate}: {without} without");
        assert!((mean("\"4 packets\"") - 4.0).abs() < 1.1 || packets_in_ms < 4.0);
    }
}

/// The slow definition of receive offload: what follows within the wait, in number, from the same millisecond, 64 KB at most and not beyond
/// the end of a train or the first packet after a tick of 4 ms, is one arrival. Returns when each is answered, and how many packets the longest has.
fn answers(rows: &[TraceRow], wait: u64, ends: &BTreeSet<i64>) -> (Vec<u64>, u32) {
    #[derive(Clone, Copy)]
    struct Joined {
        tick: u64,
        end: i64,
        packets: u32,
        stamp: u64,
        last: u64,
    }

    // When each packet left last, before it arrives.
    let mut sent: BTreeMap<i64, u64> = BTreeMap::new();
    let (mut answers, mut waiting): (Vec<u64>, Option<Joined>) = (Vec::new(), None);
    let mut most = 0;
    for row in rows.iter().filter(|row| !row.is_ack) {
        if row.event == TraceEvent::Send {
            sent.insert(row.seq, row.time_ns);
        }
        if row.event != TraceEvent::Receive {
            continue;
        }
        if row.seq == 0 {
            answers.push(row.time_ns); // the SYN
            continue;
        }
        let (now, stamp) = (row.time_ns, sent[&row.seq] / 1_000_000);
        if let Some(one) = waiting {
            if one.last + wait < now {
                answers.push(one.last + wait);
                waiting = None;
            } else if one.end != row.seq || one.stamp != stamp {
                answers.push(now);
                waiting = None;
            }
        }
        let packets = waiting.map_or(1, |one| one.packets + 1);
        most = most.max(packets);
        let tick = waiting.map_or(now / 4_000_000, |one| one.tick);
        waiting = Some(Joined { tick, end: row.seq + 1, packets, stamp, last: now });
        if packets == 45 || tick != now / 4_000_000 || ends.contains(&row.seq) {
            answers.push(now);
            waiting = None;
        }
    }
    answers.extend(waiting.map(|one| one.last + wait)); // perhaps after the end
    (answers, most)
}

fn acknowledgements(rows: &[TraceRow]) -> Vec<u64> {
    let acks = rows.iter().filter(|row| row.is_ack && row.event == TraceEvent::Send);
    acks.map(|row| row.time_ns).collect()
}

#[test]
fn what_arrives_together_is_acknowledged_once() {
    for (rate, buffer, wait) in [
        ("100 Mbit/s", 400, 200_000),
        ("100 Mbit/s", 20, 200_000),
        ("20 Mbit/s", 30, 1_000_000),
        ("500 Mbit/s", 30, 30_000),
    ] {
        let tcp = format!(
            "profile = \"linux\", variant = \"cubic\", push = 0, delayed_ack = false, tick_phase = \"0 s\", gro = \"{wait} ns\""
        );
        let rows = trace(&scenario(rate, buffer, &tcp, ""));
        let (expected, most) = answers(&rows, wait, &BTreeSet::new());
        let acks = acknowledgements(&rows);
        assert!(expected.len() > 300 && most > 1, "{rate} {buffer}: {}", expected.len());
        assert_eq!(acks[..], expected[..acks.len()], "{rate} {buffer}");
        assert!(expected.len() - acks.len() <= 1);
        let numbers: BTreeSet<i64> = data(&rows, TraceEvent::Send).map(|row| row.seq).collect();
        let retransmits = data(&rows, TraceEvent::Send).count() - numbers.len();
        assert!(buffer > 100 || retransmits > 0, "{rate} {buffer}: losses are repaired too");
    }
}

/// The last packet of a train carries PSH: the train is answered as it ends, whatever the wait. A paced connection sends a train at a time, so
/// that a trace shows where it ends.
#[test]
fn the_end_of_a_train_does_not_wait() {
    let pacing = "[pacing]\nmethod = \"host\"\nrule = \"ideal\"\n";
    for (rate, quantum) in
        [("100 Mbit/s", ""), ("400 Mbit/s", ""), ("80 Mbit/s", "quantum = \"4 packets\"\n")]
    {
        let tcp = "profile = \"linux\", variant = \"cubic\", max_window = \"1500 packets\", delayed_ack = false, tick_phase = \"0 s\", gso = \"64 KB\", gro = \"200 us\"";
        let rows = trace(&scenario(rate, 2_000, tcp, &format!("{pacing}{quantum}")));
        let mut ends = BTreeSet::new();
        let mut before: Option<(u64, i64, u32)> = None;
        for row in data(&rows, TraceEvent::Send) {
            match &mut before {
                Some((at, seq, packets)) if *at == row.time_ns => (*seq, *packets) = (row.seq, *packets + 1),
                _ => {
                    ends.extend(before.filter(|(_, _, packets)| *packets > 1).map(|(_, seq, _)| seq));
                    before = Some((row.time_ns, row.seq, 1));
                }
            }
        }
        let after = |times: &[u64]| -> Vec<u64> {
            times.iter().copied().filter(|at| (1_000_000_000..4_900_000_000).contains(at)).collect()
        };
        let (expected, most) = answers(&rows, 200_000, &ends);
        let (expected, acks) = (after(&expected), after(&acknowledgements(&rows)));
        assert!(most > 3 && expected.len() > 1_000, "{rate}: {most} {}", expected.len());
        let differs = acks.iter().zip(&expected).position(|(ack, expected)| ack != expected);
        assert_eq!(differs.map(|at| (at, acks[at], expected[at])), None, "{rate}");
        assert_eq!(acks.len(), expected.len(), "{rate}");
    }
}

/// As many packets as `ack_every` says, where nothing else acknowledges.
#[test]
fn acknowledgements_are_thinned() {
    for every in [2_u32, 4, 10] {
        let tcp = format!(
            "profile = \"rfc\", variant = \"sack\", max_window = \"200 packets\", delayed_ack = \"40 ms\", ack_every = {every}"
        );
        let rows = trace(&scenario("50 Mbit/s", 400, &tcp, ""));
        let count =
            |is_ack| rows.iter().filter(|row| row.is_ack == is_ack && row.event == TraceEvent::Send).count();
        let ratio = count(false) as f64 / count(true) as f64;
        assert!((ratio - f64::from(every)).abs() < 0.1 * f64::from(every), "{every}: {ratio}");
    }
}

#[test]
fn both_engines_agree() {
    let pacing = "[pacing]\nmethod = \"host\"\n";
    for tcp in [
        "gso = \"64 KB\"",
        "gso = \"64 KB\", gro = \"200 us\"",
        "gso = \"3 packets\", gro = \"3 ms\", delayed_ack = false",
        "variant = \"bbr\", gso = \"64 KB\", gro = \"50 us\"",
        "profile = \"ns2\", variant = \"sack1\", gso = \"10 packets\", gro = \"1 ms\"",
        "profile = \"ns2\", variant = \"newreno\", gso = \"10 packets\", gro = \"1 ns\"",
        "profile = \"ns2\", variant = \"reno\", gro = \"300 us\"",
        "profile = \"rfc\", variant = \"dctcp\", gso = \"64 KB\", gro = \"1 ms\", delayed_ack = \"40 ms\", ack_every = 5",
        "profile = \"rfc\", variant = \"sack\", delayed_ack = \"40 ms\", ack_every = 3",
    ] {
        for more in ["", pacing] {
            let text = format!(
                "duration = \"4 s\"\nwarmup = \"1 s\"\n[network]\ntemplate = \"dumbbell\"\n\
                core = {{ rate = \"30 Mbit/s\", delay = \"5 ms\", buffer = \"25 packets\", queue = \"codel\" }}\n\
                access = {{ hosts = 4, rate = \"100 Mbit/s\", delay = \"1 ms .. 9 ms\" }}\n\
                [[traffic]]\nkind = \"bulk\"\ncount = 2\nstart = \"0 s .. 100 ms\"\ntcp = {{ {tcp} }}\n\
                [[traffic]]\nname = \"calls\"\nkind = \"rpc\"\nrequest = \"300 B\"\nresponse = \"70 KB\"\nthink = \"20 ms\"\ntcp = {{ {tcp} }}\n{more}"
            );
            let [reference, batched] = [Method::Reference, Method::Windowed].map(|method| run(&text, method));
            let json = |output: &RunOutput| serde_json::to_string(output).unwrap();
            assert_eq!(json(&reference), json(&batched), "{tcp} {more}");
            assert!(reference.flows.goodput_mean_bps.unwrap() > 1e5, "{tcp} {more}");
        }
    }
}

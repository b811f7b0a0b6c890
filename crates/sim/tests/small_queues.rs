//! TCP small queues: what a connection keeps in the queue of its own host, and what that does to round trips and windows.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_sim::output::RunOutput;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, Scenario};
use std::collections::{BTreeMap, VecDeque};

/// `flows` connections from one host over its interface of `rate` and a link of 1 Gbit/s, 20 ms there and back.
fn scenario(rate: &str, flows: u32, tcp: &str) -> String {
    format!(
        "duration = \"6 s\"\nwarmup = \"2 s\"\n[network]\ntemplate = \"path\"\nlinks = [\n\
        {{ name = \"host\", rate = \"{rate}\", delay = \"1 ms\" }},\n\
        {{ name = \"core\", rate = \"1 Gbit/s\", delay = \"9 ms\" }}]\n\
        [[traffic]]\nkind = \"bulk\"\ncount = {flows}\nstart = \"0 s .. 200 ms\"\ntcp = {{ profile = \"linux\", {tcp} }}\n"
    )
}

fn run(text: &str) -> RunOutput {
    let network = Scenario::from_toml(text).unwrap().network(1).unwrap();
    Engine::run(&network, &Control::default(), None).unwrap()
}

fn traced(text: &str) -> Vec<TraceRow> {
    let network = Scenario::from_toml(text).unwrap().network(1).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run_by(&network, Method::Reference, 1, &Control::default(), Some(&mut rows)).unwrap();
    rows
}

/// Most packets of a flow, and of trains, that its host's queue holds at a time, a packet on the wire among them; `rate` in bit/s. Of data that are sent for
/// the first time, and of each flow from the time `from` on.
fn most_held(rows: &[TraceRow], rate: u64, from: u64) -> BTreeMap<u32, (usize, usize)> {
    let data = |event| rows.iter().filter(move |row| row.event == event && !row.is_ack && row.seq > 0);
    let leaves: BTreeMap<(u32, i64), u64> = data(TraceEvent::Dequeue)
        .filter(|row| row.place == 0)
        .map(|row| ((row.flow, row.seq), row.time_ns + 8_000_000_000 * u64::from(row.bytes) / rate))
        .collect();
    let (mut held, mut most) =
        (BTreeMap::<u32, VecDeque<(u64, u64)>>::new(), BTreeMap::<u32, (usize, usize)>::new());
    for row in data(TraceEvent::Send) {
        let Some(leaves) = leaves.get(&(row.flow, row.seq)) else { continue };
        let held = held.entry(row.flow).or_default();
        held.retain(|(_, leaves)| *leaves > row.time_ns);
        held.push_back((row.time_ns, *leaves));
        if row.time_ns >= from {
            let mut sent: Vec<u64> = held.iter().map(|(sent, _)| *sent).collect();
            sent.dedup();
            let most = most.entry(row.flow).or_default();
            *most = (most.0.max(held.len()), most.1.max(sent.len()));
        }
    }
    most
}

#[test]
fn a_host_holds_two_packets_of_a_slow_connection() {
    for variant in ["cubic", "newreno", "bbr", "sack"] {
        let text = |queue: &str| scenario("5 Mbit/s", 3, &format!("variant = \"{variant}\", tsq = {queue}"));
        let held = most_held(&traced(&text("\"4 MB\"")), 5_000_000, 0);
        assert_eq!(held.values().map(|(packets, _)| *packets).collect::<Vec<_>>(), [2, 2, 2], "{variant}");
        let unheld = most_held(&traced(&text("false")), 5_000_000, 0);
        assert!(unheld.values().all(|(packets, _)| *packets > 5), "{variant}: {unheld:?}");
    }
}

#[test]
fn a_smaller_limit_leaves_one() {
    let held = most_held(&traced(&scenario("5 Mbit/s", 2, "tsq = \"2280 B\"")), 5_000_000, 1_000_000_000);
    assert!(held.values().all(|(packets, _)| *packets == 1), "{held:?}");
}

/// A millisecond of the rate: 1.2 times 40 Mbit/s are 6 MB/s of payload, and 5.7 kB in 1/1024 s: a third packet of 2280 B finds 4560 B before it.
/// In slow start the rate is twice that of a window that is twice what is used.
#[test]
fn a_fast_connection_has_a_millisecond_there() {
    for (rate, least, most) in [(40_000_000, 3, 9), (200_000_000, 10, 40)] {
        let text = scenario(&format!("{rate} bit/s"), 1, "tsq = \"4 MB\"");
        let packets = most_held(&traced(&text), rate, 2_000_000_000)[&0].0;
        assert!((least..=most).contains(&packets), "{rate}: {packets}");
    }
}

#[test]
fn of_trains_it_holds_two_or_a_millisecond() {
    let rows = traced(&scenario("5 Mbit/s", 2, "tsq = \"4 MB\", gso = \"64 KB\""));
    let held = most_held(&rows, 5_000_000, 0);
    assert!(held.values().all(|(packets, _)| *packets <= 4), "{held:?}");
    assert!(held.values().any(|(packets, _)| *packets > 2), "{held:?}");
}

/// What is not in the host's queue is not in the round trip, nor does the window grow for it; the link is as full.
#[test]
fn the_window_and_the_round_trip_are_those_of_the_path() {
    let packet_ms = 1500.0 * 8.0 / 10e6 * 1e3;
    for flows in [1, 4] {
        let with = run(&scenario("10 Mbit/s", flows, "tsq = \"4 MB\", hystart = false"));
        let without = run(&scenario("10 Mbit/s", flows, "hystart = false"));
        let of =
            |run: &RunOutput| (run.links[0].1.utilisation, run.links[0].1.queue_mean_bytes.unwrap() / 1500.0);
        let (full, queue) = of(&with);
        // Two packets of each, of which one may be on the wire.
        assert!(full > 0.999 && queue <= 2.0 * f64::from(flows), "{flows}: {full} {queue}");
        assert!(queue >= 2.0 * f64::from(flows) - 1.5, "{flows}: {queue}");
        let (full, unheld) = of(&without);
        assert!(full > 0.999 && unheld > 10.0 * queue, "{flows}: {unheld} packets");
        let delay_ms = with.flows.delay_mean_s.unwrap() * 1e3;
        let expected = 10.0 + packet_ms * (2.0 * f64::from(flows));
        assert!((delay_ms - expected).abs() < 1.5 * packet_ms, "{flows}: {delay_ms} ms for {expected}");
    }
}

/// What is in the queue is of all connections alike, so that a FIFO serves them alike.
#[test]
fn connections_of_one_host_share_its_link() {
    let rates = |queue: &str| -> Vec<f64> {
        let output = run(&scenario("10 Mbit/s", 5, &format!("tsq = {queue}")));
        output.flow_rows.iter().map(|row| row.goodput_bps).collect()
    };
    let spread = |rates: &[f64]| {
        rates.iter().copied().fold(0.0, f64::max) / rates.iter().copied().fold(f64::MAX, f64::min)
    };
    let (with, without) = (rates("\"4 MB\""), rates("false"));
    assert!(spread(&with) < 1.01, "{with:?}");
    assert!(spread(&without) > 1.05, "{without:?}");
}

/// What is read of connections and their host's queue.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Mean packets before the host's link, one on the wire among them.
    queue: f64,
    rtt_ms: f64,
    cwnd: f64,
    unacked: f64,
    utilisation: f64,
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The scenario of `benches/kernel/small_queues.py`, whose host has a bucket of `rate`, Mbit/s, before its device.
fn simulate(rate: u32, flows: u32, control: &str, seed: u64) -> Seen {
    let variant = if control == "reno" { "sack" } else { control };
    let text = format!(
        "duration = \"12 s\"\nwarmup = \"4 s\"\n[network]\ntemplate = \"path\"\nlinks = [\n\
        {{ name = \"host\", rate = \"{rate} Mbit/s\", delay = \"1 ms\" }},\n\
        {{ name = \"core\", rate = \"400 Mbit/s\", delay = \"9 ms\" }}]\n\
        [[traffic]]\nkind = \"bulk\"\ncount = {flows}\nstart = \"0 s .. 200 ms\"\n\
        tcp = {{ profile = \"linux\", variant = \"{variant}\", tsq = \"4 MB\" }}\n"
    );
    let network = Scenario::from_toml(&text).and_then(|scenario| scenario.network(seed)).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    let output = Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let (mut sent, mut una) = (BTreeMap::<(u32, i64), u64>::new(), BTreeMap::<u32, i64>::new());
    let mut end = BTreeMap::<u32, i64>::new();
    let (mut rtts, mut windows, mut unacked) = (Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        match row.event {
            TraceEvent::Send if !row.is_ack => {
                sent.entry((row.flow, row.seq)).or_insert(row.time_ns);
                end.insert(row.flow, row.seq + 1);
            }
            TraceEvent::Receive if row.is_ack => {
                let first = una.insert(row.flow, row.seq + 1).unwrap_or_default();
                if row.time_ns >= 4_000_000_000 && row.seq >= first {
                    rtts.push((row.time_ns - sent[&(row.flow, first)]) as f64 / 1e6);
                    windows.push(row.cwnd);
                    unacked.push((end[&row.flow] - row.seq - 1) as f64);
                }
            }
            _ => {}
        }
    }
    let host = &output.links.iter().find(|(name, _)| name == "host").unwrap().1;
    Seen {
        queue: host.queue_mean_bytes.unwrap() / 1500.0 + host.utilisation,
        rtt_ms: middle(rtts),
        cwnd: middle(windows),
        unacked: middle(unacked),
        utilisation: host.utilisation,
    }
}

/// Linux 6.18's runs.
fn recorded() -> BTreeMap<(u32, u32, String), Vec<Seen>> {
    let mut runs: BTreeMap<_, Vec<Seen>> = BTreeMap::new();
    for line in include_str!("../../../tests/oracles/kernel-small-queues.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let of = |place: usize| fields[place].parse::<f64>().unwrap();
        let seen = Seen { queue: of(3), rtt_ms: of(5), cwnd: of(6), unacked: of(7), utilisation: of(9) };
        runs.entry((of(0) as u32, of(1) as u32, fields[2].to_owned())).or_default().push(seen);
    }
    runs
}

/// Here a millisecond of the rate is two packets as the kernel counts them, to a hundredth: 4.57 and 4.56 kB. The kernel has two or three of each connection there.
const AT_THE_LIMIT: (u32, u32) = (50, 4);

/// The kernel's host holds as many packets, and its connections see the same round trip, with as many packets outstanding. Its link is not quite full where its timer
/// lets packets go late (utilisation 95 to 100 %), so that its mean queue may be 5 % below.
#[test]
fn the_kernel_s_host_has_the_same_queue() {
    let mut wrong = Vec::new();
    let recorded = recorded();
    assert!(recorded.len() >= 8);
    for ((rate, flows, control), kernel) in recorded {
        let simulated = simulate(rate, flows, &control, 1);
        let of = |read: fn(&Seen) -> f64| [middle(kernel.iter().map(read).collect()), read(&simulated)];
        let (queue, rtt) = (of(|seen| seen.queue), of(|seen| seen.rtt_ms));
        let (unacked, cwnd, full) =
            (of(|seen| seen.unacked), of(|seen| seen.cwnd), of(|seen| seen.utilisation));
        let line = format!(
            "{rate} Mbit/s, {flows} {control}: queue {queue:.2?}, round trip {rtt:.2?} ms, outstanding {unacked:.1?}, \
             window {cwnd:.1?}, utilisation {full:.3?}"
        );
        println!("{line}");
        let within = |[kernel, simulated]: [f64; 2], share: f64| (simulated / kernel - 1.0).abs() <= share;
        // Where flows take turns packet by packet, the first of two that are acknowledged together came a turn of the others before the second; in
        // pairs, just before. Here it is pairs.
        let turn_ms = f64::from(flows - 1) * 12.0 / f64::from(rate);
        let is_between = rtt[0] > 0.95 * rtt[1] && rtt[0] < 1.05 * (rtt[1] + turn_ms);
        let is_alike = within(queue, 0.06) && is_between && (unacked[0] - unacked[1]).abs() <= 2.0;
        if !is_alike && (rate, flows) != AT_THE_LIMIT {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "kernel, simulator:\n{}", wrong.join("\n"));
}

/// A host has to know when its packets leave: what its first link must not have is refused in a line.
#[test]
fn a_first_link_that_says_too_little_is_refused() {
    let sound = scenario("5 Mbit/s", 1, "tsq = \"4 MB\"");
    let at_link =
        |more: &str| sound.replacen("delay = \"1 ms\" }", &format!("delay = \"1 ms\", {more} }}"), 1);
    let why = |text: String| {
        let refused = Scenario::from_toml(&text).and_then(|scenario| scenario.network(1)).map(|_| ());
        refused.map_or_else(|error| error.to_string(), |()| "accepted".to_owned())
    };
    assert_eq!(why(sound.clone()), "accepted");
    assert_eq!(why(at_link("buffer = \"1000 packets\"")), "accepted");
    for (text, what) in [
        (at_link("buffer = \"9 packets\", queue = \"codel\""), "has another queue than drop-tail"),
        (at_link("police = { rate = \"4 Mbit/s\", burst = \"9 KB\" }"), "has a policer"),
        (sound.clone() + "[[drop]]\nlink = \"host\"\nprobability = 0.1\n", "has forced losses"),
        (sound.clone() + "[pacing]\nmethod = \"port\"\n", "paces its port"),
    ] {
        let told = why(text);
        assert!(told.starts_with("traffic[0].tcp.tsq: ") && told.contains(what), "{told}");
        assert!(told.contains("write tsq = false"), "{told}");
    }
}

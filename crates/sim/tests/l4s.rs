//! L4S in whole networks: Prague beside others and beside itself, over DualPI2.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_sim::output::RunOutput;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, Scenario};
use std::fmt::Write;

/// Bulk flows over a core of 100 Mbit/s: the one-way delay of each on its own link, and its TCP.
fn run(queue: &str, flows: &[(&str, &str)], seconds: u32, method: Method) -> RunOutput {
    run_paced("\"none\"", queue, flows, seconds, method, None)
}

fn run_paced(
    pacing: &str,
    queue: &str,
    flows: &[(&str, &str)],
    seconds: u32,
    method: Method,
    trace: Option<&mut Vec<TraceRow>>,
) -> RunOutput {
    let mut text = format!(
        "pacing = {pacing}\nduration = \"{seconds} s\"\nwarmup = \"{} s\"\nnetwork = {{ template = \"graph\" }}\n\
        [[node]]\nname = \"a\"\nkind = \"router\"\n[[node]]\nname = \"b\"\nkind = \"router\"\n\
        [[link]]\nname = \"core\"\nfrom = \"a\"\nto = \"b\"\nrate = \"100 Mbit/s\"\ndelay = \"0.5 ms\"\n\
        queue = \"{queue}\"\nbuffer = \"2000 packets\"\nreverse = {{ rate = \"100 Mbit/s\", delay = \"0.5 ms\" }}\n",
        seconds / 2
    );
    for (number, (delay, tcp)) in flows.iter().enumerate() {
        for (end, router) in [("s", "a"), ("d", "b")] {
            write!(
                text,
                "[[node]]\nname = \"{end}{number}\"\nkind = \"host\"\n\
                [[link]]\nfrom = \"{end}{number}\"\nto = \"{router}\"\nrate = \"1 Gbit/s\"\ndelay = \"{}\"\n",
                if end == "s" { delay } else { "0.1 ms" }
            )
            .unwrap();
        }
        write!(
            text,
            "[[traffic]]\nname = \"f{number}\"\nkind = \"bulk\"\nfrom = \"s{number}\"\nto = \"d{number}\"\n\
            start = \"{} ms\"\ntcp = {{ {tcp}, max_window = \"4000 packets\" }}\n",
            50 * number
        )
        .unwrap();
    }
    let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
    Engine::run_by(&network, method, 1, &Control::default(), trace.map(|rows| rows as _)).unwrap()
}

fn shares(output: &RunOutput) -> Vec<f64> {
    output.flow_rows.iter().map(|row| row.goodput_bps / 1e6).collect()
}

const PRAGUE: &str = "profile = \"rfc\", variant = \"prague\"";
const OWN_PACING: &str = "{ method = \"host\", rule = \"prague\" }";
const DCTCP: &str = "profile = \"rfc\", variant = \"dctcp\"";
const CUBIC: &str = "profile = \"rfc\", variant = \"cubic\", ecn = \"rfc3168\"";

/// RFC 9332 section 2.1: flows of both kinds get about as much where their round trips are alike; the L4S ones wait little.
#[test]
fn prague_and_cubic_share_a_dual_queue() {
    let output = run("dualpi2", &[("5 ms", PRAGUE), ("5 ms", CUBIC)], 40, Method::Auto);
    let [prague, cubic] = shares(&output)[..] else { panic!() };
    let core = &output.links.iter().find(|(name, _)| name == "core").unwrap().1;
    assert!(core.utilisation > 0.95, "{}", core.utilisation);
    assert!((0.4..2.5).contains(&(prague / cubic)), "{prague} {cubic}");
    // What packets took from their last sending to their arrival: 5.6 ms without a queue, and their own time on the wires.
    let waits: Vec<f64> = output
        .flow_rows
        .iter()
        .map(|row| row.network_delay_sum_ns as f64 / row.received_packets as f64 / 1e6 - 5.6)
        .collect();
    assert!(waits[0] < 2.0, "{waits:?}");
    assert!(waits[1] > 2.0 * waits[0], "{waits:?}");
}

/// Round trips of 3.2 and 15.2 ms. A window W grows by (R / 25 ms)² packets a round trip R and is cut by alpha / 2 in each with a mark.
/// Where marks come in few of them, rates are alike; where in each, they are as the round trips, 0.21 to 1. DCTCP is ECT(0): it waits in the
/// classic queue, 15 ms, and its rates are as 1 / R of 18 and 30 ms.
#[test]
fn short_round_trips_share_alike() {
    let of = |tcp| {
        let output = run("dualpi2", &[("1 ms", tcp), ("7 ms", tcp)], 60, Method::Auto);
        let [short, long] = shares(&output)[..] else { panic!() };
        (short / long, output.links.iter().find(|(name, _)| name == "core").unwrap().1.utilisation)
    };
    let (prague, utilisation) = of(PRAGUE);
    let (dctcp, _) = of(DCTCP);
    assert!((0.5..1.2).contains(&prague), "{prague} {dctcp}");
    assert!((1.3..2.0).contains(&dctcp), "{prague} {dctcp}");
    assert!(utilisation > 0.9, "{utilisation}");
}

/// Packets that a flow sends at one instant, each time it sends some, from the second second on.
fn bursts(rows: &[TraceRow], flow: u32) -> Vec<usize> {
    let sent = |row: &&TraceRow| row.event == TraceEvent::Send && !row.is_ack && row.flow == flow;
    let times: Vec<u64> =
        rows.iter().filter(sent).map(|row| row.time_ns).filter(|at| *at >= 1_000_000_000).collect();
    times.chunk_by(|one, other| one == other).map(<[_]>::len).collect()
}

/// 100 Mbit/s of 1500 B are 8333 packets a second, two in 1/4096 s, and half of that is one. Trains by Linux's rule have ten in a millisecond at 120 %
/// of that rate, and five. The step of a millisecond marks what comes together, which costs throughput.
#[test]
fn prague_s_own_pacing_keeps_bursts_short_and_the_link_full() {
    let of = |pacing: &str, flows: u32| {
        let tcp = "profile = \"linux\", variant = \"prague\", gso = \"64 KB\", gro = \"50 us\"";
        let flows = vec![("5 ms", tcp); flows as usize];
        let mut rows = Vec::new();
        let output = run_paced(pacing, "dualpi2", &flows, 12, Method::Reference, Some(&mut rows));
        let longest = bursts(&rows, 0).into_iter().max().unwrap();
        let core = &output.links.iter().find(|(name, _)| name == "core").unwrap().1;
        (longest, core.utilisation, core.queue_mean_bytes.unwrap() * 8.0 / 100e6 * 1e3)
    };
    for (flows, most) in [(1, 2), (2, 1)] {
        let own = of(OWN_PACING, flows);
        let linux = of("{ method = \"host\", rule = \"linux\" }", flows);
        let unpaced = of("\"none\"", flows);
        println!(
            "{flows}: longest burst, utilisation, ms waited: own {own:?}, linux {linux:?}, unpaced {unpaced:?}"
        );
        assert!(own.0 <= most, "{flows}: {own:?}");
        assert!(linux.0 > 2 * most, "{flows}: {linux:?}");
        assert!(own.1 > 0.97 && own.2 < 1.0, "{flows}: {own:?}");
        assert!(own.1 > unpaced.1, "{flows}: {own:?} {unpaced:?}");
    }
}

#[test]
fn both_engines_agree() {
    for tcp in [
        PRAGUE.to_owned(),
        PRAGUE.replace("rfc", "linux"),
        format!("{PRAGUE}, delayed_ack = \"40 ms\""),
        format!("{}, gso = \"64 KB\"", PRAGUE.replace("rfc", "linux")),
        CUBIC.replace("rfc3168", "accecn"),
    ] {
        for (queue, pacing) in [("dualpi2", "\"none\""), ("codel", "\"none\""), ("dualpi2", OWN_PACING)] {
            let flows = [("2 ms", tcp.as_str()), ("9 ms", CUBIC), ("5 ms", &tcp)];
            let [one, other] = [Method::Reference, Method::Windowed]
                .map(|method| run_paced(pacing, queue, &flows, 4, method, None));
            let what = format!("{tcp} {queue} {pacing}");
            assert_eq!(format!("{:?}", one.flow_rows), format!("{:?}", other.flow_rows), "{what}");
            assert_eq!(format!("{:?}", one.links), format!("{:?}", other.links), "{what}");
        }
    }
}

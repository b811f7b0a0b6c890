//! Ports that share a switch's memory by dynamic thresholds: packet for packet against a model written out here from the rule alone, by closed
//! forms, under both engines, and what is wrong with a table.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use std::collections::VecDeque;

use paceline_sim::output::{LinkStatistics, RunOutput};
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, Network, Scenario};

fn network(text: &str) -> Network {
    Scenario::from_toml(text).unwrap().network(1).unwrap()
}

/// Packets for which the memory had no room.
fn memory_drops(link: &LinkStatistics) -> Option<u64> {
    link.causes.as_ref()?.memory_drops
}

fn run(network: &Network, method: Method) -> (RunOutput, Vec<TraceRow>) {
    let mut rows: Vec<TraceRow> = Vec::new();
    let output = Engine::run_by(network, method, 1, &Control::default(), Some(&mut rows)).unwrap();
    (output, rows)
}

/// A switch with so many ports, each to a host, of these rates (Mbit/s); hosts before it send what `traffic` says, by fast links.
fn switch(ports: &[u32], memory: &str, senders: usize, traffic: &str) -> String {
    let mut text = format!(
        "duration = \"4 s\"\nwarmup = \"1 s\"\n[network]\ntemplate = \"graph\"\n{traffic}\n[probes]\n\
        [[memory]]\nlinks = \"port.*\"\n{memory}\n[[node]]\nname = \"s\"\nkind = \"router\"\n"
    );
    let mut link = |host: String, from: &str, to: &str, name: String, rate: u32, more: &str| {
        text += &format!(
            "[[node]]\nname = \"{host}\"\nkind = \"host\"\n[[link]]\nname = \"{name}\"\n\
            from = \"{from}\"\nto = \"{to}\"\nrate = \"{rate} Mbit/s\"\n{more}\n"
        );
    };
    for (port, rate) in ports.iter().enumerate() {
        let host = format!("to{port}");
        link(host.clone(), "s", &host, format!("port.{port}"), *rate, "delay = \"1 ms\"");
    }
    for sender in 0..senders {
        let host = format!("from{sender}");
        link(host.clone(), &host, "s", format!("up{sender}"), 1000, "delay = \"2 ms\"");
    }
    text
}

fn source(kind: &str, sender: usize, port: usize, packet: u32, rate: u32, more: &str) -> String {
    format!(
        "[[traffic]]\nname = \"f{sender}\"\nkind = \"{kind}\"\nfrom = \"from{sender}\"\nto = \"to{port}\"\n\
        packet = \"{packet} B\"\nrate = \"{rate} kbit/s\"\n{more}\n"
    )
}

/// One port of the model: what waits, and until when the wire is busy.
#[derive(Default)]
struct Port {
    waiting: VecDeque<u64>,
    free_at: u64,
}

/// Choudhury and Hahne's rule, packet by packet: when each of these arrivals (time in ns, port, bytes) begins to be sent; `None` if it is dropped.
/// A byte takes `nanos` of a port.
fn by_the_rule(
    arrivals: &[(u64, usize, u64)],
    nanos: &[u64],
    (size, by_packets): (u64, bool),
    alpha: f64,
) -> Vec<Option<u64>> {
    let mut ports: Vec<Port> = nanos.iter().map(|_| Port::default()).collect();
    let mut queues: Vec<VecDeque<usize>> = nanos.iter().map(|_| VecDeque::new()).collect();
    let mut starts = vec![None; arrivals.len()];
    let amount = |bytes: u64| if by_packets { 1 } else { bytes };
    for (number, &(now, port, bytes)) in arrivals.iter().enumerate() {
        for (place, one) in ports.iter_mut().enumerate() {
            while one.free_at <= now
                && let Some(bytes) = one.waiting.pop_front()
            {
                starts[queues[place].pop_front().unwrap()] = Some(one.free_at);
                one.free_at += bytes * nanos[place];
            }
        }
        if ports[port].free_at <= now {
            starts[number] = Some(now);
            ports[port].free_at = now + bytes * nanos[port];
            continue;
        }
        let held = |port: &Port| port.waiting.iter().map(|bytes| amount(*bytes)).sum::<u64>();
        let free = size - ports.iter().map(held).sum::<u64>();
        if amount(bytes) <= free && (held(&ports[port]) as f64) < alpha * free as f64 {
            ports[port].waiting.push_back(bytes);
            queues[port].push_back(number);
        }
    }
    for (place, one) in ports.iter_mut().enumerate() {
        while let Some(bytes) = one.waiting.pop_front() {
            starts[queues[place].pop_front().unwrap()] = Some(one.free_at);
            one.free_at += bytes * nanos[place];
        }
    }
    starts
}

/// Rows of the ports: those by which packets arrive, and those by which they begin to be sent, as (time, port, flow, number).
fn at_ports(network: &Network, rows: &[TraceRow], which: &[TraceEvent]) -> Vec<(u64, usize, u32, i64, u64)> {
    let port = |row: &TraceRow| {
        let link = network.links.get(row.place as usize)?;
        link.name.strip_prefix("port.")?.parse().ok()
    };
    let rows = rows.iter().filter(|row| which.contains(&row.event));
    rows.filter_map(|row| Some((row.time_ns, port(row)?, row.flow, row.seq, u64::from(row.bytes)))).collect()
}

#[test]
fn every_packet_fares_as_by_the_rule() {
    // bursts and smooth traffic of several sizes, over and under what ports carry
    let traffic = source("poisson", 0, 0, 1000, 9_000, "")
        + &source(
            "on-off",
            1,
            1,
            1500,
            40_000,
            "on = { exponential = \"20 ms\" }\noff = { exponential = \"60 ms\" }",
        )
        + &source("cbr", 2, 2, 300, 3_000, "")
        + &source("poisson", 3, 0, 500, 4_000, "")
        + &source("on-off", 4, 2, 1000, 90_000, "on = \"2 ms\"\noff = { exponential = \"30 ms\" }")
        + &source("poisson", 5, 1, 40, 500, "");
    let (mut drops, mut compared) = (0, 0);
    for (size, by_packets, text) in [
        (20_000, false, "20 KB"),
        (100_000, false, "100 KB"),
        (30, true, "30 packets"),
        (5, true, "5 packets"),
    ] {
        for alpha in [0.25, 0.5, 1.0, 3.0, 64.0] {
            let memory = format!("size = \"{text}\"\nalpha = {alpha}");
            let network = network(&switch(&[8, 4, 8], &memory, 6, &traffic));
            let (output, rows) = run(&network, Method::Reference);
            let came = at_ports(&network, &rows, &[TraceEvent::Enqueue, TraceEvent::Drop]);
            let arrivals: Vec<(u64, usize, u64)> =
                came.iter().map(|&(now, port, _, _, bytes)| (now, port, bytes)).collect();
            let starts = by_the_rule(&arrivals, &[1_000, 2_000, 1_000], (size, by_packets), alpha);
            let end = network.duration.as_nanos();
            let mut expected: Vec<(u64, usize, u32, i64, u64)> = Vec::new();
            for (&(_, port, flow, seq, bytes), start) in came.iter().zip(&starts) {
                expected
                    .extend(start.filter(|start| *start < end).map(|start| (start, port, flow, seq, bytes)));
            }
            expected.sort_unstable();
            let mut left = at_ports(&network, &rows, &[TraceEvent::Dequeue]);
            left.sort_unstable();
            assert_eq!(left.len(), expected.len(), "{text}, alpha {alpha}");
            let differs = left.iter().zip(&expected).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{text}, alpha {alpha}");
            compared += left.len();
            let lost: u64 = output.links.iter().filter_map(|(_, link)| memory_drops(link)).sum();
            let all: u64 = output.links.iter().map(|(_, link)| link.dropped_packets).sum();
            assert_eq!(lost, all);
            drops += lost;
        }
    }
    assert!(drops > 10_000 && compared > 100_000, "{drops} drops, {compared} packets");
}

/// Of a size B, n ports that are overloaded alike hold alpha B / (1 + n alpha) each: to within a packet, by which a queue may be above its
/// threshold, and one below, until the next comes.
#[test]
fn congested_ports_hold_what_the_closed_form_says() {
    for (n, alpha) in [(1, 1.0), (1, 0.5), (1, 4.0), (2, 1.0), (3, 0.5), (4, 2.0), (6, 1.0)] {
        let (size, packet) = (200_000.0, 500);
        // with ports that are idle, and rates by which arrivals of different ports do not keep step
        let traffic: String =
            (0..n).map(|port| source("cbr", port, port, packet, 16_000 + 37 * port as u32, "")).collect();
        let memory = format!("size = \"200 KB\"\nalpha = {alpha}");
        let network = network(&switch(&[8; 8], &memory, n, &traffic));
        let (output, _) = run(&network, Method::Auto);
        let expected = alpha * size / (1.0 + n as f64 * alpha);
        for port in 0..n {
            let name = format!("port.{port}");
            let link = &output.links.iter().find(|(one, _)| *one == name).unwrap().1;
            let mean = link.queue_mean_bytes.unwrap();
            assert!(
                (mean - expected).abs() < f64::from(packet),
                "{n} ports, alpha {alpha}: {mean} B, not {expected}"
            );
            assert!(memory_drops(link).unwrap() > 1000 && link.utilisation > 0.999);
        }
    }
}

/// TCP and sources together, ports with disciplines, limits and pacers of their own, and an ordinary link behind: in epochs, the ports by
/// events beside them, as in the reference engine.
#[test]
fn both_engines_say_the_same() {
    let tcp = |sender: usize, port: usize| {
        format!(
            "[[traffic]]\nname = \"t{sender}\"\nkind = \"bulk\"\nfrom = \"from{sender}\"\nto = \"to{port}\"\ncount = 3\n"
        )
    };
    let traffic = tcp(0, 0)
        + &tcp(1, 0)
        + &tcp(2, 1)
        + &source("on-off", 3, 2, 1000, 90_000, "on = \"2 ms\"\noff = { exponential = \"30 ms\" }");
    for more in [
        "",
        "buffer = \"9 packets\"",
        "queue = \"fq-codel\"",
        "queue = { discipline = \"drr\", quanta = \"600 B\" }\nbuffer = \"15 KB\"",
        "queue = \"drop-front\"\nbuffer = \"12 packets\"",
        "jitter = { mean = \"1 ms\", spread = \"1 ms\", reorder = true }",
        "rate = { states = [\"8 Mbit/s\", \"1 Mbit/s\"], hold = [\"50 ms\", \"20 ms\"] }",
    ] {
        let mut text = switch(&[8, 4, 8], "size = \"40 KB\"\nalpha = 0.5", 4, &traffic);
        let port = "to = \"to1\"\nrate = \"4 Mbit/s\"\n";
        assert!(text.contains(port));
        let rate = if more.contains("rate") { "" } else { "rate = \"4 Mbit/s\"\n" };
        text = text.replace(port, &format!("to = \"to1\"\n{rate}{more}\n"));
        // what goes to the first port shares a link on its way there
        text = text
            .replace("from = \"from0\"\nto = \"s\"", "from = \"from0\"\nto = \"r\"")
            .replace("from = \"from1\"\nto = \"s\"", "from = \"from1\"\nto = \"r\"");
        text += "[[node]]\nname = \"r\"\nkind = \"router\"\n[[link]]\nname = \"between\"\nfrom = \"r\"\nto = \"s\"\n\
            rate = \"50 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"60 packets\"\n";
        text += "[[pacing]]\nmethod = \"token-bucket\"\nrate = \"7 Mbit/s\"\nburst = \"3 KB\"\nat = [\"port.2\"]\n";
        let probes = "[probes]\nqueue = [{ links = \"port.*\", every = \"3 ms\" }, { links = \"between\", every = \"7 ms\" }]\n\
            bursts = { links = \"port.0\" }\n";
        let text = text.replace("[probes]\n", probes);
        let network = network(&text);
        let (reference, rows) = run(&network, Method::Reference);
        let (batched, others) = run(&network, Method::Windowed);
        assert_eq!(batched.method, Method::Windowed);
        let json = |output: &RunOutput| serde_json::to_string(output).unwrap();
        assert_eq!(json(&reference), json(&batched), "{more}");
        assert_eq!(reference.series, batched.series, "{more}");
        assert_eq!(reference.curves, batched.curves, "{more}");
        assert_eq!(rows.len(), others.len(), "{more}");
        let differs = rows.iter().zip(&others).find(|(one, other)| {
            (one.time_ns, one.event, one.place, one.flow, one.seq)
                != (other.time_ns, other.event, other.place, other.flow, other.seq)
        });
        assert_eq!(differs.map(|(one, _)| one.time_ns), None, "{more}");
        let drops: u64 = reference.links.iter().filter_map(|(_, link)| memory_drops(link)).sum();
        assert!(drops > 50, "{more}: {drops}");
        assert!(!json(&reference).contains("class_") || more.contains("drr"));
    }
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let traffic = source("cbr", 0, 0, 1000, 4_000, "");
    for (memory, said) in [
        ("", "memory[0].size: missing; write for example size = \"200 KB\""),
        (
            "size = \"1 BDP\"",
            "memory[0].size: \"1 BDP\" is of one link, and several share a memory; write bytes or packets",
        ),
        (
            "size = \"999 B\"",
            "memory[0].size: \"999 B\" takes no packet of 1000 B, which passes port.0; write at least \"1000 B\"",
        ),
        ("size = \"0 packets\"", "memory[0].size: \"0 packets\" takes no packet of 1000 B"),
        (
            "size = \"9 KB\"\nalpha = 0",
            "memory[0].alpha: 0 is below 0.001; write a factor from 0.001 to 1000",
        ),
        ("size = \"9 KB\"\nalfa = 1", "memory[0].alfa: unknown key"),
        (
            "size = \"9 KB\"\n[[memory]]\nlinks = \"port.1\"\nsize = \"9 KB\"",
            "memory[1].links: port.1 shares an earlier memory",
        ),
        (
            "size = \"9 KB\"\n[[memory]]\nlinks = [\"up0\", \"up1\"]\nsize = \"9 KB\"",
            "memory[1].links: up0 and up1 leave different nodes",
        ),
        (
            "size = \"9 KB\"\n[[memory]]\nlinks = \"prt.*\"\nsize = \"9 KB\"",
            "memory[1].links: \"prt.*\" matches no link",
        ),
    ] {
        let text = switch(&[8, 8], memory, 2, &traffic);
        let error =
            Scenario::from_toml(&text).and_then(|scenario| scenario.network(1)).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
}

//! What Linux 6.18 joins at a receiver, and how it acknowledges that (`benches/kernel/gro.py`), beside the simulator's.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Scenario};
use std::collections::BTreeMap;

/// Rate at which packets come, Mbit/s; how long one waits for the next, us; whether there are timestamps.
type Case = (u32, u32, bool);

/// Packets for each acknowledgement, on the network of `benches/kernel/gro.py`.
fn simulate((rate, wait, stamps): Case) -> f64 {
    let header = if stamps { 52 } else { 40 };
    let payload = 1500 - header;
    let text = format!(
        "duration = \"6 s\"\n[network]\ntemplate = \"path\"\n\
        links = [{{ name = \"host\", rate = \"{rate} Mbit/s\", delay = \"20 us\" }}]\n\
        [[traffic]]\nkind = \"bulk\"\ntcp = {{ profile = \"linux\", tsq = \"4 MB\", push = 0, gro = \"{wait} us\", timestamps = {stamps}, \
        payload = \"{payload} B\", header = \"{header} B\", ack = \"{header} B\" }}\n"
    );
    let network = Scenario::from_toml(&text).and_then(|scenario| scenario.network(1)).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let settled = |row: &&TraceRow| (2_000_000_000..5_800_000_000).contains(&row.time_ns);
    let arrived = rows.iter().filter(settled).filter(|row| !row.is_ack && row.event == TraceEvent::Receive);
    let acks = rows.iter().filter(settled).filter(|row| row.is_ack && row.event == TraceEvent::Send);
    arrived.count() as f64 / acks.count() as f64
}

/// The kernel's runs: packets in what was joined, the median, and for each acknowledgement.
fn recorded() -> BTreeMap<Case, Vec<(f64, f64)>> {
    let mut runs: BTreeMap<Case, Vec<(f64, f64)>> = BTreeMap::new();
    for line in include_str!("../../../tests/oracles/kernel-gro.csv").lines().skip(1) {
        let of = |place: usize| line.split(',').nth(place).unwrap().parse::<f64>().unwrap();
        runs.entry((of(0) as u32, of(1) as u32, of(2) > 0.0)).or_default().push((of(6), of(8)));
    }
    runs
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Without timestamps what comes within the wait is joined until the first packet after a tick, 4 ms: 3.3, 6.7 and 16.7 packets, here and in the median of the
/// kernel, whose mean a busy machine lowers. With timestamps the kernel joins half as many as here: packets echo the receiver's, which change once a millisecond too,
/// at another time than the sender's own.
#[test]
fn the_kernel_answers_as_many_packets_at_once() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (case, kernel) in recorded() {
        let (rate, wait, stamps) = case;
        let joins = f64::from(wait) > 12_000.0 / f64::from(rate);
        let joined = middle(kernel.iter().map(|(joined, _)| *joined));
        let per_ack = middle(kernel.iter().map(|(_, per_ack)| *per_ack));
        let simulated = simulate(case);
        let line = format!(
            "{case:?}: joined {joined:.2}, packets an acknowledgement {per_ack:.2} and {simulated:.2}"
        );
        println!("{line}");
        if stamps && joins {
            continue;
        }
        compared += 1;
        let is_alike =
            if joins { simulated.floor() == joined } else { (simulated / per_ack - 1.0).abs() <= 0.05 };
        if !is_alike {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "kernel, simulator:\n{}", wrong.join("\n"));
    assert!(compared >= 10, "{compared}");
}

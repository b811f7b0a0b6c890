//! Trains and acknowledgements of Linux 6.18, captured at its sending host (`benches/kernel/trains.py`), beside the simulator's.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// What a run is compared by.
#[derive(Debug, Clone, Copy)]
struct Measured {
    /// Packets of a train of new data: mean, median, and the ninth of ten.
    mean: f64,
    middle: f64,
    high: f64,
    /// Data packets for each acknowledgement.
    per_ack: f64,
    utilisation: f64,
    loss: f64,
    /// Data packets.
    sent: f64,
}

/// Rate, Mbit/s; buffer, packets; acknowledgements are `delayed`, or go for `each` packet; or they are delayed and the host has `paced`.
type Case = (u32, u32, &'static str);

/// The scenario of `benches/kernel/trains.py`.
fn simulate((rate, buffer, how): Case, seed: u64) -> Measured {
    let more = if how == "each" { ", delayed_ack = false" } else { "" };
    let pacing = if how == "paced" { "host" } else { "none" };
    let settled = 4_000_000_000;
    let text = format!(
        "pacing = \"{pacing}\"\nduration = \"12 s\"\nwarmup = \"4 s\"\n[network]\ntemplate = \"path\"\nlinks = [\n\
        {{ name = \"host\", rate = \"1 Gbit/s\", delay = \"1 ms\" }},\n\
        {{ name = \"core\", rate = \"{rate} Mbit/s\", delay = \"9 ms\", buffer = \"{buffer} packets\" }}]\n\
        [[traffic]]\nkind = \"bulk\"\ntcp = {{ profile = \"linux\", variant = \"cubic\", gso = \"45 packets\"{more} }}\n"
    );
    let network = Scenario::from_toml(&text).and_then(|scenario| scenario.network(seed)).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    let output = Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let mut sent = BTreeSet::new();
    // When a train left, its packets, and whether some were sent again.
    let mut trains: Vec<(u64, u32, bool)> = Vec::new();
    let (mut data, mut acks) = (0, 0);
    for row in rows.iter().filter(|row| row.event == TraceEvent::Send) {
        let again = !row.is_ack && !sent.insert(row.seq);
        if row.time_ns < settled {
            continue;
        }
        if row.is_ack {
            acks += 1;
            continue;
        }
        data += 1;
        match trains.last_mut() {
            Some((at, packets, any)) if *at == row.time_ns => (*packets, *any) = (*packets + 1, *any | again),
            _ => trains.push((row.time_ns, 1, again)),
        }
    }
    let mut sizes: Vec<f64> =
        trains.iter().filter(|(_, _, again)| !again).map(|(_, packets, _)| f64::from(*packets)).collect();
    sizes.sort_by(f64::total_cmp);
    let core = &output.links.iter().find(|(name, _)| name == "core").unwrap().1;
    Measured {
        mean: sizes.iter().sum::<f64>() / sizes.len() as f64,
        middle: sizes[sizes.len() / 2],
        high: sizes[sizes.len() * 9 / 10],
        per_ack: f64::from(data) / f64::from(acks),
        utilisation: core.utilisation,
        loss: core.loss_ratio.unwrap(),
        sent: f64::from(data),
    }
}

/// The kernel's runs.
fn recorded() -> BTreeMap<Case, Vec<Measured>> {
    let mut runs: BTreeMap<Case, Vec<Measured>> = BTreeMap::new();
    for line in include_str!("../../../tests/oracles/kernel-trains.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let of = |place: usize| fields[place].parse::<f64>().unwrap();
        let (trains, mean, per_ack, loss, again) = (of(3), of(4), of(8), of(10), of(11));
        let measured = Measured {
            mean,
            middle: of(6),
            high: of(7),
            per_ack,
            utilisation: of(9),
            loss,
            sent: trains * mean + again,
        };
        let case = (of(0) as u32, of(1) as u32, fields[2]);
        runs.entry(case).or_default().push(measured);
    }
    runs
}

fn median(runs: &[Measured], of: impl Fn(&Measured) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[values.len() / 2], values[(values.len() - 1) / 2])
}

/// Where something else than the trains decides, see docs/emulate.md: CUBIC's growth at three packets, which differs without trains too, and
/// how late the kernel's receiving application reads, or packets are handed over, where a train just fits into the buffer.
const OTHERWISE: [Case; 4] = [(1, 2, "delayed"), (100, 5, "delayed"), (100, 10, "delayed"), (100, 5, "each")];

#[test]
fn trains_and_acknowledgements_are_the_kernel_s() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for (case, kernel) in recorded() {
        let simulated: Vec<Measured> = (1..=3).map(|seed| simulate(case, seed)).collect();
        let both = |of: fn(&Measured) -> f64| [median(&kernel, of), median(&simulated, of)];
        let (trains, acks) = (both(|run| run.mean), both(|run| run.per_ack));
        let (middle, high) = (both(|run| run.middle), both(|run| run.high));
        let (utilisation, loss) = (both(|run| run.utilisation), both(|run| run.loss));
        let sent = median(&kernel, |run| run.sent);
        let line = format!(
            "{case:?}: trains {trains:.3?}, {middle:?}, {high:?}, packets an acknowledgement {acks:.3?}, \
             utilisation {utilisation:.4?}, loss {loss:.5?}"
        );
        println!("{line}");
        let within = |[kernel, simulated]: [f64; 2], share: f64| (simulated / kernel - 1.0).abs() <= share;
        // Five per cent of what is lost, but a packet or two of a run are chance.
        let loses_alike = (loss[0] - loss[1]).abs() <= 0.05 * loss[0] + 2.0 / sent;
        let is_alike = within(trains, 0.05)
            && within(acks, 0.05)
            && within(utilisation, 0.02)
            && middle[0] == middle[1]
            && (high[0] - high[1]).abs() <= 1.0
            && loses_alike;
        if !is_alike && !OTHERWISE.contains(&case) {
            wrong.push(line);
        }
        compared += u32::from(!OTHERWISE.contains(&case));
    }
    assert!(wrong.is_empty(), "kernel, simulator:\n{}", wrong.join("\n"));
    assert!(compared >= 20, "{compared}");
}

//! The sample connection vectors that come with ns-2's examples (Debian's package ns2-examples), in both ways of writing:
//! read whole, and every byte that they name delivered. They are read where they are installed, and skipped where not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::Span;
use paceline_sim::network::{FlowKind, Part};
use paceline_sim::workload::cvec::Vector;
use paceline_sim::workload::{DialogueSpec, Side};
use paceline_sim::{Control, Engine, Network, Scenario};
use std::path::{Path, PathBuf};

const FOLDER: &str = "/usr/share/doc/ns2/examples/tcl/ex/tmix";

/// A sample file; `None`, and a word about it, where it is not installed. `PACELINE_TMIX_SAMPLES` names another folder, for
/// machines that leave documentation out: `dpkg -x ns2-examples_*.deb DIR`.
fn sample(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("PACELINE_TMIX_SAMPLES").map_or_else(|| FOLDER.into(), PathBuf::from);
    let found = [format!("{name}.gz"), name.to_owned()]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        eprintln!(
            "skipped: no {name} in {}; install ns2-examples, or set PACELINE_TMIX_SAMPLES",
            folder.display()
        );
    }
    found
}

fn network(file: &Path, seconds: u32, more: &str) -> Network {
    let text = format!(
        r#"
        duration = "{seconds} s"
        [network]
        template = "dumbbell"
        core = {{ rate = "100 Mbit/s", delay = "5 ms", buffer = "100 packets" }}
        access = {{ hosts = 7, rate = "100 Mbit/s", delay = "1 ms" }}
        [[traffic]]
        kind = "cvec"
        file = "{}"
        {more}
        "#,
        file.display()
    );
    let scenario = Scenario::from_toml(&text).unwrap_or_else(|error| panic!("{error}"));
    scenario.network(1).unwrap_or_else(|error| panic!("{error}"))
}

/// The connections of a network of nothing else.
fn vectors(network: &Network) -> impl Iterator<Item = &Vector> {
    network.flows.iter().filter_map(|flow| match &flow.kind {
        FlowKind::Dialogue { part: Part::Opens(talk), .. } => match &**talk {
            DialogueSpec::Vector(vector) => Some(&**vector),
            _ => None,
        },
        _ => None,
    })
}

/// Bytes of each connection, both ways.
fn named(network: &Network) -> Vec<[u64; 2]> {
    vectors(network).map(Vector::bytes).collect()
}

fn assert_all_delivered(network: &Network, losses: bool) {
    let output = Engine::run(network, &Control::default(), None).unwrap();
    let seconds = network.duration.as_seconds();
    let named = named(network);
    assert_eq!(2 * named.len(), network.flows.len());
    let mut transfers = 0;
    for (connection, bytes) in named.iter().enumerate() {
        for (side, bytes) in bytes.iter().enumerate() {
            let row = &output.flow_rows[2 * connection + side];
            let delivered = (row.goodput_bps * seconds / 8.0).round() as u64;
            assert_eq!(delivered, *bytes, "{}", network.flows[2 * connection + side].name);
            assert_eq!(row.transfers.iter().map(|transfer| transfer.bytes).sum::<u64>(), *bytes);
            transfers += row.transfers.len() as u64;
        }
    }
    assert_eq!(output.flows.transfers, transfers);
    assert_eq!(output.flows.retransmits.unwrap() > 0, losses);
}

/// Counted by hand in the files: 338 sequential connections and 2 concurrent ones, 37,692,708 bytes from their initiators and
/// 18,048,572 from their acceptors, the last start at 2.084618 s, the longest connection over within 927 s.
#[test]
fn the_samples_are_read_whole_and_deliver_every_byte_that_they_name() {
    for name in ["sample-orig.cvec", "sample-alt.cvec"] {
        let Some(path) = sample(name) else { return };
        let network = network(&path, 1000, "");
        let named = named(&network);
        assert_eq!(named.len(), 340, "{name}");
        let sum = |side: usize| named.iter().map(|bytes| bytes[side]).sum::<u64>();
        assert_eq!((sum(0), sum(1)), (37_692_708, 18_048_572), "{name}");
        let last = network.flows.iter().map(|flow| flow.start.as_nanos()).max();
        assert_eq!(last, Some(2_084_618_000), "{name}");
        assert_all_delivered(&network, false);
    }
}

/// The units of one side of each connection: pause and bytes. Where one file says that there is no pause the other says 1 us,
/// so that a pause is never nothing.
fn said(network: &Network, side: Side) -> Vec<Vec<(Span, u64)>> {
    let units = |vector: &Vector| {
        let units = vector.units.iter().filter(|unit| unit.side == side);
        units.map(|unit| (unit.wait.max(Span::from_nanos(1000)), unit.bytes)).collect()
    };
    vectors(network).map(units).collect()
}

#[test]
fn both_samples_say_the_same() {
    let (Some(original), Some(alternate)) = (sample("sample-orig.cvec"), sample("sample-alt.cvec")) else {
        return;
    };
    let (original, alternate) = (network(&original, 1000, ""), network(&alternate, 1000, ""));
    for side in [Side::Opener, Side::Answerer] {
        assert_eq!(said(&original, side), said(&alternate, side));
    }
    for (one, other) in vectors(&original).zip(vectors(&alternate)) {
        assert_eq!(
            (one.start, one.windows, one.is_concurrent),
            (other.start, other.windows, other.is_concurrent)
        );
    }
}

#[test]
fn every_byte_arrives_where_packets_are_lost_too_and_with_a_syn_or_without() {
    let Some(path) = sample("sample-alt.cvec") else { return };
    for tcp in
        ["{ }", "{ syn = false, payload = \"536 B\" }", "{ profile = \"ns2\", max_window = \"64 packets\" }"]
    {
        let losses = "[[drop]]\nlink = \"core\"\nprobability = 0.01\n[[drop]]\nlink = \"core.reverse\"\nprobability = 0.01";
        assert_all_delivered(&network(&path, 1500, &format!("tcp = {tcp}\n{losses}")), true);
    }
}

#[test]
fn speed_pulls_starts_together_and_windows_can_be_left_out() {
    let Some(path) = sample("sample-orig.cvec") else { return };
    let twice = network(&path, 1000, "speed = 2\nwindows = false\nstart = \"1 s\"");
    let last = twice.flows.iter().map(|flow| flow.start.as_nanos()).max();
    assert_eq!(last, Some(1_000_000_000 + 2_084_618_000 / 2));
    assert!(twice.flows.iter().all(|flow| flow.kind.tcp().unwrap().max_window == 10_000));
    // `w 64800 6432`: the initiator may have what the acceptor takes in flight, 6432 B, and the other way 64800 B.
    let once = network(&path, 1000, "");
    let windows = [0, 1].map(|flow: usize| once.flows[flow].kind.tcp().unwrap().max_window);
    assert_eq!(windows, [6432 / 1460, 64800 / 1460]);
    // Connections that start after the end are left out.
    assert!(network(&path, 1, "").flows.len() < once.flows.len());
}

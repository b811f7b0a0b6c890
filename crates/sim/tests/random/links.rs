//! Links at random: rates, delays, buffers, queue disciplines, losses and what else a link may have.

use super::listed::{Drawn, listed, written};
use paceline_core::queue::{self, DISCIPLINES};
use proptest::prelude::*;
use proptest::sample::select;

/// The keys of a link's table, without its braces.
pub(super) fn link(lattice: bool) -> impl Strategy<Value = String> {
    let (rates, delays): (&[&str], &[&str]) = if lattice {
        (&["8 Mbit/s", "16 Mbit/s", "4 Mbit/s"], &["1 ms", "0 ms", "2 ms", "10 ms"])
    } else {
        (
            &["10 Mbit/s", "1 Mbit/s", "29 Mbit/s", "7301 kbit/s", "2 Mbit/s .. 40 Mbit/s"],
            &["1 ms", "0 ms", "7 ms", "13 us", "40 ms", "0 ms .. 3 ms", "5 ms .. 15 ms"],
        )
    };
    let limits = vec!["", "3 packets", "2 packets", "5 packets", "12 packets", "3 KB", "7 KB", "20 KB"];
    let disciplines = DISCIPLINES.iter().skip(1).map(|row| (row.name, row.parameters)); // the first is the default
    let discipline = listed(disciplines, queue::parse);
    let buffer =
        (select(limits), 0..12_u32, discipline).prop_map(|(limit, more, queue)| match (limit, more) {
            ("", 1) => format!(", {}", discipline_of(&queue)),
            ("", 0) => ", buffer = \"0 packets\", counts = \"waiting\"".to_owned(),
            ("", _) => String::new(),
            (limit, 0) => format!(", buffer = \"{limit}\", reverse_buffer = \"{limit}\""),
            (limit, 1 | 2) => {
                format!(", buffer = \"{limit}\", {}", discipline_of(&queue))
            }
            (limit, 3) => format!(", buffer = \"{limit}\", counts = \"waiting+service\", ties = \"arrival\""),
            (limit, _) => format!(", buffer = \"{limit}\""),
        });
    let pacer_buffer = prop_oneof![
        4 => Just(""),
        1 => Just(", pacer_buffer = \"4 packets\""),
        1 => Just(", pacer_buffer = \"9 KB\""),
    ];
    // keys with dots: no comma lies within a value
    let policer = prop_oneof![
        9 => Just(""),
        1 => Just(", police.rate = \"1 Mbit/s\", police.burst = \"70 KB\""),
        1 => Just(", police.rate = \"8 Mbit/s\", police.burst = \"5 KB\""),
    ];
    let jitter = prop_oneof![
        15 => Just(""),
        1 => Just(", jitter.mean = \"2 ms\", jitter.spread = \"2 ms\", jitter.reorder = true"),
        1 => Just(", jitter.mean = \"3 ms\", jitter.spread = \"1 ms\""),
        1 => Just(", jitter.mean = \"20 us\", jitter.spread = \"20 us\", jitter.shape = \"normal\", jitter.reorder = true"),
    ];
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/random/trace.mahimahi");
    let rate = prop_oneof![
        15 => select(rates.to_vec()).prop_map(|rate| format!("rate = \"{rate}\"")),
        1 => Just(r#"rate.steps = [["0 s","8 Mbit/s"],["40 ms","1 Mbit/s"],["90 ms","0 bit/s"]], rate.every = "100 ms""#.to_owned()),
        1 => Just(r#"rate.states = ["8 Mbit/s","7301 kbit/s","0 bit/s"], rate.hold = ["30 ms","20 ms","5 ms"]"#.to_owned()),
        1 => Just(format!("rate.trace = {trace:?}, counts = \"waiting\"")),
    ];
    let parts = (rate, select(delays.to_vec()), jitter, buffer, pacer_buffer, policer);
    parts.prop_map(|(rate, delay, jitter, mut buffer, pacer, policer)| {
        if rate.contains("counts") {
            buffer =
                buffer.replace(", counts = \"waiting+service\"", "").replace(", counts = \"waiting\"", "");
        }
        format!("{rate}, delay = \"{delay}\"{jitter}{buffer}{pacer}{policer}")
    })
}

/// The key `queue` of a discipline with its parameters.
pub(super) fn discipline_of((name, parameters): &Drawn) -> String {
    // without a space: graphs write a key a line, and split there
    let keys: String = parameters.iter().map(|one| format!(",{}", written(one))).collect();
    format!("queue = {{ discipline = \"{name}\"{keys} }}")
}

/// The same without limits: what access links are like as a rule.
pub(super) fn access(lattice: bool) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => link(lattice).prop_map(|keys| keys.split(", buffer").next().unwrap_or_default().to_owned()),
        1 => link(lattice),
    ]
}

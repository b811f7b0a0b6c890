//! The same bytes on every machine: digests of the results of a few scenarios, for others to compare.
//!
//! A digest stands beside oracles (`queueing.rs`, `tests/test_oracle_ns2.py`), never in place of one. Where a change means
//! to change results, `PACELINE_WRITE_DIGESTS=1 cargo test -p paceline-sim --test digests` writes the new ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::trace::{TraceEvent, TraceRow, TraceSink};
use paceline_sim::{Control, Engine, Scenario};
use std::fmt::Write;
use std::path::Path;

/// FNV-1a, 64 bits.
struct Digest(u64);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl TraceSink for Digest {
    fn row(&mut self, row: &TraceRow) -> bool {
        let cwnd = if row.cwnd.is_nan() { 0 } else { row.cwnd.to_bits() };
        self.add(&row.time_ns.to_le_bytes());
        self.add(&[row.event as u8, u8::from(row.is_ack)]);
        self.add(&row.place.to_le_bytes());
        self.add(&row.flow.to_le_bytes());
        self.add(&row.seq.to_le_bytes());
        self.add(&cwnd.to_le_bytes());
        debug_assert!(TraceEvent::NAMES.len() > row.event as usize);
        true
    }
}

const NETWORK: &str = r#"
    duration = "12 s"
    warmup = "2 s"
    [network]
    template = "dumbbell"
    counts = "ns2"
    core = { rate = "10 Mbit/s", delay = "20 ms", buffer = "6 KB" }
    edge = { count = 3, rate = "10 Mbit/s", delay = "5 ms .. 15 ms" }
    access = { per_edge = 8, rate = "1 Mbit/s .. 2 Mbit/s", delay = "1 ms .. 5 ms" }
    [[traffic]]
    kind = "bulk"
    tcp = { profile = "ns2", max_window = "1000 packets", variant = "VARIANT" }
    start = "0 s .. 2 s"
    [[traffic]]
    name = "poisson"
    kind = "poisson"
    rate = "50 kbit/s"
    packet = "200 B"
"#;

/// What draws, computes powers or sines, or reacts.
const TRAFFIC: [&str; 6] = [
    "kind = \"closed-loop\"\nsize = { pareto = { mean = \"20 KB\", shape = 1.2 } }\nthink = { exponential = \"500 ms\" }\ntcp = { profile = \"rfc\" }",
    "kind = \"rpc\"\nrequest = \"200 B\"\nresponse = { exponential = \"10 KB\" }\nthink = { uniform = \"0 s .. 1 s\" }\ntcp = { profile = \"rfc\" }",
    concat!(
        "kind = \"cvec\"\nfile = \"",
        env!("CARGO_MANIFEST_DIR"),
        "/tests/small.cvec\"\ntcp = { profile = \"rfc\" }"
    ),
    "kind = \"on-off\"\nrate = \"1 Mbit/s\"\npacket = \"500 B\"\non = { exponential = \"100 ms\" }\noff = { exponential = \"1 s\" }",
    "kind = \"on-off\" # Pareto\nrate = \"1 Mbit/s\"\npacket = \"500 B\"\non = { pareto = { mean = \"100 ms\", shape = 1.5 } }\noff = \"1 s\"",
    "kind = \"self-similar\"\nmean = \"300 kbit/s\"\nmax = \"900 kbit/s\"\nhurst = 0.9\npacket = \"200 B\"",
];

fn digest(text: &str) -> u64 {
    let network = Scenario::from_toml(text)
        .and_then(|scenario| scenario.network(7))
        .unwrap_or_else(|error| panic!("{error}"));
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    let output = Engine::run(&network, &Control::default(), Some(&mut digest)).unwrap();
    digest.add(serde_json::to_string(&output).unwrap().as_bytes());
    digest.0
}

#[test]
fn results_and_traces_are_the_same_bytes_everywhere() {
    let methods = [
        "none",
        "host",
        "host rule = ideal, jitter = 0.5",
        "host rule = linux",
        "edge 10 ms",
        "qlbp load = 0.3, max_delay = 20 ms",
        "token-bucket rate = 4 Mbit/s, burst = 6 KB",
        "port",
    ];
    let mut lines = String::new();
    for variant in ["reno", "newreno", "tahoe", "sack", "rfc6675", "fack"] {
        for method in methods {
            let text = format!("pacing = \"{method}\"\n{}", NETWORK.replace("VARIANT", variant));
            writeln!(lines, "{:016x}  {variant}, {method}", digest(&text)).unwrap();
        }
    }
    for traffic in TRAFFIC {
        let (network, _) = NETWORK.split_once("[[traffic]]").unwrap();
        let kind = traffic.lines().next().unwrap();
        writeln!(lines, "{:016x}  {kind}", digest(&format!("{network}[[traffic]]\n{traffic}"))).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests.txt");
    if std::env::var_os("PACELINE_WRITE_DIGESTS").is_some() {
        std::fs::write(&path, &lines).unwrap();
    }
    assert_eq!(lines, std::fs::read_to_string(&path).unwrap(), "results differ from the committed digests");
}

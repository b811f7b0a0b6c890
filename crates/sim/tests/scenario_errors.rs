//! What is wrong with a scenario is one line: where, what, and what to write instead.

use paceline_sim::Scenario;

/// A scenario without fault; each case changes one line of it.
const SOUND: &str = r#"
title = "sound"
duration = "10 s"
warmup = "1 s"
seed = 1

[network]
template = "dumbbell"
core = { rate = "10 Mbit/s", delay = "10 ms", buffer = "20 packets" }
edge = { count = 2, rate = "20 Mbit/s", delay = "1 ms .. 2 ms" }
access = { per_edge = 3, rate = "10 Mbit/s", delay = "1 ms" }

[[traffic]]
kind = "bulk"
tcp = { variant = "reno", profile = "ns2" }
start = "0 s .. 1 s"

[[traffic]]
kind = "cbr"
packet = "1000 B"
rate = "1 Mbit/s"
from = "left.0"

[pacing]
method = "edge"
delay = "10 ms"

[[drop]]
link = "core"
flow = 0
arrivals = [3]

[probes]
queue = { links = "core", every = "10 ms" }
"#;

/// A line of [`SOUND`], what stands there instead, and the error.
const CASES: &[(&str, &str, &str)] = &[
    // Syntax
    ("seed = 1", "seed = = 1", "?"),
    ("seed = 1", "seed = 1\nseed = 2", "?"),
    // The file
    ("duration = \"10 s\"", "duration = 10", "?"),
    ("duration = \"10 s\"", "duration = \"0 s\"", "?"),
    ("duration = \"10 s\"", "duration = \"600 years\"", "?"),
    ("duration = \"10 s\"", "duration = \"400000000 min\"", "?"),
    ("duration = \"10 s\"", "", "?"),
    ("warmup = \"1 s\"", "warmup = \"10 s\"", "?"),
    ("seed = 1", "seed = -1", "?"),
    ("seed = 1", "seed = 1.5", "?"),
    ("title = \"sound\"", "titel = \"sound\"", "?"),
    ("title = \"sound\"", "colour = \"red\"", "?"),
    ("title = \"sound\"", "title = 5", "?"),
    ("title = \"sound\"", "sweep = 5", "?"),
    ("title = \"sound\"", "node = []", "?"),
    // The network
    ("template = \"dumbbell\"", "template = \"dumbell\"", "?"),
    ("template = \"dumbbell\"", "template = \"ring\"", "?"),
    ("template = \"dumbbell\"", "template = \"dumbbell\"\ncounts = \"ns3\"", "?"),
    ("buffer = \"20 packets\"", "bufer = \"20 packets\"", "?"),
    ("buffer = \"20 packets\"", "colour = \"red\"", "?"),
    ("buffer = \"20 packets\"", "buffer = 5", "?"),
    ("buffer = \"20 packets\"", "buffer = true", "?"),
    ("buffer = \"20 packets\"", "buffer = [5]", "?"),
    ("buffer = \"20 packets\"", "buffer = \"500 B\"", "?"),
    ("buffer = \"20 packets\"", "buffer = \"0.001 BDP\"", "?"),
    ("buffer = \"20 packets\"", "buffer = \"1040 B\", counts = \"ns2\"", "?"),
    ("buffer = \"20 packets\"", "buffer = \"1 packet\", counts = \"ns2\"", "?"),
    ("buffer = \"20 packets\"", "buffer = \"20 pkts\"", "?"),
    ("buffer = \"20 packets\"", "buffer = \"10 ms\"", "?"),
    ("buffer = \"20 packets\"", "drop = \"head\"", "?"),
    ("buffer = \"20 packets\"", "reverse_buffer = \"20 B\"", "?"),
    ("delay = \"1 ms .. 2 ms\"", "delay = \"2 ms .. 1 ms\"", "?"),
    ("delay = \"1 ms .. 2 ms\"", "delai = \"1 ms\"", "?"),
    ("rate = \"20 Mbit/s\"", "rate = \"0 Mbit/s\"", "?"),
    ("rate = \"20 Mbit/s\", ", "", "?"),
    ("count = 2", "count = 0", "?"),
    ("count = 2", "count = 10000000", "?"),
    ("per_edge = 3", "hosts = 3", "?"),
    ("per_edge = 3", "per_edge = 3, name = \"left\"", "?"),
    ("per_edge = 3", "per_edge = 10000001", "?"),
    ("edge = { count = 2, rate = \"20 Mbit/s\", delay = \"1 ms .. 2 ms\" }", "", "?"),
    ("edge = { count = 2, rate = \"20 Mbit/s\", delay = \"1 ms .. 2 ms\" }", "edge = 2", "?"),
    ("template = \"dumbbell\"", "template = \"dumbbell\"\nreceivers = 7", "?"),
    // Traffic
    ("kind = \"bulk\"", "kind = \"rpc\"", "?"),
    ("kind = \"bulk\"", "kind = \"bluk\"", "?"),
    ("kind = \"bulk\"", "kind = \"bulk\"\nrate = \"1 Mbit/s\"", "?"),
    ("kind = \"bulk\"", "kind = \"bulk\"\ncount = 0", "?"),
    ("kind = \"bulk\"", "kind = \"bulk\"\ncount = 10000000", "?"),
    ("kind = \"bulk\"", "kind = \"bulk\"\nname = \"a*\"", "?"),
    ("variant = \"reno\"", "variant = \"vegas\"", "?"),
    ("variant = \"reno\"", "max_window = 1000", "?"),
    ("variant = \"reno\"", "max_window = \"0 packets\"", "?"),
    ("variant = \"reno\"", "payload = \"100 KB\"", "?"),
    ("variant = \"reno\"", "min_rto = \"2 min\"", "?"),
    ("variant = \"reno\"", "syn = true", "?"),
    ("variant = \"reno\"", "limited_transmit = \"yes\"", "?"),
    ("start = \"0 s .. 1 s\"", "start = \"10 s\"", "?"),
    ("from = \"left.0\"", "from = \"left.9\"", "?"),
    ("from = \"left.0\"", "from = \"top\"", "?"),
    ("from = \"left.0\"", "from = \"up.*\"", "?"),
    ("from = \"left.0\"", "from = []", "?"),
    ("from = \"left.0\"", "from = \"left.0\"\nto = \"left.0\"", "?"),
    ("from = \"left.0\"", "header = \"1001 B\"", "?"),
    ("from = \"left.0\"", "stop = \"0 s\"", "?"),
    ("from = \"left.0\"", "name = \"bulk\"", "?"),
    // Pacing
    ("method = \"edge\"", "method = \"egde\"", "?"),
    ("method = \"edge\"", "method = \"fq\"", "?"),
    ("delay = \"10 ms\"\n\n[[drop]]", "\n[[drop]]", "?"),
    ("delay = \"10 ms\"\n\n[[drop]]", "delay = 10\n[[drop]]", "?"),
    ("delay = \"10 ms\"\n\n[[drop]]", "deley = \"10 ms\"\n[[drop]]", "?"),
    ("method = \"edge\"", "method = \"edge\"\nshare = 1.5", "?"),
    ("method = \"edge\"", "method = \"edge\"\nat = \"egde.l.*\"", "?"),
    ("method = \"edge\"", "method = \"edge\"\nat = \"corr\"", "?"),
    ("method = \"edge\"", "method = \"edge 5 ms\"", "?"),
    ("[pacing]", "[[pacing]]\nmethod = \"edge\"\ndelay = \"5 ms\"\n\n[[pacing]]", "?"),
    // Losses and probes
    ("link = \"core\"", "link = \"cor\"", "?"),
    ("link = \"core\"", "link = \"access.l.3\"", "?"),
    ("flow = 0", "flow = 7", "?"),
    ("flow = 0", "flow = \"bluk.0\"", "?"),
    ("arrivals = [3]", "", "?"),
    ("arrivals = [3]", "arrivals = [3]\nprobability = 0.5", "?"),
    ("arrivals = [3]", "probability = 1.5", "?"),
    ("arrivals = [3]", "arrivals = [-3]", "?"),
    ("every = \"10 ms\"", "every = \"0 ms\"", "?"),
    ("every = \"10 ms\"", "every = \"1 ns\"", "?"),
    ("every = \"10 ms\"", "to = \"11 s\"", "?"),
    ("every = \"10 ms\"", "from = \"10 s\"", "?"),
    ("links = \"core\"", "links = \"edge.x\"", "?"),
];

#[test]
fn the_scenario_that_the_cases_change_is_sound() {
    assert_eq!(error_of(SOUND), None);
}

#[test]
fn every_error_is_one_line_that_says_where_and_what_to_write() {
    let mut wrong = String::new();
    for (line, instead, expected) in CASES {
        assert!(SOUND.contains(line), "no case without its line: {line}");
        let found = error_of(&SOUND.replacen(line, instead, 1)).unwrap_or_else(|| "accepted".to_owned());
        if found != *expected {
            wrong += &format!("{instead:?}\n  gives    {found}\n  expected {expected}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn error_of(text: &str) -> Option<String> {
    let network = Scenario::from_toml(text).and_then(|scenario| scenario.network(1));
    network.err().map(|error| error.to_string())
}

//! Random small networks: packets are conserved at every moment, order is kept, no link beats its capacity, watching
//! changes nothing, and the same input gives the same bytes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::Instant;
use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Method, Network, RunError, RunOutput, Scenario};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

/// A scenario in TOML, any of its parts drawn.
fn scenario() -> impl Strategy<Value = String> {
    let network = prop_oneof![
        (1..4_u32, 1..4_u32, 1..30_u32).prop_map(|(edges, hosts, rate)| format!(
            r#"template = "dumbbell"
            core = {{ rate = "{rate} Mbit/s", delay = "7 ms", buffer = BUFFER }}
            edge = {{ count = {edges}, rate = "20 Mbit/s", delay = "0 ms .. 3 ms", pacer_buffer = "40 packets" }}
            access = {{ per_edge = {hosts}, rate = "2 Mbit/s .. 40 Mbit/s", delay = "0 ms .. 2 ms" }}"#
        )),
        (1..30_u32, 1..30_u32).prop_map(|(first, second)| format!(
            r#"template = "path"
            links = [
                {{ name = "first", rate = "{first} Mbit/s", delay = "0 ms", buffer = BUFFER }},
                {{ name = "second", rate = "{second} Mbit/s", delay = "10 ms", buffer = BUFFER }},
            ]"#
        )),
        (1..4_u32, 1..20_u32).prop_map(|(hops, rate)| format!(
            r#"template = "parking-lot"
            hops = {hops}
            link = {{ rate = "{rate} Mbit/s", delay = "2 ms", buffer = BUFFER }}
            access = {{ hosts = 2, rate = "30 Mbit/s", delay = "1 ms" }}
            cross = {{ hosts = 1, rate = "30 Mbit/s", delay = "1 ms" }}"#
        )),
    ];
    let buffer = prop_oneof![
        (2..12_u32).prop_map(|n| format!("\"{n} packets\"")),
        (2..20_u32).prop_map(|n| format!("\"{n} KB\"")),
    ];
    let counts = prop_oneof![Just("waiting"), Just("waiting+service"), Just("ns2")];
    let pacing = prop_oneof![
        Just("method = \"none\"".to_owned()),
        (0..3_usize, 0..2_u32).prop_map(|(rule, jitter)| format!(
            "method = \"host\"\nrule = \"{}\"\njitter = {}",
            ["wei", "linux", "ideal"][rule],
            f64::from(jitter) * 0.3
        )),
        any::<bool>().prop_map(|per_flow| format!("method = \"port\"\nper_flow = {per_flow}")),
        (0..30_u32, any::<bool>()).prop_map(|(delay, finish)| format!(
            "method = \"edge\"\ndelay = \"{delay} ms\"\nrelease = \"{}\"\nat = AT",
            if finish { "finish" } else { "start" }
        )),
        (1..30_u32).prop_map(|q| format!(
            "method = \"qlbp\"\nmu_min = \"100 kbit/s\"\nmu_max = \"900 kbit/s\"\nq_max = \"{q} packets\"\nat = AT"
        )),
        (1..9_u32).prop_map(|rate| format!(
            "method = \"token-bucket\"\nrate = \"{rate}00 kbit/s\"\nburst = \"3 KB\"\nat = AT"
        )),
    ];
    let tcp = (0..6_usize, 0..5_usize, prop::option::of(20..200_u32), any::<bool>()).prop_map(
        |(variant, profile, delayed, timestamps)| {
            let variant = ["tahoe", "reno", "newreno", "sack1", "rfc6675", "fack"][variant];
            let profile = ["rfc", "ns2", "ns2-2.28", "ns2-validation", "linux"][profile];
            let delayed = delayed.map_or(String::new(), |ms| format!(", delayed_ack = \"{ms} ms\""));
            format!("variant = \"{variant}\", profile = \"{profile}\", timestamps = {timestamps}{delayed}")
        },
    );
    let loss = prop_oneof![
        3 => Just(String::new()),
        1 => (0..30_u32).prop_map(|n| format!("[[drop]]\nlink = LINK\nflow = 0\narrivals = [{n}, {}]", n + 2)),
        1 => (1..10_u32).prop_map(|percent| format!("[[drop]]\nlink = LINK\nprobability = 0.0{percent}")),
        1 => (1..10_u32).prop_map(|percent| format!("[[drop]]\nlink = BACK\nprobability = 0.0{percent}")),
    ];
    let background = prop_oneof![
        2 => Just(String::new()),
        1 => Just("[[traffic]]\nname = \"cbr\"\nkind = \"cbr\"\nrate = \"300 kbit/s\"\npacket = \"200 B\"".to_owned()),
        1 => Just("[[traffic]]\nname = \"p\"\nkind = \"poisson\"\nrate = \"700 kbit/s\"\npacket = \"500 B\"".to_owned()),
        4 => modulated(),
        8 => conversation(),
    ];
    // What applications say may be all that there is: then ends run ahead of time that else would wait.
    let bulk = prop_oneof![
        2 => Just("[[traffic]]\nkind = \"bulk\"\ncount = COUNT\nstart = \"0 s .. 500 ms\"\nTCP\n".to_owned()),
        1 => conversation().prop_map(|text| text.replacen("kind", "name = \"bulk\"\nkind", 1)),
    ];
    let front = prop_oneof![4 => Just(""), 1 => Just(", drop = \"front\"")];
    (network, buffer, counts, pacing, tcp, loss, background, front, (bulk, 1..3_u32)).prop_map(
        |(network, buffer, counts, pacing, tcp, loss, background, front, (bulk, count))| {
            let (at, link) = match &network {
                dumbbell if dumbbell.contains("dumbbell") => ("[\"edge.l.*\"]", "\"core\""),
                path if path.contains("\"path\"") => ("[\"first\"]", "\"second\""),
                _ => ("[\"hop.0\"]", "\"hop.0\""),
            };
            let network = network.replace("BUFFER", &format!("{buffer}{front}"));
            let (pacing, loss) = (pacing.replace("AT", at), loss.replace("LINK", link));
            let loss = loss.replace("BACK", &format!("{}.reverse\"", link.trim_end_matches('"')));
            format!(
                "duration = \"4 s\"\nwarmup = \"1 s\"\n[network]\ncounts = \"{counts}\"\n{network}\n[pacing]\n{pacing}\n\
                 {bulk}\n{background}\n{loss}\n"
            )
            .replace("COUNT", &count.to_string())
            .replace("TCP", &format!("tcp = {{ {tcp}, max_window = \"60 packets\" }}"))
        },
    )
}

/// Everything that can be measured, everywhere.
const INSTRUMENTS: &str = r#"
[probes]
departures = { links = ALL, from = "500 ms", to = "2 s" }
window = { flows = "FIRST", every = "7 ms" }
rate_variation = [
    { links = ALL, finest = "10 ms" },
    { links = ALL, at = "arrival" },
]
auto_covariance = { links = ALL, at = "arrival", lags = 3 }
succession = { links = ALL, by = "traffic" }
bursts = { links = ALL, of = "flow" }
drop_events = { links = ALL, length = "20 ms" }
delay = { by = "pacing" }
transfers = {}
fairness = { window = "400 ms", every = "100 ms" }
throughput = { links = ALL, by = "traffic", every = "33 ms", from = "1 s" }
"#;

/// A source whose rate changes.
fn modulated() -> impl Strategy<Value = String> {
    let time = |ms: u32, shape: u32| match shape {
        0 => format!("\"{ms} ms\""),
        1 => format!("{{ exponential = \"{ms} ms\" }}"),
        _ => format!("{{ pareto = {{ mean = \"{ms} ms\", shape = 1.{shape} }} }}"),
    };
    let head = "[[traffic]]\npacket = \"300 B\"\nstart = \"0 s .. 1 s\"";
    prop_oneof![
        (1..200_u32, 0..200_u32, 0..5_u32).prop_map(move |(on, off, shape)| {
            let off = if shape == 0 { format!("\"{off} ms\"") } else { time(off + 1, shape) };
            format!("{head}\nkind = \"on-off\"\nrate = \"1 Mbit/s\"\non = {}\noff = {off}", time(on, shape))
        }),
        (1..99_u32, 1..50_u32).prop_map(move |(h, slot)| format!(
            "{head}\nkind = \"self-similar\"\nmean = \"500 kbit/s\"\nmax = \"2 Mbit/s\"\nhurst = 0.{h:02}\nslot = \"{slot} ms\""
        )),
    ]
}

/// Applications over TCP.
fn conversation() -> impl Strategy<Value = String> {
    let size = prop_oneof![
        (1..40_000_u32).prop_map(|bytes| format!("\"{bytes} B\"")),
        (1..40_u32).prop_map(|kb| format!("{{ exponential = \"{kb} KB\" }}")),
        (1..40_u32).prop_map(|kb| format!("{{ pareto = {{ mean = \"{kb} KB\", shape = 1.3 }} }}")),
    ];
    let think = prop_oneof![
        1 => Just("\"0 s\"".to_owned()),
        2 => (1..300_u32).prop_map(|ms| format!("{{ exponential = \"{ms} ms\" }}")),
    ];
    let rto = (30..400_u32, any::<bool>(), 0..6_usize, any::<bool>());
    (size, think, rto, 0..5_u32, 1..4_u32).prop_map(|(size, think, (rto, syn, variant, delayed), kind, count)| {
        let variant = ["tahoe", "reno", "newreno", "sack1", "rfc6675", "fack"][variant];
        let delayed = if delayed { "\"40 ms\"" } else { "false" };
        let syn = if syn { "\"40 B\"" } else { "false" };
        let tcp = format!("tcp = {{ variant = \"{variant}\", delayed_ack = {delayed}, min_rto = \"{rto} ms\", initial_rto = \"{rto} ms\", syn = {syn}, initial_window = \"4 packets\" }}");
        let what = match kind {
            0 => format!("kind = \"closed-loop\"\nsize = {size}\nthink = {think}\ncount = {count}"),
            1 => format!("kind = \"closed-loop\"\nsize = {size}\nthink = {think}\nconnection = \"kept\"\ncount = {count}"),
            2 => format!("kind = \"rpc\"\nrequest = \"300 B\"\nresponse = {size}\nthink = {think}\ncount = {count}"),
            3 => format!("kind = \"rpc\"\nrequest = {size}\nresponse = {size}\nthink = {think}"),
            _ => format!("kind = \"cvec\"\nfile = \"{}/tests/small.cvec\"", env!("CARGO_MANIFEST_DIR")),
        };
        format!("[[traffic]]\n{what}\n{tcp}\nstart = \"0 s .. 500 ms\"")
    })
}

fn network(text: &str, seed: u64) -> Network {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    scenario.network(seed).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// By the windowed engine, or by the other where that has nothing to do.
fn in_windows(network: &Network) -> RunOutput {
    let run = |method| Engine::run_by(network, method, 1, &Control::default(), None);
    match run(Method::Windowed) {
        Err(RunError::NoWindows) => run(Method::Reference).unwrap(),
        output => output.unwrap(),
    }
}

/// Order per link and direction: packets of one flow leave a link in the order in which it took them. What it took and
/// then dropped (displaced, or refused by the buffer behind a pacer) is skipped.
fn assert_order(rows: &[TraceRow]) {
    #[derive(Default)]
    struct Inside {
        taken: VecDeque<i64>,
        dropped: usize,
    }
    let mut links: HashMap<(u32, u32, bool), Inside> = HashMap::new();
    for row in rows {
        let inside = links.entry((row.place, row.flow, row.is_ack)).or_default();
        match row.event {
            TraceEvent::Enqueue => inside.taken.push_back(row.seq),
            TraceEvent::Drop => inside.dropped += 1,
            TraceEvent::Dequeue => {
                while inside.taken.pop_front() != Some(row.seq) {
                    assert!(inside.dropped > 0 && !inside.taken.is_empty(), "order lost: {row:?}");
                    inside.dropped -= 1;
                }
            }
            TraceEvent::Send | TraceEvent::Receive => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("PACELINE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(150)))]

    #[test]
    fn laws_of_a_network(text in scenario(), seed in 0..1000_u64) {
        let network = network(&text, seed);
        let mut engine = Engine::new(&network, None);
        for millis in (0..=4000).step_by(37) {
            engine.run_until(Instant::from_nanos(millis * 1_000_000), &Control::default()).unwrap();
            let census = engine.census();
            prop_assert_eq!(census.sent, census.received + census.dropped + census.in_flight, "at {} ms: {:?}\n{}", millis, census, &text);
        }
        let plain = Engine::run(&network, &Control::default(), None).unwrap();
        let mut rows: Vec<TraceRow> = Vec::new();
        let traced = Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
        let json = |output| serde_json::to_string(output).unwrap();
        prop_assert_eq!(json(&plain), json(&traced), "{}", &text);
        prop_assert_eq!(&plain.flow_rows, &traced.flow_rows, "{}", &text);
        let windowed = in_windows(&network);
        prop_assert_eq!(json(&windowed), json(&traced), "{}", &text);
        prop_assert_eq!(&windowed.flow_rows, &traced.flow_rows, "{}", &text);
        prop_assert!(rows.is_sorted_by_key(|row| row.time_ns));
        assert_order(&rows);
        for (name, link) in &plain.links {
            prop_assert!(link.utilisation <= 1.0 + 1e-9, "{}: {:?}\n{}", name, link, &text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("PACELINE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(50)))]

    #[test]
    fn instruments_change_nothing_and_see_what_the_trace_sees(text in scenario(), seed in 0..1000_u64) {
        let plain = network(&text, seed);
        let links: Vec<&str> = plain.links.iter().map(|link| link.name.as_str()).collect();
        let first = plain.flows[0].name.split('.').next().unwrap();
        let instruments = INSTRUMENTS.replace("ALL", &format!("{links:?}")).replace("FIRST", first);
        let watched = network(&format!("{text}{instruments}"), seed);
        let json = |output| serde_json::to_string(output).unwrap();
        let unwatched = Engine::run(&plain, &Control::default(), None).unwrap();
        let output = Engine::run(&watched, &Control::default(), None).unwrap();
        prop_assert_eq!(json(&unwatched), json(&output), "{}", &text);
        let mut rows: Vec<TraceRow> = Vec::new();
        let traced = Engine::run(&watched, &Control::default(), Some(&mut rows)).unwrap();
        prop_assert_eq!(format!("{:?}", &output.curves), format!("{:?}", &traced.curves), "{}", &text);
        let windowed = in_windows(&watched);
        prop_assert_eq!(json(&windowed), json(&traced), "{}", &text);
        prop_assert_eq!(format!("{:?}", &windowed.curves), format!("{:?}", &traced.curves), "{}", &text);
        prop_assert_eq!(format!("{:?}", &windowed.series), format!("{:?}", &traced.series), "{}", &text);
        for (place, (name, link)) in output.links.iter().enumerate() {
            let curve = |instrument: &str| {
                output.curves.iter().find(|curve| curve.instrument == instrument && curve.link == *name)
            };
            let carried = curve("carried").unwrap().points.last().unwrap();
            let expected = link.throughput_bps * 3.0 / 8.0;
            prop_assert!((carried.y - expected).abs() <= 1e-9 * expected, "{}: {:?} {}\n{}", name, carried, expected, &text);
            let mut counts = vec![0_u64; 300]; // bytes in intervals of 10 ms after the warm-up
            let leaves = |row: &&TraceRow| row.event == TraceEvent::Dequeue && row.place == place as u32;
            for row in rows.iter().filter(leaves) {
                if let Some(index) = row.time_ns.checked_sub(1_000_000_000)
                    && let Some(count) = counts.get_mut((index / 10_000_000) as usize)
                {
                    *count += u64::from(row.bytes);
                }
            }
            let sum: u64 = counts.iter().sum();
            let found = curve("rate_variation").map(|found| found.points[0].y);
            let mean = sum as f64 / 300.0;
            let squares = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>();
            let expected = (sum > 0).then(|| (squares / 299.0).sqrt() / mean);
            let close = found.zip(expected).is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * b);
            prop_assert!(close || found == expected, "{}: {:?} {:?}\n{}", name, found, expected, &text);
        }
    }
}

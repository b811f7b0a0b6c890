//! Instruments against closed forms, known inputs and hand computations, through whole simulations.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::{Control, Curve, Engine, RunOutput, Scenario};

/// Student t, 97.5 %, 19 degrees of freedom.
const T_19: f64 = 2.093;
const SEEDS: u64 = 20;

fn run(text: &str, seed: u64) -> RunOutput {
    let network = Scenario::from_toml(text).and_then(|scenario| scenario.network(seed));
    let network = network.unwrap_or_else(|error| panic!("{error}\n{text}"));
    Engine::run(&network, &Control::default(), None).unwrap()
}

/// The only curve of an instrument.
fn curve(output: &RunOutput, instrument: &str) -> Curve {
    let mut found = output.curves.iter().filter(|curve| curve.instrument == instrument);
    let first = found.next().unwrap_or_else(|| panic!("no {instrument} in {:?}", output.curves)).clone();
    assert!(found.next().is_none(), "one {instrument}");
    first
}

fn xy(curve: &Curve) -> Vec<(f64, f64)> {
    curve.points.iter().map(|point| (point.x, point.y)).collect()
}

/// Ten seconds of a link of 8 Mbit/s, on which 1000 B take a millisecond.
fn one_link(traffic: &str, probes: &str) -> String {
    one_link_for(10, traffic, probes)
}

fn one_link_for(seconds: u32, traffic: &str, probes: &str) -> String {
    format!(
        r#"
        duration = "{seconds} s"
        [network]
        template = "path"
        links = [{{ name = "link", rate = "8 Mbit/s", delay = "10 ms" }}]
        [probes]
        {probes}
        {traffic}
        "#
    )
}

fn source(kind: &str, name: &str, rate: &str, start: &str) -> String {
    format!(
        "[[traffic]]\nkind = \"{kind}\"\nname = \"{name}\"\npacket = \"1000 B\"\nrate = \"{rate}\"\nstart = \"{start}\"\n"
    )
}

/// Whether the mean of one number over seeds has `expected` in its 95 % interval, and that is narrow.
fn assert_covers(values: &[f64], expected: f64, widest: f64, what: &str) {
    let n = values.len() as f64;
    assert_eq!(values.len() as u64, SEEDS);
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = T_19 * (variance / n).sqrt();
    assert!((mean - expected).abs() <= half, "{what}: {mean} ± {half}, theory {expected}");
    assert!(half <= widest, "{what}: the interval is too wide to say anything: {half}");
}

#[test]
fn a_metronome_has_no_variation_at_multiples_of_its_gap() {
    // A packet each 4 ms, from 1.5 ms on.
    let probes = "rate_variation = { finest = \"1 ms\", coarsest = \"1 s\" }";
    let found =
        curve(&run(&one_link(&source("cbr", "a", "2 Mbit/s", "1500 us"), probes), 1), "rate_variation");
    assert_eq!(found.link, "link");
    let points = xy(&found);
    let scales: Vec<f64> = points.iter().map(|(scale, _)| (scale * 1e3).round()).collect();
    assert_eq!(scales, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
    // A share p of the intervals has a packet: sqrt((1 - p) / p), for a sample of n by n / (n - 1).
    for (index, (p, n)) in [(0.25_f64, 10_000.0), (0.5, 5000.0)].into_iter().enumerate() {
        let expected = ((1.0 - p) / p * n / (n - 1.0)).sqrt();
        assert!((points[index].1 - expected).abs() < 1e-12, "{:?} {expected}", points[index]);
    }
    assert!(points[2..].iter().all(|(_, variation)| *variation == 0.0), "{points:?}");
}

#[test]
fn poisson_varies_as_the_root_of_its_count() {
    // As they arrive, the gaps are exponential; a queue before the wire changes them.
    let probes = "rate_variation = { at = \"arrival\", finest = \"10 ms\", coarsest = \"640 ms\" }";
    let text = one_link_for(400, &source("poisson", "a", "4 Mbit/s", "0 s"), probes);
    let runs: Vec<Vec<f64>> = (1..=SEEDS)
        .map(|seed| curve(&run(&text, seed), "rate_variation").points.iter().map(|p| p.y).collect())
        .collect();
    for scale in 0..7 {
        let values: Vec<f64> = runs.iter().map(|run| run[scale]).collect();
        // 500 packets/s.
        let expected = 1.0 / (500.0 * 0.010 * f64::from(1 << scale)).sqrt();
        assert_covers(&values, expected, expected * 0.01, &format!("scale {scale}"));
    }
}

#[test]
fn poisson_counts_are_independent_and_as_variable_as_many() {
    let probes = "auto_covariance = { at = \"arrival\", interval = \"10 ms\", lags = 5 }";
    let text = one_link(&source("poisson", "a", "4 Mbit/s", "0 s"), probes);
    let runs: Vec<Curve> = (1..=SEEDS).map(|seed| curve(&run(&text, seed), "auto_covariance")).collect();
    let unit = (8000.0_f64 / 0.010).powi(2); // packets² in 10 ms, as (bit/s)²
    for lag in 0..=5 {
        let values: Vec<f64> = runs.iter().map(|run| run.points[lag].y / unit).collect();
        assert!((runs[0].points[lag].x - 0.010 * lag as f64).abs() < 1e-12);
        let expected = if lag == 0 { 500.0 * 0.010 } else { 0.0 };
        assert_covers(&values, expected, 0.25, &format!("lag {lag}"));
    }
}

#[test]
fn packets_of_equal_size_that_come_at_random_wait_as_in_theory() {
    // M/D/1: half of them find the wire idle; on average they wait load / (2 (1 - load)) of a millisecond on the wire.
    let text = one_link_for(400, &source("poisson", "a", "4 Mbit/s", "0 s"), "sojourn = {}");
    let runs: Vec<Curve> = (1..=SEEDS).map(|seed| curve(&run(&text, seed), "sojourn")).collect();
    let mean = |curve: &Curve| {
        let all = curve.points.last().unwrap().count as f64;
        let each = curve.points.iter().scan(0, |below, point| {
            Some(point.x * (point.count - std::mem::replace(below, point.count)) as f64)
        });
        each.sum::<f64>() / all
    };
    assert_covers(&runs.iter().map(mean).collect::<Vec<_>>(), 0.5e-3, 0.02e-3, "mean");
    let idle: Vec<f64> = runs.iter().map(|run| run.points[0].y).collect();
    assert!(runs.iter().all(|run| run.points[0].x == 0.0));
    assert_covers(&idle, 0.5, 0.01, "idle");
    // A queue that is gone through packet by packet, and drops none, is the same.
    let stepwise = text.replace(
        "delay = \"10 ms\"",
        "delay = \"10 ms\", queue = { discipline = \"codel\", target = \"1 s\" }",
    );
    assert_eq!(curve(&run(&stepwise, 1), "sojourn"), runs[0]);
}

#[test]
fn a_square_wave_covaries_with_its_own_period() {
    // A packet each 4 ms in intervals of 1 ms: 1 0 0 0 1 0 0 0 …; mean 1/4, variance 3/16, -1/16 between.
    let probes = "auto_covariance = { interval = \"1 ms\", lags = 8 }";
    let found = curve(&run(&one_link(&source("cbr", "a", "2 Mbit/s", "0 s"), probes), 1), "auto_covariance");
    let unit = 8e6_f64.powi(2);
    for (lag, point) in found.points.iter().enumerate() {
        let expected = if lag % 4 == 0 { 3.0 / 16.0 } else { -1.0 / 16.0 };
        assert!((point.y / unit - expected).abs() < 1e-3, "lag {lag}: {}", point.y / unit);
    }
}

#[test]
fn alternating_flows_always_follow_each_other() {
    let two = source("cbr", "a", "2 Mbit/s", "0 s") + &source("cbr", "b", "2 Mbit/s", "2 ms");
    let output = run(&one_link(&two, "succession = { links = \"link\" }"), 1);
    let found: Vec<(&str, &str, f64)> = output
        .curves
        .iter()
        .map(|curve| (curve.flow.as_str(), curve.next.as_str(), curve.points[0].y))
        .collect();
    let expected = [("a.0", "a.0", 0.0), ("a.0", "b.0", 1.0), ("b.0", "a.0", 1.0), ("b.0", "b.0", 0.0)];
    assert_eq!(found, expected);
}

#[test]
fn a_window_of_ten_is_a_burst_of_ten() {
    // A SYN alone, ten packets at once, then as acknowledgements come each 10 ms: two at a time, back to back.
    let text = r#"
        duration = "3 s"
        [network]
        template = "path"
        links = [
            { name = "host", rate = "80 Mbit/s", delay = "1 ms" },
            { name = "slow", rate = "800 kbit/s", delay = "100 ms" },
        ]
        [probes]
        bursts = [{ links = "host" }, { links = "slow" }]
        [[traffic]]
        kind = "bulk"
        size = "30 packets"
        tcp = { profile = "rfc", payload = "960 B", header = "40 B" }
    "#;
    let output = run(text, 1);
    let of = |link: &str| {
        let found = output.curves.iter().find(|curve| curve.link == link).unwrap();
        found.points.iter().map(|point| (point.x as u64, point.count)).collect::<Vec<_>>()
    };
    assert_eq!(of("host"), [(1, 1), (2, 11), (10, 12)]);
    // The slow wire idles only while it waits for acknowledgements: 1, 10, then all the rest.
    assert_eq!(of("slow"), [(1, 1), (10, 2), (20, 3)]);
}

#[test]
fn jain_of_rates_three_to_one_is_four_fifths() {
    let two = source("cbr", "a", "3 Mbit/s", "0 s") + &source("cbr", "b", "1 Mbit/s", "0 s");
    let output =
        run(&one_link(&two, "fairness = { window = \"1 s\", every = \"250 ms\", from = \"1 s\" }"), 1);
    let points = xy(&curve(&output, "jain"));
    let times: Vec<f64> = points.iter().map(|(time, _)| *time).collect();
    assert_eq!(times.first().zip(times.last()), Some((&2.0, &10.0)));
    assert_eq!(times.len(), 33);
    // 375 and 125 packets a second, give or take one at the edges of a window.
    assert!(points.iter().all(|(_, jain)| (jain - 0.8).abs() < 0.005), "{points:?}");
    assert!(points.iter().filter(|(_, jain)| *jain == 0.8).count() > 10, "{points:?}");
}

const SLOW_START: &str = r#"
    duration = "1 s"
    [network]
    template = "path"
    links = [{ name = "link", rate = "1 Gbit/s", delay = "50 ms" }]
    [probes]
    window = { flows = "bulk", every = EVERY }
    [[traffic]]
    kind = "bulk"
    start = "20 ms"
    tcp = { profile = "rfc", initial_window = "1 packets", initial_ssthresh = "64 packets", max_window = "100 packets" }
"#;

#[test]
fn slow_start_doubles_each_round_trip() {
    let output = run(&SLOW_START.replace("EVERY", "\"10 ms\""), 1);
    let cwnd = xy(&curve(&output, "cwnd"));
    assert_eq!(cwnd[0], (0.02, 1.0));
    let at = |seconds: f64| cwnd.iter().find(|(time, _)| (time - seconds).abs() < 1e-9).unwrap().1;
    // The handshake ends at 120 ms; each acknowledgement adds one. Sampled well before the next ones come.
    let doubling: Vec<f64> = [0.17, 0.27, 0.37, 0.47, 0.57, 0.67, 0.77].map(at).to_vec();
    assert_eq!(doubling, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    assert!((at(0.87) - 65.0).abs() < 0.05, "then one a round trip: {}", at(0.87));
    let srtt = xy(&curve(&output, "srtt"));
    assert!((srtt[0].0 - 0.13).abs() < 1e-9, "none before the first sample: {:?}", srtt[0]);
    assert!(srtt.iter().all(|(_, srtt)| (srtt - 0.1).abs() < 0.001));
    assert!(curve(&output, "ssthresh").points.iter().all(|point| point.y == 64.0));
}

#[test]
fn every_change_is_every_acknowledgement() {
    let output = run(&SLOW_START.replace("EVERY", "\"change\""), 1);
    let cwnd: Vec<f64> = curve(&output, "cwnd").points.iter().map(|point| point.y).collect();
    let expected: Vec<f64> = (1..=64).map(f64::from).collect();
    assert_eq!(cwnd[..64], expected);
    assert_eq!(curve(&output, "ssthresh").points.len(), 1);
}

#[test]
fn forced_drops_make_the_events_they_should() {
    // Two flows, a packet each 4 ms, b half-way between; the gaps between drops are 2, 2, 12 and 100 ms or so.
    let two = source("cbr", "a", "2 Mbit/s", "0 s") + &source("cbr", "b", "2 Mbit/s", "2 ms");
    let drops = r#"
        [[drop]]
        link = "link"
        flow = "a.0"
        arrivals = [10, 11, 40]
        [[drop]]
        link = "link"
        flow = "b.0"
        arrivals = [10, 14]
    "#;
    let events = |probe: &str| {
        let output = run(&one_link(&(two.clone() + drops), &format!("drop_events = {{ {probe} }}")), 1);
        let of = |name: &str| {
            let found = curve(&output, name);
            found.points.iter().map(|point| (point.x as u64, point.count)).collect::<Vec<_>>()
        };
        (of("drop_event_flows"), of("drop_event_packets"))
    };
    // At 40, 42, 44, 58 and 160 ms.
    assert_eq!(events("gap = \"10 ms\""), (vec![(1, 2), (2, 3)], vec![(1, 2), (3, 3)]));
    assert_eq!(events("gap = \"15 ms\""), (vec![(1, 1), (2, 2)], vec![(1, 1), (4, 2)]));
    assert_eq!(events("length = \"3 ms\""), (vec![(1, 3), (2, 4)], vec![(1, 3), (2, 4)]));
    // One round trip is 20 ms.
    assert_eq!(events(""), events("length = \"20 ms\""));
    assert_eq!(events(""), (vec![(1, 1), (2, 2)], vec![(1, 1), (4, 2)]));
}

#[test]
fn the_delay_of_a_clean_path_is_one_number() {
    let probes = "delay = { by = \"traffic\" }";
    let output = run(&one_link(&source("cbr", "a", "2 Mbit/s", "0 s"), probes), 1);
    let found = curve(&output, "delay");
    assert_eq!(found.flow, "a");
    assert_eq!(xy(&found), [(0.011, 1.0)]); // a millisecond on the wire, ten to the far end
    // What reached the far end before ten seconds: packets of 0, 4, …, 9988 ms.
    assert_eq!(found.points[0].count, 2498);
}

#[test]
fn a_repair_counts_from_the_first_transmission() {
    let text = r#"
        duration = "5 s"
        [network]
        template = "path"
        links = [{ name = "link", rate = "8 Mbit/s", delay = "50 ms" }]
        [probes]
        delay = [{}, { until = "arrival" }]
        transfers = { by = "flow" }
        [[drop]]
        link = "link"
        flow = 0
        arrivals = [6]
        [[traffic]]
        kind = "bulk"
        size = "10 packets"
        tcp = { profile = "rfc", payload = "960 B", header = "40 B", initial_window = "10 packets" }
    "#;
    let output = run(text, 1);
    let delay = curve(&output, "delay");
    // The sixth packet is sent with the others, again when the third duplicate is there; those behind it wait for it.
    // It arrives when the third after it has arrived (at 9 ms + 50 ms), 50 ms later at the sender, 1 + 50 ms there again.
    let last = delay.points.last().unwrap();
    assert_eq!(last.count, 10);
    assert!((last.x - 0.160).abs() < 0.002, "{last:?}");
    assert_eq!(delay.points.iter().filter(|point| point.x < 0.1).count(), 5, "five came before the gap");
    // Until their own arrival those behind it wait for nothing: nine take 50 ms and what is before them on the wire.
    let arrival = curve(&output, "arrival_delay");
    let repaired = arrival.points.last().unwrap();
    assert_eq!((repaired.count, repaired.x), (10, last.x));
    assert_eq!(arrival.points.iter().filter(|point| point.x < 0.1).count(), 9);
    let fct = curve(&output, "fct");
    assert_eq!((fct.flow.as_str(), fct.points.len()), ("bulk.0", 1));
    assert_eq!(output.flows.fct_mean_s, Some(fct.points[0].x));
}

#[test]
fn what_was_carried_in_the_end_is_the_links_throughput() {
    let text = r#"
        duration = "6 s"
        warmup = "1 s"
        [network]
        template = "dumbbell"
        core = { rate = "10 Mbit/s", delay = "10 ms", buffer = "10 KB" }
        access = { hosts = 5, rate = "7 Mbit/s", delay = "1 ms .. 5 ms" }
        [probes]
        throughput = { links = ["core", "access.*.*"], flows = "bulk", by = "flow", from = "1 s", every = "70 ms" }
        [[traffic]]
        kind = "bulk"
        tcp = { profile = "rfc" }
        start = "0 s .. 100 ms"
    "#;
    let output = run(text, 3);
    let mut links = 0;
    for found in output.curves.iter().filter(|curve| curve.instrument == "carried") {
        links += 1;
        let (_, link) = output.links.iter().find(|(name, _)| *name == found.link).unwrap();
        let last = found.points.last().unwrap();
        assert_eq!((found.points[0].y, last.x), (0.0, 6.0), "{}", found.link);
        let expected = link.throughput_bps * 5.0 / 8.0;
        assert!((last.y - expected).abs() < 1e-6 * expected, "{}: {} {expected}", found.link, last.y);
        assert!(found.points.is_sorted_by(|a, b| a.y <= b.y && a.x < b.x));
    }
    assert_eq!(links, 11);
    let delivered = output.curves.iter().filter(|curve| curve.instrument == "delivered");
    for (found, row) in delivered.zip(&output.flow_rows) {
        assert!(
            (found.points.last().unwrap().y - row.goodput_bps * 5.0 / 8.0).abs() < 1e-3,
            "{}",
            found.flow
        );
    }
}

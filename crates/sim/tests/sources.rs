//! Open-loop sources against theory, as their packets leave the host.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use crate::written::{Packet, pcap};
use paceline_sim::trace::{TraceEvent, TraceRow, TraceSink};
use paceline_sim::{Control, Engine, Network, Scenario};
use std::f64::consts::PI;

/// Bits that each flow sends in each interval.
struct Rates {
    interval_ns: u64,
    flows: Vec<Vec<f64>>,
}

impl TraceSink for Rates {
    fn row(&mut self, row: &TraceRow) -> bool {
        if row.event == TraceEvent::Send {
            let intervals = &mut self.flows[row.flow as usize];
            if let Some(interval) = intervals.get_mut((row.time_ns / self.interval_ns) as usize) {
                *interval += f64::from(row.bytes) * 8.0;
            }
        }
        true
    }
}

fn network(text: &str) -> Network {
    let scenario = Scenario::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    scenario.network(1).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn path(seconds: f64, traffic: &str) -> String {
    format!(
        "duration = \"{seconds} s\"\nprobes = {{}}\n[network]\ntemplate = \"path\"\n\
         links = [{{ name = \"first\", rate = \"10 Gbit/s\", delay = \"1 ms\" }}]\n[[traffic]]\n{traffic}\n"
    )
}

/// Rates in bit/s over intervals of `interval` seconds, for each flow.
fn rates(seconds: f64, interval: f64, traffic: &str) -> Vec<Vec<f64>> {
    let network = network(&path(seconds, traffic));
    let intervals = (seconds / interval).round() as usize;
    let interval_ns = (interval * 1e9).round() as u64;
    let mut rates = Rates { interval_ns, flows: vec![vec![0.0; intervals]; network.flows.len()] };
    Engine::run(&network, &Control::default(), Some(&mut rates)).unwrap();
    rates.flows.iter_mut().flatten().for_each(|bits| *bits /= interval);
    rates.flows
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

#[test]
fn on_off_rates_have_the_auto_covariance_of_the_qlbp_paper() {
    // Equation (5): h^2 r1 r2 / (r1 + r2)^2 exp(-(r1 + r2) t), where off periods last 1 / r1 and on periods 1 / r2 on average.
    let (h, r1, r2) = (1e6, 1.0 / 0.3, 1.0 / 0.1);
    let (seconds, interval, count) = (400.0, 0.02, 30);
    let rates = rates(
        seconds,
        interval,
        &format!(
            "kind = \"on-off\"\nrate = \"1 Mbit/s\"\npacket = \"100 B\"\ncount = {count}\n\
             on = {{ exponential = \"100 ms\" }}\noff = {{ exponential = \"300 ms\" }}"
        ),
    );
    let r = r1 + r2;
    let expected_mean = h * r1 / r;
    let variance = h * h * r1 * r2 / (r * r);
    let x = r * interval;
    // Averaged over intervals, the exponential becomes this; at lag 0, its integral over the triangle.
    let averaged = |lag: usize| match lag {
        0 => variance * 2.0 * (x - 1.0 + libm::exp(-x)) / (x * x),
        lag => variance * libm::exp(-x * lag as f64) * (libm::exp(x) + libm::exp(-x) - 2.0) / (x * x),
    };
    // A time average over T of a process with this covariance has a variance of 2 C / (r T).
    let total = seconds * f64::from(count);
    let seen_mean = mean(rates.iter().flatten().copied());
    assert!((seen_mean - expected_mean).abs() < 4.0 * (2.0 * variance / (r * total)).sqrt(), "{seen_mean}");
    for lag in [0, 1, 2, 3, 5, 8, 12, 30] {
        let products = rates.iter().flat_map(|flow| {
            flow.iter().zip(&flow[lag..]).map(|(a, b)| (a - expected_mean) * (b - expected_mean))
        });
        let (seen, expected) = (mean(products), averaged(lag));
        // Of such products, no worse than that of their squares: on is 3 standard deviations from the mean, so their
        // fourth moment is 3 variances squared.
        let error = variance * (3.0 * 2.0 / (r * total)).sqrt();
        assert!(
            (seen - expected).abs() < 4.0 * error,
            "lag {lag}: {seen:.4e}, not {expected:.4e} within {error:.1e}"
        );
        assert!(lag > 3 || error < 0.03 * expected, "the test would not see a difference");
    }
}

#[test]
fn pareto_periods_have_their_means_and_fixed_ones_their_length() {
    // Shape 2.5: means of samples converge as they should. 600 s, cycles of 0.5 s.
    let pareto = |mean| format!("{{ pareto = {{ mean = \"{mean} ms\", shape = 2.5 }} }}");
    let traffic = |on: String, off: String| {
        format!(
            "kind = \"on-off\"\nrate = \"2 Mbit/s\"\npacket = \"500 B\"\ncount = 20\non = {on}\noff = {off}"
        )
    };
    let all = rates(600.0, 1.0, &traffic(pareto(200), pareto(300)));
    let seen = mean(all.iter().flatten().copied());
    assert!((seen / 0.8e6 - 1.0).abs() < 0.03, "{seen}");
    // Half of the time on, 10 ms each: every interval of 20 ms has 10 ms of it.
    let all = rates(20.0, 0.02, &traffic("\"10 ms\"".into(), "\"10 ms\"".into()));
    assert!(
        all.iter().flat_map(|flow| &flow[1..]).all(|rate| (rate - 1e6).abs() <= 4000.0 / 0.02),
        "{all:?}"
    );
}

/// Slope of the least-squares line.
fn slope(points: &[(f64, f64)]) -> f64 {
    let (x, y) = (mean(points.iter().map(|p| p.0)), mean(points.iter().map(|p| p.1)));
    let xy: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    xy / points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum::<f64>()
}

/// Variance of means over m slots goes as m^(2H - 2). The mean of the source is known, so no sample's mean stands in for it.
fn hurst_by_variance_time(flows: &[Vec<f64>], known_mean: f64) -> f64 {
    let points: Vec<(f64, f64)> = (0..9)
        .map(|octave| {
            let m = 1 << octave;
            let blocks = flows.iter().flat_map(|flow| flow.chunks_exact(m));
            let variance = mean(blocks.map(|block| {
                let deviation = block.iter().sum::<f64>() / m as f64 - known_mean;
                deviation * deviation
            }));
            (f64::from(octave), variance.log2())
        })
        .collect();
    1.0 + slope(&points) / 2.0
}

/// The spectrum goes as f^(1 - 2H) at low frequencies (Geweke and Porter-Hudak 1983, with the periodograms of all flows averaged).
fn hurst_by_periodogram(flows: &[Vec<f64>]) -> f64 {
    let n = flows[0].len();
    let points: Vec<(f64, f64)> = (1..=n / 40)
        .map(|k| {
            let angle = 2.0 * PI * k as f64 / n as f64;
            let power = mean(flows.iter().map(|flow| {
                // Goertzel's recurrence: the power at one frequency.
                let (mut a, mut b) = (0.0, 0.0);
                for value in flow {
                    (a, b) = (value + 2.0 * angle.cos() * a - b, a);
                }
                a * a + b * b - 2.0 * angle.cos() * a * b
            }));
            (libm::log(2.0 * (angle / 2.0).sin()), libm::log(power))
        })
        .collect();
    (1.0 - slope(&points)) / 2.0
}

/// Energy of Haar's details goes as 2^(octave (2H - 1)) (Abry and Veitch 1998): no mean comes in.
fn hurst_by_wavelets(flows: &[Vec<f64>]) -> f64 {
    let points: Vec<(f64, f64)> = (1..10)
        .map(|octave| {
            let half = 1 << (octave - 1);
            let blocks = flows.iter().flat_map(|flow| flow.chunks_exact(2 * half));
            let energy = mean(blocks.map(|block| {
                let sum = |part: &[f64]| part.iter().sum::<f64>();
                let detail = sum(&block[..half]) - sum(&block[half..]);
                detail * detail / (2 * half) as f64
            }));
            (f64::from(octave), energy.log2())
        })
        .collect();
    (1.0 + slope(&points)) / 2.0
}

#[test]
fn self_similar_rates_have_their_mean_and_their_hurst_exponent_by_three_estimators() {
    let (slots, interval, count) = (8192, 0.01, 16);
    for hurst in [0.5, 0.7, 0.8, 0.95] {
        // About ten packets a slot.
        let all = rates(
            f64::from(slots) * interval,
            interval,
            &format!(
                "kind = \"self-similar\"\nmean = \"1 Mbit/s\"\nmin = \"100 kbit/s\"\nmax = \"3 Mbit/s\"\n\
                 hurst = {hurst}\nslot = \"10 ms\"\npacket = \"125 B\"\ncount = {count}"
            ),
        );
        let by = [hurst_by_variance_time(&all, 1e6), hurst_by_periodogram(&all), hurst_by_wavelets(&all)];
        assert!(by.iter().all(|seen| (seen - hurst).abs() < 0.05), "{hurst}: {by:?}");
        // The mean over n slots of one source deviates by n^(H - 1) times a slot's deviation, here 0.3 Mbit/s.
        let error = 0.3e6 * libm::pow(f64::from(slots), hurst - 1.0) / f64::from(count).sqrt();
        let seen = mean(all.iter().flatten().copied());
        assert!((seen - 1e6).abs() < 4.0 * error, "{hurst}: {seen}, within {error}");
        // Bounds, to within a packet.
        let least = all.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().flatten().copied().fold(0.0, f64::max);
        assert!(
            least >= 100e3 - 2.0 * 1000.0 / interval && most <= 3e6 + 1000.0 / interval,
            "{least} {most}"
        );
    }
}

#[test]
fn the_surrogate_of_the_unc_trace_keeps_its_hurst_exponent_with_its_bounds_at_work() {
    // H 0.95, mean 16, range 10 to 35 Mbit/s; wide enough for every tenth slot to meet the lower bound.
    let all = rates(
        81.92,
        0.01,
        "kind = \"self-similar\"\nmean = \"16 Mbit/s\"\nmin = \"10 Mbit/s\"\nmax = \"35 Mbit/s\"\ndeviation = \"5 Mbit/s\"\n\
         hurst = 0.95\npacket = \"1000 B\"\ncount = 16",
    );
    let by = [hurst_by_variance_time(&all, 16e6), hurst_by_periodogram(&all), hurst_by_wavelets(&all)];
    assert!(by.iter().all(|seen| (seen - 0.95).abs() < 0.05), "{by:?}");
    let at_the_bound = mean(all.iter().flatten().map(|rate| f64::from(u8::from(*rate < 10.9e6))));
    assert!(at_the_bound > 0.1, "{at_the_bound}");
}

/// A capture on the disk for as long as it is needed.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!("paceline-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_capture_is_replayed_by_size_and_time() {
    // Times in microseconds, the third out of order; the wire's length is more than what was captured.
    let packet =
        |time: u64, bytes: u32| Packet { time: 5_000_000 + time, interface: 0, bytes, frame: vec![0; 14] };
    let packets =
        [packet(0, 1500), packet(100, 60), packet(90, 40), packet(2_000_000, 9000), packet(9_000_000, 64)];
    let file = File::new("replay.pcap", &pcap(&packets, 1, false, false));
    let sent = |more: &str| {
        let text = path(
            4.0,
            &format!("kind = \"pcap\"\nfile = \"{}\"\nheader = \"54 B\"\n{more}", file.0.display()),
        );
        let network = network(&text);
        let mut rows: Vec<TraceRow> = Vec::new();
        let output = Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
        let sent = rows.iter().filter(|row| row.event == TraceEvent::Send);
        let sent: Vec<(u64, u32)> = sent.map(|row| (row.time_ns / 1000, row.bytes)).collect();
        (sent, (output.flow_rows[0].goodput_bps * 4.0 / 8.0).round() as u64)
    };
    let (packets, payload) = sent("start = \"1 s\"");
    assert_eq!(packets, [(1_000_000, 1500), (1_000_100, 60), (1_000_100, 40), (3_000_000, 9000)]);
    assert_eq!(payload, 1446 + 6 + 8946); // what is smaller than a header carries nothing
    assert_eq!(sent("speed = 2").0, [(0, 1500), (50, 60), (50, 40), (1_000_000, 9000)]);
    assert_eq!(sent("stop = \"1 s\"").0.len(), 3);
}

#[test]
fn a_source_may_enter_a_pacer_at_once() {
    // The host's first link carries a token bucket of 1 Mbit/s and one packet: bursts at 10 Mbit/s leave at 1 Mbit/s.
    for method in ["token-bucket", "edge"] {
        let text = path(
            5.0,
            "kind = \"on-off\"\nrate = \"10 Mbit/s\"\npacket = \"500 B\"\non = \"5 ms\"\noff = \"95 ms\"",
        );
        let table = match method {
            "edge" => "pacing = { method = \"edge\", delay = \"50 ms\", at = \"first\" }",
            _ => {
                "pacing = { method = \"token-bucket\", rate = \"1 Mbit/s\", burst = \"500 B\", at = \"first\" }"
            }
        };
        let network = network(&format!("{table}\n{text}"));
        assert!(network.flows[0].paced, "{method}");
        let mut rows: Vec<TraceRow> = Vec::new();
        Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
        let times = |event| -> Vec<u64> {
            rows.iter().filter(|row| row.event == event).map(|row| row.time_ns).collect()
        };
        let closest = |times: &[u64]| times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
        let (sent, left) = (times(TraceEvent::Send), times(TraceEvent::Dequeue));
        assert_eq!(closest(&sent), 400_000, "500 B at 10 Mbit/s");
        // A burst of 12 or 13 packets: at 1 Mbit/s, or over 50 ms.
        assert!(closest(&left) >= 3_800_000, "{method}: {}", closest(&left));
        assert!(sent.len() > 600 && left.len() + 13 >= sent.len());
    }
}

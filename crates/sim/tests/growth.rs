//! CUBIC over a network: one flow, one forced loss, and the time in which the window is back where the loss came.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]
#![allow(clippy::disallowed_methods, reason = "a closed form may use the platform's libm")]

use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Scenario};

/// Time, seconds, and window, packets, at each data packet sent after the loss; and the window just before.
fn after_the_loss(pacing: &str, constants: &str) -> (f64, Vec<(f64, f64)>) {
    let text = format!(
        r#"
        duration = "14 s"
        pacing = "{pacing}"
        [network]
        template = "path"
        links = [{{ name = "link", rate = "1 Gbit/s", delay = "50 ms" }}]
        [[traffic]]
        kind = "bulk"
        tcp = {{ profile = "rfc", variant = "cubic", initial_ssthresh = "150 packets", halving = "window", constants = "{constants}" }}
        [[drop]]
        link = "link"
        flow = 0
        arrivals = [2000]
        "#
    );
    let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let sent: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| row.event == TraceEvent::Send && !row.is_ack)
        .map(|row| (row.time_ns as f64 / 1e9, row.cwnd))
        .collect();
    let cut = sent.windows(2).position(|pair| pair[1].1 < pair[0].1).unwrap();
    (sent[cut].1, sent[cut + 1..].to_vec())
}

#[test]
fn the_window_is_back_at_its_maximum_after_k() {
    for pacing in ["none", "host"] {
        for (constants, c) in
            [("rfc9438", 0.4), ("linux-2013", 410.0 / 1024.0), ("linux-2007", 410.0 / 1024.0)]
        {
            let (w_max, sent) = after_the_loss(pacing, constants);
            assert!(w_max >= 150.0);
            let left = sent[0].1;
            let beta = [("rfc9438", 0.7), ("linux-2013", 717.0 / 1024.0), ("linux-2007", 819.0 / 1024.0)];
            let beta = beta.iter().find(|(name, _)| *name == constants).unwrap().1;
            let whole = constants == "linux-2007";
            assert!(
                (left - beta * w_max).abs() < if whole { 1.0 } else { 0.1 },
                "{constants}: {left} of {w_max}"
            );
            let start = sent.iter().find(|(_, cwnd)| *cwnd > left).unwrap().0;
            let reaches = |cwnd: f64| sent.iter().find(|(_, now)| *now >= cwnd).unwrap().0 - start;
            let k = ((w_max - left) / c).cbrt();
            // In whole packets the distance to W_max is rounded down: below it the curve is ahead.
            let early = if whole { ((4.0_f64 / c).cbrt() - (3.0_f64 / c).cbrt()) / 2.0 } else { 0.0 };
            let middle = early + (reaches(w_max - 3.0) + reaches(w_max + 3.0)) / 2.0;
            assert!((middle - k).abs() < 0.02 * k, "{pacing}, {constants}: {middle} s, not {k} s");
        }
    }
}

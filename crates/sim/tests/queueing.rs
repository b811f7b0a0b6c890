//! The link against queueing theory: Poisson arrivals of equal packets into few places, M/D/1/K.
//!
//! *Oracle.* Loss = 1 - 1 / (pi_0 + rho), pi_0 from the Markov chain embedded at departures; K counts the packet in service.
//! (D. Gross et al., "Fundamentals of Queueing Theory", section 5.1.7; published tables that count waiting places have K one
//! less.) The simulated loss over independent seeds must cover it with its 95 % interval (Student t).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::{Control, Engine, Scenario};

/// Student t, 97.5 %, 19 degrees of freedom.
const T_19: f64 = 2.093;
const SEEDS: u64 = 20;

/// Loss of M/D/1/K.
fn loss(rho: f64, k: usize) -> f64 {
    let mut arrivals = vec![libm::exp(-rho)]; // a_j: j arrivals in a service time
    for j in 1..k {
        arrivals.push(arrivals[j - 1] * rho / j as f64);
    }
    let mut pi = vec![1.0]; // states left behind by departures, not normalised
    for j in 0..k - 1 {
        let flow: f64 = (1..=j).map(|i| pi[i] * arrivals[j - i + 1]).sum();
        pi.push((pi[j] - pi[0] * arrivals[j] - flow) / arrivals[0]);
    }
    let pi_0 = pi[0] / pi.iter().sum::<f64>();
    1.0 - 1.0 / (pi_0 + rho)
}

/// Simulated loss with K in the system, by `counts`.
fn simulated(rho: f64, k: usize, counts: &str, seed: u64) -> f64 {
    let limit = match counts {
        "waiting" => k - 1,
        "waiting+service" => k,
        _ => k, // ns2: refuse when waiting + 1 >= limit
    };
    let text = format!(
        r#"
        duration = "210 s"
        warmup = "10 s"
        [network]
        template = "path"
        counts = "{counts}"
        links = [{{ name = "link", rate = "8 Mbit/s", delay = "1 ms", buffer = "{limit} packets" }}]
        [[traffic]]
        kind = "poisson"
        packet = "1000 B"
        rate = "{} bit/s"
        "#,
        (rho * 8e6) as u64
    );
    let network = Scenario::from_toml(&text).and_then(|scenario| scenario.network(seed)).unwrap();
    let output = Engine::run(&network, &Control::default(), None).unwrap();
    output.links[0].1.loss_ratio.unwrap()
}

#[test]
fn the_closed_form_is_the_published_one() {
    let published = [
        (0.7, 3, 0.0723),
        (0.7, 4, 0.0341),
        (0.8, 5, 0.0353),
        (0.8, 6, 0.0219),
        (0.9, 8, 0.0273),
        (0.9, 9, 0.0212),
    ];
    for (rho, k, value) in published {
        assert!((loss(rho, k) - value).abs() < 5e-5, "rho {rho}, K {k}: {}", loss(rho, k));
    }
}

#[test]
fn loss_agrees_with_m_d_1_k_whatever_is_counted() {
    let cases = [
        (0.7, 3, "waiting"),
        (0.7, 4, "waiting+service"),
        (0.8, 5, "ns2"),
        (0.9, 8, "waiting"),
        (1.2, 4, "waiting"),
    ];
    for (rho, k, counts) in cases {
        let runs: Vec<f64> = (1..=SEEDS).map(|seed| simulated(rho, k, counts, seed)).collect();
        let mean = runs.iter().sum::<f64>() / SEEDS as f64;
        let variance = runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / (SEEDS - 1) as f64;
        let half = T_19 * (variance / SEEDS as f64).sqrt();
        let expected = loss(rho, k);
        assert!(
            (mean - expected).abs() <= half,
            "rho {rho}, K {k}, {counts}: {mean} ± {half}, theory {expected}"
        );
        assert!(half < expected * 0.02, "the interval is too wide to say anything: {half}");
    }
}

#[test]
fn poisson_keeps_its_rate_however_short_the_gaps() {
    // A mean gap of 5.12 ns: rounding each gap to nanoseconds must not change the mean.
    let text = r#"
        duration = "4 ms"
        [network]
        template = "path"
        links = [{ name = "link", rate = "1 Tbit/s", delay = "1 us" }]
        [[traffic]]
        kind = "poisson"
        packet = "64 B"
        rate = "100 Gbit/s"
    "#;
    let network = Scenario::from_toml(text).and_then(|scenario| scenario.network(1)).unwrap();
    let output = Engine::run(&network, &Control::default(), None).unwrap();
    let rate = output.links[0].1.throughput_bps;
    // 780,000 arrivals: the relative standard deviation is 0.0011.
    assert!((rate / 100e9 - 1.0).abs() < 0.004, "{rate}");
}

//! Bursts of losses against closed forms of the chain of two states: mean loss, and how many packets are lost in a row.
//!
//! *Oracle.* A packet in state s is lost with probability l(s), then the state moves by T. With D1 = diag(l), D0 = 1 - D1 and the stationary
//! vector pi, a run of k losses has probability pi D0 T (D1 T)^(k-1) D1 T D0 1 over its sum (Elliott 1963). Means over independent seeds cover
//! these with their 99.9 % intervals (Student t); in all some thirty intervals, so one in thirty drawn sets of seeds would miss one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_sim::trace::{TraceEvent, TraceRow};
use paceline_sim::{Control, Engine, Scenario};

/// Student t, 99.95 %, 19 degrees of freedom.
const T_19: f64 = 3.883;
const SEEDS: u64 = 20;
/// Runs longer than this count together.
const LONGEST: usize = 6;

/// The fates of the packets of a flow at the link, in order: lost or not.
fn fates(rule: &str, seed: u64, flow: u32) -> Vec<bool> {
    let text = format!(
        r#"
        duration = "30 s"
        [network]
        template = "path"
        links = [{{ name = "link", rate = "100 Mbit/s", delay = "1 ms" }}]
        [[traffic]]
        kind = "cbr"
        packet = "125 B"
        rate = "1 Mbit/s"
        [[traffic]]
        kind = "poisson"
        packet = "500 B"
        rate = "500 kbit/s"
        [[drop]]
        link = "link"
        {rule}
        "#
    );
    let network = Scenario::from_toml(&text).and_then(|scenario| scenario.network(seed)).unwrap();
    let mut rows: Vec<TraceRow> = Vec::new();
    Engine::run(&network, &Control::default(), Some(&mut rows)).unwrap();
    let at_link = |row: &&TraceRow| row.place == 0 && (row.flow == flow || flow == u32::MAX);
    let fate = |row: &TraceRow| match row.event {
        TraceEvent::Drop => Some(true),
        TraceEvent::Enqueue => Some(false),
        _ => None,
    };
    rows.iter().filter(at_link).filter_map(fate).collect()
}

/// Loss, and the share of runs of 1, 2 and so on up to more than [`LONGEST`].
fn measured(fates: &[bool]) -> Vec<f64> {
    let mut shares = vec![0.0; LONGEST + 1];
    let mut runs = 0.0;
    for run in fates.chunk_by(|one, other| one == other).filter(|run| run[0]) {
        shares[run.len().min(LONGEST + 1) - 1] += 1.0;
        runs += 1.0;
    }
    let lost = fates.iter().filter(|lost| **lost).count() as f64 / fates.len() as f64;
    [lost].into_iter().chain(shares.into_iter().map(|share| share / runs)).collect()
}

/// The same in closed form.
fn expected([p, r, good, bad]: [f64; 4]) -> Vec<f64> {
    let pi = [r / (p + r), p / (p + r)];
    let losses = [good, bad];
    let moves = |state: [f64; 2]| [state[0] * (1.0 - p) + state[1] * r, state[0] * p + state[1] * (1.0 - r)];
    let lost = |state: [f64; 2]| [state[0] * losses[0], state[1] * losses[1]];
    let kept = |state: [f64; 2]| [state[0] * (1.0 - losses[0]), state[1] * (1.0 - losses[1])];
    let mut state = moves(kept(pi));
    let starts: f64 = lost(state).iter().sum();
    let mut shares = Vec::new();
    for _ in 0..LONGEST {
        state = moves(lost(state));
        shares.push(kept(state).iter().sum::<f64>() / starts);
    }
    shares.push(1.0 - shares.iter().sum::<f64>());
    [lost(pi).iter().sum()].into_iter().chain(shares).collect()
}

fn assert_covers(rule: &str, flow: u32, chain: [f64; 4]) {
    let all: Vec<Vec<f64>> = (1..=SEEDS).map(|seed| measured(&fates(rule, seed, flow))).collect();
    for (what, expected) in expected(chain).into_iter().enumerate() {
        let values = all.iter().map(|one| one[what]);
        let mean = values.clone().sum::<f64>() / SEEDS as f64;
        let variance = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / (SEEDS - 1) as f64;
        let half = T_19 * (variance / SEEDS as f64).sqrt();
        assert!(
            (mean - expected).abs() <= half.max(1e-12),
            "{rule}, {what}: {mean} ± {half}, not {expected}"
        );
        assert!(half < 0.25 * expected.max(0.02), "{rule}, {what}: {mean} ± {half} says nothing");
    }
}

#[test]
fn losses_come_in_runs_of_geometric_length() {
    assert_covers("bursts = { p = 0.02, r = 0.4 }", u32::MAX, [0.02, 0.4, 0.0, 1.0]);
}

#[test]
fn in_both_states_some_are_lost() {
    let rule = "bursts = { p = 0.05, r = 0.2, good = 0.02, bad = 0.6 }";
    assert_covers(rule, u32::MAX, [0.05, 0.2, 0.02, 0.6]);
}

#[test]
fn mean_loss_and_mean_length_say_the_same() {
    let (loss, length) = (0.1, 4.0);
    let p = loss / length / (1.0 - loss);
    assert_covers("bursts = { loss = 0.1, length = 4 }", u32::MAX, [p, 1.0 / length, 0.0, 1.0]);
}

#[test]
fn of_one_flow_the_chain_moves_with_its_packets_alone() {
    assert_covers("flow = 0\nbursts = { p = 0.03, r = 0.3 }", 0, [0.03, 0.3, 0.0, 1.0]);
    assert!(fates("flow = 0\nbursts = { p = 0.03, r = 0.3 }", 1, 1).iter().all(|lost| !lost));
}

//! Jitter, and losses by chance: bounds, means, and what one draw does to the next.

use super::cases::forced;
use super::*;
use crate::model::link::jitter::Jitter;
use crate::model::link::losses::{Loss, Losses};
use crate::network::{DropRule, ForcedDrop, GilbertElliott, JitterShape, JitterSpec};

const LATE: u64 = 10_000;

/// A jitter's delays of packets that would all be there at one time, nanoseconds.
fn delays(spec: JitterSpec, packets: usize) -> Vec<u64> {
    let mut jitter = Jitter::new(spec, 7, "link");
    let at = Instant::from_nanos(LATE);
    (0..packets).map(|_| jitter.delay(at).as_nanos() - LATE).collect()
}

fn spec(shape: JitterShape, mean: u64, spread: u64, reorder: bool) -> JitterSpec {
    JitterSpec { mean: Span::from_nanos(mean), spread: Span::from_nanos(spread), shape, reorder }
}

#[test]
fn uniform_jitter_has_each_nanosecond_of_its_range() {
    let found = delays(spec(JitterShape::Uniform, 10, 3, true), 7000);
    for nanos in 0..20 {
        let count = found.iter().filter(|found| **found == nanos).count();
        assert!(
            if (7..=13).contains(&nanos) { (880..1120).contains(&count) } else { count == 0 },
            "{nanos}: {count}"
        );
    }
}

/// Mean and deviation of a normal law that is hardly cut, and of one of which a third is.
#[test]
fn normal_jitter_is_cut_at_zero_and_at_twice_the_mean() {
    let moments = |found: &[u64]| {
        let n = found.len() as f64;
        let mean = found.iter().sum::<u64>() as f64 / n;
        (mean, f64::sqrt(found.iter().map(|found| (*found as f64 - mean).powi(2)).sum::<f64>() / n))
    };
    let (mean, deviation) = moments(&delays(spec(JitterShape::Normal, 1_000_000, 200_000, true), 20_000));
    assert!((mean - 1e6).abs() < 5e3 && (deviation - 2e5).abs() < 4e3, "{mean} {deviation}");
    let cut = delays(spec(JitterShape::Normal, 1_000_000, 1_000_000, true), 20_000);
    assert!(cut.iter().all(|found| *found <= 2_000_000));
    // cut at one deviation: 1 - 2 phi(1) / erf(1 / sqrt 2) = 0.2911 of the variance is left
    let (mean, deviation) = moments(&cut);
    assert!((mean - 1e6).abs() < 1.4e4 && (deviation - 539_560.0).abs() < 8e3, "{mean} {deviation}");
    assert!(
        delays(spec(JitterShape::Normal, 123, 0, true), 9).iter().all(|found| *found == 123),
        "to the nanosecond"
    );
}

#[test]
fn without_reordering_a_packet_is_there_with_the_latest_before_it() {
    let free = delays(spec(JitterShape::Uniform, 1000, 900, true), 200);
    let mut latest = 0;
    let expected: Vec<u64> = free
        .iter()
        .map(|delay| {
            latest = latest.max(*delay);
            latest
        })
        .collect();
    assert_eq!(delays(spec(JitterShape::Uniform, 1000, 900, false), 200), expected);
}

fn takes(rule: DropRule, seed: u64, packets: usize) -> Vec<bool> {
    let case = Case::draw(Kind::Lossy, 1);
    let mut loss = Loss::new(forced(None, rule), 0, &case.spec, seed, 1);
    (0..packets).map(|_| loss.takes(0)).collect()
}

fn share(takes: &[bool]) -> f64 {
    takes.iter().filter(|taken| **taken).count() as f64 / takes.len() as f64
}

#[test]
fn a_probability_is_the_share_that_is_lost() {
    assert!((share(&takes(DropRule::Probability(0.2), 1, 20_000)) - 0.2).abs() < 0.01);
    assert_eq!(share(&takes(DropRule::Probability(0.0), 1, 1000)), 0.0);
    assert_eq!(share(&takes(DropRule::Probability(1.0), 1, 1000)), 1.0);
}

/// Gilbert and Elliott: a chain with probabilities p to go bad and r to go good is bad for p / (p + r) of the packets,
/// in runs of 1 / r.
#[test]
fn bursts_are_as_long_and_as_frequent_as_the_chain_says() {
    let chain = GilbertElliott { p: 0.05, r: 0.2, good: 0.0, bad: 1.0 };
    let taken = takes(DropRule::Bursts(chain), 1, 100_000);
    assert!((share(&taken) - 0.2).abs() < 0.01, "{}", share(&taken));
    let runs = taken.chunk_by(|one, other| one == other).filter(|run| run[0]).count();
    let length = share(&taken) * 100_000.0 / runs as f64;
    assert!((length - 5.0).abs() < 0.2, "{length}");
    // Losses in both states, of half of the packets and of a tenth.
    let mixed = GilbertElliott { good: 0.1, bad: 0.5, ..chain };
    let found = share(&takes(DropRule::Bursts(mixed), 1, 100_000));
    assert!((found - (0.8 * 0.1 + 0.2 * 0.5)).abs() < 0.01, "{found}");
    // The first packet finds the bad state as often as any.
    let first = (0..4000).filter(|seed| takes(DropRule::Bursts(chain), *seed, 1)[0]).count();
    assert!((720..880).contains(&first), "{first}");
}

/// One rule drops the third packet, another marks the second, third and fifth: a dropped packet carries no mark.
#[test]
fn a_rule_that_marks_loses_nothing() {
    let case = Case::draw(Kind::Lossy, 1);
    let rules = vec![
        forced(None, DropRule::Arrivals(vec![2])),
        ForcedDrop { marks: true, ..forced(None, DropRule::Arrivals(vec![1, 2, 4])) },
    ];
    let mut losses = Losses::of(rules, &case.spec, 1, cases::FLOWS as usize).unwrap();
    let mut event = case.line[0];
    event.flow = 0;
    let found: Vec<_> = (0..6).map(|_| (losses.take(&event), losses.marks)).collect();
    let expected = [
        (None, false),
        (None, true),
        (Some(Cause::Forced), true),
        (None, false),
        (None, true),
        (None, false),
    ];
    assert_eq!(found, expected);
    assert!(Losses::of(Vec::new(), &case.spec, 1, 3).is_none());
}

//! Jain's fairness index over a sliding window.
//!
//! *Idea.* At regular times read what each flow has delivered in order; with what it had delivered a window ago, that is what
//! it got: x. The index is (Σx)² / (n Σx²): 1 where all got the same, 1/n where one got everything.
//! *Parameters.* `window` and the step between values (`every`), of which a window is a whole number; which flows.
//! *Where it breaks.* A flow that has not started, or has nothing to send, got nothing and counts. A window of few round trips
//! shows TCP's sawtooth, not its fairness. Where nothing was delivered at all there is no index and no point. Memory is a
//! number for each flow and step of a window.
//! *References.* R. Jain, D. Chiu and W. Hawe 1984, DEC-TR-301; S. Shenker and R. Wilson, RFC 5166, section 2.3.

use super::classes::{FLOWS, FlowNames, chosen};
use super::described::{Described, Measure, Placed, Placing, View, at_flows};
use super::intervals::MOST_INTERVALS;
use super::observer::Observer;
use super::rows::{Curve, FlowRow, Point};
use super::sampling::{EVERY, FROM, MOST_SAMPLES, TO, every};
use crate::input::keys::{Key, Kind, needed};
use crate::input::{Result, ScenarioError, Table};
use crate::kernel::ids::FlowId;
use paceline_core::{Instant, Span};
use std::collections::VecDeque;

/// The table `fairness`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SlidingWindow {
    /// `None` is all.
    flows: Option<FlowNames>,
    /// Steps in a window.
    steps: u32,
    every: Span,
}

impl Described for SlidingWindow {
    const KEYS: &'static [Key] =
        &[FLOWS, needed("window", Kind::Time, "length of the sliding window"), EVERY, FROM, TO];
    const IS_OVER_TIME: bool = true;

    fn read(table: &Table<'_>, (from, to): (Instant, Instant)) -> Result<Self> {
        let flows = table.optional("flows", FlowNames::read)?;
        let window = table.required("window", "\"1 s\"")?;
        let length = window.positive_span()?;
        if length > to.since(from) {
            let watched = to.since(from);
            return Err(
                window.refused(format!("is longer than the time watched; write \"{watched}\" or less"))
            );
        }
        let every = match table.get("every") {
            Some(_) => every(table, (from, to))?,
            None => Span::from_nanos(length.as_nanos().div_ceil(10)),
        };
        let steps = length.as_nanos() / every.as_nanos();
        if steps == 0 || steps * every.as_nanos() != length.as_nanos() || steps > MOST_SAMPLES {
            let tenth = Span::from_nanos(length.as_nanos().div_ceil(10));
            let problem = format!(
                "\"{every}\" does not go into the window a whole number of times; write for example \"{tenth}\""
            );
            return Err(ScenarioError::at(&table.path_of("every"), problem));
        }
        Ok(SlidingWindow { flows, steps: steps as u32, every })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        let flows = chosen(self.flows.as_ref(), placing.flows)?;
        let (steps, every) = (self.steps, self.every);
        if flows.len() as u64 * u64::from(steps) > MOST_INTERVALS {
            let problem = format!(
                "a window of {steps} steps over {} flows is too much to remember; write a longer step",
                flows.len()
            );
            return Err(ScenarioError::at(&format!("{}.every", placing.path), problem));
        }
        Ok(at_flows(FairnessOf { flows, steps, every }))
    }
}

/// Fairness among these flows.
#[derive(Debug)]
struct FairnessOf {
    flows: Vec<FlowId>,
    steps: u32,
    every: Span,
}

impl Measure for FairnessOf {
    fn view(&self) -> View {
        View::Samples { flows: self.flows.clone(), every: self.every }
    }

    fn observer(&self, _: (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Fairness::new(self.flows.clone(), self.steps))
    }

    fn points(&self, seconds: f64, _: &dyn Fn(FlowId) -> f64) -> f64 {
        self.flows.len() as f64 * f64::from(self.steps) / 8.0 + seconds / self.every.as_seconds().max(1e-9)
    }
}

/// The index of chosen flows over time.
#[derive(Debug)]
struct Fairness {
    flows: Vec<FlowId>,
    /// Steps in a window.
    steps: usize,
    /// Payload delivered by each flow, bytes, at the last `steps` times.
    before: VecDeque<Vec<u64>>,
    points: Vec<Point>,
}

impl Fairness {
    fn new(flows: Vec<FlowId>, steps: u32) -> Self {
        Fairness { flows, steps: steps as usize, before: VecDeque::new(), points: Vec::new() }
    }

    fn take(&mut self, at: Instant, delivered: Vec<u64>) {
        if self.before.len() == self.steps
            && let Some(before) = self.before.pop_front()
        {
            let got = delivered.iter().zip(&before).map(|(now, then)| now - then);
            if let Some(y) = jain(got) {
                self.points.push(Point { x: at.as_seconds(), y, count: 1 });
            }
        }
        self.before.push_back(delivered);
    }
}

impl Observer for Fairness {
    fn sample(&mut self, at: Instant, delivered: &dyn Fn(FlowId) -> u64) {
        let delivered: Vec<u64> = self.flows.iter().map(|flow| delivered(*flow)).collect();
        self.take(at, delivered);
    }

    fn curves(self: Box<Self>, _: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        curves.push(Curve::of_flow("jain", "", ("s", "1"), self.points));
    }
}

/// Jain's index; `None` where all got nothing.
fn jain(amounts: impl Iterator<Item = u64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for amount in amounts {
        let amount = amount as f64;
        count += 1.0;
        sum += amount;
        squares += amount * amount;
    }
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    #[test]
    fn agrees_with_a_hand_computation() {
        let mut fairness = Fairness::new(vec![0, 1, 2], 2);
        let delivered = [[0, 0, 0], [1, 2, 3], [4, 4, 4], [4, 4, 4], [4, 4, 4], [14, 4, 4]];
        for (second, bytes) in delivered.iter().enumerate() {
            fairness.take(Instant::from_nanos(second as u64 * 1_000_000_000), bytes.to_vec());
        }
        let found: Vec<(f64, f64)> = found(fairness)[0].points.iter().map(|p| (p.x, p.y)).collect();
        // 4 4 4: 1; 3 2 1: 36 / (3 · 14); nothing; 10 0 0: a third.
        assert_eq!(found, [(2.0, 1.0), (3.0, 36.0 / 42.0), (5.0, 1.0 / 3.0)]);
    }
}

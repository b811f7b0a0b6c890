//! The table `throughput`: bytes that links have carried, and payload that flows have delivered, so far ([`super::cumulative`]).

use super::classes::{BY, By, Classes, FLOWS, LINKS, Rule};
use super::cumulative::{Carried, Delivered};
use super::described::{Described, Measure, Placed, Placing, View, at_flows};
use super::observer::Observer;
use super::sampling::{EVERY, FROM, MOST_SAMPLES, TO, every};
use crate::input::keys::Key;
use crate::input::{Result, ScenarioError, Table};
use crate::kernel::ids::FlowId;
use paceline_core::{Instant, Span};

/// As the table has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Throughput {
    by: Option<By>,
    every: Span,
}

impl Described for Throughput {
    const KEYS: &'static [Key] = &[LINKS, FLOWS, BY, EVERY, FROM, TO];
    const IS_OVER_TIME: bool = true;

    fn read(table: &Table<'_>, watched: (Instant, Instant)) -> Result<Self> {
        let of_flows = table.get("flows").or(table.get("by"));
        let by = of_flows.map(|_| By::read(table, Rule::All)).transpose()?;
        Ok(Throughput { by, every: every(table, watched)? })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        let every = self.every;
        let mut placed = Vec::new();
        if placing.has_named_links || self.by.is_none() {
            placed = placing.on_links(CarriedBy { every });
        }
        let mut curves = placed.len() as u64;
        if let Some(by) = &self.by {
            let classes = by.classes(placing.flows, placing.path)?;
            curves += classes.names.len() as u64;
            placed.extend(at_flows(DeliveredTo { classes, every }));
        }
        let (from, to) = placing.watched;
        let samples = to.since(from).as_nanos() / every.as_nanos() * curves;
        if samples > MOST_SAMPLES {
            let problem = format!("\"{every}\" makes {samples} samples; write a longer interval");
            return Err(ScenarioError::at(&format!("{}.every", placing.path), problem));
        }
        Ok(placed)
    }
}

/// By a link, a value each.
#[derive(Debug)]
struct CarriedBy {
    every: Span,
}

impl Measure for CarriedBy {
    fn view(&self) -> View {
        View::Wire
    }

    fn observer(&self, (from, to): (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Carried::new(from, to, self.every))
    }

    fn points(&self, seconds: f64, _: &dyn Fn(FlowId) -> f64) -> f64 {
        seconds / self.every.as_seconds().max(1e-9)
    }

    fn sampling(&self) -> (Vec<FlowId>, Option<Span>) {
        (Vec::new(), Some(self.every))
    }
}

/// To flows of these classes, a value each.
#[derive(Debug)]
struct DeliveredTo {
    classes: Classes,
    every: Span,
}

impl Measure for DeliveredTo {
    fn view(&self) -> View {
        let (flows, every) = self.flows_and_every();
        View::Samples { flows, every }
    }

    fn observer(&self, _: (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Delivered::new(self.classes.clone()))
    }

    fn points(&self, seconds: f64, _: &dyn Fn(FlowId) -> f64) -> f64 {
        self.classes.names.len() as f64 * seconds / self.every.as_seconds().max(1e-9)
    }

    fn sampling(&self) -> (Vec<FlowId>, Option<Span>) {
        let (flows, every) = self.flows_and_every();
        (flows, Some(every))
    }
}

impl DeliveredTo {
    fn flows_and_every(&self) -> (Vec<FlowId>, Span) {
        (self.classes.members().map(|(flow, _)| flow).collect(), self.every)
    }
}

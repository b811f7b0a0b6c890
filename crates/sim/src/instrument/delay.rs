//! Delays of packets as the transport layer sees them: from the first transmission to the delivery in order, or to the packet's own
//! first arrival.
//!
//! *Idea.* A histogram of three significant digits for each class of flows, in nanoseconds, so that any number of packets takes
//! the same memory; the least and the largest delay are kept exactly. The curve is the share of packets with a delay no longer
//! than x. Retransmissions, time behind a gap, and time in pacers and queues are all in it.
//! *Parameters.* Which flows, and how they are put into classes (`flows`, `by`); until what (`until`): an arrival does not wait for the packets
//! before it.
//! *Where it breaks.* x is a bin's upper edge, up to 0.1 % above the delay itself, but never beyond the largest. A packet that is
//! never delivered has no delay.
//! *References.* RFC 7679 for one-way delay as such; G. Tene, HdrHistogram.

use super::classes::{BY, By, Classes, FLOWS, Rule};
use super::described::{Described, Measure, Placed, Placing, View, at_flows};
use super::distribution::Durations;
use super::observer::Observer;
use super::rows::{Curve, FlowRow};
use super::sampling::{FROM, TO};
use crate::input::keys::{Key, Kind, key, words};
use crate::input::{Result, Table};
use paceline_core::{Instant, Span};

/// The table `delay`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DelaysOf {
    by: By,
    until_arrival: bool,
}

/// Whether a delay ends at the packet's own first arrival.
const UNTIL: [(&str, bool); 2] = [("delivery", false), ("arrival", true)];

impl Described for DelaysOf {
    const KEYS: &'static [Key] = &[
        FLOWS,
        BY,
        key(
            "until",
            Kind::Word(|| words(&UNTIL)),
            "arrival is a packet's own first one, which does not wait for those before it; delivery unless given",
        ),
        FROM,
        TO,
    ];

    fn read(table: &Table<'_>, _: (Instant, Instant)) -> Result<Self> {
        let until_arrival = table.optional("until", |field| field.choice(&UNTIL))?.unwrap_or(false);
        Ok(DelaysOf { by: By::read(table, Rule::All)?, until_arrival })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        let classes = self.by.classes(placing.flows, placing.path)?;
        Ok(at_flows(DelaysIn { classes, until_arrival: self.until_arrival }))
    }
}

/// Delays of packets of these classes.
#[derive(Debug)]
struct DelaysIn {
    classes: Classes,
    until_arrival: bool,
}

impl Measure for DelaysIn {
    fn view(&self) -> View {
        View::Deliveries(self.classes.clone())
    }

    fn observer(&self, (from, to): (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(DelayDistribution::new((from, to), self.classes.clone(), self.until_arrival))
    }
}

/// The delays of chosen flows.
#[derive(Debug)]
struct DelayDistribution {
    from: Instant,
    to: Instant,
    classes: Classes,
    until_arrival: bool,
    /// One a class; made when its first packet comes.
    delays: Vec<Option<Durations>>,
}

impl DelayDistribution {
    fn new((from, to): (Instant, Instant), classes: Classes, until_arrival: bool) -> Self {
        let delays = classes.names.iter().map(|_| None).collect();
        DelayDistribution { from, to, classes, until_arrival, delays }
    }

    fn record(&mut self, flow: u32, delay: Span, now: Instant) {
        if now < self.from || now >= self.to {
            return;
        }
        if let Some(class) = self.classes.class(flow) {
            Durations::add(&mut self.delays[class], delay);
        }
    }
}

impl Observer for DelayDistribution {
    fn on_delivery(&mut self, flow: u32, delay: Span, now: Instant) {
        if !self.until_arrival {
            self.record(flow, delay, now);
        }
    }

    fn on_first_arrival(&mut self, flow: u32, delay: Span, now: Instant) {
        if self.until_arrival {
            self.record(flow, delay, now);
        }
    }

    fn curves(self: Box<Self>, _: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        for (name, delays) in self.classes.names.iter().zip(self.delays) {
            let points = delays.map(|delays| delays.points()).unwrap_or_default();
            let until = if self.until_arrival { "arrival_delay" } else { "delay" };
            curves.push(Curve::of_flow(until, name, ("s", "1"), points));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    #[test]
    fn equal_delays_are_one_exact_point() {
        let at = Instant::from_nanos;
        let classes = Classes { of: vec![0], names: vec!["all".into()], are_flows: false };
        let mut delays = DelayDistribution::new((at(0), at(100)), classes, false);
        for now in [0, 50, 99, 100] {
            delays.on_delivery(0, Span::from_nanos(10_832_001), at(now));
        }
        let curves = found(delays);
        let points: Vec<(f64, f64, u64)> = curves[0].points.iter().map(|p| (p.x, p.y, p.count)).collect();
        assert_eq!(points, [(0.010_832_001, 1.0, 3)]);
    }
}

//! Sojourn times at a link: how long packets wait there before they are on the wire.
//!
//! *Idea.* A packet's sojourn begins as it arrives at the link and ends as its serialisation begins: time in a pacer of the link, in its
//! queue, and behind a rate that varies. A histogram for each class of flows, as of [`super::delay`]. The curve is the share of packets that
//! wait no longer than x.
//! *Parameters.* Which links, and how flows are put into classes (`links`, `flows`, `by`): by traffic it shows both queues of DualPI2.
//! *Where it breaks.* Packets that are dropped do not count, however long they have waited. Packets count by the time at which they are put
//! on the wire; those that wait as the time watched ends are left out.
//! *References.* RFC 8289 section 3.1 (the sojourn time is CoDel's measure of a queue); RFC 9332 section 2.4.

use super::classes::{BY, By, Classes, FLOWS, LINKS, Rule};
use super::described::{Described, Measure, Passing, Placed, Placing, View};
use super::distribution::Durations;
use super::observer::Observer;
use super::rows::{Curve, FlowRow};
use super::sampling::{FROM, TO};
use crate::input::keys::Key;
use crate::input::{Result, Table};
use paceline_core::{Instant, Span};

/// The table `sojourn`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SojournsOf {
    by: By,
}

impl Described for SojournsOf {
    const KEYS: &'static [Key] = &[LINKS, FLOWS, BY, FROM, TO];

    fn read(table: &Table<'_>, _: (Instant, Instant)) -> Result<Self> {
        Ok(SojournsOf { by: By::read(table, Rule::All)? })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        Ok(placing.on_links(SojournsIn(self.by.classes(placing.flows, placing.path)?)))
    }
}

/// Sojourn times of packets of these classes.
#[derive(Debug)]
struct SojournsIn(Classes);

impl Measure for SojournsIn {
    fn view(&self) -> View {
        View::Link(Passing::Departure)
    }

    fn observer(&self, _: (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Sojourns::new(self.0.clone()))
    }
}

/// At work on one link.
#[derive(Debug)]
struct Sojourns {
    classes: Classes,
    /// One a class; made when its first packet comes.
    times: Vec<Option<Durations>>,
}

impl Sojourns {
    fn new(classes: Classes) -> Self {
        let times = classes.names.iter().map(|_| None).collect();
        Sojourns { classes, times }
    }
}

impl Observer for Sojourns {
    fn on_wait(&mut self, flow: u32, waited: Span) {
        if let Some(class) = self.classes.class(flow) {
            Durations::add(&mut self.times[class], waited);
        }
    }

    fn curves(self: Box<Self>, link: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        for (name, times) in self.classes.names.iter().zip(self.times) {
            let points = times.map(|times| times.points()).unwrap_or_default();
            let curve = Curve::at_link("sojourn", link, ("s", "1"), points);
            curves.push(Curve { flow: name.clone(), ..curve });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    #[test]
    fn what_does_not_wait_waits_for_no_time() {
        let classes =
            Classes { of: vec![0, 1, Classes::NONE], names: vec!["a".into(), "b".into()], are_flows: true };
        let mut sojourns = Sojourns::new(classes);
        for (flow, waited) in [(0, 0), (1, 7_000_001), (2, 9), (0, 0)] {
            sojourns.on_wait(flow, Span::from_nanos(waited));
        }
        let of = |curve: &Curve| (curve.flow.clone(), curve.points.iter().map(|p| (p.x, p.count)).collect());
        let curves: Vec<(String, Vec<(f64, u64)>)> = found(sojourns).iter().map(of).collect();
        assert_eq!(curves, [("a".to_owned(), vec![(0.0, 2)]), ("b".to_owned(), vec![(0.007_000_001, 1)])]);
    }
}

//! How likely a packet of flow i is followed by one of flow j on a link.
//!
//! *Idea.* Count pairs of neighbours as they leave; divide each row by its sum. Where many flows share a link, a row and a
//! column stand for a class of flows (all of one `[[traffic]]`, the paced ones, …), and one more column, `same flow`, says
//! how often the next packet is of the very same flow: the other columns then count other flows only, and a row still adds
//! up to one. Perfectly mixed flows have 1/n there, bursts have nearly one.
//! *Parameters.* The flows and how they are put into classes (`flows`, `by`). Flows that were not chosen are one class more,
//! `other`.
//! *Where it breaks.* Acknowledgements count as packets of their flow. Idle time between two packets is not looked at.
//! *References.* A. Aggarwal, S. Savage and T. Anderson 2000 and D. X. Wei, P. Cao and S. Low 2006 explain why it matters: drops
//! fall on the flows whose packets come together.

use super::classes::{BY, By, Classes, FLOWS, LINKS, Rule};
use super::described::{Described, Measure, Passing, Placed, Placing, View};
use super::observer::Observer;
use super::rows::{Curve, FlowRow, Point, SeriesRow};
use super::sampling::{FROM, TO};
use crate::input::keys::Key;
use crate::input::{Result, Table};
use crate::kernel::packet::Packet;
use paceline_core::Instant;

/// The table `succession`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Successions {
    by: By,
}

impl Described for Successions {
    const KEYS: &'static [Key] = &[LINKS, FLOWS, BY, FROM, TO];

    fn read(table: &Table<'_>, _: (Instant, Instant)) -> Result<Self> {
        Ok(Successions { by: By::read(table, Rule::Flow)? })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        Ok(placing.on_links(SuccessionOf(self.by.classes(placing.flows, placing.path)?)))
    }
}

/// Of packets of these classes; those of flows in no class are left out of sight but do separate others.
#[derive(Debug)]
struct SuccessionOf(Classes);

impl Measure for SuccessionOf {
    fn view(&self) -> View {
        View::Link(Passing::Departure)
    }

    fn observer(&self, _: (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Succession::new(self.0.clone()))
    }
}

/// At work on one link.
#[derive(Debug)]
struct Succession {
    classes: Classes,
    /// Pairs by class of the first and class of the next; the last class is `other`, the last column `same flow`.
    pairs: Vec<u64>,
    last: Option<u32>,
}

impl Succession {
    fn new(classes: Classes) -> Self {
        let rows = classes.names.len() + 1;
        Succession { classes, pairs: vec![0; rows * (rows + 1)], last: None }
    }

    /// A packet of this flow leaves.
    fn add(&mut self, flow: u32) {
        let other = self.classes.names.len();
        if let Some(last) = self.last.replace(flow) {
            let of = |flow| self.classes.class(flow).unwrap_or(other);
            let (row, class) = (of(last), of(flow));
            let apart = !self.classes.are_flows || row == other;
            let column = if apart && last == flow { other + 1 } else { class };
            self.pairs[row * (other + 2) + column] += 1;
        }
    }
}

impl Observer for Succession {
    fn on_departure(&mut self, packet: &Packet, _: (Instant, Instant), _: &mut Vec<SeriesRow>) {
        self.add(packet.flow);
    }

    fn curves(self: Box<Self>, link: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        let mut names = self.classes.names.clone();
        names.extend(["other".to_owned(), "same flow".to_owned()]);
        let columns = names.len();
        // A column that could not have held anything is not shown.
        let shown: Vec<bool> = (0..columns)
            .map(|column| {
                let seen = self.pairs.iter().skip(column).step_by(columns).any(|count| *count > 0);
                column < columns - 2 || seen
            })
            .collect();
        for (row, counts) in self.pairs.chunks(columns).enumerate() {
            let sum: u64 = counts.iter().sum();
            if sum == 0 {
                continue;
            }
            for (column, count) in counts.iter().enumerate().filter(|(column, _)| shown[*column]) {
                let point = Point { x: f64::NAN, y: *count as f64 / sum as f64, count: *count };
                curves.push(Curve {
                    flow: names[row].clone(),
                    next: names[column].clone(),
                    ..Curve::at_link("succession", link, ("", "1"), vec![point])
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    fn matrix(classes: Classes, flows: &[u32]) -> Vec<(String, String, f64)> {
        let mut succession = Succession::new(classes);
        flows.iter().for_each(|flow| succession.add(*flow));
        found(succession).into_iter().map(|curve| (curve.flow, curve.next, curve.points[0].y)).collect()
    }

    #[test]
    fn a_class_tells_its_own_flow_from_the_others() {
        let classes = Classes { of: vec![0, 0, 1], names: vec!["a".into(), "b".into()], are_flows: false };
        // a0 a0, a0 a1, a1 a0, a0 b2, b2 b2
        let found = matrix(classes, &[0, 0, 1, 0, 2, 2]);
        let expected = [
            ("a", "a", 0.5),
            ("a", "b", 0.25),
            ("a", "same flow", 0.25),
            ("b", "a", 0.0),
            ("b", "b", 0.0),
            ("b", "same flow", 1.0),
        ];
        assert_eq!(found, expected.map(|(i, j, y)| (i.to_owned(), j.to_owned(), y)));
    }

    #[test]
    fn what_was_not_chosen_is_other() {
        let classes = Classes { of: vec![0, Classes::NONE], names: vec!["a".into()], are_flows: true };
        let found = matrix(classes, &[0, 0, 1, 0, 1]);
        let expected =
            [("a", "a", 1.0 / 3.0), ("a", "other", 2.0 / 3.0), ("other", "a", 1.0), ("other", "other", 0.0)];
        assert_eq!(found, expected.map(|(i, j, y)| (i.to_owned(), j.to_owned(), y)));
    }
}

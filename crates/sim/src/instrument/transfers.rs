//! Completion times of transfers: from their start, the opening of their connection included, to the acknowledgement of the
//! last byte.
//!
//! *Idea.* Every finished transfer is in its flow's row of the results; here they are sorted by class. The curve is the share
//! of transfers done within x.
//! *Parameters.* Which flows, and how they are put into classes (`flows`, `by`).
//! *Where it breaks.* Transfers that do not end within the window of the statistics are not in it: in an overload, the slowest are missing.
//! *References.* N. Dukkipati and N. McKeown 2006, "Why flow-completion time is the right metric for congestion control".

use super::classes::{BY, By, Classes, FLOWS, Rule};
use super::described::{Described, Measure, Placed, Placing, View, at_flows};
use super::distribution::of_sorted;
use super::observer::Observer;
use super::rows::{Curve, FlowRow};
use crate::input::keys::Key;
use crate::input::{Result, Table};
use paceline_core::Instant;

/// More points than this in a curve are thinned.
const MOST_POINTS: usize = 1000;

/// The table `transfers`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TransfersOf {
    by: By,
}

impl Described for TransfersOf {
    const KEYS: &'static [Key] = &[FLOWS, BY];

    fn read(table: &Table<'_>, _: (Instant, Instant)) -> Result<Self> {
        Ok(TransfersOf { by: By::read(table, Rule::All)? })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        Ok(at_flows(TransfersIn(self.by.classes(placing.flows, placing.path)?)))
    }
}

/// Transfers of these classes.
#[derive(Debug)]
struct TransfersIn(Classes);

impl Measure for TransfersIn {
    fn view(&self) -> View {
        View::Results
    }

    fn observer(&self, _: (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Transfers(self.0.clone()))
    }
}

/// Of chosen flows.
#[derive(Debug)]
struct Transfers(Classes);

impl Observer for Transfers {
    fn curves(self: Box<Self>, _: &str, rows: &[FlowRow], curves: &mut Vec<Curve>) {
        let Transfers(classes) = *self;
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); classes.names.len()];
        for (flow, row) in rows.iter().enumerate() {
            if let Some(class) = classes.class(flow as u32) {
                times[class].extend(row.transfers.iter().map(|transfer| transfer.took.as_seconds()));
            }
        }
        for (name, mut times) in classes.names.iter().zip(times) {
            times.sort_by(f64::total_cmp);
            curves.push(Curve::of_flow("fct", name, ("s", "1"), of_sorted(&times, MOST_POINTS)));
        }
    }
}

//! Completion times of transfers: from their start, the opening of their connection included, to the acknowledgement of the
//! last byte.
//!
//! *Idea.* Every finished transfer is in its flow's row of the results; here they are sorted by class. The curve is the share
//! of transfers done within x.
//! *Parameters.* Which flows, and how they are put into classes (`flows`, `by`).
//! *Where it breaks.* Transfers that do not end within the window of the statistics are not in it: in an overload, the slowest are missing.
//! *References.* N. Dukkipati and N. McKeown 2006, "Why flow-completion time is the right metric for congestion control".

use super::distribution::of_sorted;
use crate::network::Classes;
use crate::observe::observer::Observer;
use crate::observe::rows::{Curve, FlowRow};

/// More points than this in a curve are thinned.
const MOST_POINTS: usize = 1000;

/// Of chosen flows.
#[derive(Debug)]
pub(crate) struct Transfers(pub(crate) Classes);

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

//! What a run leaves behind, for results to be made of: it knows no engine.

use super::delays::Delays;
use crate::control::Method;
use crate::instrument::SeriesRow;
use crate::model::flow::{Flow, Snapshot};
use crate::model::link::LinkTable;
use crate::network::Network;
use crate::observe::instruments::Instruments;

/// A network after a run.
pub(crate) struct RunRecord<'a> {
    pub(crate) network: &'a Network,
    /// The engine that it ended under, and on how many threads.
    pub(crate) method: Method,
    pub(crate) threads: usize,
    pub(crate) links: LinkTable,
    pub(crate) flows: Vec<Flow>,
    /// What stood of each flow when statistics started.
    pub(crate) at_warmup: Vec<Snapshot>,
    /// Delays of flows that are not paced, and of those that are.
    pub(crate) delays: [Delays; 2],
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) instruments: Instruments,
}

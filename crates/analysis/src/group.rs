//! Packets that are looked at together: an interface's or a flow's, as captured and behind each pacer.

use super::cost::{Cost, CostReport};
use super::stream::{Stream, StreamReport};

/// Statistics of one group.
#[derive(Debug, Clone)]
pub(super) struct Group {
    captured: Stream,
    /// One a pacer, in their order.
    paced: Vec<(Stream, Cost)>,
}

/// The same as it is reported.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct GroupReport {
    /// The interface's name, or the flow's.
    pub name: String,
    /// Position of the interface in the capture.
    pub interface: u32,
    /// As it was captured.
    pub captured: StreamReport,
    /// Behind each pacer, in the order in which they were given.
    pub paced: Vec<PacedReport>,
}

/// A group behind a pacer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PacedReport {
    /// The pacer as it was given.
    pub pacer: String,
    /// What it costs.
    #[serde(flatten)]
    pub cost: CostReport,
    /// What comes out.
    #[serde(flatten)]
    pub stream: StreamReport,
}

impl Group {
    /// `digits` of a delay are kept.
    pub(super) fn new(burst_gap_ns: u64, pacers: usize, digits: u8) -> Group {
        let paced = (0..pacers).map(|_| (Stream::new(burst_gap_ns), Cost::new(digits)));
        Group { captured: Stream::new(burst_gap_ns), paced: paced.collect() }
    }

    pub(super) fn captured(&self) -> &Stream {
        &self.captured
    }

    #[inline]
    pub(super) fn arrives(&mut self, time_ns: u64, bytes: u32) {
        self.captured.add(time_ns, bytes);
    }

    #[inline]
    pub(super) fn leaves(&mut self, pacer: usize, arrived_ns: u64, start_ns: u64, bytes: u32) {
        if let Some((stream, cost)) = self.paced.get_mut(pacer) {
            stream.add(start_ns, bytes);
            cost.delayed(start_ns.saturating_sub(arrived_ns));
        }
    }

    pub(super) fn drops(&mut self, pacer: usize, bytes: u32) {
        if let Some((_, cost)) = self.paced.get_mut(pacer) {
            cost.dropped(bytes);
        }
    }

    pub(super) fn finish(self, name: String, interface: u32, pacers: &[String]) -> GroupReport {
        let paced = self.paced.into_iter().zip(pacers).map(|((stream, cost), pacer)| PacedReport {
            pacer: pacer.clone(),
            cost: cost.finish(),
            stream: stream.finish(),
        });
        GroupReport { name, interface, captured: self.captured.finish(), paced: paced.collect() }
    }
}

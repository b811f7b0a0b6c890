//! Series of links that are recorded while a network is simulated.

use super::LinkId;
use paceline_core::{Instant, Span};

/// Something to record over time on a link.
#[derive(Debug, Clone)]
pub struct Probe {
    /// What to record.
    pub what: ProbeKind,
    /// Where.
    pub link: LinkId,
    /// From when.
    pub from: Instant,
    /// Until when.
    pub to: Instant,
}

impl Probe {
    /// It asks for the state of a link between packets.
    pub(crate) fn samples(&self) -> bool {
        matches!(self.what, ProbeKind::Queue { .. })
    }
}

/// What a probe records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeKind {
    /// Bytes that wait (pacer and buffer), sampled at this interval.
    Queue {
        /// Sampling interval.
        every: Span,
    },
    /// Each packet that starts to leave: time, flow, bytes.
    Departures,
}

//! What is looked at while a network is simulated: probes and instruments, and which flows these count together.

use super::{FlowId, LinkId};
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

/// A measurement over part of a run. Times of packets are their own: a packet may pass a link ahead of simulated time.
#[derive(Debug, Clone)]
pub struct Instrument {
    /// What is measured.
    pub what: InstrumentKind,
    /// At which link; `None` is measured at flows.
    pub link: Option<LinkId>,
    /// From when.
    pub from: Instant,
    /// Until when.
    pub to: Instant,
}

/// What an instrument measures; each is a file in `observe/instrument/`.
#[derive(Debug, Clone, PartialEq)]
pub enum InstrumentKind {
    /// cwnd, ssthresh and srtt of TCP flows.
    Window {
        /// Which flows.
        flows: Vec<FlowId>,
        /// Sampling interval; `None` is at each change.
        every: Option<Span>,
    },
    /// Coefficient of variation of a link's rate at dyadic scales.
    RateVariation {
        /// When a packet counts.
        at: Passing,
        /// The shortest scale.
        finest: Span,
        /// How many scales, each twice the one before.
        scales: u32,
    },
    /// Auto-covariance of a link's rate.
    AutoCovariance {
        /// When a packet counts.
        at: Passing,
        /// The rate is that over intervals of this length.
        interval: Span,
        /// The longest lag, intervals.
        lags: u32,
    },
    /// How likely a packet of one class is followed by one of another on a link.
    Succession {
        /// Whose packets; those of flows in no class are left out of sight but do separate others.
        classes: Classes,
    },
    /// Sizes of bursts on a link.
    Bursts {
        /// A wire idle for no longer does not end a burst; `None` is a twentieth of the last packet's time on the wire.
        gap: Option<Span>,
        /// A packet of another flow ends a burst.
        of_one_flow: bool,
    },
    /// Flows hit by each drop event of a link.
    DropEvents {
        /// Drops this far apart or farther belong to different events.
        gap: Span,
        /// An event ends this long after its first drop.
        length: Span,
    },
    /// Delays from a packet's first transmission to its in-order delivery.
    Delay {
        /// Whose packets.
        classes: Classes,
    },
    /// Completion times of transfers.
    Transfers {
        /// Whose transfers.
        classes: Classes,
    },
    /// Jain's index of what flows got over a sliding window.
    Fairness {
        /// Which flows.
        flows: Vec<FlowId>,
        /// Steps in a window.
        steps: u32,
        /// A value each.
        every: Span,
    },
    /// Bytes that a link has carried so far.
    Carried {
        /// A value each.
        every: Span,
    },
    /// Payload that flows have delivered in order so far.
    Delivered {
        /// Whose.
        classes: Classes,
        /// A value each.
        every: Span,
    },
}

impl InstrumentKind {
    /// Its key in `[probes]`.
    pub fn key(&self) -> &'static str {
        match self {
            InstrumentKind::Window { .. } => "window",
            InstrumentKind::RateVariation { .. } => "rate_variation",
            InstrumentKind::AutoCovariance { .. } => "auto_covariance",
            InstrumentKind::Succession { .. } => "succession",
            InstrumentKind::Bursts { .. } => "bursts",
            InstrumentKind::DropEvents { .. } => "drop_events",
            InstrumentKind::Delay { .. } => "delay",
            InstrumentKind::Transfers { .. } => "transfers",
            InstrumentKind::Fairness { .. } => "fairness",
            InstrumentKind::Carried { .. } | InstrumentKind::Delivered { .. } => "throughput",
        }
    }
}

/// When a packet counts at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// As it reaches the link, whether it is dropped there or not.
    Arrival,
    /// As its serialisation begins.
    Departure,
}

/// Flows put into classes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Classes {
    /// The class of each flow, a position in `names`; [`Classes::NONE`] for those left out.
    pub of: Vec<u32>,
    /// What the classes are called.
    pub names: Vec<String>,
    /// Every class is one flow.
    pub are_flows: bool,
}

impl Classes {
    /// The class of a flow that is in none.
    pub const NONE: u32 = u32::MAX;

    /// The class of a flow, if it is in one.
    pub fn class(&self, flow: FlowId) -> Option<usize> {
        self.of.get(flow as usize).filter(|class| **class != Classes::NONE).map(|class| *class as usize)
    }
}

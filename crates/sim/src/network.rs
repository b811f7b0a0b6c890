//! A network as it is simulated: every range drawn, every default filled in, every route found.
//!
//! A [`crate::scenario::Scenario`] becomes a `Network` for one seed; an engine runs a `Network` and knows no scenario.
//! Identifiers are positions in the vectors below.

use crate::workload::Talk;
use crate::workload::open_loop::Timing;
use paceline_core::pacer::PacerSpec;
use paceline_core::queue::QueueSpec;
use paceline_core::{Instant, Rate, Span};
use paceline_tcp::Config;
use std::sync::Arc;

/// A name. One of up to 23 bytes, as nearly all of a large network are, takes no memory of its own.
pub use smol_str::SmolStr as Name;

/// Position in [`Network::links`].
pub type LinkId = u32;
/// Position in [`Network::hosts`].
pub type HostId = u32;
/// Position in [`Network::flows`].
pub type FlowId = u32;

/// The most links on a flow's way there and back together.
pub const MOST_ROUND_TRIP: usize = 126;

/// All that an engine needs to run one seed of a scenario.
#[derive(Debug, Clone)]
pub struct Network {
    /// Where packets start and end.
    pub hosts: Vec<Host>,
    /// Every link in one direction.
    pub links: Vec<LinkSpec>,
    /// Every flow, numbered in the order of the file.
    pub flows: Vec<FlowSpec>,
    /// Losses forced on top of what buffers refuse.
    pub drops: Vec<ForcedDrop>,
    /// Series to record beyond the statistics: queues and departures.
    pub probes: Vec<Probe>,
    /// What to measure beyond the statistics, as curves.
    pub instruments: Vec<Instrument>,
    /// End of the simulated time.
    pub duration: Span,
    /// Statistics start here.
    pub warmup: Span,
    /// The seed that the draws above came from; engines draw from streams of their own under it.
    pub seed: u64,
    /// The link whose delivered packets are the unit of cost (`engine.core_packets`).
    pub core: LinkId,
}

/// An end host.
#[derive(Debug, Clone)]
pub struct Host {
    /// `left.17`, or the name that a graph gives it.
    pub name: Name,
    /// Set where one gap spaces all that leaves this host (port pacing).
    pub port_pacing: bool,
    /// Port pacing: its rate is this many times the sum of the flows' rates.
    pub port_gain: f64,
}

/// A link in one direction: pacer, then buffer, then wire, then propagation.
#[derive(Debug, Clone)]
pub struct LinkSpec {
    /// `core`, `edge.l.3`, `access.r.17.reverse`, …
    pub name: Name,
    /// Serialisation rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// The buffer before the wire.
    pub buffer: Arc<QueueSpec>,
    /// The pacer before the buffer; `None` is no pacer at all.
    pub pacer: Option<Box<PacerSpec>>,
    /// Whether the results name this link (large networks leave their access links out).
    pub reported: bool,
}

/// A flow from one host to another, with its route there and back.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// `bulk.17`: the traffic's name and the number within it.
    pub name: Name,
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub sink: HostId,
    /// Links of the data packets, in order; never empty.
    pub forward: Box<[LinkId]>,
    /// Links of the acknowledgements, in order; empty where there are none.
    pub reverse: Box<[LinkId]>,
    /// When the application starts.
    pub start: Instant,
    /// Whether a pacing method acts on it (at its host, or on a link of its route); groups the results.
    pub paced: bool,
    /// What it sends.
    pub kind: FlowKind,
}

impl FlowSpec {
    /// The name of its `[[traffic]]`; a flow back belongs to that of the flow there.
    pub fn traffic(&self) -> &str {
        let there = match &self.kind {
            FlowKind::Conversation { part: Part::Answers, .. } => self.name.trim_end_matches(Part::BACK),
            _ => &self.name,
        };
        there.rsplit_once('.').map_or(there, |(traffic, _)| traffic)
    }

    /// Its data packets on the wire, bytes.
    pub fn packet_bytes(&self) -> u32 {
        match &self.kind {
            FlowKind::Bulk { tcp, .. } | FlowKind::Conversation { tcp, .. } => tcp.data_bytes(),
            FlowKind::OpenLoop { bytes, .. } => *bytes,
        }
    }
}

/// What a flow sends.
#[derive(Debug, Clone)]
pub enum FlowKind {
    /// A TCP connection with unlimited data, or `packets` of it (a SYN not counted).
    Bulk {
        /// The connection's settings, host pacing included; flows with equal ones share them.
        tcp: Arc<Config>,
        /// Stop after this many data packets.
        packets: Option<u64>,
    },
    /// A TCP connection, or one direction of it, that carries what an application says.
    Conversation {
        /// The connection's settings, host pacing included; flows with equal ones share them.
        tcp: Arc<Config>,
        /// What this flow does in the conversation.
        part: Part,
    },
    /// Packets without feedback.
    OpenLoop {
        /// The largest on the wire, bytes; all are as large unless they are replayed.
        bytes: u32,
        /// Of these, bytes that goodput does not count.
        header: u32,
        /// When packets leave.
        timing: Box<Timing>,
        /// When it stops; `None` goes on to the end.
        stop: Option<Instant>,
    },
}

impl FlowKind {
    /// The settings of a TCP connection.
    pub fn tcp(&self) -> Option<&Config> {
        match self {
            FlowKind::Bulk { tcp, .. } | FlowKind::Conversation { tcp, .. } => Some(tcp),
            FlowKind::OpenLoop { .. } => None,
        }
    }

    /// The same, to change them.
    pub(crate) fn tcp_mut(&mut self) -> Option<&mut Arc<Config>> {
        match self {
            FlowKind::Bulk { tcp, .. } | FlowKind::Conversation { tcp, .. } => Some(tcp),
            FlowKind::OpenLoop { .. } => None,
        }
    }

    /// One connection follows another.
    pub(crate) fn replaces_connections(&self) -> bool {
        match self {
            FlowKind::Conversation { part: Part::Opens(talk), .. } => talk.replaces_connections(),
            _ => false,
        }
    }

    /// Part of a conversation of two flows: what reaches one end may make the other flow send.
    pub(crate) fn is_two_way(&self) -> bool {
        match self {
            FlowKind::Conversation { part: Part::Opens(talk), .. } => talk.has_flow_back(),
            FlowKind::Conversation { part: Part::Answers, .. } => true,
            FlowKind::Bulk { .. } | FlowKind::OpenLoop { .. } => false,
        }
    }
}

/// What a flow does in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// It carries what the opener says.
    Opens(Box<Talk>),
    /// It carries what the other side answers to the flow before it in the list.
    Answers,
}

impl Part {
    /// What the name of a flow back ends in.
    pub(crate) const BACK: &'static str = ".back";
}

/// A loss forced on a link, before its pacer and buffer see the packet.
#[derive(Debug, Clone)]
pub struct ForcedDrop {
    /// Where.
    pub link: LinkId,
    /// Of which flow; `None` is every flow.
    pub flow: Option<FlowId>,
    /// Which packets.
    pub rule: DropRule,
}

/// Which packets a forced loss takes.
#[derive(Debug, Clone)]
pub enum DropRule {
    /// The n-th packets of each flow named to reach the link, from 0, ascending.
    Arrivals(Vec<u64>),
    /// Each packet with this probability.
    Probability(f64),
}

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
    /// What is measured, and where.
    pub what: InstrumentKind,
    /// From when.
    pub from: Instant,
    /// Until when.
    pub to: Instant,
}

/// What an instrument measures; each is a file in `instrument/`.
#[derive(Debug, Clone)]
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
        /// Where.
        link: LinkId,
        /// When a packet counts.
        at: Passing,
        /// The shortest scale.
        finest: Span,
        /// How many scales, each twice the one before.
        scales: u32,
    },
    /// Auto-covariance of a link's rate.
    AutoCovariance {
        /// Where.
        link: LinkId,
        /// When a packet counts.
        at: Passing,
        /// The rate is that over intervals of this length.
        interval: Span,
        /// The longest lag, intervals.
        lags: u32,
    },
    /// How likely a packet of one class is followed by one of another on a link.
    Succession {
        /// Where.
        link: LinkId,
        /// Whose packets; those of flows in no class are left out of sight but do separate others.
        classes: Classes,
    },
    /// Sizes of bursts on a link.
    Bursts {
        /// Where.
        link: LinkId,
        /// A wire idle for no longer does not end a burst; `None` is a twentieth of the last packet's time on the wire.
        gap: Option<Span>,
        /// A packet of another flow ends a burst.
        of_one_flow: bool,
    },
    /// Flows hit by each drop event of a link.
    DropEvents {
        /// Where.
        link: LinkId,
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
        /// Where.
        link: LinkId,
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
    /// The link that it stands at.
    pub fn link(&self) -> Option<LinkId> {
        match self {
            InstrumentKind::RateVariation { link, .. }
            | InstrumentKind::AutoCovariance { link, .. }
            | InstrumentKind::Succession { link, .. }
            | InstrumentKind::Bursts { link, .. }
            | InstrumentKind::DropEvents { link, .. }
            | InstrumentKind::Carried { link, .. } => Some(*link),
            InstrumentKind::Window { .. }
            | InstrumentKind::Delay { .. }
            | InstrumentKind::Transfers { .. }
            | InstrumentKind::Fairness { .. }
            | InstrumentKind::Delivered { .. } => None,
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

//! A network as it is simulated: every range drawn, every default filled in, every route found.
//!
//! A [`crate::compile::scenario::Scenario`] becomes a `Network` for one seed; an engine runs a `Network` and knows no scenario.
//! Identifiers are positions in the vectors below.

mod estimate;
mod jitter;
mod memory;
mod precedence;
mod probe;

pub use self::estimate::Estimate;
pub use self::jitter::{JitterShape, JitterSpec};
pub use self::memory::MemorySpec;
pub use self::probe::{Probe, ProbeKind};
pub use crate::instrument::Instrument;
use crate::instrument::classes::NamedFlow;
pub use crate::kernel::ids::{FlowId, HostId, LinkId};
pub use crate::varying::VaryingRate;
use crate::workload::DialogueSpec;
use crate::workload::open_loop::Timing;
use paceline_core::pacer::PacerSpec;
use paceline_core::policer::PolicerSpec;
use paceline_core::queue::QueueSpec;
use paceline_core::units::NANOS_PER_SECOND;
use paceline_core::{Ecn, Instant, Rate, Span};
use paceline_tcp::Config;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A name. One of up to 23 bytes, as nearly all of a large network are, takes no memory of its own.
pub use smol_str::SmolStr as Name;

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
    /// Memories that links share.
    pub memories: Vec<MemorySpec>,
    /// Classes of packets, for queues that tell them apart: of flow n's data at 2 n, of its acknowledgements behind. Empty where all are 0.
    pub classes: Arc<[u8]>,
    /// Losses forced on top of what buffers drop.
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

impl Network {
    /// The memory that a link shares with others.
    pub fn memory_of(&self, link: LinkId) -> Option<&MemorySpec> {
        self.memories.iter().find(|memory| memory.links.contains(&link))
    }

    /// First links of connections with small queues (`Config::tsq`).
    pub(crate) fn own_queues(&self) -> BTreeSet<LinkId> {
        let has_own = |flow: &&FlowSpec| flow.kind.tcp().is_some_and(|tcp| tcp.tsq.is_some());
        self.flows.iter().filter(has_own).filter_map(|flow| flow.forward.first().copied()).collect()
    }
}

/// An end host.
#[derive(Debug, Clone)]
pub struct Host {
    /// `left.17`, or its name in a graph.
    pub name: Name,
    /// Set where one gap spaces all that leaves this host.
    pub port: Option<Box<PortPacing>>,
}

/// How the port of a host is paced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortPacing {
    /// Its rate is this many times the sum of the flows' rates.
    pub gain: f64,
    /// And no more than this.
    pub cap: Option<Rate>,
}

/// A link in one direction: policer, then pacer, then buffer, then wire, then propagation.
#[derive(Debug, Clone)]
pub struct LinkSpec {
    /// `core`, `edge.l.3`, `access.r.17.reverse`, …
    pub name: Name,
    /// Serialisation rate; of one that varies, the mean.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// What else it has; links that have the same share it.
    pub fitting: Arc<Fitting>,
}

/// What a link has before its wire, and whether results name it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitting {
    /// The buffer before the wire.
    pub buffer: Arc<QueueSpec>,
    /// The pacer before the buffer; `None` is no pacer at all.
    pub pacer: Option<Box<PacerSpec>>,
    /// What drops before them all what comes faster than it allows.
    pub policer: Option<PolicerSpec>,
    /// What its rate is, where that varies; [`LinkSpec::rate`] is the mean.
    pub varying: Option<VaryingRate>,
    /// What is added to the propagation delay of each packet.
    pub jitter: Option<JitterSpec>,
    /// Whether the results name this link (large networks leave their access links out).
    pub reported: bool,
}

impl LinkSpec {
    /// Packets of so many bytes or more take at least a nanosecond, and keep their order: no two of them arrive at once.
    pub(crate) fn lets_go_one_by_one(&self, bytes: u32) -> bool {
        self.fitting.jitter.is_none()
            && self.fastest() <= (8 * NANOS_PER_SECOND).saturating_mul(u64::from(bytes))
    }

    /// What a packet takes on its wire at least, if that is idle; fractions of a nanosecond are left out.
    pub(crate) fn takes(&self, bytes: u16) -> Span {
        Span::from_nanos(8 * u64::from(bytes) * NANOS_PER_SECOND / self.fastest())
    }

    /// Packets of one size leave it as far apart at least as they take on a wire of its rate, and in order.
    pub(crate) fn is_steady(&self) -> bool {
        self.fitting.varying.is_none() && self.fitting.jitter.is_none()
    }

    /// The highest rate that it ever has, bit/s.
    pub(crate) fn fastest(&self) -> u64 {
        self.fitting.varying.as_ref().map_or(self.rate.bits_per_second(), VaryingRate::fastest)
    }

    /// Whether there are none.
    pub(crate) fn takes_whole_nanoseconds(&self, bytes: u16) -> bool {
        (8 * u64::from(bytes) * NANOS_PER_SECOND).is_multiple_of(self.rate.bits_per_second())
    }

    /// What leaves it is at the far end in that order.
    pub(crate) fn keeps_order(&self) -> bool {
        self.fitting.jitter.is_none()
    }

    /// What it takes to the far end then.
    pub(crate) fn latency(&self, bytes: u16) -> Span {
        self.takes(bytes) + self.delay
    }
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
            FlowKind::Dialogue { part: Part::Answers, .. } => self.name.trim_end_matches(Part::BACK),
            _ => &self.name,
        };
        there.rsplit_once('.').map_or(there, |(traffic, _)| traffic)
    }

    /// As instruments choose it.
    pub(crate) fn as_named(&self) -> NamedFlow<'_> {
        let has_window = !self.reverse.is_empty();
        NamedFlow { name: &self.name, traffic: self.traffic(), is_paced: self.paced, has_window }
    }

    /// Its data packets on the wire, bytes.
    pub fn packet_bytes(&self) -> u32 {
        match &self.kind {
            FlowKind::Bulk { tcp, .. } | FlowKind::Dialogue { tcp, .. } => tcp.data_bytes(),
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
    /// A TCP connection, or one direction of it, that carries an application's messages.
    Dialogue {
        /// The connection's settings, host pacing included; flows with equal ones share them.
        tcp: Arc<Config>,
        /// What this flow does in the dialogue.
        part: Part,
    },
    /// Packets without feedback.
    OpenLoop {
        /// The largest on the wire, bytes; all are as large unless they are replayed.
        bytes: u32,
        /// Of these, bytes that goodput does not count.
        header: u16,
        /// When packets leave.
        timing: Box<Timing>,
        /// When it stops; `None` goes on to the end.
        stop: Option<Instant>,
        /// The ECN field of each packet as it is sent.
        ecn: Ecn,
    },
}

impl FlowKind {
    /// The settings of a TCP connection.
    pub fn tcp(&self) -> Option<&Config> {
        self.shared_tcp().map(AsRef::as_ref)
    }

    /// The same, as flows share them.
    pub(crate) fn shared_tcp(&self) -> Option<&Arc<Config>> {
        match self {
            FlowKind::Bulk { tcp, .. } | FlowKind::Dialogue { tcp, .. } => Some(tcp),
            FlowKind::OpenLoop { .. } => None,
        }
    }

    /// No packet of the flow is smaller, on the wire, bytes: data, acknowledgements, a SYN.
    pub(crate) fn smallest_packet(&self) -> u32 {
        match self {
            FlowKind::Bulk { tcp, .. } | FlowKind::Dialogue { tcp, .. } => {
                tcp.ack.min(tcp.header + 1).min(tcp.syn.unwrap_or(u32::MAX))
            }
            FlowKind::OpenLoop { timing, .. } if matches!(**timing, Timing::Replay(_)) => 1,
            FlowKind::OpenLoop { bytes, .. } => *bytes,
        }
    }

    /// A connection's settings, to change them.
    pub(crate) fn tcp_mut(&mut self) -> Option<&mut Arc<Config>> {
        match self {
            FlowKind::Bulk { tcp, .. } | FlowKind::Dialogue { tcp, .. } => Some(tcp),
            FlowKind::OpenLoop { .. } => None,
        }
    }

    /// One connection follows another.
    pub(crate) fn replaces_connections(&self) -> bool {
        match self {
            FlowKind::Dialogue { part: Part::Opens(talk), .. } => talk.kind().replaces_connections(),
            _ => false,
        }
    }

    /// Part of a dialogue of two flows: what reaches one end may make the other flow send.
    pub(crate) fn is_two_way(&self) -> bool {
        match self {
            FlowKind::Dialogue { part: Part::Opens(talk), .. } => talk.kind().has_flow_back(),
            FlowKind::Dialogue { part: Part::Answers, .. } => true,
            FlowKind::Bulk { .. } | FlowKind::OpenLoop { .. } => false,
        }
    }
}

/// What a flow does in a dialogue.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// It carries the opener's messages.
    Opens(Box<DialogueSpec>),
    /// It carries what the other side answers to the flow before it in the list.
    Answers,
}

impl Part {
    /// What the name of a flow back ends in.
    pub(crate) const BACK: &'static str = ".back";
}

/// A loss forced on a link, before its policer, pacer and buffer see the packet; or a mark.
#[derive(Debug, Clone)]
pub struct ForcedDrop {
    /// Where.
    pub link: LinkId,
    /// Of which flow; `None` is every flow.
    pub flow: Option<FlowId>,
    /// Which packets.
    pub rule: DropRule,
    /// They are marked, those that are ECN-capable, and not lost.
    pub marks: bool,
}

/// Which packets a forced loss takes.
#[derive(Debug, Clone)]
pub enum DropRule {
    /// The n-th packets of each flow named to reach the link, from 0, ascending.
    Arrivals(Vec<u64>),
    /// Each packet with this probability.
    Probability(f64),
    /// Packets in bursts.
    Bursts(GilbertElliott),
}

/// Bursts of losses: a chain that is in a good or a bad state as a packet comes, which decides how likely the loss is, and may change it after
/// each packet. It begins in either as is likely of one that has run for long.
///
/// *References.* E. N. Gilbert, "Capacity of a burst-noise channel" (1960); E. O. Elliott, "Estimates of error rates for codes on burst-noise
/// channels" (1963); Linux `net/sched/sch_netem.c`, `loss gemodel`, which begins in the good state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability to go from the good state to the bad one.
    pub p: f64,
    /// And back.
    pub r: f64,
    /// Probability of a loss in the good state.
    pub good: f64,
    /// And in the bad one.
    pub bad: f64,
}

impl GilbertElliott {
    /// All packets are lost in the bad state and none in the good: of this mean loss, in runs of this mean length, packets.
    pub fn of_runs(loss: f64, length: f64) -> Self {
        let r = 1.0 / length;
        GilbertElliott { p: loss * r / (1.0 - loss), r, good: 0.0, bad: 1.0 }
    }

    /// The share of packets that find the bad state.
    pub fn badness(&self) -> f64 {
        self.p / (self.p + self.r)
    }

    /// Mean loss.
    pub fn loss(&self) -> f64 {
        self.badness() * self.bad + (1.0 - self.badness()) * self.good
    }
}

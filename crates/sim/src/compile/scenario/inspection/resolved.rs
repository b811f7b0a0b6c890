//! The resolved form of a scenario: times in seconds or nanoseconds, rates in bit/s, sizes in bytes.

use serde::Serialize;

/// What a scenario comes to under one seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// `dumbbell`, `path`, …
    pub template: &'static str,
    /// End of the simulated time, seconds.
    pub duration_s: f64,
    /// Statistics start here, seconds.
    pub warmup_s: f64,
    /// Position of the link that the network is about.
    pub core: u32,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Tables of the file that links come from: two for each kind of cable, forward and back.
    pub plans: Vec<Plan>,
    /// Every link in one direction.
    pub links: Vec<Link>,
    /// Every `[[traffic]]` of the file.
    pub traffics: Vec<TrafficTable>,
    /// Settings of TCP connections, each once.
    pub tcps: Vec<Tcp>,
    /// Every flow.
    pub flows: Vec<Flow>,
    /// Every method of the file.
    pub pacings: Vec<Deployed>,
    /// Losses that are forced.
    pub drops: Vec<ForcedLoss>,
    /// What is recorded and measured, the default included.
    pub probes: Vec<Probed>,
}

/// One direction of a link, as its table has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Name of the kind of cable: `access.l`, `core`.
    pub name: String,
    /// Where its table stands: `network.core`.
    pub path: String,
    /// The key of its buffer in that table.
    pub buffer_key: &'static str,
    /// The buffer as written; `None` is unlimited.
    pub buffer: Option<String>,
    /// Both ends of the range of rates, bit/s.
    pub rate_bps: [u64; 2],
    /// Both ends of the range of delays, nanoseconds.
    pub delay_ns: [u64; 2],
}

/// A link in one direction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// `core`, `edge.l.3`, …
    pub name: String,
    /// Position in [`Inspection::plans`].
    pub plan: u32,
    /// Bit/s; of a rate that varies, the mean.
    pub rate_bps: u64,
    /// How it varies: `steps`, `markov` or `trace`.
    pub varying: Option<&'static str>,
    /// Nanoseconds.
    pub delay_ns: u64,
    /// What may wait, and what that counts.
    pub buffer: Buffer,
    /// The pacer before the buffer.
    pub pacer: Option<Pacer>,
    /// The policer before both.
    pub policer: Option<Policer>,
    /// What is added to its delay.
    pub jitter: Option<Jitter>,
    /// Whether results name it.
    pub reported: bool,
}

/// A queue's limit; unlimited where both are `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Buffer {
    /// Limit in bytes.
    pub bytes: Option<u64>,
    /// Limit in packets.
    pub packets: Option<u64>,
    /// `waiting`, `waiting+service` or `ns2`.
    pub counts: &'static str,
    /// The queue discipline.
    pub discipline: &'static str,
    /// It marks packets, or drops them before its limit is reached.
    pub signals_early: bool,
    /// It tells packets by their classes.
    pub has_classes: bool,
    /// Who goes first where a packet arrives as another leaves: `random`, `departure`, `arrival` or `ns2`.
    pub ties: &'static str,
    /// The memory that it shares with other links; where it has no limit of its own, the limit above is what it holds if it alone is congested.
    pub memory: Option<Memory>,
}

/// A memory that links share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Memory {
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// Its size in packets.
    pub packets: Option<u64>,
    /// A link takes a packet while it holds less than so many times what is free.
    pub alpha: f64,
    /// How many links share it.
    pub links: u32,
}

/// A pacer on a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pacer {
    /// Its name in a scenario.
    pub method: &'static str,
    /// Parameters in effect: `delay = 10 ms, release = start`.
    pub parameters: String,
    /// What it may hold, bytes.
    pub bytes: Option<u64>,
    /// What it may hold, packets.
    pub packets: Option<u64>,
    /// In the long run no more leaves than this, bit/s; `None` where that depends on what arrives.
    pub rate_bps: Option<u64>,
    /// What may leave at once beside that, bytes.
    pub burst_bytes: Option<u64>,
    /// Edge: the bound of its delay, nanoseconds.
    pub delay_ns: Option<u64>,
    /// QLBP: its rate at an empty queue, bit/s.
    pub mu_min_bps: Option<u64>,
    /// QLBP: its rate at a queue of `q_max`, bit/s.
    pub mu_max_bps: Option<u64>,
    /// QLBP: the queue beyond which nothing is held back, where it is counted in bytes.
    pub q_max_bytes: Option<u64>,
    /// The same where it is counted in packets.
    pub q_max_packets: Option<u64>,
}

/// Jitter of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Jitter {
    /// Mean, nanoseconds.
    pub mean_ns: u64,
    /// Half the width, or the standard deviation, nanoseconds.
    pub spread_ns: u64,
    /// `uniform` or `normal`.
    pub shape: &'static str,
    /// Packets may overtake one another.
    pub reorder: bool,
}

/// A policer on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Policer {
    /// In the long run no more passes than this, bit/s.
    pub rate_bps: u64,
    /// What may pass at once beside that, bytes.
    pub burst_bytes: u64,
}

/// Something to record or to measure on a link or of flows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Probed {
    /// Its key in `[probes]`.
    pub kind: &'static str,
    /// Where; `None` of flows.
    pub link: Option<u32>,
    /// Of which flows, where these can be named.
    pub flows: Vec<u32>,
    /// How often, nanoseconds; `None` is at each change, or does not apply.
    pub every_ns: Option<u64>,
    /// From when, nanoseconds.
    pub from_ns: u64,
    /// Until when, nanoseconds.
    pub to_ns: u64,
}

/// Settings of TCP connections that reasoning needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tcp {
    /// `reno`, `newreno`, …
    pub variant: &'static str,
    /// A data packet on the wire, bytes.
    pub data_bytes: u32,
    /// Of these, payload, bytes.
    pub payload_bytes: u32,
    /// An acknowledgement on the wire, bytes.
    pub ack_bytes: u32,
    /// The packet that opens a connection, bytes; `None` starts with data.
    pub syn_bytes: Option<u32>,
    /// The receiver acknowledges every second packet, or one this late, seconds; 0 acknowledges each at once.
    pub delayed_ack_s: f64,
    /// With `delayed_ack_s`, packets that are acknowledged together.
    pub ack_every: u32,
    /// The last packet of a message is acknowledged at once all the same, unless its receiver sends too.
    pub quick_acks: bool,
    /// Most packets of a train; `None` sends each by itself.
    pub gso_packets: Option<u32>,
    /// Most bytes in its host's own queue, whatever its rate; `None` has no such bound.
    pub tsq_bytes: Option<u32>,
    /// Packets wait so long to be answered as one, seconds; 0 answers each by itself.
    pub gro_s: f64,
    /// Packets.
    pub max_window: u32,
    /// Packets.
    pub initial_window: u32,
    /// Packets.
    pub initial_ssthresh: u32,
    /// Sends on the first two duplicate acknowledgements.
    pub limited_transmit: bool,
    /// Seconds.
    pub min_rto_s: f64,
    /// Seconds.
    pub initial_rto_s: f64,
    /// Seconds.
    pub max_rto_s: f64,
    /// Slow start may end before a loss.
    pub hystart: bool,
    /// What silence leaves of the window: `keep`, `one`, …
    pub idle_restart: &'static str,
    /// Segments carry timestamps.
    pub timestamps: bool,
    /// So many duplicate acknowledgements are a loss.
    pub duplicate_threshold: u32,
    /// The phase of a coarse clock is drawn for each flow.
    pub draws_phase: bool,
    /// Host pacing: `wei`, `linux`, `ideal`.
    pub rule: Option<&'static str>,
    /// Times the rule's rate.
    pub gain: f64,
    /// A fraction of the gap.
    pub jitter: f64,
}

/// A table of traffic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrafficTable {
    /// Where it stands in the file: `traffic[0]`.
    pub path: String,
    /// Its flows are `name.0`, `name.1`, …
    pub name: String,
    /// The profile that its TCP has its constants from; the default where it has no TCP.
    pub profile: &'static str,
    /// Both ends of the range of starts, nanoseconds.
    pub start_ns: [u64; 2],
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flow {
    /// `bulk.17`.
    pub name: String,
    /// Position in [`Inspection::traffics`].
    pub traffic: u32,
    /// Position in [`Inspection::hosts`].
    pub source: u32,
    /// Position in [`Inspection::hosts`].
    pub sink: u32,
    /// Links of the data, in order.
    pub forward: Vec<u32>,
    /// Links of the acknowledgements, in order.
    pub reverse: Vec<u32>,
    /// Nanoseconds.
    pub start_ns: u64,
    /// A data packet on the wire, bytes.
    pub packet_bytes: u32,
    /// A method acts on it.
    pub paced: bool,
    /// Its host's port is paced.
    pub port_paced: bool,
    /// Position in [`Inspection::tcps`]; `None` for a flow without feedback.
    pub tcp: Option<u32>,
    /// Transfers of so many packets (a dialogue's: of this size on average); `None` is one that goes on for ever.
    pub packets: Option<u64>,
    /// Mean rate on the wire of a flow without feedback, bit/s.
    pub rate_bps: Option<u64>,
    /// When a flow without feedback stops, nanoseconds.
    pub stop_ns: Option<u64>,
    /// A flow without feedback whose rate goes up and down.
    pub bursts: Option<Bursts>,
    /// A capture that is replayed.
    pub replay: Option<Replay>,
    /// What an application sends on it.
    pub speech: Option<Dialogue>,
}

/// Sizes in bytes or times in seconds that are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drawn {
    /// `fixed`, `uniform`, `exponential` or `pareto`.
    pub shape: &'static str,
    /// Mean of a fixed or exponential one; the least value of the others.
    pub first: f64,
    /// The greatest value of a uniform one, the tail's exponent of a Pareto; else 0.
    pub second: f64,
}

/// One side of a dialogue: a message, a pause, and the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dialogue {
    /// `closed-loop`, `rpc` or `cvec`.
    pub kind: &'static str,
    /// It opens the connection; else it answers the flow before it in the list.
    pub opens: bool,
    /// Of a message; of a connection vector, its mean.
    pub size: Drawn,
    /// Before a message; of a connection vector, its mean.
    pub pause: Drawn,
    /// So many messages at most.
    pub most: Option<u64>,
    /// A connection each; else it is kept.
    pub new_connections: bool,
    /// The sides do not wait for each other.
    pub is_concurrent: bool,
}

/// A source that is on and off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bursts {
    /// Rate while on, bit/s.
    pub rate_bps: u64,
    /// How long it is on.
    pub on: Drawn,
    /// How long it is off.
    pub off: Drawn,
}

/// A capture that is replayed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Replay {
    /// How many packets.
    pub packets: u64,
    /// All of them, bytes.
    pub bytes: u64,
    /// The last one leaves so long after the first, nanoseconds.
    pub lasts_ns: u64,
}

/// A loss that is forced.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ForcedLoss {
    /// Position in [`Inspection::links`].
    pub link: u32,
    /// Position in [`Inspection::flows`]; `None` is every flow.
    pub flow: Option<u32>,
    /// Of each packet.
    pub probability: f64,
    /// Packets of each flow that are lost beside that.
    pub packets: u64,
}

/// A pacing method at work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deployed {
    /// Where it stands in the file: `pacing`, `pacing[1]`.
    pub path: String,
    /// Its name.
    pub method: String,
    /// As one would write it: `edge 10 ms at edge.l.*`.
    pub words: String,
    /// Whether it acts on hosts; else on links.
    pub on_hosts: bool,
    /// Of those that it could act on.
    pub share: f64,
    /// How many it could act on.
    pub candidates: u64,
    /// Hosts or links that the share takes.
    pub chosen: Vec<u32>,
    /// Whether the way back is paced too.
    pub acks: bool,
}

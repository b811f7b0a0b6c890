//! What is said of a scenario: times in seconds or nanoseconds, rates in bit/s, sizes in bytes.

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
    pub traffics: Vec<Sent>,
    /// Settings of TCP connections, each once.
    pub tcps: Vec<Tcp>,
    /// Every flow.
    pub flows: Vec<Flow>,
    /// Every method of the file.
    pub pacings: Vec<Deployed>,
}

/// What a link's table says of one direction.
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
    /// Bit/s.
    pub rate_bps: u64,
    /// Nanoseconds.
    pub delay_ns: u64,
    /// What may wait, and what that counts.
    pub buffer: Buffer,
    /// The pacer before the buffer.
    pub pacer: Option<Pacer>,
}

/// A queue's limit; unlimited where both are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Buffer {
    /// Limit in bytes.
    pub bytes: Option<u64>,
    /// Limit in packets.
    pub packets: Option<u64>,
    /// `waiting`, `waiting+service` or `ns2`.
    pub counts: &'static str,
    /// Drops what has waited longest.
    pub drop_front: bool,
    /// Who goes first where a packet arrives as another leaves: `random`, `departure`, `arrival` or `ns2`.
    pub ties: &'static str,
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
pub struct Sent {
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
    /// Transfers of so many packets (a conversation's: of this size on average); `None` is one that goes on for ever.
    pub packets: Option<u64>,
    /// Mean rate on the wire of a flow without feedback, bit/s.
    pub rate_bps: Option<u64>,
    /// When a flow without feedback stops, nanoseconds.
    pub stop_ns: Option<u64>,
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

//! What `paceline emulate` asks for, as JSON: devices, links, the routes of flows. Times in ns, rates in bit/s.

use serde::Deserialize;

/// All of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// How long to run from the start.
    pub duration_ns: u64,
    /// Statistics begin so long after the start.
    pub warmup_ns: u64,
    /// A wait ends so long before what is due, and the rest is spent looking at the clock.
    pub spin_ns: u64,
    /// The TCP port of the first flow's listener; the next flows have the next ones.
    pub first_port: u16,
    /// Devices.
    pub ports: Vec<Port>,
    /// Links.
    pub links: Vec<LinkPlan>,
    /// The link whose data packets are counted over the whole run.
    pub core: usize,
    /// Flows.
    pub flows: Vec<FlowPlan>,
}

/// A device, open already.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Its descriptor, which does not block.
    pub fd: i32,
    /// TAP: frames have an Ethernet header, which does not count.
    pub ethernet: bool,
}

/// A link in one direction.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// Of serialisation.
    pub rate_bps: u64,
    /// Propagation.
    pub delay_ns: u64,
    /// What may wait.
    pub buffer: Buffer,
    /// A pacer before it, in this process.
    pub pacer: Option<PacerPlan>,
    /// A pacer before it that is another program, behind two devices.
    pub detour: Option<Detour>,
    /// What to write down over time.
    pub record: Record,
}

/// What may wait before a link; no limit where both are `None`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Limit in bytes.
    pub bytes: Option<u64>,
    /// Limit in packets.
    pub packets: Option<u64>,
    /// What the limit counts, by its name in a scenario.
    pub counts: String,
    /// Who goes first where a packet arrives as another leaves, by its name in a scenario, and the seed where that is drawn.
    pub ties: String,
    /// Of these draws.
    pub seed: u64,
}

/// A pacer by its method and parameters, as a scenario has them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacerPlan {
    /// Its name.
    pub method: String,
    /// Names and values in words.
    pub parameters: Vec<(String, String)>,
    /// What it may hold, bytes.
    pub bytes: Option<u64>,
    /// What it may hold, packets.
    pub packets: Option<u64>,
}

/// Where a packet leaves this process to be paced, and where it comes back.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detour {
    /// The device before the pacer.
    pub to: usize,
    /// The device after it.
    pub from: usize,
}

/// What to write down of a link.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// What waits, measured over the statistics' window.
    pub queue: bool,
    /// What waits, sampled so often from the start on.
    pub samples_every_ns: Option<u64>,
    /// Each packet whose service begins between these two times from the start.
    pub departures_ns: Option<(u64, u64)>,
}

/// A flow's way there and back: links by number, and the devices at its ends.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    /// Links of what goes to the listener.
    pub forward: Vec<usize>,
    /// Links of what comes from it.
    pub reverse: Vec<usize>,
    /// Device of the host that connects.
    pub caller: usize,
    /// Device of the host that listens.
    pub listener: usize,
}

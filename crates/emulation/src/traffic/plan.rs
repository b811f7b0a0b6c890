//! What `paceline emulate` asks for, as JSON. Times in ns, sizes in bytes.

use super::draws::Draw;
use serde::Deserialize;

/// All of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// How long to run from the start.
    pub(crate) duration_ns: u64,
    /// Statistics begin so long after the start.
    pub(crate) warmup_ns: u64,
    /// The port of the first flow's listener; the next flows have the next ones.
    pub(crate) first_port: u16,
    /// Pairs of network namespaces.
    pub(crate) stacks: Vec<Stack>,
    /// Flows.
    pub(crate) flows: Vec<FlowPlan>,
    /// Flows whose sockets are looked at over time.
    pub(crate) samples: Vec<SamplePlan>,
}

/// Where sockets are made: descriptors of network namespaces.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stack {
    /// Of those that connect.
    pub(crate) callers: i32,
    /// Of those that listen.
    pub(crate) listeners: i32,
}

/// A flow: who connects to whom, how, and what they say.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowPlan {
    /// Number of its namespaces.
    pub(crate) stack: usize,
    /// Address that connects.
    pub(crate) from: [u8; 4],
    /// Address that listens.
    pub(crate) to: [u8; 4],
    /// When, from the start.
    pub(crate) start_ns: u64,
    /// The kernel's name of its congestion control.
    pub(crate) congestion_control: String,
    /// TCP spaces its packets.
    pub(crate) paced: bool,
    /// No more than this is offered as receiver's window.
    pub(crate) window_bytes: Option<u32>,
    /// Of what it draws.
    pub(crate) seed: u64,
    /// What is said over it.
    pub(crate) application: Application,
}

/// What is said over a flow.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Application {
    /// One message, for ever unless it has a size.
    Bulk {
        /// Its size.
        bytes: Option<u64>,
    },
    /// A file, a pause, the next file.
    Files {
        /// Sizes.
        size: Draw,
        /// Pauses.
        think: Draw,
        /// Each has a connection of its own.
        new_connections: bool,
        /// So many; `None` is no end.
        files: Option<u64>,
    },
    /// A request, an answer, a pause, the next request.
    Calls {
        /// Sizes.
        request: Draw,
        /// Sizes.
        response: Draw,
        /// Pauses.
        think: Draw,
        /// So many; `None` is no end.
        calls: Option<u64>,
    },
}

/// Which flow to look at, and how often.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SamplePlan {
    /// Its number.
    pub(crate) flow: usize,
    /// From one look to the next.
    pub(crate) every_ns: u64,
}

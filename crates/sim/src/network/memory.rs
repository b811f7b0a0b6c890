//! Memories that links out of one node share.

use paceline_core::queue::Limit;

/// A switch's memory, and the ports that share it by dynamic thresholds: see [`crate::model::memory`].
#[derive(Debug, Clone, PartialEq)]
pub struct MemorySpec {
    /// Links out of one node, by their positions in the network; each shares one memory at most.
    pub links: Vec<u32>,
    /// What may wait at all of them together.
    pub size: Limit,
    /// A port takes a packet while it holds less than so many times what is free.
    pub alpha: f64,
}

impl MemorySpec {
    /// What a port holds that alone is congested: of a size B, alpha B / (1 + alpha).
    pub fn alone(&self) -> Limit {
        let part = |size: u64| (size as f64 * self.alpha / (1.0 + self.alpha)) as u64;
        match self.size {
            Limit::Bytes(bytes) => Limit::Bytes(part(bytes)),
            Limit::Packets(packets) => Limit::Packets(part(packets)),
        }
    }
}

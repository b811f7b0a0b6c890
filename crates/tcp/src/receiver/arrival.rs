//! A packet that has arrived.

use paceline_core::Instant;

/// A packet that has arrived, or several that count as one, and what the receiver holds then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    /// The last of them.
    pub(super) seq: u32,
    /// How many they are.
    pub(super) packets: u32,
    /// All packets before `before` had arrived earlier, and all before `next` have now.
    pub(super) before: u32,
    pub(super) next: u32,
    /// Packets held beyond a gap, and how far beyond `next` the last of them is.
    pub(super) held: u32,
    pub(super) reach: u32,
    /// Acknowledgements report them in blocks.
    pub(super) selective: bool,
    pub(super) now: Instant,
}

//! A packet that has arrived.

use paceline_core::Instant;

/// A packet that has arrived, and what its receiver has then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) seq: u32,
    /// All before this had arrived, and have now.
    pub(super) before: u32,
    pub(super) next: u32,
    /// So many are held beyond a gap, up to so far beyond `next`.
    pub(super) held: u32,
    pub(super) reach: u32,
    /// Blocks of that are reported.
    pub(super) selective: bool,
    pub(super) now: Instant,
}

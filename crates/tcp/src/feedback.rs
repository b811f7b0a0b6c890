//! What an acknowledgement carries: its number, SACK blocks and an echoed time.

use paceline_core::Instant;

/// Most blocks in one acknowledgement: four fit into TCP's 40 bytes of options (RFC 2018 section 3).
pub const MOST_BLOCKS: usize = 4;

/// A block of packets that the receiver holds beyond a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// Its first packet.
    pub start: u32,
    /// One more than its last packet.
    pub end: u32,
}

/// An acknowledgement as a sender receives it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack<'a> {
    /// It acknowledges all packets before this one.
    pub(crate) next: u32,
    /// When the packet was sent that this echoes.
    pub(crate) echo: Instant,
    pub(crate) blocks: &'a [Block],
}

/// The selective part of an acknowledgement.
///
/// ```
/// use paceline_core::Instant;
/// use paceline_tcp::{Block, Feedback};
///
/// let mut feedback = Feedback::new(Instant::ZERO);
/// feedback.push(Block { start: 5, end: 7 });
/// assert_eq!(feedback.blocks(), [Block { start: 5, end: 7 }]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Feedback {
    /// When the packet was sent that this echoes (RFC 7323; ns-2 `ts_echo`).
    pub echo: Instant,
    blocks: [Block; MOST_BLOCKS],
    count: u8,
}

impl Feedback {
    /// An echo without blocks.
    #[inline]
    pub fn new(echo: Instant) -> Self {
        Feedback { echo, ..Feedback::default() }
    }

    /// Adds a block; the fifth and later ones are left out.
    pub fn push(&mut self, block: Block) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = block;
            self.count += 1;
        }
    }

    /// The blocks, the most recent first.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.count)]
    }
}

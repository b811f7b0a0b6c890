//! What each rule of delayed acknowledgements remembers.

use paceline_core::Span;

/// Quick acknowledgements.
#[derive(Debug, Clone)]
pub(super) struct Quick {
    /// Packets that are acknowledged at once, at the start and after each event; 0 turns quick acknowledgements off.
    pub(super) most: u32,
    /// How many of them are left (Linux `icsk_ack.quick`).
    pub(super) left: u32,
    /// The last packet of a write has arrived (Linux `ICSK_ACK_PUSHED`).
    pub(super) pushed: bool,
    /// The host sent data soon after it received some (Linux `inet_csk_in_pingpong_mode`).
    pub(super) answers: bool,
}

/// When the application reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// The longest time from a packet's arrival to its reading; zero reads at once.
    pub(super) most: Span,
    pub(super) seed: u64,
    /// A packet has been missing: from now on the delay of reading applies.
    pub(super) begun: bool,
    /// The acknowledgement that is due waits for the application.
    pub(super) now: bool,
}

/// Compression of acknowledgements beyond a gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compression {
    /// The longest delay; zero compresses nothing.
    pub(super) most: Span,
    /// Where the gap begins (Linux `compressed_ack_rcv_nxt`).
    pub(super) at: u32,
    /// Acknowledgements sent at once for this gap (Linux `dup_ack_counter`).
    pub(super) sent: u8,
    /// Acknowledgements that are delayed (Linux `compressed_ack`).
    pub(super) waiting: u8,
}

impl Quick {
    /// A packet that has arrived is acknowledged at once.
    pub(super) fn is_due(&self) -> bool {
        self.most > 0 && (self.left > 0 || self.pushed) && !self.answers
    }
}

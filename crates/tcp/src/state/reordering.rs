//! What a sender with RACK remembers of reordering, for the connection's life.
//!
//! *Idea.* A packet that arrives behind one that was sent after it, and was sent once only, was reordered, not lost. From then on reports of
//! three packets do not prove a loss: a missing packet waits for a quarter of the least round trip, in a recovery too.
//! *References.* RFC 8985 section 6.2, step 4; Linux 6.18 net/ipv4/tcp_input.c `tcp_check_sack_reordering`.

use crate::sparse::Blank;

/// Most packets that a packet counts as reordered by (Linux net.ipv4.tcp_max_reordering).
const MOST: u32 = 300;

/// It has none until a packet was reordered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reordering {
    /// A packet was reordered (`reord_seen`).
    pub(crate) is_seen: bool,
    /// By how many packets at most; 0 where that is no more than `Config::duplicate_threshold` (`reordering`).
    farthest: u32,
}

impl Blank for Reordering {
    fn blank() -> &'static Self {
        static BLANK: Reordering = Reordering { is_seen: false, farthest: 0 };
        &BLANK
    }
}

impl Reordering {
    /// A packet came `packets` late; losses are recovered from after `threshold` reports.
    pub(crate) fn note(&mut self, packets: u32, threshold: u32) {
        self.is_seen = true;
        if packets > self.farthest.max(threshold) {
            self.farthest = packets.min(MOST);
        }
    }

    /// Packets are reordered by more than the threshold, so that the window grows by those that arrive beyond a gap, too
    /// (`tcp_may_raise_cwnd`).
    pub(crate) fn is_far(&self) -> bool {
        self.farthest > 0
    }

    /// A timeout came though several packets were reported: it is taken for less (`tcp_enter_loss`).
    pub(crate) fn forget_distance(&mut self) {
        self.farthest = 0;
    }
}

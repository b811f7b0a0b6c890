//! What a sender with RACK remembers of reordering, for the connection's life.
//!
//! *Idea.* A packet that arrives behind one that was sent after it, and was sent once only, was reordered, not lost. From then on reports of
//! three packets do not prove a loss: a missing packet waits for a quarter of the least round trip, in a recovery too; for longer by a quarter for each round trip in which the receiver tells of packets that
//! it had before (D-SACK, RFC 2883).
//! *References.* RFC 8985 section 6.2, step 4; Linux 6.18 net/ipv4/tcp_input.c `tcp_check_sack_reordering`,
//! `tcp_dsack_seen`, tcp_recovery.c `tcp_rack_update_reo_wnd`.

use crate::sparse::Blank;
use paceline_core::Instant;

/// Most packets that a packet counts as reordered by (Linux net.ipv4.tcp_max_reordering).
const MOST: u32 = 300;

/// So long a lengthened wait is kept: recoveries that were not needless (`TCP_RACK_RECOVERY_THRESH`).
const KEPT: u8 = 16;

/// It has none until a packet was reordered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reordering {
    /// A packet was reordered.
    pub(crate) is_seen: bool,
    /// By how many packets at most; 0 where that is no more than `Config::duplicate_threshold` (`reordering`).
    farthest: u32,
    /// Packets that have arrived twice (`dsack_dups`).
    twice: u32,
    /// Quarters of the least round trip that a missing packet waits for beyond the first (`reo_wnd_steps`), and for how many recoveries
    /// more (`reo_wnd_persist`).
    longer: u8,
    kept: u8,
    /// A retransmission was needless, perhaps for it (`dsack_seen`).
    pub(crate) is_pending: bool,
    /// When that was last taken into account, and one more than the highest packet sent by then (`last_delivered`).
    lengthened: Option<(Instant, u32)>,
}

impl Blank for Reordering {
    fn blank() -> &'static Self {
        static BLANK: Reordering = Reordering {
            is_seen: false,
            farthest: 0,
            twice: 0,
            longer: 0,
            kept: 0,
            is_pending: false,
            lengthened: None,
        };
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

    /// How many quarters of the least round trip a missing packet waits for.
    pub(crate) fn quarters(&self) -> u64 {
        1 + u64::from(self.longer)
    }

    /// The receiver has had so many packets twice, where `resent` were sent again in all; the last one as a probe, perhaps. Returns whether
    /// that can be (`tcp_dsack_seen`).
    pub(crate) fn note_twice(&mut self, packets: u32, resent: u32, is_probe: bool) -> bool {
        self.twice = self.twice.saturating_add(packets);
        let can_be = self.twice <= resent;
        self.is_pending |= can_be && self.is_seen && !is_probe;
        can_be
    }

    /// An acknowledgement has delivered a packet that was last sent then, the one before `end`, and `all` is one more than the highest sent
    /// by now: once in a round trip needless retransmissions lengthen the wait (`tcp_rack_update_reo_wnd`).
    pub(crate) fn on_delivered(&mut self, (sent, end): (Instant, u32), now: Instant, all: u32) {
        let is_before = |(at, below): (Instant, u32)| sent < at || sent == at && end <= below;
        if self.lengthened.is_some_and(is_before) {
            self.is_pending = false;
        }
        if std::mem::take(&mut self.is_pending) {
            self.longer = self.longer.saturating_add(1).min(254);
            self.lengthened = Some((now, all));
            self.kept = KEPT;
        } else if self.kept == 0 {
            self.longer = 0;
        }
    }

    /// A recovery is over that was not needless.
    pub(crate) fn on_recovered(&mut self) {
        self.kept = self.kept.saturating_sub(1);
    }

    /// One was needless, as the receiver has had all retransmissions twice.
    pub(crate) fn on_needless(&mut self) {
        self.kept = (self.kept + 1).min(KEPT);
    }

    /// A timeout came though several packets were reported: it is taken for less (`tcp_enter_loss`).
    pub(crate) fn forget_distance(&mut self) {
        self.farthest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_distance_counts_from_the_threshold_on_and_no_further_than_300() {
        let mut reordering = Reordering::default();
        for (packets, farthest) in [(3, 0), (4, 4), (2, 4), (1000, 300)] {
            reordering.note(packets, 3);
            assert_eq!((reordering.farthest, reordering.is_seen), (farthest, true));
        }
    }

    /// `tcp_rack_update_reo_wnd`: once in a round trip, up to 255 quarters, and back to one after 16 recoveries.
    #[test]
    fn the_wait_is_lengthened_once_in_a_round_trip_and_kept_for_sixteen_recoveries() {
        let mut reordering = Reordering { is_seen: true, ..Reordering::default() };
        assert!(reordering.note_twice(1, 1, false));
        reordering.on_delivered((at(100), 11), at(200), 21);
        assert_eq!(reordering.quarters(), 2);
        for sent in [(at(150), 30), (at(200), 21)] {
            assert!(reordering.note_twice(1, 9, false));
            reordering.on_delivered(sent, at(250), 31); // sent before it was lengthened
            assert_eq!(reordering.quarters(), 2);
        }
        assert!(reordering.note_twice(1, 9, false));
        reordering.on_delivered((at(200), 22), at(300), 41);
        assert_eq!(reordering.quarters(), 3);
        for left in (0..16).rev() {
            reordering.on_recovered();
            reordering.on_delivered((at(300), 41), at(400), 51);
            assert_eq!(reordering.quarters(), if left == 0 { 1 } else { 3 });
        }
        let mut later = (400, 60);
        for _ in 0..300 {
            assert!(reordering.note_twice(1, u32::MAX, false));
            reordering.on_delivered((at(later.0), later.1), at(later.0), later.1);
            later = (later.0 + 1, later.1 + 1);
        }
        assert_eq!(reordering.quarters(), 255);
    }

    #[test]
    fn a_probe_and_more_than_was_sent_again_lengthen_nothing() {
        let mut reordering = Reordering { is_seen: true, ..Reordering::default() };
        assert!(reordering.note_twice(1, 1, true) && !reordering.is_pending);
        assert!(!reordering.note_twice(1, 1, false) && !reordering.is_pending);
        let mut unseen = Reordering::default();
        assert!(unseen.note_twice(1, 1, false) && !unseen.is_pending);
    }
}

//! By what a reduction of the window is found out to have been needless, and what it is taken back to.
//!
//! *References.* RFC 3522, 4015; Linux 6.18 net/ipv4/tcp_input.c `tcp_init_undo`, `tcp_packet_delayed`, tcp_output.c `tcp_retransmit_skb`.

use crate::sparse::Blank;
use paceline_core::Instant;

/// Timestamps count milliseconds (`tcp_clock_ts`).
const TIMESTAMP_NS: u64 = 1_000_000;

/// It outlives the recovery: a needless retransmission may be reported after it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Undo {
    /// The first packet that was not acknowledged at the reduction; `None` where there is nothing to take back (`undo_marker`).
    pub(crate) from: Option<u32>,
    /// Retransmissions since that are not reported to be needless; `None` before the first (`undo_retrans`).
    pub(crate) resent: Option<u32>,
    /// When the first was sent of those that are outstanding (`retrans_stamp`).
    pub(crate) first_resent: Option<Instant>,
    /// Window before, and threshold; `None` where a mark called for the reduction as well (`prior_cwnd`, `prior_ssthresh`).
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: Option<u32>,
}

impl Blank for Undo {
    fn blank() -> &'static Self {
        static BLANK: Undo = Undo { from: None, resent: None, first_resent: None, cwnd: 0.0, ssthresh: None };
        &BLANK
    }
}

impl Undo {
    /// The window of `cwnd` packets and its threshold are reduced, `una` being the first packet that is not acknowledged, and so many
    /// retransmissions in flight. The threshold of a window above it is three quarters of that (`tcp_current_ssthresh`).
    pub(crate) fn begin(&mut self, una: u32, in_flight: u32, (cwnd, ssthresh): (f64, u32), is_marked: bool) {
        let packets = cwnd as u32;
        self.from = Some(una);
        self.resent = (in_flight > 0).then_some(in_flight);
        self.cwnd = cwnd;
        self.ssthresh = (!is_marked).then(|| ssthresh.max(packets / 2 + packets / 4));
    }

    /// A packet is sent again.
    pub(crate) fn on_resent(&mut self, now: Instant) {
        self.first_resent.get_or_insert(now);
        self.resent = Some(self.resent.unwrap_or(0) + 1);
    }

    /// The receiver has had so many packets twice, up to the one before `end`: they need not have been sent again (`tcp_check_dsack`).
    pub(crate) fn on_twice(&mut self, packets: u32, end: u32) {
        if self.from.is_some_and(|from| end > from) {
            self.resent = self.resent.map(|resent| resent.saturating_sub(packets));
        }
    }

    /// All retransmissions were needless.
    pub(crate) fn are_all_needless(&self) -> bool {
        self.from.is_some() && self.resent == Some(0)
    }

    /// No retransmission is outstanding.
    pub(crate) fn end_retransmissions(&mut self) {
        self.first_resent = None;
    }

    /// The acknowledgement that echoes this time was not called for by a retransmission (`tcp_packet_delayed`).
    pub(crate) fn is_by_original(&self, echo: Option<Instant>) -> bool {
        let ms = |at: Instant| at.as_nanos() / TIMESTAMP_NS;
        self.first_resent.is_none_or(|first| echo.is_some_and(|echo| ms(echo) < ms(first)))
    }

    /// `tcp_may_undo`
    pub(crate) fn is_needless(&self, echo: Option<Instant>) -> bool {
        self.are_all_needless() || self.from.is_some() && self.is_by_original(echo)
    }
}

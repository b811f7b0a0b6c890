//! The state of RACK (`recovery/rack.rs`).

use super::rate_reduction::RateReduction;
use paceline_core::{Instant, Span};

/// The state of congestion avoidance and recovery (Linux `icsk_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum CaState {
    #[default]
    Open,
    /// A packet is held beyond a gap, but none is known to be lost.
    Disorder,
    Recovery,
    /// After a timeout.
    Loss,
}

/// A packet that was retransmitted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resent {
    pub(crate) seq: u32,
    pub(crate) at: Instant,
    /// One more than the highest packet sent by then: what is beyond it was sent later, if at the same instant.
    pub(crate) end: u32,
    /// The retransmission is lost.
    pub(crate) lost: bool,
}

/// Retransmissions that have not arrived, in the order of sending (`TCPCB_SACKED_RETRANS`, where not lost), and how many of them are lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Retransmissions {
    list: Vec<Resent>,
    lost: u32,
}

impl Retransmissions {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Resent> {
        self.list.iter()
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.lost = 0;
    }

    /// Those that are not lost.
    pub(crate) fn in_flight(&self) -> u32 {
        self.list.len() as u32 - self.lost
    }

    /// The lowest packet whose retransmission is lost.
    pub(crate) fn first_lost(&self) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        self.list.iter().filter(|one| one.lost).map(|one| one.seq).min()
    }

    /// A packet that is not among them is sent again.
    pub(crate) fn push(&mut self, seq: u32, at: Instant, end: u32) {
        self.list.push(Resent { seq, at, end, lost: false });
    }

    /// Takes out that of packet `seq`.
    pub(crate) fn take(&mut self, seq: u32) -> Option<Resent> {
        let place = self.list.iter().position(|one| one.seq == seq)?;
        let one = self.list.remove(place);
        self.lost -= u32::from(one.lost);
        Some(one)
    }

    /// Those in flight are lost of which `is_lost` says so, up to the first of which it says nothing.
    pub(crate) fn lose(&mut self, mut is_lost: impl FnMut(&Resent) -> Option<bool>) {
        for one in self.list.iter_mut().filter(|one| !one.lost) {
            let Some(lost) = is_lost(one) else { return };
            one.lost = lost;
            self.lost += u32::from(lost);
        }
    }
}

/// What is kept while a packet is missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct RackState {
    pub(crate) ca_state: CaState,
    /// Packets before this that are not held are lost, whether retransmitted or not (`TCPCB_LOST`).
    pub(crate) lost_to: u32,
    /// Lost packets before this have been retransmitted.
    pub(crate) resent_to: u32,
    /// Of packets before `resent_to`.
    pub(crate) resent: Retransmissions,
    /// Of the packets that have arrived, the one sent last: when it was sent, and one more than its number (`rack.mstamp`).
    pub(crate) latest: (Instant, u32),
    /// That was a retransmission.
    pub(crate) latest_resent: bool,
    /// Round trip of the packet that arrived last (`rack.rtt_us`).
    pub(crate) round_trip: Span,
    pub(crate) reduction: RateReduction,
    /// Window and threshold before the timeout.
    pub(crate) undo: (f64, u32),
    /// The timeout may have been needless (`frto`).
    pub(crate) frto: bool,
    /// New data are sent before lost packets, to find out whether the timeout was needless.
    pub(crate) new_data_first: bool,
    /// Timeouts since the last progress (`icsk_retransmits`).
    pub(crate) timeouts: u32,
}

impl RackState {
    pub(super) const BLANK: RackState = RackState {
        ca_state: CaState::Open,
        lost_to: 0,
        resent_to: 0,
        resent: Retransmissions { list: Vec::new(), lost: 0 },
        latest: (Instant::ZERO, 0),
        latest_resent: false,
        round_trip: Span::ZERO,
        reduction: RateReduction { prior: 0, delivered: 0, sent: 0 },
        undo: (0.0, 0),
        frto: false,
        new_data_first: false,
        timeouts: 0,
    };

    pub(super) fn is_stale(&self) -> bool {
        self.ca_state == CaState::Open && self.resent.is_empty()
    }
}

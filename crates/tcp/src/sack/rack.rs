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

/// What is kept while a packet is missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct RackState {
    pub(crate) ca_state: CaState,
    /// Packets before this that are not held are lost, whether retransmitted or not (`TCPCB_LOST`).
    pub(crate) lost_to: u32,
    /// Lost packets before this have been retransmitted.
    pub(crate) resent_to: u32,
    /// Retransmissions that have not arrived, in the order of sending (`TCPCB_SACKED_RETRANS`, where not `lost`).
    pub(crate) resent: Vec<Resent>,
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
        resent: Vec::new(),
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

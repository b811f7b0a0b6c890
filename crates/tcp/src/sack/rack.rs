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
    /// The retransmission is lost: not in flight (not `TCPCB_SACKED_RETRANS`).
    pub(crate) lost: bool,
    /// Its packet is not lost: that was taken back (not `TCPCB_LOST`).
    pub(crate) spared: bool,
    /// It was taken for lost all the same, so that it is not looked at again before a timeout.
    stuck: bool,
}

/// Retransmissions that have not arrived, in the order of sending (`TCPCB_SACKED_RETRANS`, where not lost), and how many of them are lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Retransmissions {
    list: Vec<Resent>,
    lost: u32,
    /// One more than the highest of them, or a higher one.
    reach: u32,
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

    /// Packet `seq` is among them.
    pub(crate) fn has(&self, seq: u32) -> bool {
        self.may_have(seq) && self.list.iter().any(|one| one.seq == seq)
    }

    /// Packets from `seq` on may be among them.
    #[inline]
    pub(crate) fn may_have(&self, seq: u32) -> bool {
        seq < self.reach && !self.list.is_empty()
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
        self.list.iter().filter(|one| one.lost && !one.spared).map(|one| one.seq).min()
    }

    /// A packet that is not among them is sent again.
    pub(crate) fn push(&mut self, seq: u32, at: Instant, end: u32) {
        self.list.push(Resent { seq, at, end, lost: false, spared: false, stuck: false });
        self.reach = self.reach.max(seq + 1);
    }

    /// Packet `seq` has arrived beyond a hole: when it was sent again. Where it was not lost, the retransmission counts as in flight still
    /// (`tcp_sacktag_one`).
    pub(crate) fn take_held(&mut self, seq: u32) -> Option<Instant> {
        let one = self.list.iter().find(|one| one.seq == seq)?;
        if one.spared && !one.lost {
            return Some(one.at);
        }
        self.take(seq).map(|one| one.at)
    }

    /// All before `una` is acknowledged.
    pub(crate) fn forget_below(&mut self, una: u32) {
        self.list.retain(|one| one.seq >= una);
        self.lost = self.list.iter().filter(|one| one.lost).count() as u32;
    }

    /// Their packets are not lost, after all.
    pub(crate) fn spare(&mut self) {
        self.list.iter_mut().for_each(|one| (one.spared, one.stuck) = (true, false));
    }

    /// A timeout: those `is_old` are lost, and that of the first packet, `una`. Of one that was spared only its packet is
    /// (`tcp_timeout_mark_lost`).
    pub(crate) fn time_out(&mut self, una: u32, is_old: impl Fn(Instant) -> bool) {
        for one in self.list.iter_mut().filter(|one| one.seq == una || is_old(one.at)) {
            let was_spared = std::mem::take(&mut one.spared);
            if !one.lost && (!was_spared || one.seq == una) {
                (one.lost, one.stuck) = (true, false);
                self.lost += 1;
            }
        }
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
        for one in self.list.iter_mut().filter(|one| !one.lost && !one.stuck) {
            let Some(lost) = is_lost(one) else { return };
            if lost && one.spared {
                (one.spared, one.stuck) = (false, true); // the retransmission is in flight still (`tcp_mark_skb_lost`)
            } else if lost {
                one.lost = true;
                self.lost += 1;
            }
        }
    }
}

/// What is kept while a packet is missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct RackState {
    pub(crate) ca_state: CaState,
    /// Packets from `lost_from` on, before `lost_to`, that are not held are lost, whether retransmitted or not (`TCPCB_LOST`), but those
    /// whose retransmission is spared.
    pub(crate) lost_from: u32,
    pub(crate) lost_to: u32,
    /// Of these, RACK has found those before this, not a timeout.
    pub(crate) found_to: u32,
    /// Losses were taken back: some packets may have been retransmitted and not be lost.
    pub(crate) is_undone: bool,
    /// Something has arrived by which losses may be found (`rack.advanced`).
    pub(crate) advanced: bool,
    /// What this acknowledgement lets out are new data only.
    pub(crate) holds_back: bool,
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
        lost_from: 0,
        lost_to: 0,
        found_to: 0,
        is_undone: false,
        advanced: false,
        holds_back: false,
        resent_to: 0,
        resent: Retransmissions { list: Vec::new(), lost: 0, reach: 0 },
        latest: (Instant::ZERO, 0),
        latest_resent: false,
        round_trip: Span::ZERO,
        reduction: RateReduction { prior: 0, delivered: 0, sent: 0 },
        frto: false,
        new_data_first: false,
        timeouts: 0,
    };

    pub(super) fn is_stale(&self, una: u32) -> bool {
        self.ca_state == CaState::Open && self.resent.is_empty() && self.lost_from <= una
    }
}

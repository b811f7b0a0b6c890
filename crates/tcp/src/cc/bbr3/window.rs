//! BBR's window, and what it takes to be in flight.
//!
//! *References.* draft-ietf-ccwg-bbr section 5.6.4.

use super::{Acknowledged, LEAST_CWND, Model, State};
use crate::cc::rate::{PathModel, UNIT, bdp};
use crate::sack::CaState;

impl Model {
    /// `BDPMultiple`, packets.
    pub(super) fn bdp(&self, gain: u64) -> u32 {
        self.min_rtt.least().map_or(self.settings.initial_window, |rtt| bdp(self.bw, rtt, gain))
    }

    /// `QuantizationBudget`
    pub(super) fn with_trains(&self, volume: u32) -> u32 {
        let volume = volume.max(3 * self.pace().burst).max(LEAST_CWND);
        volume + if self.state == State::Up { 2 } else { 0 }
    }

    /// `Inflight`
    pub(super) fn in_flight(&self, gain: u64) -> u32 {
        self.with_trains(self.bdp(gain))
    }

    /// `TargetInflight`
    pub(super) fn target(&self, cwnd: u32) -> u32 {
        self.bdp(UNIT).min(cwnd)
    }

    /// `SaveCwnd`
    pub(super) fn save_cwnd(&mut self, cwnd: u32) {
        let keeps = self.prior_state >= CaState::Recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = if keeps { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// `RestoreCwnd` at the end of a recovery.
    pub(super) fn restore_after_recovery(&mut self, acked: &mut Acknowledged) {
        if self.prior_state >= CaState::Recovery && acked.ack.ca_state < CaState::Recovery {
            acked.cwnd = acked.cwnd.max(self.prior_cwnd);
        }
        self.prior_state = acked.ack.ca_state;
    }

    /// `SetCwnd`
    pub(super) fn set_cwnd(&mut self, acked: &mut Acknowledged) {
        let extra = self.extra.get().min(u64::from(u32::MAX / 4)) as u32;
        let most = self.with_trains(self.bdp(self.state.cwnd_gain()).saturating_add(extra));
        let (newly, cwnd) = (acked.ack.delivered, acked.cwnd);
        acked.cwnd = if self.full_bw_reached {
            (cwnd + newly).min(most)
        } else if cwnd < most || acked.delivered < u64::from(self.settings.initial_window) {
            cwnd + newly
        } else {
            cwnd
        };
        acked.cwnd = acked.cwnd.max(LEAST_CWND);
        if self.state == State::ProbeRtt {
            acked.cwnd = acked.cwnd.min(self.probe_rtt_cwnd());
        }
        acked.cwnd = acked.cwnd.min(self.most_by_losses());
    }
}

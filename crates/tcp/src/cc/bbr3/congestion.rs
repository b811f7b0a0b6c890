//! What losses tell BBR of the path: bounds of the rate and of what is in flight.
//!
//! *Idea.* Short-term bounds, for the time between two probes: in a round trip with a loss they fall to what was delivered in it, but no
//! lower than to 0.7 of what they were. The long-term bound, for the probes: where more than 2 % of what was in flight with a packet
//! were lost by the time that it is known to be lost, as much was too much.
//! *References.* draft-ietf-ccwg-bbr sections 5.3.1.3 and 5.5.10.

use super::{Acknowledged, INFINITE, LEAST_CWND, Model, State};
use crate::cc::rate::{Sampler, Transmission};
use crate::sack::CaState;

/// `BBR.LossThresh`, percent.
const LOSS_PERCENT: u64 = 2;
/// `BBRStartupFullLossCnt`, separate holes.
const STARTUP_HOLES: u32 = 6;

#[derive(Debug, Clone)]
pub(super) struct Bounds {
    /// Packets/us; `u64::MAX` is none.
    pub(super) bw_shortterm: u64,
    pub(super) shortterm: u32,
    pub(super) longterm: u32,
    bw_latest: u64,
    latest: u64,
    loss_round: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    /// Holes of this round trip, and where the last one ended.
    holes: u32,
    hole_end: u32,
    undo: Undo,
}

#[derive(Debug, Clone)]
struct Undo {
    state: Option<State>,
    bw_shortterm: u64,
    shortterm: u32,
    longterm: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        let undo = Undo { state: None, bw_shortterm: 0, shortterm: 0, longterm: 0 };
        Bounds {
            bw_shortterm: u64::MAX,
            shortterm: INFINITE,
            longterm: INFINITE,
            bw_latest: 0,
            latest: 0,
            loss_round: 0,
            loss_round_start: false,
            loss_in_round: false,
            holes: 0,
            hole_end: 0,
            undo,
        }
    }
}

/// 0.7 of this (`BBR.Beta`).
fn beta(value: u64) -> u64 {
    (u128::from(value) * 7 / 10) as u64
}

/// `IsInflightTooHigh`
pub(super) fn is_too_high(lost: u64, in_flight: u32) -> bool {
    lost * 100 > u64::from(in_flight) * LOSS_PERCENT
}

/// `InflightAtLoss`: how many were in flight when losses passed the threshold, if this packet was lost with `lost` others of
/// `in_flight`, itself included in both.
fn in_flight_at_loss(in_flight: u32, lost: u64) -> u32 {
    let before = u64::from(in_flight.saturating_sub(1));
    let budget = (before * LOSS_PERCENT).saturating_sub(lost.saturating_sub(1) * 100);
    (before + budget / (100 - LOSS_PERCENT)) as u32
}

impl Model {
    /// `UpdateLatestDeliverySignals`
    pub(super) fn update_latest_signals(&mut self, acked: &Acknowledged) {
        let bounds = &mut self.bounds;
        bounds.loss_round_start = false;
        bounds.bw_latest = bounds.bw_latest.max(acked.rate);
        bounds.latest = bounds.latest.max(acked.sample.delivered.unwrap_or(0));
        if acked.sample.delivered.is_some() && acked.sample.prior_delivered >= bounds.loss_round {
            bounds.loss_round = acked.delivered;
            bounds.loss_round_start = true;
        }
    }

    /// `AdvanceLatestDeliverySignals`
    pub(super) fn advance_latest_signals(&mut self, acked: &Acknowledged) {
        if self.bounds.loss_round_start {
            self.bounds.bw_latest = acked.rate;
            self.bounds.latest = acked.sample.delivered.unwrap_or(0);
        }
    }

    /// `ResetCongestionSignals`
    pub(super) fn reset_signals(&mut self) {
        let bounds = &mut self.bounds;
        (bounds.loss_in_round, bounds.bw_latest, bounds.latest) = (false, 0, 0);
    }

    /// `ResetShortTermModel`
    pub(super) fn reset_short_term(&mut self) {
        (self.bounds.bw_shortterm, self.bounds.shortterm) = (u64::MAX, INFINITE);
    }

    /// `UpdateCongestionSignals`, `AdaptLowerBoundsFromCongestion`
    pub(super) fn update_congestion_signals(&mut self, acked: &Acknowledged) {
        self.update_max_bw(acked);
        if !self.bounds.loss_round_start {
            return;
        }
        let max_bw = self.max_bw();
        let bounds = &mut self.bounds;
        if bounds.loss_in_round && !self.state.accelerates() {
            let bw = if bounds.bw_shortterm == u64::MAX { max_bw } else { bounds.bw_shortterm };
            let volume = if bounds.shortterm == INFINITE { acked.cwnd } else { bounds.shortterm };
            bounds.bw_shortterm = bounds.bw_latest.max(beta(bw));
            bounds.shortterm = bounds.latest.max(beta(volume.into())).min(INFINITE.into()) as u32;
        }
        bounds.loss_in_round = false;
    }

    /// `CheckStartupHighLoss`
    pub(super) fn check_startup_high_loss(&mut self, acked: &Acknowledged) {
        if self.full_bw_reached || !self.bounds.loss_round_start {
            return;
        }
        let holes = std::mem::take(&mut self.bounds.holes);
        if acked.ack.ca_state == CaState::Recovery
            && holes >= STARTUP_HOLES
            && is_too_high(acked.sample.lost_since, acked.sample.sent_in_flight)
        {
            self.bounds.undo.state = Some(State::Startup);
            (self.full_bw_now, self.full_bw_reached) = (true, true);
            self.bw = self.max_bw();
            let latest = self.bounds.latest.min(INFINITE.into()) as u32;
            self.bounds.longterm = self.bdp(crate::cc::rate::UNIT).max(latest);
        }
    }

    /// `HandleLostPacket`, `NoteLoss`
    pub(super) fn handle_lost(&mut self, rates: &Sampler, lost: &Transmission, cwnd: u32, now: u64) {
        if !self.bounds.loss_in_round {
            self.bounds.loss_round = rates.delivered;
            self.save_state_upon_loss(cwnd);
        }
        self.bounds.loss_in_round = true;
        self.bounds.holes += u32::from(lost.seq() != self.bounds.hole_end);
        self.bounds.hole_end = lost.seq() + 1;
        let since = rates.lost - lost.lost;
        if self.probe.is_sample && is_too_high(since, lost.in_flight) {
            let in_flight = in_flight_at_loss(lost.in_flight, since);
            self.handle_too_high((in_flight, lost.is_app_limited()), cwnd, rates.delivered, now);
        }
    }

    /// `HandleInflightTooHigh`
    fn handle_too_high(&mut self, (in_flight, limited): (u32, bool), cwnd: u32, delivered: u64, now: u64) {
        self.probe.was_too_high = true;
        self.probe.is_sample = false;
        if !limited {
            self.bounds.longterm = in_flight.max(beta(self.target(cwnd).into()) as u32);
        }
        if self.state == State::Up {
            self.bounds.undo.state = Some(State::Up);
            self.start_down(delivered, now);
        }
    }

    /// `SaveStateUponLoss`
    pub(super) fn save_state_upon_loss(&mut self, cwnd: u32) {
        self.save_cwnd(cwnd);
        let Bounds { bw_shortterm, shortterm, longterm, .. } = self.bounds;
        self.bounds.undo = Undo { state: None, bw_shortterm, shortterm, longterm };
    }

    /// `HandleSpuriousLossDetection`
    pub(super) fn handle_spurious_loss(&mut self, delivered: u64) {
        self.bounds.loss_in_round = false;
        self.reset_full_bw();
        let bounds = &mut self.bounds;
        bounds.bw_shortterm = bounds.bw_shortterm.max(bounds.undo.bw_shortterm);
        bounds.shortterm = bounds.shortterm.max(bounds.undo.shortterm);
        bounds.longterm = bounds.longterm.max(bounds.undo.longterm);
        let before = bounds.undo.state.take();
        if before == Some(State::Startup) && self.state != State::Startup {
            self.full_bw_reached = false;
            if self.state != State::ProbeRtt {
                self.state = State::Startup;
            }
        } else if before == Some(State::Up) && self.state != State::Up && self.state != State::ProbeRtt {
            self.start_refill(delivered);
        }
    }

    /// `InflightWithHeadroom`
    pub(super) fn with_headroom(&self) -> u32 {
        let most = self.bounds.longterm;
        if most == INFINITE {
            return INFINITE;
        }
        let headroom = (u64::from(most) * 15 / 100).max(1) as u32;
        most.saturating_sub(headroom).max(LEAST_CWND)
    }

    /// `BoundCwndForModel`: the most that the window may be.
    pub(super) fn most_by_losses(&self) -> u32 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.longterm,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => INFINITE,
        };
        longterm.min(self.bounds.shortterm).max(LEAST_CWND)
    }
}

#[cfg(test)]
impl Model {
    pub(super) fn set_undo(&mut self, state: State) {
        self.bounds.undo.state = Some(state);
    }
}

#[cfg(test)]
mod tests {
    use super::in_flight_at_loss;
    use proptest::prelude::*;

    proptest! {
        /// With as many in flight, the packets lost up to there are 2 % of it, within a packet.
        #[test]
        fn losses_pass_two_percent_there(in_flight in 1_u32..100_000, lost in 1_u64..100) {
            let (before, lost_before) = (f64::from(in_flight - 1), (lost - 1) as f64);
            let exact = (0.02 * before - lost_before) / 0.98; // the draft's lost_prefix
            let expected = before + exact.max(0.0);
            prop_assert!((f64::from(in_flight_at_loss(in_flight, lost)) - expected).abs() <= 1.0);
        }
    }
}

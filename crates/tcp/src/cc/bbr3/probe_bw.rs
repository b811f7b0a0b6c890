//! ProbeBW: DOWN, CRUISE, REFILL, UP, and the growth of the long-term bound while probing.
//!
//! *References.* draft-ietf-ccwg-bbr section 5.3.3.

use super::congestion::is_too_high;
use super::{Acknowledged, INFINITE, Model, State};
use crate::cc::rate::{UNIT, micros};
use rand_core::RngCore;

/// The most round trips between two probes, where Reno's window would grow as long (`IsRenoCoexistenceProbeTime`).
const MOST_RENO_ROUNDS: u32 = 63;
/// The least time between two probes; up to a second more is drawn (`PickProbeWait`), us.
const LEAST_WAIT: u64 = 2_000_000;
const DRAWN_WAIT: u64 = 1_000_000;

/// What acknowledgements show, as to probing (`BBR.ack_phase`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Probe {
    pub(super) ack_phase: AckPhase,
    /// Samples are of packets sent while probing (`is_bw_probe_sample`).
    pub(super) is_sample: bool,
    /// The last probe lost too much (`prev_probe_too_high`).
    pub(super) was_too_high: bool,
    /// It ended before it could (`prev_probe_precautionary`).
    was_precautionary: bool,
    /// Round trips since the last probe.
    pub(super) rounds: u32,
    /// When the cycle began, and how long it waits until it probes, us.
    began: u64,
    wait: u64,
    /// Packets acknowledged for each packet that the long-term bound grows by; round trips of growth.
    acked_per_packet: u32,
    acked: u32,
    up_rounds: u32,
}

impl Model {
    /// `StartProbeBW_DOWN`, `PickProbeWait`
    pub(super) fn start_down(&mut self, delivered: u64, now: u64) {
        self.reset_signals();
        let draws = &mut self.settings.draws;
        let rounds = draws.next_u32() >> 31;
        let wait = LEAST_WAIT + ((u64::from(draws.next_u32()) * DRAWN_WAIT) >> 32);
        let probe = &mut self.probe;
        probe.acked_per_packet = INFINITE;
        (probe.rounds, probe.wait, probe.began) = (rounds, wait, now);
        probe.ack_phase = AckPhase::ProbeStopping;
        self.start_round(delivered);
        self.state = State::Down;
    }

    /// `StartProbeBW_REFILL`
    pub(super) fn start_refill(&mut self, delivered: u64) {
        self.reset_short_term();
        let probe = &mut self.probe;
        (probe.up_rounds, probe.acked, probe.was_precautionary) = (0, 0, false);
        probe.ack_phase = AckPhase::Refilling;
        self.start_round(delivered);
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`
    fn start_up(&mut self, acked: &Acknowledged) {
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.start_round(acked.delivered);
        self.reset_full_bw();
        self.full_bw = acked.rate;
        self.state = State::Up;
        self.raise_slope(acked.cwnd);
    }

    /// `UpdateProbeBWCyclePhase`
    pub(super) fn update_phase(&mut self, acked: &Acknowledged) {
        if !self.full_bw_reached || self.adapt_long_term(acked) {
            return;
        }
        let now = micros(acked.ack.now);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(acked, now) => {
                self.start_refill(acked.delivered);
            }
            State::Down if self.is_time_to_cruise(acked) => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.probe.is_sample = true;
                self.start_up(acked);
            }
            State::Up => self.check_probe_done(acked, now),
            _ => {}
        }
    }

    fn check_probe_done(&mut self, acked: &Acknowledged, now: u64) {
        if self.is_time_to_go_down(acked) {
            self.probe.was_too_high = false;
            self.start_down(acked.delivered, now);
        }
    }

    /// `IsTimeToProbeBW`
    fn is_time_to_probe(&self, acked: &Acknowledged, now: u64) -> bool {
        let reno_rounds = self.target(acked.cwnd).min(MOST_RENO_ROUNDS);
        now > self.probe.began + self.probe.wait || self.probe.rounds >= reno_rounds
    }

    /// `IsTimeToCruise`
    fn is_time_to_cruise(&self, acked: &Acknowledged) -> bool {
        acked.ack.in_flight <= self.with_headroom() && acked.ack.in_flight <= self.in_flight(UNIT)
    }

    /// `IsTimeToGoDown`
    fn is_time_to_go_down(&mut self, acked: &Acknowledged) -> bool {
        // Before this acknowledgement, as in Linux: after it, what is in flight is below the window, which the bound limits.
        if self.probe.was_too_high && acked.ack.prior_in_flight >= self.bounds.longterm {
            self.probe.was_precautionary = true;
            return true;
        }
        if self.is_window_used() && acked.cwnd >= self.bounds.longterm {
            self.reset_full_bw();
            self.full_bw = acked.rate;
            return false;
        }
        self.full_bw_now
    }

    /// `RaiseInflightLongtermSlope`
    fn raise_slope(&mut self, cwnd: u32) {
        let growth = 1_u32 << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.acked_per_packet = (cwnd / growth).max(1);
    }

    /// `ProbeInflightLongtermUpward`
    fn probe_upward(&mut self, acked: &Acknowledged) {
        if !self.is_window_used() || acked.cwnd < self.bounds.longterm {
            return;
        }
        let probe = &mut self.probe;
        probe.acked += acked.ack.delivered;
        if probe.acked >= probe.acked_per_packet {
            let more = probe.acked / probe.acked_per_packet;
            probe.acked -= more * probe.acked_per_packet;
            self.bounds.longterm = self.bounds.longterm.saturating_add(more);
        }
        if self.round_start {
            self.raise_slope(acked.cwnd);
        }
    }

    /// `AdaptLongTermModel`: returns whether it has decided on the next state.
    fn adapt_long_term(&mut self, acked: &Acknowledged) -> bool {
        if self.probe.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.probe.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probe.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.probe.is_sample = false;
            self.probe.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !acked.sample.is_app_limited {
                    self.advance_max_bw();
                }
                if self.probe.was_precautionary && !self.probe.was_too_high {
                    self.start_refill(acked.delivered);
                    return true;
                }
            }
        }
        let (lost, in_flight) = (acked.sample.lost_since, acked.sample.sent_in_flight);
        if !is_too_high(lost, in_flight) && self.bounds.longterm != INFINITE {
            self.bounds.longterm = self.bounds.longterm.max(in_flight);
            if self.state == State::Up {
                self.probe_upward(acked);
            }
        }
        false
    }
}

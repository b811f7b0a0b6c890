//! The least round trip, and ProbeRTT, which empties the queue to see it.
//!
//! *Idea.* The least round trip of ten seconds is the model's. Where none as short as that of the last five seconds was seen for five
//! seconds, half a BDP is kept in flight for 200 ms and a round trip.
//! *References.* draft-ietf-ccwg-bbr section 5.3.4.

use super::probe_bw::AckPhase;
use super::{Acknowledged, LEAST_CWND, Model, State};
use crate::cc::rate::{Sampler, UNIT, micros};

/// `BBR.ProbeRTTInterval`, `BBR.MinRTTFilterLen`, `BBR.ProbeRTTDuration`, us.
const INTERVAL: u64 = 5_000_000;
const WINDOW: u64 = 10_000_000;
const DURATION: u64 = 200_000;

/// Times in us.
#[derive(Debug, Clone, Default)]
pub(super) struct MinRtt {
    least: Option<u64>,
    stamp: u64,
    /// The least of the last interval between two ProbeRTTs.
    recent: Option<u64>,
    recent_stamp: u64,
    is_expired: bool,
    done: Option<u64>,
    round_done: bool,
}

impl MinRtt {
    pub(super) fn new(least: Option<u64>, now: u64) -> Self {
        MinRtt { least, stamp: now, recent: least, recent_stamp: now, ..MinRtt::default() }
    }

    pub(super) fn least(&self) -> Option<u64> {
        self.least
    }
}

impl Model {
    /// `UpdateMinRTT`
    pub(super) fn update_min_rtt(&mut self, acked: &Acknowledged) {
        let now = micros(acked.ack.now);
        let min = &mut self.min_rtt;
        min.is_expired = now > min.recent_stamp + INTERVAL;
        if let Some(rtt) = acked.sample.rtt_us
            && (min.is_expired || min.recent.is_none_or(|recent| rtt < recent))
        {
            (min.recent, min.recent_stamp) = (Some(rtt), now);
        }
        if let Some(recent) = min.recent
            && (now > min.stamp + WINDOW || min.least.is_none_or(|least| recent < least))
        {
            (min.least, min.stamp) = (Some(recent), min.recent_stamp);
        }
    }

    /// `CheckProbeRTT`
    pub(super) fn check_probe_rtt(&mut self, acked: &mut Acknowledged, rates: &mut Sampler) {
        if self.state != State::ProbeRtt && self.min_rtt.is_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd(acked.cwnd);
            self.min_rtt.done = None;
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.start_round(acked.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(acked, rates);
        }
        if acked.sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`
    fn handle_probe_rtt(&mut self, acked: &mut Acknowledged, rates: &mut Sampler) {
        rates.limit(acked.ack.in_flight); // samples of so few packets are low
        let now = micros(acked.ack.now);
        if self.min_rtt.done.is_some() {
            self.min_rtt.round_done |= self.round_start;
            if self.min_rtt.round_done {
                self.check_probe_rtt_done(&mut acked.cwnd, acked.delivered, now);
            }
        } else if acked.ack.in_flight <= self.probe_rtt_cwnd() {
            self.min_rtt.done = Some(now + DURATION);
            self.min_rtt.round_done = false;
            self.start_round(acked.delivered);
        }
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`
    pub(super) fn check_probe_rtt_done(&mut self, cwnd: &mut u32, delivered: u64, now: u64) {
        if self.min_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.recent_stamp = now;
        *cwnd = (*cwnd).max(self.prior_cwnd);
        self.reset_short_term();
        if self.full_bw_reached {
            self.start_down(delivered, now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// `ProbeRTTCwnd`
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(UNIT / 2).max(LEAST_CWND)
    }
}

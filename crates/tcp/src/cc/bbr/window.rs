//! BBR's window, and what it takes to be in flight.
//!
//! *References.* Linux net/ipv4/tcp_bbr.c, whose functions the code names.

use super::{LEAST_CWND, Mode, Model};
use crate::cc::rate::{BW_SCALE, Path, RateAck, UNIT, bdp};
use crate::sack::CaState;
use crate::segmentation::train;
use paceline_core::{Instant, Span};

/// `TCP_INIT_CWND`, packets.
const INITIAL_CWND: u32 = 10;

impl Model {
    /// `bbr_bdp`, packets.
    fn bdp(&self, bw: u64, gain: u64) -> u32 {
        let Some(min_rtt) = self.min_rtt_us else { return INITIAL_CWND };
        bdp(bw, min_rtt, gain)
    }

    /// `bbr_quantization_budget`: three trains, an even number, and two more while probing.
    pub(super) fn with_trains(&self, cwnd: u32) -> u32 {
        let goal = train(self.pacing_rate, self.payload, self.least_train(), None).min(127); // `bbr_tso_segs_goal`
        let even = (cwnd + 3 * goal + 1) & !1;
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2 } else { 0 }
    }

    /// `bbr_inflight`
    pub(super) fn target(&self, bw: u64, gain: u64) -> u32 {
        self.with_trains(self.bdp(bw, gain))
    }

    /// `bbr_packets_in_net_at_edt`: how many will be in flight when the next packet leaves.
    pub(super) fn in_net_at_next_send(&self, in_flight: u32, ack: &RateAck) -> u32 {
        let until = if ack.paced_until == Instant::MAX { Span::ZERO } else { ack.paced_until.since(ack.now) };
        let delivered = (self.bw() * (until.as_nanos() / 1000)) >> BW_SCALE;
        let goal = train(self.pacing_rate, self.payload, self.least_train(), None).min(127);
        let at_edt = in_flight + if self.pacing_gain > UNIT { goal } else { 0 };
        at_edt.saturating_sub(delivered.min(u64::from(u32::MAX)) as u32)
    }

    /// `bbr_save_cwnd`: the window before losses and PROBE_RTT.
    pub(super) fn save_cwnd(&mut self, cwnd: u32) {
        let keeps = self.prior_state >= CaState::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if keeps { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// `bbr_set_cwnd`
    pub(super) fn set_cwnd(&mut self, path: &mut Path<'_>) {
        let acked = path.ack.delivered;
        let mut cwnd = *path.cwnd;
        if acked > 0 && !self.conserves_packets(path, &mut cwnd) {
            let bw = self.bw();
            let mut target = self.bdp(bw, self.cwnd_gain);
            if self.full_bw_reached {
                target += self.aggregation.cwnd(bw);
            }
            let target = self.with_trains(target);
            if self.full_bw_reached {
                cwnd = (cwnd + acked).min(target);
            } else if cwnd < target || path.rates.delivered < u64::from(INITIAL_CWND) {
                cwnd += acked;
            }
            cwnd = cwnd.max(LEAST_CWND);
        }
        *path.cwnd = if self.mode == Mode::ProbeRtt { cwnd.min(LEAST_CWND) } else { cwnd };
    }

    /// `bbr_set_cwnd_to_recover_or_restore`
    fn conserves_packets(&mut self, path: &Path<'_>, cwnd: &mut u32) -> bool {
        let (before, state) = (self.prior_state, path.ack.ca_state);
        let arrived = path.ack.in_flight + path.ack.delivered;
        if path.ack.lost > 0 {
            *cwnd = cwnd.saturating_sub(path.ack.lost).max(1);
        }
        if state == CaState::Recovery && before != CaState::Recovery {
            self.packet_conservation = true;
            self.next_round = path.rates.delivered;
            *cwnd = arrived;
        } else if before >= CaState::Recovery && state < CaState::Recovery {
            *cwnd = (*cwnd).max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prior_state = state;
        if self.packet_conservation {
            *cwnd = (*cwnd).max(arrived);
        }
        self.packet_conservation
    }
}

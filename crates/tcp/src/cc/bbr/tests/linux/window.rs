//! Volumes and the window: `bbr_inflight`, `bbr_set_cwnd` and what they call; aggregation.

use super::*;
use crate::segmentation::train;

impl Kernel {
    pub(super) fn min_tso_segs(&self) -> u32 {
        if self.pacing_rate < 150_000 { 1 } else { 2 }
    }

    fn tso_segs_goal(&self) -> u64 {
        u64::from(train(self.pacing_rate, self.mss, self.min_tso_segs(), None)).min(0x7f)
    }

    fn quantization_budget(&self, cwnd: u64) -> u64 {
        let cwnd = (cwnd + 3 * self.tso_segs_goal()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.cycle_idx == 0 { cwnd + 2 } else { cwnd }
    }

    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        if self.min_rtt_us == UNKNOWN { 10 } else { bdp(bw, self.min_rtt_us, gain).into() }
    }

    pub(super) fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.quantization_budget(self.bdp(bw, gain))
    }

    pub(super) fn packets_in_net_at_edt(&self, tp: &Seen, inflight_now: u64) -> u64 {
        let interval_delivered = (self.bw() * tp.until_edt) >> 24;
        let probes = if self.pacing_gain > BBR_UNIT { self.tso_segs_goal() } else { 0 };
        (inflight_now + probes).saturating_sub(interval_delivered)
    }

    pub(super) fn save_cwnd(&mut self) {
        if self.prev_ca_state < CaState::Recovery && self.mode != Mode::ProbeRtt {
            self.prior_cwnd = self.cwnd;
        } else {
            self.prior_cwnd = self.prior_cwnd.max(self.cwnd);
        }
    }

    pub(super) fn update_ack_aggregation(&mut self, tp: &Seen) {
        if tp.acked_sacked == 0 || tp.rs.delivered.is_none() || tp.rs.interval_us.is_none() {
            return;
        }
        if self.round_start {
            self.extra_acked_win_rtts += 1;
            if self.extra_acked_win_rtts >= 5 {
                self.extra_acked_win_rtts = 0;
                self.extra_acked_win_idx ^= 1;
                self.extra_acked[self.extra_acked_win_idx] = 0;
            }
        }
        let epoch_us = tp.delivered_mstamp - self.ack_epoch_mstamp;
        let mut expected_acked = (u128::from(self.bw()) * u128::from(epoch_us)) >> 24;
        if u128::from(self.ack_epoch_acked) <= expected_acked {
            (self.ack_epoch_acked, self.ack_epoch_mstamp, expected_acked) = (0, tp.delivered_mstamp, 0);
        }
        self.ack_epoch_acked += tp.acked_sacked;
        let extra = (self.ack_epoch_acked - expected_acked as u64).min(self.cwnd);
        let most = &mut self.extra_acked[self.extra_acked_win_idx];
        *most = (*most).max(extra);
    }

    fn ack_aggregation_cwnd(&self) -> u64 {
        if !self.full_bw_reached {
            return 0;
        }
        self.extra_acked[0].max(self.extra_acked[1]).min(self.bw() * 100_000 / BW_UNIT)
    }

    pub(super) fn set_cwnd(&mut self, tp: &Seen) {
        let acked = tp.acked_sacked;
        if acked > 0 && !self.set_cwnd_to_recover_or_restore(tp) {
            let target = self.bdp(self.bw(), self.cwnd_gain) + self.ack_aggregation_cwnd();
            let target = self.quantization_budget(target);
            if self.full_bw_reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || tp.delivered < 10 {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(4);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(4);
        }
    }

    fn set_cwnd_to_recover_or_restore(&mut self, tp: &Seen) -> bool {
        let prev_state = self.prev_ca_state;
        self.cwnd = self.cwnd.saturating_sub(tp.losses).max(1);
        if tp.ca_state == CaState::Recovery && prev_state != CaState::Recovery {
            self.packet_conservation = true;
            self.next_rtt_delivered = tp.delivered;
            self.cwnd = tp.in_flight + tp.acked_sacked;
        } else if prev_state >= CaState::Recovery && tp.ca_state < CaState::Recovery {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prev_ca_state = tp.ca_state;
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(tp.in_flight + tp.acked_sacked);
        }
        self.packet_conservation
    }
}

//! The policer's rate: `bbr_lt_bw_sampling` and what it calls.

use super::*;

#[derive(Debug, Default)]
pub(super) struct LongTerm {
    pub(super) is_sampling: bool,
    pub(super) use_bw: bool,
    rtt_cnt: u32,
    pub(super) bw: u64,
    last_stamp: u64,
    last_delivered: u64,
    last_lost: u64,
}

impl Kernel {
    fn reset_lt_bw_sampling_interval(&mut self, tp: &Seen) {
        self.lt.last_stamp = tp.delivered_mstamp / 1000;
        self.lt.last_delivered = tp.delivered;
        self.lt.last_lost = tp.lost;
        self.lt.rtt_cnt = 0;
    }

    pub(super) fn reset_lt_bw_sampling(&mut self, tp: &Seen) {
        self.lt.bw = 0;
        self.lt.use_bw = false;
        self.lt.is_sampling = false;
        self.reset_lt_bw_sampling_interval(tp);
    }

    fn lt_bw_interval_done(&mut self, tp: &Seen, bw: u64) {
        if self.lt.bw > 0 {
            let diff = bw.abs_diff(self.lt.bw);
            if diff * 8 <= self.lt.bw || payload_rate(diff, BBR_UNIT, self.mss) <= 500 {
                self.lt.bw = (bw + self.lt.bw) >> 1;
                self.lt.use_bw = true;
                self.pacing_gain = BBR_UNIT;
                self.lt.rtt_cnt = 0;
                return;
            }
        }
        self.lt.bw = bw;
        self.reset_lt_bw_sampling_interval(tp);
    }

    pub(super) fn lt_bw_sampling(&mut self, tp: &Seen) {
        if self.lt.use_bw {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.lt.rtt_cnt += 1;
                if self.lt.rtt_cnt >= 48 {
                    self.reset_lt_bw_sampling(tp);
                    self.reset_probe_bw_mode(tp);
                }
            }
            return;
        }
        if !self.lt.is_sampling {
            if tp.losses == 0 {
                return;
            }
            self.reset_lt_bw_sampling_interval(tp);
            self.lt.is_sampling = true;
        }
        if tp.rs.is_app_limited {
            return self.reset_lt_bw_sampling(tp);
        }
        if self.round_start {
            self.lt.rtt_cnt += 1;
        }
        if self.lt.rtt_cnt < 4 {
            return;
        }
        if self.lt.rtt_cnt > 16 {
            return self.reset_lt_bw_sampling(tp);
        }
        if tp.losses == 0 {
            return;
        }
        let lost = tp.lost - self.lt.last_lost;
        let delivered = tp.delivered - self.lt.last_delivered;
        if delivered == 0 || lost << 8 < 50 * delivered {
            return;
        }
        let ms = tp.delivered_mstamp / 1000 - self.lt.last_stamp;
        if ms < 1 {
            return;
        }
        self.lt_bw_interval_done(tp, delivered * BW_UNIT / (ms * 1000));
    }
}

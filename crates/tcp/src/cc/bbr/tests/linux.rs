//! What tcp_bbr.c does, beside the model, over random acknowledgements, losses, timeouts and pauses.
//!
//! Functions have Linux's names; each is written from what Linux documents of it. `tp` and `rs` are what it knows of
//! the connection and of the acknowledgement. Times in us and ticks, bandwidth in packets/us with 24 binary digits
//! after the point.

use super::*;
use crate::cc::rate::{RateAck, bdp, payload_rate};
use rand_core::RngCore;

mod follow;
mod long_term;
mod window;

const UNKNOWN: u64 = u64::MAX;
const BBR_UNIT: u64 = 256;
const BW_UNIT: u64 = 1 << 24;

/// The connection, and an acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Seen {
    jiffies: u64,
    delivered_mstamp: u64,
    delivered: u64,
    lost: u64,
    in_flight: u64,
    prior_in_flight: u64,
    acked_sacked: u64,
    losses: u64,
    ca_state: CaState,
    srtt_us: u64,
    /// How far away the departure of the next packet is, us.
    until_edt: u64,
    rs: RateSample,
}

#[derive(Debug)]
struct Kernel {
    draws: Pcg32,
    mss: u64,
    tick: u64,
    cwnd: u64,
    ssthresh: u64,
    pacing_rate: u64,
    app_limited: bool,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    has_seen_rtt: bool,
    bw: WindowedMax,
    rtt_cnt: u32,
    next_rtt_delivered: u64,
    round_start: bool,
    min_rtt_us: u64,
    min_rtt_stamp: u64,
    probe_rtt_done_stamp: u64,
    probe_rtt_round_done: bool,
    cycle_idx: usize,
    cycle_mstamp: u64,
    full_bw: u64,
    full_bw_cnt: u32,
    full_bw_reached: bool,
    idle_restart: bool,
    prev_ca_state: CaState,
    prior_cwnd: u64,
    packet_conservation: bool,
    lt: long_term::LongTerm,
    extra_acked: [u64; 2],
    extra_acked_win_idx: usize,
    extra_acked_win_rtts: u32,
    ack_epoch_mstamp: u64,
    ack_epoch_acked: u64,
}

impl Kernel {
    fn init(config: &Config, seed: u64, tp: &Seen, min_rtt_us: u64) -> Self {
        let mut bbr = Kernel {
            draws: Pcg32::new(seed, STREAM),
            mss: config.payload.into(),
            tick: config.timer_tick.as_nanos(),
            cwnd: config.initial_window.into(),
            ssthresh: 0,
            pacing_rate: 0,
            app_limited: false,
            mode: Mode::Startup,
            pacing_gain: 739,
            cwnd_gain: 739,
            has_seen_rtt: false,
            bw: WindowedMax::default(),
            rtt_cnt: 0,
            next_rtt_delivered: tp.delivered,
            round_start: false,
            min_rtt_us,
            min_rtt_stamp: tp.jiffies,
            probe_rtt_done_stamp: 0,
            probe_rtt_round_done: false,
            cycle_idx: 0,
            cycle_mstamp: 0,
            full_bw: 0,
            full_bw_cnt: 0,
            full_bw_reached: false,
            idle_restart: false,
            prev_ca_state: CaState::Open,
            prior_cwnd: 0,
            packet_conservation: false,
            lt: long_term::LongTerm::default(),
            extra_acked: [0; 2],
            extra_acked_win_idx: 0,
            extra_acked_win_rtts: 0,
            ack_epoch_mstamp: 0,
            ack_epoch_acked: 0,
        };
        bbr.reset_lt_bw_sampling(tp);
        bbr.init_pacing_rate_from_rtt(tp);
        bbr
    }

    fn max_bw(&self) -> u64 {
        self.bw.get()
    }

    fn bw(&self) -> u64 {
        if self.lt.use_bw { self.lt.bw } else { self.max_bw() }
    }

    fn init_pacing_rate_from_rtt(&mut self, tp: &Seen) {
        self.has_seen_rtt = tp.srtt_us > 0;
        let rtt_us = if tp.srtt_us > 0 { tp.srtt_us } else { 1000 };
        self.pacing_rate = payload_rate(self.cwnd * BW_UNIT / rtt_us, 739, self.mss);
    }

    fn set_pacing_rate(&mut self, tp: &Seen, bw: u64, gain: u64) {
        let rate = payload_rate(bw, gain, self.mss);
        if !self.has_seen_rtt && tp.srtt_us > 0 {
            self.init_pacing_rate_from_rtt(tp);
        }
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn main(&mut self, tp: &Seen) {
        self.update_bw(tp);
        self.update_ack_aggregation(tp);
        if self.mode == Mode::ProbeBw && self.is_next_cycle_phase(tp) {
            self.advance_cycle_phase(tp);
        }
        self.check_full_bw_reached(tp);
        self.check_drain(tp);
        self.update_min_rtt(tp);
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (739, 739),
            Mode::Drain => (88, 739),
            Mode::ProbeBw if self.lt.use_bw => (BBR_UNIT, 512),
            Mode::ProbeBw => ([320, 192, 256, 256, 256, 256, 256, 256][self.cycle_idx], 512),
            Mode::ProbeRtt => (BBR_UNIT, BBR_UNIT),
        };
        self.set_pacing_rate(tp, self.bw(), self.pacing_gain);
        self.set_cwnd(tp);
    }

    fn set_state_loss(&mut self, tp: &Seen) {
        self.prev_ca_state = CaState::Loss;
        self.full_bw = 0;
        self.round_start = true;
        self.lt_bw_sampling(&Seen { losses: 1, rs: RateSample::default(), ..*tp });
    }

    fn undo_cwnd(&mut self, tp: &Seen) {
        (self.full_bw, self.full_bw_cnt) = (0, 0);
        self.reset_lt_bw_sampling(tp);
    }

    fn tx_start(&mut self, tp: &Seen, now: u64) {
        self.idle_restart = true;
        (self.ack_epoch_mstamp, self.ack_epoch_acked) = (now, 0);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(tp, self.bw(), BBR_UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(tp),
            _ => {}
        }
    }

    fn update_bw(&mut self, tp: &Seen) {
        self.round_start = false;
        let (Some(delivered), Some(interval_us)) = (tp.rs.delivered, tp.rs.interval_us) else { return };
        if tp.rs.prior_delivered >= self.next_rtt_delivered {
            self.next_rtt_delivered = tp.delivered;
            self.rtt_cnt += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.lt_bw_sampling(tp);
        let bw = (delivered << 24) / interval_us;
        if !tp.rs.is_app_limited || bw >= self.max_bw() {
            self.bw.add(10, self.rtt_cnt, bw);
        }
    }

    fn is_next_cycle_phase(&self, tp: &Seen) -> bool {
        let is_full_length = tp.delivered_mstamp - self.cycle_mstamp > self.min_rtt_us;
        if self.pacing_gain == BBR_UNIT {
            return is_full_length;
        }
        let inflight = self.packets_in_net_at_edt(tp, tp.prior_in_flight);
        if self.pacing_gain > BBR_UNIT {
            return is_full_length
                && (tp.losses > 0 || inflight >= self.inflight(self.max_bw(), self.pacing_gain));
        }
        is_full_length || inflight <= self.inflight(self.max_bw(), BBR_UNIT)
    }

    fn advance_cycle_phase(&mut self, tp: &Seen) {
        self.cycle_idx = (self.cycle_idx + 1) & 7;
        self.cycle_mstamp = tp.delivered_mstamp;
    }

    fn reset_probe_bw_mode(&mut self, tp: &Seen) {
        self.mode = Mode::ProbeBw;
        self.cycle_idx = 7 - ((u64::from(self.draws.next_u32()) * 7) >> 32) as usize; // get_random_u32_below(7)
        self.advance_cycle_phase(tp);
    }

    fn check_full_bw_reached(&mut self, tp: &Seen) {
        if self.full_bw_reached || !self.round_start || tp.rs.is_app_limited {
            return;
        }
        if self.max_bw() >= (self.full_bw * 320) >> 8 {
            (self.full_bw, self.full_bw_cnt) = (self.max_bw(), 0);
            return;
        }
        self.full_bw_cnt += 1;
        self.full_bw_reached = self.full_bw_cnt >= 3;
    }

    fn check_drain(&mut self, tp: &Seen) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(self.max_bw(), BBR_UNIT);
        }
        if self.mode == Mode::Drain
            && self.packets_in_net_at_edt(tp, tp.in_flight) <= self.inflight(self.max_bw(), BBR_UNIT)
        {
            self.reset_probe_bw_mode(tp);
        }
    }

    fn update_min_rtt(&mut self, tp: &Seen) {
        let filter_expired = tp.jiffies > self.min_rtt_stamp + 10_000_000_000 / self.tick;
        if let Some(rtt_us) = tp.rs.rtt_us
            && (rtt_us < self.min_rtt_us || filter_expired)
        {
            (self.min_rtt_us, self.min_rtt_stamp) = (rtt_us, tp.jiffies);
        }
        if filter_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_stamp = 0;
        }
        if self.mode == Mode::ProbeRtt {
            self.app_limited = true;
            if self.probe_rtt_done_stamp == 0 && tp.in_flight <= 4 {
                self.probe_rtt_done_stamp = tp.jiffies + 200_000_000_u64.div_ceil(self.tick);
                self.probe_rtt_round_done = false;
                self.next_rtt_delivered = tp.delivered;
            } else if self.probe_rtt_done_stamp != 0 {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(tp);
                }
            }
        }
        if tp.rs.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, tp: &Seen) {
        if self.probe_rtt_done_stamp == 0 || tp.jiffies <= self.probe_rtt_done_stamp {
            return;
        }
        self.min_rtt_stamp = tp.jiffies;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.reset_probe_bw_mode(tp);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

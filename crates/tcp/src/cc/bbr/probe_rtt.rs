//! The least round trip of ten seconds, and PROBE_RTT, which empties the queue to see it.
//!
//! *References.* Linux net/ipv4/tcp_bbr.c, whose functions the code names.

use super::{LEAST_CWND, Mode, Model};
use crate::cc::rate::{Path, RateSample, Sampler};
use paceline_core::{Instant, Span};

/// `bbr_min_rtt_win_sec`, `bbr_probe_rtt_mode_ms`
const MIN_RTT_WINDOW: Span = Span::from_millis(10_000);
const PROBE_RTT: Span = Span::from_millis(200);

impl Model {
    /// `bbr_update_min_rtt`
    pub(super) fn update_min_rtt(&mut self, path: &mut Path<'_>, sample: &RateSample) {
        let ticks = self.ticks(path.ack.now);
        let is_expired = ticks > self.min_rtt_stamp + MIN_RTT_WINDOW.as_nanos() / self.tick;
        if let Some(rtt) = sample.rtt_us
            && (is_expired || self.min_rtt_us.is_none_or(|least| rtt < least))
        {
            (self.min_rtt_us, self.min_rtt_stamp) = (Some(rtt), ticks);
        }
        if is_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(*path.cwnd);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(path, ticks);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, path: &mut Path<'_>, ticks: u64) {
        path.rates.limit(path.ack.in_flight); // samples of so few packets are low
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(path.rates, path.cwnd, path.ack.now);
            }
        } else if path.ack.in_flight <= LEAST_CWND {
            self.probe_rtt_done = Some(ticks + PROBE_RTT.as_nanos().div_ceil(self.tick));
            self.probe_rtt_round_done = false;
            self.next_round = path.rates.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`, `bbr_reset_mode`
    pub(super) fn check_probe_rtt_done(&mut self, rates: &Sampler, cwnd: &mut u32, now: Instant) {
        let ticks = self.ticks(now);
        if self.probe_rtt_done.is_none_or(|done| ticks <= done) {
            return;
        }
        self.min_rtt_stamp = ticks;
        *cwnd = (*cwnd).max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(rates);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

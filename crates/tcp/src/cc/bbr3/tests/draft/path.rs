//! Sections 5.4 to 5.6: pauses, the model of the path, rate and window.

use super::*;

impl Draft {
    // 5.4

    pub(super) fn handle_restart_from_idle(&mut self, delivered: u64, now: u64) {
        self.idle_restart = true;
        self.extra_acked_interval_start = now;
        if self.is_in_a_probe_bw_state() {
            self.set_pacing_rate_with_gain(256);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(delivered, now);
        }
    }

    // 5.5

    pub(super) fn max_bw(&self) -> u64 {
        self.filter[0].max(self.filter[1])
    }

    pub(super) fn update_max_bw(&mut self, c: &Seen) {
        self.round_start = c.rs.delivered.is_some() && c.rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.next_round_delivered = c.delivered;
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            (self.used_before, self.used) = (self.used, false);
        }
        if c.rate > 0 && (c.rate >= self.max_bw() || !c.rs.is_app_limited) {
            self.filter[1] = self.filter[1].max(c.rate);
        }
    }

    pub(super) fn update_ack_aggregation(&mut self, c: &Seen) {
        let interval = c.now - self.extra_acked_interval_start;
        let mut expected_delivered = ((u128::from(self.bw) * u128::from(interval)) >> 24) as u64;
        if self.extra_acked_delivered <= expected_delivered {
            (self.extra_acked_delivered, self.extra_acked_interval_start) = (0, c.now);
            expected_delivered = 0;
        }
        self.extra_acked_delivered += c.newly_acked;
        let extra = (self.extra_acked_delivered - expected_delivered).min(self.cwnd);
        self.extra_acked.add(if self.full_bw_reached { 10 } else { 1 }, self.round_count, extra);
    }

    pub(super) fn update_latest_delivery_signals(&mut self, c: &Seen) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(c.rate);
        self.inflight_latest = self.inflight_latest.max(c.rs.delivered.unwrap_or(0));
        if c.rs.delivered.is_some() && c.rs.prior_delivered >= self.loss_round_delivered {
            (self.loss_round_delivered, self.loss_round_start) = (c.delivered, true);
        }
    }

    pub(super) fn update_congestion_signals(&mut self, c: &Seen) {
        self.update_max_bw(c);
        if !self.loss_round_start {
            return;
        }
        let is_probing_bw = [State::Startup, State::Refill, State::Up].contains(&self.state);
        if !is_probing_bw && self.is_loss_in_round {
            if self.bw_shortterm == INFINITY {
                self.bw_shortterm = self.max_bw();
            }
            if self.inflight_shortterm == INFINITY {
                self.inflight_shortterm = self.cwnd;
            }
            self.bw_shortterm = self.bw_latest.max(self.bw_shortterm * 7 / 10);
            self.inflight_shortterm = self.inflight_latest.max(self.inflight_shortterm * 7 / 10);
        }
        self.is_loss_in_round = false;
    }

    pub(super) fn handle_lost_packet(
        &mut self,
        lost: &Transmission,
        all_lost: u64,
        delivered: u64,
        cwnd: u64,
        now: u64,
    ) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = delivered;
            self.save_state_upon_loss(cwnd);
        }
        self.is_loss_in_round = true;
        self.ranges_lost += u32::from(lost.seq() != self.range_end);
        self.range_end = lost.seq() + 1;
        let (rs_lost, tx_in_flight) = (all_lost - lost.lost, u64::from(lost.in_flight));
        if !self.is_bw_probe_sample || rs_lost * 50 <= tx_in_flight {
            return;
        }
        // With a threshold of 1/50, lost_prefix = (inflight_prev / 50 - lost_prev) / (49 / 50).
        let (inflight_prev, lost_prev) = (tx_in_flight - 1, rs_lost - 1);
        let inflight_at_loss = inflight_prev + inflight_prev.saturating_sub(50 * lost_prev) / 49;
        // HandleInflightTooHigh
        (self.prev_probe_too_high, self.is_bw_probe_sample) = (true, false);
        if !lost.is_app_limited() {
            let target = self.bdp_multiple(256).min(cwnd);
            self.inflight_longterm = inflight_at_loss.max(target * 7 / 10);
        }
        if self.state == State::Up {
            self.undo.0 = Some(State::Up);
            self.start_down(delivered, now);
        }
    }

    pub(super) fn save_state_upon_loss(&mut self, cwnd: u64) {
        self.save_cwnd(cwnd);
        self.undo = (None, self.bw_shortterm, self.inflight_shortterm, self.inflight_longterm);
    }

    pub(super) fn handle_spurious_loss_detection(&mut self, delivered: u64) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.is_loss_in_round = false;
        self.reset_full_bw();
        self.bw_shortterm = self.bw_shortterm.max(self.undo.1);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.2);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.3);
        if self.undo.0 == Some(State::Startup) && self.state != State::Startup {
            self.full_bw_reached = false;
            if self.state != State::ProbeRtt {
                self.state = State::Startup;
            }
        } else if self.undo.0 == Some(State::Up) && self.state != State::Up && self.state != State::ProbeRtt {
            self.start_refill(delivered);
        }
        self.undo.0 = None;
    }

    // 5.6

    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: u64) {
        let rate = payload_rate(self.bw, gain, self.payload);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    pub(super) fn send_quantum(&self) -> u64 {
        ((self.pacing_rate / 1000).min(65_536) / self.payload).max(2)
    }

    pub(super) fn bdp_multiple(&self, gain: u64) -> u64 {
        if self.min_rtt == INFINITY { self.initial_cwnd } else { bdp(self.bw, self.min_rtt, gain).into() }
    }

    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp_multiple(256).min(self.cwnd)
    }

    pub(super) fn quantization_budget(&self, cap: u64) -> u64 {
        cap.max(3 * self.send_quantum()).max(4) + if self.state == State::Up { 2 } else { 0 }
    }

    pub(super) fn inflight(&self, gain: u64) -> u64 {
        self.quantization_budget(self.bdp_multiple(gain))
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(128).max(4)
    }

    pub(super) fn save_cwnd(&mut self, cwnd: u64) {
        let keeps = self.in_recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = if keeps { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    pub(super) fn set_cwnd(&mut self, c: &Seen) {
        let gain = match self.state {
            State::ProbeRtt => 128,
            State::Up => 576,
            _ => 512,
        };
        let max_inflight = self.quantization_budget(self.bdp_multiple(gain) + self.extra_acked.get());
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + c.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || c.delivered < self.initial_cwnd {
            self.cwnd += c.newly_acked;
        }
        self.cwnd = self.cwnd.max(4);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            _ => INFINITY,
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_shortterm).max(4));
    }
}

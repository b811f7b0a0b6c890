//! Sections 5.3.1 to 5.3.4: STARTUP, ProbeBW, ProbeRTT.

use super::*;

impl Draft {
    // 5.3.1

    pub(super) fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0, 0, false);
    }

    pub(super) fn check_full_bw_reached(&mut self, c: &Seen) {
        if self.full_bw_now || !self.round_start || c.rs.is_app_limited {
            return;
        }
        if c.rate as f64 >= self.full_bw as f64 * 1.25 {
            self.reset_full_bw();
            self.full_bw = c.rate;
            return;
        }
        self.full_bw_count += 1;
        if self.full_bw_count == 3 {
            (self.full_bw_now, self.full_bw_reached) = (true, true);
        }
    }

    pub(super) fn check_startup_done(&mut self, c: &Seen, recovers: bool) {
        // Section 5.3.1.3, in words
        if self.loss_round_start {
            let is_lossy = recovers && self.ranges_lost >= 6 && is_inflight_too_high(c);
            if is_lossy && !self.full_bw_reached {
                self.undo.0 = Some(State::Startup);
                (self.full_bw_reached, self.full_bw_now) = (true, true);
                self.bw = self.max_bw();
                self.inflight_longterm = self.bdp_multiple(256).max(self.inflight_latest);
            }
            self.ranges_lost = 0;
        }
        if self.state == State::Startup && self.full_bw_reached {
            (self.state, self.drain_start_round) = (State::Drain, self.round_count);
        }
    }

    // 5.3.3

    pub(super) fn start_down(&mut self, delivered: u64, now: u64) {
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0, 0);
        self.probe_up_acked_per_inc = INFINITY;
        self.rounds_since_probe_up = u32::from(self.draws.next_u32() >= 1 << 31); // 0 or 1
        self.bw_probe_wait = 2_000_000 + ((u64::from(self.draws.next_u32()) * 1_000_000) >> 32); // 2 s to 3 s
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.next_round_delivered = delivered;
        self.state = State::Down;
    }

    pub(super) fn start_refill(&mut self, delivered: u64) {
        (self.bw_shortterm, self.inflight_shortterm) = (INFINITY, INFINITY);
        (self.bw_probe_up_rounds, self.bw_probe_up_acked) = (0, 0);
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.next_round_delivered = delivered;
        self.state = State::Refill;
    }

    pub(super) fn update_probe_bw_cycle_phase(&mut self, c: &Seen) {
        if !self.full_bw_reached || self.adapt_long_term_model(c) || !self.is_in_a_probe_bw_state() {
            return;
        }
        match self.state {
            State::Down | State::Cruise => {
                // IsTimeToProbeBW, IsRenoCoexistenceProbeTime
                let reno_rounds = self.target_inflight().min(63);
                if c.now > self.cycle_stamp + self.bw_probe_wait
                    || u64::from(self.rounds_since_probe_up) >= reno_rounds
                {
                    self.start_refill(c.delivered);
                } else if self.state == State::Down
                    && c.in_flight <= self.inflight_with_headroom()
                    && c.in_flight <= self.inflight(256)
                {
                    self.state = State::Cruise;
                }
            }
            State::Refill => {
                if self.round_start {
                    self.is_bw_probe_sample = true;
                    self.ack_phase = AckPhase::ProbeStarting;
                    self.next_round_delivered = c.delivered;
                    self.reset_full_bw();
                    self.full_bw = c.rate;
                    self.state = State::Up;
                    self.raise_inflight_longterm_slope();
                }
            }
            _ => {
                if self.is_time_to_go_down(c) {
                    self.prev_probe_too_high = false;
                    self.start_down(c.delivered, c.now);
                }
            }
        }
    }

    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.used || self.used_before
    }

    pub(super) fn is_time_to_go_down(&mut self, c: &Seen) -> bool {
        if self.prev_probe_too_high && c.prior_in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = c.rate;
        } else if self.full_bw_now {
            return true;
        }
        false
    }

    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == INFINITY {
            return INFINITY;
        }
        let headroom = (self.inflight_longterm * 15 / 100).max(1);
        self.inflight_longterm.saturating_sub(headroom).max(4)
    }

    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = 1 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(1);
    }

    pub(super) fn adapt_long_term_model(&mut self, c: &Seen) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_in_a_probe_bw_state() && !c.rs.is_app_limited && self.filter[1] > 0 {
                self.filter = [self.filter[1], 0]; // AdvanceMaxBwFilter
            }
            if self.is_in_a_probe_bw_state() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill(c.delivered);
                return true;
            }
        }
        if is_inflight_too_high(c) || self.inflight_longterm == INFINITY {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(u64::from(c.rs.sent_in_flight));
        // ProbeInflightLongtermUpward
        if self.state == State::Up && self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.bw_probe_up_acked += c.newly_acked;
            if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
                self.inflight_longterm += self.bw_probe_up_acked / self.probe_up_acked_per_inc;
                self.bw_probe_up_acked %= self.probe_up_acked_per_inc;
            }
            if self.round_start {
                self.raise_inflight_longterm_slope();
            }
        }
        false
    }

    // 5.3.4

    pub(super) fn update_min_rtt(&mut self, c: &Seen) {
        self.probe_rtt_expired = c.now > self.probe_rtt_min_stamp + 5_000_000;
        if let Some(rtt) = c.rs.rtt_us
            && (rtt < self.probe_rtt_min_delay || self.probe_rtt_expired)
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, c.now);
        }
        let min_rtt_expired = c.now > self.min_rtt_stamp + 10_000_000;
        let is_less = self.probe_rtt_min_delay < self.min_rtt || min_rtt_expired;
        if is_less && self.probe_rtt_min_delay < INFINITY {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min_delay, self.probe_rtt_min_stamp);
        }
    }

    pub(super) fn check_probe_rtt(&mut self, c: &Seen) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd(self.cwnd);
            self.probe_rtt_done_stamp = 0;
            self.ack_phase = AckPhase::ProbeStopping;
            self.next_round_delivered = c.delivered;
        }
        if self.state == State::ProbeRtt {
            self.marked_app_limited = true;
            if self.probe_rtt_done_stamp == 0 && c.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = c.now + 200_000;
                self.probe_rtt_round_done = false;
                self.next_round_delivered = c.delivered;
            } else if self.probe_rtt_done_stamp != 0 {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(c.delivered, c.now);
                }
            }
        }
        if c.rs.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, delivered: u64, now: u64) {
        if self.probe_rtt_done_stamp != 0 && now > self.probe_rtt_done_stamp {
            self.probe_rtt_min_stamp = now;
            self.cwnd = self.cwnd.max(self.prior_cwnd); // RestoreCwnd
            (self.bw_shortterm, self.inflight_shortterm) = (INFINITY, INFINITY);
            if self.full_bw_reached {
                self.start_down(delivered, now);
                self.state = State::Cruise;
            } else {
                self.state = State::Startup;
            }
        }
    }
}

//! The draft's pseudo-code, beside the model, over random acknowledgements, losses, timeouts and pauses.
//!
//! Functions are in the draft's order and have its names; `rs` is RS, `c` is C. Where the draft leaves a choice, the
//! module's comments say which: nothing but a sample of new data ends a round, the window is looked at as in Linux
//! before the acknowledgement, and a bandwidth filter does not move on while it has no sample.

use super::*;
use crate::cc::rate::bdp;
use rand_core::RngCore;

mod cycle;
mod follow;
mod path;

const INFINITY: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// C and RS of the acknowledgement, times in us, volumes in packets.
#[derive(Debug, Clone, Copy)]
struct Seen {
    now: u64,
    delivered: u64,
    in_flight: u64,
    prior_in_flight: u64,
    newly_acked: u64,
    rs: RateSample,
    rate: u64,
}

#[derive(Debug)]
struct Draft {
    draws: Pcg32,
    payload: u64,
    initial_cwnd: u64,
    // C
    cwnd: u64,
    pacing_rate: u64,
    in_recovery: bool,
    marked_app_limited: bool,
    // C.is_cwnd_limited: used up since the last round trip began
    used: bool,
    used_before: bool,
    // BBR
    state: State,
    bw: u64,
    filter: [u64; 2],
    min_rtt: u64,
    min_rtt_stamp: u64,
    probe_rtt_min_delay: u64,
    probe_rtt_min_stamp: u64,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp: u64,
    probe_rtt_round_done: bool,
    prior_cwnd: u64,
    idle_restart: bool,
    round_count: u32,
    round_start: bool,
    next_round_delivered: u64,
    drain_start_round: u32,
    extra_acked_interval_start: u64,
    extra_acked_delivered: u64,
    extra_acked: WindowedMax,
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: u64,
    full_bw_count: u32,
    bw_latest: u64,
    inflight_latest: u64,
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    ranges_lost: u32,
    range_end: u32,
    undo: (Option<State>, u64, u64, u64),
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    rounds_since_probe_up: u32,
    cycle_stamp: u64,
    bw_probe_wait: u64,
    probe_up_acked_per_inc: u64,
    bw_probe_up_acked: u64,
    bw_probe_up_rounds: u32,
}

impl Draft {
    fn on_init(
        config: &Config,
        seed: u64,
        srtt: f64,
        min_rtt: Option<u64>,
        delivered: u64,
        now: u64,
    ) -> Self {
        let min_rtt = min_rtt.unwrap_or(INFINITY);
        let mut bbr = Draft {
            draws: Pcg32::new(seed, STREAM),
            payload: config.payload.into(),
            initial_cwnd: config.initial_window.into(),
            cwnd: config.initial_window.into(),
            pacing_rate: 0,
            in_recovery: false,
            marked_app_limited: false,
            used: false,
            used_before: false,
            state: State::Startup,
            bw: 0,
            filter: [0; 2],
            min_rtt,
            min_rtt_stamp: now,
            probe_rtt_min_delay: min_rtt,
            probe_rtt_min_stamp: now,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: 0,
            probe_rtt_round_done: false,
            prior_cwnd: 0,
            idle_restart: false,
            round_count: 0,
            round_start: false,
            next_round_delivered: delivered,
            drain_start_round: 0,
            extra_acked_interval_start: now,
            extra_acked_delivered: 0,
            extra_acked: WindowedMax::default(),
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0,
            full_bw_count: 0,
            bw_latest: 0,
            inflight_latest: 0,
            bw_shortterm: INFINITY,
            inflight_shortterm: INFINITY,
            inflight_longterm: INFINITY,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            ranges_lost: 0,
            range_end: 0,
            undo: (None, 0, 0, 0),
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            rounds_since_probe_up: 0,
            cycle_stamp: 0,
            bw_probe_wait: 0,
            probe_up_acked_per_inc: INFINITY,
            bw_probe_up_acked: 0,
            bw_probe_up_rounds: 0,
        };
        bbr.init_pacing_rate(srtt);
        bbr
    }

    /// `StartupPacingGain` is 4 ln 2, 710 of 256 as a fixed-point number.
    fn init_pacing_rate(&mut self, srtt: f64) {
        let us = if srtt > 0.0 { ((srtt * 1e6) as u64).max(1) } else { 1000 };
        self.pacing_rate = self.initial_cwnd * self.payload * 1_000_000 * 710 / 256 / us;
    }

    fn is_in_a_probe_bw_state(&self) -> bool {
        [State::Down, State::Cruise, State::Refill, State::Up].contains(&self.state)
    }

    fn update_on_ack(&mut self, c: &Seen, recovers: bool) {
        if self.in_recovery && !recovers {
            self.cwnd = self.cwnd.max(self.prior_cwnd); // RestoreCwnd
        }
        self.in_recovery = recovers;
        self.update_latest_delivery_signals(c);
        self.update_congestion_signals(c);
        self.update_ack_aggregation(c);
        self.check_full_bw_reached(c);
        self.check_startup_done(c, recovers);
        if self.state == State::Drain
            && (c.in_flight <= self.inflight(256) || self.round_count > self.drain_start_round + 3)
        {
            self.start_down(c.delivered, c.now);
        }
        self.update_probe_bw_cycle_phase(c);
        self.update_min_rtt(c);
        self.check_probe_rtt(c);
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (c.rate, c.rs.delivered.unwrap_or(0));
        }
        self.bw = self.max_bw().min(self.bw_shortterm);
        let gain = match self.state {
            State::Startup => 710,
            State::Drain => 128,
            State::Down => 230,
            State::Up => 320,
            _ => 256,
        };
        self.set_pacing_rate_with_gain(gain);
        self.set_cwnd(c);
    }
}

fn is_inflight_too_high(c: &Seen) -> bool {
    c.rs.lost_since * 50 > u64::from(c.rs.sent_in_flight)
}

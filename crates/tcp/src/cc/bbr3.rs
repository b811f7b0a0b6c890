//! BBR, version 3, as in draft-ietf-ccwg-bbr: BBR that keeps within bounds which losses set.
//!
//! *Idea.* As in version 1 a model of the path, bandwidth and least round trip, sets rate and window. Two pairs of bounds come
//! from losses (`congestion`): the long-term one is the most in flight that lost less than 2 % of a round trip while probing; the
//! short-term ones fall to 0.7 in each other round trip with a loss. STARTUP, which has a pacing gain of 2.77 and keeps 2 BDP in
//! flight, also ends where losses are that high. ProbeBW (`probe_bw`) drains (DOWN), leaves a headroom of 15 % to others (CRUISE), fills
//! the pipe (REFILL) and looks for more (UP), every two to three seconds, or after as many round trips as Reno needs. ProbeRTT
//! (`probe_rtt`) halves what is in flight every five seconds for 200 ms.
//! *Parameters.* None: the constants are the draft's. It is always paced by its own rate, and recovers by RACK. Volumes are in packets.
//! *Where it breaks.* Where random losses exceed 2 %, the bounds fall as if a buffer overflowed.
//! *References.* draft-ietf-ccwg-bbr-06 (and its editors' copy of August 2026), whose functions the code names without their
//! case. Beyond it, as in Linux: the pacing rate is set anew once a round trip is known, if the handshake gave none.

mod congestion;
mod probe_bw;
mod probe_rtt;
mod window;

use super::rate::{
    BW_UNIT, ByRate, Pace, Path, PathModel, RateAck, RateSample, Sampler, Transmission, UNIT, WindowedMax,
    micros, payload_rate,
};
use crate::config::Config;
use crate::sack::CaState;
use paceline_core::Instant;
use rand_pcg::Pcg32;

pub(crate) type Bbr3 = ByRate<Model>;

/// `StartupPacingGain`: 4 ln 2, rounded up.
const STARTUP_GAIN: u64 = UNIT * 277 / 100 + 1;
/// `BBR.MinPipeCwnd`, packets.
const LEAST_CWND: u32 = 4;
/// `BBR.ExtraAckedFilterLen`, round trips.
const EXTRA_ROUNDS: u32 = 10;
/// No bound.
const INFINITE: u32 = u32::MAX;
/// The largest train, bytes.
const LARGEST_TRAIN: u64 = 65_536;
/// The stream of the connection's generator; others are pacing jitter's and `overhead`'s.
const STREAM: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// `IsProbingBW`
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    fn pacing_gain(self) -> u64 {
        match self {
            State::Startup => STARTUP_GAIN,
            State::Drain => UNIT / 2,
            State::Down => UNIT * 90 / 100,
            State::Up => UNIT * 5 / 4,
            State::Cruise | State::Refill | State::ProbeRtt => UNIT,
        }
    }

    fn cwnd_gain(self) -> u64 {
        match self {
            State::Up => UNIT * 9 / 4,
            State::ProbeRtt => UNIT / 2,
            _ => UNIT * 2,
        }
    }
}

/// An acknowledgement, and what it shows.
#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    ack: RateAck,
    sample: RateSample,
    /// `RS.delivery_rate`, packets/us; 0 where there is none.
    rate: u64,
    /// `C.delivered`
    delivered: u64,
    cwnd: u32,
}

/// What follows from the settings, or is drawn.
#[derive(Debug, Clone)]
struct Settings {
    payload: u64,
    initial_window: u32,
    draws: Pcg32,
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    settings: Settings,
    state: State,
    /// Payload, byte/s.
    pacing_rate: u64,
    has_seen_rtt: bool,
    /// The bandwidth of the model (`BBR.bw`), packets/us.
    bw: u64,
    /// The greatest rate of the ProbeBW cycle before and of this one (`max_bw_filter`).
    max_bw: [u64; 2],
    rounds: u32,
    next_round: u64,
    round_start: bool,
    drain_start: u32,
    full_bw: u64,
    full_bw_rounds: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    extra: WindowedMax,
    extra_since: u64,
    extra_acked: u64,
    /// The window was used up in this round trip, and in the one before.
    window_used: [bool; 2],
    prior_cwnd: u32,
    prior_state: CaState,
    idle_restart: bool,
    cwnd: u32,
    min_rtt: probe_rtt::MinRtt,
    probe: probe_bw::Probe,
    bounds: congestion::Bounds,
}

impl PathModel for Model {
    fn new(config: &Config) -> Self {
        Model {
            settings: Settings {
                payload: u64::from(config.payload),
                initial_window: config.initial_window,
                draws: Pcg32::new(0, STREAM),
            },
            state: State::Startup,
            pacing_rate: u64::MAX,
            has_seen_rtt: false,
            bw: 0,
            max_bw: [0; 2],
            rounds: 0,
            next_round: 0,
            round_start: false,
            drain_start: 0,
            full_bw: 0,
            full_bw_rounds: 0,
            full_bw_now: false,
            full_bw_reached: false,
            extra: WindowedMax::default(),
            extra_since: 0,
            extra_acked: 0,
            window_used: [false; 2],
            prior_cwnd: 0,
            prior_state: CaState::Open,
            idle_restart: false,
            cwnd: config.initial_window,
            min_rtt: probe_rtt::MinRtt::default(),
            probe: probe_bw::Probe::default(),
            bounds: congestion::Bounds::default(),
        }
    }

    fn seed(&mut self, seed: u64) {
        self.settings.draws = Pcg32::new(seed, STREAM);
    }

    /// `OnInit`
    fn begin(&mut self, rates: &Sampler, srtt: f64, now: Instant) {
        self.min_rtt = probe_rtt::MinRtt::new(rates.least_us(), micros(now));
        self.extra_since = micros(now);
        self.next_round = rates.delivered;
        self.init_pacing_rate(srtt);
    }

    /// `UpdateOnACK`
    fn on_ack(&mut self, path: &mut Path<'_>, sample: &RateSample) {
        if !self.has_seen_rtt && path.ack.srtt > 0.0 {
            self.init_pacing_rate(path.ack.srtt);
        }
        let rate = match (sample.delivered, sample.interval_us) {
            (Some(delivered), Some(interval)) => delivered * BW_UNIT / interval,
            _ => 0,
        };
        let (delivered, cwnd) = (path.rates.delivered, *path.cwnd);
        let mut acked = Acknowledged { ack: path.ack, sample: *sample, rate, delivered, cwnd };
        self.restore_after_recovery(&mut acked);
        self.update_latest_signals(&acked);
        self.update_congestion_signals(&acked);
        self.update_aggregation(&acked);
        self.check_full_bw(&acked);
        self.check_startup_done(&acked);
        self.check_drain_done(&acked);
        self.update_phase(&acked);
        self.update_min_rtt(&acked);
        self.check_probe_rtt(&mut acked, path.rates);
        self.advance_latest_signals(&acked);
        self.bw = self.max_bw().min(self.bounds.bw_shortterm);
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_cwnd(&mut acked);
        *path.cwnd = acked.cwnd;
        self.cwnd = acked.cwnd;
    }

    const READS_LOST: bool = true;

    fn on_lost(&mut self, rates: &Sampler, lost: &Transmission, cwnd: u32, now: Instant) {
        self.handle_lost(rates, lost, cwnd, micros(now));
    }

    fn on_sent(&mut self, in_flight: u32) {
        self.window_used[0] |= in_flight >= self.cwnd;
    }

    /// `OnEnterFastRecovery`, `OnEnterRTO`
    fn before_recovery(&mut self, _rates: &Sampler, cwnd: u32) {
        self.save_state_upon_loss(cwnd);
    }

    fn on_timeout(&mut self, _rates: &Sampler) {
        self.prior_state = CaState::Loss;
    }

    fn on_undo(&mut self, rates: &Sampler, cwnd: &mut u32) {
        *cwnd = (*cwnd).max(self.prior_cwnd);
        self.handle_spurious_loss(rates.delivered);
    }

    /// `HandleRestartFromIdle`
    fn on_restart(&mut self, rates: &Sampler, cwnd: &mut u32, now: Instant) {
        self.idle_restart = true;
        self.extra_since = micros(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(cwnd, rates.delivered, micros(now));
        }
    }

    /// `SetSendQuantum`
    fn pace(&self) -> Pace {
        let rate = self.pacing_rate.max(1);
        let packets = (rate / 1000).min(LARGEST_TRAIN) / self.settings.payload.max(1);
        Pace { rate, burst: (packets as u32).max(2) }
    }
}

impl Model {
    fn max_bw(&self) -> u64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// `InitPacingRate`
    fn init_pacing_rate(&mut self, srtt: f64) {
        self.has_seen_rtt = srtt > 0.0;
        let rtt_us = if self.has_seen_rtt { ((srtt * 1e6) as u64).max(1) } else { 1000 };
        let window = u64::from(self.settings.initial_window) * self.settings.payload;
        self.pacing_rate = window * 1_000_000 * STARTUP_GAIN / UNIT / rtt_us;
    }

    /// `SetPacingRateWithGain`
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = payload_rate(self.bw, gain, self.settings.payload);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn is_window_used(&self) -> bool {
        self.window_used[0] || self.window_used[1]
    }

    fn start_round(&mut self, delivered: u64) {
        self.next_round = delivered;
    }

    /// `UpdateMaxBw`, `UpdateRound`
    fn update_max_bw(&mut self, acked: &Acknowledged) {
        self.round_start =
            acked.sample.delivered.is_some() && acked.sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.start_round(acked.delivered);
            self.rounds += 1;
            self.probe.rounds += 1;
            self.window_used = [false, self.window_used[0]];
        }
        if acked.rate > 0 && (acked.rate >= self.max_bw() || !acked.sample.is_app_limited) {
            self.max_bw[1] = self.max_bw[1].max(acked.rate);
        }
    }

    /// `AdvanceMaxBwFilter`; a cycle without a sample is none.
    fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0 {
            self.max_bw = [self.max_bw[1], 0];
        }
    }

    /// `UpdateACKAggregation`
    fn update_aggregation(&mut self, acked: &Acknowledged) {
        let now = micros(acked.ack.now);
        let length = now.saturating_sub(self.extra_since);
        let mut expected = (u128::from(self.bw) * u128::from(length) / u128::from(BW_UNIT)) as u64;
        if self.extra_acked <= expected {
            (self.extra_acked, self.extra_since, expected) = (0, now, 0);
        }
        self.extra_acked += u64::from(acked.ack.delivered);
        let extra = (self.extra_acked - expected).min(u64::from(acked.cwnd));
        self.extra.add(if self.full_bw_reached { EXTRA_ROUNDS } else { 1 }, self.rounds, extra);
    }

    /// `ResetFullBW`
    fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_rounds, self.full_bw_now) = (0, 0, false);
    }

    /// `CheckFullBWReached`
    fn check_full_bw(&mut self, acked: &Acknowledged) {
        if self.full_bw_now || !self.round_start || acked.sample.is_app_limited {
            return;
        }
        if acked.rate * 4 >= self.full_bw * 5 {
            self.reset_full_bw();
            self.full_bw = acked.rate;
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_now = self.full_bw_rounds >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// `CheckStartupDone`
    fn check_startup_done(&mut self, acked: &Acknowledged) {
        self.check_startup_high_loss(acked);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start = self.rounds;
        }
    }

    /// `CheckDrainDone`
    fn check_drain_done(&mut self, acked: &Acknowledged) {
        let is_drained = acked.ack.in_flight <= self.in_flight(UNIT) || self.rounds > self.drain_start + 3;
        if self.state == State::Drain && is_drained {
            self.start_down(acked.delivered, micros(acked.ack.now));
        }
    }
}

#[cfg(test)]
mod tests;

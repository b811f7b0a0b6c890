//! BBR, version 1, as in Linux: it sends at the rate at which packets were delivered, and keeps twice that rate's BDP in flight.
//!
//! *Idea.* A model of the path is the greatest delivery rate of ten round trips and the least round trip of ten seconds. STARTUP doubles
//! the rate each round trip until it stops to grow (three rounds below a quarter); DRAIN sends slower until a BDP is left in flight.
//! PROBE_BW then goes through eight phases of a round trip: 5/4 of the rate, 3/4 to drain what that queued, and six times 1. Where the
//! least round trip was not seen for ten seconds, PROBE_RTT keeps four packets in flight for 200 ms, so that the queue is empty. Losses
//! cut nothing: the first round trip of a recovery sends a packet for each that arrives, and what went before returns after it.
//! Losses beyond a fifth at a steady rate mean a policer, whose rate is then used (`long_term`). Acknowledgements that come in bunches
//! enlarge the window (`aggregation`).
//! *Parameters.* None: the constants are Linux's. It is always paced by its own rate, and recovers by RACK. Gains have 8 binary
//! digits after the point, bandwidth (packets/us) has 24; time is in us, and in ticks of `timer_tick` where Linux counts jiffies.
//! *Where it breaks.* Several flows together measure each other's share as free, and fill a buffer of a BDP and more; a buffer far
//! below a BDP loses packets all the time, which BBR does not heed. The shorter round trip gets less.
//! *References.* Linux 6.x net/ipv4/tcp_bbr.c, whose functions the code names; N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh,
//! V. Jacobson, "BBR: congestion-based congestion control", ACM Queue 14(5), 2016.

mod aggregation;
mod long_term;
mod probe_rtt;
mod window;

use super::rate::{BW_UNIT, ByRate, Pace, Path, PathModel, RateSample, Sampler, UNIT, WindowedMax, micros};
use crate::config::Config;
use crate::sack::CaState;
use crate::segmentation::train;
use aggregation::Aggregation;
use long_term::LongTerm;
use paceline_core::Instant;
use rand_core::RngCore;
use rand_pcg::Pcg32;

pub(crate) type Bbr = ByRate<Model>;

/// `bbr_high_gain`: 2 / ln 2, the least gain that doubles the rate each round trip. `bbr_drain_gain`: its inverse.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// `bbr_cwnd_gain`
const CWND_GAIN: u64 = UNIT * 2;
/// `bbr_pacing_gain`
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// `bbr_cycle_rand`: PROBE_BW begins with any phase but that of 3/4.
const CYCLE_STARTS: u64 = 7;
/// `bbr_bw_rtts`: window of the greatest delivery rate, round trips.
const BW_ROUNDS: u32 = 10;
/// `bbr_cwnd_min_target`, packets.
const LEAST_CWND: u32 = 4;
/// `bbr_full_bw_thresh`, `bbr_full_bw_cnt`
const FULL_BW_GROWTH: u64 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u32 = 3;
/// The stream of the connection's generator; others are pacing jitter's and `overhead`'s.
const STREAM: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// `struct bbr`
#[derive(Debug, Clone)]
pub(crate) struct Model {
    payload: u64,
    initial_window: u32,
    /// Nanoseconds.
    tick: u64,
    draws: Pcg32,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Payload, byte/s (`sk_pacing_rate`).
    pacing_rate: u64,
    has_seen_rtt: bool,
    /// Packets/us.
    bw: WindowedMax,
    /// Round trips by packets, and the delivered packets that end this one.
    rounds: u32,
    next_round: u64,
    round_start: bool,
    min_rtt_us: Option<u64>,
    /// Ticks.
    min_rtt_stamp: u64,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    phase: usize,
    phase_began: Instant,
    full_bw: u64,
    full_bw_rounds: u32,
    full_bw_reached: bool,
    idle_restart: bool,
    prior_state: CaState,
    prior_cwnd: u32,
    packet_conservation: bool,
    long_term: LongTerm,
    aggregation: Aggregation,
}

impl PathModel for Model {
    fn new(config: &Config) -> Self {
        let tick = config.timer_tick.as_nanos();
        Model {
            payload: u64::from(config.payload),
            initial_window: config.initial_window,
            tick: if tick == 0 { 1_000_000 } else { tick },
            draws: Pcg32::new(0, STREAM),
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: u64::MAX,
            has_seen_rtt: false,
            bw: WindowedMax::default(),
            rounds: 0,
            next_round: 0,
            round_start: false,
            min_rtt_us: None,
            min_rtt_stamp: 0,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            phase: 0,
            phase_began: Instant::ZERO,
            full_bw: 0,
            full_bw_rounds: 0,
            full_bw_reached: false,
            idle_restart: false,
            prior_state: CaState::Open,
            prior_cwnd: 0,
            packet_conservation: false,
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
        }
    }

    fn seed(&mut self, seed: u64) {
        self.draws = Pcg32::new(seed, STREAM);
    }

    /// `bbr_init`
    fn begin(&mut self, rates: &Sampler, srtt: f64, now: Instant) {
        self.next_round = rates.delivered;
        self.min_rtt_us = rates.least_us();
        self.min_rtt_stamp = self.ticks(now);
        self.long_term.reset(rates);
        self.aggregation.restart(now);
        self.set_rate_by_round_trip(self.initial_window, srtt);
    }

    /// `bbr_main`
    fn on_ack(&mut self, path: &mut Path<'_>, sample: &RateSample) {
        if !self.has_seen_rtt && path.ack.srtt > 0.0 {
            self.set_rate_by_round_trip(*path.cwnd, path.ack.srtt);
        }
        self.update_bw(path, sample);
        self.update_aggregation(path, sample);
        self.update_phase(path);
        self.check_full_bw(sample);
        self.check_drain(path);
        self.update_min_rtt(path, sample);
        self.update_gains();
        self.set_rate(self.bw(), self.pacing_gain);
        self.set_cwnd(path);
    }

    /// `bbr_ssthresh`, `bbr_save_cwnd`
    fn before_recovery(&mut self, _rates: &Sampler, cwnd: u32) {
        self.save_cwnd(cwnd);
    }

    /// `bbr_set_state`
    fn on_timeout(&mut self, rates: &Sampler) {
        self.prior_state = CaState::Loss;
        self.full_bw = 0;
        self.round_start = true;
        self.sample_long_term(rates, 1, false);
    }

    /// `bbr_undo_cwnd`: the window returns with the next acknowledgement.
    fn on_undo(&mut self, rates: &Sampler, _cwnd: &mut u32) {
        self.full_bw = 0;
        self.full_bw_rounds = 0;
        self.long_term.reset(rates);
    }

    /// `bbr_cwnd_event` of `CA_EVENT_TX_START`
    fn on_restart(&mut self, rates: &Sampler, cwnd: &mut u32, now: Instant) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw => self.set_rate(self.bw(), UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(rates, cwnd, now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn pace(&self) -> Pace {
        let rate = self.pacing_rate.max(1);
        Pace { rate, burst: train(rate, self.payload, self.least_train(), self.min_rtt_us) }
    }
}

impl Model {
    fn ticks(&self, at: Instant) -> u64 {
        at.as_nanos() / self.tick
    }

    /// `bbr_bw`
    fn bw(&self) -> u64 {
        self.long_term.bw().unwrap_or(self.bw.get())
    }

    /// `bbr_bw_to_pacing_rate`, `bbr_rate_bytes_per_sec`
    fn rate(&self, bw: u64, gain: u64) -> u64 {
        super::rate::payload_rate(bw, gain, self.payload)
    }

    /// `bbr_init_pacing_rate_from_rtt`: a window a round trip, or a millisecond.
    fn set_rate_by_round_trip(&mut self, cwnd: u32, srtt: f64) {
        self.has_seen_rtt = srtt > 0.0;
        let rtt_us = if self.has_seen_rtt { ((srtt * 1e6) as u64).max(1) } else { 1000 };
        self.pacing_rate = self.rate(u64::from(cwnd) * BW_UNIT / rtt_us, HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`
    fn set_rate(&mut self, bw: u64, gain: u64) {
        let rate = self.rate(bw, gain);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_min_tso_segs`
    fn least_train(&self) -> u32 {
        if self.pacing_rate < 1_200_000 / 8 { 1 } else { 2 }
    }

    /// `bbr_update_bw`
    fn update_bw(&mut self, path: &Path<'_>, sample: &RateSample) {
        self.round_start = false;
        let (Some(delivered), Some(interval)) = (sample.delivered, sample.interval_us) else { return };
        if sample.prior_delivered >= self.next_round {
            self.next_round = path.rates.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term(path.rates, path.ack.lost, sample.is_app_limited);
        let bw = delivered * BW_UNIT / interval;
        if !sample.is_app_limited || bw >= self.bw.get() {
            self.bw.add(BW_ROUNDS, self.rounds, bw);
        }
    }

    /// `bbr_lt_bw_sampling`
    fn sample_long_term(&mut self, rates: &Sampler, lost: u32, is_app_limited: bool) {
        let (in_probe_bw, round_start) = (self.mode == Mode::ProbeBw, self.round_start);
        let payload = self.payload;
        match self.long_term.sample(rates, lost, is_app_limited, (in_probe_bw, round_start), payload) {
            long_term::Outcome::None => {}
            long_term::Outcome::Uses => self.pacing_gain = UNIT,
            long_term::Outcome::ProbesAgain => self.enter_probe_bw(rates),
        }
    }

    /// `bbr_update_ack_aggregation`
    fn update_aggregation(&mut self, path: &Path<'_>, sample: &RateSample) {
        let acked = path.ack.delivered;
        if acked > 0 && sample.delivered.is_some() && sample.interval_us.is_some() {
            let (bw, now) = (self.bw(), path.rates.delivered_at);
            self.aggregation.add(acked, self.round_start, bw, now, *path.cwnd);
        }
    }

    /// `bbr_update_cycle_phase`, `bbr_is_next_cycle_phase`
    fn update_phase(&mut self, path: &Path<'_>) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let min_rtt = self.min_rtt_us.unwrap_or(u64::MAX);
        let is_full = micros(path.rates.delivered_at).saturating_sub(micros(self.phase_began)) > min_rtt;
        let in_flight = || self.in_net_at_next_send(path.ack.prior_in_flight, &path.ack);
        let bw = self.bw.get();
        let is_over = if self.pacing_gain == UNIT {
            is_full
        } else if self.pacing_gain > UNIT {
            is_full && (path.ack.lost > 0 || in_flight() >= self.target(bw, self.pacing_gain))
        } else {
            is_full || in_flight() <= self.target(bw, UNIT)
        };
        if is_over {
            self.next_phase(path.rates);
        }
    }

    /// `bbr_advance_cycle_phase`
    fn next_phase(&mut self, rates: &Sampler) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_began = rates.delivered_at;
    }

    /// `bbr_reset_probe_bw_mode`
    fn enter_probe_bw(&mut self, rates: &Sampler) {
        self.mode = Mode::ProbeBw;
        let draw = ((u64::from(self.draws.next_u32()) * CYCLE_STARTS) >> 32) as usize;
        self.phase = CYCLE.len() - 1 - draw;
        self.next_phase(rates);
    }

    /// `bbr_check_full_bw_reached`
    fn check_full_bw(&mut self, sample: &RateSample) {
        if self.full_bw_reached || !self.round_start || sample.is_app_limited {
            return;
        }
        let bw = self.bw.get();
        if bw >= (self.full_bw * FULL_BW_GROWTH) / UNIT {
            (self.full_bw, self.full_bw_rounds) = (bw, 0);
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_reached = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    /// `bbr_check_drain`
    fn check_drain(&mut self, path: &mut Path<'_>) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            *path.ssthresh = self.target(self.bw.get(), UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_net_at_next_send(path.ack.in_flight, &path.ack) <= self.target(self.bw.get(), UNIT)
        {
            self.enter_probe_bw(path.rates);
        }
    }

    /// `bbr_update_gains`
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.bw().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

#[cfg(test)]
mod tests;

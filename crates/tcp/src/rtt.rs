//! Round-trip time and retransmission timeout.
//!
//! *Idea.* Jacobson's estimator in integer ticks: srtt kept times 8, rttvar times 4, RTO = srtt + 4 rttvar, doubled at
//! each timeout. A tick of zero means a clock of 1 ns, which is RFC 6298 without rounding.
//! *Where it breaks.* Without timestamps one segment is timed at a time, so there is one sample a round trip. With a coarse tick the
//! RTO of a steady path is srtt plus a few ticks, and the least RTO decides.
//! *References.* RFC 6298; ns-2.35 tcp/tcp.cc `rtt_update`, `rtt_timeout`, `rtt_backoff`.

use crate::config::Config;
use paceline_core::{Instant, Span};
use std::hint::select_unpredictable;

/// No segment is timed: nothing acknowledges one beyond this.
const UNTIMED: u32 = u32::MAX;
/// A nanosecond is then four seconds; the last is a little less than a doubling.
const MOST_BACKOFFS: u8 = 32;

/// Smoothed round-trip time without ticks, seconds, where it is kept; 0 before the first sample.
pub(crate) type Smoothed<'a> = Option<&'a mut f64>;

/// That of a sender's state. Borrows nothing else of it.
macro_rules! smoothed {
    ($state:ident) => {
        $state.cold.written().map(|cold| &mut cold.smoothed)
    };
}
pub(crate) use smoothed;

/// The estimator of one connection. Ticks are `Config::tick`, or 1 ns. The fields that every packet needs come first. Packed, since a
/// sender has two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(C, packed(4))]
pub(crate) struct Rtt {
    /// The segment that is timed, or [`UNTIMED`], and when it was sent.
    timed: u32,
    /// Phase of this host's clock at time zero, nanoseconds: hosts do not tick together. A tick is no longer than
    /// [`Config::LONGEST_TICK`].
    phase: u32,
    timed_sent: Instant,
    /// The timeout in force.
    timeout: Span,
    /// Smoothed round-trip time, ticks times 8; 0 before the first sample and after it was discarded.
    srtt8: i64,
    /// Mean deviation, ticks times 4; where there is no estimate, the timeout before back-off instead, nanoseconds.
    rttvar4: i64,
    /// How often the timeout is doubled.
    backoffs: u8,
    /// No sample ends the back-off now.
    holds_back_off: bool,
}

impl Rtt {
    pub(crate) fn new(config: &Config, phase: Span) -> Self {
        let mut rtt = Rtt {
            srtt8: 0,
            rttvar4: config.initial_rto.as_nanos().min(i64::MAX as u64) as i64,
            timeout: Span::ZERO,
            backoffs: 0,
            holds_back_off: false,
            phase: (phase.as_nanos() % config.tick.as_nanos().max(1)) as u32,
            timed: UNTIMED,
            timed_sent: Instant::ZERO,
        };
        rtt.set_timeout(config, 0.0);
        rtt
    }

    /// A segment is sent for the first time: times it if none is timed now. A retransmission cannot be timed (Karn).
    #[inline]
    pub(crate) fn on_first_transmission(&mut self, seq: u32, now: Instant) {
        let is_timed = self.timed == UNTIMED;
        self.timed = select_unpredictable(is_timed, seq, self.timed);
        self.timed_sent = select_unpredictable(is_timed, now, self.timed_sent);
    }

    /// Abandons the measurement (Karn: a retransmission cannot be timed).
    #[inline]
    pub(crate) fn stop_timing(&mut self) {
        self.timed = UNTIMED;
    }

    /// The smoothed round trip, seconds; 0 before the first sample.
    pub(crate) fn smoothed(&self, config: &Config) -> f64 {
        self.srtt8 as f64 / 8.0 * config.tick.max(Span::from_nanos(1)).as_seconds()
    }

    /// When the segment was sent that was timed last.
    pub(crate) fn timed_sent(&self) -> Instant {
        self.timed_sent
    }

    /// A handshake with a retransmitted SYN is over: without a sample the timeout is at least this (RFC 6298 section 5.7).
    pub(crate) fn begin_data_after_lost_syn(&mut self, config: &Config, timeout: Span) {
        if self.srtt8 == 0 {
            self.rttvar4 = timeout.max(config.initial_rto).as_nanos().min(i64::MAX as u64) as i64;
            self.backoffs = 0;
            self.set_timeout(config, 0.0);
        }
    }

    /// The path works again: ends the back-off.
    #[inline]
    pub(crate) fn end_back_off(&mut self, config: &Config, smoothed: f64) {
        if self.backoffs != 0 {
            self.leave_back_off(config, smoothed);
        }
    }

    #[cold]
    fn leave_back_off(&mut self, config: &Config, smoothed: f64) {
        self.backoffs = 0;
        self.set_timeout(config, smoothed);
    }

    /// Whether what comes next leaves the back-off as it is: its sample is one of a path that still marks (ns-2 `newack`).
    pub(crate) fn hold_back_off(&mut self, holds: bool) {
        self.holds_back_off = holds;
    }

    /// The segment that is timed is one before this.
    pub(crate) fn times_before(&self, next: u32) -> bool {
        next > self.timed
    }

    /// All before `next` is acknowledged: ends the back-off and returns the sample if that covers the timed segment.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        config: &Config,
        smoothed: Smoothed<'_>,
        next: u32,
        now: Instant,
    ) -> Option<Span> {
        (next > self.timed).then(|| self.on_ack_of_timed(config, smoothed, now))
    }

    #[cold]
    fn on_ack_of_timed(&mut self, config: &Config, smoothed: Smoothed<'_>, now: Instant) -> Span {
        self.timed = UNTIMED;
        self.backoffs = if self.holds_back_off { self.backoffs } else { 0 };
        let sent = self.timed_sent;
        let sample = now.since(sent);
        self.update(config, smoothed, sample, self.ticks_of(config, sample, sent));
        sample
    }

    /// [`Rtt::on_ack`] without a sample: NewReno's partial acknowledgements are not measured.
    #[inline]
    pub(crate) fn on_partial_ack(&mut self, config: &Config, smoothed: f64, next: u32) {
        if self.ack_of_timed(next) {
            self.end_back_off(config, smoothed);
        }
    }

    /// All before `next` is acknowledged, and the acknowledgement echoes when its packet was sent: a sample each time.
    pub(crate) fn on_echo(
        &mut self,
        config: &Config,
        smoothed: Smoothed<'_>,
        next: u32,
        now: Instant,
        echo: Instant,
    ) -> Span {
        if (self.ack_of_timed(next) || config.timestamps_end_back_off) && !self.holds_back_off {
            self.backoffs = 0;
        }
        let sample = now.since(echo);
        let tick = config.tick.as_nanos().max(1);
        self.update(config, smoothed, sample, (sample.as_nanos() + tick / 2) / tick);
        sample
    }

    /// [`Rtt::on_echo`] without the timestamp option: FACK times every acknowledgement while it recovers.
    pub(crate) fn on_echo_in_recovery(
        &mut self,
        config: &Config,
        smoothed: Smoothed<'_>,
        next: u32,
        now: Instant,
        echo: Instant,
    ) -> Span {
        if self.ack_of_timed(next) {
            self.backoffs = 0;
        }
        let sample = now.since(echo);
        self.update(config, smoothed, sample, self.ticks_of(config, sample, echo));
        sample
    }

    /// Ends the measurement if this covers the timed segment. Returns whether it does.
    #[inline]
    fn ack_of_timed(&mut self, next: u32) -> bool {
        let is_timed = next > self.timed;
        if is_timed {
            self.timed = UNTIMED;
        }
        is_timed
    }

    /// A round trip in ticks of the clock: how many it has counted since the segment was sent.
    fn ticks_of(&self, config: &Config, sample: Span, sent: Instant) -> u64 {
        let tick = config.tick.as_nanos();
        if tick == 0 {
            return sample.as_nanos();
        }
        let sent = sent.as_nanos() + u64::from(self.phase);
        (sent + sample.as_nanos()) / tick - sent / tick
    }

    #[inline(always)]
    fn update(&mut self, config: &Config, smoothed: Smoothed<'_>, sample: Span, ticks: u64) {
        let exact = smoothed.map_or(0.0, |smoothed| {
            let seconds = sample.as_seconds();
            *smoothed = if *smoothed == 0.0 { seconds } else { (*smoothed * 7.0 + seconds) / 8.0 };
            *smoothed
        });
        let measured = (ticks as i64).max(1);
        if self.srtt8 == 0 {
            self.srtt8 = measured << 3;
            self.rttvar4 = measured << 1;
        } else {
            let error = measured - (self.srtt8 >> 3);
            self.srtt8 = (self.srtt8 + error).max(1);
            let deviation = error.abs() - (self.rttvar4 >> 2);
            // Linux: shorter round trips count for little (`tcp_rtt_estimator`). Branchless: errors have either sign.
            let is_shorter = config.halves_rate() & (error < 0) & (deviation > 0);
            self.rttvar4 = (self.rttvar4 + (deviation >> (3 * u32::from(is_shorter)))).max(1);
        }
        self.set_timeout(config, exact);
    }

    /// Timeout before back-off.
    #[inline]
    fn rto(&self, config: &Config) -> Span {
        if self.srtt8 == 0 {
            return Span::from_nanos(self.rttvar4.unsigned_abs());
        }
        let ticks = ((self.rttvar4 << 3) + self.srtt8) >> 3;
        Span::from_nanos(ticks.unsigned_abs() * config.tick.as_nanos().max(1))
    }

    /// The timeout in force: at least `min_rto`, at most `max_rto` after back-off.
    #[inline]
    pub(crate) fn timeout(&self) -> Span {
        self.timeout
    }

    #[inline(always)]
    fn set_timeout(&mut self, config: &Config, smoothed: f64) {
        if config.min_rto_beyond_srtt {
            self.set_timeout_beyond_srtt(config, smoothed);
        } else {
            self.set_timeout_of_at_least(config.min_rto, config);
        }
    }

    #[cold]
    fn set_timeout_beyond_srtt(&mut self, config: &Config, smoothed: f64) {
        self.set_timeout_of_at_least(config.min_rto + Span::from_seconds(smoothed), config);
    }

    #[inline]
    fn set_timeout_of_at_least(&mut self, least: Span, config: &Config) {
        let times = (1_u64 << self.backoffs).min(u32::MAX.into());
        let (rto, least) = (self.rto(config).as_nanos(), least.as_nanos());
        // Branchless: which of them is longer varies from flow to flow.
        let (before, after) = select_unpredictable(config.min_rto_backs_off, (least, 0), (0, least));
        let exact = rto.max(before);
        let whole = match config.timer_tick.as_nanos() {
            0 => exact,
            tick => exact.div_ceil(tick).saturating_mul(tick), // `icsk_rto` is in ticks
        };
        let backed_off = whole.saturating_mul(times).max(after);
        let two_ticks = config.tick.as_nanos() * 2;
        let limited = backed_off.min(config.max_rto.as_nanos());
        self.timeout = Span::from_nanos(limited.max(two_ticks));
    }

    /// A timeout has doubled it, and no sample has come since.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.backoffs > 0
    }

    /// A timeout: doubles the timeout. After the third in a row the estimate is discarded.
    pub(crate) fn back_off(&mut self, config: &Config, smoothed: f64) {
        let to_maximum = config.back_off_to_maximum && config.min_rto_backs_off;
        if self.backoffs < 6 || (to_maximum && self.timeout() < config.max_rto) {
            self.backoffs = (self.backoffs + 1).min(MOST_BACKOFFS);
        }
        if self.backoffs > 3 {
            self.rttvar4 = self.rto(config).as_nanos() as i64;
            self.srtt8 = 0;
        }
        self.set_timeout(config, smoothed);
    }
}

#[cfg(test)]
mod tests;

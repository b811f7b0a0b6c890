//! A TCP sender: window, timers, what to send when. A pure state machine, numbered in packets.
//!
//! *Idea.* The caller passes acknowledgements and the time, and receives segments through an [`Output`]; it calls
//! [`Sender::on_retransmission_timer`] and [`Sender::on_pacing_timer`] at the times that the sender names. With the `ns2` profile a
//! sender does, packet for packet, what ns-2.35's does. What it knows is its [`State`], which loss recovery and congestion control
//! change; this module and its children decide what the window and pacing let out.
//!
//! A packet number is a `u32`: a connection carries at most 4 294 967 295 packets.
//!
//! *References.* RFC 9293, 5681, 6298; ns-2.35 tcp/tcp.cc.

mod bursts;
mod ecn;
mod fast_path;
mod old_timer;
mod restart;
mod trains;

use crate::config::Config;
use crate::feedback::{Ack, Block};
use crate::pacing::pacing_window;
use crate::recovery;
use crate::segment::Output;
use crate::state::{Cold, Counts, LastCut, PendingTimer, State, pacing};
use paceline_core::{Instant, Span};
use std::sync::Arc;

/// Above any rate of a host, and the sum of those of millions of connections fits 64 bits: 4.4 Tbit/s.
const MOST_BPS: u64 = 1 << 42;

/// What a sender counts, over its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Data packets sent, a SYN and retransmissions included.
    pub sent: u64,
    /// Data packets retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions of the congestion window, timeouts included.
    pub window_cuts: u64,
}

/// One connection's sending end.
///
/// ```
/// use paceline_core::{Instant, Span};
/// use paceline_tcp::{Config, Output, Profile, Receiver, Segment, Sender, Variant};
/// use std::sync::Arc;
///
/// #[derive(Default)]
/// struct Wire(Vec<Segment>);
/// impl Output for Wire {
///     fn send(&mut self, segment: Segment) {
///         self.0.push(segment);
///     }
/// }
///
/// // Twenty packets over a path that loses none, 100 ms there and back.
/// let config = Arc::new(Config { syn: None, ..Config::of_variant(Profile::Rfc, Variant::NewReno) });
/// let (mut sender, mut receiver) = (Sender::new(config, Some(20), Span::ZERO, 1), Receiver::new());
/// let (mut wire, mut now) = (Wire::default(), Instant::ZERO);
/// sender.start(now, &mut wire);
/// assert_eq!(wire.0.len(), 10); // the initial window
/// while !sender.is_finished() {
///     now += Span::from_millis(100);
///     for segment in std::mem::take(&mut wire.0) {
///         receiver.on_data(segment.seq);
///         sender.on_ack(receiver.next(), now, &mut wire);
///     }
/// }
/// assert_eq!((sender.counters().sent, sender.counters().retransmits), (20, 0));
/// assert_eq!((sender.una(), now.as_nanos()), (20, 200_000_000));
/// assert_eq!(sender.cwnd(), 30.0);
/// ```
#[derive(Debug, Clone)]
pub struct Sender {
    pub(crate) state: State,
}

impl Sender {
    /// A connection that has not started. `packets` is what it sends, a SYN not counted; `None` is no end. `clock_phase`
    /// is where the host's tick stands at time zero (below `Config::tick`), `jitter_seed` is the seed of the pacing jitter and of
    /// [`Config::overhead`].
    pub fn new(config: Arc<Config>, packets: Option<u64>, clock_phase: Span, jitter_seed: u64) -> Self {
        Sender { state: State::new(config, packets, clock_phase, jitter_seed) }
    }

    /// The sender of another connection with the same settings, not started, without data; the counters continue.
    pub fn reopened(&self, clock_phase: Span, jitter_seed: u64) -> Self {
        let config = Arc::clone(&self.state.config);
        let mut other = State::new(config, Some(0), clock_phase, jitter_seed);
        other.counts = self.state.counts;
        other.cold.sent_before = self.state.cold.sent_before + u64::from(self.state.end);
        Sender { state: other }
    }

    /// From now on round trips are smoothed, so that [`Sender::srtt_s`] and [`Sender::rate_bps`] are known.
    pub fn keep_round_trips(&mut self) {
        self.state.keep_cold_state();
    }

    /// The application writes `bytes` more, at least one: full packets, and a last one that may be shorter. Returns one more
    /// than the number of the last packet. [`Sender::start`] must follow.
    ///
    /// ```
    /// # use paceline_core::Span;
    /// # use paceline_tcp::{Config, Profile, Sender};
    /// # use std::sync::Arc;
    /// let config = Arc::new(Config { payload: 1000, ..Config::new(Profile::Rfc) });
    /// let mut sender = Sender::new(config, Some(0), Span::ZERO, 1);
    /// let first = sender.limit();
    /// assert_eq!(sender.write(2500) - first, 3);
    /// ```
    pub fn write(&mut self, bytes: u64) -> u32 {
        let state = &mut self.state;
        if state.config.variant.is_by_rate() {
            recovery::rack::limit_by_application(state);
        }
        let payload = u64::from(state.config.payload);
        let packets = u32::try_from(bytes.div_ceil(payload)).unwrap_or(u32::MAX);
        state.limit = state.limit.saturating_add(packets.max(1)).min(u32::MAX - 1);
        let rest = bytes % payload;
        if rest > 0 || bytes == 0 {
            let cold = &mut *state.cold;
            cold.short_from = cold.short.list(state.limit - 1, rest as u32, state.una);
            state.keep_cold_state();
        }
        state.limit
    }

    /// The application has data from now on, or more of them.
    pub fn start(&mut self, now: Instant, out: &mut impl Output) {
        if self.state.una == self.state.end && self.state.end > 0 {
            recovery::on_restart(&mut self.state);
            if self.restarts_paced(now, out) {
                return;
            }
        }
        self.send_allowed(u32::MAX, now, out);
    }

    /// An acknowledgement of all before `next` arrives; enough where [`Config::needs_feedback`] is false.
    /// [`Sender::on_ack_fast`] does the same faster, where it can.
    #[inline]
    pub fn on_ack(&mut self, next: u32, now: Instant, out: &mut impl Output) {
        self.on_ack_with(next, now, &[], now, out);
    }

    /// An acknowledgement of all before `next` arrives. It echoes a packet sent at `echo`, and reports these blocks.
    #[inline]
    pub fn on_ack_with(
        &mut self,
        next: u32,
        echo: Instant,
        blocks: &[Block],
        now: Instant,
        out: &mut impl Output,
    ) {
        // An acknowledgement is no duplicate when nothing is outstanding and nothing is left to send (RFC 5681, section 2).
        if next > self.state.end || self.state.is_finished() {
            return;
        }
        self.state.end_restart(Some(next));
        let ack = Ack { next, echo, blocks };
        let burst = match self.state.config.timer_fix {
            true => recovery::on_ack(&mut self.state, ack, now, out),
            false => self.on_ack_before_sample(ack, now, out),
        };
        if burst != recovery::NOTHING {
            self.send_allowed(burst, now, out);
        }
        if !self.state.cold.sack.is_blank() {
            self.after_selective_ack(now, out);
        }
    }

    /// With [`Config::gso`]: packet `seq`, which is in flight, carries PSH as the last of a train of several.
    pub fn ends_train(&self, seq: u32) -> bool {
        self.state.config.gso.is_some() && self.state.cold.trains.push_ends(seq)
    }

    #[inline(never)]
    fn after_selective_ack(&mut self, now: Instant, out: &mut impl Output) {
        if recovery::rack::resumes_retransmission(&mut self.state) {
            self.send_allowed(recovery::WHOLE_WINDOW, now, out);
        }
        recovery::drop_stale(&mut self.state);
    }

    /// When [`Sender::on_retransmission_timer`] is due.
    #[inline]
    pub fn retransmission_at(&self) -> Option<Instant> {
        (self.state.retransmission_at != Instant::MAX).then_some(self.state.retransmission_at)
    }

    /// [`Sender::retransmission_at`]; [`Instant::MAX`] is never.
    #[inline]
    pub fn retransmission_due(&self) -> Instant {
        self.state.retransmission_at
    }

    /// When [`Sender::on_pacing_timer`] is due: pacing, [`Config::overhead`] or [`Config::tsq`] allows the next packet.
    #[inline]
    pub fn pacing_at(&self) -> Option<Instant> {
        Some(self.pacing_due()).filter(|due| *due != Instant::MAX)
    }

    /// [`Sender::pacing_at`]; [`Instant::MAX`] is never.
    #[inline]
    pub fn pacing_due(&self) -> Instant {
        self.state.cold.get().map_or(Instant::MAX, Cold::pacing_due)
    }

    /// The retransmission timer has run out: back to one packet (RFC 5681, equation 4; ns-2 tcp.cc `timeout`).
    pub fn on_retransmission_timer(&mut self, now: Instant, out: &mut impl Output) {
        if self.state.config.timer_tick != Span::ZERO {
            self.state.cold.wheel.on_timer(self.state.retransmission_at);
        }
        if self.on_loss_timer(now, out) {
            return;
        }
        self.state.end_restart(None);
        let state = &mut self.state;
        if state.has_rack() && !state.is_shaking_hands() && state.una != state.end {
            return self.on_timeout_of_rack(now, out);
        }
        recovery::on_timeout(state);
        state.cwnd = state.cwnd.max(1.0);
        if state.una == 0 {
            state.lost_first = state.lost_first.saturating_add(1);
        }
        let is_syn = state.una == 0 && state.config.syn.is_some();
        if state.una == state.end {
            state.shrink_idle_window(now); // nothing outstanding: no loss
        } else {
            state.counts.timeouts += 1;
            if is_syn && state.config.forgives_syn {
                // A SYN is no data: the window is still that of before the handshake.
            } else if state.config.cut_once && state.has_timed_out_again() {
                state.count_cut();
            } else if state.last_cut == LastCut::Mark {
                state.shrink_to_one();
            } else {
                state.cut_to_one();
            }
            if let Some(control) = state.control() {
                control.on_timeout();
            }
            // Linux `tcp_retransmit_timer`: the first SYNs go at equal distances.
            if !is_syn || u32::from(state.lost_first) > state.config.linear_syn_timeouts {
                state.rtt.back_off(&state.config, state.cold.smoothed);
            }
        }
        state.last_cut = LastCut::Timeout;
        state.next = if state.config.halves_rate() { state.end } else { state.una };
        self.send_after_timeout(now, out);
    }

    /// New data do not wait for what is lost: `next` stays.
    #[cold]
    fn on_timeout_of_rack(&mut self, now: Instant, out: &mut impl Output) {
        let state = &mut self.state;
        recovery::rack::enter_loss(state, now);
        state.counts.timeouts += 1;
        if let Some(control) = state.control() {
            control.on_timeout();
        }
        state.rtt.back_off(&state.config, state.cold.smoothed);
        self.send_after_timeout(now, out);
    }

    fn send_after_timeout(&mut self, now: Instant, out: &mut impl Output) {
        let state = &mut self.state;
        state.restart_timer_and_stop_timing(now);
        if let Some((pacing, pacing_at)) = pacing!(state) {
            pacing.reset(pacing_at);
        }
        self.send_allowed(u32::MAX, now, out);
    }

    /// The timer may have run out for a probe or for reordering. Returns whether it was no timeout.
    fn on_loss_timer(&mut self, now: Instant, out: &mut impl Output) -> bool {
        let state = &mut self.state;
        let pending = state.cold.pending;
        if pending == PendingTimer::Timeout || state.una == state.end {
            return false;
        }
        if pending == PendingTimer::Probe && state.cold.probe.is_none() {
            state.send_probe(now, out);
            return true;
        }
        if pending == PendingTimer::Reordering {
            let burst = recovery::rack::on_reordering(state, now);
            if burst != recovery::NOTHING {
                self.send_allowed(burst, now, out);
            }
        }
        if self.state.cold.pending != PendingTimer::Timeout {
            self.state.rearm_timeout(now);
        }
        true
    }

    /// The pacing timer has run out.
    #[inline(always)]
    pub fn on_pacing_timer(&mut self, now: Instant, out: &mut impl Output) {
        if self.state.has_fast_pacing_timer() {
            self.state.on_pacing_timer_fast(now, out);
        } else {
            self.on_pacing_timer_slow(now, out);
        }
    }

    #[inline(never)]
    fn on_pacing_timer_slow(&mut self, now: Instant, out: &mut impl Output) {
        self.end_wait(now, out);
        if self.state.cold.restart_gap.is_some() && self.state.cold.pacing_at <= now {
            return self.send_one_of_restart(now, out);
        }
        let state = &mut self.state;
        state.follow_control();
        if let Some((pacing, pacing_at)) = pacing!(state)
            && *pacing_at <= now
        {
            *pacing_at = Instant::MAX;
            let permit = pacing.on_timer(pacing_window!(state));
            self.send_permitted(permit, u32::MAX, now, out);
        }
    }

    /// Congestion window, packets; fractional.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.state.cwnd
    }

    /// Slow-start threshold, packets.
    pub fn ssthresh(&self) -> u32 {
        self.state.ssthresh
    }

    /// First packet not yet acknowledged.
    #[inline]
    pub fn una(&self) -> u32 {
        self.state.una
    }

    /// One more than the highest packet ever sent.
    #[inline]
    pub fn end(&self) -> u32 {
        self.state.end
    }

    /// One more than the last packet that the application has written; `u32::MAX` is no end.
    pub fn limit(&self) -> u32 {
        self.state.limit
    }

    /// Everything that the application has written is acknowledged.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.state.is_finished()
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        let Counts { retransmits, timeouts, window_cuts } = self.state.counts;
        let (retransmits, timeouts, window_cuts) = (retransmits.into(), timeouts.into(), window_cuts.into());
        let sent = self.state.cold.sent_before + u64::from(self.state.end) + retransmits;
        Counters { sent, retransmits, timeouts, window_cuts }
    }

    /// The connection's settings.
    #[inline]
    pub fn config(&self) -> &Config {
        &self.state.config
    }

    /// Smoothed round-trip time without ticks, seconds; `None` before the first sample, or where none is kept
    /// ([`Sender::keep_round_trips`]; some profiles keep it anyway).
    pub fn srtt_s(&self) -> Option<f64> {
        Some(self.state.cold.smoothed).filter(|srtt| *srtt > 0.0)
    }

    /// The rate that the usable window stands for, packets · packet bits / srtt, bit/s; 0 without an srtt. A control by rate has its own.
    pub fn rate_bps(&self) -> u64 {
        if let Some(pace) = self.state.cold.control.as_ref().and_then(|control| control.pace()) {
            let config = &self.state.config;
            if pace.rate == u64::MAX {
                return 0; // no round trip is known
            }
            let bits = u128::from(pace.rate) * u128::from(config.data_bytes()) * 8;
            return u64::try_from(bits / u128::from(config.payload))
                .map_or(MOST_BPS, |bps| bps.min(MOST_BPS));
        }
        let srtt = self.state.cold.smoothed;
        let window = self.state.cwnd.min(self.state.config.max_window.into());
        if srtt == 0.0 { 0 } else { (window * f64::from(self.state.config.data_bytes()) * 8.0 / srtt) as u64 }
    }
}

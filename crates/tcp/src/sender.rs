//! A TCP sender: window, timers, what to send when. A pure state machine, numbered in packets.
//!
//! *Idea.* The caller hands in acknowledgements and the time, and gets segments through an [`Output`]; it calls
//! [`Sender::on_retransmission_timer`] and [`Sender::on_pacing_timer`] when the times that the sender names have come.
//! With the `ns2` profile a sender does, packet for packet, what ns-2.35's does.
//!
//! A packet number is a `u32`: a connection carries at most 4 294 967 295 packets.
//!
//! *References.* RFC 9293, 5681, 6298; ns-2.35 tcp/tcp.cc.

mod alarm;
mod ordinary;
mod overhead;
mod rare;
mod trains;
mod transmission;
mod window;

use crate::cc::Control;
use crate::config::{Config, Variant};
use crate::feedback::{Block, Told};
use crate::pacing::{Pacing, pacing_window};
use crate::recovery::{self, LastCut};
use crate::rtt::Rtt;
use crate::sparse::Sparse;
use crate::wheel::Wheel;
use ordinary::Ordinary;
use overhead::Overhead;
use paceline_core::{Instant, Span};
use rare::{Rare, pacing};
use std::sync::Arc;

/// A packet that the sender puts on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its number; a SYN, where the profile sends one, is 0.
    pub seq: u32,
    /// Size on the wire, bytes.
    pub bytes: u32,
    /// Sent before.
    pub retransmission: bool,
}

/// Where segments go.
pub trait Output {
    /// The sender puts a segment on the wire, now.
    fn send(&mut self, segment: Segment);
}

impl<O: Output> Output for &mut O {
    #[inline(always)]
    fn send(&mut self, segment: Segment) {
        (**self).send(segment);
    }
}

/// What a sender counts, over its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Data packets sent, a SYN and retransmissions included.
    pub sent: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions of the congestion window, timeouts included.
    pub window_cuts: u64,
}

/// One connection's sending end. Windows and numbers in packets. Laid out in the order of use: what each acknowledgement and
/// each packet asks for lies together, in few cache lines.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Sender {
    pub(crate) config: Arc<Config>,
    /// First packet not yet acknowledged.
    pub(crate) una: u32,
    /// Next packet to send; falls back to `una` after a timeout.
    pub(crate) next: u32,
    /// One more than the highest packet ever sent.
    pub(crate) end: u32,
    /// One more than the last packet that the application has given, the SYN included.
    pub(crate) limit: u32,
    pub(crate) cwnd: f64,
    ssthresh: u32,
    /// What duplicate acknowledgements add to the window during fast recovery.
    pub(crate) inflation: u32,
    /// Duplicate acknowledgements in a row.
    pub(crate) duplicates: u32,
    /// `end` when the first of `duplicates` came: limited transmit has added what is beyond.
    pub(crate) end_before_duplicates: u32,
    pub(crate) last_cut: LastCut,
    /// NewReno: a partial acknowledgement has come in this recovery.
    pub(crate) partial_seen: bool,
    ordinary: Ordinary,
    /// Timeouts of the first packet: what they do to the window after the handshake, see [`Sender::first_window`].
    lost_first: u8,
    /// `end` at the last loss: recovery is over beyond it.
    pub(crate) recover: u32,
    /// `Instant::MAX` is never.
    retransmission_at: Instant,
    counters: Counts,
    pub(crate) rtt: Rtt,
    pub(crate) rare: Sparse<Rare>,
}

/// [`Counters`] in little room; what was sent is known by what was sent first, and again.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    retransmits: u32,
    timeouts: u32,
    window_cuts: u32,
}

impl Sender {
    /// A connection that has not started. `packets` is what it sends, a SYN not counted; `None` is no end. `clock_phase`
    /// is where the host's tick stands at time zero (below `Config::tick`), `jitter_seed` feeds the pacing jitter and what
    /// [`Config::overhead`] draws.
    pub fn new(config: Arc<Config>, packets: Option<u64>, clock_phase: Span, jitter_seed: u64) -> Self {
        let syn = u64::from(config.syn.is_some());
        let limit = packets
            .map_or(u32::MAX, |packets| u32::try_from(packets.saturating_add(syn)).unwrap_or(u32::MAX));
        let ssthresh = config.initial_ssthresh.unwrap_or(config.max_window);
        let waits = config.syn.is_some() && !config.data_with_syn;
        let cwnd = if waits { 1.0 } else { f64::from(config.initial_window) };
        let mut rare = Sparse::<Rare>::default();
        let control = Control::new(&config);
        let has_ticks = config.timer_tick != Span::ZERO;
        let keeps_round_trips = control.is_some() || config.rack || config.min_rto_beyond_srtt || has_ticks;
        let is_bare = !keeps_round_trips
            && packets.is_none()
            && config.pacing.is_none()
            && config.overhead == Span::ZERO;
        if !is_bare {
            rare.lasts = true;
            rare.pacing = config.pacing.map(|settings| Pacing::new(settings, jitter_seed));
            rare.overhead = Overhead::new(config.overhead, jitter_seed);
            rare.control = control;
            rare.wheel = Wheel::of(&config, jitter_seed);
        }
        Sender {
            una: 0,
            next: 0,
            end: 0,
            limit,
            lost_first: 0,
            cwnd,
            ssthresh,
            ordinary: Ordinary::of(&config, is_bare),
            inflation: 0,
            duplicates: 0,
            end_before_duplicates: 0,
            recover: u32::from(!config.halves_rate()),
            last_cut: LastCut::None,
            partial_seen: false,
            rtt: Rtt::new(&config, clock_phase),
            retransmission_at: Instant::MAX,
            rare,
            counters: Counts::default(),
            config,
        }
    }

    /// The sender of another connection with the same settings, not started, without data; counts go on.
    pub fn reopened(&self, clock_phase: Span, jitter_seed: u64) -> Self {
        let config = Arc::clone(&self.config);
        let mut other = Sender::new(config, Some(0), clock_phase, jitter_seed);
        other.counters = self.counters;
        other.rare.sent_before = self.rare.sent_before + u64::from(self.end);
        other
    }

    /// From now on round trips are smoothed, so that [`Sender::srtt_s`] and [`Sender::rate_bps`] can be asked for.
    pub fn keep_round_trips(&mut self) {
        self.rare.lasts = true;
        self.ordinary = Ordinary::of(&self.config, false);
    }

    /// The application gives `bytes` more, at least one: full packets, and a last one that may be shorter. Returns one more
    /// than the number of the last packet. [`Sender::start`] must follow.
    pub fn give(&mut self, bytes: u64) -> u32 {
        let payload = u64::from(self.config.payload);
        let packets = u32::try_from(bytes.div_ceil(payload)).unwrap_or(u32::MAX);
        self.limit = self.limit.saturating_add(packets.max(1)).min(u32::MAX - 1);
        let rest = bytes % payload;
        if rest > 0 || bytes == 0 {
            let rare = &mut *self.rare;
            rare.lasts = true;
            rare.short_from = rare.short.list(self.limit - 1, rest as u32, self.una);
            self.ordinary = Ordinary::of(&self.config, false);
        }
        self.limit
    }

    /// The application has data from now on, or more of them.
    pub fn start(&mut self, now: Instant, out: &mut impl Output) {
        if self.una == self.end && self.end > 0 {
            self.restart_after_idle(now);
        }
        self.send_what_the_window_allows(u32::MAX, now, out);
    }

    /// An acknowledgement of all before `next` arrives; enough where [`Config::needs_feedback`] says no.
    /// [`Sender::on_ordinary_ack`] does the same faster, where it may.
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
        // What comes when nothing is outstanding, and nothing is left to send, is no duplicate (RFC 5681, section 2).
        if next <= self.end && !self.is_finished() {
            recovery::on_ack(self, next, Told { echo, blocks }, now, out);
        }
    }

    /// When [`Sender::on_retransmission_timer`] is due.
    #[inline]
    pub fn retransmission_at(&self) -> Option<Instant> {
        (self.retransmission_at != Instant::MAX).then_some(self.retransmission_at)
    }

    /// The same; [`Instant::MAX`] is never.
    #[inline]
    pub fn retransmission_due(&self) -> Instant {
        self.retransmission_at
    }

    /// When [`Sender::on_pacing_timer`] is due: pacing asks again, or [`Config::overhead`] is over.
    #[inline]
    pub fn pacing_at(&self) -> Option<Instant> {
        Some(self.pacing_due()).filter(|due| *due != Instant::MAX)
    }

    /// The same; [`Instant::MAX`] is never.
    #[inline]
    pub fn pacing_due(&self) -> Instant {
        self.rare.get().map_or(Instant::MAX, |rare| rare.pacing_at.min(rare.overhead_at))
    }

    /// The retransmission timer has run out: back to one packet (RFC 5681, equation 4; ns-2 tcp.cc `timeout`).
    pub fn on_retransmission_timer(&mut self, now: Instant, out: &mut impl Output) {
        if self.config.timer_tick != Span::ZERO {
            self.rare.wheel.on_timer(self.retransmission_at);
        }
        if self.on_alarm(now, out) {
            return;
        }
        if self.config.has_rack() && !self.is_shaking_hands() && self.una != self.end {
            return self.on_timeout_of_rack(now, out);
        }
        recovery::on_timeout(self);
        self.cwnd = self.cwnd.max(1.0);
        if self.una == 0 {
            self.lost_first = self.lost_first.saturating_add(1);
        }
        let is_syn = self.una == 0 && self.config.syn.is_some();
        if self.una == self.end {
            self.shrink_idle_window(now); // nothing outstanding: no loss
        } else {
            self.counters.timeouts += 1;
            if is_syn && self.config.forgives_syn {
                // A SYN is no data: the window is still that of before the handshake.
            } else {
                self.cut_to_one();
            }
            if let Some(control) = self.control() {
                control.on_timeout();
            }
            // Linux `tcp_retransmit_timer`: the first SYNs go at equal distances.
            if !is_syn || u32::from(self.lost_first) > self.config.linear_syn_timeouts {
                self.rtt.back_off(&self.config, self.rare.smoothed);
            }
        }
        self.last_cut = LastCut::Timeout;
        self.next = if self.config.halves_rate() { self.end } else { self.una };
        self.send_after_timeout(now, out);
    }

    /// The SYN has not been acknowledged, and nothing else is sent.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        self.una == 0 && self.config.syn.is_some() && !self.config.data_with_syn
    }

    /// Nothing is sent anew before what is lost: `next` stays.
    #[cold]
    fn on_timeout_of_rack(&mut self, now: Instant, out: &mut impl Output) {
        recovery::rack::on_timeout(self, now);
        self.counters.timeouts += 1;
        if let Some(control) = self.control() {
            control.on_timeout();
        }
        self.rtt.back_off(&self.config, self.rare.smoothed);
        self.send_after_timeout(now, out);
    }

    fn send_after_timeout(&mut self, now: Instant, out: &mut impl Output) {
        self.restart_timer_and_stop_timing(now);
        if let Some((pacing, pacing_at)) = pacing!(self) {
            pacing.reset(pacing_at);
        }
        self.send_what_the_window_allows(u32::MAX, now, out);
    }

    /// The pacing timer has run out.
    #[inline(always)]
    pub fn on_pacing_timer(&mut self, now: Instant, out: &mut impl Output) {
        if self.has_ordinary_timer() {
            self.on_ordinary_pacing_timer(now, out);
        } else {
            self.on_pacing_timer_the_long_way(now, out);
        }
    }

    #[inline(never)]
    fn on_pacing_timer_the_long_way(&mut self, now: Instant, out: &mut impl Output) {
        self.end_wait(now, out);
        if let Some((pacing, pacing_at)) = pacing!(self)
            && *pacing_at <= now
        {
            *pacing_at = Instant::MAX;
            let permit = pacing.on_timer(pacing_window!(self));
            self.send_as_permitted(permit, u32::MAX, now, out);
        }
    }

    /// Congestion window, packets; fractional.
    #[inline]
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Slow-start threshold, packets.
    pub fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    /// First packet not yet acknowledged.
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// One more than the highest packet ever sent.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// One more than the last packet that the application has given; `u32::MAX` is no end.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Everything that the application gave has been acknowledged.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.una == self.limit
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        let Counts { retransmits, timeouts, window_cuts } = self.counters;
        let (retransmits, timeouts, window_cuts) = (retransmits.into(), timeouts.into(), window_cuts.into());
        let sent = self.rare.sent_before + u64::from(self.end) + retransmits;
        Counters { sent, retransmits, timeouts, window_cuts }
    }

    /// The window after the handshake, packets, whose acknowledgement echoes a SYN sent at `echo`.
    fn first_window(&self, echo: Instant) -> u32 {
        if self.config.forgives_syn {
            let needless = self.config.timestamps && echo == self.rtt.timed_sent();
            return if self.lost_first > 1 && !needless { 1 } else { self.config.initial_window };
        }
        self.initial_window()
    }

    /// The least window that silence leaves, packets.
    fn initial_window(&self) -> u32 {
        // ns-2's FACK and TCP-Linux know no such rule.
        let knows = self.config.variant != Variant::Fack && !self.config.halves_rate();
        let fix = self.config.first_packet_fix && knows;
        if self.lost_first > 0 && fix && !self.config.forgives_syn { 1 } else { self.config.initial_window }
    }

    /// Another control than Reno's; asked for first, as to write makes room for what is not there.
    #[inline]
    fn control(&mut self) -> Option<&mut Control> {
        if self.rare.control.is_some() { self.rare.control.as_mut() } else { None }
    }

    /// The connection's settings.
    #[inline]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Smoothed round-trip time without ticks, seconds; `None` before the first sample, or where none is kept
    /// ([`Sender::keep_round_trips`]; some profiles keep it anyway).
    pub fn srtt_s(&self) -> Option<f64> {
        Some(self.rare.smoothed).filter(|srtt| *srtt > 0.0)
    }

    /// The rate that the usable window stands for, packets · packet bits / srtt, bit/s; 0 where there is no srtt.
    pub fn rate_bps(&self) -> u64 {
        let srtt = self.rare.smoothed;
        let window = self.cwnd.min(self.config.max_window.into());
        if srtt == 0.0 { 0 } else { (window * f64::from(self.config.data_bytes()) * 8.0 / srtt) as u64 }
    }
}

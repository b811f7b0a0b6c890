//! A TCP sender: window, timers, what to send when. A pure state machine, numbered in packets.
//!
//! *Idea.* The caller hands in acknowledgements and the time, and gets segments through an [`Output`]; it calls
//! [`Sender::on_retransmission_timer`] and [`Sender::on_pacing_timer`] when the times that the sender names have come.
//! With the `ns2` profile a sender does, packet for packet, what ns-2.35's does.
//!
//! A packet number is a `u32`: a connection carries at most 4 294 967 295 packets.
//!
//! *References.* RFC 9293, 5681, 6298; ns-2.35 tcp/tcp.cc.

use crate::cc::{self, Acked, Control, reno};
use crate::config::{Config, Halving, IdleRestart, Variant};
use crate::feedback::{Block, Told};
use crate::pacing::{Pacing, Permit, Window};
use crate::recovery::{self, LastCut, Selective};
use crate::rtt::Rtt;
use crate::short::ShortPackets;
use paceline_core::{Instant, Span};
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

/// One connection's sending end. Windows and numbers in packets.
#[derive(Debug, Clone)]
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
    /// Packets from this number on may be listed in `short`; `u32::MAX` where none is.
    short_from: u32,
    short: ShortPackets,
    /// Window after the handshake: 1 if the first packet was lost (ns-2 `bugfix_ss_`).
    pub(crate) initial_window: u32,
    pub(crate) cwnd: f64,
    ssthresh: u32,
    control: Control,
    /// What duplicate acknowledgements add to the window during fast recovery.
    pub(crate) inflation: u32,
    /// Duplicate acknowledgements in a row.
    pub(crate) duplicates: u32,
    /// `end` when the first of these came: limited transmit has added what is beyond.
    pub(crate) end_before_duplicates: u32,
    /// `end` at the last loss: recovery is over beyond it.
    pub(crate) recover: u32,
    pub(crate) last_cut: LastCut,
    /// NewReno: a partial acknowledgement has come in this recovery.
    pub(crate) partial_seen: bool,
    /// What selective acknowledgements have told: Sack1, RFC 6675 and FACK.
    pub(crate) selective: Box<Selective>,
    pub(crate) rtt: Rtt,
    retransmission_at: Option<Instant>,
    last_sent: Instant,
    /// When all that the application had given was acknowledged.
    idle_since: Instant,
    pacing: Option<Box<Pacing>>,
    counters: Counters,
}

impl Sender {
    /// A connection that has not started. `packets` is what it sends, a SYN not counted; `None` is no end. `clock_phase`
    /// is where the host's tick stands at time zero (below `Config::tick`), `jitter_seed` feeds the pacing jitter.
    pub fn new(config: Arc<Config>, packets: Option<u64>, clock_phase: Span, jitter_seed: u64) -> Self {
        let syn = u64::from(config.syn.is_some());
        let limit = packets
            .map_or(u32::MAX, |packets| u32::try_from(packets.saturating_add(syn)).unwrap_or(u32::MAX));
        let ssthresh = config.initial_ssthresh.unwrap_or(config.max_window);
        let cwnd = if config.syn.is_some() { 1.0 } else { f64::from(config.initial_window) };
        Sender {
            una: 0,
            next: 0,
            end: 0,
            limit,
            short_from: u32::MAX,
            short: ShortPackets::default(),
            initial_window: config.initial_window,
            cwnd,
            ssthresh,
            control: Control::new(&config),
            inflation: 0,
            duplicates: 0,
            end_before_duplicates: 0,
            recover: 1,
            last_cut: LastCut::None,
            partial_seen: false,
            selective: Box::default(),
            rtt: Rtt::new(&config, clock_phase),
            retransmission_at: None,
            last_sent: Instant::ZERO,
            idle_since: Instant::ZERO,
            pacing: config.pacing.map(|settings| Box::new(Pacing::new(settings, jitter_seed))),
            counters: Counters::default(),
            config,
        }
    }

    /// The sender of another connection with the same settings, not started, without data; counts go on.
    pub fn reopened(&self, clock_phase: Span, jitter_seed: u64) -> Self {
        let config = Arc::clone(&self.config);
        Sender { counters: self.counters, ..Sender::new(config, Some(0), clock_phase, jitter_seed) }
    }

    /// The application gives `bytes` more, at least one: full packets, and a last one that may be shorter. Returns one more
    /// than the number of the last packet. [`Sender::start`] must follow.
    pub fn give(&mut self, bytes: u64) -> u32 {
        let payload = u64::from(self.config.payload);
        let packets = u32::try_from(bytes.div_ceil(payload)).unwrap_or(u32::MAX);
        self.limit = self.limit.saturating_add(packets.max(1)).min(u32::MAX - 1);
        let rest = bytes % payload;
        if rest > 0 || bytes == 0 {
            self.short_from = self.short.list(self.limit - 1, rest as u32, self.una);
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
        self.retransmission_at
    }

    /// When [`Sender::on_pacing_timer`] is due.
    #[inline]
    pub fn pacing_at(&self) -> Option<Instant> {
        self.pacing.as_ref().and_then(|pacing| pacing.timer())
    }

    /// The retransmission timer has run out: back to one packet (RFC 5681, equation 4; ns-2 tcp.cc `timeout`).
    pub fn on_retransmission_timer(&mut self, now: Instant, out: &mut impl Output) {
        recovery::on_timeout(self);
        self.cwnd = self.cwnd.max(1.0);
        if self.una == 0 && self.config.first_packet_fix && self.config.variant != Variant::Fack {
            self.initial_window = 1; // ns-2's FACK knows no such rule
        }
        if self.una == self.end {
            self.shrink_idle_window(now); // nothing outstanding: no loss
        } else {
            self.counters.timeouts += 1;
            self.cut_to_one();
            self.control.on_timeout();
            self.rtt.back_off(&self.config);
        }
        self.last_cut = LastCut::Timeout;
        self.next = self.una;
        self.restart_timer_and_stop_timing(now);
        if let Some(pacing) = &mut self.pacing {
            pacing.reset();
        }
        self.send_what_the_window_allows(u32::MAX, now, out);
    }

    /// The pacing timer has run out.
    pub fn on_pacing_timer(&mut self, now: Instant, out: &mut impl Output) {
        let window = self.pacing_window();
        if let Some(pacing) = &mut self.pacing {
            let permit = pacing.on_timer(window);
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
        self.counters
    }

    /// The connection's settings.
    #[inline]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Smoothed round-trip time without ticks, seconds; `None` before the first sample.
    pub fn srtt_s(&self) -> Option<f64> {
        Some(self.rtt.smoothed()).filter(|srtt| *srtt > 0.0)
    }

    /// The rate that the window stands for, cwnd · packet bits / srtt, bit/s; 0 before the first sample.
    pub fn rate_bps(&self) -> u64 {
        let srtt = self.rtt.smoothed();
        if srtt == 0.0 { 0 } else { (self.cwnd * f64::from(self.config.data_bytes()) * 8.0 / srtt) as u64 }
    }

    /// New data are acknowledged, outside of recovery: time, grow, restart the timer (ns-2 `recv_newack_helper`).
    #[inline]
    pub(crate) fn on_new_ack(&mut self, next: u32, told: Told<'_>, now: Instant) {
        let handshake = self.una == 0 && next == 1 && self.config.syn.is_some();
        let (packets, in_flight) = (next - self.una, self.next.saturating_sub(self.una));
        let sample = self.advance(next, told, now);
        match self.control {
            Control::Reno => self.grow(),
            _ => self.grow_by_control(packets, in_flight, sample, now),
        }
        if handshake {
            self.cwnd = f64::from(self.initial_window);
        }
    }

    /// New data are acknowledged: time, restart the timer (ns-2 `newack`). Returns the round trip, if one was measured.
    #[inline]
    pub(crate) fn advance(&mut self, next: u32, told: Told<'_>, now: Instant) -> Option<Span> {
        self.duplicates = 0;
        self.una = next;
        self.next = self.next.max(next);
        let sample = if self.config.timestamps {
            Some(self.rtt.on_echo(&self.config, next, now, told.echo))
        } else {
            self.rtt.on_ack(&self.config, next, now)
        };
        if let Some(sample) = sample
            && let Some(pacing) = &mut self.pacing
        {
            pacing.on_sample(sample, self.cwnd);
        }
        self.restart_timer(now);
        self.stop_timer_if_finished(now);
        sample
    }

    /// The window grows by what one acknowledgement of new data is worth (ns-2 `opencwnd`).
    #[inline]
    pub(crate) fn grow(&mut self) {
        self.cwnd = reno::increase(self.cwnd, self.ssthresh);
    }

    #[inline]
    pub(crate) fn stop_timer_if_finished(&mut self, now: Instant) {
        if self.is_finished() {
            self.retransmission_at = None;
            self.idle_since = now;
        }
    }

    /// The window grows as BIC or CUBIC says, if it was used up: not where the application had too little to send (RFC 9438
    /// section 5.8; Linux `tcp_is_cwnd_limited`), nor beyond the receiver's window.
    fn grow_by_control(&mut self, packets: u32, in_flight: u32, sample: Option<Span>, now: Instant) {
        let slow_start = self.cwnd < f64::from(self.ssthresh);
        let used = if slow_start { in_flight.saturating_mul(2) } else { in_flight };
        if self.next == self.limit && used < self.cwnd as u32 {
            return;
        }
        let srtt = self.rtt.smoothed();
        let acked = Acked { now, next: self.una, packets, end: self.end, srtt, sample };
        let mut window = cc::Window { cwnd: self.cwnd, ssthresh: self.ssthresh };
        self.control.increase(&mut window, acked);
        self.cwnd = window.cwnd.min(f64::from(self.config.max_window).max(self.cwnd));
        self.ssthresh = window.ssthresh;
    }

    /// The application goes on after nothing was outstanding.
    #[cold]
    fn restart_after_idle(&mut self, now: Instant) {
        recovery::on_restart(self);
        self.control.on_idle(now.since(self.last_sent));
        self.shrink_idle_window(now);
        self.cwnd = self.cwnd.max(1.0); // half of one packet, rounded down, would never send again
    }

    /// Nothing is outstanding: the window that is left of the last one, which the path may no longer bear.
    #[cold]
    fn shrink_idle_window(&mut self, now: Instant) {
        let timeout = self.rtt.timeout(&self.config);
        let unsent = now.since(self.last_sent);
        let initial = f64::from(self.initial_window);
        let before = self.cwnd;
        match self.config.idle_restart {
            IdleRestart::One if now.since(self.idle_since) >= timeout => {
                self.cwnd = 1.0;
                self.last_cut = LastCut::Timeout;
                self.recover = self.end;
                self.rtt.stop_timing();
            }
            IdleRestart::Initial if unsent > timeout => self.cwnd = before.min(initial),
            IdleRestart::Decay if unsent > timeout => {
                self.ssthresh = self.ssthresh.max((before * 0.75) as u32);
                let mut idle = unsent.as_nanos().saturating_sub(timeout.as_nanos());
                while idle > 0 && self.cwnd > initial {
                    self.cwnd = (self.cwnd / 2.0).max(initial);
                    idle = idle.saturating_sub(timeout.as_nanos());
                }
            }
            _ => {}
        }
        self.counters.window_cuts += u64::from(self.cwnd < before);
    }

    /// Everything outstanding at the last loss has been acknowledged, or nothing but the SYN ever was.
    #[inline]
    pub(crate) fn recovered(&self) -> bool {
        self.una > self.recover || (self.una == 1 && self.config.first_packet_fix) || !self.config.careful
    }

    /// A loss: ssthresh and window to what the control leaves of the window: Reno leaves half.
    pub(crate) fn cut_to_half(&mut self) {
        self.cwnd = self.cut();
    }

    /// A loss: ssthresh to what the control leaves of the window, and the window to one packet.
    pub(crate) fn cut_to_one(&mut self) {
        self.cut();
        self.cwnd = 1.0;
    }

    /// The window to ssthresh, and no further than this.
    pub(crate) fn deflate_to(&mut self, packets: u32) {
        self.cwnd = f64::from(self.ssthresh.min(packets));
    }

    /// A loss: ssthresh to what the control leaves of the window, which is returned (ns-2 `slowdown`).
    fn cut(&mut self) -> f64 {
        self.counters.window_cuts += 1;
        let left = self.window_after_loss();
        self.ssthresh = (left as u32).max(2);
        left
    }

    /// What the control leaves of that which counts as the window: see [`Halving`].
    fn window_after_loss(&mut self) -> f64 {
        let halves_in_flight = self.pacing.as_ref().is_some_and(|pacing| pacing.halves_in_flight());
        let cwnd = (self.cwnd + f64::from(self.inflation)).min(f64::from(self.config.max_window));
        let (window, least) = match self.config.halving {
            _ if halves_in_flight => (f64::from(self.next - self.una + 1), 0.0),
            Halving::InFlight => (f64::from(self.next - self.una + 1), 0.0),
            Halving::FlightSize => {
                let end = if self.duplicates > 0 { self.end_before_duplicates } else { self.end };
                (f64::from(end - self.una), 2.0)
            }
            Halving::Window => (cwnd, 0.0),
        };
        self.control.cut(window, cwnd, self.config.fractional_halving).max(least)
    }

    /// The first and the second duplicate let one new packet out each (RFC 3042; ns-2 `send_one`).
    pub(crate) fn limited_transmit(&mut self, now: Instant, out: &mut impl Output) {
        let in_flight = self.next - self.una;
        if in_flight < self.config.max_window
            && self.next < self.limit
            && f64::from(in_flight) + 1.0 <= self.cwnd + f64::from(self.duplicates)
        {
            debug_assert!(self.duplicates < self.config.duplicate_threshold);
            self.transmit(self.next, now, out);
            self.next += 1;
        }
    }

    /// Sends what the window allows, at most `burst` packets, if pacing lets it (ns-2 `send_much`).
    #[inline]
    pub(crate) fn send_what_the_window_allows(&mut self, burst: u32, now: Instant, out: &mut impl Output) {
        if self.pacing.is_some() {
            let window = self.pacing_window();
            let permit = self.pacing.as_mut().map_or(Permit::All, |pacing| pacing.on_event(window, now));
            self.send_as_permitted(permit, burst, now, out);
        } else {
            self.send_burst(burst, now, out);
        }
    }

    fn send_as_permitted(&mut self, permit: Permit, burst: u32, now: Instant, out: &mut impl Output) {
        let burst = match permit {
            Permit::All => burst,
            Permit::Some(packets) => burst.min(packets),
            Permit::None => return,
        };
        let sent = self.send_burst(burst, now, out);
        let more = recovery::next_packet(self).is_some();
        let window = self.pacing_window();
        if let Some(pacing) = &mut self.pacing {
            pacing.after_burst(window, sent, more, now);
        }
    }

    #[inline]
    fn send_burst(&mut self, burst: u32, now: Instant, out: &mut impl Output) -> u32 {
        let burst = burst.min(self.config.max_burst);
        let mut sent = 0;
        while sent < burst
            && let Some(seq) = recovery::next_packet(self)
        {
            self.transmit(seq, now, out);
            recovery::on_sent(self, seq);
            sent += 1;
        }
        sent
    }

    /// The window as far as it is usable, packets, with what duplicate acknowledgements add (ns-2 `window`).
    #[inline]
    pub(crate) fn window(&self) -> u32 {
        (self.cwnd as u32 + self.inflation).min(self.config.max_window)
    }

    /// Puts packet `seq` on the wire (ns-2 `output`).
    #[inline]
    pub(crate) fn transmit(&mut self, seq: u32, now: Instant, out: &mut impl Output) {
        let nothing_outstanding = self.una == self.end;
        let retransmission = seq < self.end;
        let bytes = match self.config.syn {
            Some(syn) if seq == 0 => syn,
            _ if seq >= self.short_from => self.bytes_of(seq),
            _ => self.config.data_bytes(),
        };
        out.send(Segment { seq, bytes, retransmission });
        self.counters.sent += 1;
        if retransmission {
            self.counters.retransmits += 1;
        } else {
            self.end = seq + 1;
            self.rtt.on_first_transmission(seq, now);
            self.control.on_first_transmission(seq, now);
        }
        self.last_sent = now;
        if let Some(pacing) = &mut self.pacing {
            pacing.on_sent(now);
        }
        if nothing_outstanding || self.retransmission_at.is_none() {
            self.restart_timer(now);
        }
    }

    /// Packet `seq` on the wire, where some are short.
    #[cold]
    fn bytes_of(&self, seq: u32) -> u32 {
        self.short.payload_of(seq).unwrap_or(self.config.payload) + self.config.header
    }

    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Instant) {
        self.retransmission_at = Some(now + self.rtt.timeout(&self.config));
    }

    pub(crate) fn restart_timer_and_stop_timing(&mut self, now: Instant) {
        self.restart_timer(now);
        self.rtt.stop_timing();
    }

    fn pacing_window(&self) -> Window {
        Window {
            cwnd: self.cwnd,
            ssthresh: f64::from(self.ssthresh),
            in_flight: f64::from(self.next.saturating_sub(self.una)),
            recovering: self.una <= self.recover,
            packet: self.config.data_bytes(),
        }
    }
}

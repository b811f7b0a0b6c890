//! The congestion window: its growth by acknowledgements, and its reduction by losses and idle periods.
//!
//! *References.* RFC 5681; ns-2.35 tcp/tcp.cc `recv_newack_helper`, `slowdown`.

use super::{LastCut, State, pacing};
use crate::cc::{self, Acked, reno};
use crate::config::{Halving, IdleRestart, Variant};
use crate::feedback::Ack;
use crate::rtt::smoothed;
use paceline_core::{Instant, Span};

/// What [`IdleRestart::Paced`] leaves of a window (ns-2 `rbp_scale_`), and the least that it does, packets (`RBP_MIN_SEGMENTS`).
const PACED_SHARE: f64 = 0.75;
const PACED_LEAST: f64 = 2.0;

impl State {
    /// New data are acknowledged, outside of recovery: time, grow, restart the timer (ns-2 `recv_newack_helper`).
    #[inline(always)]
    pub(crate) fn on_new_ack(&mut self, ack: Ack<'_>, now: Instant) {
        self.on_delivered(ack.next - self.una, ack, now);
    }

    /// [`State::on_new_ack`] of an acknowledgement that newly delivers `packets`: fewer than it covers, where blocks have reported
    /// some of them before.
    pub(crate) fn on_delivered(&mut self, packets: u32, ack: Ack<'_>, now: Instant) {
        let handshake = self.is_handshake(ack.next);
        let in_flight = self.next.saturating_sub(self.una);
        let open = self.una >= self.recover;
        let sample = self.advance(ack, now);
        if self.cold.control.is_none() && !self.config.count_packets {
            self.grow();
        } else {
            self.grow_by_control((packets, open, false), in_flight, sample, now);
        }
        if handshake {
            self.end_handshake(ack.echo);
        }
    }

    /// An acknowledgement of all before `next` acknowledges the SYN.
    #[inline(always)]
    pub(crate) fn is_handshake(&self, next: u32) -> bool {
        self.una == 0 && next == 1 && self.config.syn.is_some()
    }

    /// The SYN is acknowledged; the acknowledgement echoes one sent at `echo`.
    pub(crate) fn end_handshake(&mut self, echo: Instant) {
        if !self.config.data_with_syn {
            self.cwnd = f64::from(self.first_window(echo));
        }
        if self.lost_first > 0
            && let Some(timeout) = self.config.rto_after_lost_syn
        {
            self.rtt.begin_data_after_lost_syn(&self.config, timeout);
        }
    }

    /// The window after the handshake, packets. Its acknowledgement echoes a SYN sent at `echo`.
    fn first_window(&self, echo: Instant) -> u32 {
        if self.config.forgives_syn {
            let needless = self.config.timestamps && echo == self.rtt.timed_sent();
            return if self.lost_first > 1 && !needless { 1 } else { self.config.initial_window };
        }
        self.initial_window()
    }

    /// The least window that an idle period leaves, packets.
    fn initial_window(&self) -> u32 {
        // ns-2's FACK and TCP-Linux do not have this rule.
        let has_rule = self.config.variant != Variant::Fack && !self.config.halves_rate();
        let fix = self.config.first_packet_fix && has_rule;
        if self.lost_first > 0 && fix && !self.config.forgives_syn { 1 } else { self.config.initial_window }
    }

    /// New data are acknowledged: time, restart the timer (ns-2 `newack`). Returns the round trip, if one was measured.
    #[inline(always)]
    pub(crate) fn advance(&mut self, ack: Ack<'_>, now: Instant) -> Option<Span> {
        self.duplicates = 0;
        self.una = ack.next;
        self.next = self.next.max(ack.next);
        let sample = if self.config.timestamps {
            Some(self.rtt.on_echo(&self.config, smoothed!(self), ack.next, now, ack.echo))
        } else {
            self.rtt.on_ack(&self.config, smoothed!(self), ack.next, now)
        };
        if let Some(sample) = sample
            && let Some((pacing, _)) = pacing!(self)
        {
            pacing.on_sample(sample, self.cwnd);
        }
        if self.has_rack() {
            self.note_round_trip(sample);
            self.process_probe_ack(ack.next, false, false);
        } else if self.config.gso.is_some() {
            self.note_round_trip(sample);
        }
        self.restart_timer(now);
        self.stop_timer_if_finished(now);
        sample
    }

    /// A round trip was measured, and `last`, that of the packet sent last.
    #[inline]
    pub(crate) fn add_sample(&mut self, sample: Span, last: Span, now: Instant) {
        let sent = now - sample;
        let sample = self.rtt.on_echo(&self.config, smoothed!(self), self.una, now, sent);
        if let Some((pacing, _)) = pacing!(self) {
            pacing.on_sample(sample, self.cwnd);
        }
        self.note_round_trip(Some(last));
    }

    /// The window grows by one acknowledgement of new data (ns-2 `opencwnd`).
    #[inline]
    pub(crate) fn grow(&mut self) {
        if self.is_held_by_echo() {
            return;
        }
        self.cwnd = reno::increase_by_one(self.cwnd, self.ssthresh).min(self.config.most_growth());
    }

    #[inline]
    pub(crate) fn stop_timer_if_finished(&mut self, now: Instant) {
        if self.is_finished() {
            self.retransmission_at = Instant::MAX;
            if matches!(self.config.idle_restart, IdleRestart::One | IdleRestart::Paced) {
                self.cold.idle_since = now;
            }
        }
    }

    /// The window grows by the congestion control, if it was used up: not where the application had too little to send (RFC 9438
    /// section 5.8; Linux `tcp_is_cwnd_limited`), and not beyond the receiver's window.
    pub(crate) fn grow_by_control(
        &mut self,
        (packets, open, dubious): (u32, bool, bool),
        in_flight: u32,
        sample: Option<Span>,
        now: Instant,
    ) {
        if self.is_held_by_echo() && !self.config.variant.is_by_rate() {
            return;
        }
        let used = self.was_used_up(in_flight);
        let srtt = self.cold.smoothed;
        let weight = if self.config.count_packets { packets } else { 1 };
        let paced_until = self.cold.pacing_at;
        let acked = Acked {
            now,
            next: self.una,
            packets,
            open,
            dubious,
            used,
            weight,
            end: self.end,
            srtt,
            sample,
            paced_until,
        };
        let mut window = cc::Window { cwnd: self.cwnd, ssthresh: self.ssthresh };
        match self.control() {
            Some(control) => control.increase(&mut window, acked),
            None if !used => return,
            None => window.cwnd = reno::increase_whole(window.cwnd, window.ssthresh, weight),
        }
        self.cwnd = window.cwnd.min(f64::from(self.config.max_window).max(self.cwnd));
        self.ssthresh = window.ssthresh;
    }

    /// The window was used up with `in_flight` packets in flight. Pacing delays packets, and so does a wait for a longer train
    /// (`is_cwnd_limited` of `tcp_tso_should_defer`): with these it counts only whether the application had enough to send. With small
    /// queues it is Linux's own rule.
    fn was_used_up(&self, in_flight: u32) -> bool {
        let cwnd = self.cwnd as u32;
        if let Some(queue) = &self.cold.small_queue {
            return queue.usage.lets_grow(cwnd, self.cwnd < f64::from(self.ssthresh));
        }
        let receives_unused = self.cold.control.as_ref().is_some_and(cc::Control::receives_unused);
        if receives_unused && self.cold.pacing.is_none() && self.config.gso.is_none() {
            return in_flight >= cwnd;
        }
        let slow_start = self.cwnd < f64::from(self.ssthresh);
        let used = if slow_start { in_flight.saturating_mul(2) } else { in_flight };
        self.next != self.limit || used >= cwnd
    }

    /// The application sends again after nothing was outstanding.
    #[cold]
    pub(crate) fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.since(self.cold.last_sent);
        if let Some(control) = self.control() {
            control.on_idle(idle);
        }
        let mut window = cc::Window { cwnd: self.cwnd, ssthresh: self.ssthresh };
        if let Some(control) = self.rate_control() {
            control.on_restart(&mut window, now);
            self.cwnd = window.cwnd;
        }
        self.shrink_idle_window(now);
        self.cwnd = self.cwnd.max(1.0); // half of one packet, rounded down, would never send again
    }

    /// Nothing is outstanding, and the path may no longer bear the last window: reduces it by [`IdleRestart`]. A control by rate paces
    /// what it sends then, and keeps its window (Linux `tcp_slow_start_after_idle_check`).
    #[cold]
    pub(crate) fn shrink_idle_window(&mut self, now: Instant) {
        if self.config.variant.is_by_rate() {
            return;
        }
        let timeout = self.rtt.timeout();
        let unsent = now.since(self.cold.last_sent);
        let initial = f64::from(self.initial_window());
        let before = self.cwnd;
        match self.config.idle_restart {
            IdleRestart::One if now.since(self.cold.idle_since) >= timeout => {
                // ns-2's FACK closes its window to the initial one (tcp-fack.cc `timeout`, CLOSE_CWND_INIT).
                self.cwnd = if self.config.variant == Variant::Fack { before.min(initial) } else { 1.0 };
                self.last_cut = LastCut::Timeout;
                self.recover = self.end;
                if self.config.has_ns2_marks() {
                    self.note_reduction();
                }
                self.rtt.stop_timing();
            }
            IdleRestart::Paced if now.since(self.cold.idle_since) >= timeout => {
                self.cwnd = before.min((before * PACED_SHARE).round().max(PACED_LEAST));
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
        self.counts.window_cuts += u32::from(self.cwnd < before);
    }

    /// Everything outstanding at the last loss has been acknowledged, or only the SYN ever was.
    #[inline]
    pub(crate) fn recovered(&self) -> bool {
        self.is_beyond_recovery() || !self.config.careful
    }

    #[inline]
    pub(super) fn is_beyond_recovery(&self) -> bool {
        self.una > self.recover || (self.una == 1 && self.config.first_packet_fix)
    }

    /// A loss: ssthresh and window to what the congestion control leaves of the window. Reno leaves half.
    pub(crate) fn cut_to_half(&mut self) {
        self.cwnd = self.cut();
    }

    /// A loss: ssthresh to what the congestion control leaves of the window, and the window to one packet.
    pub(crate) fn cut_to_one(&mut self) {
        self.cut();
        self.cwnd = 1.0;
    }

    /// A cut was needless: window and ssthresh return to their earlier values.
    pub(crate) fn restore(&mut self, cwnd: f64, ssthresh: u32) {
        let mut window = cc::Window { cwnd: self.cwnd, ssthresh: self.ssthresh };
        if let Some(control) = self.rate_control() {
            control.on_undo(&mut window);
            self.cwnd = window.cwnd;
            return;
        }
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
    }

    /// The packet that times out now has been sent again by a timeout before: nothing has been acknowledged since, by which the window
    /// would have grown and the timeout come down.
    pub(crate) fn has_timed_out_again(&self) -> bool {
        self.last_cut == LastCut::Timeout && self.cwnd <= 1.0 && self.rtt.is_backed_off()
    }

    /// The window is cut, but not the threshold, which was cut before.
    pub(crate) fn count_cut(&mut self) {
        self.counts.window_cuts += 1;
    }

    /// The window to ssthresh, and at most to `packets`, unless a control by rate sets it.
    pub(crate) fn deflate_to(&mut self, packets: u32) {
        if self.config.variant.is_by_rate() {
            return;
        }
        self.cwnd = f64::from(self.ssthresh.min(packets));
    }

    /// A loss: ssthresh to what the congestion control leaves of the window, which is returned (ns-2 `slowdown`).
    pub(crate) fn cut(&mut self) -> f64 {
        self.counts.window_cuts += 1;
        self.note_reduction();
        let left = self.window_after_loss();
        self.ssthresh = (left as u32).max(2);
        left
    }

    /// What the congestion control leaves of the window as [`Halving`] counts it.
    fn window_after_loss(&mut self) -> f64 {
        if self.is_cut_by_mark() {
            return self.cwnd;
        }
        let (window, cwnd, least) = self.window_to_cut();
        let is_fractional = self.config.fractional_halving;
        let left = match self.control() {
            None => reno::half(window, is_fractional),
            Some(control) if is_fractional => control.cut(window, cwnd),
            Some(control) => control.cut(window, cwnd).floor(),
        };
        left.max(least)
    }

    /// The window as [`Halving`] counts it, the congestion window, and the least that may be left of it.
    pub(super) fn window_to_cut(&self) -> (f64, f64, f64) {
        let is_patched = self.config.halving == Halving::InFlight
            || self.cold.pacing.as_ref().is_some_and(|pacing| pacing.halves_in_flight());
        let cwnd = (self.cwnd + f64::from(self.inflation)).min(f64::from(self.config.max_window));
        let (window, least) = match self.config.halving {
            // Wei's patch changes `slowdown`. TCP-Linux has a cut of its own, of its window (tcp-linux.cc `enter_loss`).
            _ if is_patched && !self.config.variant.is_control() => {
                (f64::from(self.next - self.una + 1), 0.0)
            }
            Halving::FlightSize => {
                let end = if self.duplicates > 0 { self.end_before_duplicates } else { self.end };
                // At most the window: recovery sends new data for every packet that has arrived beyond a hole, so that FlightSize grows
                // far beyond what is in the pipe, and half of it beyond what the path bears.
                (f64::from(end - self.una).min(self.cwnd), 2.0)
            }
            Halving::Window | Halving::InFlight => (cwnd, 0.0),
        };
        (window, cwnd, least)
    }
}

//! Linux's one timer for losses: a probe, where no packet is known to be missing; a short wait, where packets may have been
//! reordered; else the retransmission timeout.
//!
//! *Idea.* Where the last packets of a flight are lost, no later packet reveals it. After two round trips without an acknowledgement
//! the sender transmits a **probe**: new data if there are any, else the last packet again. What the receiver reports then starts a
//! recovery, where a timeout would have cut the window to one packet. The **reordering** timer runs where the receiver holds a
//! packet that was sent shortly after a missing one: the missing packet is lost if it has not arrived by then
//! ([`crate::recovery::rack`]).
//! *Parameters.* `rack`; `min_rto` is also what a probe of a single packet waits for a delayed acknowledgement; `timer_tick`.
//! *References.* RFC 8985; Linux net/ipv4/tcp_output.c `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, tcp_input.c
//! `tcp_rearm_rto`, `tcp_set_xmit_timer`, `tcp_process_tlp_ack`.

use super::State;
use super::pending::{PendingTimer, Probe, probed_at};
use crate::sack::CaState;
use crate::segment::Output;
use paceline_core::{Instant, Span};

/// Linux `TCP_TIMEOUT_MIN_US`, since 6.7.
const LEAST: Span = Span::from_millis(2);

impl State {
    /// Something was acknowledged: sets the timer anew (`tcp_set_xmit_timer`).
    pub(super) fn restart_loss_timer(&mut self, now: Instant) {
        if !self.schedule_probe(true, now) {
            self.rearm_timeout(now);
        }
    }

    /// Sets the timer for a probe, where no packet is known to be missing, but no later than the timeout: one from now on if something
    /// was `acknowledged`, else the one that runs. Returns whether it did (`tcp_schedule_loss_probe`).
    pub(crate) fn schedule_probe(&mut self, acknowledged: bool, now: Instant) -> bool {
        let is_open = self.cold.sack.rack.ca_state == CaState::Open;
        if self.una == self.end || self.is_shaking_hands() || !is_open {
            return false;
        }
        let delayed_ack = if self.end - self.una == 1 { self.config.min_rto } else { LEAST };
        let wait = match self.cold.smoothed {
            0.0 => self.config.initial_rto, // a handshake that gave no sample
            srtt => Span::from_seconds(2.0 * srtt) + delayed_ack,
        };
        let timeout = if acknowledged { self.rtt.timeout() } else { self.until_timeout(now) };
        self.set_loss_timer(
            PendingTimer::Probe,
            if timeout > Span::ZERO { wait.min(timeout) } else { wait },
            now,
        );
        true
    }

    /// When packet `seq` was last sent.
    #[inline(always)]
    pub(crate) fn last_sent_at(&self, seq: u32) -> Instant {
        let again = self.cold.sack.rack.resent.iter().find(|one| one.seq == seq).map(|one| one.at);
        again.or_else(|| probed_at(self.cold.probed(), seq)).unwrap_or_else(|| self.cold.trains.of(seq).at)
    }

    /// The time left until the timeout of the first packet (`tcp_rto_delta_us`).
    fn until_timeout(&self, now: Instant) -> Span {
        (self.last_sent_at(self.una) + self.rtt.timeout()).since(now)
    }

    /// Back to the timeout: from now on, unless the timer ran for something else (`tcp_rearm_rto`).
    pub(crate) fn rearm_timeout(&mut self, now: Instant) {
        let wait = match self.cold.pending {
            PendingTimer::Timeout => self.rtt.timeout(),
            _ => self.until_timeout(now).max(Span::from_nanos(1_000)),
        };
        self.set_loss_timer(PendingTimer::Timeout, wait, now);
    }

    /// The first packet is retransmitted.
    pub(crate) fn restart_timeout(&mut self, now: Instant) {
        if self.cold.pending != PendingTimer::Reordering {
            self.set_loss_timer(PendingTimer::Timeout, self.rtt.timeout(), now);
        }
    }

    /// A missing packet counts as lost after `wait` (`tcp_rack_mark_lost`).
    pub(crate) fn await_reordering(&mut self, wait: Span, now: Instant) {
        self.set_loss_timer(PendingTimer::Reordering, (wait + LEAST).min(self.rtt.timeout()), now);
    }

    fn set_loss_timer(&mut self, pending: PendingTimer, wait: Span, now: Instant) {
        self.cold.pending = pending;
        self.retransmission_at = self.cold.wheel.after(now, wait);
    }

    /// A round trip may have been measured. The least one is kept with `Config::keeps_trains` only.
    #[inline]
    pub(crate) fn note_round_trip(&mut self, sample: Option<Span>) {
        if let Some(sample) = sample.filter(|_| self.keeps_trains()) {
            self.cold.least = self.cold.least.min(sample);
        }
    }

    /// The timer has run out for a probe.
    pub(crate) fn send_probe(&mut self, now: Instant, out: &mut impl Output) {
        let again = self.next - self.una >= self.config.max_window || self.next >= self.limit;
        if again {
            self.transmit(self.end - 1, now, out);
        } else {
            self.transmit(self.next, now, out);
            self.next += 1;
        }
        self.cold.probe = Some(Probe { end: self.end, again, at: now });
        self.set_loss_timer(PendingTimer::Timeout, self.rtt.timeout(), now);
        self.rtt.stop_timing();
    }

    /// An acknowledgement of all before `next`, or a duplicate of it, may answer a probe. If the probe was needed, a packet was lost
    /// (`tcp_process_tlp_ack`).
    #[inline]
    pub(crate) fn process_probe_ack(&mut self, next: u32, is_duplicate: bool, came_twice: bool) {
        if self.cold.probe.is_some() {
            self.end_probe(next, is_duplicate, came_twice);
        }
    }

    #[inline(never)]
    fn end_probe(&mut self, next: u32, is_duplicate: bool, came_twice: bool) {
        let Some(probe) = self.cold.probe.filter(|probe| next >= probe.end) else { return };
        if !probe.again || next > probe.end || is_duplicate || came_twice {
            self.cold.probe = None;
        }
        if probe.again && next > probe.end && !came_twice {
            self.cut();
            self.deflate_to(u32::MAX);
        }
    }

    /// A recovery has begun without the probe.
    pub(crate) fn forget_probe(&mut self) {
        if self.cold.probe.is_some() {
            self.cold.probe = None;
        }
    }
}

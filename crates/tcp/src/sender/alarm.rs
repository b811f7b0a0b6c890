//! Linux's one timer for losses: a probe first, where nothing is known to be missing; a short wait where something may have
//! been overtaken; else the retransmission timeout.
//!
//! *Idea.* An acknowledgement that does not come may be missing because the last packets of a flight were lost, and nothing
//! after them could tell. Two round trips on, a **probe** asks: new data if there are any, else the last packet again; what
//! is reported then starts a recovery, where a timeout would have cut the window to one packet. And where a packet is
//! held that was sent a little after one that is not, that one is lost, if the **reordering** timer runs out before it comes
//! ([`recovery::rack`]).
//! *Parameters.* `rack`; `min_rto` is also what a probe of a single packet waits for a delayed acknowledgement; `timer_tick`.
//! *Where it breaks.* Whether a probe was needless the receiver tells Linux by DSACK; here by a duplicate acknowledgement.
//! *References.* RFC 8985; Linux net/ipv4/tcp_output.c `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, tcp_input.c
//! `tcp_rearm_rto`, `tcp_set_xmit_timer`, `tcp_process_tlp_ack`.

use super::{Output, Sender};
use crate::recovery;
use paceline_core::{Instant, Span};

/// What the timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    Timeout,
    Probe,
    Reordering,
}

/// A probe that has not been answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// One more than the highest packet sent by then.
    pub(super) end: u32,
    /// It was the last packet again.
    pub(super) again: bool,
    pub(super) at: Instant,
}

/// Linux `TCP_TIMEOUT_MIN_US`, since 6.7.
const LEAST: Span = Span::from_millis(2);

impl Sender {
    /// Something was acknowledged: sets the timer anew (`tcp_set_xmit_timer`).
    pub(super) fn restart_alarm(&mut self, now: Instant) {
        if !self.schedule_probe(true, now) {
            self.rearm_timeout(now);
        }
    }

    /// A probe is due where nothing is known to be missing, but no later than a timeout: one from now on if something was
    /// `acknowledged`, else the one that runs. Whether that is so (`tcp_schedule_loss_probe`).
    pub(super) fn schedule_probe(&mut self, acknowledged: bool, now: Instant) -> bool {
        if self.una == self.end || self.is_shaking_hands() || !recovery::rack::is_open(self) {
            return false;
        }
        let delayed_ack = if self.end - self.una == 1 { self.config.min_rto } else { LEAST };
        let wait = match self.rare.smoothed {
            0.0 => self.config.initial_rto, // a handshake that gave no sample
            srtt => Span::from_seconds(2.0 * srtt) + delayed_ack,
        };
        let timeout = if acknowledged { self.rtt.timeout() } else { self.until_timeout(now) };
        self.set_alarm(Alarm::Probe, if timeout > Span::ZERO { wait.min(timeout) } else { wait }, now);
        true
    }

    /// How far off the timeout of the first packet is (`tcp_rto_delta_us`).
    fn until_timeout(&self, now: Instant) -> Span {
        (recovery::rack::sent_at(self, self.una) + self.rtt.timeout()).since(now)
    }

    /// Back to the timeout: from now on, unless the timer ran for something else (`tcp_rearm_rto`).
    fn rearm_timeout(&mut self, now: Instant) {
        let wait = match self.rare.alarm {
            Alarm::Timeout => self.rtt.timeout(),
            _ => self.until_timeout(now).max(Span::from_nanos(1_000)),
        };
        self.set_alarm(Alarm::Timeout, wait, now);
    }

    /// The first packet is sent again.
    pub(crate) fn restart_timeout(&mut self, now: Instant) {
        if self.rare.alarm != Alarm::Reordering {
            self.set_alarm(Alarm::Timeout, self.rtt.timeout(), now);
        }
    }

    /// Something was sent so long before another that has arrived that it will count as lost after a while
    /// (`tcp_rack_mark_lost`).
    pub(crate) fn await_reordering(&mut self, wait: Span, now: Instant) {
        self.set_alarm(Alarm::Reordering, (wait + LEAST).min(self.rtt.timeout()), now);
    }

    fn set_alarm(&mut self, alarm: Alarm, wait: Span, now: Instant) {
        self.rare.alarm = alarm;
        self.retransmission_at = self.rare.wheel.after(now, wait);
    }

    /// A round trip may have been measured; the least is asked for with `Config::has_rack` alone.
    #[inline]
    pub(crate) fn note_round_trip(&mut self, sample: Option<Span>) {
        if let Some(sample) = sample.filter(|_| self.config.has_rack()) {
            self.rare.least = self.rare.least.min(sample);
        }
    }

    /// The timer has run out for something else than the timeout: whether that was so.
    pub(super) fn on_alarm(&mut self, now: Instant, out: &mut impl Output) -> bool {
        let alarm = self.rare.alarm;
        if alarm == Alarm::Timeout || self.una == self.end {
            return false;
        }
        if alarm == Alarm::Probe && self.rare.probe.is_none() {
            self.send_probe(now, out);
            return true;
        }
        if alarm == Alarm::Reordering {
            recovery::rack::on_reordering(self, now, out);
        }
        if self.rare.alarm != Alarm::Timeout {
            self.rearm_timeout(now);
        }
        true
    }

    fn send_probe(&mut self, now: Instant, out: &mut impl Output) {
        let again = self.next - self.una >= self.config.max_window || self.next >= self.limit;
        if again {
            self.transmit(self.end - 1, now, out);
        } else {
            self.transmit(self.next, now, out);
            self.next += 1;
        }
        self.rare.probe = Some(Probe { end: self.end, again, at: now });
        self.set_alarm(Alarm::Timeout, self.rtt.timeout(), now);
        self.rtt.stop_timing();
    }

    /// All before `next` is acknowledged, or a duplicate says no more than that: if that answers a probe, and the probe was
    /// needed, there was a loss (`tcp_process_tlp_ack`).
    pub(crate) fn answer_probe(&mut self, next: u32, is_duplicate: bool) {
        if self.rare.probe.is_none() {
            return;
        }
        let Some(probe) = self.rare.probe.filter(|probe| next >= probe.end) else { return };
        if !probe.again || next > probe.end || is_duplicate {
            self.rare.probe = None;
        }
        if probe.again && next > probe.end {
            self.cut();
            self.deflate_to(u32::MAX);
        }
    }

    /// Something else has begun a recovery.
    pub(crate) fn forget_probe(&mut self) {
        if self.rare.probe.is_some() {
            self.rare.probe = None;
        }
    }
}

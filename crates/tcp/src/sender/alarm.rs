//! Linux's one timer for losses: a probe first, where nothing is known to be missing; a short wait where something may have
//! been overtaken; else the retransmission timeout.
//!
//! *Idea.* An acknowledgement that does not come may be missing because the last packets of a flight were lost, and nothing
//! after them could tell. Two round trips on, a **probe** asks: new data if there are any, else the last packet again; what
//! is reported then starts a recovery, where a timeout would have cut the window to one packet. And where a packet is
//! held that was sent after one that is not, that one is lost, once a quarter of the least round trip has passed, however
//! few packets tell of it: the **reordering** timer (RACK).
//! *Parameters.* `rack`; `min_rto` is also what a probe of a single packet waits for a delayed acknowledgement.
//! *Where it breaks.* Linux knows when each packet was sent and whether a probe was needless (DSACK). Here the wait starts
//! with the first report, and a probe was needed if its acknowledgement takes a round trip.
//! *References.* RFC 8985; Linux net/ipv4/tcp_output.c `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, tcp_input.c
//! `tcp_process_tlp_ack`, tcp_recovery.c `tcp_rack_reo_wnd`.

use super::{Output, Sender};
use crate::recovery::{self, LastCut};
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
    end: u32,
    /// It was the last packet again.
    again: bool,
    at: Instant,
}

/// Linux `TCP_TIMEOUT_MIN`: two ticks of a clock of 250 Hz.
const LEAST: Span = Span::from_millis(8);

impl Sender {
    /// Sets the timer anew: for a probe where nothing is known to be missing, else for the timeout.
    pub(super) fn restart_alarm(&mut self, now: Instant) {
        let timeout = self.rtt.timeout();
        self.rare.alarm = Alarm::Timeout;
        self.retransmission_at = now + timeout;
        self.schedule_probe(now);
    }

    /// Something was sent: a probe is due after it where nothing is known to be missing, but no later than a timeout.
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        let timeout = self.rtt.timeout();
        let after_timeout = self.last_cut == LastCut::Timeout && self.una < self.recover;
        let smoothed = self.rare.smoothed;
        if self.rare.alarm == Alarm::Reordering
            || self.rare.probe.is_some()
            || self.una == self.end
            || self.una == 0
            || self.next != self.end
            || after_timeout
            || !recovery::nothing_is_missing(self)
        {
            return;
        }
        let delayed_ack = if self.end - self.una == 1 { self.config.min_rto } else { LEAST };
        let wait = match smoothed {
            0.0 => self.config.initial_rto, // a handshake that gave no sample
            srtt => Span::from_seconds(2.0 * srtt) + delayed_ack,
        };
        let latest = match self.rare.alarm {
            Alarm::Timeout => self.retransmission_at,
            _ => now + timeout,
        };
        self.rare.alarm = Alarm::Probe;
        self.retransmission_at = latest.min(now + wait);
    }

    /// A round trip may have been measured; the least is asked for with `Config::rack` alone.
    #[inline]
    pub(crate) fn note_round_trip(&mut self, sample: Option<Span>) {
        if let Some(sample) = sample.filter(|_| self.config.rack) {
            self.rare.least = self.rare.least.min(sample);
        }
    }

    /// A packet is held beyond one that is not: that one counts as lost a quarter of the least round trip from now.
    pub(crate) fn await_reordering(&mut self, now: Instant) {
        if self.config.rack && self.rare.alarm != Alarm::Reordering {
            self.rare.alarm = Alarm::Reordering;
            self.retransmission_at = now + Span::from_nanos(self.rare.least().as_nanos() / 4);
        }
    }

    /// The timer has run out for something else than the timeout: whether that was so.
    pub(super) fn on_alarm(&mut self, now: Instant, out: &mut impl Output) -> bool {
        let alarm = self.rare.alarm;
        if alarm == Alarm::Timeout {
            return false;
        }
        self.rare.alarm = Alarm::Timeout;
        if self.una == self.end {
            return false;
        }
        if alarm == Alarm::Reordering {
            self.restart_timer(now);
            recovery::on_reordering(self, now, out);
        } else {
            self.send_probe(now, out);
        }
        true
    }

    fn send_probe(&mut self, now: Instant, out: &mut impl Output) {
        let again = self.next != self.end
            || self.next - self.una >= self.config.max_window
            || self.next >= self.limit;
        if again {
            self.transmit(self.end - 1, now, out);
        } else {
            self.transmit(self.next, now, out);
            self.next += 1;
        }
        self.rare.probe = Some(Probe { end: self.end, again, at: now });
        self.rare.alarm = Alarm::Timeout;
        self.retransmission_at = now + self.rtt.timeout();
        self.rtt.stop_timing();
    }

    /// All before `next` is acknowledged: if that answers a probe, and the probe was needed, there was a loss.
    pub(super) fn answer_probe(&mut self, next: u32, now: Instant) {
        if self.rare.probe.is_none() {
            return;
        }
        let Some(probe) = self.rare.probe.take_if(|probe| next >= probe.end) else { return };
        if probe.again && now.since(probe.at) >= self.rare.least() && recovery::nothing_is_missing(self) {
            self.cut_to_half();
        }
    }
}

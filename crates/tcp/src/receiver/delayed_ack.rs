//! Delayed acknowledgements: which packets are acknowledged at once, and how long the others wait.
//!
//! *Idea.* An acknowledgement waits for a second packet, or for `ack_every`, but not for longer than the delay. Linux adds five rules.
//!
//! - *Quick acknowledgements* ([`Quick`]). Some packets are acknowledged at once, so that the sender's slow start is not slowed: the
//!   first packets, those after an idle period or a duplicate packet, those that arrive while the offered window grows
//!   ([`super::window`]), and the last packet of a write (it carries PSH). Where the host itself sends data (pingpong mode), the next
//!   data packet carries the acknowledgement instead.
//! - *The delay adapts* (`adaptive_delay`). It is twice the time between packets where that is between half the least delay and the
//!   delay. It doubles when it has passed without a second packet, up to the round trip of the handshake.
//! - *Ticks.* The timer runs out at a tick of the receiver's host.
//! - *Compressed SACKs* (`sack_compression`). Beyond a gap the first three packets are acknowledged at once, so that the sender sees
//!   three duplicates. Packets that arrive after them within a millisecond are acknowledged together.
//! - *Reading* (`read_delay`). The acknowledgement for a second packet, or for the last of a write, is sent when the application reads,
//!   some microseconds later. Without this delay, packets stay in phase with the bottleneck's departures for seconds. At buffers of a
//!   few packets that phase decides which packet is dropped, and half of the timeouts are missing. Without losses the delay has no
//!   effect, so it begins with the first gap.
//!
//! *Parameters.* `delayed_ack`, `ack_every`, `quick_acks`, `adaptive_delay`, `sack_compression`, `push`, `read_delay`, `timer_tick` of [`Config`].
//! *Where it breaks.* Without quick acknowledgements a copy of the last packet in order counts as a second one, or waits, as in ns-2
//! (tcp/tcp-sink.cc `DelAckSink::recv`); with `ack_every` above 2 it is acknowledged at once. The round trip is that of the handshake
//! throughout. Linux also smooths it for the compression, and uses the lesser.
//! *References.* Linux 6.18 net/ipv4/tcp_input.c `tcp_event_data_recv`, `tcp_measure_rcv_mss`, `tcp_enter_quickack_mode`,
//! `__tcp_ack_snd_check`, tcp.c `__tcp_cleanup_rbuf`, tcp_output.c `tcp_send_delayed_ack`, `tcp_event_data_sent`, `tcp_event_ack_sent`,
//! tcp_timer.c `tcp_delack_timer_handler`.

mod rules;

use super::arrival::Arrival;
use super::window::ReceiveWindow;
use crate::config::Config;
use crate::wheel::Wheel;
use paceline_core::queue::mix;
use paceline_core::{Instant, Span};
use rules::{Compression, Quick, Reading};

/// Packets that are acknowledged together by RFC 5681 section 4.2.
const SECOND: u32 = 2;
/// The longest delay, ms (Linux `TCP_DELACK_MAX`).
const LONGEST_MS: u64 = 200;
/// Packets beyond a gap that are acknowledged at once (Linux `TCP_FASTRETRANS_THRESH`).
const DUPLICATES: u8 = 3;
/// Most acknowledgements that are compressed into one (Linux `tcp_comp_sack_nr`).
const MOST_COMPRESSED: u8 = 44;
/// Slack of the timer of a compressed acknowledgement (Linux `tcp_comp_sack_slack_ns`).
const SLACK: Span = Span::from_nanos(100_000);

/// How a receiver delays acknowledgements. The fields that every packet of a steady stream needs come first.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct DelayedAck {
    /// Until then every second packet in order is acknowledged, if it follows soon, and nothing else changes.
    steady_until: Instant,
    /// When data last came in order; `Instant::MAX` is never.
    received_at: Instant,
    /// A packet that comes sooner than this after another leaves the least delay as it is.
    soon: Span,
    /// All packets before this had arrived, after the last packet.
    pub(super) reached: u32,
    /// The next packet with PSH.
    push_at: u32,
    /// When the delayed acknowledgement is due.
    pub(super) due: Option<Instant>,
    /// When the timer runs out that was set last, whether an acknowledgement is still delayed or not.
    timer: Instant,
    wheel: Wheel,
    /// The initial and least delay (Linux `TCP_DELACK_MIN`, `TCP_ATO_MIN`), in whole ticks, and when a timer of that length runs out
    /// that was set at the last tick.
    least: Span,
    least_timer: Instant,
    /// Half of it, in whole ticks.
    half: Span,
    /// The delay now (Linux `icsk_ack.ato`).
    wait: Span,
    adapts: bool,
    /// So many packets are acknowledged together; all before `covered` have been, where that is not every second one.
    every: u32,
    covered: u32,
    /// Packets below this are acknowledged at once: a SYN.
    urgent: u32,
    /// Packets from one with PSH to the next; 0 is none.
    push: u32,
    /// When the SYN came, until data have come; then the handshake's round trip.
    syn_at: Option<Instant>,
    round_trip: Option<Span>,
    /// The retransmission timeout of the receiving end, which has measured only the handshake (Linux `tcp_rtt_estimator`).
    timeout: Span,
    /// The longest delay, but for the least one.
    longest: Span,
    min_rto: Span,
    reading: Reading,
    quick: Quick,
    compression: Compression,
    offer: ReceiveWindow,
}

impl DelayedAck {
    pub(super) fn of(config: &Config, seed: u64) -> Option<Self> {
        let least = config.delayed_ack?;
        // A window of few packets has fewer (Linux `tcp_incr_quickack`).
        let packets = config.quick_acks.min((config.max_window / 2).max(2));
        let wheel = if config.adaptive_delay { Wheel::of(config, seed) } else { Wheel::EXACT };
        // A sender without RACK counts acknowledgements and needs every one.
        let most = config.sack_compression.filter(|_| config.has_rack()).unwrap_or(Span::ZERO);
        let compression = Compression { most, at: 0, sent: 0, waiting: 0 };
        let least = wheel.ceil(least);
        let soon = match config.quick_acks > 0 || config.adaptive_delay {
            true => Span::from_nanos((least.as_nanos() / 2).saturating_sub(config.timer_tick.as_nanos())),
            false => Span::MAX,
        };
        Some(DelayedAck {
            steady_until: Instant::ZERO,
            received_at: Instant::MAX,
            soon,
            reached: 0,
            // With trains the end of each carries PSH, and the end of a write is one (measured on Linux 6.18).
            push_at: if config.push > 0 && config.gso.is_none() { config.push } else { u32::MAX },
            due: None,
            timer: Instant::ZERO,
            wheel,
            least,
            least_timer: Instant::ZERO,
            half: wheel.floor(Span::from_nanos(least.as_nanos() / 2)),
            wait: least,
            adapts: config.adaptive_delay,
            every: config.ack_every,
            covered: 0,
            urgent: u32::from(config.syn.is_some() && !config.delayed_syn_ack),
            push: config.push,
            syn_at: None,
            round_trip: None,
            timeout: wheel.ceil(config.initial_rto),
            longest: Span::from_millis(LONGEST_MS).min(config.min_rto),
            min_rto: config.min_rto,
            reading: Reading { most: config.read_delay, seed, begun: false, now: false },
            quick: Quick { most: packets, left: 0, pushed: false, answers: false },
            compression,
            offer: ReceiveWindow::new(config.max_window),
        })
    }

    /// The fast path of [`DelayedAck::delays`]: all packets before `next` have arrived, the last one now, and none beyond. Returns
    /// whether the acknowledgement is delayed; `None` where another rule applies, and nothing has changed.
    #[inline]
    pub(super) fn delays_steadily(&mut self, next: u32, now: Instant) -> Option<bool> {
        let is_steady = now < self.steady_until && next == self.reached + 1 && next <= self.push_at;
        if !is_steady || now.since(self.received_at) >= self.soon {
            return None;
        }
        self.reached = next;
        self.received_at = now;
        if self.due.is_some() {
            let waits = self.waits_for_reading(next - 1, now);
            self.due = self.due.filter(|_| waits);
            return Some(waits);
        }
        if now + self.least >= self.least_timer {
            self.least_timer = self.wheel.after(now, self.least); // the same until the next tick
        }
        self.timer = self.least_timer;
        self.due = Some(self.timer);
        Some(true)
    }

    /// Quick acknowledgements or the adaptive delay are on.
    fn is_adaptive(&self) -> bool {
        self.quick.most > 0 || self.adapts
    }

    /// A packet has arrived. Returns whether its acknowledgement is delayed.
    pub(super) fn delays(&mut self, arrival: Arrival) -> bool {
        let waits = self.apply_rules(arrival);
        let quick = &self.quick;
        let is_steady = quick.left == 0 && !quick.pushed && self.wait == self.least && self.every == SECOND;
        self.steady_until = match (is_steady, self.adapts) {
            (true, true) => self.offer.steady_until(self.round_trip),
            (true, false) => Instant::MAX,
            _ => Instant::ZERO,
        };
        waits
    }

    fn apply_rules(&mut self, arrival: Arrival) -> bool {
        let Arrival { seq, next, now, .. } = arrival;
        let has_gap = arrival.reach > 0;
        if seq < self.urgent {
            self.syn_at = Some(now);
            return false;
        }
        if let Some(at) = self.syn_at.take() {
            self.measure_round_trip(now.since(at));
        }
        if self.is_adaptive() {
            self.adapt(arrival);
        }
        self.reading.begun |= has_gap && self.reading.most > Span::ZERO;
        if self.quick.left > 0 && self.quick.is_due() {
            return false;
        }
        if has_gap && self.compression.most > Span::ZERO {
            return self.compresses(arrival);
        }
        if has_gap || seq + 1 != next {
            return false; // out of order, or it fills a gap
        }
        let is_enough = match self.every {
            SECOND => self.due.is_some() || arrival.packets > 1,
            // A copy of the last packet in order is no further packet that could wait (RFC 9293 section 3.10.7.4).
            every => next == arrival.before || next - self.covered >= every,
        };
        if self.quick.is_due() || is_enough {
            return self.waits_for_reading(seq, now);
        }
        if self.due.is_none() {
            self.timer = self.wheel.after(now, self.delay());
            self.due = Some(self.timer);
        }
        true
    }

    /// A second packet has come, or the last of a write: the acknowledgement is sent when the application reads (Linux
    /// `__tcp_cleanup_rbuf`).
    fn waits_for_reading(&mut self, seq: u32, now: Instant) -> bool {
        let reading = &mut self.reading;
        if !reading.begun {
            return false;
        }
        let most = reading.most.as_nanos().min(self.round_trip.unwrap_or_default().as_nanos() / 1000);
        if most == 0 {
            return false;
        }
        if !reading.now {
            reading.now = true;
            self.due = Some(now + Span::from_nanos(1 + mix(reading.seed ^ u64::from(seq)) % most));
        }
        true
    }

    /// Adapts the delay, and the number of packets that are acknowledged at once, to the arrival.
    fn adapt(&mut self, arrival: Arrival) {
        let Arrival { seq, before, next, now, .. } = arrival;
        if seq < before {
            self.quick.answers = false; // Linux `tcp_send_dupack`
            self.enter_quick_mode();
            self.wait = self.least;
            return;
        }
        if next > before {
            match std::mem::replace(&mut self.received_at, now) {
                Instant::MAX => self.enter_quick_mode(),
                // A steady wait, which a short time leaves as it is.
                at if now.since(at) < self.soon && self.wait == self.half + self.half => {}
                at => self.measure(self.wheel.between(at, now)),
            }
            self.quick.pushed |= seq == self.push_at;
            if seq >= self.push_at {
                // The send buffer is filled when a third of it is empty, and grows to two windows where it limits them.
                let window = self.offer.most_read();
                let period = if window > 3 * self.push { window * 2 / 3 } else { self.push };
                self.push_at += period * ((seq - self.push_at) / period + 1);
            }
        }
        if self.adapts && self.offer.on_packet(arrival, self.round_trip) && self.quick.most > 0 {
            self.quick.left |= 1;
        }
    }

    /// The time between two packets in order (Linux `tcp_event_data_recv`).
    fn measure(&mut self, gap: Span) {
        let halved = self.wheel.floor(Span::from_nanos(self.wait.as_nanos() / 2));
        if gap <= self.half {
            self.wait = halved + self.half;
        } else if gap < self.wait {
            self.wait = (halved + gap).min(self.timeout);
        } else if gap > self.timeout {
            self.enter_quick_mode();
        }
    }

    fn enter_quick_mode(&mut self) {
        self.quick.left = self.quick.left.max(self.quick.most);
    }

    /// The handshake has taken so long.
    fn measure_round_trip(&mut self, rtt: Span) {
        self.round_trip = Some(rtt);
        self.timeout = self.wheel.ceil(rtt + (rtt + rtt).max(self.min_rto));
        self.longest = self.wheel.ceil(rtt).max(self.least).min(self.most_delay());
    }

    fn delay(&self) -> Span {
        if !self.adapts {
            return self.least;
        }
        self.wait.min(if self.wait > self.least { self.longest } else { self.most_delay() })
    }

    fn most_delay(&self) -> Span {
        Span::from_millis(LONGEST_MS).min(self.min_rto)
    }

    /// A packet beyond a gap has arrived. Returns whether its acknowledgement is delayed.
    fn compresses(&mut self, arrival: Arrival) -> bool {
        let Arrival { next, selective, now, .. } = arrival;
        let compression = &mut self.compression;
        if !selective || compression.waiting >= MOST_COMPRESSED {
            return false;
        }
        if compression.at != next {
            (compression.at, compression.sent) = (next, 0);
        }
        if compression.sent < DUPLICATES {
            compression.sent += 1;
            return false;
        }
        compression.waiting += 1;
        if self.due.is_none() {
            let twentieth = self.round_trip.unwrap_or_default().as_nanos() / 20;
            let due = now + compression.most.min(Span::from_nanos(twentieth)) + SLACK;
            // The timer of a delayed acknowledgement still runs when that has been sent (Linux `inet_csk_clear_xmit_timer`).
            self.due = Some(if self.timer > now { due.min(self.timer) } else { due });
        }
        true
    }

    /// Acknowledgements of packets beyond a gap are delayed.
    pub(super) fn is_compressing(&self) -> bool {
        self.compression.waiting > 0
    }

    /// The packet that arrives next is the last of a write.
    pub(super) fn on_push(&mut self) {
        self.quick.pushed = true;
        self.steady_until = Instant::ZERO;
    }

    /// Packet `seq` is the last of a write of data without end.
    pub(super) fn ends_write(&self, seq: u32) -> bool {
        seq == self.push_at
    }

    /// An acknowledgement is sent.
    pub(super) fn on_acknowledged(&mut self) {
        self.due = None;
        self.covered = self.reached;
        self.reading.now = false;
        self.compression.waiting = 0;
        let quick = &mut self.quick;
        quick.pushed = false;
        if quick.left > 0 {
            quick.left -= 1;
            if quick.left == 0 {
                self.wait = self.least;
            }
        }
    }

    /// The delay has passed without a second packet.
    pub(super) fn on_missed(&mut self) {
        if self.is_compressing() || self.reading.now {
            return;
        }
        self.steady_until = Instant::ZERO;
        if std::mem::take(&mut self.quick.answers) {
            self.wait = self.least;
        } else {
            self.wait = (self.wait + self.wait).min(self.timeout);
        }
    }

    /// The host sends data. Returns whether they carry a delayed acknowledgement along.
    pub(super) fn on_sent(&mut self, now: Instant) -> bool {
        let is_soon = self.received_at != Instant::MAX && now.since(self.received_at) < self.wait;
        self.quick.answers |= self.quick.most > 0 && is_soon;
        self.quick.most > 0
    }
}

#[cfg(test)]
mod tests;

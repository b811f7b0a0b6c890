//! The receiver: what has arrived in order, and what waits for a gap to fill; when it acknowledges, and what that says.
//!
//! *Idea.* `next` is the acknowledgement number; what has arrived beyond a gap is held apart ([`held`]), while there is
//! anything. Every packet is acknowledged at once, unless acknowledgements are delayed: then every second one is, or what
//! has waited for the delay, and at once what arrives out of order, fills a gap, or is the SYN.
//! *Parameters.* `delayed_ack`, `quick_acks` ([`manner`]), `sack_blocks` of [`Config`].
//! *References.* RFC 9293; RFC 5681 section 4.2; RFC 2018; RFC 7323 section 4 (which packet's time is echoed); ns-2.35
//! tcp/tcp-sink.cc (`Acker::update`, `Acker::update_ts`, `DelAckSink::recv`).

mod held;
mod history;
mod manner;

use crate::config::Config;
use crate::feedback::{Block, Feedback};
use held::Held;
use manner::Manner;
use paceline_core::Instant;

/// One connection's receiving end.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Receiver {
    /// The first packet not yet received in order: the cumulative acknowledgement.
    next: u32,
    /// One more than the highest packet ever received.
    end: u32,
    /// What has arrived beyond a gap: nothing where `end` is `next`.
    held: Held,
}

/// What a receiver does about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Acknowledges, and says this.
    Now(Feedback),
    /// Holds the acknowledgement back: ask again at [`Receiver::due`].
    Later,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new() -> Self {
        Receiver::default()
    }

    /// A receiver that has received nothing, of a connection with these settings.
    pub fn with(config: &Config) -> Self {
        Receiver { held: Held::with(Manner::of(config)), ..Receiver::default() }
    }

    /// Every packet is acknowledged at once, and the number says all: [`Receiver::reply`] need not be asked.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.held.manner().is_none()
    }

    /// As [`Receiver::reply`], for the ordinary packet of a receiver that does not delay: nothing is held beyond a gap, and
    /// the echo is all that there is to say.
    #[inline]
    pub fn echo(&mut self, seq: u32, sent: Instant) -> Option<Instant> {
        let next = (self.next == self.end).then_some(self.next)?;
        let manner = self.held.manner_mut().filter(|manner| manner.delay.is_none())?;
        let echo = manner.take_echo(seq, sent);
        manner.acknowledged = next;
        Some(echo)
    }

    /// Packet `seq`, sent at `sent`, has arrived now and been told to [`Receiver::on_data`]: is it acknowledged?
    pub fn reply(&mut self, seq: u32, sent: Instant, now: Instant) -> Reply {
        let Some(manner) = self.held.manner_mut() else { return Reply::Now(Feedback::new(sent)) };
        let echo = manner.take_echo(seq, sent);
        if let Some(delay) = &mut manner.delay {
            // In order, and nothing is held beyond it.
            let ordinary = seq + 1 == self.next && self.next == self.end && seq >= delay.urgent;
            let at_once = seq >= delay.urgent && delay.quick.on_data(seq < manner.acknowledged, now);
            if delay.due.is_none() && ordinary && !at_once {
                delay.due = Some(now + delay.most);
                delay.held_back = seq;
                return Reply::Later;
            }
            delay.due = None;
        }
        Reply::Now(self.feedback(seq, echo))
    }

    /// When an acknowledgement that is held back is due.
    #[inline]
    pub fn due(&self) -> Option<Instant> {
        self.held.manner()?.delay.as_ref()?.due
    }

    /// [`Receiver::due`] has come: what the acknowledgement says.
    pub fn on_delayed_ack_timer(&mut self) -> Feedback {
        let Some(manner) = self.held.manner_mut() else { return Feedback::default() };
        let echo = manner.echo;
        let Some(delay) = &mut manner.delay else { return Feedback::default() };
        delay.due = None;
        delay.quick.on_missed();
        let seq = delay.held_back;
        self.feedback(seq, echo)
    }

    /// The packet that [`Receiver::reply`] is asked about next is the last of what was written, and all is read.
    pub fn on_whole_message(&mut self) {
        if let Some(delay) = self.held.manner_mut().and_then(|manner| manner.delay.as_mut()) {
            delay.quick.pushed = true;
        }
    }

    /// Its host sends data over the same connection: an acknowledgement that is held back goes along with them.
    pub fn on_answer(&mut self, now: Instant) -> Option<Feedback> {
        let manner = self.held.manner_mut()?;
        let echo = manner.echo;
        let delay = manner.delay.as_mut()?;
        delay.quick.on_sent(now, delay.most);
        if !delay.quick.is_on() {
            return None;
        }
        delay.due.take()?;
        let seq = delay.held_back;
        Some(self.feedback(seq, echo))
    }

    /// What an acknowledgement brought about by packet `seq` says.
    fn feedback(&mut self, seq: u32, echo: Instant) -> Feedback {
        let mut feedback = Feedback::new(echo);
        let Some(manner) = self.held.manner_mut() else { return feedback };
        manner.acknowledged = self.next;
        if let Some(delay) = &mut manner.delay {
            delay.quick.on_acknowledged();
        }
        let most_blocks = manner.most_blocks;
        if manner.selective && self.next != self.end {
            let is_news = seq >= self.next;
            let latest = if is_news { self.held.run(seq) } else { Block { start: 0, end: self.next } };
            self.held.reported().report(latest, is_news, most_blocks, &mut feedback);
        }
        feedback
    }

    /// The first packet not yet received in order: what an acknowledgement carries.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Packet `seq` arrives, which is not the one that is waited for, but comes after it.
    #[inline]
    pub fn hold(&mut self, seq: u32) {
        debug_assert!(seq > self.next);
        if self.held.hold_near(self.next, seq).is_some() {
            self.end = self.end.max(seq + 1);
        } else {
            self.hold_far(seq);
        }
    }

    /// Packet `seq` arrives: how many packets, it among them, are now delivered in order (0 for a duplicate or a gap).
    #[inline]
    pub fn on_data(&mut self, seq: u32) -> u32 {
        if seq == self.next && seq >= self.end {
            (self.next, self.end) = (seq + 1, seq + 1); // nothing is held
            return 1;
        }
        if seq < self.next {
            return 0;
        }
        let Some(delivered) = self.held.hold_near(self.next, seq) else { return self.hold_far(seq) };
        self.next += delivered;
        self.end = self.end.max(seq + 1);
        delivered
    }

    /// The same of a packet less than 64 beyond the one that is waited for, which that one is as likely as any: nothing is guessed.
    /// `None` where more is held than that, and nothing has happened.
    #[inline(always)]
    pub fn on_near(&mut self, seq: u32) -> Option<u32> {
        debug_assert!(seq >= self.next && seq - self.next < u64::BITS);
        let delivered = self.held.hold_and_take(self.next, seq)?;
        self.next += delivered;
        self.end = self.end.max(seq + 1);
        Some(delivered)
    }

    #[inline(never)]
    fn hold_far(&mut self, seq: u32) -> u32 {
        let held = &mut self.held;
        held.reserve(self.next..self.end, seq);
        self.end = self.end.max(seq + 1);
        held.set(seq, true);
        let delivered = held.take_run(self.next..self.end);
        self.next += delivered;
        if self.next == self.end {
            held.clear();
        }
        delivered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_whole_word_of_packets_may_wait_for_one() {
        for first in [0, 1, 37, 63, 64] {
            let mut receiver = Receiver::new();
            (0..first).for_each(|seq| assert_eq!(receiver.on_data(seq), 1));
            (first + 1..first + 64).for_each(|seq| assert_eq!(receiver.on_data(seq), 0));
            assert_eq!(receiver.on_data(first), 64);
            assert_eq!(receiver.on_data(first + 64), 1);
        }
    }

    #[test]
    fn agrees_with_a_set_over_random_arrivals() {
        let mut receiver = Receiver::new();
        let mut seen = BTreeSet::new();
        let mut next = 0;
        let mut state = 1_u64;
        for step in 0..200_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let span = if step % 1000 < 900 { 8 } else { 3000 };
            let seq = (next + (state >> 33) as u32 % span).saturating_sub(2);
            seen.insert(seq);
            let before = next;
            while seen.contains(&next) {
                next += 1;
            }
            // Now and then what is little beyond the one waited for goes its own way.
            let is_near = seq >= before && seq - before < 64 && step % 3 < 2;
            let delivered = if is_near { receiver.on_near(seq) } else { None };
            let delivered = delivered.unwrap_or_else(|| receiver.on_data(seq));
            assert_eq!(delivered, next - before, "step {step}");
            assert_eq!(receiver.next(), next);
        }
    }
}

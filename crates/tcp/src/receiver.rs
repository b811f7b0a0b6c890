//! The receiver: what has arrived in order, and what waits for a gap to fill; when it acknowledges, and what that says.
//!
//! *Idea.* `next` is the acknowledgement number; what has arrived beyond a gap is held apart ([`out_of_order`]), while there is
//! anything. Every packet is acknowledged at once, unless acknowledgements are delayed: then every second one is, or what
//! has waited for the delay, and at once what arrives out of order, fills a gap, or is the SYN.
//! *Parameters.* `delayed_ack`, `quick_acks` ([`ack_policy`]), `sack_blocks` of [`Config`].
//! *References.* RFC 9293; RFC 5681 section 4.2; RFC 2018; RFC 7323 section 4 (which packet's time is echoed); ns-2.35
//! tcp/tcp-sink.cc (`Acker::update`, `Acker::update_ts`, `DelAckSink::recv`).

mod ack_policy;
mod arrival;
mod delayed_ack;
mod out_of_order;
mod sack_blocks;
mod window;

use crate::config::Config;
use crate::feedback::{Block, Feedback};
use ack_policy::AckPolicy;
use arrival::Arrival;
use delayed_ack::DelayedAck;
use out_of_order::OutOfOrder;
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
    held: OutOfOrder,
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

    /// A receiver that has received nothing, of a connection with these settings; `seed` draws where its host's ticks stand.
    pub fn with(config: &Config, seed: u64) -> Self {
        Receiver { held: OutOfOrder::with(AckPolicy::of(config, seed)), ..Receiver::default() }
    }

    /// Every packet is acknowledged at once, and the number says all: [`Receiver::reply`] need not be asked.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.held.policy().is_none()
    }

    /// As [`Receiver::reply`], for the ordinary packet of a receiver that does not delay: nothing is held beyond a gap, and
    /// the echo is all that there is to say.
    #[inline]
    pub fn echo(&mut self, seq: u32, sent: Instant) -> Option<Instant> {
        let next = (self.next == self.end).then_some(self.next)?;
        let policy = self.held.policy_mut().filter(|policy| policy.delay.is_none())?;
        let echo = policy.take_echo(seq, sent);
        policy.acknowledged = next;
        Some(echo)
    }

    /// Packet `seq`, sent at `sent`, has arrived now and been told to [`Receiver::on_data`]: is it acknowledged? Another acknowledgement
    /// may be due later in any case: ask [`Receiver::due`].
    pub fn reply(&mut self, seq: u32, sent: Instant, now: Instant) -> Reply {
        let (next, has_gap) = (self.next, self.next != self.end);
        let Some(policy) = self.held.policy_mut() else { return Reply::Now(Feedback::new(sent)) };
        let echo = policy.take_echo(seq, sent);
        if !has_gap
            && seq + 1 == next
            && let Some(delay) = &mut policy.delay
            && let Some(waits) = delay.holds_back_steadily(next, now)
        {
            if waits {
                return Reply::Later;
            }
            policy.acknowledged = next;
            return Reply::Now(Feedback::new(echo));
        }
        self.reply_with_care(seq, echo, now)
    }

    #[inline(never)]
    fn reply_with_care(&mut self, seq: u32, echo: Instant, now: Instant) -> Reply {
        let (next, has_gap) = (self.next, self.next != self.end);
        let Some(policy) = self.held.policy() else { return Reply::Now(Feedback::new(echo)) };
        let (selective, remembered) = (policy.selective, policy.remembered_blocks);
        let mut flushed = None;
        if selective && has_gap {
            let latest = if seq >= next { self.held.run(seq) } else { Block { start: 0, end: next } };
            let is_compressing = self.delay().is_some_and(|delay| delay.is_compressing());
            // Linux `tcp_sack_new_ofo_skb`, with `TCP_SACK_BLOCKS_EXPECTED`: what waits says nothing of this packet.
            if is_compressing && seq >= next && self.held.reported().is_pushed_back(latest) {
                flushed = Some(self.feedback(echo));
            }
            self.held.reported().note(latest, seq >= next, remembered);
        }
        let (held, reach) = (if has_gap { self.held.count(next..self.end) } else { 0 }, self.end - next);
        if let Some(delay) = self.delay() {
            let before = std::mem::replace(&mut delay.reached, next);
            if delay.holds_back(Arrival { seq, before, next, held, reach, selective, now }) {
                return flushed.map_or(Reply::Later, Reply::Now);
            }
        }
        Reply::Now(self.feedback(echo))
    }

    fn delay(&mut self) -> Option<&mut DelayedAck> {
        self.held.policy_mut()?.delay.as_mut()
    }

    /// When an acknowledgement that is held back is due.
    #[inline]
    pub fn due(&self) -> Option<Instant> {
        self.held.policy()?.delay.as_ref()?.due
    }

    /// [`Receiver::due`] has come: what the acknowledgement says.
    pub fn on_delayed_ack_timer(&mut self) -> Feedback {
        let Some(policy) = self.held.policy_mut() else { return Feedback::default() };
        let echo = policy.echo;
        let Some(delay) = &mut policy.delay else { return Feedback::default() };
        delay.on_missed();
        self.feedback(echo)
    }

    /// The packet that [`Receiver::reply`] is asked about next is the last of what was written, and all is read.
    pub fn on_whole_message(&mut self) {
        if let Some(delay) = self.delay() {
            delay.on_push();
        }
    }

    /// Its host sends data over the same connection: an acknowledgement that is held back goes along with them.
    pub fn on_answer(&mut self, now: Instant) -> Option<Feedback> {
        let policy = self.held.policy_mut()?;
        let echo = policy.echo;
        let delay = policy.delay.as_mut()?;
        if !delay.on_sent(now) || delay.due.is_none() {
            return None;
        }
        Some(self.feedback(echo))
    }

    /// What an acknowledgement says now.
    fn feedback(&mut self, echo: Instant) -> Feedback {
        let mut feedback = Feedback::new(echo);
        let Some(policy) = self.held.policy_mut() else { return feedback };
        policy.acknowledged = self.next;
        if let Some(delay) = &mut policy.delay {
            delay.on_acknowledged();
        }
        let most_blocks = policy.most_blocks;
        if policy.selective && self.next != self.end {
            self.held.reported().report(most_blocks, &mut feedback);
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
    fn what_is_held_is_counted_near_and_far() {
        let mut receiver = Receiver::new();
        for (seq, held) in [(2, 1), (5, 2), (3, 3), (63, 4), (64, 5), (1000, 6)] {
            receiver.on_data(seq);
            assert_eq!(receiver.held.count(receiver.next..receiver.end), held);
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

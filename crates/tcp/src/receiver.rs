//! The receiver: which packets have arrived, when it acknowledges them, and what the acknowledgement carries.
//!
//! *Idea.* `next` is the acknowledgement number. Packets beyond a gap are held in [`out_of_order`]. Every packet is acknowledged at
//! once, unless acknowledgements are delayed. Then every second packet is acknowledged, and a single one after the delay; a packet
//! that is out of order or fills a gap, and the SYN, are acknowledged at once. Packets that come close together may be answered as one
//! ([`gro`]).
//! *Parameters.* `delayed_ack`, `quick_acks` ([`ack_policy`]), `ack_every`, `gro`, `sack_blocks` of [`Config`].
//! A packet that has come before is reported to a sender with RACK by the first block (D-SACK).
//! *References.* RFC 9293; RFC 5681 section 4.2; RFC 2018, 2883; RFC 7323 section 4 (which packet's time is echoed); ns-2.35
//! tcp/tcp-sink.cc (`Acker::update`, `Acker::update_ts`, `DelAckSink::recv`).

mod ack_policy;
mod arrival;
mod delayed_ack;
mod ecn;
mod gro;
mod joined;
mod out_of_order;
mod sack_blocks;
mod window;

use crate::config::Config;
use crate::feedback::{Block, Feedback};
use ack_policy::AckPolicy;
use arrival::Arrival;
use delayed_ack::DelayedAck;
use ecn::EcnReceiver;
use out_of_order::OutOfOrder;
use paceline_core::Instant;

/// One connection's receiving end.
///
/// ```
/// use paceline_core::Instant;
/// use paceline_tcp::{Config, Profile, Receiver, Reply, Variant};
///
/// let config = Config { delayed_ack: None, ..Config::of_variant(Profile::Rfc, Variant::Rfc6675) };
/// let (mut receiver, now) = (Receiver::with(&config, 1), Instant::ZERO);
/// assert_eq!(receiver.on_data(0), 1);
/// assert_eq!(receiver.on_data(2), 0); // 1 is missing
/// let Reply::Now(feedback) = receiver.reply(2, now, now) else { panic!("it is not delayed") };
/// assert_eq!(receiver.next(), 1);
/// assert_eq!((feedback.blocks()[0].start, feedback.blocks()[0].end), (2, 3));
/// assert_eq!(receiver.on_data(1), 2); // with what was held
/// ```
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Receiver {
    /// The first packet not yet received in order: the cumulative acknowledgement.
    next: u32,
    /// One more than the highest packet ever received.
    end: u32,
    /// Packets beyond a gap: none where `end` is `next`.
    held: OutOfOrder,
}

/// The receiver's reply to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// An acknowledgement with this feedback.
    Now(Feedback),
    /// The acknowledgement is delayed until [`Receiver::due`].
    Later,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new() -> Self {
        Receiver::default()
    }

    /// A receiver that has received nothing, of a connection with these settings; `seed` draws the phase of its host's ticks.
    pub fn with(config: &Config, seed: u64) -> Self {
        Receiver { held: OutOfOrder::with(AckPolicy::of(config, seed)), ..Receiver::default() }
    }

    /// Every packet is acknowledged at once, by a number alone: [`Receiver::reply`] is not needed.
    #[inline]
    pub fn is_cumulative(&self) -> bool {
        self.held.policy().is_none()
    }

    /// The fast path of [`Receiver::reply`]: without delayed acknowledgements and while no packet is held beyond a gap, an
    /// acknowledgement carries the echo alone.
    #[inline]
    pub fn echo(&mut self, seq: u32, sent: Instant) -> Option<Instant> {
        let next = (self.next == self.end).then_some(self.next)?;
        let is_plain = |policy: &&AckPolicy| {
            let is_again = policy.tells_duplicates && seq < policy.acknowledged;
            policy.delay.is_none() && policy.gro.is_none() && !is_again
        };
        self.held.policy().filter(is_plain)?;
        self.held.forget_reported();
        let policy = self.held.policy_mut()?;
        let echo = policy.update_echo(seq, sent);
        policy.acknowledged = next;
        Some(echo)
    }

    /// The reply to packet `seq`, sent at `sent`, which has arrived now and been passed to [`Receiver::on_data`]. In any case another
    /// acknowledgement may be due at [`Receiver::due`].
    #[inline]
    pub fn reply(&mut self, seq: u32, sent: Instant, now: Instant) -> Reply {
        let (next, has_gap) = (self.next, self.next != self.end);
        let Some(policy) = self.held.policy_mut() else { return Reply::Now(Feedback::new(sent)) };
        let echo = policy.update_echo(seq, sent);
        if policy.gro.is_some() {
            return self.join(seq, now);
        }
        if !has_gap
            && seq + 1 == next
            && policy.ecn.is_none()
            && let Some(waits) = policy.delays_steadily(next, now)
        {
            return if waits { Reply::Later } else { Reply::Now(Feedback::new(echo)) };
        }
        self.reply_slow(seq, 1, echo, now)
    }

    #[inline(never)]
    fn reply_slow(&mut self, seq: u32, packets: u32, echo: Instant, now: Instant) -> Reply {
        let (next, has_gap) = (self.next, self.next != self.end);
        let Some(policy) = self.held.policy() else { return Reply::Now(Feedback::new(echo)) };
        let (selective, remembered, delays) =
            (policy.selective, policy.remembered_blocks, policy.delay.is_some());
        let tells_duplicates = policy.tells_duplicates;
        let held = if has_gap && (delays || tells_duplicates) { self.held.count() } else { 0 };
        if tells_duplicates && let Some(policy) = self.held.policy_mut() {
            policy.note_duplicate((seq, packets), next, held);
        }
        let mut flushed = None;
        if !has_gap {
            self.held.forget_reported();
        } else if selective {
            let latest = if seq >= next { self.held.run(seq) } else { Block { start: 0, end: next } };
            let is_compressing = self.delay().is_some_and(|delay| delay.is_compressing());
            // Linux `tcp_sack_new_ofo_skb`, with `TCP_SACK_BLOCKS_EXPECTED`: the delayed acknowledgement does not report this packet.
            if is_compressing && seq >= next && self.held.reported().is_pushed_back(latest) {
                flushed = Some(self.feedback(echo));
            }
            self.held.reported().note(latest, seq >= next, remembered);
        }
        let reach = self.end - next;
        if let Some(policy) = self.held.policy_mut()
            && let Some(delay) = &mut policy.delay
        {
            let before = std::mem::replace(&mut delay.reached, next);
            let arrival = Arrival { seq, packets, before, next, held, reach, selective, now };
            if delay.delays(arrival) && !policy.ecn.is_some_and(EcnReceiver::hurries) {
                return flushed.map_or(Reply::Later, Reply::Now);
            }
        }
        Reply::Now(self.feedback(echo))
    }

    fn delay(&mut self) -> Option<&mut DelayedAck> {
        self.held.policy_mut()?.delay.as_mut()
    }

    /// When a delayed acknowledgement is due, or packets no longer wait for others.
    #[inline]
    pub fn due(&self) -> Option<Instant> {
        let policy = self.held.policy()?;
        let delayed = policy.delay.as_ref().and_then(|delay| delay.due);
        if policy.gro.is_some() { policy.first_due(delayed) } else { delayed }
    }

    /// [`Receiver::due`] has come of a delayed acknowledgement: returns its feedback. [`Receiver::on_timer`] does the same, with
    /// [`Config::gro`] too.
    pub fn on_delayed_ack_timer(&mut self) -> Feedback {
        let Some(policy) = self.held.policy_mut() else { return Feedback::default() };
        let echo = policy.echo;
        let Some(delay) = &mut policy.delay else { return Feedback::default() };
        delay.on_missed();
        self.feedback(echo)
    }

    /// The packet that arrives next is marked or not: returns the feedback of a delayed acknowledgement that has to go before it, with
    /// the echo of those before ([`EcnMode::Dctcp`](crate::config::EcnMode::Dctcp)).
    pub fn flush_before_mark(&mut self, is_marked: bool) -> Option<Feedback> {
        let policy = self.held.policy()?;
        let waits = policy.delay.as_ref().is_some_and(|delay| delay.due.is_some());
        let echo = policy.echo;
        (waits && policy.ecn?.flushes_before(is_marked)).then(|| self.feedback(echo))
    }

    /// The packet that arrives next is marked, or its sender says that the window is reduced (CWR).
    pub fn on_ecn(&mut self, is_marked: bool, is_reduced: bool) {
        let Some(policy) = self.held.policy_mut() else { return };
        let waits = policy.delay.as_ref().is_some_and(|delay| delay.due.is_some());
        if let Some(ecn) = &mut policy.ecn {
            ecn.on_data(is_marked, is_reduced, waits);
        }
    }

    /// An acknowledgement that is sent now echoes a mark.
    #[inline]
    pub fn echoes_mark(&self) -> bool {
        self.held.policy().and_then(|policy| policy.ecn).is_some_and(|ecn| ecn.echoes)
    }

    /// The field ACE of an acknowledgement that is sent now: marked packets so far modulo 8, from 5 on (RFC 9768 section 3.2.2.1).
    pub fn ace(&self) -> u8 {
        self.held.policy().and_then(|policy| policy.ecn).map_or(0, EcnReceiver::ace)
    }

    /// The packet that arrives next carries PSH: it is the last of a write, and the application reads everything.
    pub fn on_push(&mut self) {
        let Some(policy) = self.held.policy_mut() else { return };
        if let Some(delay) = &mut policy.delay {
            delay.on_push();
        }
        if let Some(gro) = &mut policy.gro {
            gro.on_push();
        }
    }

    /// Its host sends data over the same connection, which carry a delayed acknowledgement along.
    pub fn on_data_sent(&mut self, now: Instant) -> Option<Feedback> {
        let policy = self.held.policy_mut()?;
        let echo = policy.echo;
        let delay = policy.delay.as_mut()?;
        if !delay.on_sent(now) || delay.due.is_none() {
            return None;
        }
        Some(self.feedback(echo))
    }

    /// The feedback of an acknowledgement that is sent now.
    fn feedback(&mut self, echo: Instant) -> Feedback {
        let mut feedback = Feedback::new(echo);
        let Some(policy) = self.held.policy_mut() else { return feedback };
        policy.acknowledged = self.next;
        if let Some(delay) = &mut policy.delay {
            delay.on_acknowledged();
        }
        if let Some(ecn) = &mut policy.ecn {
            ecn.on_acknowledged();
        }
        let mut most_blocks = policy.most_blocks;
        let is_selective = policy.selective;
        if let Some(duplicate) = policy.duplicate.take() {
            feedback.push(duplicate); // first (RFC 2883 section 4)
            most_blocks = most_blocks.saturating_sub(1);
        }
        if is_selective && self.next != self.end {
            self.held.reported().report(most_blocks, &mut feedback);
        }
        feedback
    }

    /// The first packet not yet received in order: the acknowledgement number.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Whether packet `seq` has arrived.
    pub fn has(&self, seq: u32) -> bool {
        seq < self.next || seq < self.end && self.held.has(seq)
    }

    /// Packet `seq` arrives, which is beyond the next in order.
    #[inline]
    pub fn hold(&mut self, seq: u32) {
        debug_assert!(seq > self.next);
        if self.held.hold_near(self.next, seq).is_some() {
            self.end = self.end.max(seq + 1);
        } else {
            self.hold_far(seq);
        }
    }

    /// Packet `seq` arrives. Returns how many packets, it among them, are now delivered in order (0 for a duplicate or a gap).
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

    /// [`Receiver::on_data`] of a packet less than 64 beyond the next in order, branchless, since either order is likely. `None` where
    /// packets further beyond are held: nothing has changed then.
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
            assert_eq!(receiver.held.count(), held);
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
            // Some of the packets close to the next in order take the branchless path.
            let is_near = seq >= before && seq - before < 64 && step % 3 < 2;
            let delivered = if is_near { receiver.on_near(seq) } else { None };
            let delivered = delivered.unwrap_or_else(|| receiver.on_data(seq));
            assert_eq!(delivered, next - before, "step {step}");
            assert_eq!(receiver.next(), next);
        }
    }
}

//! The receiver: what has arrived in order, and what waits for a gap to fill; when it acknowledges, and what that says.
//!
//! *Idea.* `next` is the acknowledgement number; a ring of bits after it says what has arrived beyond a gap. A path
//! without loss never touches the ring, and never allocates it. Every packet is acknowledged at once, unless
//! acknowledgements are delayed: then every second one is, or what has waited for the delay, and at once what arrives out of
//! order, fills a gap, or is the SYN.
//! *Parameters.* `delayed_ack`, `sack_blocks` of [`Config`].
//! *References.* RFC 9293; RFC 5681 section 4.2; RFC 2018; RFC 7323 section 4 (which packet's time is echoed); ns-2.35
//! tcp/tcp-sink.cc (`Acker::update`, `Acker::update_ts`, `DelAckSink::recv`).

mod history;

use crate::config::Config;
use crate::feedback::{Block, Feedback};
use history::History;
use paceline_core::{Instant, Span};

/// One connection's receiving end.
#[derive(Debug, Clone, Default)]
pub struct Receiver {
    /// The first packet not yet received in order: the cumulative acknowledgement.
    next: u32,
    /// One more than the highest packet ever received.
    end: u32,
    /// Bit `seq mod ring length` says that `seq`, beyond `next`, has arrived.
    ring: Vec<u64>,
    /// `None` where every packet is acknowledged at once by number alone.
    manners: Option<Box<Manners>>,
}

/// How a receiver acknowledges that does more than send a number at once.
#[derive(Debug, Clone)]
struct Manners {
    /// Blocks reported before.
    reported: History,
    /// Blocks are reported.
    selective: bool,
    delay: Option<Span>,
    /// An acknowledgement waits for a second packet, until then.
    due: Option<Instant>,
    /// The packet that it is for.
    held_back: u32,
    /// Packets below this are acknowledged at once: a SYN.
    urgent: u32,
    /// When the packet was sent that the next acknowledgement echoes.
    echo: Instant,
    /// The number of the last acknowledgement; ns-2 starts with one.
    acknowledged: u32,
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
        let manners = Manners {
            reported: History::new(config.sack_blocks),
            selective: config.variant.is_selective(),
            delay: config.delayed_ack,
            due: None,
            held_back: 0,
            urgent: u32::from(config.syn.is_some() && !config.delayed_syn_ack),
            echo: Instant::ZERO,
            acknowledged: 1,
        };
        let plain = !config.needs_feedback() && config.delayed_ack.is_none();
        Receiver { manners: (!plain).then(|| Box::new(manners)), ..Receiver::default() }
    }

    /// Every packet is acknowledged at once, and the number says all: [`Receiver::reply`] need not be asked.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.manners.is_none()
    }

    /// As [`Receiver::reply`], for the ordinary packet of a receiver that does not delay: nothing is held beyond a gap, and
    /// the echo is all that there is to say.
    #[inline]
    pub fn echo(&mut self, seq: u32, sent: Instant) -> Option<Instant> {
        let manners = self.manners.as_mut()?;
        if self.next < self.end || manners.delay.is_some() || !manners.reported.is_empty() {
            return None;
        }
        if seq <= manners.acknowledged && sent >= manners.echo {
            manners.echo = sent;
        }
        manners.acknowledged = self.next;
        Some(manners.echo)
    }

    /// Packet `seq`, sent at `sent`, has arrived now and been told to [`Receiver::on_data`]: is it acknowledged?
    pub fn reply(&mut self, seq: u32, sent: Instant, now: Instant) -> Reply {
        let Some(manners) = &mut self.manners else { return Reply::Now(Feedback::new(sent)) };
        if seq <= manners.acknowledged && sent >= manners.echo {
            manners.echo = sent;
        }
        if let Some(delay) = manners.delay {
            // In order, and nothing is held beyond it.
            let ordinary = seq + 1 == self.next && self.next == self.end && seq >= manners.urgent;
            if manners.due.is_none() && ordinary {
                manners.due = Some(now + delay);
                manners.held_back = seq;
                return Reply::Later;
            }
            manners.due = None;
        }
        Reply::Now(self.feedback(seq))
    }

    /// When an acknowledgement that is held back is due.
    #[inline]
    pub fn due(&self) -> Option<Instant> {
        self.manners.as_ref().and_then(|manners| manners.due)
    }

    /// [`Receiver::due`] has come: what the acknowledgement says.
    pub fn on_delayed_ack_timer(&mut self) -> Feedback {
        let Some(manners) = &mut self.manners else { return Feedback::default() };
        manners.due = None;
        let seq = manners.held_back;
        self.feedback(seq)
    }

    /// What an acknowledgement brought about by packet `seq` says.
    fn feedback(&mut self, seq: u32) -> Feedback {
        let held = self.next < self.end;
        let is_news = held && seq >= self.next;
        let latest = match is_news {
            true => Block { start: self.run_start(seq), end: self.run_end(seq) },
            false => Block { start: 0, end: self.next },
        };
        let Some(manners) = &mut self.manners else { return Feedback::default() };
        manners.acknowledged = self.next;
        let mut feedback = Feedback::new(manners.echo);
        if !held {
            manners.reported.clear();
        } else if manners.selective {
            manners.reported.report(latest, is_news, &mut feedback);
        }
        feedback
    }

    /// The first packet not yet received in order: what an acknowledgement carries.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Packet `seq` arrives: how many packets, it among them, are now delivered in order (0 for a duplicate or a gap).
    #[inline]
    pub fn on_data(&mut self, seq: u32) -> u32 {
        if seq == self.next && self.end <= seq {
            self.next = seq + 1;
            self.end = self.next;
            return 1;
        }
        self.on_data_with_gap(seq)
    }

    #[cold]
    fn on_data_with_gap(&mut self, seq: u32) -> u32 {
        if seq < self.next {
            return 0;
        }
        self.reserve(seq);
        self.end = self.end.max(seq + 1);
        self.set(seq, true);
        let before = self.next;
        while self.next < self.end && self.has(self.next) {
            self.set(self.next, false);
            self.next += 1;
        }
        self.next - before
    }

    /// Makes the ring long enough to tell `next` … `seq` apart.
    fn reserve(&mut self, seq: u32) {
        let needed = ((seq - self.next) as usize / 64 + 2).next_power_of_two();
        if needed > self.ring.len() {
            let held: Vec<u32> = (self.next..self.end).filter(|&seq| self.has(seq)).collect();
            self.ring.clear();
            self.ring.resize(needed, 0);
            held.into_iter().for_each(|seq| self.set(seq, true));
        }
    }

    /// One more than the last packet of the run that `seq`, held beyond a gap, belongs to.
    fn run_end(&self, mut seq: u32) -> u32 {
        loop {
            let ones = (self.ring[self.word(seq)] >> (seq % 64)).trailing_ones();
            if ones < 64 - seq % 64 {
                return seq + ones;
            }
            seq += ones;
        }
    }

    /// The first packet of that run; the packet before it is missing.
    fn run_start(&self, mut seq: u32) -> u32 {
        loop {
            let ones = (self.ring[self.word(seq)] << (63 - seq % 64)).leading_ones();
            if ones <= seq % 64 {
                return seq + 1 - ones;
            }
            seq -= ones;
        }
    }

    fn has(&self, seq: u32) -> bool {
        !self.ring.is_empty() && self.ring[self.word(seq)] >> (seq % 64) & 1 == 1
    }

    fn set(&mut self, seq: u32, value: bool) {
        let word = self.word(seq);
        self.ring[word] = self.ring[word] & !(1 << (seq % 64)) | u64::from(value) << (seq % 64);
    }

    fn word(&self, seq: u32) -> usize {
        (seq / 64) as usize & (self.ring.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

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
            assert_eq!(receiver.on_data(seq), next - before, "step {step}");
            assert_eq!(receiver.next(), next);
        }
    }
}

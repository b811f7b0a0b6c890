//! The ordinary acknowledgement, of a connection with nothing that few have: of new data outside of recovery, or a duplicate
//! that is not the one to tell of a loss.
//!
//! *Idea.* Most acknowledgements of Reno and NewReno are like that, and do the same few things. Done by themselves these are a
//! few dozen instructions; the long way ([`crate::recovery::on_ack`]) comes to the same, and takes every other one.

use super::{Output, Segment, Sender};
use crate::cc::reno;
use crate::config::{Config, Variant};
use crate::recovery::{LastCut, count_duplicate, newreno};
use paceline_core::Instant;
use std::hint::select_unpredictable;

/// Whether a connection has ordinary acknowledgements, and what those may send that follow three duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ordinary {
    None,
    /// As much as the window allows: Reno.
    All,
    /// So much, but a few packets at a time: NewReno.
    Few,
}

impl Ordinary {
    pub(super) fn of(config: &Config) -> Self {
        let has_ordinary = config.limited_transmit
            && !config.timestamps
            && !config.rack
            && !config.count_packets
            && config.pacing.is_none()
            && config.max_burst == u32::MAX;
        match config.variant {
            Variant::Reno if has_ordinary => Ordinary::All,
            Variant::NewReno if has_ordinary => Ordinary::Few,
            _ => Ordinary::None,
        }
    }
}

impl Sender {
    /// An acknowledgement of all before `next`, arriving now, is an ordinary one: [`Sender::on_ordinary_ack`] may take it.
    #[inline(always)]
    pub fn is_ordinary(&self, next: u32) -> bool {
        let handshake = self.una == 0;
        if self.ordinary == Ordinary::None || handshake {
            return false;
        }
        if next == self.una {
            return next != self.end && self.duplicates + 1 != self.config.duplicate_threshold;
        }
        let recovering = self.last_cut == LastCut::DuplicateAcks;
        next > self.una && next <= self.end && next != self.limit && !recovering
    }

    /// The ordinary acknowledgement of all before `next` arrives.
    #[inline(always)]
    pub fn on_ordinary_ack(&mut self, next: u32, now: Instant, out: &mut impl Output) {
        debug_assert!(self.is_ordinary(next) && self.selective.is_blank());
        let (beyond, most) = if next == self.una {
            self.on_ordinary_duplicate()
        } else {
            self.on_ordinary_news(next, now);
            (0, u32::MAX)
        };
        let window = (self.cwnd as u32 + beyond).min(self.config.max_window);
        let in_flight = self.next - self.una;
        if window > in_flight && self.next != self.limit {
            let packets = (window - in_flight).min(self.limit - self.next).min(most);
            self.send_next(packets, now, out);
        }
    }

    /// What is acknowledged is new.
    #[inline(always)]
    fn on_ordinary_news(&mut self, next: u32, now: Instant) {
        debug_assert!(self.inflation == 0);
        self.una = next;
        self.next = self.next.max(next);
        self.duplicates = 0;
        self.partial_seen = false;
        self.rtt.on_ack(&self.config, next, now);
        self.retransmission_at = now + self.rtt.timeout();
        self.cwnd = reno::increase_by_one(self.cwnd, self.ssthresh);
    }

    /// What may be sent beyond the congestion window, and how many packets at most: one, where duplicates are not yet enough
    /// to mean a loss (see [`Sender::limited_transmit`]).
    #[inline(always)]
    fn on_ordinary_duplicate(&mut self) -> (u32, u32) {
        count_duplicate(self);
        let are_few = self.duplicates < self.config.duplicate_threshold;
        self.inflation += u32::from(!are_few & (self.last_cut == LastCut::DuplicateAcks));
        let most = if self.ordinary == Ordinary::Few { newreno::BURST_IN_RECOVERY } else { u32::MAX };
        let beyond = select_unpredictable(are_few, self.duplicates, self.inflation);
        (beyond, select_unpredictable(are_few, 1, most))
    }

    /// Sends the next packets, so many, while others are outstanding.
    #[inline(always)]
    fn send_next(&mut self, packets: u32, now: Instant, out: &mut impl Output) {
        debug_assert!(self.retransmission_at != Instant::MAX);
        let (first, end) = (self.next, self.end);
        self.next = first + packets;
        if first < end {
            self.counters.retransmits += self.next.min(end) - first;
        }
        if self.next > end {
            self.end = self.next;
            self.rtt.on_first_transmission(end, now);
        }
        self.last_sent = now;
        self.counters.sent += u64::from(packets);
        if self.next <= self.short_from {
            let bytes = self.config.data_bytes();
            for seq in first..self.next {
                out.send(Segment { seq, bytes, retransmission: seq < end });
            }
        } else {
            for seq in first..self.next {
                out.send(Segment { seq, bytes: self.bytes_of(seq), retransmission: seq < end });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;
    use paceline_core::Span;
    use proptest::prelude::*;
    use std::sync::Arc;

    #[derive(Debug, Default, PartialEq)]
    struct Sent(Vec<Segment>);

    impl Output for Sent {
        fn send(&mut self, segment: Segment) {
            self.0.push(segment);
        }
    }

    /// What a sender shows after each step of a story, with ordinary acknowledgements taken by themselves or not.
    fn tell(variant: Variant, given: Option<u64>, story: &[u8], by_themselves: bool) -> Vec<String> {
        let config = Config { variant, ..Config::new(Profile::Ns2) };
        let mut sender = Sender::new(Arc::new(config), given, Span::from_millis(3), 1);
        let (mut out, mut now, mut told) = (Sent::default(), Instant::ZERO, Vec::new());
        if given.is_some() {
            sender.give(2500); // two full packets, and a short one
        }
        sender.start(now, &mut out);
        for &act in story {
            now += Span::from_millis(u64::from(act % 16) * 7 + 1);
            let next = sender.una() + u32::from(act / 16 % 4);
            match act / 64 {
                0 => sender.on_retransmission_timer(now, &mut out),
                _ if by_themselves && sender.is_ordinary(next) => sender.on_ordinary_ack(next, now, &mut out),
                _ => sender.on_ack(next, now, &mut out),
            }
            told.push(format!("{:?} {sender:?}", std::mem::take(&mut out)));
        }
        told
    }

    proptest! {
        #[test]
        fn by_itself_or_the_long_way_it_comes_to_the_same(
            variant in prop::sample::select(vec![Variant::Reno, Variant::NewReno]),
            given in prop::option::of(0..100_u64),
            story in prop::collection::vec(prop_oneof![1 => 0..=255_u8, 9 => 64..=255_u8], 0..300),
        ) {
            prop_assert_eq!(tell(variant, given, &story, true), tell(variant, given, &story, false));
        }
    }
}

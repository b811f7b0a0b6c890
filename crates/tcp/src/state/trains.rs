//! When each packet was first sent: packets that left at one instant are one train.
//!
//! *Idea.* Trains are sorted by packet number and by time, so that a binary search finds one that is not among the first. Acknowledged trains are removed as new ones
//! are added.
//! *References.* Linux `tcp_skb_timestamp_us`.

use paceline_core::Instant;
use std::collections::VecDeque;

/// So many trains are searched one by one: a small window has no more.
const FEW: usize = 4;

/// Packets from the end of the train before up to `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Train {
    /// One more than its last packet.
    pub(crate) end: u32,
    pub(crate) at: Instant,
    /// What leaves next is another, even at this instant; and its last packet carries PSH.
    closed: bool,
    pushes: bool,
}

/// The trains of packets that are not acknowledged, and a few before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trains(VecDeque<Train>);

impl Trains {
    pub(super) const NONE: Trains = Trains(VecDeque::new());

    /// Packet `seq` is sent for the first time; all before `una` are acknowledged.
    #[inline(always)]
    pub(crate) fn push(&mut self, seq: u32, now: Instant, una: u32) {
        match self.0.back_mut() {
            Some(last) if last.at == now && !last.closed => last.end = seq + 1,
            _ => {
                // Two are removed for one added, so that no more are kept than are in flight, at a bounded cost for each packet.
                for _ in 0..2 {
                    if self.0.front().is_some_and(|first| first.end <= una) {
                        self.0.pop_front();
                    }
                }
                self.0.push_back(Train { end: seq + 1, at: now, closed: false, pushes: false });
            }
        }
    }

    /// The train that was added to last is whole: that many packets, of which the last carries PSH if there are several (Linux
    /// `__tcp_transmit_skb`, since 5.4).
    pub(crate) fn close(&mut self, packets: u32) {
        if let Some(last) = self.0.back_mut() {
            (last.closed, last.pushes) = (true, packets > 1);
        }
    }

    /// Packet `seq`, which is not acknowledged, was the last of several that left as one train.
    pub(crate) fn push_ends(&self, seq: u32) -> bool {
        let train = self.of(seq);
        train.pushes && train.end == seq + 1
    }

    /// The train of packet `seq`, which has been sent and is not acknowledged.
    #[inline]
    pub(crate) fn of(&self, seq: u32) -> Train {
        let first = self.0.iter().take(FEW).find(|train| train.end > seq);
        first.copied().unwrap_or_else(|| self.of_many(seq))
    }

    #[inline(never)]
    fn of_many(&self, seq: u32) -> Train {
        let place = self.0.partition_point(|train| train.end <= seq);
        self.0.get(place).copied().unwrap_or(Train {
            end: u32::MAX,
            at: Instant::ZERO,
            closed: false,
            pushes: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_of_the_train_that_it_left_with() {
        let mut trains = Trains::default();
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        for (seq, ms) in [(0, 0), (1, 10), (2, 10), (3, 10), (4, 25), (5, 30)] {
            trains.push(seq, at(ms), 0);
        }
        let found: Vec<_> = (0..6).map(|seq| (trains.of(seq).at, trains.of(seq).end)).collect();
        let expected = [(0, 1), (10, 4), (10, 4), (10, 4), (25, 5), (30, 6)];
        assert_eq!(found, expected.map(|(ms, end)| (at(ms), end)));
    }

    #[test]
    fn what_is_acknowledged_is_let_go() {
        let mut trains = Trains::default();
        for seq in 0..1000 {
            trains.push(seq, Instant::from_nanos(u64::from(seq)), u32::saturating_sub(seq, 5));
        }
        assert!(trains.0.len() <= 8, "{}", trains.0.len());
        assert_eq!(trains.of(996).at, Instant::from_nanos(996));
    }
}

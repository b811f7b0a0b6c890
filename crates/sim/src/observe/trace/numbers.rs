//! From packets to bytes: where in its connection's stream a packet begins.
//!
//! *Idea.* Packets are full but for those that end a message. So a packet's place is its number times the payload, less what
//! the short packets before it lack; these are kept while they may be asked for.

use std::collections::VecDeque;

/// Short packets below what is acknowledged that are kept: for what is sent again needlessly.
const KEPT: usize = 64;

/// One connection's packets, numbered from 0, a SYN among them.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    payload: u32,
    /// Packets at the start that carry nothing: 1 with a SYN.
    empty: u32,
    /// One more than the highest that was sent.
    end: u32,
    /// Short packets, ascending, and all that they and those before them lack.
    short: VecDeque<(u32, u64)>,
    /// The same of those that are no longer kept.
    lacking: u64,
    /// The last packet of the connection, once it is known.
    last: Option<u32>,
}

impl Numbers {
    pub(super) fn new(payload: u32, empty: u32) -> Self {
        Numbers { payload, empty, ..Numbers::default() }
    }

    /// Packet `number` is sent with so much payload; `is_last` if nothing follows.
    pub(super) fn send(&mut self, number: u32, payload: u32, is_last: bool) {
        if number < self.end {
            return;
        }
        self.end = number + 1;
        if is_last {
            self.last = Some(number);
        }
        let lacking = self.payload.saturating_sub(payload);
        if number >= self.empty && lacking > 0 {
            let before = self.short.back().map_or(self.lacking, |(_, all)| *all);
            self.short.push_back((number, before + u64::from(lacking)));
        }
    }

    /// All before packet `number` are acknowledged.
    pub(super) fn acknowledge(&mut self, number: u32) {
        while self.short.len() > KEPT
            && let Some((short, all)) = self.short.front()
            && *short < number
        {
            self.lacking = *all;
            self.short.pop_front();
        }
    }

    /// Whether packet `number` carries the FIN.
    pub(super) fn is_last(&self, number: u32) -> bool {
        self.last == Some(number)
    }

    /// Whether all before packet `number` is all that there is.
    pub(super) fn is_all(&self, number: u32) -> bool {
        self.last.is_some_and(|last| number > last)
    }

    /// The sequence number at which packet `number` begins: 0 is the SYN's, and payload follows it; a FIN is one more.
    pub(super) fn seq(&self, number: u32) -> u32 {
        let before = self.short.partition_point(|(short, _)| *short < number);
        let lacking = match before.checked_sub(1).and_then(|at| self.short.get(at)) {
            Some((_, all)) => *all,
            None => self.lacking,
        };
        let full = u64::from(number.saturating_sub(self.empty)) * u64::from(self.payload);
        // whoever looks at packets takes no more than these 32 bits
        (1 + full.saturating_sub(lacking) + u64::from(self.is_all(number))) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_packets_and_a_fin_count_as_what_they_are() {
        let mut numbers = Numbers::new(1000, 1);
        for (number, payload) in [(0, 0), (1, 1000), (2, 300), (3, 1000), (4, 1), (5, 1000)] {
            numbers.send(number, payload, number == 5);
        }
        let starts: Vec<u32> = (0..7).map(|number| numbers.seq(number)).collect();
        assert_eq!(starts, [1, 1, 1001, 1301, 2301, 2302, 3303]);
        numbers.send(2, 300, false); // again
        assert_eq!(numbers.seq(6), 3303);
    }

    #[test]
    fn what_is_no_longer_kept_still_counts() {
        let mut numbers = Numbers::new(1000, 0);
        for number in 0..1000 {
            numbers.send(number, 10, false);
            numbers.acknowledge(number);
            assert_eq!(numbers.seq(number + 1), 1 + 10 * (number + 1));
        }
        assert!(numbers.short.len() <= KEPT + 1);
    }
}

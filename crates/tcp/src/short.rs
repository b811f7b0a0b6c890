//! Packets that are not full: the last packet of each message that an application writes.
//!
//! *Idea.* Every packet carries the configured payload, except for those listed here. A sender whose data end in full packets, or
//! never, lists none and pays one comparison a packet.

use std::collections::VecDeque;

/// Numbers of short packets, ascending, with their payloads in bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShortPackets(VecDeque<(u32, u32)>);

impl ShortPackets {
    /// None is short.
    pub(crate) const NONE: ShortPackets = ShortPackets(VecDeque::new());

    /// Packet `seq`, beyond all listed, carries `payload` bytes; packets before `una` are not needed any more. Returns
    /// the number of the first packet listed.
    pub(crate) fn list(&mut self, seq: u32, payload: u32, una: u32) -> u32 {
        while self.0.front().is_some_and(|(listed, _)| *listed < una) {
            self.0.pop_front();
        }
        self.0.push_back((seq, payload));
        self.0.front().map_or(seq, |(first, _)| *first)
    }

    /// Payload of packet `seq`, bytes, if it is short.
    pub(crate) fn payload_of(&self, seq: u32) -> Option<u32> {
        let at = self.0.binary_search_by_key(&seq, |(listed, _)| *listed).ok()?;
        Some(self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_sent_again_stays_listed() {
        let mut short = ShortPackets::NONE;
        assert_eq!(short.list(5, 100, 0), 5);
        assert_eq!(short.list(9, 200, 5), 5); // 5 is not acknowledged
        assert_eq!([4, 5, 9].map(|seq| short.payload_of(seq)), [None, Some(100), Some(200)]);
        assert_eq!(short.list(12, 300, 7), 9);
        assert_eq!([5, 9, 12].map(|seq| short.payload_of(seq)), [None, Some(200), Some(300)]);
        assert_eq!(short.list(15, 400, 13), 15);
    }
}

//! The state of each packet as Linux 2.6 kept it: in flight, held, lost, or retransmitted.
//!
//! *Idea.* Neighbours with the same mark form a range. A retransmitted packet is a range of its own, with its place in the order of
//! sending. A packet is lost when it is more than the threshold below the highest held (FACK). A retransmission is lost when a packet
//! sent after it is held, or a retransmission more than the threshold later has arrived.
//! *Where it breaks.* Reordering beyond the threshold is taken for a loss. An acknowledgement is processed in one pass, which ends with
//! its blocks unless it acknowledges something new beyond them. Lost packets further on are then retransmitted only with the next
//! acknowledgement, as in ns-2.
//! *References.* ns-2.35 tcp/scoreboard1.cc; Linux 2.6.22 net/ipv4/tcp_input.c `tcp_sacktag_write_queue`.

use crate::feedback::{Block, MOST_BLOCKS};
use crate::sparse::Blank;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    InFlight,
    Held,
    Lost,
    /// Retransmission number `number` of this episode; all packets before `sent` had been sent by then.
    Again {
        number: u32,
        sent: u32,
    },
}

#[derive(Debug, Clone, Copy)]
struct Range {
    start: u32,
    end: u32,
    mark: Mark,
}

impl Range {
    fn packets(&self) -> u32 {
        self.end - self.start
    }

    /// The next range has the same mark, which is not that of a retransmission.
    fn joins(&self, next: &Range) -> bool {
        self.mark == next.mark && !matches!(next.mark, Mark::Again { .. })
    }
}

/// What an acknowledgement has changed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Changes {
    /// A packet is newly held.
    pub(crate) held: bool,
    /// A packet is newly lost.
    pub(crate) lost: bool,
}

/// The packets from the first not acknowledged to the highest held; after a timeout to the last sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    ranges: Vec<Range>,
    /// Where the search for a lost packet begins.
    lost_from: Option<usize>,
    /// One more than the highest packet held.
    highest: u32,
    lost: u32,
    held: u32,
    /// Retransmissions of this episode.
    retransmissions: u32,
    /// One more than the number of the last retransmission known to have arrived.
    arrived: u32,
}

impl Blank for Marks {
    fn blank() -> &'static Self {
        static BLANK: Marks = Marks::NONE;
        &BLANK
    }
}

impl Marks {
    /// No packet is known.
    pub(crate) const NONE: Marks = Marks {
        ranges: Vec::new(),
        lost_from: None,
        highest: 0,
        lost: 0,
        held: 0,
        retransmissions: 0,
        arrived: 0,
    };

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Packets lost or held, which are not in flight.
    pub(crate) fn gone(&self) -> u32 {
        self.lost + self.held
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        *self = Marks { ranges: std::mem::take(&mut self.ranges), ..Marks::NONE };
    }

    /// The receiver holds packet `seq`.
    pub(crate) fn holds(&self, seq: u32) -> bool {
        let range = self.ranges.iter().find(|range| range.end > seq);
        range.is_some_and(|range| range.start <= seq && range.mark == Mark::Held)
    }

    /// The lost packet to be retransmitted next.
    pub(crate) fn next_lost(&self) -> Option<u32> {
        let from = self.lost_from?;
        self.ranges[from..].iter().find(|range| range.mark == Mark::Lost).map(|range| range.start)
    }

    /// The packet of [`Marks::next_lost`] is retransmitted, and all packets before `sent` have been sent.
    pub(crate) fn retransmit(&mut self, sent: u32) {
        let Some(from) = self.lost_from else { return };
        let Some(place) = self.ranges[from..].iter().position(|range| range.mark == Mark::Lost) else {
            return;
        };
        let place = from + place;
        self.lost_from = Some(place);
        self.lost -= 1;
        self.split(place, self.ranges[place].start + 1);
        self.ranges[place].mark = Mark::Again { number: self.retransmissions, sent };
        self.retransmissions += 1;
    }

    /// All before `una` is acknowledged, and these blocks are reported of packets before `end`.
    pub(crate) fn learn(&mut self, (una, end): (u32, u32), blocks: &[Block], threshold: u32) -> Changes {
        let mut thorough = self.forget_below(una);
        if self.ranges.is_empty() {
            self.clear();
            thorough = false;
        }
        let mut sorted = [Block::default(); MOST_BLOCKS];
        let mut count = 0;
        let counts = |block: &&Block| block.start + 1 >= una && block.start < block.end && block.end <= end;
        for block in blocks.iter().filter(counts) {
            sorted[count] = *block;
            count += 1;
        }
        let blocks = &mut sorted[..count];
        blocks.sort_by_key(|block| block.start);
        if let Some(last) = blocks.last()
            && self.highest < last.end
        {
            self.highest = last.end;
            thorough = true;
        }
        if !thorough && blocks.is_empty() {
            return Changes::default();
        }
        if self.ranges.is_empty() {
            self.ranges.push(Range { start: una, end: self.highest, mark: Mark::InFlight });
        }
        self.update(blocks, threshold, thorough)
    }

    /// One pass over the ranges: marks the packets of the blocks as held, and the packets that this reveals as lost.
    fn update(&mut self, blocks: &[Block], threshold: u32, mut thorough: bool) -> Changes {
        self.lost_from = None;
        let mut changes = Changes::default();
        let mut blocks = blocks.iter().copied().peekable();
        let mut last: Option<usize> = None; // the range before, which this one may join
        let mut place = 0;
        while place < self.ranges.len() && (thorough || blocks.peek().is_some()) {
            if self.ranges[place].mark != Mark::Held {
                let start = self.ranges[place].start;
                while blocks.next_if(|block| block.end <= start).is_some() {}
                if let Some(block) = blocks.peek()
                    && block.start < self.ranges[place].end
                {
                    if block.start > start {
                        self.split(place, block.start);
                    } else {
                        self.split(place, block.end);
                        thorough |= self.hold(place);
                        changes.held = true;
                    }
                }
                if blocks.peek().is_none_or(|block| block.start >= self.ranges[place].end) {
                    changes.lost |= self.lose(place, threshold);
                }
            }
            match last {
                Some(before) if self.ranges[before].joins(&self.ranges[place]) => {
                    self.ranges[before].end = self.ranges[place].end;
                    self.ranges.remove(place);
                }
                _ => {
                    last = Some(place);
                    place += 1;
                }
            }
            if let Some(range) = self.ranges.last()
                && place == self.ranges.len()
                && range.end < self.highest
            {
                self.ranges.push(Range { start: range.end, end: self.highest, mark: Mark::InFlight });
            }
        }
        changes
    }

    /// The receiver has the packets of this range. Returns whether they had been retransmitted.
    fn hold(&mut self, place: usize) -> bool {
        let range = &mut self.ranges[place];
        let before = std::mem::replace(&mut range.mark, Mark::Held);
        self.held += range.packets();
        match before {
            Mark::Lost => self.lost -= range.packets(),
            Mark::Again { number, .. } => self.arrived = number + 1,
            _ => {}
        }
        matches!(before, Mark::Again { .. })
    }

    /// Marks the lost packets of this range. Returns whether any is newly lost.
    fn lose(&mut self, place: usize, threshold: u32) -> bool {
        let lost_below = self.highest.saturating_sub(threshold + 1);
        let range = self.ranges[place];
        let newly = match range.mark {
            Mark::InFlight => range.start < lost_below,
            Mark::Again { number, sent } => sent < self.highest || number + threshold + 2 < self.arrived,
            Mark::Held | Mark::Lost => false,
        };
        if newly {
            if range.mark == Mark::InFlight {
                self.split(place, lost_below);
            }
            self.lost += self.ranges[place].packets();
            self.ranges[place].mark = Mark::Lost;
        }
        if self.ranges[place].mark == Mark::Lost {
            self.lost_from.get_or_insert(place);
        }
        newly
    }

    /// After a timeout: all that is not held is lost, up to the last packet sent.
    pub(crate) fn lose_all(&mut self, una: u32, next: u32) {
        let end = self.ranges.last().map_or(una, |range| range.end);
        if end < next {
            self.ranges.push(Range { start: end, end: next, mark: Mark::InFlight });
        }
        self.ranges
            .iter_mut()
            .filter(|range| range.mark != Mark::Held)
            .for_each(|range| range.mark = Mark::Lost);
        self.ranges.dedup_by(|range, before| {
            let joins = range.mark == Mark::Lost && before.mark == Mark::Lost;
            if joins {
                before.end = range.end;
            }
            joins
        });
        let lost = self.ranges.iter().filter(|range| range.mark == Mark::Lost);
        self.lost = lost.map(Range::packets).sum();
        self.lost_from = self.ranges.iter().position(|range| range.mark == Mark::Lost);
        (self.retransmissions, self.arrived) = (0, 0);
    }

    /// All before `una` is acknowledged: whether a retransmission is among it later than those known to have arrived.
    fn forget_below(&mut self, una: u32) -> bool {
        let mut later = false;
        let mut past = 0;
        for range in &mut self.ranges {
            if range.start >= una {
                break;
            }
            let packets = range.end.min(una) - range.start;
            match range.mark {
                Mark::Held => self.held -= packets,
                Mark::Lost => self.lost -= packets,
                Mark::Again { number, .. } if number >= self.arrived => {
                    self.arrived = number + 1;
                    later = true;
                }
                _ => {}
            }
            if range.end > una {
                range.start = una;
                break;
            }
            past += 1;
        }
        self.ranges.drain(..past);
        self.lost_from = self.lost_from.map(|place| place.saturating_sub(past));
        later
    }

    /// Two ranges of the one at this place, if the packet lies within it and is not its first.
    fn split(&mut self, place: usize, at: u32) {
        let range = self.ranges[place];
        if range.start < at && at < range.end {
            self.ranges[place].end = at;
            self.ranges.insert(place + 1, Range { start: at, ..range });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(start: u32, end: u32) -> Block {
        Block { start, end }
    }

    #[test]
    fn what_is_held_is_what_was_reported_and_nothing_once_cleared() {
        let mut marks = Marks::NONE;
        marks.learn((10, 30), &[block(11, 14), block(16, 18)], 3);
        let held: Vec<u32> = (9..20).filter(|seq| marks.holds(*seq)).collect();
        assert_eq!(held, [11, 12, 13, 16, 17]);
        assert_eq!((marks.ranges.len(), marks.next_lost(), marks.gone()), (4, Some(10), 6)); // 13 and below are lost: 10 is
        marks.learn((10, 30), &[block(14, 16)], 3);
        assert_eq!((marks.ranges.len(), marks.gone()), (2, 8)); // neighbours are one
        marks.clear();
        assert!(marks.is_empty() && marks.next_lost().is_none() && marks.gone() == 0 && !marks.holds(11));
        // What the receiver reports of what it has acknowledged, or of nothing, is nothing; of the last packet before, as in Linux.
        assert!(!marks.learn((10, 30), &[block(4, 8), block(12, 12), block(28, 31)], 3).held);
        assert!(marks.is_empty());
    }

    #[test]
    fn four_packets_above_it_mean_a_loss_and_what_was_sent_after_a_retransmission_that_it_is_lost_too() {
        let mut marks = Marks::NONE;
        assert!(!marks.learn((10, 30), &[block(11, 14)], 3).lost);
        assert!(marks.learn((10, 30), &[block(11, 15)], 3).lost);
        assert_eq!((marks.next_lost(), marks.gone()), (Some(10), 5));
        marks.retransmit(20);
        assert_eq!((marks.next_lost(), marks.gone()), (None, 4));
        assert!(!marks.learn((10, 30), &[block(11, 20)], 3).lost);
        assert!(marks.learn((10, 30), &[block(11, 21)], 3).lost); // 20 left after it
        assert_eq!(marks.next_lost(), Some(10));
    }

    proptest! {
        #[test]
        fn ranges_lie_one_behind_the_other_and_are_counted(
            steps in prop::collection::vec((0..4_u8, 0..20_u32, 1..8_u32), 1..80),
        ) {
            let (mut marks, mut una, mut next) = (Marks::NONE, 0, 1);
            for (what, far, length) in steps {
                match what {
                    0 => next += far,
                    1 => marks.lose_all(una, next),
                    2 if marks.next_lost().is_some() => marks.retransmit(next),
                    3 => {
                        una = (una + far).min(next);
                        marks.learn((una, next), &[], 3);
                    }
                    _ => {
                        marks.learn((una, next), &[block(una + far, una + far + length), block(una + 2, una + 4)], 3);
                    }
                }
                let ranges = &marks.ranges;
                prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= next));
                prop_assert!(ranges.first().is_none_or(|range| range.start >= una));
                prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
                let count = |is: fn(Mark) -> bool| -> u32 {
                    ranges.iter().filter(|range| is(range.mark)).map(Range::packets).sum()
                };
                prop_assert_eq!(marks.lost, count(|mark| mark == Mark::Lost));
                prop_assert_eq!(marks.held, count(|mark| mark == Mark::Held));
                prop_assert!(marks.gone() <= next - una);
            }
        }
    }
}

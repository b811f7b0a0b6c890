//! What the receiver holds beyond the cumulative acknowledgement, by its SACK blocks.
//!
//! *Idea.* Sorted ranges that neither touch nor overlap. Between them are the holes: packets lost, or in flight.
//! *Where it breaks.* A receiver that drops packets that it has reported (reneging, RFC 2018 section 8) is not modelled.
//! *References.* RFC 2018; RFC 6675 section 4 (`IsLost`); ns-2.35 tcp/scoreboard-rq.cc, tcp/scoreboard.cc.

use crate::feedback::Block;

/// Packets held beyond `una`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoreboard {
    ranges: Vec<Block>,
    /// Packets in all ranges.
    held: u32,
}

impl Scoreboard {
    /// Nothing held.
    pub(crate) const fn new() -> Self {
        Scoreboard { ranges: Vec::new(), held: 0 }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Packets held, in all.
    #[inline]
    pub(crate) fn held(&self) -> u32 {
        self.held
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.held = 0;
    }

    /// All before `una` has been acknowledged.
    pub(crate) fn forget_below(&mut self, una: u32) {
        if self.ranges.first().is_none_or(|first| una <= first.start) {
            return;
        }
        let past = self.ranges.partition_point(|range| range.end <= una);
        self.held -= self.ranges.drain(..past).map(|range| range.end - range.start).sum::<u32>();
        if let Some(first) = self.ranges.first_mut()
            && first.start < una
        {
            self.held -= una - first.start;
            first.start = una;
        }
    }

    /// The receiver holds this block. Returns how many of its packets were not known to be held.
    pub(crate) fn add(&mut self, Block { mut start, mut end }: Block) -> u32 {
        if start >= end {
            return 0;
        }
        // Usually the highest range grows.
        if let Some(last) = self.ranges.last_mut()
            && last.start <= start
            && start <= last.end
        {
            let news = end.saturating_sub(last.end);
            last.end += news;
            self.held += news;
            return news;
        }
        // Ranges that touch or overlap are merged.
        let from = self.ranges.partition_point(|range| range.end < start);
        let to = self.ranges.partition_point(|range| range.start <= end);
        let before = self.held;
        if from == to {
            self.ranges.insert(from, Block { start, end });
        } else {
            start = start.min(self.ranges[from].start);
            end = end.max(self.ranges[to - 1].end);
            self.held -= self.ranges[from..to].iter().map(|range| range.end - range.start).sum::<u32>();
            self.ranges[from] = Block { start, end };
            self.ranges.drain(from + 1..to);
        }
        self.held += end - start;
        self.held - before
    }

    /// The first packet from `seq` on that is not held while a later one is.
    #[inline]
    pub(crate) fn hole_from(&self, seq: u32) -> Option<u32> {
        let next = self.ranges.partition_point(|range| range.end < seq);
        let range = self.ranges.get(next)?;
        if range.start > seq {
            return Some(seq);
        }
        (next + 1 < self.ranges.len()).then_some(range.end)
    }

    /// The first packet from `seq` on that is not held.
    pub(crate) fn gap_from(&self, seq: u32) -> u32 {
        let next = self.ranges.partition_point(|range| range.end <= seq);
        self.ranges.get(next).filter(|range| range.start <= seq).map_or(seq, |range| range.end)
    }

    /// The first packets from `from` on, before `to`, that are not held.
    pub(crate) fn first_gap(&self, from: u32, to: u32) -> Option<Block> {
        let next = self.ranges.partition_point(|range| range.end <= from);
        let (start, next) = match self.ranges.get(next) {
            Some(range) if range.start <= from => (range.end, next + 1),
            _ => (from, next),
        };
        let end = self.ranges.get(next).map_or(to, |range| range.start.min(to));
        (start < end).then_some(Block { start, end })
    }

    /// The last packet before `end` that is not held; nothing beyond `end` is.
    pub(crate) fn last_gap_before(&self, end: u32) -> u32 {
        let start = self.ranges.last().filter(|range| range.end == end).map_or(end, |range| range.start);
        start.saturating_sub(1)
    }

    /// Packets held before `seq`.
    pub(crate) fn held_below(&self, seq: u32) -> u32 {
        let below = self.ranges.iter().take_while(|range| range.start < seq);
        below.map(|range| range.end.min(seq) - range.start).sum()
    }

    /// Packets held from `seq` on.
    #[inline]
    pub(crate) fn held_from(&self, seq: u32) -> u32 {
        let from = self.ranges.iter().rev().take_while(|range| range.end > seq);
        from.map(|range| range.end - range.start.max(seq)).sum()
    }

    /// One more than the highest packet held.
    #[inline]
    pub(crate) fn end(&self) -> Option<u32> {
        self.ranges.last().map(|range| range.end)
    }

    /// All of this block is held, or nothing is in it.
    #[inline]
    pub(crate) fn covers(&self, block: Block) -> bool {
        self.gap_from(block.start) >= block.end
    }

    /// The `count`-th highest packet held: every hole below it has that many packets held above.
    pub(crate) fn highest_held(&self, count: u32) -> Option<u32> {
        let mut missing = count;
        for range in self.ranges.iter().rev() {
            let held = range.end - range.start;
            if held >= missing {
                return Some(range.end - missing);
            }
            missing -= held;
        }
        None
    }

    /// Whether `seq` is held.
    pub(crate) fn holds(&self, seq: u32) -> bool {
        self.gap_from(seq) > seq
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn block(start: u32, end: u32) -> Block {
        Block { start, end }
    }

    #[test]
    fn holes_lie_below_something_held() {
        let mut board = Scoreboard::default();
        assert_eq!(board.hole_from(0), None);
        board.add(block(15, 18));
        board.add(block(20, 21));
        assert_eq!(board.hole_from(14), Some(14));
        assert_eq!(board.hole_from(15), Some(18));
        assert_eq!(board.hole_from(18), Some(18));
        assert_eq!(board.hole_from(19), Some(19));
        assert_eq!(board.hole_from(20), None); // 21 has nothing above it
        assert_eq!(board.highest_held(1), Some(20));
        assert_eq!(board.highest_held(3), Some(16));
        assert_eq!(board.highest_held(5), None);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(steps in prop::collection::vec((0..60_u32, 1..12_u32, 0..4_u8), 1..60)) {
            let mut board = Scoreboard::default();
            let mut set = BTreeSet::new();
            for (start, length, what) in steps {
                if what == 0 {
                    board.forget_below(start);
                    set.retain(|seq| *seq >= start);
                } else {
                    let news = (start..start + length).filter(|seq| set.insert(*seq)).count();
                    prop_assert_eq!(board.add(block(start, start + length)), news as u32);
                }
                prop_assert_eq!(board.held(), set.len() as u32);
                prop_assert_eq!(board.end(), set.last().map(|seq| seq + 1));
                let end = set.last().map_or(70, |seq| seq + 1).max(start);
                let last = (0..end).rev().find(|seq| !set.contains(seq)).unwrap_or(0);
                prop_assert_eq!(board.last_gap_before(end), last);
                for seq in 0..80 {
                    let hole = (seq..80).find(|hole| !set.contains(hole));
                    prop_assert_eq!(Some(board.gap_from(seq)), hole);
                    let above = hole.filter(|hole| set.range(hole..).next().is_some());
                    prop_assert_eq!(board.hole_from(seq), above);
                    prop_assert_eq!(board.held_below(seq), set.range(..seq).count() as u32);
                    prop_assert_eq!(board.held_from(seq), set.range(seq..).count() as u32);
                    prop_assert_eq!(board.covers(block(seq, seq + 3)), (seq..seq + 3).all(|one| set.contains(&one)));
                    prop_assert_eq!(board.holds(seq), set.contains(&seq));
                    let gap = (seq..90).find(|gap| !set.contains(gap)).map(|start| Block {
                        start,
                        end: (start..90).find(|held| set.contains(held)).unwrap_or(90),
                    });
                    prop_assert_eq!(board.first_gap(seq, 90), gap);
                }
                for count in 1..6 {
                    prop_assert_eq!(board.highest_held(count), set.iter().rev().nth(count as usize - 1).copied());
                }
            }
        }
    }
}

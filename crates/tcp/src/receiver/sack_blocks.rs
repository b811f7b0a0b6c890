//! The SACK blocks of an acknowledgement: which, and in which order.
//!
//! *Idea.* The first block is the one that contains the packet that has just arrived. The blocks reported before follow, the latest
//! first, without those that the first one contains (RFC 2018 section 4).
//! *Parameters.* How many blocks fit.
//! *References.* RFC 2018; ns-2.35 tcp/tcp-sink.cc (`Sacker::append_ack`).

use crate::feedback::{Block, Feedback, MOST_BLOCKS};

/// Blocks reported before, the latest first.
#[derive(Debug, Clone, Default)]
pub(super) struct SackBlocks {
    blocks: [Block; MOST_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// No block is reported.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// `latest` contains the packet that has just arrived. Where that has filled a gap, `latest` is what is acknowledged, `is_new` is
    /// false, and it is not reported. At most `most` blocks are remembered.
    pub(super) fn note(&mut self, latest: Block, is_new: bool, most: u8) {
        let (mut kept, count) = (0, usize::from(self.count));
        for place in 0..count {
            let block = self.blocks[place];
            if latest.start > block.start || latest.end < block.end {
                self.blocks[kept] = block;
                kept += 1;
            }
        }
        if is_new {
            kept = (kept + 1).min(usize::from(most));
            self.blocks.copy_within(..kept - 1, 1);
            self.blocks[0] = latest;
        }
        self.count = kept as u8;
    }

    /// Whether `latest` is none of the two blocks reported first, nor touches one of them, and there are two.
    pub(super) fn is_pushed_back(&self, latest: Block) -> bool {
        let touches = |block: &Block| latest.start <= block.end && latest.end >= block.start;
        self.count >= 2 && !self.blocks[..2].iter().any(touches)
    }

    /// Puts `most` blocks at most into an acknowledgement.
    pub(super) fn report(&self, most: u8, feedback: &mut Feedback) {
        self.blocks[..usize::from(self.count.min(most))].iter().for_each(|block| feedback.push(*block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u32, end: u32) -> Block {
        Block { start, end }
    }

    /// What an acknowledgement reports after packets of a block have arrived.
    fn report(history: &mut SackBlocks, latest: Block) -> Vec<Block> {
        let mut feedback = Feedback::default();
        history.note(latest, true, 3);
        history.report(3, &mut feedback);
        feedback.blocks().to_vec()
    }

    #[test]
    fn the_latest_block_comes_first_then_those_reported_last() {
        // RFC 2018 section 5, case 3: every other one of eight packets is lost, 500 bytes each from 5000 on.
        let mut history = SackBlocks::default();
        let [a, b, c, d] = [block(1, 2), block(3, 4), block(5, 6), block(7, 8)];
        assert_eq!(report(&mut history, a), [a]);
        assert_eq!(report(&mut history, b), [b, a]);
        assert_eq!(report(&mut history, c), [c, b, a]);
        assert_eq!(report(&mut history, d), [d, c, b]);
        // The fourth packet arrives: it joins two blocks, and that is reported first.
        assert_eq!(report(&mut history, block(3, 6)), [block(3, 6), d]);
    }

    /// Linux `tcp_sack_new_ofo_skb`, `TCP_SACK_BLOCKS_EXPECTED`: a block of its own, where two are reported already.
    #[test]
    fn a_third_block_pushes_back_the_second() {
        let mut history = SackBlocks::default();
        report(&mut history, block(10, 20));
        assert!(!history.is_pushed_back(block(30, 31)), "there is but one");
        report(&mut history, block(40, 50));
        let pushed_back =
            [(5, 9), (9, 10), (15, 16), (20, 21), (21, 22), (30, 31), (39, 40), (50, 51), (51, 52)]
                .map(|(start, end)| history.is_pushed_back(block(start, end)));
        assert_eq!(pushed_back, [true, false, false, false, true, true, false, false, true]);
    }

    #[test]
    fn what_filled_a_gap_is_not_reported() {
        let mut history = SackBlocks::default();
        report(&mut history, block(2, 4));
        report(&mut history, block(6, 8));
        let mut feedback = Feedback::default();
        history.note(block(0, 4), false, 3);
        history.report(3, &mut feedback);
        assert_eq!(feedback.blocks(), [block(6, 8)]);
    }
}

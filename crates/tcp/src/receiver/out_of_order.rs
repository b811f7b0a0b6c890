//! Packets beyond a gap: a ring of bits, and the blocks reported of it.
//!
//! *Idea.* The ring has one word within the receiver. A longer ring, and reported blocks, are cold state: allocated when first needed
//! and freed when the last gap is filled. The ACK policy, if the receiver has one, is part of the cold state.

use super::ack_policy::AckPolicy;
use super::sack_blocks::SackBlocks;
use crate::feedback::Block;
use std::ops::Range;

/// Packets held beyond the cumulative acknowledgement.
#[derive(Debug, Clone, Default)]
pub(super) struct OutOfOrder {
    /// Bit `seq mod ring length` is set when `seq` has arrived: in `Extension::far`, or here while that is empty.
    near: [u64; 1],
    more: Option<Box<Extension>>,
}

/// Cold state: what long gaps need, and what few receivers have.
#[derive(Debug, Clone, Default)]
#[repr(C)]
struct Extension {
    policy: Option<AckPolicy>,
    far: Vec<u64>,
    /// Blocks reported before.
    reported: SackBlocks,
}

impl Extension {
    /// The ring within the receiver is enough.
    fn is_near(&self) -> bool {
        self.far.is_empty()
    }
}

impl OutOfOrder {
    /// Nothing is held.
    pub(super) fn with(policy: Option<AckPolicy>) -> Self {
        let more = policy.map(|policy| Box::new(Extension { policy: Some(policy), ..Extension::default() }));
        OutOfOrder { near: [0], more }
    }

    /// `None` acknowledges every packet at once by a number.
    #[inline(always)]
    pub(super) fn policy(&self) -> Option<&AckPolicy> {
        self.more.as_ref()?.policy.as_ref()
    }

    #[inline(always)]
    pub(super) fn policy_mut(&mut self) -> Option<&mut AckPolicy> {
        self.more.as_mut()?.policy.as_mut()
    }

    /// Nothing is held any more.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.near = [0];
        if let Some(more) = &mut self.more {
            (more.far, more.reported) = Default::default();
            self.more.take_if(|more| more.policy.is_none());
        }
    }

    /// All packets held are within the word.
    #[inline(always)]
    fn is_near(&self) -> bool {
        self.more.as_ref().is_none_or(|more| more.is_near())
    }

    /// No gap is left that blocks have reported.
    #[inline]
    pub(super) fn forget_reported(&mut self) {
        if let Some(more) = &mut self.more
            && !more.reported.is_empty()
        {
            more.reported = SackBlocks::default();
        }
    }

    /// Blocks reported before.
    pub(super) fn reported(&mut self) -> &mut SackBlocks {
        &mut self.more.get_or_insert_default().reported
    }

    /// Packet `seq` arrives, and `next` is the next in order. Returns how many packets can be delivered then; `None` where the word
    /// is not enough.
    #[inline]
    pub(super) fn hold_near(&mut self, next: u32, seq: u32) -> Option<u32> {
        if !self.is_near() || seq - next >= u64::BITS {
            return None;
        }
        if seq == next {
            return self.hold_and_take(next, seq);
        }
        self.near[0] |= 1 << (seq % 64);
        Some(0)
    }

    /// [`OutOfOrder::hold_near`] for any packet within the word, in order or not, branchless.
    #[inline(always)]
    pub(super) fn hold_and_take(&mut self, next: u32, seq: u32) -> Option<u32> {
        if !self.is_near() {
            return None;
        }
        let held = self.near[0].rotate_right(next) | 1 << (seq - next);
        self.near[0] = (held & held.wrapping_add(1)).rotate_left(next); // without the run at its end
        Some(held.trailing_ones())
    }

    /// Makes the ring long enough for the packets within `reach` and all up to `seq`.
    #[inline]
    pub(super) fn reserve(&mut self, reach: Range<u32>, seq: u32) {
        let needed = (seq - reach.start) as usize / 64 + 1;
        if needed > self.ring().len() {
            self.lengthen(reach, needed.next_power_of_two());
        }
    }

    #[cold]
    fn lengthen(&mut self, reach: Range<u32>, words: usize) {
        let held: Vec<u32> = reach.filter(|&seq| self.has(seq)).collect();
        let far = &mut self.more.get_or_insert_default().far;
        far.clear();
        far.resize(words, 0);
        held.into_iter().for_each(|seq| self.set(seq, true));
    }

    pub(super) fn has(&self, seq: u32) -> bool {
        let ring = self.ring();
        ring[word(seq, ring)] >> (seq % 64) & 1 == 1
    }

    /// How many packets are held.
    pub(super) fn count(&self) -> u32 {
        self.ring().iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn set(&mut self, seq: u32, value: bool) {
        let ring = match &mut self.more {
            Some(more) if !more.far.is_empty() => &mut more.far[..],
            _ => &mut self.near[..],
        };
        let word = word(seq, ring);
        ring[word] = ring[word] & !(1 << (seq % 64)) | u64::from(value) << (seq % 64);
    }

    /// Removes the packets held in a row from the first of these on. Returns how many.
    pub(super) fn take_run(&mut self, reach: Range<u32>) -> u32 {
        if self.ring().len() == 1 {
            let (from, most) = (reach.start % 64, reach.end - reach.start);
            let run = self.near[0].rotate_right(from).trailing_ones().min(most);
            let taken = if run == 64 { u64::MAX } else { (1 << run) - 1 };
            self.near[0] &= !taken.rotate_left(from);
            return run;
        }
        let run = reach.clone().take_while(|&seq| self.has(seq)).count() as u32;
        reach.take(run as usize).for_each(|seq| self.set(seq, false));
        run
    }

    /// The run that `seq`, which is held, belongs to.
    pub(super) fn run(&self, seq: u32) -> Block {
        Block { start: self.run_start(seq), end: self.run_end(seq) }
    }

    fn run_end(&self, mut seq: u32) -> u32 {
        let ring = self.ring();
        loop {
            let ones = (ring[word(seq, ring)] >> (seq % 64)).trailing_ones();
            if ones < 64 - seq % 64 {
                return seq + ones;
            }
            seq += ones;
        }
    }

    /// The packet before the first one is missing.
    fn run_start(&self, mut seq: u32) -> u32 {
        let ring = self.ring();
        loop {
            let ones = (ring[word(seq, ring)] << (63 - seq % 64)).leading_ones();
            if ones <= seq % 64 {
                return seq + 1 - ones;
            }
            seq -= ones;
        }
    }

    fn ring(&self) -> &[u64] {
        match &self.more {
            Some(more) if !more.far.is_empty() => &more.far,
            _ => &self.near,
        }
    }
}

/// The word of a packet's bit; the length of a ring is a power of two.
fn word(seq: u32, ring: &[u64]) -> usize {
    (seq / 64) as usize & (ring.len() - 1)
}

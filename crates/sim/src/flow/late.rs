//! When packets that come late were first sent: those that a link dropped, and those that wait behind a gap.
//!
//! Any other packet is delivered the moment it arrives, and says itself when it was sent.
//!
//! *Idea.* A packet's place is its number modulo a power of two that is more than all that is late lies apart: a few places
//! lie with the receiver, more are asked for and given back. Packets are delivered in order, and leave their places then; so
//! nothing is searched for, and the processor has nothing to guess.

use paceline_core::Instant;
use std::hint::select_unpredictable;

/// Places at hand.
const NEAR: usize = 8;

/// First transmissions by packet number.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Late {
    /// In place of the near ones, where that many are too few: a power of two of them.
    far: Box<[Instant]>,
    /// So many of them are taken.
    count: u32,
    /// A cache line. [`Instant::MAX`] where nothing is.
    near: [Instant; NEAR],
}

impl Default for Late {
    fn default() -> Self {
        Late { near: [Instant::MAX; NEAR], far: Box::default(), count: 0 }
    }
}

impl Late {
    /// Packet `seq` was dropped, or arrived, where `next` was waited for, which is no later one: the earliest time counts.
    #[inline]
    pub(crate) fn note(&mut self, seq: u32, sent: Instant, next: u32) {
        if self.is_near(seq.wrapping_sub(next)) {
            return self.note_near(seq, sent);
        }
        let first = self.far_place(seq, next);
        let is_new = *first == Instant::MAX;
        *first = sent.min(*first);
        self.count += u32::from(is_new);
    }

    /// Packet `seq` is delivered, after all before it: when it was first sent, if it comes late; else [`Instant::MAX`].
    #[inline]
    pub(crate) fn take(&mut self, seq: u32) -> Instant {
        if self.far.is_empty() {
            return self.take_near(seq, true);
        }
        let place = &mut self.far[seq as usize & (self.far.len() - 1)];
        let first = std::mem::replace(place, Instant::MAX);
        self.count -= u32::from(first != Instant::MAX);
        if self.count == 0 {
            self.far = Box::default();
        }
        first
    }

    /// Whether the place of a packet so far beyond what is waited for is at hand, as all others are.
    #[inline(always)]
    pub(crate) fn is_near(&self, ahead: u32) -> bool {
        ahead < NEAR as u32 && self.far.is_empty()
    }

    /// As [`Self::note`], where that is so.
    #[inline(always)]
    pub(crate) fn note_near(&mut self, seq: u32, sent: Instant) {
        let place = &mut self.near[seq as usize % NEAR];
        *place = select_unpredictable(sent < *place, sent, *place);
    }

    /// As [`Self::take`], where all places are at hand, if it is delivered; else only looks.
    #[inline(always)]
    pub(crate) fn take_near(&mut self, seq: u32, is_delivered: bool) -> Instant {
        let place = &mut self.near[seq as usize % NEAR];
        let first = *place;
        *place = select_unpredictable(is_delivered, Instant::MAX, first);
        first
    }

    /// The place of packet `seq` among the far ones, which are made or made more where that is too far beyond `next`.
    #[inline(never)]
    fn far_place(&mut self, seq: u32, next: u32) -> &mut Instant {
        let ahead = (seq - next) as usize;
        if ahead >= self.far.len() {
            let mut longer = vec![Instant::MAX; (ahead + 1).next_power_of_two()].into_boxed_slice();
            let before = if self.far.is_empty() { &mut self.near[..] } else { &mut self.far[..] };
            let (places, more) = (before.len() - 1, longer.len() - 1);
            for seq in (next as usize..).take(before.len()) {
                longer[seq & more] = std::mem::replace(&mut before[seq & places], Instant::MAX);
            }
            self.count = longer.iter().filter(|first| **first < Instant::MAX).count() as u32;
            self.far = longer;
        }
        &mut self.far[seq as usize & (self.far.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_map_over_random_notes_and_deliveries_in_order() {
        let (mut late, mut map) = (Late::default(), BTreeMap::new());
        let (mut state, mut next) = (1_u64, 1_000_u32);
        for step in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 63 == 0 {
                let seq = next + (state >> 40) as u32 % (if step % 1000 < 900 { 10 } else { 90 });
                let sent = Instant::from_nanos(state >> 20 & 0xFFFF);
                late.note(seq, sent, next);
                map.entry(seq).and_modify(|first: &mut Instant| *first = sent.min(*first)).or_insert(sent);
            } else {
                assert_eq!(late.take(next), map.remove(&next).unwrap_or(Instant::MAX), "step {step}");
                next += 1;
            }
            assert!(!map.is_empty() || late.far.is_empty());
        }
    }
}

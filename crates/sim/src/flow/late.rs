//! When packets that come late were first sent: those that a link dropped, and those that wait behind a gap.
//!
//! Any other packet is delivered the moment it arrives, and says itself when it was sent.
//!
//! *Idea.* A packet's place is its number modulo a power of two that is more than all that is late lies apart: a few places
//! lie with the receiver, more are asked for and given back. Packets are delivered in order, and leave their places then; so
//! nothing is searched for, and the processor has nothing to guess.

use paceline_core::Instant;

/// Places at hand.
const NEAR: usize = 4;

/// First transmissions by packet number.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Late {
    /// [`Instant::MAX`] where nothing is.
    near: [Instant; NEAR],
    /// In their place, where that many are too few: a power of two of them.
    #[expect(clippy::box_collection, reason = "a pointer alone lies with the receiver")]
    far: Option<Box<Vec<Instant>>>,
    count: u32,
}

impl Default for Late {
    fn default() -> Self {
        Late { near: [Instant::MAX; NEAR], far: None, count: 0 }
    }
}

impl Late {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Packet `seq` was dropped, or arrived, where `next` was waited for, which is no later one: the earliest time counts.
    #[inline]
    pub(crate) fn note(&mut self, seq: u32, sent: Instant, next: u32) {
        let ahead = (seq - next) as usize;
        if ahead >= self.places().len() {
            self.grow(ahead, next);
        }
        let first = self.place(seq);
        let is_new = *first == Instant::MAX;
        *first = sent.min(*first);
        self.count += u32::from(is_new);
    }

    /// Packet `seq` is delivered, after all before it: when it was first sent, if it comes late.
    #[inline]
    pub(crate) fn take(&mut self, seq: u32) -> Option<Instant> {
        if self.count == 0 {
            return None;
        }
        let first = std::mem::replace(self.place(seq), Instant::MAX);
        self.count -= u32::from(first != Instant::MAX);
        if self.count == 0 && self.far.is_some() {
            self.far = None;
        }
        (first != Instant::MAX).then_some(first)
    }

    #[inline]
    fn places(&self) -> &[Instant] {
        self.far.as_ref().map_or(&self.near, |far| far)
    }

    #[inline]
    fn place(&mut self, seq: u32) -> &mut Instant {
        let places = self.far.as_mut().map_or(&mut self.near[..], |far| far);
        let place = seq as usize & (places.len() - 1);
        &mut places[place]
    }

    /// Room for a packet so far beyond `next`.
    #[cold]
    fn grow(&mut self, ahead: usize, next: u32) {
        let mut longer = vec![Instant::MAX; (ahead + 1).next_power_of_two()];
        let (before, mask) = (self.places().len(), longer.len() - 1);
        for seq in (next..).take(before) {
            longer[seq as usize & mask] = std::mem::replace(self.place(seq), Instant::MAX);
        }
        self.far = Some(Box::new(longer));
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
                let seq = next + (state >> 40) as u32 % (if step % 1000 < 900 { 6 } else { 90 });
                let sent = Instant::from_nanos(state >> 20 & 0xFFFF);
                late.note(seq, sent, next);
                map.entry(seq).and_modify(|first: &mut Instant| *first = sent.min(*first)).or_insert(sent);
            } else {
                assert_eq!(late.take(next), map.remove(&next), "step {step}");
                next += 1;
            }
            assert_eq!(late.is_empty(), map.is_empty());
        }
    }
}

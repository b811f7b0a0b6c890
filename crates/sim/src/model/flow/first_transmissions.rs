//! When packets that come late were first sent: those that a link dropped, and those that wait behind a gap.
//!
//! Any other packet is delivered the moment it arrives, and carries when it was sent.
//!
//! *Idea.* A packet's place is its number modulo a power of two that is more than all that is late lies apart: a few places
//! lie with the receiver; for what is too far ahead for them there are more, which are allocated and freed. Packets are delivered in
//! order, and leave their places then; so nothing is searched for, and no branch is unpredictable. Times at hand are
//! counted from one that lies half a second before the first of them, in 32 bits; what was sent too long before or after it goes to the
//! other places too.

use paceline_core::{Instant, Span};
use std::hint::select_unpredictable;

/// Places at hand.
const NEAR: usize = 8;
/// Places that are asked for first.
const FEW: usize = 32;
/// Nothing is in a place at hand.
const NONE: u32 = u32::MAX;
/// The first time at hand, counted from where times are.
const FIRST: Span = Span::from_nanos(1 << 29);

/// First transmissions by packet number: of each the earlier of those at hand and further away.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FirstTransmissions {
    /// Where times at hand are counted from.
    from: Instant,
    near: [u32; NEAR],
    /// What a place at hand does not do for.
    far: Option<Box<Far>>,
}

/// [`Instant::MAX`] where nothing is in a place.
#[derive(Debug)]
struct Far {
    /// So many places are taken.
    taken: u32,
    few: [Instant; FEW],
    /// In place of these, where they are too few: a power of two of them.
    many: Vec<Instant>,
}

impl Default for FirstTransmissions {
    fn default() -> Self {
        FirstTransmissions { from: Instant::ZERO, near: [NONE; NEAR], far: None }
    }
}

impl FirstTransmissions {
    /// Packet `seq` was dropped, or arrived, where `next` was waited for, which is no later one: the earliest time counts.
    #[inline]
    pub(crate) fn note(&mut self, seq: u32, sent: Instant, next: u32) {
        if !self.note_near(seq, sent, next) {
            self.note_far(seq, sent, next);
        }
    }

    #[inline(never)]
    fn note_far(&mut self, seq: u32, sent: Instant, next: u32) {
        let far = self.far.get_or_insert_with(Box::default);
        far.reach(seq, next);
        let first = far.place(seq);
        let is_new = *first == Instant::MAX;
        *first = sent.min(*first);
        far.taken += u32::from(is_new);
    }

    /// Packet `seq` is delivered, after all before it: when it was first sent, if it comes late; else [`Instant::MAX`].
    #[inline]
    pub(crate) fn take(&mut self, seq: u32) -> Instant {
        let first = std::mem::replace(&mut self.near[seq as usize % NEAR], NONE);
        let first = select_unpredictable(first == NONE, Instant::MAX, self.time_of(first));
        if self.far.is_some() { self.earlier_far(first, seq, true) } else { first }
    }

    /// When packet `seq`, where `next` is waited for, was first sent, as far as that has been noted; else [`Instant::MAX`].
    pub(crate) fn first(&mut self, seq: u32, next: u32) -> Instant {
        let ahead = seq.wrapping_sub(next) as usize;
        let near = Some(self.near[seq as usize % NEAR]).filter(|since| ahead < NEAR && *since != NONE);
        let near = near.map_or(Instant::MAX, |since| self.time_of(since));
        let Some(far) = &mut self.far else { return near };
        if ahead < far.places().len() { near.min(*far.place(seq)) } else { near }
    }

    /// The same of what is further away.
    fn take_far(&mut self, seq: u32) -> Instant {
        let Some(far) = &mut self.far else { return Instant::MAX };
        let first = std::mem::replace(far.place(seq), Instant::MAX);
        far.taken -= u32::from(first != Instant::MAX);
        if far.taken == 0 {
            self.far = None;
        }
        first
    }

    /// As [`Self::note`], where there is a place for it at hand; else returns false.
    #[inline(always)]
    pub(crate) fn note_near(&mut self, seq: u32, sent: Instant, next: u32) -> bool {
        if seq.wrapping_sub(next) >= NEAR as u32 {
            return false;
        }
        let mut since = self.since_start(sent);
        if since >= u64::from(NONE) {
            match self.count_anew(sent) {
                Some(first) => since = first,
                None => return false,
            }
        }
        let place = &mut self.near[seq as usize % NEAR];
        *place = (since as u32).min(*place);
        true
    }

    /// When packet `seq`, of which something has been noted at hand, was first sent; if it is delivered, it leaves its place.
    #[inline(always)]
    pub(crate) fn take_near(&mut self, seq: u32, is_delivered: bool) -> Instant {
        let place = &mut self.near[seq as usize % NEAR];
        let first = *place;
        *place = select_unpredictable(is_delivered, NONE, first);
        let first = self.time_of(first);
        if self.far.is_some() { self.earlier_far(first, seq, is_delivered) } else { first }
    }

    /// Few have anything there: that is tested first, for whether a packet is delivered is an unpredictable branch.
    #[cold]
    #[inline(never)]
    fn earlier_far(&mut self, first: Instant, seq: u32, is_delivered: bool) -> Instant {
        if is_delivered { first.min(self.take_far(seq)) } else { first }
    }

    #[inline(always)]
    fn time_of(&self, since: u32) -> Instant {
        self.from.later_by(Span::from_nanos(since.into()))
    }

    /// What is to be noted for `sent`; too much where it lies before all that can be.
    #[inline(always)]
    fn since_start(&self, sent: Instant) -> u64 {
        sent.as_nanos().wrapping_sub(self.from.as_nanos())
    }

    /// Times at hand are counted from another one, from which this one can be too, if there is any: what is to be noted for it.
    #[cold]
    #[inline(never)]
    fn count_anew(&mut self, sent: Instant) -> Option<u64> {
        let at_hand = self.near.map(|since| (since != NONE).then(|| self.time_of(since)));
        let all = || at_hand.into_iter().flatten().chain([sent]);
        let (first, last) = all().fold((sent, sent), |(first, last), time| (time.min(first), time.max(last)));
        let from = Instant::from_nanos(first.as_nanos().saturating_sub(FIRST.as_nanos()));
        if last.after(from).as_nanos() >= NONE.into() {
            return None;
        }
        self.near = at_hand.map(|time| time.map_or(NONE, |time| time.after(from).as_nanos() as u32));
        self.from = from;
        Some(self.since_start(sent))
    }
}

impl Default for Far {
    fn default() -> Self {
        Far { taken: 0, few: [Instant::MAX; FEW], many: Vec::new() }
    }
}

impl Far {
    fn places(&mut self) -> &mut [Instant] {
        if self.many.is_empty() { &mut self.few } else { &mut self.many }
    }

    #[inline]
    fn place(&mut self, seq: u32) -> &mut Instant {
        let places = self.places();
        &mut places[seq as usize & (places.len() - 1)]
    }

    /// There are places up to that of packet `seq`, where `next` is waited for.
    #[inline]
    fn reach(&mut self, seq: u32, next: u32) {
        if (seq - next) as usize >= self.places().len() {
            self.reach_further(seq, next);
        }
    }

    #[cold]
    fn reach_further(&mut self, seq: u32, next: u32) {
        let more = ((seq - next) as usize + 1).next_power_of_two();
        let mut many = vec![Instant::MAX; more];
        for seq in (next as usize..).take(self.places().len()) {
            many[seq & (more - 1)] = *self.place(seq as u32);
        }
        self.many = many;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_map_over_random_notes_and_deliveries_in_order() {
        let (mut late, mut map) = (FirstTransmissions::default(), BTreeMap::new());
        let (mut state, mut next) = (1_u64, 1_000_u32);
        for step in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Within microseconds, seconds, minutes: in 32 bits from the first of them, or not.
            let sent = Instant::from_nanos((state >> 20 & 0xFFFF) << (step / 12_500 * 4) | 1 << 40);
            if state >> 63 == 0 {
                let seq = next + (state >> 40) as u32 % (if step % 1000 < 900 { 10 } else { 90 });
                late.note(seq, sent, next);
                map.entry(seq).and_modify(|first: &mut Instant| *first = sent.min(*first)).or_insert(sent);
                continue;
            }
            for seq in next..next + 100 {
                assert_eq!(
                    late.first(seq, next),
                    map.get(&seq).copied().unwrap_or(Instant::MAX),
                    "step {step}"
                );
            }
            let noted = map.remove(&next).unwrap_or(Instant::MAX);
            if state >> 62 & 1 == 0 || !late.note_near(next, sent, next) {
                assert_eq!(late.take(next), noted, "step {step}");
            } else {
                late.take_near(next, false);
                assert_eq!(late.take_near(next, true), noted.min(sent), "step {step}");
            }
            next += 1;
            assert!(!map.is_empty() || late.far.is_none() && late.near == [NONE; NEAR]);
        }
    }
}

//! Who is alone: a window of time, cut into slots.
//!
//! *Idea.* A bit a slot says whether a packet comes in it. Who has a slot alone, and the one on each side empty, is no nearer to another
//! than a packet takes: so it waits for none, and none for it, unless others that are near to each other make a link
//! busy for longer. That is summed up over those others, in their order.

use paceline_core::{Instant, Span};

/// Packets so many slots apart are near.
const NEAR: u64 = 1;
/// Nanoseconds: what rounding may add to the times of a packet at two links, and of the one before.
const ROUNDING: u64 = 4;
/// Slots to a packet: with fewer, too many are near to each other; more cost more than they tell.
const FEWEST: u64 = 8;
const MOST: u64 = 32;
/// Nanoseconds in a window, for the products of [`Grid`] to be exact to one of them.
const LONGEST: u64 = 1 << 34;
/// One of so many may not be alone.
const FEW: usize = 4;
/// Words that stay in the closest cache.
const BLOCK: usize = 512;
/// Bits in a word.
const BITS: u64 = u64::BITS as u64;

/// The slots of a window.
#[derive(Debug, Default)]
pub(super) struct Slots {
    grid: Grid,
    /// Nanoseconds: a packet on the wire, at most.
    takes: u64,
    /// Links may be busy so long after the begin, with what came before.
    busy: u64,
    /// A packet comes; the first and the last word are empty.
    taken: Vec<u64>,
    /// One that is not alone comes.
    crowded: Vec<u64>,
    /// The slots of packets that come where one has come already.
    again: Vec<u64>,
    /// By packet: its slot; and how many have one.
    of: Vec<u32>,
    pub(super) marked: usize,
}

/// Marks the packets of a list.
pub(super) struct Marker<'a> {
    grid: Grid,
    /// When one is here that comes as the window begins, nanoseconds modulo 2^64.
    first: u64,
    /// Without the first word, which is empty.
    taken: &'a mut [u64],
    again: &'a mut Vec<u64>,
    of: &'a mut [u32],
    marked: usize,
}

/// How a window is cut.
#[derive(Debug, Clone, Copy, Default)]
struct Grid {
    from: Instant,
    /// Nanoseconds: all of it; those in a slot.
    span: u64,
    length: u64,
    /// 2^64 divided by the latter.
    scale: u64,
}

impl Grid {
    fn of((from, until): (Instant, Instant), length: u64) -> Self {
        Grid { from, span: until.since(from).as_nanos(), length, scale: u64::MAX / length }
    }

    /// The slot of so many nanoseconds from the begin on: slots may be longer by what 64 bits leave of a division.
    #[inline(always)]
    fn slot(self, after: u64) -> u64 {
        ((u128::from(after) * u128::from(self.scale)) >> BITS) as u64
    }

    /// This slot is over by then, with what it may be longer.
    fn end(self, slot: u64) -> u64 {
        (slot + 1) * self.length + 1
    }
}

impl Slots {
    /// Cuts a window for so many packets, which take so long at each link, where all links are free from a time on; whether so few
    /// are worth it.
    pub(super) fn cut(
        &mut self,
        window: (Instant, Instant),
        (takes, free_at): (Span, Instant),
        packets: usize,
    ) -> bool {
        let (takes, packets) = (takes.as_nanos(), packets as u64);
        let span = window.1.since(window.0).as_nanos();
        let least = (takes + 2 * ROUNDING).div_ceil(NEAR);
        if span / least < FEWEST * packets || span > LONGEST {
            return false;
        }
        self.grid = Grid::of(window, least.max(span / (MOST * packets)));
        (self.takes, self.busy) = (takes, free_at.since(window.0).as_nanos());
        let words = self.grid.slot(span) / BITS + 3;
        self.taken.clear();
        self.taken.resize(words as usize, 0);
        self.crowded.resize(words as usize, 0);
        self.again.clear();
        self.of.resize(packets as usize, 0);
        self.marked = 0;
        true
    }

    /// To mark packets that come so long after they are here.
    pub(super) fn marker(&mut self, ahead: Span) -> Marker<'_> {
        let Slots { grid, taken, again, of, marked, .. } = self;
        let first = grid.from.as_nanos().wrapping_sub(ahead.as_nanos());
        Marker { grid: *grid, first, taken: &mut taken[1..], again, of: &mut of[*marked..], marked: 0 }
    }

    /// So many have been marked by one.
    pub(super) fn are_marked(&mut self, packets: usize) {
        self.marked += packets;
    }

    /// All packets are marked: finds those that are not alone, their numbers in the order of marking, if they are few.
    pub(super) fn find_crowd(&mut self, numbers: &mut Vec<u32>) -> bool {
        let is_worth_it = self.mark_crowd() <= self.marked / FEW;
        if is_worth_it {
            self.crowd_of(numbers);
        }
        is_worth_it
    }

    /// Marks the slots of those that are not alone: how many are in them.
    #[inline(never)]
    fn mark_crowd(&mut self) -> usize {
        let Slots { grid, taken, crowded, again, .. } = self;
        again.sort_unstable();
        let (mut again, mut found) = (again.iter().copied().peekable(), 0);
        // Nobody is alone up to a slot that links may be busy in; nor at the end, for links to remember what is on the wire then.
        let mut busy = self.busy;
        let mut reached = grid.slot(busy + ROUNDING) + 1; // who comes the moment a link is free takes over fractions of a nanosecond
        let end = grid.slot(grid.span).saturating_sub(2 * NEAR);
        for begin in (1..taken.len() - 1).step_by(BLOCK) {
            let block = begin..(begin + BLOCK).min(taken.len() - 1);
            near(&taken[begin - 1..block.end + 1], &mut crowded[block.clone()]);
            let over = (block.end as u64 - 1) * BITS;
            for slot in again.clone().take_while(|slot| *slot < over) {
                crowded[(slot / BITS) as usize + 1] |= 1 << (slot % BITS);
            }
            for place in block {
                let first = (place as u64 - 1) * BITS;
                if reached > first || end < first + BITS {
                    crowded[place] |= taken[place] & (below(reached, first) | !below(end, first));
                }
                let mut rest = crowded[place];
                while rest != 0 {
                    let bit = rest.trailing_zeros();
                    let slot = first + u64::from(bit);
                    let mut packets = 1;
                    while again.next_if_eq(&slot).is_some() {
                        packets += 1;
                    }
                    found += packets as usize;
                    busy = busy.max(grid.end(slot)) + packets * (self.takes + ROUNDING / 2);
                    let reach = grid.slot(busy + ROUNDING) + 1;
                    if reach > slot + NEAR + 1 {
                        reached = reached.max(reach);
                        crowded[place] |= taken[place] & below(reached, first) & !1 << bit;
                    }
                    rest = crowded[place] & !1 << bit;
                }
            }
        }
        found
    }

    /// The numbers of those that come in these slots.
    #[inline(never)]
    fn crowd_of(&self, numbers: &mut Vec<u32>) {
        numbers.clear();
        numbers.resize(self.marked + 1, 0);
        let mut found = 0;
        for (number, &slot) in (0..).zip(&self.of[..self.marked]) {
            numbers[found] = number;
            let slot = u64::from(slot);
            found += (self.crowded[(slot / BITS) as usize + 1] >> (slot % BITS) & 1) as usize;
        }
        numbers.truncate(found);
    }
}

impl Marker<'_> {
    /// A packet is here at `at`: marks it, if it comes in the window; or else says no.
    #[inline(always)]
    pub(super) fn mark(&mut self, at: Instant) -> bool {
        let after = at.as_nanos().wrapping_sub(self.first);
        if after >= self.grid.span {
            return false;
        }
        let slot = self.grid.slot(after);
        let word = &mut self.taken[(slot / BITS) as usize];
        let bit = 1 << (slot % BITS);
        let is_taken = *word & bit != 0;
        *word |= bit;
        if is_taken {
            note_again(self.again, slot);
        }
        self.of[self.marked] = slot as u32;
        self.marked += 1;
        true
    }
}

/// Apart, so that marking stays in the registers.
#[inline(never)]
fn note_again(again: &mut Vec<u64>, slot: u64) {
    again.push(slot);
}

/// Of each word but the first and the last: which of its bits have others near.
fn near(words: &[u64], near: &mut [u64]) {
    for (near, words) in near.iter_mut().zip(words.windows(3)) {
        let [before, here, behind] = [words[0], words[1], words[2]];
        let over = before >> (BITS - 1) | behind << (BITS - 1);
        *near = here & (here << 1 | here >> 1 | over);
    }
}

/// Bits of the slots before this one, of those from `first` on.
fn below(slot: u64, first: u64) -> u64 {
    match slot.saturating_sub(first) {
        bits if bits >= BITS => u64::MAX,
        bits => !(u64::MAX << bits),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;
    use proptest::prelude::*;

    /// Packets that come to the first links at these times, each to one of several, then to a common one: when they come there, and
    /// which of them wait nowhere while nobody waits for them.
    fn alone(arrivals: &[(u64, usize)], (before, common): (u64, u64), busy: u64) -> Vec<bool> {
        let mut free = [0; 4];
        let mut order: Vec<usize> = (0..arrivals.len()).collect();
        order.sort_by_key(|&packet| arrivals[packet].0);
        let mut waits = vec![false; arrivals.len()];
        let mut next: Vec<(u64, usize)> = Vec::new();
        for packet in order {
            let (at, link) = arrivals[packet];
            waits[packet] |= free[link] >= at;
            free[link] = free[link].max(at) + before;
            next.push((free[link], packet));
        }
        next.sort_unstable();
        let mut free = busy;
        for (at, packet) in next {
            waits[packet] |= free >= at;
            free = free.max(at) + common;
        }
        waits.into_iter().map(|waits| !waits).collect()
    }

    proptest! {
        #[test]
        fn who_is_said_to_be_alone_waits_nowhere(
            gaps in prop::collection::vec((prop_oneof![12 => 400_u64..4_000, 1 => 0_u64..40], 0_usize..4), 8..200),
            common in 0_u64..90,
            faster in 0_u64..90,
            busy in prop_oneof![Just(0_u64), 0_u64..9_000],
        ) {
            let before = common.saturating_sub(faster);
            let arrivals: Vec<(u64, usize)> = gaps.iter().scan(10_000, |at, &(gap, link)| {
                *at += gap * gap / 1_000;
                Some((*at, link))
            }).collect();
            let window = (Instant::from_nanos(10_000), Instant::from_nanos(arrivals.last().unwrap().0 + 1_000));
            let mut slots = Slots::default();
            let free_at = Instant::from_nanos(10_000 + busy);
            if !slots.cut(window, (Span::from_nanos(common), free_at), arrivals.len()) {
                return Ok(());
            }
            let ahead = Span::from_nanos(before);
            let mut marker = slots.marker(ahead);
            let marked = arrivals.iter().filter(|(at, _)| marker.mark(Instant::from_nanos(*at))).count();
            prop_assert_eq!(marked, arrivals.len());
            slots.are_marked(marked);
            let mut crowd = Vec::new();
            if !slots.find_crowd(&mut crowd) {
                return Ok(());
            }
            prop_assert!(crowd.is_sorted() && crowd.len() <= marked / FEW);
            let alone = alone(&arrivals, (before, common), 10_000 + busy);
            for (packet, &alone) in (0..).zip(&alone) {
                prop_assert!(alone || crowd.contains(&packet), "{packet} at {:?}", arrivals[packet as usize]);
            }
        }
    }

    #[test]
    fn few_that_are_far_from_each_other_are_alone_but_at_the_ends() {
        let (window, takes) = ((Instant::ZERO, Instant::from_nanos(1_000_000)), Span::from_nanos(32));
        let mut slots = Slots::default();
        assert!(slots.cut(window, (takes, Instant::ZERO), 100));
        let mut marker = slots.marker(Span::ZERO);
        let at =
            |packet: u64| Instant::from_nanos(10_000 * packet + if packet % 10 == 9 { 9_990 } else { 0 });
        let marked = (0..100).filter(|packet| marker.mark(at(*packet))).count();
        assert!(!marker.mark(window.1));
        slots.are_marked(marked);
        let mut crowd = Vec::new();
        assert!(slots.find_crowd(&mut crowd));
        let near = (0..9).flat_map(|ten| [10 * ten + 9, 10 * ten + 10]);
        assert_eq!(crowd, [0].into_iter().chain(near).chain([99]).collect::<Vec<_>>());
        assert!(!slots.cut(window, (takes, Instant::ZERO), 10_000), "too many");
    }
}

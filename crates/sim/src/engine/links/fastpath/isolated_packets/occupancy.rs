//! Which packets are isolated: an epoch, cut into slots.
//!
//! *Idea.* A bit a slot says whether a packet comes in it. A packet that has a slot to itself, with an empty one on each side, is further
//! from any other than its service takes: it waits for none, and none for it, unless others that are near each other keep a link busy for
//! longer. These occupy as many slots as they are, from the end of theirs on; that is summed up over them, in their order.

use paceline_core::{Instant, Span};

/// Nanoseconds: what rounding may add to the times of a packet at two links, and of the one before.
const ROUNDING: u64 = 4;
/// Slots a packet: with fewer, too many are near to each other; more cost more than they gain.
const FEWEST: u64 = 8;
const MOST: u64 = 32;
/// Nanoseconds in an epoch, for the products of [`Grid`] to be exact to one of them.
const LONGEST: u64 = 1 << 32;
/// One of so many may not be isolated: beyond that it costs more than to serve all as usual.
const FEW: usize = 2;
/// Bits in a word.
const BITS: u64 = u64::BITS as u64;

/// The slots of an epoch.
#[derive(Debug, Default)]
pub(crate) struct Occupancy {
    grid: Grid,
    /// Links may be busy in so many slots, with what came before.
    busy: u64,
    /// A packet comes; before the first word and after the last is an empty one.
    taken: Vec<u64>,
    /// One that is not isolated comes.
    crowded: Vec<u64>,
    /// The slots of packets that come where one has come already.
    again: Vec<u64>,
    /// So many packets come; and so many of them are not isolated.
    pub(crate) marked: usize,
    pub(crate) crowd: usize,
}

/// Marks the packets of a list.
pub(crate) struct Marker<'a> {
    grid: Grid,
    taken: &'a mut [u64],
    again: &'a mut Vec<u64>,
}

/// How an epoch is cut: into whole words, so that what comes after it has no place in any.
#[derive(Debug, Clone, Copy, Default)]
struct Grid {
    /// When the epoch begins, nanoseconds modulo 2^64.
    from: u64,
    /// Words a nanosecond, times 2^64, rounded up: the last word is over when the epoch is, and slots are shorter than meant by less
    /// than a nanosecond.
    scale: u64,
}

impl Grid {
    /// The same for times at which packets are somewhere else, and come here so long after.
    fn seen_before(self, ahead: Span) -> Self {
        Grid { from: self.from.wrapping_sub(ahead.as_nanos()), ..self }
    }

    /// Which bit of which word a time is in.
    #[inline(always)]
    fn place(self, at: Instant) -> (usize, u64) {
        let words = u128::from(at.as_nanos().wrapping_sub(self.from)) * u128::from(self.scale);
        ((words >> 64) as usize, words as u64 / (1 << (64 - BITS.ilog2())))
    }

    /// Which slot.
    fn slot(self, at: Instant) -> u64 {
        let (word, bit) = self.place(at);
        word as u64 * BITS + bit
    }
}

impl Occupancy {
    /// Cuts an epoch for so many packets, which take so long at each link, where all links are free from a time on; whether so few
    /// are worth it.
    pub(crate) fn cut(
        &mut self,
        bounds: (Instant, Instant),
        (takes, free_at): (Span, Instant),
        packets: usize,
    ) -> bool {
        let (packets, span) = (packets as u64, bounds.1.since(bounds.0).as_nanos());
        let slots = span / (takes.as_nanos() + 2 * ROUNDING);
        let words = slots.min(MOST * packets) / BITS;
        if words == 0 || slots < FEWEST * packets || span >= LONGEST {
            return false;
        }
        let scale = (u128::from(words) << 64).div_ceil(u128::from(span)) as u64;
        self.grid = Grid { from: bounds.0.as_nanos(), scale };
        // A packet that comes the moment a link is free takes over fractions of a nanosecond.
        self.busy = self.grid.slot(free_at.clamp(bounds.0, bounds.1) + Span::from_nanos(ROUNDING)) + 1;
        self.taken.clear();
        self.taken.resize(words as usize + 2, 0);
        self.crowded.resize(words as usize, 0);
        self.again.clear();
        (self.marked, self.crowd) = (0, 0);
        true
    }

    /// To mark packets that come so long after they are here.
    pub(crate) fn marker(&mut self, ahead: Span) -> Marker<'_> {
        let Occupancy { grid, taken, crowded, again, .. } = self;
        Marker { grid: grid.seen_before(ahead), taken: &mut taken[1..=crowded.len()], again }
    }

    /// All packets are marked: finds those that are not isolated; whether they are few.
    pub(crate) fn find_crowd(&mut self) -> bool {
        self.crowd = self.mark_crowd();
        self.crowd <= self.marked / FEW
    }

    /// Marks the slots of those that are not isolated: how many are in them.
    #[inline(never)]
    fn mark_crowd(&mut self) -> usize {
        let Occupancy { taken, crowded, again, .. } = self;
        near(taken, crowded);
        again.sort_unstable();
        again.iter().for_each(|slot| crowded[(slot / BITS) as usize] |= 1 << (slot % BITS));
        let taken = &taken[1..];
        let end = crowded.len() as u64 * BITS;
        // No packet is isolated up to a slot that links may be busy in; nor at the end, for links to remember what is on the wire then.
        crowd(crowded, taken, (0, self.busy));
        crowd(crowded, taken, (end - 2, end));
        let (mut again, mut found) = (again.iter().copied(), 0);
        let mut next_again = again.next().unwrap_or(u64::MAX);
        let (mut busy, mut reached) = (self.busy, self.busy);
        for place in 0..crowded.len() {
            let mut rest = crowded[place];
            while rest != 0 {
                let bit = rest.trailing_zeros();
                let slot = place as u64 * BITS + u64::from(bit);
                let mut packets = 1;
                while next_again == slot {
                    packets += 1;
                    next_again = again.next().unwrap_or(u64::MAX);
                }
                found += packets as usize;
                busy = busy.max(slot + 1) + packets; // none takes longer than a slot, and rounding
                if busy > slot + 2 {
                    crowd(crowded, taken, (reached.max(slot + 1), busy));
                    reached = busy;
                }
                rest = crowded[place] & !1 << bit;
            }
        }
        found
    }

    /// Which of the packets that are here at these times, and come so long after, are not isolated: their numbers.
    #[inline(never)]
    pub(crate) fn crowd_of<'a>(
        &self,
        ahead: Span,
        times: impl ExactSizeIterator<Item = Instant>,
        room: &'a mut Vec<u32>,
    ) -> &'a [u32] {
        let (grid, crowded) = (self.grid.seen_before(ahead), &self.crowded[..]);
        room.resize(room.len().max(times.len()), 0);
        let numbers = &mut room[..];
        let mut found = 0;
        for (number, at) in (0..).zip(times) {
            numbers[found] = number;
            let (word, bit) = grid.place(at);
            found += (crowded[word] >> bit & 1) as usize;
        }
        &numbers[..found]
    }
}

impl Marker<'_> {
    /// A packet is here at `at`: marks it and returns `true`, if it comes in the epoch.
    #[inline(always)]
    pub(crate) fn mark(&mut self, at: Instant) -> bool {
        let (place, bit) = self.grid.place(at);
        let Some(word) = self.taken.get_mut(place) else { return false };
        let is_taken = *word >> bit & 1 != 0;
        *word |= 1 << bit;
        if is_taken {
            note_again(self.again, place as u64 * BITS + bit);
        }
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
        let [before, here, downstream] = [words[0], words[1], words[2]];
        let over = before >> (BITS - 1) | downstream << (BITS - 1);
        *near = here & (here << 1 | here >> 1 | over);
    }
}

/// No packet is isolated that comes in one of these slots. Apart, so that [`Occupancy::mark_crowd`] stays in the registers.
#[inline(never)]
fn crowd(crowded: &mut [u64], taken: &[u64], (from, until): (u64, u64)) {
    let words = (from / BITS) as usize..crowded.len().min(until.div_ceil(BITS) as usize);
    for place in words {
        let first = place as u64 * BITS;
        crowded[place] |= taken[place] & below(until, first) & !below(from, first);
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
            let mut slots = Occupancy::default();
            let free_at = Instant::from_nanos(10_000 + busy);
            if !slots.cut(window, (Span::from_nanos(common), free_at), arrivals.len()) {
                return Ok(());
            }
            let ahead = Span::from_nanos(before);
            let times = arrivals.iter().map(|(at, _)| Instant::from_nanos(*at));
            let mut marker = slots.marker(ahead);
            slots.marked = times.clone().filter(|at| marker.mark(*at)).count();
            prop_assert_eq!(slots.marked, arrivals.len());
            if !slots.find_crowd() {
                return Ok(());
            }
            let mut room = Vec::new();
            let crowd = slots.crowd_of(ahead, times, &mut room);
            prop_assert!(crowd.is_sorted() && crowd.len() == slots.crowd && crowd.len() <= arrivals.len() / FEW);
            let alone = alone(&arrivals, (before, common), 10_000 + busy);
            for (packet, &alone) in (0..).zip(&alone) {
                prop_assert!(alone || crowd.contains(&packet), "{packet} at {:?}", arrivals[packet as usize]);
            }
        }
    }

    #[test]
    fn few_that_are_far_from_each_other_are_alone_but_at_the_ends() {
        let (window, takes) = ((Instant::ZERO, Instant::from_nanos(1_000_000)), Span::from_nanos(32));
        let mut slots = Occupancy::default();
        assert!(slots.cut(window, (takes, Instant::ZERO), 100));
        let mut marker = slots.marker(Span::ZERO);
        let at =
            |packet: u64| Instant::from_nanos(10_000 * packet + if packet % 10 == 9 { 9_990 } else { 0 });
        let marked = (0..100).filter(|packet| marker.mark(at(*packet))).count();
        assert!(!marker.mark(window.1));
        slots.marked = marked;
        assert!(slots.find_crowd());
        let mut room = Vec::new();
        let times: Vec<Instant> = (0..100).map(at).collect();
        let crowd = slots.crowd_of(Span::ZERO, times.into_iter(), &mut room);
        let near = (0..9).flat_map(|ten| [10 * ten + 9, 10 * ten + 10]);
        assert_eq!(crowd, [0].into_iter().chain(near).chain([99]).collect::<Vec<_>>());
        assert!(!slots.cut(window, (takes, Instant::ZERO), 10_000), "too many");
    }
}

//! The calendar of future events: a timing wheel.
//!
//! *Idea.* Time is cut into slots of 2^shift nanoseconds; a wheel of slots covers the near future, each slot a sorted
//! list of events, with a bitmap (and a bitmap of that bitmap) to find the next that is not empty. Where slots hold about
//! one event each, push and pop cost a few nanoseconds whatever the number of events. Events beyond the wheel wait in one
//! list a revolution and are dealt out when their revolution begins. The slot width follows the events' density.
//!
//! *Where it breaks.* Many events at one instant make one list long: a push then walks it (O(events of that slot)).
//! *References.* R. Brown, "Calendar queues" (CACM 1988); G. Varghese and T. Lauck, "Hashed and hierarchical timing
//! wheels" (SOSP 1987).

use crate::packet::Event;
use paceline_core::Instant;
use std::collections::BTreeMap;

const LOG_SLOTS: u32 = 14;
const SLOTS: u64 = 1 << LOG_SLOTS;
/// No event: the end of a list.
const NONE: u32 = u32::MAX;
/// After this many pops the slot width is looked at again.
const RETUNE_EVERY: u64 = 1 << 17;
/// Slots are narrowed or widened so that a slot that is passed holds about one event in the steady state.
const DENSEST: u64 = 2;

/// Future events in the total order of [`Event::precedes`]; equal ones in the order of their insertion.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// log2 of the slot width in nanoseconds.
    shift: u32,
    /// The slot (counted from time zero) that is being emptied; nothing lies before it.
    slot: u64,
    /// First event of each slot of the wheel: index into `events`.
    heads: Vec<u32>,
    /// Bit set where `heads` holds a list, and bit set where a word of that is not zero.
    occupied: Vec<u64>,
    occupied_words: Vec<u64>,
    events: Vec<Event>,
    /// The next event of the same list (a slot's, a far revolution's, or the free list), by index.
    links: Vec<u32>,
    free: u32,
    /// Events beyond the wheel by revolution: unordered lists.
    far: BTreeMap<u64, u32>,
    /// First revolution in `far`, `u64::MAX` if none.
    next_far: u64,
    len: usize,
    pops: u64,
    /// Where the last look at the slot width was.
    tuned_at: (u64, u64),
}

impl Calendar {
    pub(crate) fn new() -> Self {
        Calendar {
            shift: 13,
            slot: 0,
            heads: vec![NONE; SLOTS as usize],
            occupied: vec![0; SLOTS as usize / 64],
            occupied_words: vec![0; SLOTS as usize / 4096],
            events: Vec::new(),
            links: Vec::new(),
            free: NONE,
            far: BTreeMap::new(),
            next_far: u64::MAX,
            len: 0,
            pops: 0,
            tuned_at: (0, 0),
        }
    }

    /// Events held.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds an event. It must not lie before the last one popped.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.len += 1;
        let index = if self.free == NONE {
            self.events.push(event);
            self.links.push(NONE);
            self.events.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = self.links[index as usize];
            self.events[index as usize] = event;
            index
        };
        self.place(index);
    }

    /// The next event, if it lies before `end`.
    #[inline]
    pub(crate) fn pop_before(&mut self, end: Instant) -> Option<Event> {
        let mut head = self.heads[(self.slot % SLOTS) as usize];
        if head == NONE {
            self.advance()?;
            head = self.heads[(self.slot % SLOTS) as usize];
        }
        let event = self.events[head as usize];
        if event.at >= end {
            return None;
        }
        let next = self.links[head as usize];
        self.heads[(self.slot % SLOTS) as usize] = next;
        if next == NONE {
            self.clear_bit(self.slot % SLOTS);
        }
        self.links[head as usize] = self.free;
        self.free = head;
        self.len -= 1;
        self.pops += 1;
        if self.pops & (RETUNE_EVERY - 1) == 0 {
            self.retune();
        }
        Some(event)
    }

    /// All events, in no order: for counting what is under way.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Event> {
        let lists = self.heads.iter().chain(self.far.values()).copied();
        lists.flat_map(|head| {
            std::iter::successors((head != NONE).then_some(head), |&index| {
                let next = self.links[index as usize];
                (next != NONE).then_some(next)
            })
            .map(|index| &self.events[index as usize])
        })
    }

    /// Links the event at `index` into its slot, or into its far revolution.
    #[inline]
    fn place(&mut self, index: u32) {
        let event = self.events[index as usize];
        let slot = (event.at.as_nanos() >> self.shift).max(self.slot);
        if slot >= self.slot + SLOTS {
            let revolution = slot >> LOG_SLOTS;
            let head = self.far.entry(revolution).or_insert(NONE);
            self.links[index as usize] = *head;
            *head = index;
            self.next_far = self.next_far.min(revolution);
            return;
        }
        let position = (slot % SLOTS) as usize;
        let mut at = self.heads[position];
        if at == NONE {
            self.occupied[position / 64] |= 1 << (position % 64);
            self.occupied_words[position / 4096] |= 1 << (position / 64 % 64);
        }
        if at == NONE || event.precedes(&self.events[at as usize]) {
            self.links[index as usize] = at;
            self.heads[position] = index;
            return;
        }
        loop {
            let next = self.links[at as usize];
            if next == NONE || event.precedes(&self.events[next as usize]) {
                self.links[index as usize] = next;
                self.links[at as usize] = index;
                return;
            }
            at = next;
        }
    }

    /// Moves to the next slot that holds an event.
    #[inline]
    fn advance(&mut self) -> Option<()> {
        loop {
            match self.next_occupied() {
                Some(slot) if slot >> LOG_SLOTS < self.next_far => {
                    self.slot = slot;
                    return Some(());
                }
                _ if self.next_far == u64::MAX => return None,
                _ => self.deal_out(),
            }
        }
    }

    /// The first slot at or after the present one that holds an event.
    #[inline]
    fn next_occupied(&self) -> Option<u64> {
        let here = (self.slot % SLOTS) as usize;
        let word = self.occupied[here / 64] >> (here % 64);
        if word != 0 {
            return Some(self.slot + u64::from(word.trailing_zeros()));
        }
        let words = self.occupied.len();
        let mut index = here / 64 + 1; // up to one full turn, this word's low bits last
        while index <= here / 64 + words {
            let summary = self.occupied_words[index % words / 64] >> (index % 64);
            if summary == 0 {
                index += 64 - index % 64;
                continue;
            }
            index += summary.trailing_zeros() as usize;
            if index > here / 64 + words {
                break;
            }
            let bit = self.occupied[index % words].trailing_zeros() as usize;
            return Some(self.slot - (self.slot % 64) + ((index - here / 64) * 64 + bit) as u64);
        }
        None
    }

    /// Begins the first far revolution: its events go to their slots.
    #[cold]
    fn deal_out(&mut self) {
        let Some((revolution, mut index)) = self.far.pop_first() else { return };
        self.slot = self.slot.max(revolution << LOG_SLOTS);
        self.next_far = self.far.first_key_value().map_or(u64::MAX, |(&revolution, _)| revolution);
        self.deal(&mut index);
    }

    fn deal(&mut self, index: &mut u32) {
        while *index != NONE {
            let next = self.links[*index as usize];
            self.place(*index);
            *index = next;
        }
    }

    #[inline]
    fn clear_bit(&mut self, position: u64) {
        let position = position as usize;
        self.occupied[position / 64] &= !(1 << (position % 64));
        if self.occupied[position / 64] == 0 {
            self.occupied_words[position / 4096] &= !(1 << (position / 64 % 64));
        }
    }

    /// Fits the slot width to how many slots the last pops have passed.
    #[cold]
    fn retune(&mut self) {
        let now = self.slot << self.shift;
        let (pops, then) = self.tuned_at;
        self.tuned_at = (self.pops, now);
        let slots = ((now - then) >> self.shift).max(1);
        let popped = self.pops - pops;
        let shift = if popped > slots * DENSEST && self.shift > 0 {
            self.shift - (popped / slots).ilog2().min(self.shift)
        } else if popped * 8 < slots {
            (self.shift + (slots / popped).ilog2() - 1).min(30)
        } else {
            return;
        };
        if shift == self.shift {
            return;
        }
        let lists: Vec<u32> = self.heads.iter().chain(self.far.values()).copied().filter(|&head| head != NONE).collect();
        self.heads.fill(NONE);
        self.occupied.fill(0);
        self.occupied_words.fill(0);
        self.far.clear();
        self.next_far = u64::MAX;
        self.shift = shift;
        self.slot = now >> shift;
        for mut index in lists {
            self.deal(&mut index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;

    fn event(at: u64, flow: u32) -> Event {
        Event::of_flow(Instant::from_nanos(at), 0, Kind::Arrival, flow)
    }

    /// Random pushes and pops against a sorted list, over densities from many events a slot to one in many revolutions.
    #[test]
    fn agrees_with_a_sorted_list() {
        let mut state = 12345_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) % below
        };
        for spread in [10, 100_000, 500_000_000, 100_000_000_000] {
            let mut calendar = Calendar::new();
            let mut model: BTreeMap<(u64, u32, u64), ()> = BTreeMap::new();
            let (mut now, mut count) = (0, 0);
            for _ in 0..300_000 {
                if model.len() < 50 || draw(2) == 0 {
                    let (at, flow) = (now + draw(spread), draw(5) as u32);
                    calendar.push(event(at, flow));
                    model.insert((at, flow, count), ());
                    count += 1;
                } else {
                    let ((at, flow, _), ()) = model.pop_first().unwrap();
                    let popped = calendar.pop_before(Instant::MAX).unwrap();
                    assert_eq!((popped.at.as_nanos(), popped.flow()), (at, flow));
                    now = at;
                }
            }
            assert_eq!(calendar.len(), model.len());
            assert_eq!(calendar.iter().count(), model.len());
            while let Some(((at, flow, _), ())) = model.pop_first() {
                let popped = calendar.pop_before(Instant::MAX).unwrap();
                assert_eq!((popped.at.as_nanos(), popped.flow()), (at, flow));
            }
            assert!(calendar.pop_before(Instant::MAX).is_none());
        }
    }

    #[test]
    fn nothing_at_or_after_the_end_is_popped() {
        let mut calendar = Calendar::new();
        calendar.push(event(100, 0));
        assert!(calendar.pop_before(Instant::from_nanos(100)).is_none());
        calendar.push(event(50, 1));
        assert_eq!(calendar.pop_before(Instant::from_nanos(100)).unwrap().flow(), 1);
        assert_eq!(calendar.pop_before(Instant::from_nanos(101)).unwrap().flow(), 0);
    }
}

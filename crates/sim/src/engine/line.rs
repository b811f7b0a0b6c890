//! Lining up the packets that reach a link within a window, in the total order.
//!
//! *Idea.* Arrivals come as they were sent, from several links: nearly sorted at best. A window of time is cut into two to
//! four slots a packet; one pass counts the packets of each slot, one puts each packet into its place, and one
//! of insertions puts right the few that share a slot.
//! *Where it breaks.* All packets of a window in one slot: insertion is then quadratic, so such a line is sorted by merging.
//! *References.* D. Knuth, "The art of computer programming" 3, 5.2.1 (distribution) and 5.2.5.

use crate::packet::{Event, Kind};
use paceline_core::Instant;
use std::cmp::Ordering;

/// Below this number there is nothing to gain from slots.
const FEW: usize = 16;
/// A line in which packets move further than this on average is sorted by merging.
const FAR: usize = 8;

/// Packets in order, and the memory to put them so, which stays.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// By slot: how many packets, then where the next of them goes.
    slots: Vec<u32>,
    /// The packets that are due, the others, and what was here before.
    places: Vec<Event>,
    due: usize,
    packets: usize,
}

impl Sorter {
    /// The packets of the window, in order.
    pub(super) fn due(&self) -> &[Event] {
        &self.places[..self.due]
    }

    /// The others.
    pub(super) fn later(&self) -> &[Event] {
        &self.places[self.due..self.packets]
    }

    /// Lines up the packets of these lists before `end`, equal ones as they came. None lies before `from`.
    pub(super) fn line_up(&mut self, lists: &[&[Event]], (from, end): (Instant, Instant)) {
        self.packets = lists.iter().map(|list| list.len()).sum();
        if self.places.len() < self.packets {
            self.places.resize(self.packets, Event::of_flow(from, 0, Kind::Arrival, 0));
        }
        if self.packets > FEW {
            return self.deal(lists, (from, end));
        }
        let all = || lists.iter().copied().flatten();
        let due = all().filter(|event| event.at < end);
        let later = all().filter(|event| event.at >= end);
        self.due = due.clone().count();
        self.places.iter_mut().zip(due.chain(later)).for_each(|(place, event)| *place = *event);
        insert(&mut self.places[..self.due]);
    }

    /// The same of many packets: those of the slots up to `end` in order, the others behind them.
    #[inline(always)]
    fn deal(&mut self, lists: &[&[Event]], (from, end): (Instant, Instant)) {
        let span = end.since(from).as_nanos();
        let bits = self.packets.ilog2() + 2;
        let shift = (u64::BITS - span.leading_zeros()).saturating_sub(bits);
        let behind = (span >> shift) + 1;
        let first = from.as_nanos();
        let slot = |event: &Event| (event.at.as_nanos().wrapping_sub(first) >> shift).min(behind) as usize;
        self.slots.clear();
        self.slots.resize(behind as usize + 1, 0);
        for list in lists {
            for event in *list {
                self.slots[slot(event)] += 1;
            }
        }
        let mut before = 0;
        for count in &mut self.slots[..behind as usize] {
            before += std::mem::replace(count, before);
        }
        self.slots[behind as usize] = before;
        let places = &mut self.places[..self.packets];
        for list in lists {
            for event in *list {
                let next = &mut self.slots[slot(event)];
                places[*next as usize] = *event;
                *next += 1;
            }
        }
        let in_order = &mut places[..before as usize];
        insert(in_order);
        self.due = in_order.len() - in_order.iter().rev().take_while(|event| event.at >= end).count();
    }
}

/// Insertion sort: a step a packet where they are in order already.
fn insert(line: &mut [Event]) {
    let Some(first) = line.first() else { return };
    let (mut latest, mut steps) = (first.at, line.len() * FAR);
    for next in 1..line.len() {
        let at = line[next].at;
        if at > latest {
            latest = at;
            continue;
        }
        match steps.checked_sub(sink(&mut line[..=next])) {
            Some(left) => steps = left,
            None => return line.sort_by(in_line),
        }
    }
}

/// Moves the last of these packets to where it belongs among those before it, which are in order: over how many.
#[inline(never)]
fn sink(line: &mut [Event]) -> usize {
    let Some(&event) = line.last() else { return 0 };
    let mut place = line.len() - 1;
    while place > 0 && in_line(&event, &line[place - 1]).is_lt() {
        line[place] = line[place - 1];
        place -= 1;
    }
    line[place] = event;
    line.len() - 1 - place
}

/// The order of arrivals at one link: what hosts have sent there at the same instant comes last, as they sent it.
#[inline]
fn in_line(one: &Event, other: &Event) -> Ordering {
    one.at.cmp(&other.at).then_with(|| match (one.kind, other.kind) {
        (Kind::Arrival, Kind::Arrival) => (one.flow, one.hop()).cmp(&(other.flow, other.hop())),
        kinds => kinds.0.cmp(&kinds.1),
    })
}

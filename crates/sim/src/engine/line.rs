//! Lining up the packets that reach a link within a window, in the total order.
//!
//! *Idea.* Arrivals come as they were sent, from several links: nearly sorted at best. A window of time is cut into about
//! as many slots as it has packets; one pass counts the packets of each slot, one puts each packet into its place, and one
//! of insertions puts right the few that share a slot.
//! *Where it breaks.* All packets of a window in one slot: insertion is then quadratic, so such a line is sorted by merging.
//! *References.* D. Knuth, "The art of computer programming" 3, 5.2.1 (distribution) and 5.2.5.

use crate::packet::{Event, Kind};
use paceline_core::Instant;
use std::cmp::Ordering;

/// Below this number there is nothing to gain from slots.
const FEW: usize = 16;
/// More packets than this in one slot are sorted by merging.
const CROWD: u32 = 32;

/// Memory for the slots.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// By slot: how many packets, then where the next of them goes.
    slots: Vec<u32>,
}

impl Sorter {
    /// Moves the arrivals before `end` to `line`, in order; equal ones stay as they came. None lies before `from`.
    pub(super) fn sort(
        &mut self,
        arrivals: &mut Vec<Event>,
        from: Instant,
        end: Instant,
        line: &mut Vec<Event>,
    ) {
        line.clear();
        let count = arrivals.len();
        if count <= FEW {
            line.extend(arrivals.extract_if(.., |event| event.at < end));
            insert(line);
            return;
        }
        let slots = count.next_power_of_two().ilog2();
        let shift = (end.since(from).as_nanos().max(1).ilog2() + 1).saturating_sub(slots);
        let slot = |event: &Event| (event.at.since(from).as_nanos() >> shift) as usize;
        self.slots.clear();
        self.slots.resize((1 << slots) + 1, 0);
        let mut due = 0;
        for event in arrivals.iter().filter(|event| event.at < end) {
            self.slots[slot(event) + 1] += 1;
            due += 1;
        }
        let mut fullest = 0;
        for slot in 1..self.slots.len() {
            fullest = self.slots[slot].max(fullest);
            self.slots[slot] += self.slots[slot - 1];
        }
        line.resize(due, arrivals[0]);
        let mut later = 0;
        for index in 0..count {
            let event = arrivals[index];
            if event.at < end {
                let place = &mut self.slots[slot(&event)];
                line[*place as usize] = event;
                *place += 1;
            } else {
                arrivals[later] = event;
                later += 1;
            }
        }
        arrivals.truncate(later);
        if fullest > CROWD { line.sort_by(in_line) } else { insert(line) }
    }
}

/// Insertion sort: a step a packet where they are in order already.
fn insert(line: &mut [Event]) {
    for next in 1..line.len() {
        if line[next - 1].at < line[next].at {
            continue;
        }
        let event = line[next];
        let mut place = next;
        while place > 0 && in_line(&event, &line[place - 1]).is_lt() {
            line[place] = line[place - 1];
            place -= 1;
        }
        line[place] = event;
    }
}

/// The order of arrivals at one link: what hosts have sent there at the same instant comes last, as they sent it.
#[inline]
fn in_line(one: &Event, other: &Event) -> Ordering {
    one.at.cmp(&other.at).then_with(|| match (one.kind, other.kind) {
        (Kind::Arrival, Kind::Arrival) => (one.flow, one.hop()).cmp(&(other.flow, other.hop())),
        kinds => kinds.0.cmp(&kinds.1),
    })
}

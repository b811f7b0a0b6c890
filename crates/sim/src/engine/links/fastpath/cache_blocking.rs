//! Cache blocking: the packets of an epoch are sorted and served block by block.
//!
//! *Idea.* What links send is in order. So where a link is fed by links alone, its epoch can be cut into blocks that stay in the caches:
//! each is sorted, served and passed on before the next.
//! *Where it breaks.* What hosts send comes flow by flow: all of it has to be there before the first packet is known.
//! *What it buys.* Without it 10,000 flows take 3 to 8 % more time (`benches/ablation.py --path cache-blocking`).

use crate::engine::links::merge_buffer::{MergeBuffer, Order};
use crate::kernel::packet::Event;
use paceline_core::{Instant, Span};

/// Packets in a block. In tests there are blocks everywhere.
pub(crate) const BLOCK: usize = if cfg!(debug_assertions) { 1 << 3 } else { 1 << 13 };

/// What has reached a link, and how far it has been sorted.
pub(crate) struct Blocks<'a> {
    /// What is left of each list.
    rests: Vec<&'a [Event]>,
    from: Instant,
    end: Instant,
    made: u64,
    all: u64,
}

impl<'a> Blocks<'a> {
    /// None yet of the packets from `from` to `end` in these lists, none of which has any before. If `in_order`, each is but
    /// for the first, which is what was left of several, and is sorted here.
    pub(crate) fn of(
        first: &'a mut [Event],
        others: impl Iterator<Item = &'a [Event]>,
        (from, end): (Instant, Instant),
        in_order: bool,
    ) -> Self {
        let mut rests: Vec<&[Event]> = others.collect();
        let packets = first.len() + rests.iter().map(|list| list.len()).sum::<usize>();
        let all = if in_order && crate::ablation::FastPath::CacheBlocking.is_on() {
            packets / BLOCK + 1
        } else {
            1
        };
        if all > 1 {
            first.sort_by_key(|event| event.at);
        }
        rests.insert(0, first); // what is equal stays as it came
        Blocks { rests, from, end, made: 0, all: all as u64 }
    }

    /// Sorts the next one. Returns its end; `None` after the last.
    pub(crate) fn sort(&mut self, sorter: &mut MergeBuffer, order: impl Order) -> Option<Instant> {
        if self.made == self.all {
            return None;
        }
        let (begin, end) = (self.start_of(self.made), self.start_of(self.made + 1));
        if self.all == 1 {
            sorter.sort(&self.rests, (begin, end), order);
        } else {
            let due = self.rests.iter_mut().map(|rest| {
                let (due, later) = rest.split_at(rest.partition_point(|event| event.at < end));
                *rest = later;
                due
            });
            sorter.sort(&due.collect::<Vec<_>>(), (begin, end), order);
        }
        self.made += 1;
        Some(end)
    }

    fn start_of(&self, block: u64) -> Instant {
        let bounds = self.end.since(self.from).as_nanos();
        self.from + Span::from_nanos(bounds / self.all * block + bounds % self.all * block / self.all)
    }

    /// After the last block, what comes later goes to this list; that was the last one's sorter.
    pub(crate) fn keep(self, sorter: &MergeBuffer, later: &mut Vec<Event>) {
        later.clear();
        if self.all == 1 {
            later.extend_from_slice(sorter.later());
        } else {
            self.rests.iter().for_each(|rest| later.extend_from_slice(rest));
        }
    }
}

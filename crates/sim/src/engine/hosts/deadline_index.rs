//! Deadline index: when the next timer of each sender is due, or of each receiver.
//!
//! *Idea.* An end whose links are private (`Flow::is_free`) needs no order with other flows. So its timers are no events in the calendar:
//! the index knows when the next one of each flow is due, and flows run theirs epoch by epoch. An acknowledgement that moves a timer
//! changes a number, no more. Flows with due timers are found by groups: each has a time before which none of its flows has one due, and
//! so has each group of groups.

use paceline_core::Instant;
use std::hint::select_unpredictable;

/// Flows, or groups, in a group.
const GROUP: usize = 16;

/// So few groups are searched, whatever their bounds: these cover other flows too.
const FEW_GROUPS: usize = if cfg!(debug_assertions) { 1 } else { 8 };

/// What waits for its time, by flow.
#[derive(Debug, Default)]
pub(crate) struct DeadlineIndex {
    /// The number of the first flow, and how many there are.
    first: usize,
    flows: usize,
    groups: Vec<Group>,
    /// By group of groups, and so on up to a single one: none of its timers runs out before.
    least: Vec<Instant>,
    /// Where each level of these begins.
    levels: Vec<usize>,
}

/// Flows beside each other.
#[derive(Debug, Clone)]
struct Group {
    /// When the first timer of each runs out.
    due: [Instant; GROUP],
    /// None of them runs out before.
    least: Instant,
}

impl DeadlineIndex {
    /// It is about no flow at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Nothing yet, for so many flows from this number on.
    pub(crate) fn of(first: usize, flows: usize) -> Self {
        let none = Group { due: [Instant::MAX; GROUP], least: Instant::MAX };
        let groups = vec![none; flows.div_ceil(GROUP).max(1)];
        let (mut levels, mut members, mut end) = (Vec::new(), groups.len(), 0);
        while members > 1 || levels.is_empty() {
            levels.push(end);
            members = members.div_ceil(GROUP);
            end += members;
        }
        DeadlineIndex { first, flows, groups, least: vec![Instant::MAX; end], levels }
    }

    /// The next timer of this flow is due then.
    #[inline(always)]
    pub(crate) fn note(&mut self, flow: u32, due: Instant) {
        self.put(flow as usize - self.first, due);
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, position: usize, due: Instant) {
        let group = &mut self.groups[position / GROUP];
        group.due[position % GROUP] = due;
        if due < group.least {
            self.hasten(position / GROUP, due);
        }
    }

    /// This group has a timer that runs out sooner, and so have those that it is in.
    #[inline(never)]
    fn hasten(&mut self, group: usize, due: Instant) {
        self.groups[group].least = due;
        let mut member = group;
        for level in &self.levels {
            member /= GROUP;
            let least = &mut self.least[level + member];
            *least = due.min(*least);
        }
    }

    /// Takes out the flows whose timers run out before `end`, in order: each is to be noted anew.
    pub(super) fn pop_before(&mut self, end: Instant, due: &mut Vec<u32>) {
        if !self.is_empty() {
            self.pop_groups((self.levels.len(), 0), end, due);
        }
    }

    /// The same of a group of groups, by its level and its place there. Returns before when none of its timers runs out then.
    fn pop_groups(&mut self, (level, place): (usize, usize), end: Instant, due: &mut Vec<u32>) -> Instant {
        let Some(level) = level.checked_sub(1) else { return self.pop_flows(place, end, due) };
        let group = self.levels[level] + place;
        if self.least[group] < end {
            let all =
                if level == 0 { self.groups.len() } else { self.levels[level] - self.levels[level - 1] };
            let mut least = Instant::MAX;
            for member in place * GROUP..((place + 1) * GROUP).min(all) {
                least = least.min(self.pop_groups((level, member), end, due));
            }
            self.least[group] = least;
        }
        self.least[group]
    }

    /// The same of a group of flows.
    fn pop_flows(&mut self, place: usize, end: Instant, due: &mut Vec<u32>) -> Instant {
        let group = &mut self.groups[place];
        if group.least < end {
            let flow = (self.first + place * GROUP) as u32;
            let (mut are_due, mut least) = (0_u64, Instant::MAX);
            for (place, &at) in group.due.iter().enumerate() {
                are_due |= u64::from(at < end) << place;
                least = least.min(select_unpredictable(at < end, Instant::MAX, at));
            }
            while are_due != 0 {
                due.push(flow + are_due.trailing_zeros());
                are_due &= are_due - 1;
            }
            group.least = least;
        }
        group.least
    }

    /// The group of this flow, all of which are here.
    pub(crate) fn group_of(flow: u32) -> u32 {
        flow / GROUP as u32
    }

    /// Of some flows in these groups the one whose timer runs out first, and when, if that is before `end`; else a time before which
    /// none does. Of several at once it is the first, and one that `is_last` comes after others.
    pub(crate) fn first_of(
        &mut self,
        groups: &[u32],
        end: Instant,
        is_one: impl Fn(u32) -> bool,
        is_last: impl Fn(u32, Instant) -> bool,
    ) -> (Instant, Option<u32>) {
        let (mut first, mut none_before) = (None, Instant::MAX);
        for &number in groups {
            let group = &mut self.groups[number as usize];
            if group.least >= end && groups.len() > FEW_GROUPS {
                none_before = none_before.min(group.least);
                continue;
            }
            let start = number as usize * GROUP;
            let mut least = Instant::MAX;
            for (flow, &due) in (self.first + start..self.first + self.flows).zip(&group.due) {
                let flow = flow as u32;
                least = least.min(due);
                let due = select_unpredictable(is_one(flow), due, Instant::MAX);
                none_before = none_before.min(due);
                if due < end {
                    let rank = (due, is_last(flow, due), flow);
                    first = Some(first.map_or(rank, |first| rank.min(first)));
                }
            }
            group.least = least;
        }
        first.map_or((none_before, None), |(due, _, flow)| (due, Some(flow)))
    }

    /// Nothing is due before this time.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.least.last().copied().filter(|next| *next < Instant::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_is_due(flows in 0..700_usize, actions in prop::collection::vec((0..700_usize, 0..200_u64), 0..300)) {
            let (mut deadlines, mut known) = (DeadlineIndex::of(3, flows), vec![Instant::MAX; flows]);
            for (flow, time) in actions {
                let time = Instant::from_nanos(time);
                if flow < flows {
                    deadlines.put(flow, time);
                    known[flow] = time;
                    continue;
                }
                let mut due = Vec::new();
                let first = known.iter().copied().filter(|at| *at < Instant::MAX).min();
                prop_assert!(deadlines.next_at() <= first || first.is_none());
                deadlines.pop_before(time, &mut due);
                let expected: Vec<u32> = (3..).zip(&known).filter(|(_, at)| **at < time).map(|(flow, _)| flow).collect();
                prop_assert_eq!(&due, &expected);
                for flow in due {
                    let later = time + paceline_core::Span::from_nanos(u64::from(flow) % 7);
                    deadlines.put(flow as usize - 3, later);
                    known[flow as usize - 3] = later;
                }
            }
        }

        #[test]
        fn it_finds_the_first_of_some(
            times in prop::collection::vec(0..40_u64, 1..100),
            changes in prop::collection::vec((0..100_usize, 0..40_u64, 2..5_u32, 0..40_u64), 0..60),
        ) {
            let mut deadlines = DeadlineIndex::of(0, times.len());
            let mut known: Vec<Instant> = times.iter().map(|time| Instant::from_nanos(*time)).collect();
            known.iter().enumerate().for_each(|(flow, time)| deadlines.put(flow, *time));
            for (flow, time, every, end) in changes {
                let (flow, end) = (flow % known.len(), Instant::from_nanos(end));
                known[flow] = Instant::from_nanos(time);
                deadlines.put(flow, known[flow]);
                let is_one = |flow: u32| flow.is_multiple_of(every);
                let is_last = |flow: u32, _| flow.is_multiple_of(7);
                let some = (0..).zip(&known).filter(|(flow, _)| is_one(*flow));
                let first = some.map(|(flow, due)| (*due, is_last(flow, end), flow)).min().filter(|first| first.0 < end);
                let groups: Vec<u32> = (0..known.len().div_ceil(GROUP) as u32).collect();
                let (due, found) = deadlines.first_of(&groups, end, is_one, is_last);
                prop_assert_eq!(found, first.map(|(.., flow)| flow));
                match first {
                    Some(first) => prop_assert_eq!(due, first.0),
                    None => prop_assert!((0..).zip(&known).all(|(flow, at)| !is_one(flow) || *at >= due) && due >= end),
                }
            }
        }
    }
}

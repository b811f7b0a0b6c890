//! Packets that wait at one place: all of them pass as if each were alone, or come back.

use super::super::slots::Slots;
use super::Plan;
use crate::network::LinkSpec;
use crate::packet::{Event, Kind};
use paceline_core::{Instant, Span};

/// Where packets wait: first those before the common link itself.
#[derive(Debug, Default)]
pub(super) struct LoneFeed {
    /// Position among the stages, and the link there.
    pub(super) place: usize,
    pub(super) link: u32,
    /// None comes to that link before.
    pub(super) from: Instant,
    /// One that is alone comes to the common link so much later.
    pub(super) ahead: Span,
    /// The links that it passes before its tail.
    pub(super) links: u8,
    /// Hosts of one part have sent all of the list: which part, and how far down it is among those of the stage ([`super::group`]).
    pub(super) sent_by: Option<(usize, usize)>,
    /// What has waited, and comes in the window; what comes later.
    pub(super) list: Vec<Event>,
    pub(super) later: Vec<Event>,
    /// Behind the common link each goes to the same link as others next to it: that one; where in the list they end; and how much later
    /// one that is alone is there, or where it goes.
    pub(super) tails: Vec<(u32, usize, Span)>,
}

impl LoneFeed {
    /// Every packet of the window passes in place, as if it were alone; the slots hear of it. Whether all are alike.
    #[inline(never)]
    pub(super) fn pass_all(&mut self, specs: &[LinkSpec], slots: &mut Slots, plan: Plan) -> bool {
        let LoneFeed { ahead, list, later, tails, links, .. } = self;
        let (events, links) = (&mut list[..], *links);
        let way = *ahead + specs[plan.link as usize].latency(plan.like.bytes);
        let (mut tail, mut to_tail, mut kept) = (u32::MAX, way, 0);
        let mut differs = 0;
        let mut marker = slots.marker(*ahead);
        for place in 0..events.len() {
            let event = &events[place];
            debug_assert!(event.kind == Kind::Arrival);
            differs |= event.differs(&plan.like);
            if !marker.mark(event.at) {
                later.push(*event);
                continue;
            }
            if event.place != tail {
                tails.push((tail, kept, to_tail));
                tail = event.place;
                to_tail = specs.get(tail as usize).map_or(way, |end| way + end.latency(plan.like.bytes));
            }
            if kept < place {
                events[kept] = events[place]; // whole, before it changes: see `Event::goes_on`
            }
            events[kept].pass(to_tail, links);
            kept += 1;
        }
        tails.push((tail, kept, to_tail));
        list.truncate(kept);
        slots.are_marked(kept);
        Event::are_alike(differs)
    }

    /// None has passed.
    pub(super) fn undo(&mut self) {
        let mut start = 0;
        for (_, end, way) in self.tails.drain(..) {
            self.list[start..end].iter_mut().for_each(|event| event.come_back(way, self.links));
            start = end;
        }
        self.list.append(&mut self.later);
    }
}

//! Packets that wait at one place, where nearly all may be alone.

use super::super::slots::Slots;
use super::Plan;
use crate::kernel::packet::{Event, Kind};
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
}

impl LoneFeed {
    /// The slots hear of every packet of the window; the others are put aside. Whether all are alike.
    #[inline(never)]
    pub(super) fn mark_all(&mut self, slots: &mut Slots, plan: Plan) -> bool {
        let LoneFeed { ahead, list, later, .. } = self;
        debug_assert!(list.iter().all(|event| event.kind == Kind::Arrival));
        let are_alike = Event::all_are_like(&plan.like, &*list);
        let mut marker = slots.marker(*ahead);
        later.extend(list.extract_if(.., |event| !marker.mark(event.at)));
        slots.marked += list.len();
        are_alike
    }
}

//! Packets that wait at one place, where nearly all may be isolated.

use super::occupancy::Occupancy;
use crate::engine::mailbox::Mailbox;
use crate::kernel::packet::{Event, Kind};
use paceline_core::{Instant, Span};

/// Room for it.
#[derive(Debug, Default)]
pub(crate) struct IsolatedPackets {
    pub(super) feeds: Vec<WaitingList>,
    pub(super) slots: Occupancy,
    /// For the numbers of those that are not isolated.
    pub(super) room: Vec<u32>,
}

/// What is known of an epoch before it is served.
#[derive(Debug, Clone, Copy)]
pub(super) struct Foreseen {
    /// The common link, and its epoch.
    pub(super) link: u32,
    pub(super) bounds: (Instant, Instant),
    /// All are like this one.
    pub(super) like: Event,
}

/// Where packets wait: first those before the common link itself.
#[derive(Debug, Default)]
pub(crate) struct WaitingList {
    /// Position among the ordered links, and the link there.
    pub(crate) place: usize,
    pub(crate) link: u32,
    /// None comes to that link before.
    pub(crate) from: Instant,
    /// One that is isolated comes to the common link so much later.
    pub(crate) ahead: Span,
    /// The links that it passes before its suffix.
    pub(crate) links: u8,
    /// Hosts of one host partition have sent all of the list: which partition, and its position among the lists of the ordered link
    /// (`parallel/link_partition.rs`).
    pub(crate) sent_by: Option<(usize, usize)>,
    /// What has waited, and comes in the epoch; what comes later.
    pub(crate) list: Vec<Event>,
    pub(crate) later: Vec<Event>,
}

impl WaitingList {
    /// What waits comes here, or goes back.
    pub(super) fn exchange_list(&mut self, mail: &mut Mailbox<'_>) {
        let list = match (&mut mail.partitions, self.sent_by) {
            (Some(partitions), Some((_, number))) => &mut partitions.lists[self.place][number].1,
            _ => &mut mail.to_links[self.place],
        };
        std::mem::swap(&mut self.list, list);
    }

    /// Marks every packet of the epoch in the slots; later ones are put aside. Returns whether all are alike.
    #[inline(never)]
    pub(super) fn mark_all(&mut self, slots: &mut Occupancy, plan: Foreseen) -> bool {
        let WaitingList { ahead, list, later, .. } = self;
        debug_assert!(list.iter().all(|event| event.kind() == Kind::Arrival));
        let are_alike = Event::all_are_like(&plan.like, &*list);
        let mut marker = slots.marker(*ahead);
        later.extend(list.extract_if(.., |event| !marker.mark(event.at)));
        slots.marked += list.len();
        are_alike
    }
}

//! Where every packet is: nothing gets lost.

use crate::calendar::Calendar;
use crate::engine::Engine;
use crate::engine::batched::backlog::Backlog;
use crate::engine::batched::deadline_index::DeadlineIndex;
use crate::engine::batched::delivery::Delivery;
use crate::engine::batched::shared_hosts::SharedHosts;
use crate::model::link::Link;

/// Where every packet is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Packets that entered the network, acknowledgements among them.
    pub sent: u64,
    /// Packets that reached their destination.
    pub received: u64,
    /// Packets dropped by a link.
    pub dropped: u64,
    /// Packets under way or held by a pacer, a queue or a port: counted one by one, not derived.
    pub in_flight: u64,
}

impl Engine<'_> {
    /// The run is over: what only packets on their way need makes room for the results.
    pub(crate) fn let_go_of_packets(&mut self) {
        self.calendar = Calendar::new(self.precedence);
        self.epochs = None;
        (self.staged, self.backlogs, self.routes) = (Vec::new(), Vec::new(), Vec::new());
        (self.delivery, self.deadlines, self.shared) =
            (Delivery::default(), DeadlineIndex::default(), SharedHosts::default());
    }

    /// Where every packet is, now.
    pub fn census(&self) -> Census {
        let staged = self.staged.iter().flatten().chain(self.backlogs.iter().flat_map(Backlog::events));
        let travelling = self
            .calendar
            .iter()
            .chain(staged)
            .chain(self.shared.waiting())
            .filter(|event| event.carries_packet())
            .count() as u64;
        let held: u64 = self.links.iter().map(Link::held_packets).sum();
        let queued: u64 = self.ports.iter().flatten().map(|port| port.held_packets()).sum();
        let dropped = self.links.iter().filter_map(Link::fitted).map(|link| link.counters.dropped_ever).sum();
        Census { dropped, in_flight: travelling + held + queued, ..self.census }
    }
}

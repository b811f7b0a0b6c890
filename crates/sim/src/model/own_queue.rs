//! What hosts know of the queue before their own first link: when each packet will have left it.
//!
//! *Idea.* Only the host feeds that link, and what becomes of a packet there is known at its arrival. So a second copy of the link's queue, which
//! sees the same packets at the same times, says at once what the link will do, and no event goes back from links to hosts.
//! *References.* [`paceline_tcp::Sender::leaves_host`], which it is for.

use crate::kernel::chance::Stream;
use crate::kernel::packet::Event;
use crate::network::{LinkId, Network};
use paceline_core::Instant;
use paceline_core::queue::ClosedDropTail;
use std::collections::BTreeMap;

/// The queues of those first links that connections with small queues use.
#[derive(Debug, Default)]
pub(crate) struct OwnQueues(BTreeMap<LinkId, ClosedDropTail>);

impl OwnQueues {
    pub(crate) fn of(network: &Network) -> Self {
        let queue = |link: LinkId| {
            let spec = &network.links[link as usize];
            let mut draws = Stream::of(network.seed, &spec.name, "ties"); // those of the link
            let closed = ClosedDropTail::new(&spec.fitting.buffer, spec.rate)?;
            Some((link, closed.with_seed(draws.between(0, u64::MAX))))
        };
        OwnQueues(network.own_queues().into_iter().filter_map(queue).collect())
    }

    /// A packet comes to the first link of its route, now: when its last bit will have left, or now, if it is dropped. `None` where nobody asks.
    pub(crate) fn takes(&mut self, link: LinkId, packet: &Event) -> Option<Instant> {
        let queue = self.0.get_mut(&link)?;
        let departure = queue.admit(packet.arrival()).departure;
        Some(departure.map_or(packet.at, |departure| departure.finish))
    }

    pub(crate) fn are_none(&self) -> bool {
        self.0.is_empty()
    }
}

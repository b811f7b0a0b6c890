//! The links that a flow uses alone lie with it, while it has short ways out of its hosts and into them.
//!
//! *Idea.* What happens to a packet at a host then needs the flow alone, and what it sends. In a large network that is one place in
//! memory, not three.
//! *What it buys.* Without it 100,000 flows take twice the time, a thousand 85 % more (`make bench-ablation`).

use super::inbox::WayIn;
use super::{Engine, Exit, Links, Tail};
use crate::model::flow::Flow;
use crate::model::link::{Carry, Link};
use crate::network::FlowSpec;
use paceline_core::Instant;

/// The links of a host that are one flow's own.
#[derive(Debug, Default)]
pub(crate) struct Own {
    /// The last before the host.
    pub(super) into: Exit,
    /// The first behind it.
    pub(super) out: Exit,
}

impl Own {
    /// When a packet is at the host that has come so far.
    #[inline(always)]
    pub(super) fn come_in(&mut self, links: &mut Links, bytes: u16, is_ack: bool, at: Instant) -> Instant {
        match &mut self.into {
            Exit::Own(Link::Slim(link)) => link.carry(bytes, is_ack, at),
            _ => self.come_in_otherwise(links, bytes, is_ack, at),
        }
    }

    #[inline(never)]
    fn come_in_otherwise(&mut self, links: &mut Links, bytes: u16, is_ack: bool, at: Instant) -> Instant {
        self.into.way_out(links).map_or(at, |link| link.carry(bytes, is_ack, at))
    }
}

impl Flow {
    /// Takes the links of its short ways that no other flow passes, nor it twice; `passes` says how often each is passed.
    pub(super) fn take_own_links(&mut self, links: &mut Links, ways_in: [WayIn; 2], passes: &[u32]) {
        let is_own = |number: u32| passes.get(number as usize) == Some(&1);
        for (own, way_in) in [&mut self.at_sink, &mut self.at_source].into_iter().zip(ways_in) {
            if !crate::ablation::FastPath::Own.is_on() {
                own.into = way_in.own.map_or(Exit::Long, Exit::Shared);
                continue;
            }
            own.into =
                way_in.own.and_then(|number| links.take(number as usize)).map_or(Exit::Long, Exit::Own);
            if let Exit::Shared(number) = own.out
                && is_own(number)
                && links[number as usize].is_unwatched()
                && let Some(link) = links.take(number as usize)
            {
                own.out = Exit::Own(link);
            }
        }
    }

    /// Gives them back: its ways, over these links there and back, are the long ones.
    fn give_links_back(&mut self, links: &mut Links, spec: &FlowSpec) {
        let FlowSpec { forward, reverse, .. } = spec;
        let (sink, source) = (&mut self.at_sink, &mut self.at_source);
        let outs = [(&mut source.out, forward.first()), (&mut sink.out, reverse.first())];
        let outs = outs.map(|(exit, number)| match std::mem::take(exit) {
            Exit::Own(link) => (Some(link), number),
            _ => (None, number),
        });
        let taken = |exit: &mut Exit| match std::mem::take(exit) {
            Exit::Own(link) => Some(link),
            _ => None,
        };
        let into = [(taken(&mut sink.into), forward.last()), (taken(&mut source.into), reverse.last())];
        for (link, number) in outs.into_iter().chain(into) {
            if let (Some(link), Some(&number)) = (link, number) {
                links.put_back(number as usize, link);
            }
        }
        self.tails = [Tail::LONG; 2];
    }

    /// Its short ways out are its own.
    pub(super) fn owns_its_ways_out(&self) -> bool {
        [&self.at_source, &self.at_sink].iter().all(|own| !matches!(own.out, Exit::Shared(_)))
    }
}

impl Engine<'_> {
    /// Flows have no short ways any more.
    pub(super) fn take_short_ways(&mut self) {
        self.leave_shared_hosts();
        for (flow, spec) in self.flows.list.iter_mut().zip(&self.network.flows) {
            flow.give_links_back(&mut self.links, spec);
        }
    }
}

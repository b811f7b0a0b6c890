//! The links that a flow uses alone lie with it, while it has fast paths out of its hosts and into them.
//!
//! *Idea.* What happens to a packet at a host then needs the flow alone, and what it sends. In a large network that is one place in
//! memory, not three.
//! *What it buys.* Without it 100,000 flows take twice the time, a thousand 85 % more (`make bench-ablation`).

use crate::engine::batched::delivery::Ingress;
use crate::engine::{Egress, Engine, LinkTable, PathSuffix};
use crate::model::flow::Flow;
use crate::model::link::{Carry, Link};
use crate::network::FlowSpec;
use paceline_core::Instant;

/// The links of a host that are one flow's own.
#[derive(Debug, Default)]
pub(crate) struct PrivateLinks {
    /// The last before the host.
    pub(crate) into: Egress,
    /// The first downstream of it.
    pub(crate) out: Egress,
}

impl PrivateLinks {
    /// When a packet is at the host that has come so far.
    #[inline(always)]
    pub(crate) fn last_link(
        &mut self,
        links: &mut LinkTable,
        bytes: u16,
        is_ack: bool,
        at: Instant,
    ) -> Instant {
        match &mut self.into {
            Egress::PrivateLinks(Link::Slim(link)) => link.carry(bytes, is_ack, at),
            _ => self.last_link_otherwise(links, bytes, is_ack, at),
        }
    }

    #[inline(never)]
    fn last_link_otherwise(
        &mut self,
        links: &mut LinkTable,
        bytes: u16,
        is_ack: bool,
        at: Instant,
    ) -> Instant {
        self.into.first_link(links).map_or(at, |link| link.carry(bytes, is_ack, at))
    }
}

impl Flow {
    /// Takes the links of its fast paths that no other flow passes, nor it twice; `passes` says how often each is passed.
    pub(crate) fn take_private_links(
        &mut self,
        links: &mut LinkTable,
        ingress_of: [Ingress; 2],
        passes: &[u32],
    ) {
        let is_own = |number: u32| passes.get(number as usize) == Some(&1);
        for (own, way_in) in [&mut self.at_sink, &mut self.at_source].into_iter().zip(ingress_of) {
            if !crate::ablation::FastPath::PrivateLinks.is_on() {
                own.into = way_in.own.map_or(Egress::Long, Egress::Shared);
                continue;
            }
            own.into = way_in
                .own
                .and_then(|number| links.take(number as usize))
                .map_or(Egress::Long, Egress::PrivateLinks);
            if let Egress::Shared(number) = own.out
                && is_own(number)
                && links[number as usize].is_unwatched()
                && let Some(link) = links.take(number as usize)
            {
                own.out = Egress::PrivateLinks(link);
            }
        }
    }

    /// Gives them back: its ways, over these links there and back, are the long ones.
    fn give_links_back(&mut self, links: &mut LinkTable, spec: &FlowSpec) {
        let FlowSpec { forward, reverse, .. } = spec;
        let (sink, source) = (&mut self.at_sink, &mut self.at_source);
        let outs = [(&mut source.out, forward.first()), (&mut sink.out, reverse.first())];
        let outs = outs.map(|(exit, number)| match std::mem::take(exit) {
            Egress::PrivateLinks(link) => (Some(link), number),
            _ => (None, number),
        });
        let taken = |exit: &mut Egress| match std::mem::take(exit) {
            Egress::PrivateLinks(link) => Some(link),
            _ => None,
        };
        let into = [(taken(&mut sink.into), forward.last()), (taken(&mut source.into), reverse.last())];
        for (link, number) in outs.into_iter().chain(into) {
            if let (Some(link), Some(&number)) = (link, number) {
                links.put_back(number as usize, link);
            }
        }
        self.suffixes = [PathSuffix::LONG; 2];
    }

    /// Its fast paths out are its own.
    pub(crate) fn owns_its_ways_out(&self) -> bool {
        [&self.at_source, &self.at_sink].iter().all(|own| !matches!(own.out, Egress::Shared(_)))
    }
}

impl Engine<'_> {
    /// Flows have no fast paths any more.
    pub(crate) fn leave_fast_paths(&mut self) {
        self.leave_shared_hosts();
        for (flow, spec) in self.flows.list.iter_mut().zip(&self.network.flows) {
            flow.give_links_back(&mut self.links, spec);
        }
    }
}

//! The links that a flow uses alone lie with it, while it has short ways out of its hosts and into them.
//!
//! *Idea.* What happens to a packet at a host then needs the flow alone, and what it sends. In a large network that is one place in
//! memory, not three.

use super::inbox::WayIn;
use super::{Engine, Exit, Links, Tail};
use crate::flow::Flow;
use crate::link::Link;
use crate::network::FlowSpec;
use paceline_core::Instant;

/// The links of a host that are one flow's own.
#[derive(Debug, Default)]
pub(crate) struct Own {
    /// The last before the host.
    pub(super) into: Option<Link>,
    /// The first behind it.
    pub(super) out: Option<Link>,
}

impl Own {
    /// When a packet is at the host that has come so far.
    #[inline(always)]
    pub(super) fn come_in(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Instant {
        match &mut self.into {
            Some(link) => link.carry(bytes, is_ack, at),
            None => at,
        }
    }
}

impl Flow {
    /// Takes the links of its short ways that no other flow passes, nor it twice; `passes` says how often each is passed.
    pub(super) fn take_own_links(&mut self, links: &mut Links, ways_in: [WayIn; 2], passes: &[u32]) {
        let is_own =
            |number: &u32| passes.get(*number as usize) == Some(&1) && links[*number as usize].is_unwatched();
        let out = |end: usize| Some(self.exits[1 - end].link).filter(is_own);
        let numbers = [ways_in[0].own, out(0), ways_in[1].own, out(1)];
        let mut take = |number: u32| links.take(number as usize);
        let [into_sink, from_sink, into_source, from_source] =
            numbers.map(|number| number.and_then(&mut take));
        self.at_sink = Own { into: into_sink, out: from_sink };
        self.at_source = Own { into: into_source, out: from_source };
    }

    /// Gives them back: its ways, over these links there and back, are the long ones.
    fn give_links_back(&mut self, links: &mut Links, spec: &FlowSpec) {
        let FlowSpec { forward, reverse, .. } = spec;
        let (sink, source) = (&mut self.at_sink, &mut self.at_source);
        let places = [
            (&mut source.out, forward.first()),
            (&mut sink.into, forward.last()),
            (&mut sink.out, reverse.first()),
            (&mut source.into, reverse.last()),
        ];
        for (place, number) in places {
            if let (Some(link), Some(&number)) = (place.take(), number) {
                links.put_back(number as usize, link);
            }
        }
        self.exits = [Exit::LONG; 2];
        self.tails = [Tail::LONG; 2];
    }

    /// Its short ways out are its own.
    pub(super) fn owns_its_ways_out(&self) -> bool {
        let is_own = |exit: &Exit, own: &Own| exit.link == Exit::LONG.link || own.out.is_some();
        is_own(&self.exits[0], &self.at_source) && is_own(&self.exits[1], &self.at_sink)
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

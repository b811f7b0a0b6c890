//! Private links: the links beside a host that one flow alone uses are stored with that flow.
//!
//! *Idea.* What happens to a packet at a host then needs one place in memory, not three. Links beside a host of several flows lie with the
//! hosts too, if every packet comes to them by a fast path.
//! *What it buys.* Without it 100,000 flows take twice the time, 1000 flows 85 % more (`benches/ablation.py --path private-links`).

use crate::engine::hosts::Hosts;
use crate::engine::hosts::fastpath::shared_hosts::state::SharedHosts;
use crate::engine::plan::EpochLayout;
use crate::engine::plan::ingress::Ingress;
use crate::engine::plan::ordered_links::OrderedLink;
use crate::model::flow::{AccessLink, Flow, PathSuffix};
use crate::model::link::{Link, LinkTable};
use crate::network::{FlowSpec, Network};

impl Flow {
    /// Moves the links of its fast paths that no other flow passes, nor it twice, into the flow; `passes` counts passes by link. Others
    /// are stored with their hosts.
    pub(crate) fn borrow_access_links(
        &mut self,
        links: &mut LinkTable,
        access: &mut LinkTable,
        ingress: [Ingress; 2],
        passes: &[u32],
    ) {
        let is_own = |number: u32| passes.get(number as usize) == Some(&1);
        let is_on = crate::ablation::FastPath::PrivateLinks.is_on();
        for (ends, ingress) in [&mut self.at_sink, &mut self.at_source].into_iter().zip(ingress) {
            if let Some(number) = ingress.own.or(ingress.into) {
                ends.into = AccessLink::Shared(number);
            }
            for end in [&mut ends.into, &mut ends.out] {
                let AccessLink::Shared(number) = *end else { continue };
                let Some(link) = links.take(number as usize) else { continue };
                if is_on && is_own(number) {
                    *end = AccessLink::Private(link);
                } else {
                    access.put_back(number as usize, link);
                }
            }
        }
    }

    /// Packets go hop by hop over its paths from now on.
    fn return_access_links(&mut self, links: &mut LinkTable, spec: &FlowSpec) {
        self.put_back(links, spec, |_| true);
        self.suffixes = [PathSuffix::SLOW; 2];
    }

    /// The run is over: those that have counted something return.
    pub(crate) fn return_watched_links(&mut self, links: &mut LinkTable, spec: &FlowSpec) {
        self.put_back(links, spec, |link| !link.is_unwatched());
    }

    fn put_back(&mut self, links: &mut LinkTable, spec: &FlowSpec, returns: impl Fn(&Link) -> bool) {
        let FlowSpec { forward, reverse, .. } = spec;
        let (sink, source) = (&mut self.at_sink, &mut self.at_source);
        let ends = [
            (&mut source.out, forward.first()),
            (&mut sink.into, forward.last()),
            (&mut sink.out, reverse.first()),
            (&mut source.into, reverse.last()),
        ];
        for (end, number) in ends {
            if let (AccessLink::Private(link), Some(&number)) = (std::mem::take(end), number)
                && returns(&link)
            {
                links.put_back(number as usize, link);
            }
        }
    }
}

impl EpochLayout {
    /// Links go to flows and hosts, as far as no packet comes to them otherwise: the ordered links, the links beside hosts of several
    /// flows, and the shared hosts.
    pub(crate) fn divide(
        self,
        network: &Network,
        links: &mut LinkTable,
        flows: &mut [Flow],
    ) -> (Vec<OrderedLink>, LinkTable, SharedHosts) {
        let EpochLayout { mut ordered, eligible, ingress, passes } = self;
        let mut access = LinkTable::away(links.len());
        for (flow, ingress) in flows.iter_mut().zip(&ingress) {
            flow.borrow_access_links(links, &mut access, *ingress, &passes);
        }
        let shared = SharedHosts::new(network, flows, &eligible, &ingress);
        if !shared.are_none() {
            ordered.iter_mut().for_each(|link| link.finds_isolated = false);
        }
        (ordered, access, shared)
    }
}

impl Hosts<'_> {
    /// Flows have no fast paths any more: the links beside hosts go to the others.
    pub(crate) fn leave_fast_paths(&mut self, links: &mut LinkTable) {
        self.use_fast_paths(false, |_| [false; 2]);
        self.leave_shared_hosts();
        for (flow, spec) in self.flows.list.iter_mut().zip(&self.network.flows) {
            flow.return_access_links(links, spec);
        }
        let mut access = std::mem::take(&mut self.access);
        (0..access.len()).for_each(|number| access.move_to(number, links));
    }
}

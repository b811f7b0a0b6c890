//! Which hosts may be handled ahead of time though several flows use their links (`hosts/fastpath/shared_hosts.rs`).
//!
//! *Idea.* Packets come to such a host over one link, and leave it over links that it alone feeds, by fast paths; and it has only TCP
//! connections whose applications only send. No two packets come in the same nanosecond: the total order would decide between them.

use super::ingress::Ingress;
use super::routes::Only;
use crate::model::flow::Flow;
use crate::network::{FlowKind, FlowSpec, Network};

/// Hosts that may be shared, by what is known of them before ordered links have been laid out.
#[derive(Debug)]
pub(crate) struct EligibleHosts(Vec<bool>);

/// The ends of a flow, its receiver and its sender: their hosts, and the links by which packets come to each and leave it.
pub(crate) fn ends(spec: &FlowSpec) -> [(u32, Option<u32>, Option<u32>); 2] {
    let (data, acks) = (&spec.forward, &spec.reverse);
    [
        (spec.sink, data.last().copied(), acks.first().copied()),
        (spec.source, acks.last().copied(), data.first().copied()),
    ]
}

impl EligibleHosts {
    /// Those of a network whose flows know their paths out; `passes` counts passes of flows by link. None where
    /// flows are observed.
    pub(crate) fn of(network: &Network, flows: &[Flow], passes: &[u32]) -> Self {
        let (mut into, mut out) = (vec![(0, Only::None); passes.len()], vec![(0, Only::None); passes.len()]);
        let mut last = vec![Only::None; network.hosts.len()];
        for (host, last_link, leave) in network.flows.iter().flat_map(ends) {
            last[host as usize].add(last_link);
            for (links, link) in [(&mut into, last_link), (&mut out, leave)] {
                let Some((times, hosts)) = link.map(|link| &mut links[link as usize]) else { continue };
                *times += 1;
                hosts.add(host);
            }
        }
        let is_of_one = |links: &[(u32, Only<u32>)], link: Option<u32>| {
            link.is_some_and(|link| {
                let (times, hosts) = links[link as usize];
                times == passes[link as usize] && matches!(hosts, Only::One(_))
            })
        };
        let is_unobserved = crate::ablation::FastPath::SharedHosts.is_on()
            && network.instruments.iter().all(|one| one.link.is_some());
        let has_one_way_in = |last: &Only<Option<u32>>| matches!(last, Only::One(_));
        let mut hosts: Vec<bool> = last.iter().map(|last| is_unobserved && has_one_way_in(last)).collect();
        for (spec, flow) in network.flows.iter().zip(flows) {
            let is_bulk = matches!(spec.kind, FlowKind::Bulk { .. });
            for (end, (host, last_link, leave)) in ends(spec).into_iter().enumerate() {
                let last = last_link.map(|link| &network.links[link as usize]);
                let takes_time =
                    last.is_some_and(|link| link.lets_go_one_by_one(spec.kind.smallest_packet()));
                let leaves_soon = [&flow.at_sink, &flow.at_source][end].out.is_fast();
                let is_simple = leaves_soon && network.hosts[host as usize].port.is_none();
                hosts[host as usize] &= is_simple
                    && is_bulk
                    && takes_time
                    && is_of_one(&into, last_link)
                    && is_of_one(&out, leave);
            }
        }
        EligibleHosts(hosts)
    }

    pub(crate) fn has(&self, host: u32) -> bool {
        self.0[host as usize]
    }

    /// Excludes those to which some path is slow: whether there were any.
    pub(crate) fn exclude(&mut self, network: &Network, ways: &[[Ingress; 2]]) -> bool {
        let mut has_news = false;
        for (spec, ways) in network.flows.iter().zip(ways) {
            for ((host, ..), way) in ends(spec).into_iter().zip(ways) {
                if way.suffix.is_slow() {
                    has_news |= std::mem::take(&mut self.0[host as usize]);
                }
            }
        }
        has_news
    }
}

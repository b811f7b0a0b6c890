//! Ordered links: those that must see their packets in the order of time. In which order they are served, and how far each may go.
//!
//! *Rings.* Links may feed each other in a ring. Some of its edges then lead back in the order, and what comes over them is served in the
//! next epoch. How far a link at their ends may run follows from how far its feeders have come and from the delay between
//! ([`OrderedLink::feeders`]); so for the links downstream of it. An epoch is then at most as long as once round the ring, or a part of
//! that if several edges lead back. So each ring is cut at its longest edge.

use super::EpochLayout;
use super::eligible_hosts::EligibleHosts;
use super::ingress::{ingress_of, mark_suffixes};
use super::lookahead::{HOST, Lookahead, offsets, order, takes_no_time};
use super::routes::{egress_of, mark_ordered, smallest_packet};
use crate::model::flow::{AccessLink, Flow};
use crate::model::link::LinkTable;
use crate::model::link::batch::Service;
use crate::network::{FlowSpec, LinkSpec, Network};
use paceline_core::{Instant, Span};
use std::collections::{BTreeMap, BTreeSet};

/// A byte takes at least a nanosecond at this rate, bit/s.
const A_BYTE_TAKES_TIME: u64 = 8_000_000_000;

/// So many links that feed one have numbers in the keys that they are merged by.
pub(crate) const MOST_FEEDS: usize = 1 << 16;

/// A link that runs in epochs.
#[derive(Debug)]
pub(crate) struct OrderedLink {
    pub(crate) link: u32,
    /// The least time from any host to this link.
    pub(crate) offset: Span,
    /// The least time from this link's arrivals to any host, if packets go to one without another ordered link between.
    pub(crate) to_hosts: Option<Span>,
    pub(crate) carries_data: bool,
    pub(crate) carries_acks: bool,
    pub(crate) service: Service,
    /// Those that feed it and may be late, because an edge leads back in the order to them, or from them to it: their
    /// positions, and the least time from each. None where no ring is before it: hosts alone decide how far it may go.
    pub(crate) feeders: Vec<(u32, Span)>,
    /// The ordered link that all its packets reach next, with no link between.
    pub(crate) next: Option<u32>,
    /// Those before it of which this is the next, their positions.
    pub(crate) sources: Vec<u32>,
    /// It may be served with the next one, or some of its sources with it (`links/fastpath/fan_in_merge.rs`).
    pub(crate) may_join_next: bool,
    pub(crate) may_be_joined: bool,
    /// For so many epochs each of them is served by itself.
    pub(crate) isolated_for: u32,
    /// Packets may be found isolated here (`links/fastpath/isolated_packets.rs`); for so many epochs it is not tried.
    pub(crate) finds_isolated: bool,
    pub(crate) skipped_for: u32,
    /// Others feed it too, or hosts, or one that does not keep the order of packets.
    pub(crate) is_mixed: bool,
    /// Packets of a flow come to it in the order in which they are on its lists ([`keep_order`]).
    pub(crate) keeps_order: bool,
    /// Where the suffix of every packet's way begins downstream of it (`hosts/delivery.rs`): the links of several flows in them.
    pub(crate) ends: Option<BTreeSet<u32>>,
    /// All that arrived before has been served.
    pub(crate) served_until: Instant,
}

impl OrderedLink {
    /// Ordered links over the links that `is_ordered` marks, each after those that feed it but for what leads back in a ring; `None`
    /// where there are none, or where no time passes: at a link, or on the way from a place back to it.
    fn all(
        network: &Network,
        is_ordered: &[bool],
        service: impl Fn(u32) -> Service,
    ) -> Option<Vec<OrderedLink>> {
        let ways = ways(network, is_ordered)?;
        if takes_no_time(&ways) {
            return None;
        }
        let (order, offsets) = (order(&ways), offsets(&ways));
        let positions: BTreeMap<u32, u32> = order.iter().copied().zip(0..).collect();
        let followers = only_followers(network);
        let next = |link: u32| followers[link as usize].and_then(|next| positions.get(&next).copied());
        let mut ways_into: BTreeMap<u32, Vec<(u32, Span)>> = BTreeMap::new();
        let mut is_mixed = vec![false; order.len()];
        let keeps_order = keep_order(network, &positions);
        for ((from, to), way) in &ways {
            let position = positions.get(from);
            ways_into.entry(*to).or_default().extend(position.map(|from| (*from, *way)));
            if let Some(&to) = positions.get(to) {
                let is_in_order = *from == HOST || network.links[*from as usize].keeps_order();
                is_mixed[to as usize] |= *from == HOST
                    || !is_in_order
                    || position.is_none_or(|at| *at >= to || next(*from) != Some(to));
            }
        }
        let data = passed_by(network, |flow| &flow.forward);
        let acks = passed_by(network, |flow| &flow.reverse);
        let mut ordered_links: Vec<OrderedLink> = Vec::new();
        for (&link, (is_mixed, keeps_order)) in order.iter().zip(is_mixed.into_iter().zip(keeps_order)) {
            let mut feeders = ways_into.remove(&link)?;
            // Those that come later, and those that ask theirs.
            feeders.retain(|(from, _)| {
                ordered_links.get(*from as usize).is_none_or(|ordered_link| !ordered_link.feeders.is_empty())
            });
            ordered_links.push(OrderedLink {
                link,
                offset: *offsets.get(&link)?,
                to_hosts: ways.get(&(link, HOST)).copied(),
                carries_data: data[link as usize],
                carries_acks: acks[link as usize],
                service: service(link),
                feeders,
                next: next(link),
                sources: Vec::new(),
                may_join_next: false,
                may_be_joined: false,
                isolated_for: 0,
                finds_isolated: false,
                skipped_for: 0,
                is_mixed,
                keeps_order,
                ends: None,
                served_until: Instant::ZERO,
            });
        }
        for position in 0..ordered_links.len() {
            if let Some(next) = ordered_links[position].next.filter(|next| *next as usize > position) {
                ordered_links[next as usize].sources.push(position as u32);
            }
        }
        let smallest = smallest_packet(network);
        OrderedLink::gather(&mut ordered_links, &ways, |link| {
            network.links[link as usize].lets_go_one_by_one(smallest)
        });
        (!ordered_links.is_empty()).then_some(ordered_links)
    }

    /// Those that are lossless and that no other ordered link feeds are served with the next one, where no ring is before it. What they let
    /// go is sorted by its times, so no two may leave one in the same nanosecond.
    fn gather(ordered_links: &mut [OrderedLink], ways: &Lookahead, lets_go_one_by_one: impl Fn(u32) -> bool) {
        let fed_by_ordered: BTreeSet<u32> =
            ways.keys().filter(|(from, _)| *from != HOST).map(|(_, to)| *to).collect();
        for position in 0..ordered_links.len() {
            let may_be_late = !ordered_links[position].feeders.is_empty();
            if ordered_links[position].sources.len() >= MOST_FEEDS {
                continue;
            }
            for source in ordered_links[position].sources.clone() {
                let ordered_link = &mut ordered_links[source as usize];
                let is_simple = crate::ablation::FastPath::FanInMerge.is_on()
                    && ordered_link.service == Service::All
                    && !fed_by_ordered.contains(&ordered_link.link);
                ordered_link.may_join_next =
                    is_simple && !may_be_late && lets_go_one_by_one(ordered_link.link);
                ordered_links[position].may_be_joined |= ordered_links[source as usize].may_join_next;
            }
        }
    }

    /// Whether packets may be found isolated here: nothing is dropped here or before, they come in order and go to hosts by suffixes, and no link
    /// next to this is slower.
    pub(crate) fn may_find_isolated(&self, ordered_links: &[OrderedLink], network: &Network) -> bool {
        let own = &network.links[self.link as usize];
        let is_no_slower = |link: u32| {
            let link = &network.links[link as usize];
            link.is_steady() && link.rate >= own.rate
        };
        let sources = || self.sources.iter().map(|source| &ordered_links[*source as usize]);
        let Some(ends) = &self.ends else { return false };
        let mut others = sources().map(|source| source.link).chain(ends.iter().copied());
        let is_fan = self.service == Service::All && sources().all(|source| source.may_join_next);
        is_fan && self.keeps_order && self.feeders.is_empty() && own.is_steady() && others.all(is_no_slower)
    }

    /// Its link, and those downstream of it that it alone feeds.
    pub(crate) fn links(&self) -> impl Iterator<Item = usize> + use<> {
        let ends: Vec<u32> = self.ends.iter().flatten().copied().collect();
        [self.link].into_iter().chain(ends).map(|link| link as usize)
    }

    /// On to the next epoch, which begins and ends then.
    pub(crate) fn advance(&mut self, (hosts_until, until): (Instant, Instant)) -> (Instant, Instant) {
        let end = (hosts_until + self.offset).min(until).max(self.served_until);
        (std::mem::replace(&mut self.served_until, end), end)
    }
}

/// By position, whether packets of each flow come to an ordered link in the order of time: since the last one, which puts them into it, none
/// of the links that they have passed has jitter, that one included.
fn keep_order(network: &Network, positions: &BTreeMap<u32, u32>) -> Vec<bool> {
    let mut keep = vec![true; positions.len()];
    if network.links.iter().all(LinkSpec::keeps_order) {
        return keep;
    }
    for way in network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]) {
        let mut are_in_order = true;
        for link in way {
            let keeps_order = network.links[*link as usize].keeps_order();
            if let Some(position) = positions.get(link) {
                keep[*position as usize] &= are_in_order;
                are_in_order = true;
            }
            are_in_order &= keeps_order;
        }
    }
    keep
}

/// The least time from a host over these links to a host.
pub(crate) fn minimum_path_delay<'a>(links: impl IntoIterator<Item = &'a OrderedLink>) -> Option<Span> {
    links.into_iter().filter_map(|link| Some(link.offset + link.to_hosts?)).min()
}

/// Lays the ordered links over a network, and marks in routes and flows what reaches them.
pub(crate) fn lay_ordered_links(
    network: &Network,
    links: &LinkTable,
    flows: &mut [Flow],
    (routes, (stride, ack_hop)): (&mut [u32], (usize, usize)),
    needs_order: &[bool],
    is_observed: &impl Fn(u32) -> bool,
) -> Option<EpochLayout> {
    let is_quiet = |link: u32| links[link as usize].is_lossless() && !is_observed(link);
    let service = |link: u32| match &links[link as usize] {
        at_work if at_work.holds() => Service::Between,
        _ if is_quiet(link) => Service::All,
        at_work if crate::ablation::FastPath::QueueAccounting.is_on() && at_work.has_only_a_limit() => {
            Service::Bounded
        }
        _ => Service::Each,
    };
    let mut ordered = OrderedLink::all(network, needs_order, service)?;
    let position: BTreeMap<u32, u32> = (0..).zip(&ordered).map(|(place, one)| (one.link, place)).collect();
    mark_ordered(routes, |link| position.get(&link).copied());
    let mut passes = vec![0_u32; links.len()];
    for flow in &network.flows {
        flow.forward.iter().chain(&flow.reverse).for_each(|&link| passes[link as usize] += 1);
    }
    // What comes to a host's own queue the host looks at one by one.
    let own = network.own_queues();
    let is_passed_fast = |link: u32| is_quiet(link) && !own.contains(&link);
    lay_fast_ways_out(flows, routes.chunks(stride), ack_hop, is_passed_fast, &passes);
    let mut eligible = EligibleHosts::of(network, flows, &passes);
    let (ingress, ends) = loop {
        let ends_at = |flow: usize, end: usize| {
            let FlowSpec { sink, source, .. } = network.flows[flow];
            eligible.has([sink, source][end])
        };
        let found = ingress_of(routes, (stride, ack_hop), ordered.len(), &passes, is_observed, ends_at);
        if !eligible.exclude(network, &found.0) {
            break found;
        }
    };
    mark_suffixes(routes, (stride, ack_hop), &ingress);
    ordered.iter_mut().zip(ends).for_each(|(link, ends)| link.ends = ends);
    for position in 0..ordered.len() {
        ordered[position].finds_isolated = crate::ablation::FastPath::IsolatedPackets.is_on()
            && ordered[position].may_find_isolated(&ordered, network);
    }
    for (flow, ingress) in flows.iter_mut().zip(&ingress) {
        flow.suffixes = ingress.map(|one| one.suffix);
    }
    Some(EpochLayout { ordered, eligible, ingress, passes })
}

/// Sets each flow's fast paths out of hosts. A link that several pass is on one only if no packet comes to it otherwise.
fn lay_fast_ways_out<'a>(
    flows: &mut [Flow],
    routes: impl Iterator<Item = &'a [u32]>,
    ack_hop: usize,
    is_quiet: impl Fn(u32) -> bool,
    passes: &[u32],
) {
    let mut fast_passes = vec![0_u32; passes.len()];
    for (flow, route) in flows.iter_mut().zip(routes) {
        let [(from_source, data), (from_sink, acks)] = egress_of(route, ack_hop, &is_quiet);
        flow.ordered_links = [data, acks];
        (flow.at_source.out, flow.at_sink.out) = (from_source, from_sink);
        for end in [&flow.at_source.out, &flow.at_sink.out] {
            if let AccessLink::Shared(link) = end {
                fast_passes[*link as usize] += 1;
            }
        }
    }
    for flow in flows {
        for end in [&mut flow.at_source.out, &mut flow.at_sink.out] {
            if let AccessLink::Shared(link) = end
                && fast_passes[*link as usize] != passes[*link as usize]
            {
                *end = AccessLink::None;
            }
        }
    }
}

/// From one link that runs in epochs to the next (or a host), the least time between; `None` where none need pass. Links that share a memory
/// run by events as hosts do, and count as such.
fn ways(network: &Network, is_ordered: &[bool]) -> Option<Lookahead> {
    let mut ways: Lookahead = BTreeMap::new();
    for route in network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]) {
        let (mut from, mut way) = (HOST, Span::ZERO);
        for &link in route {
            let runs_by_events = network.memory_of(link).is_some();
            if is_ordered[link as usize] || runs_by_events {
                let place = if runs_by_events { HOST } else { link };
                let least = ways.entry((from, place)).or_insert(way);
                *least = way.min(*least);
                (from, way) = (place, Span::ZERO);
            }
            let spec = &network.links[link as usize];
            way = way + spec.delay;
            if spec.delay == Span::ZERO && spec.fastest() > A_BYTE_TAKES_TIME {
                return None;
            }
        }
        let least = ways.entry((from, HOST)).or_insert(way);
        *least = way.min(*least);
    }
    Some(ways)
}

/// By link: whether one of these ways leads over it.
fn passed_by(network: &Network, way: fn(&FlowSpec) -> &[u32]) -> Vec<bool> {
    let mut is_passed = vec![false; network.links.len()];
    network.flows.iter().flat_map(way).for_each(|&link| is_passed[link as usize] = true);
    is_passed
}

/// By link: the one that all its packets reach next, if there is one.
fn only_followers(network: &Network) -> Vec<Option<u32>> {
    let mut followers: Vec<Option<Option<u32>>> = vec![None; network.links.len()];
    for route in network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]) {
        for (hop, &link) in route.iter().enumerate() {
            let (next, known) = (route.get(hop + 1).copied(), &mut followers[link as usize]);
            *known = Some(if known.is_none_or(|known| known == next) { next } else { None });
        }
    }
    followers.into_iter().map(Option::flatten).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;
    use crate::Scenario;

    /// Routers in a ring of one-way links of 1, 20 and 30 ms; `flows` from the first router to the third, and so on.
    fn ring(flows: usize) -> Vec<OrderedLink> {
        let mut text = "duration = \"1 s\"\n[network]\ntemplate = \"graph\"\n".to_owned();
        for (k, delay) in [1, 20, 30].into_iter().enumerate() {
            let next = (k + 1) % 3;
            text += &format!(
                "[[node]]\nname = \"r{k}\"\nkind = \"router\"\n[[node]]\nname = \"h{k}\"\nkind = \"host\"\n"
            );
            text += &format!(
                "[[link]]\nname = \"hop{k}\"\nfrom = \"r{k}\"\nto = \"r{next}\"\nrate = \"10 Mbit/s\"\ndelay = \"{delay} ms\"\nreverse = false\n"
            );
            text += &format!(
                "[[link]]\nname = \"to{k}\"\nfrom = \"h{k}\"\nto = \"r{k}\"\nrate = \"10 Mbit/s\"\ndelay = \"2 ms\"\n"
            );
        }
        for k in 0..flows {
            let to = (k + 2) % 3;
            text += &format!(
                "[[traffic]]\nkind = \"cbr\"\npacket = \"500 B\"\nrate = \"1 Mbit/s\"\nfrom = \"h{k}\"\nto = \"h{to}\"\n"
            );
        }
        let network = Scenario::from_toml(&text).unwrap().network(1).unwrap();
        let is_hop: Vec<bool> = network.links.iter().map(|link| link.name.starts_with("hop")).collect();
        OrderedLink::all(&network, &is_hop, |_| Service::Each).unwrap()
    }

    #[test]
    fn only_behind_a_way_back_the_feeders_are_asked() {
        let feeders = |flows| {
            ring(flows)
                .into_iter()
                .map(|ordered_link| (ordered_link.link, ordered_link.feeders))
                .collect::<Vec<_>>()
        };
        let none = Vec::new;
        // Two flows, over links 0 and 2 (of 1 and 20 ms), and 2 and 4: no ring.
        assert_eq!(feeders(2), [(0, none()), (2, none()), (4, none())]);
        // The third closes it. From 4 back to 0 it is furthest, and what is downstream of 0 may be late with it.
        let ms = Span::from_millis;
        assert_eq!(feeders(3), [(0, vec![(2, ms(30))]), (2, vec![(0, ms(1))]), (4, vec![(1, ms(20))])]);
    }
}

//! The routes of flows through the network, and what holds for each place on them.

use crate::model::flow::{AccessLink, Flow};
use crate::model::link::{Link, LinkTable, TieOrders};
use crate::network::{Network, Probe};
use paceline_core::{Instant, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Bit of a place in a flow's route: packets pass this link as soon as the one before has let them go.
pub(crate) const AT_ONCE: u32 = 1 << 31;
/// The link runs in epochs (`links/service.rs`); the place is its ordered link's.
pub(crate) const ORDERED: u32 = 1 << 30;
/// The place is a link.
pub(crate) const IS_LINK: u32 = 1 << 29;
/// The link is lossless, not observed, and nothing is traced.
pub(crate) const PLAIN: u32 = 1 << 28;
/// The first place after the last ordered link, where the suffix of the path begins by which packets come to their host.
pub(crate) const SUFFIX: u32 = 1 << 27;
/// The bits of the place itself.
pub(crate) const PLACE: u32 = SUFFIX - 1;

/// The links of a network, with meters where results or probes ask for them; under a trace each records what passes it.
pub(crate) fn links_of(network: &Network, traced: bool) -> LinkTable {
    let mut losses: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for drop in &network.drops {
        losses.entry(drop.link as usize).or_default().push(drop.clone());
    }
    let mut metered: Vec<bool> = network.links.iter().map(|link| link.fitting.reported).collect();
    if let Some(core) = metered.get_mut(network.core as usize) {
        *core = true;
    }
    let watched = network.instruments.iter().filter_map(|instrument| instrument.link);
    for link in network.probes.iter().map(|probe| probe.link).chain(watched) {
        metered[link as usize] = true;
    }
    let mut decided = TieOrders::of(network);
    let window = (Instant::ZERO + network.warmup, Instant::ZERO + network.duration);
    LinkTable::of(network.links.iter().zip(metered).enumerate().map(|(number, (spec, metered))| {
        let losses = losses.remove(&number).unwrap_or_default();
        let shares = network.memory_of(number as u32).is_some();
        Link::new(spec, losses, (metered, traced, shares), window, (network, number as u32), &mut decided)
    }))
}

/// What feeds a link.
#[derive(Clone, Copy, PartialEq)]
enum Feeder {
    Link(u32),
    /// A flow, from its host: its data, or its acknowledgements.
    Host(u32, bool),
}

/// Whether there is one of a kind alone, and which.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Only<T> {
    #[default]
    None,
    One(T),
    More,
}

impl<T: Copy + PartialEq> Only<T> {
    pub(crate) fn add(&mut self, one: T) {
        let is_known = matches!(self, Only::None) || *self == Only::One(one);
        *self = if is_known { Only::One(one) } else { Only::More };
    }
}

/// Sets [`AT_ONCE`] where it is true: on links that are lossless, hold nothing, and are fed by one other link alone. Marks
/// in each flow whether its receiver and its sender may run ahead: where the link that they feed is theirs alone, and what comes to them is in the
/// order of time. Returns
/// which links are to run in epochs, if any do: those that must serve their packets in the order of time, from whatever source.
pub(crate) fn mark_at_once(
    routes: &mut [u32],
    network: &Network,
    links: &LinkTable,
    flows: &mut [Flow],
) -> Vec<bool> {
    let feeders = feeders_of(network);
    let at_once = are_at_once(network, links, &feeders);
    mark_links(routes, links, &at_once);
    if are_in_step(network, smallest_packet(network)) {
        return vec![false; links.len()];
    }
    for (id, (spec, flow)) in network.flows.iter().zip(flows).enumerate() {
        let is_its_own = |link: Option<&u32>, is_ack: bool| {
            link.is_none_or(|&link| {
                let link = link as usize;
                links[link].is_lossless() && feeders[link] == Only::One(Feeder::Host(id as u32, is_ack))
            })
        };
        if spec.kind.is_two_way() {
            continue; // each of its flows may be made to send by what reaches the other
        }
        let comes_in_order =
            |way: &[u32]| way.last().is_none_or(|&last| network.links[last as usize].keeps_order());
        if is_its_own(spec.reverse.first(), true) && comes_in_order(&spec.forward) {
            flow.let_run_ahead(0);
            flow.gates[0].replace_connections(spec.kind.replaces_connections());
        }
        if is_its_own(spec.forward.first(), false)
            && network.hosts[spec.source as usize].port.is_none()
            && comes_in_order(&spec.reverse)
        {
            flow.let_run_ahead(1);
        }
    }
    // Hosts send in the order of time: a link that is lossless and that they alone feed needs no other.
    let mut needs_order: Vec<bool> = links.iter().map(|link| !link.is_lossless()).collect();
    let downstream = |route: &[u32]| route.iter().skip(1).map(|&link| link as usize).collect::<Vec<_>>();
    let sampled = sampled(network).map(|probe| probe.link as usize);
    let fed_by_links = network
        .flows
        .iter()
        .flat_map(|flow| [downstream(&flow.forward), downstream(&flow.reverse)])
        .flatten();
    sampled.chain(fed_by_links).for_each(|link| needs_order[link] = true);
    let mut is_ordered: Vec<bool> =
        (0..links.len()).map(|link| needs_order[link] && !at_once[link]).collect();
    let sharing = || network.memories.iter().flat_map(|memory| &memory.links);
    sharing().for_each(|link| is_ordered[*link as usize] = false); // they run by events, beside the hosts
    order_paths_of_shared_hosts(network, &feeders, &mut is_ordered);
    sharing().for_each(|link| is_ordered[*link as usize] = false);
    is_ordered
}

/// What feeds each link.
fn feeders_of(network: &Network) -> Vec<Only<Feeder>> {
    let mut feeders = vec![Only::None; network.links.len()];
    for (id, flow) in network.flows.iter().enumerate() {
        for (is_ack, route) in [(false, &flow.forward), (true, &flow.reverse)] {
            let mut before = Feeder::Host(id as u32, is_ack);
            for &link in route {
                feeders[link as usize].add(before);
                before = Feeder::Link(link);
            }
        }
    }
    // A queue that is sampled is asked for its level between arrivals: it must not know the future.
    for probe in sampled(network) {
        feeders[probe.link as usize] = Only::More;
    }
    feeders
}

fn sampled(network: &Network) -> impl Iterator<Item = &Probe> {
    network.probes.iter().filter(|probe| probe.samples())
}

/// That any flow may send, bytes.
pub(crate) fn smallest_packet(network: &Network) -> u32 {
    network.flows.iter().map(|flow| flow.kind.smallest_packet()).min().unwrap_or(1)
}

/// By link, whether it is passed at once.
fn are_at_once(network: &Network, links: &LinkTable, feeders: &[Only<Feeder>]) -> Vec<bool> {
    let smallest = smallest_packet(network);
    if are_in_step(network, smallest) {
        return vec![false; links.len()];
    }
    // Two that leave a link in the same nanosecond are sorted by flow, not as they leave it.
    let takes_time = |link: u32| network.links[link as usize].lets_go_one_by_one(smallest);
    let after_another =
        |link: usize| matches!(feeders[link], Only::One(Feeder::Link(feeder)) if takes_time(feeder));
    (0..links.len()).map(|link| links[link].is_lossless() && after_another(link)).collect()
}

fn mark_links(routes: &mut [u32], links: &LinkTable, at_once: &[bool]) {
    for entry in routes {
        let link = (*entry & PLACE) as usize;
        if *entry != u32::MAX && *entry & IS_LINK != 0 {
            *entry |= if at_once[link] { AT_ONCE } else { 0 };
            *entry |= if links[link].is_unwatched() { PLAIN } else { 0 };
        }
    }
}

/// Routes, `stride` to a flow, once these links do not run in epochs any more. None of them is passed at once: some wait for it.
pub(crate) fn routes_after(ordered: &[u32], network: &Network, links: &LinkTable) -> (Vec<u32>, usize) {
    let (mut routes, stride, _) = routes_of(network);
    let mut at_once = are_at_once(network, links, &feeders_of(network));
    ordered.iter().for_each(|link| at_once[*link as usize] = false);
    mark_links(&mut routes, links, &at_once);
    (routes, stride)
}

/// A packet of the smallest size, bytes, may come to a link at the very instant at which it has come to the one before. What else
/// has reached that link at this instant may have been handled then: the order is that of events one by one, and nothing runs ahead.
fn are_in_step(network: &Network, smallest: u32) -> bool {
    let smallest = u16::try_from(smallest).unwrap_or(u16::MAX);
    let takes_none = |link: &u32| network.links[*link as usize].latency(smallest) == Span::ZERO;
    let mut ways = network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]);
    ways.any(|way| way.split_last().is_some_and(|(_, before)| before.iter().any(takes_none)))
}

/// Hosts that several flows share are handled ahead of their time where their packets pass a link that runs in epochs
/// (`hosts/fastpath/shared_hosts.rs`). On a way from such a host without one, the second link becomes one, if epochs need not be shorter for it.
fn order_paths_of_shared_hosts(network: &Network, feeders: &[Only<Feeder>], is_ordered: &mut [bool]) {
    let ways = || network.flows.iter().flat_map(|flow| [&flow.forward[..], &flow.reverse[..]]);
    let takes =
        |way: &[u32]| way.iter().fold(Span::ZERO, |sum, link| sum + network.links[*link as usize].delay);
    let has_stage = |way: &[u32]| way.iter().any(|link| is_ordered[*link as usize]);
    let is_shared = |way: &[u32]| way.first().is_some_and(|first| feeders[*first as usize] == Only::More);
    let Some(least) = ways().filter(|way| has_stage(way)).map(takes).min() else { return };
    let more = ways().filter(|way| !has_stage(way) && is_shared(way));
    let more: BTreeSet<u32> = more.filter_map(|way| way.get(1).copied()).collect();
    // The least time from any host to each of these, and from it to any.
    let mut around: BTreeMap<u32, (Span, Span)> = BTreeMap::new();
    for way in ways() {
        for (place, link) in way.iter().enumerate().filter(|(_, link)| more.contains(link)) {
            let (there, on) = (takes(&way[..place]), takes(&way[place..]));
            let known = around.entry(*link).or_insert((there, on));
            *known = (known.0.min(there), known.1.min(on));
        }
    }
    for (link, (there, on)) in around {
        is_ordered[link as usize] = there + on >= least && least > Span::ZERO;
    }
}

/// Sets [`ORDERED`] for the links that run in epochs, each at its position in `ordered_links`.
pub(crate) fn mark_ordered(routes: &mut [u32], ordered_link_of: impl Fn(u32) -> Option<u32>) {
    for entry in routes.iter_mut().filter(|entry| **entry != u32::MAX && **entry & IS_LINK != 0) {
        if let Some(ordered_link) = ordered_link_of(*entry & PLACE) {
            *entry = *entry & !(PLACE | AT_ONCE) | ORDERED | ordered_link; // not at once later either: some will wait for it then
        }
    }
}

/// The fast paths out of a flow's hosts, and the ordered links to which they lead, of numbers below 65,536. `is_quiet`: a link that drops
/// nothing and whose single packets nothing observes.
pub(crate) fn egress_of(
    route: &[u32],
    ack_hop: usize,
    is_quiet: impl Fn(u32) -> bool,
) -> [(AccessLink, u16); 2] {
    [0, ack_hop].map(|hop| match (route[hop], route.get(hop + 1)) {
        (first, Some(&next))
            if first & (IS_LINK | ORDERED) == IS_LINK && is_quiet(first & PLACE) && next & ORDERED != 0 =>
        {
            match u16::try_from(next & PLACE) {
                Ok(ordered_link) => (AccessLink::Shared(first & PLACE), ordered_link),
                Err(_) => (AccessLink::None, 0),
            }
        }
        _ => (AccessLink::None, 0),
    })
}

/// Places of the round trip of each flow, `stride` to a flow: its data's links, its sink, its acknowledgements' links, its
/// source; then in which of them the acknowledgements' begin.
pub(crate) fn routes_of(network: &Network) -> (Vec<u32>, usize, usize) {
    let forward = network.flows.iter().map(|flow| flow.forward.len()).max().unwrap_or(0) + 1;
    let reverse = network.flows.iter().map(|flow| flow.reverse.len()).max().unwrap_or(0) + 1;
    let hosts_from = network.links.len() as u32;
    let mut routes = vec![u32::MAX; network.flows.len() * (forward + reverse)];
    for (flow, route) in network.flows.iter().zip(routes.chunks_mut(forward + reverse)) {
        let (data, acks) = route.split_at_mut(forward);
        for (entries, links, host) in [(data, &flow.forward, flow.sink), (acks, &flow.reverse, flow.source)] {
            entries.iter_mut().zip(links).for_each(|(entry, link)| *entry = link | IS_LINK);
            entries[links.len()] = hosts_from + host;
        }
    }
    (routes, forward + reverse, forward)
}

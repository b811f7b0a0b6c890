//! The links that run in windows: in which order, how far each may go, and what comes after it.
//!
//! *Rings.* Links may feed each other in a ring: some of its ways then lead back in the order, and what comes on them in this
//! round of windows is served in the next. How far such a link may go is for those that feed it to say, by how far they
//! have come and how long the way is ([`Stage::feeders`]); so for the links behind it. A window is then as long as a way round the ring, cut
//! into as many parts as ways of it lead back: few, and long ones, if that can be.

use super::Exit;
use super::inbox::tails_of;
use super::line::Sorter;
use super::routes::{exits_of, mark_staged};
use crate::flow::Flow;
use crate::link::Link;
use crate::link::window::Service;
use crate::network::Network;
use crate::packet::Event;
use paceline_core::{Instant, Span};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A byte takes at least a nanosecond at this rate, bit/s.
const A_BYTE_TAKES_TIME: u64 = 8_000_000_000;
/// Any host, where a link is meant else.
const HOST: u32 = u32::MAX;

/// A link that runs in windows.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) link: u32,
    /// The least time from any host to this link.
    pub(super) offset: Span,
    /// The least time from this link's arrivals to any host, if packets go to one without another stage between.
    pub(super) to_hosts: Option<Span>,
    pub(super) service: Service,
    /// Those that feed it and may be later than any host: because a way leads back in the order, to it or to them. Their
    /// positions, and the least time from each to this link. None where there is no ring.
    pub(super) feeders: Vec<(u32, Span)>,
    /// The stage that all its packets reach next, with no link between.
    pub(super) next: Option<u32>,
    /// Where the tail of every packet's way begins behind it ([`super::inbox`]): the links of several flows in them.
    pub(super) ends: Option<BTreeSet<u32>>,
    /// All that arrived before has been served.
    pub(super) served_until: Instant,
}

impl Stage {
    /// Stages over the links that `is_staged` marks, each after those that feed it but for what leads back in a ring; `None`
    /// where there are none, or where no time passes: at a link, or on the way from a place back to it.
    fn all(network: &Network, is_staged: &[bool], service: impl Fn(u32) -> Service) -> Option<Vec<Stage>> {
        let ways = ways(network, is_staged)?;
        if takes_no_time(&ways) {
            return None;
        }
        let (order, offsets) = (order(&ways), offsets(&ways));
        let positions: BTreeMap<u32, u32> = order.iter().copied().zip(0..).collect();
        let mut stages: Vec<Stage> = Vec::new();
        for &link in &order {
            let feeds = |(&(from, to), &way): (&(u32, u32), &Span)| {
                let from = positions.get(&from).filter(|_| to == link)?;
                // In front of this link and of its own kind, or not in front of it.
                let may_be_late = stages.get(*from as usize).is_none_or(|stage| !stage.feeders.is_empty());
                may_be_late.then_some((*from, way))
            };
            stages.push(Stage {
                link,
                offset: *offsets.get(&link)?,
                to_hosts: ways.get(&(link, HOST)).copied(),
                service: service(link),
                feeders: ways.iter().filter_map(feeds).collect(),
                next: only_follower(network, link).and_then(|next| positions.get(&next).copied()),
                ends: None,
                served_until: Instant::ZERO,
            });
        }
        (!stages.is_empty()).then_some(stages)
    }

    /// Moves the arrivals of the next window to `line`, in order. Returns the window's end.
    pub(super) fn line_up(
        &mut self,
        arrivals: &mut Vec<Event>,
        (hosts_until, until): (Instant, Instant),
        sorter: &mut Sorter,
        line: &mut Vec<Event>,
    ) -> Instant {
        let end = (hosts_until + self.offset).min(until).max(self.served_until);
        let from = std::mem::replace(&mut self.served_until, end);
        sorter.sort(arrivals, from, end, line);
        end
    }

    /// Where the hosts stand when something next happens here.
    pub(super) fn next_window(&self, arrivals: &[Event], link: &Link) -> Option<Instant> {
        let wakeup = link.fitted().and_then(|link| link.wakeup_at);
        let first = arrivals.iter().map(|event| event.at).chain(wakeup).min()?;
        Some(Instant::from_nanos(first.as_nanos().saturating_sub(self.offset.as_nanos())))
    }

    /// Hosts were idle up to `hosts_until`: so was this.
    pub(super) fn skip_to(&mut self, hosts_until: Instant) {
        self.served_until = self.served_until.max(hosts_until + self.offset);
    }
}

/// Lays the stages over a network, and marks in routes and flows what reaches them.
pub(super) fn lay_stages(
    network: &Network,
    links: &[Link],
    flows: &mut [Flow],
    (routes, (stride, ack_hop)): (&mut [u32], (usize, usize)),
    needs_order: &[bool],
    is_looked_at: &impl Fn(u32) -> bool,
) -> Option<Vec<Stage>> {
    let service = |link: u32| match &links[link as usize] {
        at_work if at_work.holds() => Service::Between,
        at_work if at_work.refuses_nothing() && !is_looked_at(link) => Service::All,
        _ => Service::Each,
    };
    let mut stages = Stage::all(network, needs_order, service)?;
    let position: BTreeMap<u32, u32> = (0..).zip(&stages).map(|(place, stage)| (stage.link, place)).collect();
    mark_staged(routes, |link| position.get(&link).copied());
    for (flow, route) in flows.iter_mut().zip(routes.chunks(stride)) {
        flow.exits = exits_of(route, ack_hop);
        if flow.has_port {
            flow.exits[0] = Exit::LONG;
        }
    }
    let (tails, ends) = tails_of(network, routes, (stride, ack_hop), stages.len(), is_looked_at);
    stages.iter_mut().zip(ends).for_each(|(stage, ends)| stage.ends = ends);
    flows.iter_mut().zip(tails).for_each(|(flow, tails)| flow.tails = tails);
    Some(stages)
}

/// How far hosts may run: nothing that these have still to serve reaches one before.
pub(super) fn next_hosts_until<'a>(stages: impl Iterator<Item = &'a Stage>) -> Instant {
    let back = |stage: &Stage| stage.to_hosts.map(|way| stage.served_until + way);
    stages.filter_map(back).min().unwrap_or(Instant::MAX)
}

/// From one link that runs in windows to the next (or a host), the least time between; `None` where none need pass.
fn ways(network: &Network, is_staged: &[bool]) -> Option<BTreeMap<(u32, u32), Span>> {
    let mut ways: BTreeMap<(u32, u32), Span> = BTreeMap::new();
    for route in network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]) {
        let (mut from, mut way) = (HOST, Span::ZERO);
        for &link in route {
            if is_staged[link as usize] {
                let least = ways.entry((from, link)).or_insert(way);
                *least = way.min(*least);
                (from, way) = (link, Span::ZERO);
            }
            let spec = &network.links[link as usize];
            way = way + spec.delay;
            if spec.delay == Span::ZERO && spec.rate.bits_per_second() > A_BYTE_TAKES_TIME {
                return None;
            }
        }
        let least = ways.entry((from, HOST)).or_insert(way);
        *least = way.min(*least);
    }
    Some(ways)
}

/// The link that all packets of a link reach next, if there is one.
fn only_follower(network: &Network, link: u32) -> Option<u32> {
    let routes = network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]);
    let mut followers = routes.flat_map(|route| {
        let passes = (0..route.len()).filter(|&hop| route[hop] == link);
        passes.map(|hop| route.get(hop + 1).copied())
    });
    let first = followers.next()??;
    followers.all(|follower| follower == Some(first)).then_some(first)
}

/// Whether somewhere packets come back, to a host or round a ring of links, with no time between.
fn takes_no_time(ways: &BTreeMap<(u32, u32), Span>) -> bool {
    let is_at_once = |&(&ends, &way): &(&(u32, u32), &Span)| way == Span::ZERO && ends != (HOST, HOST);
    let edges: Vec<(u32, u32)> = ways.iter().filter(is_at_once).map(|(&ends, _)| ends).collect();
    let order = depth_first(edges.iter().map(|(from, _)| *from), &edges);
    let places: BTreeMap<u32, usize> = order.into_iter().zip(0..).collect();
    edges.iter().any(|(from, to)| places[from] >= places[to])
}

/// The links that the ways lead to, each after those that feed it, those that are as far behind by number. In a ring some ways
/// lead back: long ones, rather.
fn order(ways: &BTreeMap<(u32, u32), Span>) -> Vec<u32> {
    let mut least: BTreeMap<u32, Span> = BTreeMap::new();
    let mut between = Vec::new();
    for (&(from, to), &way) in ways.iter().filter(|((_, to), _)| *to != HOST) {
        let into = least.entry(to).or_insert(Span::MAX);
        if from != HOST {
            *into = way.min(*into);
            between.push((from, to));
        }
    }
    let mut links: Vec<u32> = least.keys().copied().collect();
    links.sort_by_key(|link| Reverse(least[link]));
    between.sort_by_key(|ends| Reverse(ways[ends]));
    let mut order = depth_first(links.into_iter(), &between);
    let mut levels: BTreeMap<u32, u32> = BTreeMap::new();
    for &link in &order {
        let before = between.iter().filter(|(_, to)| *to == link).filter_map(|(from, _)| levels.get(from));
        let level = before.max().map_or(0, |level| level + 1);
        levels.insert(link, level);
    }
    order.sort_by_key(|link| (levels[link], *link));
    order
}

/// What these and the edges lead to, such that edges lead onwards in it, but for one at least of each ring. Begins where it
/// is told to; of the edges from one place it takes the last first.
fn depth_first(roots: impl Iterator<Item = u32>, edges: &[(u32, u32)]) -> Vec<u32> {
    let mut followers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    edges.iter().for_each(|&(from, to)| followers.entry(from).or_default().push(to));
    let (mut left, mut met) = (Vec::new(), BTreeSet::new());
    for root in roots {
        let mut path = if met.insert(root) { vec![root] } else { Vec::new() };
        while let Some(place) = path.last() {
            match followers.get_mut(place).and_then(Vec::pop) {
                Some(next) if met.insert(next) => path.push(next),
                Some(_) => {}
                None => left.extend(path.pop()),
            }
        }
    }
    left.reverse();
    left
}

/// The least time from any host to each link.
fn offsets(ways: &BTreeMap<(u32, u32), Span>) -> BTreeMap<u32, Span> {
    let mut offsets = BTreeMap::from([(HOST, Span::ZERO)]);
    let mut has_news = true;
    while std::mem::take(&mut has_news) {
        for (&(from, to), &way) in ways.iter().filter(|((_, to), _)| *to != HOST) {
            let Some(&before) = offsets.get(&from) else { continue };
            let offset = offsets.entry(to).or_insert(Span::MAX);
            has_news |= before + way < *offset;
            *offset = (before + way).min(*offset);
        }
    }
    offsets
}

//! The links that run in windows: in which order, how far each may go, and what comes after it.

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
    /// The stage that all its packets reach next, with no link between.
    pub(super) next: Option<u32>,
    /// Where the tail of every packet's way begins behind it ([`super::inbox`]): the links of several flows in them.
    pub(super) ends: Option<BTreeSet<u32>>,
    /// All that arrived before has been served.
    pub(super) served_until: Instant,
}

impl Stage {
    /// Stages over the links that `is_staged` marks, each after those that feed it; `None` where they have no order, or time
    /// has no length.
    fn all(network: &Network, is_staged: &[bool], service: impl Fn(u32) -> Service) -> Option<Vec<Stage>> {
        let ways = ways(network, is_staged)?;
        let order = order(&ways)?;
        let mut offsets = BTreeMap::from([(HOST, Span::ZERO)]);
        for &link in &order {
            let feeders = ways.iter().filter(|((_, to), _)| *to == link);
            let offset = feeders.map(|((from, _), &way)| offsets[from] + way).min()?;
            offsets.insert(link, offset);
        }
        let position = |link: u32| order.iter().position(|&staged| staged == link);
        let mut stages = Vec::new();
        for &link in &order {
            let (offset, to_hosts) = (offsets[&link], ways.get(&(link, HOST)).copied());
            if to_hosts.is_some_and(|way| offset + way == Span::ZERO) {
                return None; // no time passes from host to host
            }
            let next = only_follower(network, link).and_then(position).map(|position| position as u32);
            let (service, served_until) = (service(link), Instant::ZERO);
            stages.push(Stage { link, offset, to_hosts, service, next, ends: None, served_until });
        }
        Some(stages)
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
        at_work if at_work.is_bounded() => Service::Bounded,
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

/// The links that the ways lead to, each after those that feed it; `None` if some feed each other in a ring.
fn order(ways: &BTreeMap<(u32, u32), Span>) -> Option<Vec<u32>> {
    let mut feeders: BTreeMap<u32, usize> = BTreeMap::new();
    for &(from, to) in ways.keys().filter(|(_, to)| *to != HOST) {
        *feeders.entry(to).or_default() += usize::from(from != HOST);
    }
    let mut order: Vec<u32> =
        feeders.iter().filter(|(_, feeders)| **feeders == 0).map(|(&link, _)| link).collect();
    let mut done = 0;
    while let Some(&link) = order.get(done) {
        done += 1;
        for &(_, to) in ways.range((link, 0)..(link, HOST)).map(|(way, _)| way) {
            let left = feeders.get_mut(&to)?;
            *left -= 1;
            if *left == 0 {
                order.push(to);
            }
        }
    }
    (done == feeders.len() && done > 0).then_some(order)
}

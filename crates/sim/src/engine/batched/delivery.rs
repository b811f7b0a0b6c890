//! The fast path into a host: downstream of the last link that runs in epochs, at most one link of several flows, then at most
//! one of the flow's own, or of a host that flows share (`batched/shared_hosts.rs`).
//!
//! *Idea.* Packets that leave the last link are gathered, then dealt out flow by flow (or host by host): the state of a flow comes
//! into the caches once, not once a packet. Nothing that a host does about them can come into this epoch any more (`batched/epoch.rs`); and for
//! each flow they keep their order.
//! *What it buys.* Without dealing out edge pacing takes 13 % more time (`make bench-ablation`).

use crate::engine::Engine;
use crate::engine::fastpath::prefetch::FLOWS_AHEAD;
use crate::engine::fastpath::uncongested_downstream::{MANY, TOGETHER};
use crate::engine::plan::routes::{AT_ONCE, IS_LINK, PLACE, PLAIN, STAGED};
use crate::kernel::packet::Event;
use std::collections::BTreeSet;

/// The links downstream of the last one that runs in epochs: of several flows, this one or [`PathSuffix::NO_LINK`]; then perhaps one that is
/// the flow's own (`fastpath/private_links.rs`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathSuffix {
    /// Passed in the order in which that one lets packets go. While a packet waits for links that run in epochs, this
    /// is its event's place.
    pub(crate) shared: u32,
}

impl PathSuffix {
    /// Any other way in.
    pub(crate) const LONG: PathSuffix = PathSuffix { shared: u32::MAX - 1 };
    pub(crate) const NO_LINK: u32 = u32::MAX;

    pub(crate) fn is_long(self) -> bool {
        self.shared == PathSuffix::LONG.shared
    }

    fn shared(self) -> Option<u32> {
        (self.shared != PathSuffix::NO_LINK).then_some(self.shared)
    }

    /// Downstream of the last staged entry of a way; whether the host at its end may be a shared one.
    fn of(
        downstream: &[u32],
        passes: &[u32],
        is_looked_at: &impl Fn(u32) -> bool,
        may_be_shared: bool,
    ) -> Ingress {
        let is_own = |entry: u32| entry & PLAIN != 0 && passes[(entry & PLACE) as usize] == 1;
        let (shared, own, into) = match *downstream {
            _ if downstream.iter().any(|entry| entry & AT_ONCE == 0 || is_looked_at(entry & PLACE)) => {
                return Ingress::LONG;
            }
            [] => (PathSuffix::NO_LINK, None, None),
            [own] if is_own(own) => (PathSuffix::NO_LINK, Some(own & PLACE), None),
            [shared] => (shared & PLACE, None, None),
            [shared, own] if is_own(own) => (shared & PLACE, Some(own & PLACE), None),
            [shared, into] if may_be_shared => (shared & PLACE, None, Some(into & PLACE)),
            _ => return Ingress::LONG,
        };
        Ingress { tail: PathSuffix { shared }, downstream: Ingress::NO_ORDERED_LINK, own, into }
    }
}

/// A suffix, and the link at its end: the flow's own one, or that of a host that flows share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ingress {
    pub(crate) tail: PathSuffix,
    /// The ordered link downstream of which it lies, once that is known.
    downstream: u32,
    pub(crate) own: Option<u32>,
    pub(crate) into: Option<u32>,
}

impl Ingress {
    const NO_ORDERED_LINK: u32 = u32::MAX;
    const LONG: Ingress =
        Ingress { tail: PathSuffix::LONG, downstream: Ingress::NO_ORDERED_LINK, own: None, into: None };
}

/// The ways of each flow's data and acknowledgements into hosts; and by ordered link, where a suffix begins downstream of it for every packet,
/// their shared links. Where not, and downstream of a link that is observed:, every packet's hops are taken one by one.
pub(crate) fn ingress_of(
    routes: &[u32],
    (stride, ack_hop): (usize, usize),
    stages: usize,
    passes: &[u32],
    is_looked_at: &impl Fn(u32) -> bool,
    may_be_shared: impl Fn(usize, usize) -> bool,
) -> (Vec<[Ingress; 2]>, Vec<Option<BTreeSet<u32>>>) {
    let mut ends = vec![Some(BTreeSet::new()); stages];
    let ways = routes.chunks(stride).enumerate().map(|(flow, route)| {
        [(0, &route[..ack_hop]), (1, &route[ack_hop..])].map(|(end, way)| {
            let links = way.iter().take_while(|entry| **entry != u32::MAX && **entry & IS_LINK != 0).count();
            let way = &way[..links];
            let last = way.iter().rposition(|entry| *entry & STAGED != 0);
            let downstream = &way[last.map_or(0, |last| last + 1)..];
            let way_in = PathSuffix::of(downstream, passes, is_looked_at, may_be_shared(flow, end));
            for (place, entry) in way.iter().enumerate().filter(|(_, entry)| **entry & STAGED != 0) {
                let end = &mut ends[(entry & PLACE) as usize];
                match end {
                    Some(shared) if Some(place) == last && !way_in.tail.is_long() => {
                        shared.extend(way_in.tail.shared());
                    }
                    _ => *end = None,
                }
            }
            Ingress { downstream: last.map_or(Ingress::NO_ORDERED_LINK, |last| way[last] & PLACE), ..way_in }
        })
    });
    let mut ways: Vec<[Ingress; 2]> = ways.collect();
    let is_end = |stage: u32| stage != Ingress::NO_ORDERED_LINK && ends[stage as usize].is_some();
    for way in ways.iter_mut().flatten().filter(|way| !is_end(way.downstream)) {
        *way = Ingress::LONG;
    }
    (ways, ends)
}

/// What the epoch has brought to hosts, and room to deal it out.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    pub(crate) arrivals: Vec<Event>,
    dealt: Vec<Event>,
    /// By flow, or by group of flows: how many packets, then where the next of them goes.
    slots: Vec<u32>,
}

impl Engine<'_> {
    /// The packets in the delivery from this place on have just left this link, downstream of which the suffix of every packet begins.
    #[inline(never)]
    pub(crate) fn pass_downstream(&mut self, from: usize, link: u32) {
        let arrivals = &mut self.delivery.arrivals;
        let are_few = arrivals.len() - from < MANY;
        let mut downstream =
            self.downstream.iter_mut().find(|downstream| !are_few && downstream.is_behind(link));
        for packets in arrivals[from..].chunks_mut(TOGETHER) {
            let links = &mut self.links;
            if downstream.as_mut().is_some_and(|one| one.pass(packets, links, self.network)) {
                continue;
            }
            for event in packets {
                if let Some(link) = links.get_mut(event.place as usize) {
                    event.at = link.pass(event.bytes, event.is_ack(), event.at).arrival;
                }
            }
        }
    }

    /// Hosts take what the epoch has brought them so far, these lists too.
    pub(crate) fn deliver(&mut self, brought: &[&[Event]]) {
        self.tell_losses();
        if self.delivery.arrivals.is_empty() && brought.is_empty() {
            return;
        }
        let Delivery { mut arrivals, mut dealt, mut slots } = std::mem::take(&mut self.delivery);
        let lists = [&[&arrivals[..]], brought].concat();
        let flows = self.flows.list.len();
        if !crate::ablation::FastPath::Deal.is_on() {
            dealt.clear();
            lists.iter().for_each(|list| dealt.extend_from_slice(list));
        } else if let Some((hosts_of, hosts)) = self.shared.hosts_of() {
            let host_of = |event: &Event| hosts_of[event.flow as usize][usize::from(event.is_ack())] as usize;
            deal(&lists, (host_of, hosts), &mut slots, &mut dealt);
        } else {
            let first = self.flows.first;
            let flow_of = |event: &Event| (event.flow as usize).wrapping_sub(first);
            deal(&lists, (flow_of, flows), &mut slots, &mut dealt);
        }
        self.take_all(&mut dealt);
        arrivals.clear();
        self.delivery = Delivery { arrivals, dealt, slots };
    }

    /// Flows are told of the packets that links have dropped. None is delivered before it was sent again: so they may are told of it ahead
    /// of what came meanwhile.
    pub(crate) fn tell_losses(&mut self) {
        let losses = std::mem::take(&mut self.losses);
        let has_far_flows = self.has_far_flows();
        for (place, event) in losses.iter().enumerate() {
            if has_far_flows {
                self.prefetch(losses.get(place + FLOWS_AHEAD).map(|event| event.flow));
            }
            self.flows[event.flow as usize].on_drop(&event.packet());
        }
        self.losses = losses;
        self.losses.clear();
    }

    /// What is dealt concerns flows.
    #[inline(never)]
    pub(crate) fn take_all(&mut self, dealt: &mut [Event]) {
        let now = self.now;
        self.ahead = true; // one step at a time: what this sets off waits for its event
        if self.has_far_flows() {
            for place in 0..dealt.len() {
                self.prefetch(dealt.get(place + FLOWS_AHEAD).map(|event| event.flow));
                self.take(&mut dealt[place]);
            }
        } else {
            for event in dealt {
                self.take(event);
            }
        }
        self.ahead = false;
        self.now = now;
    }

    /// A packet has come so far that its flow's own links are next.
    #[inline(always)]
    pub(crate) fn take(&mut self, event: &mut Event) {
        if !self.take_fast(event) {
            self.take_in(event);
        }
    }

    /// A packet passes the link that is its flow's own, and is at its host then: before its time, if nothing can come between.
    #[inline(always)]
    fn take_in(&mut self, event: &mut Event) {
        if let Some(host) = self.shared.at(event.flow, event.is_ack().into()) {
            return self.take_at_shared(event, host);
        }
        let flow = &mut self.flows[event.flow as usize];
        let host = if event.is_ack() { &mut flow.at_source } else { &mut flow.at_sink };
        event.at = host.last_link(&mut self.links, event.bytes, event.is_ack(), event.at);
        if event.is_ack() {
            event.at = self.hesitation.after(event.at, event.flow, flow.hesitates);
        }
        if event.at >= self.until || !flow.runs_ahead(event) {
            return self.reach_host_by_event(*event);
        }
        self.now = event.at;
        if event.is_ack() {
            self.on_ack(event);
        } else {
            self.receive(event);
        }
    }
}

/// Puts packets of flows (or to hosts) that lie close together next to each other; those of one stay in order.
#[inline(never)]
fn deal(
    lists: &[&[Event]],
    (of, flows): (impl Fn(&Event) -> usize, usize),
    slots: &mut Vec<u32>,
    dealt: &mut Vec<Event>,
) {
    let packets: usize = lists.iter().map(|list| list.len()).sum();
    let Some(&first) = lists.iter().find_map(|list| list.first()) else { return dealt.clear() };
    let shift = (flows / packets).max(1).ilog2();
    slots.clear();
    slots.resize((flows >> shift) + 1, 0);
    dealt.resize(packets, first);
    match shift {
        0 => distribute(lists, of, slots, dealt),
        _ => distribute(lists, |event| of(event) >> shift, slots, dealt),
    }
}

/// The same, each packet to its slot.
#[inline(always)]
fn distribute(lists: &[&[Event]], slot_of: impl Fn(&Event) -> usize, slots: &mut [u32], dealt: &mut [Event]) {
    for list in lists {
        list.iter().for_each(|event| slots[slot_of(event)] += 1);
    }
    let mut before = 0;
    for count in slots.iter_mut() {
        before += std::mem::replace(count, before);
    }
    for list in lists {
        for event in *list {
            let place = &mut slots[slot_of(event)];
            dealt[*place as usize] = *event;
            *place += 1;
        }
    }
}

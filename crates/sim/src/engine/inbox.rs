//! The short way into a host: behind the last link that runs in windows, at most one link of several flows, then at most
//! one of the flow's own, or of a host that flows share ([`super::shared`]).
//!
//! *Idea.* Packets that leave the last link are gathered, then dealt out flow by flow (or host by host): the state of a flow comes
//! into the caches once, not once a packet. Nothing that a host does about them can come into this window any more ([`super::windows`]); and for
//! each flow they keep their order.
//! *What it buys.* Without dealing out edge pacing takes 13 % more time (`make bench-ablation`).

use super::Engine;
use super::behind::{MANY, TOGETHER};
use super::fetch::FLOWS_AHEAD;
use super::routes::{AT_ONCE, IS_LINK, PLACE, PLAIN, STAGED};
use crate::kernel::packet::Event;
use std::collections::BTreeSet;

/// The links behind the last one that runs in windows: of several flows, this one or [`Tail::NO_LINK`]; then perhaps one that is
/// the flow's own ([`super::own`]).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    /// Passed in the order in which that one lets packets go. While a packet waits for links that run in windows, this
    /// is its event's place.
    pub(super) shared: u32,
}

impl Tail {
    /// Any other way in.
    pub(crate) const LONG: Tail = Tail { shared: u32::MAX - 1 };
    pub(super) const NO_LINK: u32 = u32::MAX;

    pub(super) fn is_long(self) -> bool {
        self.shared == Tail::LONG.shared
    }

    fn shared(self) -> Option<u32> {
        (self.shared != Tail::NO_LINK).then_some(self.shared)
    }

    /// Behind the last staged entry of a way; whether the host at its end may be a shared one.
    fn of(behind: &[u32], passes: &[u32], is_looked_at: &impl Fn(u32) -> bool, may_be_shared: bool) -> WayIn {
        let is_own = |entry: u32| entry & PLAIN != 0 && passes[(entry & PLACE) as usize] == 1;
        let (shared, own, into) = match *behind {
            _ if behind.iter().any(|entry| entry & AT_ONCE == 0 || is_looked_at(entry & PLACE)) => {
                return WayIn::LONG;
            }
            [] => (Tail::NO_LINK, None, None),
            [own] if is_own(own) => (Tail::NO_LINK, Some(own & PLACE), None),
            [shared] => (shared & PLACE, None, None),
            [shared, own] if is_own(own) => (shared & PLACE, Some(own & PLACE), None),
            [shared, into] if may_be_shared => (shared & PLACE, None, Some(into & PLACE)),
            _ => return WayIn::LONG,
        };
        WayIn { tail: Tail { shared }, behind: WayIn::NO_STAGE, own, into }
    }
}

/// A tail, and the link at its end: the flow's own one, or that of a host that flows share.
#[derive(Debug, Clone, Copy)]
pub(super) struct WayIn {
    pub(super) tail: Tail,
    /// The stage behind which it lies, once that is known.
    behind: u32,
    pub(super) own: Option<u32>,
    pub(super) into: Option<u32>,
}

impl WayIn {
    const NO_STAGE: u32 = u32::MAX;
    const LONG: WayIn = WayIn { tail: Tail::LONG, behind: WayIn::NO_STAGE, own: None, into: None };
}

/// The ways of each flow's data and acknowledgements into hosts; and by stage, where a tail begins behind it for every packet,
/// their shared links. Where not, and behind a link that somebody looks at, every packet's hops are taken one by one.
pub(super) fn ways_in(
    routes: &[u32],
    (stride, ack_hop): (usize, usize),
    stages: usize,
    passes: &[u32],
    is_looked_at: &impl Fn(u32) -> bool,
    may_be_shared: impl Fn(usize, usize) -> bool,
) -> (Vec<[WayIn; 2]>, Vec<Option<BTreeSet<u32>>>) {
    let mut ends = vec![Some(BTreeSet::new()); stages];
    let ways = routes.chunks(stride).enumerate().map(|(flow, route)| {
        [(0, &route[..ack_hop]), (1, &route[ack_hop..])].map(|(end, way)| {
            let links = way.iter().take_while(|entry| **entry != u32::MAX && **entry & IS_LINK != 0).count();
            let way = &way[..links];
            let last = way.iter().rposition(|entry| *entry & STAGED != 0);
            let behind = &way[last.map_or(0, |last| last + 1)..];
            let way_in = Tail::of(behind, passes, is_looked_at, may_be_shared(flow, end));
            for (place, entry) in way.iter().enumerate().filter(|(_, entry)| **entry & STAGED != 0) {
                let end = &mut ends[(entry & PLACE) as usize];
                match end {
                    Some(shared) if Some(place) == last && !way_in.tail.is_long() => {
                        shared.extend(way_in.tail.shared());
                    }
                    _ => *end = None,
                }
            }
            WayIn { behind: last.map_or(WayIn::NO_STAGE, |last| way[last] & PLACE), ..way_in }
        })
    });
    let mut ways: Vec<[WayIn; 2]> = ways.collect();
    let is_end = |stage: u32| stage != WayIn::NO_STAGE && ends[stage as usize].is_some();
    for way in ways.iter_mut().flatten().filter(|way| !is_end(way.behind)) {
        *way = WayIn::LONG;
    }
    (ways, ends)
}

/// What the window has brought to hosts, and room to deal it out.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) arrivals: Vec<Event>,
    dealt: Vec<Event>,
    /// By flow, or by group of flows: how many packets, then where the next of them goes.
    slots: Vec<u32>,
}

impl Engine<'_> {
    /// The packets in the inbox from this place on have just left this link, behind which the tail of every packet begins.
    #[inline(never)]
    pub(super) fn descend(&mut self, from: usize, link: u32) {
        let arrivals = &mut self.inbox.arrivals;
        let are_few = arrivals.len() - from < MANY;
        let mut behind = self.behind.iter_mut().find(|behind| !are_few && behind.is_behind(link));
        for packets in arrivals[from..].chunks_mut(TOGETHER) {
            let links = &mut self.links;
            if behind.as_mut().is_some_and(|one| one.pass(packets, links, self.network)) {
                continue;
            }
            for event in packets {
                if let Some(link) = links.get_mut(event.place as usize) {
                    event.at = link.pass(event.bytes, event.is_ack(), event.at).arrival;
                }
            }
        }
    }

    /// Hosts take what the window has brought them so far, these lists too.
    pub(super) fn open_inbox(&mut self, brought: &[&[Event]]) {
        self.tell_losses();
        if self.inbox.arrivals.is_empty() && brought.is_empty() {
            return;
        }
        let Inbox { mut arrivals, mut dealt, mut slots } = std::mem::take(&mut self.inbox);
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
        self.inbox = Inbox { arrivals, dealt, slots };
    }

    /// Flows hear of the packets that links have dropped. None is delivered before it was sent again: so they may hear of it ahead
    /// of what came meanwhile.
    pub(super) fn tell_losses(&mut self) {
        let losses = std::mem::take(&mut self.losses);
        let has_far_flows = self.has_far_flows();
        for (place, event) in losses.iter().enumerate() {
            if has_far_flows {
                self.fetch_ahead(losses.get(place + FLOWS_AHEAD).map(|event| event.flow));
            }
            self.flows[event.flow as usize].on_drop(&event.packet());
        }
        self.losses = losses;
        self.losses.clear();
    }

    /// What is dealt concerns flows.
    #[inline(never)]
    pub(super) fn take_all(&mut self, dealt: &mut [Event]) {
        let now = self.now;
        self.ahead = true; // one step at a time: what this sets off waits for its event
        if self.has_far_flows() {
            for place in 0..dealt.len() {
                self.fetch_ahead(dealt.get(place + FLOWS_AHEAD).map(|event| event.flow));
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
    pub(super) fn take(&mut self, event: &mut Event) {
        if !self.take_plainly(event) {
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
        event.at = host.come_in(&mut self.links, event.bytes, event.is_ack(), event.at);
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

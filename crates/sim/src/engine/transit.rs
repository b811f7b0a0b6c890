//! Packets on their way: from link to link.

use super::{Engine, Exit};
use crate::flow::Flow;
use crate::link::{Fate, Link, Passage};
use crate::network::{Network, Probe};
use crate::packet::{Event, Kind, Packet};
use crate::trace::TraceEvent;
use paceline_core::Instant;

/// Bit of a place in [`Engine::routes`]: packets pass this link as soon as the one before has let them go.
const AT_ONCE: u32 = 1 << 31;
/// The link runs in windows ([`super::windows`]); the place is its stage's.
const STAGED: u32 = 1 << 30;
/// The place is a link.
const IS_LINK: u32 = 1 << 29;
/// The link refuses nothing, nobody watches it, and nothing is traced.
const PLAIN: u32 = 1 << 28;
/// The bits of the place itself.
const PLACE: u32 = PLAIN - 1;

impl Engine<'_> {
    /// A packet sets out: it reaches the first link of its way, now.
    #[inline(always)]
    pub(super) fn set_out(&mut self, mut event: Event) {
        let way = self.way_of(&event);
        let entry = self.routes[way];
        event.place = entry & PLACE;
        if entry & PLAIN == 0 {
            return self.set_out_in_order(event, entry);
        }
        event.at = self.links[event.place as usize].pass_unwatched(event.bytes, event.at);
        event.step();
        let next = self.routes[way + 1];
        if next & STAGED == 0 {
            return self.go_on(event);
        }
        event.place = next & PLACE;
        self.push_staged(event);
    }

    /// The same where the first link needs to see packets in the order of time, or may refuse them.
    #[inline(never)]
    fn set_out_in_order(&mut self, mut event: Event, entry: u32) {
        if entry & STAGED != 0 {
            event.kind = Kind::Application; // behind what links send
            self.push_staged(event);
        } else {
            self.travel(event);
        }
    }

    /// A packet reaches a link, at the event's time.
    pub(super) fn travel(&mut self, event: Event) {
        if self.links[event.place as usize].refuses_nothing() {
            if self.tracer.is_some() {
                self.trace_enqueue(&event);
            }
            self.pass(event);
        } else {
            self.offer(event);
        }
    }

    /// A packet passes a link that refuses nothing, and goes on.
    #[inline]
    fn pass(&mut self, mut event: Event) {
        let passage = self.links[event.place as usize].pass(event.bytes, event.is_ack(), event.at);
        self.leave(&mut event, passage);
        self.go_on(event);
    }

    /// A packet reaches a link that may refuse or hold it.
    fn offer(&mut self, event: Event) {
        match self.links[event.place as usize].offer(&event) {
            Fate::Leaves(passage) => {
                self.trace_enqueue(&event);
                self.depart(event, passage);
            }
            Fate::Refused => self.refuse(&event),
            Fate::Held => self.hold(&event),
            Fate::Displaced(older) => {
                self.drop(event.place, &older);
                self.hold(&event);
            }
        }
    }

    /// A packet reaches a link that holds nothing but may refuse it, at the event's time; nobody traces it.
    #[inline(always)]
    pub(super) fn offer_untraced(&mut self, event: Event) {
        match self.links[event.place as usize].admit(&event) {
            Some(passage) => {
                let mut event = event;
                self.leave(&mut event, passage);
                self.go_on_inlined(event);
            }
            None => {
                let copy = event;
                self.refuse(&copy);
            }
        }
    }

    /// A packet has been given to the wire of a link that may refuse or hold packets.
    #[inline]
    fn depart(&mut self, mut event: Event, passage: Passage) {
        self.leave(&mut event, passage);
        self.go_on_inlined(event);
    }

    /// A packet is on the wire of the event's place, or will be: the event moves on to where the packet comes next.
    #[inline(always)]
    fn leave(&mut self, event: &mut Event, passage: Passage) {
        if passage.recorded || self.tracer.is_some() {
            let copy = *event;
            self.record(copy, passage);
        }
        event.at = passage.arrival;
        event.step();
    }

    /// A packet comes to the next place of its way at the event's time: past the links that it passes at once.
    #[inline(never)]
    fn go_on(&mut self, event: Event) {
        self.go_on_inlined(event);
    }

    /// The same, for loops over many packets.
    #[inline(always)]
    pub(super) fn go_on_inlined(&mut self, mut event: Event) {
        let mut way = self.way_of(&event);
        loop {
            let entry = self.routes[way];
            event.place = entry & PLACE;
            if entry & AT_ONCE == 0 {
                return self.arrive(event, entry);
            }
            let link = &mut self.links[event.place as usize];
            if entry & PLAIN != 0 {
                event.at = link.pass_unwatched(event.bytes, event.at);
                event.step();
            } else {
                let passage = link.pass(event.bytes, event.is_ack(), event.at);
                self.leave(&mut event, passage);
            }
            way += 1;
        }
    }

    /// A packet will be at the event's place at the event's time.
    #[inline(always)]
    fn arrive(&mut self, event: Event, entry: u32) {
        if entry & STAGED != 0 {
            self.push_staged(event);
        } else if entry & IS_LINK != 0 {
            self.calendar.push(event);
        } else {
            self.reach_host(event);
        }
    }

    /// A packet will reach a link that runs in windows: the event's place is its stage.
    #[inline]
    fn push_staged(&mut self, event: Event) {
        if let Some(windows) = &mut self.windows {
            windows.push(event);
        }
    }

    /// A packet will be at its host at the event's time: handles that now if nothing can come between, else then.
    #[inline(always)]
    fn reach_host(&mut self, event: Event) {
        let may_run_ahead = !self.ahead && event.at < self.until;
        if !may_run_ahead || !self.flows[event.flow as usize].runs_ahead(&event) {
            let copy = event;
            return self.reach_host_by_event(copy);
        }
        self.ahead = true; // one step at a time: what this sets off waits for its event
        let now = std::mem::replace(&mut self.now, event.at);
        if event.is_ack() {
            self.on_ack(&event);
        } else {
            self.receive(&event);
        }
        self.now = now;
        self.ahead = false;
    }

    #[inline(never)]
    fn reach_host_by_event(&mut self, mut event: Event) {
        self.flows[event.flow as usize].waiting[usize::from(event.is_ack())] += 1;
        if event.is_ack() {
            event.kind = Kind::Acknowledgement;
        }
        self.calendar.push(event);
    }

    /// A link refuses a packet that reaches it.
    #[cold]
    fn refuse(&mut self, event: &Event) {
        self.see_arrival(event);
        self.drop(event.place, &event.packet());
    }

    #[cold]
    fn trace_enqueue(&mut self, event: &Event) {
        if let Some(tracer) = &mut self.tracer {
            tracer.now(TraceEvent::Enqueue, event.place, &event.packet(), f64::NAN, self.now);
        }
    }

    fn drop(&mut self, place: u32, packet: &Packet) {
        if let Some(tracer) = &mut self.tracer {
            tracer.now(TraceEvent::Drop, place, packet, f64::NAN, self.now);
        }
        self.instruments.drops(place, packet.flow, self.now);
        self.flows[packet.flow as usize].on_drop(packet);
    }

    /// Somebody looks at what reaches links.
    fn see_arrival(&mut self, event: &Event) {
        if self.instruments.see_arrivals {
            self.instruments.arrives(event.place, u32::from(event.bytes), event.at);
        }
    }

    fn hold(&mut self, event: &Event) {
        self.trace_enqueue(event);
        self.see_arrival(event);
        self.pump(event.place);
    }

    /// What the trace and probes have to say of a departure.
    #[cold]
    fn record(&mut self, event: Event, passage: Passage) {
        let link = event.place;
        if let Some(tracer) = &mut self.tracer {
            tracer.dequeue(link, &event.packet(), passage.start, self.now);
        }
        if passage.recorded {
            let finish = passage.arrival - self.network.links[link as usize].delay;
            self.instruments.departs(link, &event.packet(), (passage.start, finish), &mut self.series);
            // A link that holds packets has said so when this one came.
            if !self.links[link as usize].holds() {
                self.see_arrival(&event);
            }
        }
    }

    /// Lets go what a link may let go now, and asks it when to come again.
    fn pump(&mut self, place: u32) {
        while let Some((packet, passage)) = self.links[place as usize].pump(self.now) {
            match passage {
                Some(passage) => self.depart(Event::of_packet(self.now, place, packet), passage),
                None => self.drop(place, &packet),
            }
        }
        let Some(link) = &mut self.links[place as usize].fitted else { return };
        let Some(at) = link.next_wakeup() else { return };
        let at = at.max(self.now);
        if link.wakeup_at.is_none_or(|scheduled| at < scheduled) {
            link.wakeup_at = Some(at);
            if self.windows.is_none() {
                self.calendar.push(Event::of_flow(at, place, Kind::LinkWakeup, 0));
            }
        }
    }

    pub(super) fn on_wakeup(&mut self, place: u32, at: Instant) {
        let Some(link) = &mut self.links[place as usize].fitted else { return };
        if link.wakeup_at == Some(at) {
            link.wakeup_at = None;
            self.pump(place);
        }
    }

    /// No link runs in windows any more: `link_of` knows the link of each stage.
    pub(super) fn unstage(&mut self, link_of: impl Fn(u32) -> u32) {
        for entry in self.routes.iter_mut().filter(|entry| **entry != u32::MAX && **entry & STAGED != 0) {
            *entry = *entry & !(STAGED | PLACE) | link_of(*entry & PLACE);
        }
        self.flows.iter_mut().for_each(|flow| flow.exits = [Exit::LONG; 2]);
    }

    /// Where in [`Engine::routes`] a packet stands on its round trip.
    #[inline]
    fn way_of(&self, event: &Event) -> usize {
        event.flow as usize * self.stride + event.hop()
    }
}

/// The links of a network, with meters where results or probes ask for them.
pub(super) fn links_of(network: &Network) -> Vec<Link> {
    let mut losses = vec![Vec::new(); network.links.len()];
    for drop in &network.drops {
        losses[drop.link as usize].push((drop.flow, drop.rule.clone()));
    }
    let mut metered: Vec<bool> = network.links.iter().map(|link| link.reported).collect();
    if let Some(core) = metered.get_mut(network.core as usize) {
        *core = true;
    }
    let watched = network.instruments.iter().filter_map(|instrument| instrument.what.link());
    for link in network.probes.iter().map(|probe| probe.link).chain(watched) {
        metered[link as usize] = true;
    }
    let (seed, flows) = (network.seed, network.flows.len());
    let window = (Instant::ZERO + network.warmup, Instant::ZERO + network.duration);
    let links = network.links.iter().zip(losses).zip(metered);
    links.map(|((spec, losses), metered)| Link::new(spec, losses, metered, window, seed, flows)).collect()
}

/// What feeds a link.
#[derive(Clone, Copy, PartialEq)]
enum Feeder {
    None,
    /// One link alone.
    Link(u32),
    /// One flow alone, from its host: its data, or its acknowledgements.
    Host(u32, bool),
    More,
}

/// Sets [`AT_ONCE`] where it is true: on links that refuse nothing, hold nothing, and are fed by one other link alone. Says
/// of each flow whether its receiver and its sender may run ahead: where the link that they feed is theirs alone. Returns
/// which of the other links must take their packets in the order of time, whoever sends them.
pub(super) fn mark_at_once(
    routes: &mut [u32],
    network: &Network,
    links: &[Link],
    flows: &mut [Flow],
) -> Vec<bool> {
    let mut feeders = vec![Feeder::None; links.len()];
    for (id, flow) in network.flows.iter().enumerate() {
        for (is_ack, route) in [(false, &flow.forward), (true, &flow.reverse)] {
            let mut before = Feeder::Host(id as u32, is_ack);
            for &link in route {
                let feeder = &mut feeders[link as usize];
                *feeder = if *feeder == Feeder::None || *feeder == before { before } else { Feeder::More };
                before = Feeder::Link(link);
            }
        }
    }
    // A queue that is sampled is asked for its level between arrivals: it must not know the future.
    let is_sampled = |probe: &&Probe| probe.samples();
    for probe in network.probes.iter().filter(is_sampled) {
        feeders[probe.link as usize] = Feeder::More;
    }
    let at_once = |link: usize| links[link].refuses_nothing() && matches!(feeders[link], Feeder::Link(_));
    for entry in routes {
        let link = (*entry & PLACE) as usize;
        if *entry != u32::MAX && *entry & IS_LINK != 0 {
            *entry |= if at_once(link) { AT_ONCE } else { 0 };
            *entry |= if links[link].is_unwatched() { PLAIN } else { 0 };
        }
    }
    for (id, (spec, flow)) in network.flows.iter().zip(flows).enumerate() {
        let is_its_own = |link: Option<&u32>, is_ack: bool| {
            link.is_none_or(|&link| {
                let link = link as usize;
                links[link].refuses_nothing() && feeders[link] == Feeder::Host(id as u32, is_ack)
            })
        };
        if spec.kind.is_two_way() {
            continue; // each of its flows may be made to send by what reaches the other
        }
        // A packet that comes late must not be taken before the sender has had time to begin another connection.
        if is_its_own(spec.reverse.first(), true) && !spec.kind.replaces_connections() {
            flow.let_run_ahead(0);
        }
        if is_its_own(spec.forward.first(), false) && !network.hosts[spec.source as usize].port_pacing {
            flow.let_run_ahead(1);
        }
    }
    // Hosts send in the order of time: a link that refuses nothing and that they alone feed needs no other.
    let mut needs_order: Vec<bool> = links.iter().map(|link| !link.refuses_nothing()).collect();
    let behind = |route: &[u32]| route.iter().skip(1).map(|&link| link as usize).collect::<Vec<_>>();
    let sampled = network.probes.iter().filter(is_sampled).map(|probe| probe.link as usize);
    let fed_by_links =
        network.flows.iter().flat_map(|flow| [behind(&flow.forward), behind(&flow.reverse)]).flatten();
    sampled.chain(fed_by_links).for_each(|link| needs_order[link] = true);
    (0..links.len()).map(|link| needs_order[link] && !at_once(link)).collect()
}

/// Sets [`STAGED`] for the links that run in windows, each at its position in `stages`.
pub(super) fn mark_staged(routes: &mut [u32], stage_of: impl Fn(u32) -> Option<u32>) {
    for entry in routes.iter_mut().filter(|entry| **entry != u32::MAX && **entry & IS_LINK != 0) {
        if let Some(stage) = stage_of(*entry & PLACE) {
            *entry = *entry & !PLACE | STAGED | stage;
        }
    }
}

/// The short ways out of the hosts of a flow with this route.
pub(super) fn exits_of(route: &[u32], ack_hop: usize) -> [Exit; 2] {
    [0, ack_hop].map(|hop| match (route[hop], route.get(hop + 1)) {
        (first, Some(&next))
            if first & (IS_LINK | PLAIN | STAGED) == IS_LINK | PLAIN && next & STAGED != 0 =>
        {
            Exit { link: first & PLACE, stage: next & PLACE }
        }
        _ => Exit::LONG,
    })
}

/// Places of the round trip of each flow, `stride` to a flow: its data's links, its sink, its acknowledgements' links, its
/// source; then in which of them the acknowledgements' begin.
pub(super) fn routes_of(network: &Network) -> (Vec<u32>, usize, usize) {
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

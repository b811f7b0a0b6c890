//! Packets on their way: from link to link.

use super::Engine;
use crate::flow::Flow;
use crate::link::{Fate, Link, Passage};
use crate::network::{Network, Probe};
use crate::packet::{Event, Kind, Packet};
use crate::trace::TraceEvent;
use paceline_core::Instant;

/// Bit of a place in [`Engine::routes`]: packets pass this link as soon as the one before has let them go.
const AT_ONCE: u32 = 1 << 31;
/// Another: the link runs in windows ([`super::windows`]).
const STAGED: u32 = 1 << 30;
/// The bits of the place itself.
const PLACE: u32 = STAGED - 1;

impl Engine<'_> {
    /// A packet sets out: it reaches the first link of its way, now.
    #[inline]
    pub(super) fn set_out(&mut self, packet: Packet) {
        let mut event = Event::of_packet(self.now, 0, packet);
        let entry = self.place_of(&event);
        event.place = entry & PLACE;
        if entry & STAGED != 0 {
            event.kind = Kind::Application; // behind what links send
            self.push_staged(event);
        } else {
            self.travel(event);
        }
    }

    /// A packet reaches a link, at the event's time.
    #[inline]
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

    /// A packet passes a link that refuses nothing, and those after it that it passes at once.
    #[inline(always)]
    pub(super) fn pass(&mut self, mut event: Event) {
        loop {
            let passage = self.links[event.place as usize].pass(event.bytes, event.is_ack(), event.at);
            let entry = self.leave(&mut event, passage);
            if entry & AT_ONCE == 0 {
                return self.arrive(event, entry);
            }
        }
    }

    /// A packet reaches a link that may refuse or hold it.
    pub(super) fn offer(&mut self, event: Event) {
        match self.links[event.place as usize].offer(&event) {
            Fate::Leaves(passage) => {
                self.trace_enqueue(&event);
                self.depart(event, passage);
            }
            Fate::Refused => {
                self.see_arrival(&event);
                self.drop(event.place, &event.packet());
            }
            Fate::Held => self.hold(&event),
            Fate::Displaced(older) => {
                self.drop(event.place, &older);
                self.hold(&event);
            }
        }
    }

    /// A packet has been given to the wire of a link that may refuse or hold packets.
    #[inline]
    fn depart(&mut self, mut event: Event, passage: Passage) {
        let entry = self.leave(&mut event, passage);
        if entry & AT_ONCE == 0 { self.arrive(event, entry) } else { self.pass(event) }
    }

    /// A packet is on the wire of the event's place, or will be: the event moves on to where the packet comes next. Returns
    /// the route's entry for that.
    #[inline(always)]
    fn leave(&mut self, event: &mut Event, passage: Passage) -> u32 {
        if passage.recorded || self.tracer.is_some() {
            self.record(*event, passage);
        }
        event.step();
        event.at = passage.arrival;
        let entry = self.place_of(event);
        event.place = entry & PLACE;
        entry
    }

    /// A packet will be at the event's place at the event's time.
    #[inline(always)]
    fn arrive(&mut self, event: Event, entry: u32) {
        if entry & STAGED != 0 {
            self.push_staged(event);
        } else if (event.place as usize) < self.links.len() {
            self.calendar.push(event);
        } else {
            self.reach_host(event);
        }
    }

    /// A packet will reach a link that runs in windows.
    #[inline]
    fn push_staged(&mut self, event: Event) {
        if let Some(windows) = &mut self.windows {
            windows.push(event);
        }
    }

    /// A packet will be at its host at the event's time: handles that now if nothing can come between, else then.
    fn reach_host(&mut self, mut event: Event) {
        let may_run_ahead = !self.ahead && event.at < self.until;
        let flow = &mut self.flows[event.flow as usize];
        if may_run_ahead && flow.runs_ahead(&event) {
            self.ahead = true; // one step at a time: what this sets off waits for its event
            let now = std::mem::replace(&mut self.now, event.at);
            if event.is_ack() {
                self.on_ack(event.packet());
            } else {
                self.receive(event.packet());
            }
            self.now = now;
            self.ahead = false;
            return;
        }
        flow.waiting[usize::from(event.is_ack())] += 1;
        if event.is_ack() {
            event.kind = Kind::Acknowledgement;
        }
        self.calendar.push(event);
    }

    #[cold]
    fn trace_enqueue(&mut self, event: &Event) {
        if let Some(tracer) = &mut self.tracer {
            tracer.now(TraceEvent::Enqueue, event.place, &event.packet(), f64::NAN, self.now);
        }
    }

    #[cold]
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

    /// No link runs in windows any more.
    pub(super) fn unstage(&mut self) {
        self.routes.iter_mut().filter(|place| **place != u32::MAX).for_each(|place| *place &= !STAGED);
    }

    /// The place where a packet is on its round trip, with [`AT_ONCE`] and [`STAGED`].
    #[inline]
    fn place_of(&self, event: &Event) -> u32 {
        self.routes[event.flow as usize * self.stride + event.hop()]
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
    for place in routes {
        let link = *place as usize;
        if link < links.len() && at_once(link) {
            *place |= AT_ONCE;
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
        flow.may_run_ahead = [
            // A packet that comes late must not be taken before the sender has had time to begin another connection.
            is_its_own(spec.reverse.first(), true) && !spec.kind.replaces_connections(),
            is_its_own(spec.forward.first(), false) && !network.hosts[spec.source as usize].port_pacing,
        ];
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

/// Sets [`STAGED`] for the links that run in windows.
pub(super) fn mark_staged(routes: &mut [u32], is_staged: &[bool]) {
    for place in routes {
        if is_staged.get((*place & PLACE) as usize).is_some_and(|is_staged| *is_staged) {
            *place |= STAGED;
        }
    }
}

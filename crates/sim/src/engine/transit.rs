//! Packets on their way: from link to link.

use super::Engine;
use crate::flow::Flow;
use crate::link::{Fate, Link, Passage};
use crate::network::{Network, Probe, ProbeKind};
use crate::output::{SeriesKind, SeriesRow};
use crate::packet::{Event, Kind, Packet};
use crate::trace::TraceEvent;
use paceline_core::Instant;

/// Bit of a place in [`Engine::routes`]: packets pass this link as soon as the one before has let them go.
const AT_ONCE: u32 = 1 << 31;

impl Engine<'_> {
    /// A packet sets out: it reaches the first link of its way, now.
    #[inline]
    pub(super) fn set_out(&mut self, packet: Packet) {
        let mut event = Event::of_packet(self.now, 0, packet);
        event.place = self.place_of(&event) & !AT_ONCE;
        self.offer(event);
    }

    /// A packet reaches a link.
    pub(super) fn offer(&mut self, event: Event) {
        let place = event.place;
        match self.links[place as usize].offer(&event) {
            Fate::Leaves(passage) => {
                if let Some(tracer) = &mut self.tracer {
                    tracer.now(TraceEvent::Enqueue, place, &event.packet(), f64::NAN, self.now);
                }
                self.pass(event, passage);
            }
            Fate::Refused => self.drop(place, &event.packet()),
            Fate::Held => self.hold(place, &event.packet()),
            Fate::Displaced(older) => {
                self.drop(place, &older);
                self.hold(place, &event.packet());
            }
        }
    }

    #[cold]
    fn drop(&mut self, place: u32, packet: &Packet) {
        if let Some(tracer) = &mut self.tracer {
            tracer.now(TraceEvent::Drop, place, packet, f64::NAN, self.now);
        }
        self.flows[packet.flow as usize].on_drop(packet);
    }

    fn hold(&mut self, place: u32, packet: &Packet) {
        if let Some(tracer) = &mut self.tracer {
            tracer.now(TraceEvent::Enqueue, place, packet, f64::NAN, self.now);
        }
        self.pump(place);
    }

    /// A packet is on the wire of the event's place, or will be: its next event.
    #[inline(always)]
    fn pass(&mut self, mut event: Event, mut passage: Passage) {
        if let Some(tracer) = &mut self.tracer {
            tracer.dequeue(event.place, &event.packet(), passage.start, self.now);
        }
        loop {
            if passage.recorded {
                self.record(event.place, &event.packet(), passage.start);
            }
            event.step();
            event.at = passage.arrival;
            let entry = self.place_of(&event);
            event.place = entry & !AT_ONCE;
            if entry & AT_ONCE == 0 {
                break;
            }
            match self.links[event.place as usize].offer(&event) {
                Fate::Leaves(further) => passage = further,
                // Links that may hold or refuse are not marked.
                Fate::Held | Fate::Refused | Fate::Displaced(_) => return,
            }
        }
        if event.place as usize >= self.links.len() {
            self.reach_host(event);
        } else {
            self.calendar.push(event);
        }
    }

    /// A packet will be at its host at the event's time: handles that now if nothing can come between, else then.
    #[inline(always)]
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
    fn record(&mut self, link: u32, packet: &Packet, start: Instant) {
        let (flow, bytes, time_ns) = (packet.flow, u64::from(packet.bytes), start.as_nanos());
        self.series.push(SeriesRow { link, kind: SeriesKind::Departure, time_ns, flow, bytes });
    }

    /// Lets go what a link may let go now, and asks it when to come again.
    fn pump(&mut self, place: u32) {
        while let Some((packet, passage)) = self.links[place as usize].pump(self.now) {
            match passage {
                Some(passage) => self.pass(Event::of_packet(self.now, place, packet), passage),
                None => self.drop(place, &packet),
            }
        }
        let Some(link) = &mut self.links[place as usize].fitted else { return };
        let Some(at) = link.next_wakeup() else { return };
        let at = at.max(self.now);
        if link.wakeup_at.is_none_or(|scheduled| at < scheduled) {
            link.wakeup_at = Some(at);
            self.calendar.push(Event::of_flow(at, place, Kind::LinkWakeup, 0));
        }
    }

    pub(super) fn on_wakeup(&mut self, place: u32, at: Instant) {
        let Some(link) = &mut self.links[place as usize].fitted else { return };
        if link.wakeup_at == Some(at) {
            link.wakeup_at = None;
            self.pump(place);
        }
    }

    /// The place where a packet is on its round trip, with [`AT_ONCE`].
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
    for probe in &network.probes {
        metered[probe.link as usize] = true;
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
/// of each flow whether its receiver and its sender may run ahead: where the link that they feed is theirs alone.
pub(super) fn mark_at_once(routes: &mut [u32], network: &Network, links: &[Link], flows: &mut [Flow]) {
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
    let is_sampled = |probe: &&Probe| matches!(probe.what, ProbeKind::Queue { .. });
    for probe in network.probes.iter().filter(is_sampled) {
        feeders[probe.link as usize] = Feeder::More;
    }
    for place in routes {
        let link = *place as usize;
        if link < links.len() && links[link].refuses_nothing() && matches!(feeders[link], Feeder::Link(_)) {
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
}

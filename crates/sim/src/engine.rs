//! The reference engine: one event a hop on a calendar, any network.
//!
//! *Idea.* Pop the next event, hand it to the link, the flow or the host that it concerns, push what follows. A packet's
//! walk: the sender sends ([`Engine::send`]) → link ([`Engine::offer`]: pacer, buffer, wire, propagation) → … → receiver
//! ([`Engine::receive`]) → acknowledgement over the reverse links → sender. What happens at the instant of an event because
//! of it happens within it: a sent packet reaches its first link at once.
//!
//! A link that refuses nothing and that only one other link feeds sees packets in the order in which that one lets them
//! go. Nothing can come between, so a packet passes it at once, at its future time, without an event of its own
//! ([`AT_ONCE`]); every hop is exact all the same. With a trace every hop has its event.
//!
//! Timers are lazy: an acknowledgement that moves a retransmission timer later touches no event; the event that fires
//! early finds that out and goes on to the new time.

use crate::calendar::Calendar;
use crate::control::Control;
use crate::flow::{Flow, Source};
use crate::link::{Fate, Link, Passage};
use crate::network::{Network, Probe, ProbeKind};
use crate::output::{self, Delays, RunError, RunOutput, SeriesKind, SeriesRow};
use crate::packet::{Event, Kind, Packet};
use crate::port::Port;
use crate::trace::{TraceEvent, TraceSink, Tracer};
use paceline_core::{Instant, Span};
use paceline_tcp::{Output, Segment};

/// Events between two looks at the [`Control`].
const EVENTS_A_LOOK: u32 = 1 << 14;

/// Bit of a place in `routes`: packets pass this link as soon as the one before has let them go.
const AT_ONCE: u32 = 1 << 31;

/// A network at work.
pub struct Engine<'a> {
    pub(crate) network: &'a Network,
    now: Instant,
    calendar: Calendar,
    pub(crate) links: Vec<Link>,
    pub(crate) flows: Vec<Flow>,
    /// One per host; `None` where packets leave as flows send them.
    ports: Vec<Option<Box<Port>>>,
    /// Places that packets of each flow pass: data, destination, acknowledgements, sender; `stride` to a flow.
    routes: Vec<u32>,
    stride: usize,
    /// Where in a flow's stride the acknowledgements' route begins.
    ack_hop: u8,
    /// Statistics count: the warm-up is over.
    counting: bool,
    /// Delays of flows that are not paced, and of those that are.
    pub(crate) delays: [Delays; 2],
    pub(crate) series: Vec<SeriesRow>,
    samples: Vec<Sample>,
    tracer: Option<Tracer<'a>>,
    /// After this time there are samples to take or rows to write.
    next_look: Instant,
    segments: Segments,
    census: Census,
}

/// Where every packet is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Packets that entered the network, acknowledgements among them.
    pub sent: u64,
    /// Packets that reached their destination.
    pub received: u64,
    /// Packets dropped by a link.
    pub dropped: u64,
    /// Packets under way or held by a pacer, a queue or a port: counted one by one, not derived.
    pub in_flight: u64,
}

/// A queue that is sampled.
#[derive(Debug)]
struct Sample {
    link: u32,
    every: Span,
    next: Instant,
    to: Instant,
}

/// What a sender has just sent.
#[derive(Debug, Default)]
struct Segments(Vec<Segment>);

impl Output for Segments {
    #[inline]
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

impl<'a> Engine<'a> {
    /// A network at time zero.
    pub fn new(network: &'a Network, trace: Option<&'a mut dyn TraceSink>) -> Self {
        let mut configs = Vec::new();
        let flows: Vec<Flow> = network.flows.iter().map(|spec| Flow::new(spec, &mut configs, network.seed)).collect();
        let forward = network.flows.iter().map(|flow| flow.forward.len()).max().unwrap_or(0) + 1;
        let reverse = network.flows.iter().map(|flow| flow.reverse.len()).max().unwrap_or(0) + 1;
        let hosts_from = network.links.len() as u32;
        let mut routes = vec![u32::MAX; network.flows.len() * (forward + reverse)];
        for (flow, route) in network.flows.iter().zip(routes.chunks_mut(forward + reverse)) {
            let (data, acks) = route.split_at_mut(forward);
            data[..flow.forward.len()].copy_from_slice(&flow.forward);
            data[flow.forward.len()] = hosts_from + flow.sink;
            acks[..flow.reverse.len()].copy_from_slice(&flow.reverse);
            acks[flow.reverse.len()] = hosts_from + flow.source;
        }
        let links = links_of(network);
        if trace.is_none() {
            mark_at_once(&mut routes, network, &links);
        }
        let mut engine = Engine {
            network,
            now: Instant::ZERO,
            calendar: Calendar::new(),
            links,
            flows,
            ports: network.hosts.iter().map(|host| host.port_pacing.then(|| Box::new(Port::new(host.port_gain)))).collect(),
            routes,
            stride: forward + reverse,
            ack_hop: forward as u8,
            counting: false,
            delays: [Delays::new(), Delays::new()],
            series: Vec::new(),
            samples: Vec::new(),
            next_look: Instant::ZERO,
            tracer: trace.map(Tracer::new),
            segments: Segments::default(),
            census: Census::default(),
        };
        for probe in &network.probes {
            match probe.what {
                ProbeKind::Queue { every } => {
                    engine.samples.push(Sample { link: probe.link, every, next: probe.from, to: probe.to });
                }
                ProbeKind::Departures => {
                    if let Some(fitted) = &mut engine.links[probe.link as usize].fitted {
                        fitted.record = Some((probe.from, probe.to));
                    }
                }
            }
        }
        for (flow, spec) in network.flows.iter().enumerate() {
            let event = Event::of_flow(spec.start, hosts_from + spec.source, Kind::Application, flow as u32);
            engine.calendar.push(event);
        }
        engine
    }

    /// Runs a network from start to end.
    pub fn run(
        network: &'a Network,
        control: &Control,
        trace: Option<&'a mut dyn TraceSink>,
    ) -> Result<RunOutput, RunError> {
        let mut engine = Engine::new(network, trace);
        let end = Instant::ZERO + network.duration;
        engine.run_until(Instant::ZERO + network.warmup, control)?;
        engine.start_statistics();
        engine.run_until(end, control)?;
        Ok(output::collect(engine))
    }

    /// Handles every event before `until`.
    pub fn run_until(&mut self, until: Instant, control: &Control) -> Result<(), RunError> {
        loop {
            control.report(self.now.as_nanos(), self.network.duration.as_nanos());
            if control.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            if self.tracer.as_ref().is_some_and(|tracer| tracer.broken) {
                return Err(RunError::TraceRefused);
            }
            for _ in 0..EVENTS_A_LOOK {
                let Some(event) = self.calendar.pop_before(until) else {
                    self.look_before(until);
                    self.now = until;
                    return Ok(());
                };
                if event.at > self.next_look {
                    self.look_before(event.at);
                }
                self.now = event.at;
                self.handle(event);
            }
        }
    }

    /// What samples and the trace have to say of the time up to `time`, before anything happens then.
    #[cold]
    fn look_before(&mut self, time: Instant) {
        self.sample_before(time);
        let next = self.samples.iter().filter(|sample| sample.next < sample.to).map(|sample| sample.next);
        self.next_look = if self.tracer.is_some() { Instant::ZERO } else { next.min().unwrap_or(Instant::MAX) };
        if let Some(tracer) = &mut self.tracer {
            tracer.advance(time);
        }
    }

    /// From now on everything counts.
    pub(crate) fn start_statistics(&mut self) {
        self.counting = true;
        for flow in &mut self.flows {
            flow.at_warmup = flow.snapshot();
        }
    }

    /// Where every packet is, now.
    pub fn census(&self) -> Census {
        let travelling = self.calendar.iter().filter(|event| event.carries_packet()).count() as u64;
        let held: u64 = self.links.iter().map(Link::held_packets).sum();
        let queued: u64 = self.ports.iter().flatten().map(|port| port.held_packets()).sum();
        let dropped = self.links.iter().flat_map(|link| &link.fitted).map(|link| link.counters.dropped_ever).sum();
        Census { dropped, in_flight: travelling + held + queued, ..self.census }
    }

    /// The time of the last event, or what `run_until` was given.
    pub fn now(&self) -> Instant {
        self.now
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event.kind {
            Kind::Arrival if (event.place as usize) < self.links.len() => self.offer(event),
            Kind::Arrival => self.receive(event.packet()),
            Kind::Acknowledgement => self.on_ack(event.packet()),
            Kind::LinkWakeup => self.on_wakeup(event.place, event.at),
            Kind::RetransmissionTimer => self.on_retransmission_timer(event.flow, event.at),
            Kind::PacingTimer => self.on_pacing_timer(event.flow, event.at),
            Kind::PortTimer => self.on_port_timer(event.place),
            Kind::Application => self.on_application(event.flow),
        }
    }

    /// A packet sets out: it reaches the first link of its way, now.
    #[inline]
    fn set_out(&mut self, packet: Packet) {
        let mut event = Event::of_packet(self.now, 0, packet);
        event.place = self.place_of(&event) & !AT_ONCE;
        self.offer(event);
    }

    /// A packet reaches a link.
    fn offer(&mut self, event: Event) {
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
        if event.is_ack() && event.place as usize >= self.links.len() {
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

    fn on_wakeup(&mut self, place: u32, at: Instant) {
        let Some(link) = &mut self.links[place as usize].fitted else { return };
        if link.wakeup_at == Some(at) {
            link.wakeup_at = None;
            self.pump(place);
        }
    }

    /// Data reach their destination.
    #[inline]
    fn receive(&mut self, packet: Packet) {
        self.census.received += 1;
        if let Some(tracer) = &mut self.tracer {
            let place = self.network.links.len() as u32 + self.network.flows[packet.flow as usize].sink;
            tracer.now(TraceEvent::Receive, place, &packet, f64::NAN, self.now);
        }
        let flow = &mut self.flows[packet.flow as usize];
        let paced = usize::from(flow.paced);
        let network_delay = self.now.since(packet.sent);
        let counting = self.counting;
        match &mut flow.source {
            Source::Tcp(tcp) => {
                let before = tcp.receiver.next();
                let delivered = tcp.receiver.on_data(packet.seq);
                if delivered != 1 || !tcp.late.is_empty() {
                    tcp.late.on_arrival(&packet, before);
                }
                if packet.seq >= tcp.syn && counting {
                    flow.delays.received += 1;
                    flow.delays.network_ns += network_delay.as_nanos();
                }
                for seq in before..before + delivered {
                    let first_sent = tcp.late.take(seq).map_or(packet.sent, |first| first.min(packet.sent));
                    if counting && seq >= tcp.syn {
                        let delay = self.now.since(first_sent);
                        flow.delays.delivered += 1;
                        flow.delays.delay_ns += delay.as_nanos();
                        self.delays[paced].record(delay);
                    }
                }
                let seq = tcp.receiver.next();
                let hop = self.ack_hop;
                let ack = Packet { sent: self.now, flow: packet.flow, seq, bytes: tcp.ack_bytes, hop, is_ack: true };
                self.census.sent += 1;
                if let Some(tracer) = &mut self.tracer {
                    let host = self.network.links.len() as u32 + self.network.flows[packet.flow as usize].sink;
                    tracer.now(TraceEvent::Send, host, &ack, f64::NAN, self.now);
                }
                self.set_out(ack);
            }
            Source::OpenLoop(source) => {
                source.received += 1;
                if counting {
                    flow.delays.received += 1;
                    flow.delays.delivered += 1;
                    flow.delays.network_ns += network_delay.as_nanos();
                    flow.delays.delay_ns += network_delay.as_nanos();
                    self.delays[paced].record(network_delay);
                }
            }
        }
    }

    /// An acknowledgement reaches the sender.
    #[inline]
    fn on_ack(&mut self, ack: Packet) {
        self.census.received += 1;
        let flow = &mut self.flows[ack.flow as usize];
        if let Some(tracer) = &mut self.tracer {
            let host = self.network.links.len() as u32 + self.network.flows[ack.flow as usize].source;
            tracer.now(TraceEvent::Receive, host, &ack, flow.cwnd(), self.now);
        }
        let Source::Tcp(tcp) = &mut flow.source else { return };
        tcp.sender.on_ack(ack.seq, self.now, &mut self.segments);
        if tcp.sender.is_finished() && tcp.finished.is_none() {
            tcp.finished = Some(self.now);
        }
        self.send(ack.flow);
    }

    fn on_retransmission_timer(&mut self, flow: u32, at: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if tcp.retransmission_event != at {
            return;
        }
        tcp.retransmission_event = Instant::MAX;
        if tcp.sender.retransmission_at().is_some_and(|due| due <= at) {
            tcp.sender.on_retransmission_timer(at, &mut self.segments);
        }
        self.send(flow);
    }

    fn on_pacing_timer(&mut self, flow: u32, at: Instant) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        if tcp.pacing_event != at {
            return;
        }
        tcp.pacing_event = Instant::MAX;
        if tcp.sender.pacing_at().is_some_and(|due| due <= at) {
            tcp.sender.on_pacing_timer(at, &mut self.segments);
        }
        self.send(flow);
    }

    fn on_application(&mut self, flow: u32) {
        match &mut self.flows[flow as usize].source {
            Source::Tcp(tcp) => {
                tcp.sender.start(self.now, &mut self.segments);
                self.send(flow);
            }
            Source::OpenLoop(source) => {
                if source.stop.is_some_and(|stop| self.now >= stop) {
                    return;
                }
                let Ok(bytes) = u16::try_from(source.bytes) else { return };
                let seq = source.next_seq;
                source.next_seq = seq.wrapping_add(1);
                source.sent += 1;
                let next = source.next_after(self.now);
                let host = self.flows[flow as usize].host;
                let place = self.network.links.len() as u32 + host;
                self.calendar.push(Event::of_flow(next, place, Kind::Application, flow));
                self.leave_host(host, Packet { sent: self.now, flow, seq, bytes, hop: 0, is_ack: false });
            }
        }
    }

    /// Puts what the flow's sender has just sent into the network, and sees to its timers.
    #[inline]
    fn send(&mut self, flow: u32) {
        let host = self.flows[flow as usize].host;
        for index in 0..self.segments.0.len() {
            let segment = self.segments.0[index];
            if let Source::Tcp(tcp) = &mut self.flows[flow as usize].source {
                if tcp.first_data.is_none() && segment.seq >= tcp.syn {
                    tcp.first_data = Some(self.now);
                }
            }
            let bytes = segment.bytes as u16;
            self.leave_host(host, Packet { sent: self.now, flow, seq: segment.seq, bytes, hop: 0, is_ack: false });
        }
        self.segments.0.clear();
        self.schedule_timers(flow, host);
    }

    /// A packet leaves its host: through the host's port, if that paces, to its first link.
    #[inline]
    fn leave_host(&mut self, host: u32, packet: Packet) {
        self.census.sent += 1;
        if let Some(tracer) = &mut self.tracer {
            let place = self.network.links.len() as u32 + host;
            tracer.now(TraceEvent::Send, place, &packet, self.flows[packet.flow as usize].cwnd(), self.now);
        }
        if let Some(port) = &mut self.ports[host as usize] {
            port.enqueue(packet);
            self.pump_port(host);
        } else {
            self.set_out(packet);
        }
    }

    fn on_port_timer(&mut self, place: u32) {
        let host = place - self.network.links.len() as u32;
        if let Some(port) = &mut self.ports[host as usize] {
            port.timer_fired();
        }
        self.pump_port(host);
    }

    fn pump_port(&mut self, host: u32) {
        while let Some(port) = &mut self.ports[host as usize] {
            if let Some(packet) = port.dequeue(self.now) {
                self.set_out(packet);
                continue;
            }
            if let Some(at) = port.timer_to_set() {
                let place = self.network.links.len() as u32 + host;
                self.calendar.push(Event::of_flow(at, place, Kind::PortTimer, 0));
            }
            return;
        }
    }

    /// Events for the flow's timers, where none is due before them already.
    #[inline]
    fn schedule_timers(&mut self, flow: u32, host: u32) {
        let Source::Tcp(tcp) = &mut self.flows[flow as usize].source else { return };
        let place = self.network.links.len() as u32 + host;
        if let Some(due) = tcp.sender.retransmission_at()
            && due < tcp.retransmission_event
        {
            tcp.retransmission_event = due;
            self.calendar.push(Event::of_flow(due, place, Kind::RetransmissionTimer, flow));
        }
        if let Some(due) = tcp.sender.pacing_at()
            && due < tcp.pacing_event
        {
            tcp.pacing_event = due;
            self.calendar.push(Event::of_flow(due, place, Kind::PacingTimer, flow));
        }
        if let Some(port) = &mut self.ports[host as usize] {
            let rate = tcp.sender.rate_bps();
            port.change_rate(tcp.port_rate, rate);
            tcp.port_rate = rate;
        }
    }

    /// The place where a packet is on its round trip, with [`AT_ONCE`].
    #[inline]
    fn place_of(&self, event: &Event) -> u32 {
        self.routes[event.flow as usize * self.stride + event.hop()]
    }

    /// Samples of queues that fall before `time` (the state between events does not change).
    fn sample_before(&mut self, time: Instant) {
        for sample in &mut self.samples {
            while sample.next < time && sample.next < sample.to {
                let link = self.links[sample.link as usize].fitted.as_mut();
                let bytes = link.and_then(|link| link.meter.as_mut()).map_or(0, |meter| meter.level(sample.next));
                let (link, time_ns) = (sample.link, sample.next.as_nanos());
                self.series.push(SeriesRow { link, kind: SeriesKind::Queue, time_ns, flow: u32::MAX, bytes });
                sample.next += sample.every;
            }
        }
    }
}

/// The links of a network, with meters where results or probes ask for them.
fn links_of(network: &Network) -> Vec<Link> {
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

/// Sets [`AT_ONCE`] where it is true: on links that refuse nothing, hold nothing, and are fed by one other link alone.
fn mark_at_once(routes: &mut [u32], network: &Network, links: &[Link]) {
    /// Fed by none yet, by one link, or by more (or by a host).
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        None,
        One(u32),
        More,
    }
    let mut feeders = vec![Feeder::None; links.len()];
    for route in network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]) {
        let mut before = Feeder::More;
        for &link in route {
            let feeder = &mut feeders[link as usize];
            *feeder = if *feeder == Feeder::None || *feeder == before { before } else { Feeder::More };
            before = Feeder::One(link);
        }
    }
    // A queue that is sampled is asked for its level between arrivals: it must not know the future.
    let is_sampled = |probe: &&Probe| matches!(probe.what, ProbeKind::Queue { .. });
    for probe in network.probes.iter().filter(is_sampled) {
        feeders[probe.link as usize] = Feeder::More;
    }
    for place in routes {
        let link = *place as usize;
        if link < links.len() && links[link].refuses_nothing() && matches!(feeders[link], Feeder::One(_)) {
            *place |= AT_ONCE;
        }
    }
}

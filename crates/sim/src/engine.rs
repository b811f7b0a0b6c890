//! The reference engine: one event a hop on a calendar, any network.
//!
//! *Idea.* Pop the next event, hand it to the link, the flow or the host that it concerns, push what follows. A packet's
//! walk: the sender sends (`send`) → link (`offer`: pacer, buffer, wire, propagation) → … → receiver
//! (`receive`) → acknowledgement over the reverse links → sender. What happens at the instant of an event because
//! of it happens within it: a sent packet reaches its first link at once.
//!
//! Nothing waits for its event that nothing can come between. A link that refuses nothing and that only one other link
//! feeds sees packets in the order in which that one lets them go: a packet passes it at once, at its future time
//! (`AT_ONCE`). So with a host that alone feeds its link: what reaches it is handled at once, one step ahead, unless
//! something of the same flow waits to happen before ([`Flow::runs_ahead`]). Every hop is exact all the same; on the
//! dumbbell four events are left of ten. With a trace every hop has its event, and the results are the same bytes.
//!
//! Timers are lazy: an acknowledgement that moves a retransmission timer later touches no event; the event that fires
//! early finds that out and goes on to the new time.

mod conversations;
mod hosts;
mod transit;

use self::transit::{links_of, mark_at_once};
use crate::calendar::Calendar;
use crate::control::Control;
use crate::flow::{Flow, Talking};
use crate::link::Link;
use crate::network::{Network, ProbeKind};
use crate::output::{self, Delays, RunError, RunOutput, SeriesKind, SeriesRow};
use crate::packet::{Event, Kind};
use crate::port::Port;
use crate::trace::{TraceSink, Tracer};
use crate::workload::Act;
use paceline_core::{Instant, Span};
use paceline_tcp::{Output, Segment};

/// Events between two looks at the [`Control`].
const EVENTS_A_LOOK: u32 = 1 << 14;

/// A network at work.
pub struct Engine<'a> {
    pub(crate) network: &'a Network,
    now: Instant,
    /// What `run_until` was given: nothing at or after it has happened at a host.
    until: Instant,
    /// A host is being handled ahead of time.
    ahead: bool,
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
    talks: Vec<Talking>,
    /// Room for what an application says.
    acts: Vec<Act>,
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
        let (mut configs, mut talks) = (Vec::new(), Vec::new());
        let specs = (0..).zip(&network.flows);
        let end = Instant::ZERO + network.duration;
        let mut flows: Vec<Flow> = specs
            .map(|(id, spec)| Flow::new(id, spec, &mut configs, &mut talks, network.seed, end))
            .collect();
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
            mark_at_once(&mut routes, network, &links, &mut flows);
        }
        let mut engine = Engine {
            network,
            now: Instant::ZERO,
            until: Instant::ZERO,
            ahead: false,
            calendar: Calendar::new(),
            links,
            flows,
            ports: network
                .hosts
                .iter()
                .map(|host| host.port_pacing.then(|| Box::new(Port::new(host.port_gain))))
                .collect(),
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
            talks,
            acts: Vec::new(),
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
            let Some(at) = engine.flows[flow].first_event(spec.start) else { continue };
            let event = Event::of_flow(at, hosts_from + spec.source, Kind::Application, flow as u32);
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
        self.until = until;
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
        self.next_look =
            if self.tracer.is_some() { Instant::ZERO } else { next.min().unwrap_or(Instant::MAX) };
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
        let dropped =
            self.links.iter().flat_map(|link| &link.fitted).map(|link| link.counters.dropped_ever).sum();
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
            Kind::Arrival => {
                self.flows[event.flow as usize].waiting[0] -= 1;
                self.receive(event.packet());
            }
            Kind::Acknowledgement => {
                self.flows[event.flow as usize].waiting[1] -= 1;
                self.on_ack(event.packet());
            }
            Kind::LinkWakeup => self.on_wakeup(event.place, event.at),
            Kind::RetransmissionTimer => self.on_retransmission_timer(event.flow, event.at),
            Kind::PacingTimer => self.on_pacing_timer(event.flow, event.at),
            Kind::DelayedAckTimer => self.on_delayed_ack_timer(event.flow, event.at),
            Kind::PortTimer => self.on_port_timer(event.place),
            Kind::Application => self.on_application(event.flow),
        }
    }

    /// Samples of queues that fall before `time` (the state between events does not change).
    fn sample_before(&mut self, time: Instant) {
        for sample in &mut self.samples {
            while sample.next < time && sample.next < sample.to {
                let link = self.links[sample.link as usize].fitted.as_mut();
                let bytes =
                    link.and_then(|link| link.meter.as_mut()).map_or(0, |meter| meter.level(sample.next));
                let (link, time_ns) = (sample.link, sample.next.as_nanos());
                self.series.push(SeriesRow { link, kind: SeriesKind::Queue, time_ns, flow: u32::MAX, bytes });
                sample.next += sample.every;
            }
        }
    }
}

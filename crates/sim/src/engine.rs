//! The engines. The reference engine: one event a hop on a calendar, any network. The batched engine (`batched/epoch.rs`) runs
//! the same code link by link.
//!
//! *Idea.* Pop the next event, hand it to the link, the flow or the host that it concerns, push what follows. A packet's
//! walk: the sender sends (`send`) → link (`offer`: pacer, buffer, wire, propagation) → … → receiver
//! (`receive`) → acknowledgement over the reverse links → sender. What happens at the instant of an event because
//! of it happens within it: a sent packet reaches its first link at once.
//!
//! Nothing waits for its event that nothing can come between. A link that is lossless and that only one other link
//! feeds sees packets in the order in which that one lets them go: a packet passes it at once, at its future time
//! (`AT_ONCE`). So with a host that alone feeds its link: what reaches it is handled at once, one step ahead, unless
//! something of the same flow waits to happen before ([`Flow::runs_ahead`]). Every hop is exact all the same; on the
//! dumbbell four events are left of ten. Asked for by name, with a trace, the reference engine has an event for every
//! hop, and the results are the same bytes.
//!
//! Timers are lazy: an acknowledgement that moves a retransmission timer later touches no event; the event that fires
//! early finds that out and goes on to the new time.

mod batched;
mod census;
mod fastpath;
mod forwarding;
mod host;
mod link_table;
mod method;
mod parallel;
mod plan;
mod queue_sampler;

use self::batched::backlog::Backlog;
use self::batched::deadline_index::DeadlineIndex;
use self::batched::delivery::Delivery;
pub(crate) use self::batched::delivery::PathSuffix;
use self::batched::epoch::Epochs;
use self::batched::shared_hosts::SharedHosts;
pub use self::census::Census;
pub(crate) use self::fastpath::private_links::PrivateLinks;
use self::fastpath::uncongested_downstream::Downstream;
pub(crate) use self::host::egress::Egress;
use self::host::flow_table::FlowTable;
pub(crate) use self::link_table::LinkTable;
pub use self::method::Method;
use self::parallel::link_partition::Exchange;
use self::plan::ordered_links::lay_ordered_links;
use self::plan::routes::{links_of, mark_at_once, routes_of};
use self::queue_sampler::Sample;
use crate::calendar::Calendar;
use crate::control::Control;
use crate::kernel::packet::{Event, Kind};
use crate::kernel::precedence::Precedence;
use crate::model::flow::{Flow, Snapshot, Source, Talking};
use crate::model::hesitation::{self, Hesitation};
use crate::model::port::Port;
use crate::network::{Host, Network};
use crate::observe::instrument::Instruments;
use crate::observe::output::{self, Delays, RunError, RunOutput, SeriesRow};
use crate::observe::trace::{TraceSink, Tracer};
use crate::workload::Act;
use paceline_core::Instant;
use paceline_tcp::{Output, Segment};

/// Events between two looks at the [`Control`].
const EVENTS_A_CHECK: u32 = 1 << 14;

/// A network at work.
pub struct Engine<'a> {
    pub(crate) network: &'a Network,
    now: Instant,
    /// How far it runs now: what `run_until` was given, or the end of the fallback (`batched/fallback.rs`) if that is sooner. Nothing at or after it
    /// has happened at a host.
    until: Instant,
    /// A host is being handled ahead of time.
    ahead: bool,
    /// Threads that the run may use; 1 where it cannot be shared out.
    threads: usize,
    hesitation: Hesitation,
    /// Of packets that reach a link at one instant.
    precedence: Precedence<'a>,
    calendar: Calendar<'a>,
    /// Links run in epochs; `None` is the reference engine.
    epochs: Option<Epochs>,
    /// What will reach the links that run in epochs, by ordered link.
    staged: Vec<Vec<Event>>,
    backlogs: Vec<Backlog>,
    /// What goes to hosts that are elsewhere, and comes from there; `None` where they are here.
    exchange: Option<Box<Exchange>>,
    /// Links downstream of ordered links.
    downstream: Vec<Downstream>,
    pub(crate) links: LinkTable,
    pub(crate) flows: FlowTable,
    /// Packets that the epoch has dropped, and whose flows have not heard of it.
    losses: Vec<Event>,
    /// By host, `None` where packets leave as flows send them; empty where all do.
    ports: Vec<Option<Box<Port>>>,
    /// Places that packets of each flow pass: data, destination, acknowledgements, sender; `stride` to a flow. Empty where all ways
    /// are short.
    routes: Vec<u32>,
    stride: usize,
    /// Where in a flow's stride the acknowledgements' route begins.
    ack_hop: u8,
    /// Statistics count: the warm-up is over.
    counting: bool,
    /// What stood of each flow when statistics started.
    pub(crate) at_warmup: Vec<Snapshot>,
    /// Delays of flows that are not paced, and of those that are.
    pub(crate) delays: [Delays; 2],
    pub(crate) series: Vec<SeriesRow>,
    samples: Vec<Sample>,
    pub(crate) instruments: Instruments,
    tracer: Option<Tracer<'a>>,
    /// After this time there are samples to take.
    next_look: Instant,
    /// What the epoch has brought to hosts so far.
    delivery: Delivery,
    deadlines: DeadlineIndex,
    shared: SharedHosts,
    /// Room for the flows whose timers run out.
    due: Vec<u32>,
    segments: Segments,
    talks: Vec<Talking>,
    /// Room for what an application says.
    acts: Vec<Act>,
    census: Census,
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

fn ports_of(network: &Network) -> Vec<Option<Box<Port>>> {
    let port = |host: &Host| host.port_pacing.then(|| Box::new(Port::new(host.port_gain)));
    if network.hosts.iter().all(|host| !host.port_pacing) {
        return Vec::new();
    }
    network.hosts.iter().map(port).collect()
}

impl<'a> Engine<'a> {
    /// A network at time zero, under the engine that suits it.
    pub fn new(network: &'a Network, trace: Option<&'a mut dyn TraceSink>) -> Self {
        Engine::with_method(network, Method::Auto, trace)
    }

    /// A network at time zero, under the engine asked for. What `method` cannot run, the reference engine runs.
    pub fn with_method(network: &'a Network, method: Method, trace: Option<&'a mut dyn TraceSink>) -> Self {
        Engine::under(network, method, trace, &Control::default())
    }

    /// The same, under a control that may cancel it while noise is made for its sources; what runs then is over at once.
    fn under(
        network: &'a Network,
        method: Method,
        trace: Option<&'a mut dyn TraceSink>,
        control: &Control,
    ) -> Self {
        let mut talks = Vec::new();
        let specs = (0..).zip(&network.flows);
        let end = || if control.is_cancelled() { Instant::ZERO } else { Instant::ZERO + network.duration };
        let mut flows: Vec<Flow> =
            specs.map(|(id, spec)| Flow::new(id, spec, &mut talks, network.seed, end())).collect();
        let hosts_from = network.links.len() as u32;
        let (mut routes, stride, ack_hop) = routes_of(network);
        for (flow, spec) in flows.iter_mut().zip(&network.flows) {
            // What does not go by epochs asks for no rate: it neither counts nor waits at a port.
            if network.hosts[spec.source as usize].port_pacing && matches!(flow.source, Source::Tcp(_)) {
                flow.has_port = true;
                flow.keep_round_trips();
            }
        }
        for (flow, longest) in flows.iter_mut().zip(hesitation::longest(network)) {
            flow.hesitates = longest;
        }
        let is_traced = trace.is_some();
        let mut links = links_of(network, is_traced);
        let (mut epochs, mut staged, mut shared) = (None, Vec::new(), SharedHosts::default());
        let mut downstream = Vec::new();
        if !is_traced || method != Method::Reference {
            let needs_order = mark_at_once(&mut routes, network, &links, &mut flows);
            let is_looked_at = |link: u32| {
                is_traced
                    || network.probes.iter().any(|probe| probe.link == link)
                    || network.instruments.iter().any(|one| one.what.link() == Some(link))
            };
            let ways = (&mut routes[..], (stride, ack_hop));
            if method != Method::Reference
                && let Some((stages, hosts)) =
                    lay_ordered_links(network, &mut links, &mut flows, ways, &needs_order, &is_looked_at)
            {
                shared = hosts;
                downstream = Downstream::all(&stages, network);
                staged.resize_with(stages.len(), Vec::new);
                epochs = Some(Epochs::new(stages, method == Method::Windowed));
            }
        }
        let instruments = Instruments::new(network, &mut links, &mut flows);
        let precedence = network.precedence(ack_hop as u8);
        let mut engine = Engine {
            network,
            now: Instant::ZERO,
            until: Instant::ZERO,
            ahead: false,
            threads: 1,
            hesitation: Hesitation::of(network),
            precedence,
            calendar: Calendar::new(precedence),
            epochs,
            backlogs: staged.iter().map(|_| Backlog::default()).collect(),
            staged,
            exchange: None,
            downstream,
            links,
            flows: FlowTable { first: 0, list: flows },
            losses: Vec::new(),
            ports: ports_of(network),
            routes,
            stride,
            ack_hop: ack_hop as u8,
            counting: false,
            at_warmup: Vec::new(),
            delays: [Delays::new(), Delays::new()],
            series: Vec::new(),
            samples: Sample::all(network),
            instruments,
            next_look: Instant::ZERO,
            tracer: trace.map(Tracer::new),
            delivery: Delivery::default(),
            deadlines: DeadlineIndex::default(),
            shared,
            due: Vec::new(),
            segments: Segments::default(),
            talks,
            acts: Vec::new(),
            census: Census::default(),
        };
        for (flow, spec) in network.flows.iter().enumerate() {
            let Some(at) = engine.flows[flow].first_event(spec.start) else { continue };
            let event = Event::of_flow(at, hosts_from + spec.source, Kind::Application, flow as u32);
            engine.calendar.push(event);
        }
        if let (Some(epochs), Some(first)) = (&mut engine.epochs, engine.calendar.next_at()) {
            epochs.fallback.begin(first);
        }
        engine.allow_round_trips();
        // A sender that runs by itself takes ways on which nothing observes.
        let has_windows = engine.epochs.is_some();
        engine.set_free(has_windows && !is_traced);
        if engine.flows_stand_alone() {
            engine.routes = Vec::new(); // nobody takes a way hop by hop
        }
        engine
    }

    /// Runs a network from start to end, under the engine that suits it.
    pub fn run(
        network: &'a Network,
        control: &Control,
        trace: Option<&'a mut dyn TraceSink>,
    ) -> Result<RunOutput, RunError> {
        Engine::run_by(network, Method::Auto, 1, control, trace)
    }

    /// Runs a network from start to end, under the engine asked for, or not at all; on so many threads at most.
    pub fn run_by(
        network: &'a Network,
        method: Method,
        threads: usize,
        control: &Control,
        trace: Option<&'a mut dyn TraceSink>,
    ) -> Result<RunOutput, RunError> {
        let mut engine = Engine::under(network, method, trace, control);
        if threads > 1 && engine.can_be_shared_out() {
            engine.threads = threads;
        }
        if method == Method::Windowed && engine.epochs.is_none() {
            return Err(RunError::NoWindows);
        }
        if engine.threads > 1 {
            engine.run_on_threads(control)?;
        } else {
            engine.run_until(Instant::ZERO + network.warmup, control)?;
            engine.start_statistics();
            engine.run_until(Instant::ZERO + network.duration, control)?;
        }
        Ok(output::collect(engine))
    }

    /// How time advances.
    pub(crate) fn method(&self) -> Method {
        if self.epochs.is_some() { Method::Windowed } else { Method::Reference }
    }

    /// Threads that the run uses.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Handles every event before `until`.
    pub fn run_until(&mut self, until: Instant, control: &Control) -> Result<(), RunError> {
        if self.epochs.is_some() { self.run_epochs(until, control) } else { self.run_events(until, control) }
    }

    /// Handles every event before `until`, one by one.
    fn run_events(&mut self, until: Instant, control: &Control) -> Result<(), RunError> {
        self.until = until;
        loop {
            self.report(self.now, control)?;
            for _ in 0..EVENTS_A_CHECK {
                let Some(event) = self.calendar.pop_before(until) else {
                    return self.come_to(until);
                };
                if event.at > self.next_look {
                    self.look_before(event.at);
                }
                self.now = event.at;
                self.handle(event);
            }
        }
    }

    /// Everything before this time has happened: says so, and writes the trace up to there. An error ends the run.
    fn report(&mut self, over: Instant, control: &Control) -> Result<(), RunError> {
        control.report(over.as_nanos(), self.network.duration.as_nanos());
        if control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        self.tracer.as_mut().map_or(Ok(()), |tracer| tracer.advance(over))
    }

    /// Everything before `until`, where the run pauses or ends, has happened.
    fn come_to(&mut self, until: Instant) -> Result<(), RunError> {
        self.look_before(until);
        self.now = until;
        self.tracer.as_mut().map_or(Ok(()), |tracer| tracer.write_before(until))
    }

    /// Takes the samples of the time up to `time`, before anything happens then.
    #[cold]
    fn look_before(&mut self, time: Instant) {
        self.sample_before(time);
        self.instruments.sample_before(time, self.flows.all());
        let next = self.samples.iter().filter_map(Sample::next);
        self.next_look = next.chain([self.instruments.next_sample]).min().unwrap_or(Instant::MAX);
    }

    /// From now on everything counts.
    pub(crate) fn start_statistics(&mut self) {
        self.counting = true;
        self.at_warmup = self.flows.all().iter().map(Flow::snapshot).collect();
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event.kind {
            Kind::Arrival if (event.place as usize) < self.links.len() => self.travel(event),
            Kind::Arrival => {
                self.flows[event.flow as usize].gates[0].pass();
                self.receive(&event);
            }
            Kind::Acknowledgement => {
                self.flows[event.flow as usize].gates[1].pass();
                self.on_ack(&event);
            }
            Kind::LinkWakeup => self.on_wakeup(event.place, event.at),
            Kind::RetransmissionTimer => self.on_retransmission_timer(event.flow, event.at),
            Kind::PacingTimer => self.on_pacing_timer(event.flow, event.at),
            Kind::DelayedAckTimer => self.on_delayed_ack_timer(event.flow, event.at),
            Kind::PortTimer => self.on_port_timer(event.place),
            Kind::Application => {
                let shared = self.come_to_start(&event);
                self.on_application(event.flow);
                if let Some(host) = shared {
                    self.note_at_shared(event.flow, host);
                }
            }
        }
    }
}

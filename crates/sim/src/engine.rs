//! The engines: a facade that builds the two halves, [`hosts`] and [`links`], and lets a driver run them.
//!
//! *Idea.* The halves see each other through a [`mailbox`] only. The reference engine ([`sequential`]) pops the next event, hands it to
//! the half that it concerns, and passes on what follows. The batched engine ([`batched`]) runs hosts and then links, an epoch at a
//! time; [`parallel`] does the same on several threads, with several of each. The [`plan`], made once from the network, says which fast
//! paths apply. All compute the same bytes.
//!
//! A packet's walk: the sender sends (`send`) → link (`offer`: pacer, buffer, wire, propagation) → … → receiver (`receive`) →
//! acknowledgement over the reverse links → sender. What happens at the instant of an event because of it happens within it: a sent
//! packet reaches its first link at once.
//!
//! Where no other event can come between, none is made. A lossless link that only one other link feeds sees packets in the order in which
//! that one sends them: a packet passes it at once, at its future time (`AT_ONCE`). Likewise a host that alone feeds its link: what reaches
//! it is handled at once, one step ahead, unless an earlier event of the same flow is pending (`Flow::runs_ahead`). Every hop is exact all
//! the same; on the dumbbell four events are left of ten. Asked for by name, with a trace, the reference engine has an event for every hop,
//! and the results are the same bytes.
//!
//! Timers are lazy: an acknowledgement that moves a retransmission timer later touches no event; the event that fires early is scheduled
//! again for the new time.

mod batched;
mod hosts;
mod links;
mod mailbox;
mod parallel;
mod plan;
mod sequential;

use self::batched::Epochs;
use self::hosts::Hosts;
use self::links::Links;
use self::mailbox::Mailbox;
use self::plan::routes::links_of;
use self::plan::{Layout, Plan};
use crate::control::Control;
pub use crate::control::Method;
use crate::model::flow::{Flow, Source};
use crate::model::hesitation;
use crate::network::Network;
use crate::observe::instruments::Instruments;
use crate::observe::output::{self, RunError, RunOutput, RunRecord};
use crate::observe::trace::{TraceSink, Tracer};
use paceline_core::Instant;

/// A network at work.
pub struct Engine<'a> {
    network: &'a Network,
    plan: Plan,
    now: Instant,
    /// How far it runs now: the end passed to `run_until`, or the time at which the fallback is decided if that is sooner.
    until: Instant,
    /// After this time there are samples to take.
    next_sample: Instant,
    hosts: Hosts<'a>,
    links: Links<'a>,
    /// `None` is the reference engine.
    epochs: Option<Epochs>,
    /// Threads that the run may use; 1 where it cannot be shared out.
    threads: usize,
    tracer: Option<Tracer<'a>>,
}

/// Where every packet is: nothing gets lost.
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
        let mut dialogues = Vec::new();
        let end = || if control.is_cancelled() { Instant::ZERO } else { Instant::ZERO + network.duration };
        let specs = (0..).zip(&network.flows);
        let mut flows: Vec<Flow> =
            specs.map(|(id, spec)| Flow::new(id, spec, &mut dialogues, network.seed, end())).collect();
        for (flow, spec) in flows.iter_mut().zip(&network.flows) {
            // A source without a congestion window has no rate for the port: it neither counts nor waits there.
            if network.hosts[spec.source as usize].port.is_some() && matches!(flow.source, Source::Tcp(_)) {
                flow.traits.add_port();
                flow.gates[1].send_apart();
                flow.keep_round_trips();
            }
        }
        for (flow, longest) in flows.iter_mut().zip(hesitation::longest(network)) {
            flow.hesitates = longest;
        }
        let is_traced = trace.is_some();
        let mut table = links_of(network, is_traced);
        let Layout { mut forwarding, ack_hop, passes_ordered, epochs } =
            Layout::of(network, (method, is_traced), &table, &mut flows);
        let has_epochs = epochs.is_some();
        let (ordered, access, shared) =
            epochs.map(|layout| layout.divide(network, &mut table, &mut flows)).unwrap_or_default();
        let mut instruments = Instruments::new(network, &mut table, &mut flows);
        let on_links = instruments.split_off_links();
        let known = (!shared.are_none(), instruments.next_sample < Instant::MAX);
        let plan = Plan::of(has_epochs.then_some(&ordered[..]), &flows, is_traced, known);
        if plan.flows_are_independent {
            forwarding = plan::Forwarding::default(); // no packet takes the slow path
        }
        let precedence = network.precedence(ack_hop);
        let mail = Mailbox::new(precedence, ordered.len());
        let parts = hosts::Parts { flows, dialogues, access, shared, instruments, is_traced };
        let mut hosts = Hosts::new(network, parts, ack_hop, mail);
        hosts.use_fast_paths(plan.uses_fast_paths, |position| passes_ordered[position]);
        let epochs = has_epochs.then(|| {
            let first = hosts.mail.calendar.next_at();
            Epochs::new(plan, ordered.len(), first, method == Method::Windowed)
        });
        let links = Links::new(network, precedence, (table, forwarding), ordered, (on_links, is_traced));
        Engine {
            network,
            plan,
            now: Instant::ZERO,
            until: Instant::ZERO,
            next_sample: Instant::ZERO,
            hosts,
            links,
            epochs,
            threads: 1,
            tracer: trace.map(Tracer::new),
        }
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
        if threads > 1 && engine.plan.can_run_on_threads {
            engine.threads = threads;
        }
        if method == Method::Windowed && engine.epochs.is_none() {
            return Err(RunError::NoBatchedEngine);
        }
        if engine.threads > 1 {
            engine.run_on_threads(control)?;
        } else {
            engine.run_until(Instant::ZERO + network.warmup, control)?;
            engine.hosts.start_statistics();
            engine.run_until(Instant::ZERO + network.duration, control)?;
        }
        Ok(output::collect(engine.into_record()))
    }

    /// Handles every event before `until`.
    pub fn run_until(&mut self, until: Instant, control: &Control) -> Result<(), RunError> {
        if self.epochs.is_some() { self.run_epochs(until, control) } else { self.run_events(until, control) }
    }

    /// Everything before this time has happened: reports that, and writes the trace up to there. An error ends the run.
    fn report(&mut self, over: Instant, control: &Control) -> Result<(), RunError> {
        control.report(over.as_nanos(), self.network.duration.as_nanos());
        if control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        self.tracer().map_or(Ok(()), |tracer| tracer.advance(over))
    }

    /// Everything before `until`, where the run pauses or ends, has happened.
    fn come_to(&mut self, until: Instant) -> Result<(), RunError> {
        self.sample_before(until);
        self.now = until;
        self.tracer().map_or(Ok(()), |tracer| tracer.write_before(until))
    }

    /// The tracer, with the rows that hosts and links have made.
    fn tracer(&mut self) -> Option<&mut Tracer<'a>> {
        let tracer = self.tracer.as_mut()?;
        [self.hosts.trace(), self.links.trace()].into_iter().flatten().for_each(|rows| tracer.take(rows));
        Some(tracer)
    }

    /// Takes the samples of the time up to `time`, before anything happens then.
    #[cold]
    fn sample_before(&mut self, time: Instant) {
        self.links.sample_before(time);
        self.hosts.sample_before(time);
        let of_queues = self.links.next_sample().unwrap_or(Instant::MAX);
        self.next_sample = self.hosts.next_sample().min(of_queues);
    }

    /// Where every packet is, now.
    pub fn census(&self) -> Census {
        let mail = &self.hosts.mail;
        let waiting = mail.calendar.iter().chain(mail.to_links.iter().flatten());
        let under_way = waiting.filter(|event| event.carries_packet()).count() as u64;
        let (sent, received, at_hosts) = self.hosts.census();
        let (dropped, at_links) = self.links.census();
        Census { sent, received, dropped, in_flight: under_way + at_hosts + at_links }
    }

    /// The run is over: what only packets on their way need makes room for the results.
    fn into_record(self) -> RunRecord<'a> {
        let method = if self.epochs.is_some() { Method::Windowed } else { Method::Reference };
        let (mut links, series, on_links) = self.links.into_record();
        let hosts::Record { mut flows, mut access, at_warmup, delays, mut instruments } =
            self.hosts.into_record();
        (0..access.len()).for_each(|number| access.move_to(number, &mut links));
        for (flow, spec) in flows.iter_mut().zip(&self.network.flows) {
            flow.return_watched_links(&mut links, spec);
        }
        instruments.join(on_links);
        let (network, threads) = (self.network, self.threads);
        RunRecord { network, method, threads, links, flows, at_warmup, delays, series, instruments }
    }
}

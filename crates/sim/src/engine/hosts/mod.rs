//! The hosts' half of the engine: flows, their timers and applications. It knows no link but those beside its hosts, and reaches
//! the others through the [`Mailbox`].
//!
//! A driver calls [`Hosts::handle`] with events in the total order, [`Hosts::reach`] and [`Hosts::deliver`] with what links bring.

mod application;
mod deadline_index;
mod dealing;
mod delivery;
mod egress;
mod flow_table;
mod receiver;
mod sender;
mod timers;
mod trace_rows;

pub(crate) mod fastpath {
    //! Fast paths of hosts, one a file: its header says what it buys.

    pub(crate) mod bulk_tcp;
    pub(crate) mod prefetch;
    pub(crate) mod private_links;
    pub(crate) mod shared_hosts;
}

use self::deadline_index::DeadlineIndex;
pub(crate) use self::dealing::Dealing;
use self::fastpath::shared_hosts::state::SharedHosts;
use self::flow_table::FlowTable;
use super::mailbox::Mailbox;
use crate::kernel::packet::{Event, Kind};
use crate::model::flow::{Flow, RunningDialogue, Snapshot};
use crate::model::hesitation::Hesitation;
use crate::model::link::LinkTable;
use crate::model::own_queue::OwnQueues;
use crate::model::port::Port;
use crate::network::{Host, Network};
use crate::observe::instruments::Instruments;
use crate::observe::output::Delays;
use crate::observe::trace::TraceRows;
use crate::workload::Action;
use paceline_core::Instant;
use paceline_tcp::{Output, Segment};

/// The hosts of a network, or those of some of its flows.
pub(crate) struct Hosts<'a> {
    network: &'a Network,
    now: Instant,
    /// How far the run goes: nothing at or after it has happened at a host.
    until: Instant,
    pub(crate) mail: Mailbox<'a>,
    flows: FlowTable,
    /// Links beside hosts that several flows pass: no packet comes to them but by a fast path.
    access: LinkTable,
    hesitation: Hesitation,
    /// Where in a flow's path the acknowledgements' route begins.
    ack_hop: u8,
    /// By host, `None` where packets leave as flows send them; empty where all do.
    ports: Vec<Option<Box<Port>>>,
    /// What hosts know of their own queues.
    own_queues: OwnQueues,
    /// Statistics count: the warm-up is over.
    counting: bool,
    /// What stood of each flow when statistics started.
    at_warmup: Vec<Snapshot>,
    /// Delays of flows that are not paced, and of those that are.
    delays: [Delays; 2],
    instruments: Instruments,
    trace: Option<TraceRows>,
    dealing: Dealing,
    deadlines: DeadlineIndex,
    /// When delayed acknowledgements are due of receivers that are free.
    delayed_acks: DeadlineIndex,
    shared: SharedHosts,
    /// Room for the flows whose timers run out.
    due: Vec<u32>,
    segments: Segments,
    dialogues: Vec<RunningDialogue>,
    /// Room for an application's actions.
    actions: Vec<Action>,
    /// Packets that entered the network, acknowledgements among them, and packets that reached their destination.
    sent: u64,
    received: u64,
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

/// What hosts are made of.
pub(crate) struct Parts {
    pub(crate) flows: Vec<Flow>,
    pub(crate) dialogues: Vec<RunningDialogue>,
    pub(crate) access: LinkTable,
    pub(crate) shared: SharedHosts,
    pub(crate) instruments: Instruments,
    pub(crate) is_traced: bool,
}

impl<'a> Hosts<'a> {
    /// All of a network, at time zero, each flow's start in the calendar.
    pub(crate) fn new(network: &'a Network, parts: Parts, ack_hop: u8, mail: Mailbox<'a>) -> Self {
        let Parts { flows, dialogues, access, shared, instruments, is_traced } = parts;
        let flows = FlowTable { first: 0, list: flows };
        let mut hosts = Hosts {
            hesitation: Hesitation::of(network),
            ports: ports_of(network),
            own_queues: OwnQueues::of(network),
            access,
            shared,
            instruments,
            dialogues,
            trace: is_traced.then(TraceRows::default),
            ..Hosts::bare(network, flows, ack_hop, mail)
        };
        for (id, spec) in network.flows.iter().enumerate() {
            let Some(at) = hosts.flows[id].first_event(spec.start) else { continue };
            let place = network.links.len() as u32 + spec.source;
            hosts.mail.calendar.push(Event::of_flow(at, place, Kind::Application, id as u32));
        }
        hosts
    }

    /// Those of these flows, without anything that ties flows together.
    fn bare(network: &'a Network, flows: FlowTable, ack_hop: u8, mail: Mailbox<'a>) -> Self {
        Hosts {
            network,
            now: Instant::ZERO,
            until: Instant::ZERO,
            mail,
            flows,
            access: LinkTable::default(),
            hesitation: Hesitation::of(network),
            ack_hop,
            ports: Vec::new(),
            own_queues: OwnQueues::default(),
            counting: false,
            at_warmup: Vec::new(),
            delays: [Delays::new(), Delays::new()],
            instruments: Instruments::none(),
            trace: None,
            dealing: Dealing::default(),
            deadlines: DeadlineIndex::default(),
            delayed_acks: DeadlineIndex::default(),
            shared: SharedHosts::default(),
            due: Vec::new(),
            segments: Segments::default(),
            dialogues: Vec::new(),
            actions: Vec::new(),
            sent: 0,
            received: 0,
        }
    }

    /// The run goes on up to this time.
    pub(crate) fn run_until(&mut self, until: Instant) {
        self.until = until;
    }

    /// Hosts run up to `hosts_until` in an epoch of so many nanoseconds.
    pub(crate) fn begin_epoch(&mut self, hosts_until: Instant, nanos: u64) {
        self.shared.begin_epoch((hosts_until, nanos), self.until);
    }

    /// An event at a host: nothing before it happens any more.
    #[inline(always)]
    pub(crate) fn handle(&mut self, event: &Event) {
        self.now = event.at;
        match event.kind() {
            Kind::Arrival => {
                self.flows[event.flow as usize].gates[0].pass();
                self.receive(event);
            }
            Kind::Acknowledgement => {
                self.flows[event.flow as usize].gates[1].pass();
                self.on_ack(event);
            }
            Kind::RetransmissionTimer => self.on_retransmission_timer(event.flow, event.at),
            Kind::PacingTimer => self.on_pacing_timer(event.flow, event.at),
            Kind::DelayedAckTimer => self.on_delayed_ack_timer(event.flow, event.at),
            Kind::PortTimer => self.on_port_timer(event.place),
            Kind::Application => {
                let shared = self.come_to_start(event);
                self.on_application(event.flow);
                if let Some(host) = shared {
                    self.note_at_shared(event.flow, host);
                }
            }
            Kind::LinkWakeup => {}
        }
    }

    /// Handles what happens at hosts alone before this time, where no packet takes a slow path: whether nothing does.
    pub(crate) fn run_without_links(&mut self, hosts_until: Instant) -> bool {
        let mut is_idle = true;
        while let Some(event) = self.mail.calendar.pop_before(hosts_until) {
            is_idle = false;
            self.handle(&event);
        }
        self.run_due_timers(hosts_until) && is_idle
    }

    /// From now on everything counts.
    pub(crate) fn start_statistics(&mut self) {
        self.counting = true;
        self.at_warmup = self.flows.all().iter().map(Flow::snapshot).collect();
    }

    pub(crate) fn has_started_statistics(&self) -> bool {
        self.counting
    }

    /// Reads flows at the regular times that fall before `time`; after [`Self::next_sample`] there are some.
    pub(crate) fn sample_before(&mut self, time: Instant) {
        self.instruments.sample_before(time, self.flows.all());
    }

    pub(crate) fn next_sample(&self) -> Instant {
        self.instruments.next_sample
    }

    pub(crate) fn trace(&mut self) -> Option<&mut TraceRows> {
        self.trace.as_mut()
    }

    pub(crate) fn flows(&self) -> &[Flow] {
        self.flows.all()
    }

    /// Sent and received packets, and those in ports and before shared hosts.
    pub(crate) fn census(&self) -> (u64, u64, u64) {
        let queued: u64 = self.ports.iter().flatten().map(|port| port.held_packets()).sum();
        (self.sent, self.received, queued + self.shared.waiting().count() as u64)
    }

    /// The run is over: what is left.
    pub(crate) fn into_record(self) -> Record {
        let Hosts { flows, access, at_warmup, delays, instruments, .. } = self;
        Record { flows: flows.list, access, at_warmup, delays, instruments }
    }

    /// Some of the flows, from number `first` on, with the sums of their own; they are this one's no more.
    pub(crate) fn split_off(&mut self, first: usize) -> Hosts<'a> {
        let list = self.flows.list.split_off(first); // whose room stays for when they come back
        let mail = Mailbox::new(self.mail.calendar.precedence(), self.mail.to_links.len());
        let mut hosts = Hosts {
            now: self.now,
            until: self.until,
            counting: self.counting,
            ..Hosts::bare(self.network, FlowTable { first, list }, self.ack_hop, mail)
        };
        hosts.use_fast_paths(true, |_| [true; 2]);
        hosts
    }

    /// Flows, events and sums of some become this one's again; those with the lower numbers come first.
    pub(crate) fn join(&mut self, mut other: Hosts<'a>) {
        self.flows.list.append(&mut other.flows.list);
        while let Some(event) = other.mail.calendar.pop_before(Instant::MAX) {
            self.mail.calendar.push(event);
        }
        for (list, mut sent) in self.mail.to_links.iter_mut().zip(other.mail.to_links) {
            list.append(&mut sent);
        }
        for (sum, delays) in self.delays.iter_mut().zip(&other.delays) {
            sum.add(delays);
        }
        self.sent += other.sent;
        self.received += other.received;
    }

    /// Statistics have started at some that were split off: what stood of their flows then comes after what is known.
    pub(crate) fn has_started_with(&mut self, other: &mut Hosts<'a>) {
        self.counting = true;
        self.at_warmup.append(&mut other.at_warmup);
    }
}

/// What hosts leave behind.
pub(crate) struct Record {
    pub(crate) flows: Vec<Flow>,
    pub(crate) access: LinkTable,
    pub(crate) at_warmup: Vec<Snapshot>,
    pub(crate) delays: [Delays; 2],
    pub(crate) instruments: Instruments,
}

fn ports_of(network: &Network) -> Vec<Option<Box<Port>>> {
    let port = |host: &Host| host.port.as_deref().map(|pacing| Box::new(Port::new(*pacing)));
    if network.hosts.iter().all(|host| host.port.is_none()) {
        return Vec::new();
    }
    network.hosts.iter().map(port).collect()
}

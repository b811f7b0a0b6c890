//! Some of the flows, at work on a thread of their own.

use super::agenda::Agenda;
use super::inbox::Inbox;
use super::pool::Pool;
use super::shared::SharedHosts;
use super::threads::Mail;
use super::{Calendar, Census, Engine, Exit, Flows, Segments};
use crate::flow::{Flow, Source};
use crate::instrument::Instruments;
use crate::output::Delays;
use crate::packet::Event;
use paceline_core::Instant;

/// Hosts of some flows: an engine that has no links but those that lie with these.
pub(super) struct Part<'a> {
    pub(super) engine: Engine<'a>,
    /// What links have let go to its hosts.
    pub(super) incoming: Mail,
    /// Nothing has happened in the last window.
    pub(super) is_idle: bool,
}

impl<'a> Part<'a> {
    /// The flows of a network, 2^`shift` to a part, with their own links.
    pub(super) fn share(whole: &mut Engine<'a>, shift: u32) -> Vec<Self> {
        let mut parts = Vec::new();
        while !whole.flows.list.is_empty() {
            let first = (whole.flows.list.len() - 1) >> shift << shift;
            let list = whole.flows.list.split_off(first); // whose room stays for when they come back
            let mut part = Part::new(whole, first, list);
            part.engine.set_free(true);
            parts.push(part);
        }
        parts.reverse();
        parts
    }

    fn new(whole: &Engine<'a>, first: usize, list: Vec<Flow>) -> Self {
        let mut staged = Vec::new();
        staged.resize_with(whole.staged.len(), Vec::new);
        let engine = Engine {
            network: whole.network,
            now: whole.now,
            until: whole.until,
            ahead: false,
            threads: 1,
            calendar: Calendar::new(),
            windows: None,
            staged,
            links: Vec::new(),
            flows: Flows { first, list },
            losses: Vec::new(),
            ports: Vec::new(),
            routes: Vec::new(),
            stride: 0,
            ack_hop: whole.ack_hop,
            counting: whole.counting,
            at_warmup: Vec::new(),
            delays: [Delays::new(), Delays::new()],
            series: Vec::new(),
            samples: Vec::new(),
            instruments: Instruments::for_no_flow(),
            next_look: Instant::MAX,
            tracer: None,
            inbox: Inbox::default(),
            agenda: Agenda::default(),
            shared: SharedHosts::default(),
            due: Vec::new(),
            segments: Segments::default(),
            talks: Vec::new(),
            acts: Vec::new(),
            census: Census::default(),
        };
        Part { engine, incoming: Mail::default(), is_idle: false }
    }

    /// Takes what the last window has brought; then the hosts run up to this time.
    pub(super) fn run(&mut self, hosts_until: Instant, free: &Pool<Inbox>) {
        let lists: Vec<&[Event]> = self.incoming.lists().collect();
        self.engine.inbox = free.take();
        self.engine.open_inbox(&lists);
        free.give_back(std::mem::take(&mut self.engine.inbox));
        self.incoming.clear();
        self.is_idle = self.engine.run_hosts(hosts_until);
    }

    /// Its flows, events and sums become the network's again; parts are given back in order.
    pub(super) fn give_back(mut self, whole: &mut Engine<'a>) {
        whole.flows.list.append(&mut self.engine.flows.list);
        while let Some(event) = self.engine.calendar.pop_before(Instant::MAX) {
            whole.calendar.push(event);
        }
        for (stage, mut sent) in self.engine.staged.into_iter().enumerate() {
            whole.staged[stage].append(&mut sent);
        }
        for (sum, delays) in whole.delays.iter_mut().zip(&self.engine.delays) {
            sum.add(delays);
        }
        whole.census.sent += self.engine.census.sent;
        whole.census.received += self.engine.census.received;
    }
}

impl Flow {
    /// It has short ways out of its hosts and into them, and nothing ties it to others.
    pub(super) fn stands_alone(&self) -> bool {
        let is_short = |end: usize| self.exits[end].link != Exit::LONG.link && !self.tails[end].is_long();
        let is_short = match &self.source {
            Source::Tcp(tcp) => tcp.rest.application.is_none() && is_short(0) && is_short(1),
            Source::OpenLoop(_) => is_short(0),
        };
        is_short && !self.watched && !self.measured && !self.has_port
    }
}

//! Some of the flows, at work on any thread.

use super::agenda::Agenda;
use super::group::Bag;
use super::inbox::Inbox;
use super::pool::Pool;
use super::shared::SharedHosts;
use super::{Calendar, Census, Engine, Flows, Links, Segments};
use crate::model::flow::{Flow, Source};
use crate::observe::instrument::Instruments;
use crate::observe::output::Delays;
use paceline_core::Instant;

/// Hosts of some flows: an engine that has no links but those that lie with these.
pub(super) struct Part<'a> {
    pub(super) engine: Engine<'a>,
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
            let mut engine = bare(whole, Flows { first, list });
            engine.staged.resize_with(whole.staged.len(), Vec::new);
            engine.set_free(true);
            parts.push(Part { engine, is_idle: false });
        }
        parts.reverse();
        parts
    }

    /// Hosts take what a window has brought them.
    pub(super) fn take(&mut self, bag: &mut Bag, free: &Pool<Inbox>) {
        self.engine.losses.append(&mut bag.losses);
        self.engine.inbox = free.take();
        self.engine.open_inbox(&[&bag.packets]);
        free.give_back(std::mem::take(&mut self.engine.inbox));
        bag.packets.clear();
        for mut list in bag.lists.drain(..) {
            self.engine.take_all(&mut list);
            list.clear();
            bag.empty.push(list);
        }
    }

    /// The hosts run up to this time.
    pub(super) fn run(&mut self, hosts_until: Instant) {
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

/// An engine of these flows of a network, without links.
pub(super) fn bare<'a>(whole: &Engine<'a>, flows: Flows) -> Engine<'a> {
    Engine {
        network: whole.network,
        now: whole.now,
        until: whole.until,
        ahead: false,
        threads: 1,
        hesitation: whole.hesitation,
        precedence: whole.precedence,
        calendar: Calendar::new(whole.precedence),
        windows: None,
        staged: Vec::new(),
        shelves: Vec::new(),
        post: None,
        behind: Vec::new(),
        links: Links::default(),
        flows,
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
    }
}

impl Flow {
    /// It has short ways out of its hosts and into them, and nothing ties it to others.
    pub(super) fn stands_alone(&self) -> bool {
        let exits = [&self.at_source.out, &self.at_sink.out];
        let is_short = |end: usize| exits[end].is_short() && !self.tails[end].is_long();
        let is_short = match &self.source {
            Source::Tcp(tcp) => tcp.rest.application.is_none() && is_short(0) && is_short(1),
            Source::OpenLoop(_) => is_short(0),
        };
        is_short && !self.observed.window() && !self.observed.delays() && !self.has_port
    }
}

//! Some of the flows, at work on any thread.

use crate::engine::batched::deadline_index::DeadlineIndex;
use crate::engine::batched::delivery::Delivery;
use crate::engine::batched::shared_hosts::SharedHosts;
use crate::engine::parallel::buffer_pool::BufferPool;
use crate::engine::parallel::link_partition::Parcel;
use crate::engine::{Calendar, Census, Engine, FlowTable, LinkTable, Segments};
use crate::model::flow::{Flow, Source};
use crate::observe::instrument::Instruments;
use crate::observe::output::Delays;
use paceline_core::Instant;

/// Hosts of some flows: an engine that has no links but those that lie with these.
pub(crate) struct HostPartition<'a> {
    pub(crate) engine: Engine<'a>,
    /// Nothing has happened in the last epoch.
    pub(crate) is_idle: bool,
}

impl<'a> HostPartition<'a> {
    /// The flows of a network, 2^`shift` to a part, with their own links.
    pub(crate) fn share(whole: &mut Engine<'a>, shift: u32) -> Vec<Self> {
        let mut host_partitions = Vec::new();
        while !whole.flows.list.is_empty() {
            let first = (whole.flows.list.len() - 1) >> shift << shift;
            let list = whole.flows.list.split_off(first); // whose room stays for when they come back
            let mut engine = bare(whole, FlowTable { first, list });
            engine.staged.resize_with(whole.staged.len(), Vec::new);
            engine.set_free(true);
            host_partitions.push(HostPartition { engine, is_idle: false });
        }
        host_partitions.reverse();
        host_partitions
    }

    /// Hosts take what an epoch has brought them.
    pub(crate) fn take(&mut self, parcel: &mut Parcel, free: &BufferPool<Delivery>) {
        self.engine.losses.append(&mut parcel.losses);
        self.engine.delivery = free.take();
        self.engine.deliver(&[&parcel.packets]);
        free.give_back(std::mem::take(&mut self.engine.delivery));
        parcel.packets.clear();
        for mut list in parcel.lists.drain(..) {
            self.engine.take_all(&mut list);
            list.clear();
            parcel.empty.push(list);
        }
    }

    /// The hosts run up to this time.
    pub(crate) fn run(&mut self, hosts_until: Instant) {
        self.is_idle = self.engine.run_hosts(hosts_until);
    }

    /// Its flows, events and sums become the network's again; host partitions are given back in order.
    pub(crate) fn give_back(mut self, whole: &mut Engine<'a>) {
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
pub(crate) fn bare<'a>(whole: &Engine<'a>, flows: FlowTable) -> Engine<'a> {
    Engine {
        network: whole.network,
        now: whole.now,
        until: whole.until,
        ahead: false,
        threads: 1,
        hesitation: whole.hesitation,
        precedence: whole.precedence,
        calendar: Calendar::new(whole.precedence),
        epochs: None,
        staged: Vec::new(),
        backlogs: Vec::new(),
        exchange: None,
        downstream: Vec::new(),
        links: LinkTable::default(),
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
        delivery: Delivery::default(),
        deadlines: DeadlineIndex::default(),
        shared: SharedHosts::default(),
        due: Vec::new(),
        segments: Segments::default(),
        talks: Vec::new(),
        acts: Vec::new(),
        census: Census::default(),
    }
}

impl Flow {
    /// It has fast paths out of its hosts and into them, and nothing ties it to others.
    pub(crate) fn stands_alone(&self) -> bool {
        let egresses = [&self.at_source.out, &self.at_sink.out];
        let is_short = |end: usize| egresses[end].is_short() && !self.suffixes[end].is_long();
        let is_short = match &self.source {
            Source::Tcp(tcp) => tcp.rest.application.is_none() && is_short(0) && is_short(1),
            Source::OpenLoop(_) => is_short(0),
        };
        is_short && !self.observed.window() && !self.observed.delays() && !self.has_port
    }
}

//! Instruments at work: each observer is brought what it sees.
//!
//! *Idea.* What a scenario's probes measure is [`crate::instrument`]; here its observers stand at links, beside senders and receivers, or are
//! shown flows at regular times. A packet may pass a link ahead of simulated time, so an instrument goes by the packet's own times; those
//! of one link never go back. What is sampled over many flows is read between events; the receivers that it reads do not run ahead
//! (`Flow::keep_in_step`).
//!
//! An instrument that is off costs a flow one branch an acknowledgement and one a delivered packet, and a link nothing:
//! [`crate::model::link::Passage::recorded`] is set already where a packet is recorded.

use crate::instrument::{
    Curve, Departures, FlowRow, Instrument, Observer, Passing, SeriesRow, View, next_of,
};
use crate::kernel::cause::Cause;
use crate::kernel::ids::LinkId;
use crate::kernel::packet::Packet;
use crate::model::flow::{Flow, Source};
use crate::model::link::LinkTable;
use crate::network::{Network, ProbeKind};
use paceline_core::{Instant, Span};
use std::collections::BTreeMap;

/// All instruments of a run.
#[derive(Debug, Default)]
pub(crate) struct Instruments {
    /// On the links that are watched.
    links: BTreeMap<LinkId, Vec<OnLink>>,
    /// A packet counts somewhere as it arrives: links that hold packets must say so.
    pub(crate) see_arrivals: bool,
    drops: Vec<(LinkId, Box<dyn Observer>)>,
    /// By flow; empty where no window is watched.
    windows: Vec<Vec<Box<dyn Observer>>>,
    delays: Vec<Box<dyn Observer>>,
    samplers: Vec<Sampler>,
    /// After this time flows are to be read.
    pub(crate) next_sample: Instant,
    transfers: Vec<Box<dyn Observer>>,
}

/// An instrument on one link.
#[derive(Debug)]
struct OnLink {
    from: Instant,
    to: Instant,
    /// When a packet counts.
    at: Passing,
    what: Box<dyn Observer>,
}

/// Something read from flows at regular times: `every` from `next` to `to`, both ends included.
#[derive(Debug)]
struct Sampler {
    every: Span,
    next: Option<Instant>,
    to: Instant,
    what: Box<dyn Observer>,
}

impl Instruments {
    /// The instruments that a network asks for. Marks the links and flows that they observe.
    pub(crate) fn new(network: &Network, links: &mut LinkTable, flows: &mut [Flow]) -> Self {
        let mut all = Instruments::default();
        for probe in network.probes.iter().filter(|probe| probe.what == ProbeKind::Departures) {
            let what = Box::new(Departures(probe.link));
            let (from, to) = (probe.from, probe.to);
            links[probe.link as usize].record((from, to));
            let watched = OnLink { from, to, at: Passing::Departure, what };
            all.links.entry(probe.link).or_default().push(watched);
        }
        for instrument in &network.instruments {
            all.add(instrument, network, links, flows);
        }
        all.next_sample = all.first_sample();
        all
    }

    /// None at all.
    pub(crate) fn none() -> Self {
        Instruments { next_sample: Instant::MAX, ..Instruments::default() }
    }

    /// Those on links, apart from those that look at flows.
    pub(crate) fn split_off_links(&mut self) -> Self {
        let (links, drops) = (std::mem::take(&mut self.links), std::mem::take(&mut self.drops));
        Instruments { links, drops, see_arrivals: self.see_arrivals, ..Instruments::none() }
    }

    /// Both together again.
    pub(crate) fn join(&mut self, on_links: Instruments) {
        (self.links, self.drops) = (on_links.links, on_links.drops);
    }

    fn add(&mut self, instrument: &Instrument, network: &Network, links: &mut LinkTable, flows: &mut [Flow]) {
        let Instrument { ref what, link, from, to, .. } = *instrument;
        let always = (Instant::ZERO, Instant::MAX);
        // A packet may leave long after it arrived; and it may be on the wire as the time watched begins.
        let (at, seen, counts) = match what.view() {
            View::Link(Passing::Arrival) => (Passing::Arrival, always, (from, to)),
            View::Link(Passing::Departure) => (Passing::Departure, (from, to), (from, to)),
            View::Wire => (Passing::Departure, (Instant::ZERO, to), always),
            View::Drops => {
                self.drops.extend(link.map(|link| (link, what.observer((from, to)))));
                return;
            }
            View::Senders(chosen) => {
                self.windows.resize_with(flows.len(), Vec::new);
                for id in chosen.into_iter().map(|id| id as usize) {
                    let Source::Tcp(tcp) = &mut flows[id].source else { continue };
                    tcp.sender.keep_round_trips();
                    let mut window = what.observer((from.max(network.flows[id].start), to));
                    window.on_start(&tcp.sender);
                    self.windows[id].push(window);
                    flows[id].traits.observe_window();
                }
                return;
            }
            View::Deliveries(classes) => {
                classes.members().for_each(|(flow, _)| flows[flow as usize].traits.observe_delays());
                self.delays.push(what.observer((from, to)));
                return;
            }
            View::Results => {
                self.transfers.push(what.observer((from, to)));
                return;
            }
            View::Samples { flows: chosen, every } => {
                chosen.into_iter().for_each(|flow| flows[flow as usize].keep_in_step(0));
                self.samplers.push(Sampler { every, next: Some(from), to, what: what.observer((from, to)) });
                return;
            }
        };
        let Some(link) = link else { return };
        self.see_arrivals |= at == Passing::Arrival;
        links[link as usize].record(seen);
        let watched = OnLink { from: counts.0, to: counts.1, at, what: what.observer((from, to)) };
        self.links.entry(link).or_default().push(watched);
    }

    /// A packet that arrived at `arrival` is on the wire of a link from `start` to `finish`.
    pub(crate) fn departs(
        &mut self,
        link: LinkId,
        packet: &Packet,
        (arrival, start, finish): (Instant, Instant, Instant),
        series: &mut Vec<SeriesRow>,
    ) {
        for what in self.watching(link, Passing::Departure, start) {
            what.on_wait(packet.flow, start.since(arrival));
            what.on_departure(packet, (start, finish), series);
        }
    }

    /// A packet reaches a link.
    pub(crate) fn arrives(&mut self, link: LinkId, bytes: u32, at: Instant) {
        self.watching(link, Passing::Arrival, at).for_each(|what| what.on_arrival(bytes, at));
    }

    /// The instruments for which a packet counts that passes a link so, and then.
    fn watching(
        &mut self,
        link: LinkId,
        passing: Passing,
        time: Instant,
    ) -> impl Iterator<Item = &mut Box<dyn Observer>> {
        let all = self.links.get_mut(&link).into_iter().flatten();
        let is_asked = move |one: &&mut OnLink| one.at == passing && one.from <= time && time < one.to;
        all.filter(is_asked).map(|one| &mut one.what)
    }

    /// A link drops a packet.
    pub(crate) fn drops(&mut self, link: LinkId, flow: u32, cause: Cause, now: Instant) {
        let here = self.drops.iter_mut().filter(|(at, _)| *at == link);
        here.for_each(|(_, events)| events.on_drop(flow, cause, now));
    }

    /// A flow's window may have changed.
    #[cold]
    pub(crate) fn looks_at(&mut self, id: u32, source: &Source, now: Instant) {
        if let Source::Tcp(tcp) = source {
            self.windows[id as usize].iter_mut().for_each(|window| window.on_window(&tcp.sender, now));
        }
    }

    /// A packet of a flow is delivered in order, so long after it was first sent.
    #[cold]
    pub(crate) fn delivers(&mut self, flow: u32, delay: Span, now: Instant) {
        self.delays.iter_mut().for_each(|delays| delays.on_delivery(flow, delay, now));
    }

    /// A packet of a flow is at its host for the first time, so long after it was first sent.
    pub(crate) fn arrives_first(&mut self, flow: u32, delay: Span, now: Instant) {
        self.delays.iter_mut().for_each(|delays| delays.on_first_arrival(flow, delay, now));
    }

    /// Reads flows at the regular times that fall before `time` (the state between events does not change).
    pub(crate) fn sample_before(&mut self, time: Instant, flows: &[Flow]) {
        for Sampler { every, next, to, what } in &mut self.samplers {
            while let Some(at) = next.filter(|next| *next < time) {
                what.sample(at, &|flow| flows[flow as usize].snapshot().delivered_bytes);
                *next = next_of(at, *every, *to);
            }
        }
        self.next_sample = self.first_sample();
    }

    fn first_sample(&self) -> Instant {
        self.samplers.iter().filter_map(|sampler| sampler.next).min().unwrap_or(Instant::MAX)
    }

    /// What they found, once the run has ended.
    pub(crate) fn curves(mut self, network: &Network, flows: &[Flow], rows: &[FlowRow]) -> Vec<Curve> {
        self.sample_before(Instant::MAX, flows);
        let link_name = |link: LinkId| network.links[link as usize].name.as_str();
        let windows = self.windows.into_iter().zip(&network.flows);
        let windows = windows.flat_map(|(windows, spec)| windows.into_iter().map(|one| (&*spec.name, one)));
        let links = self
            .links
            .into_iter()
            .flat_map(|(link, watched)| watched.into_iter().map(move |one| (link_name(link), one.what)));
        let drops = self.drops.into_iter().map(|(link, events)| (link_name(link), events));
        let of_flows = self.delays.into_iter().chain(self.transfers);
        let of_flows = of_flows.chain(self.samplers.into_iter().map(|sampler| sampler.what));
        let mut curves = Vec::new();
        for (name, found) in windows.chain(links).chain(drops).chain(of_flows.map(|one| ("", one))) {
            found.curves(name, rows, &mut curves);
        }
        curves.retain(|curve| !curve.points.is_empty());
        curves
    }
}

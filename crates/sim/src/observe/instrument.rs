//! Instruments: what a scenario's probes measure while the network runs, as curves.
//!
//! *Idea.* An instrument sees packets at a link, or what a flow does, as it happens, and keeps counts and sums, never the
//! packets: its memory is bounded by what is asked of it. A packet may pass a link ahead of simulated time, so an
//! instrument goes by the packet's own times; those of one link never go back. What is sampled over many flows is read
//! between events; the receivers that it reads do not run ahead (`Flow::keep_in_step`).
//!
//! One algorithm a file. An instrument that is off costs a flow one branch an acknowledgement and one a delivered packet,
//! and a link nothing: [`crate::model::link::Passage::recorded`] tells already whether anybody looks.

mod auto_covariance;
mod bursts;
mod cumulative;
mod delay;
mod distribution;
mod drop_events;
mod fairness;
mod intervals;
mod rate_variation;
mod succession;
mod transfers;
mod window;

use self::auto_covariance::AutoCovariance;
use self::bursts::Bursts;
use self::cumulative::{Carried, Delivered};
use self::delay::DelayDistribution;
use self::drop_events::DropEvents;
use self::fairness::Fairness;
use self::rate_variation::RateVariation;
use self::succession::Succession;
use self::window::Window;
use crate::kernel::packet::Packet;
use crate::model::flow::{Flow, Source};
use crate::model::link::LinkTable;
use crate::network::{Classes, Instrument, InstrumentKind, LinkId, Network, Passing, ProbeKind};
use crate::observe::output::{FlowRow, SeriesKind, SeriesRow};
use paceline_core::{Instant, Span};
use std::collections::BTreeMap;

/// What an instrument found: y against x.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// `cwnd`, `rate_variation`, …
    pub instrument: &'static str,
    /// The link; empty where there is none.
    pub link: String,
    /// The flow or the class of flows; empty where it is about none in particular.
    pub flow: String,
    /// Succession: who comes next.
    pub next: String,
    /// Unit of x.
    pub x_unit: &'static str,
    /// Unit of y.
    pub y_unit: &'static str,
    /// In ascending order of x.
    pub points: Vec<Point>,
}

impl Curve {
    fn at_link(
        instrument: &'static str,
        link: &str,
        units: (&'static str, &'static str),
        points: Vec<Point>,
    ) -> Self {
        let (link, (x_unit, y_unit)) = (link.to_owned(), units);
        Curve { instrument, link, flow: String::new(), next: String::new(), x_unit, y_unit, points }
    }

    fn of_flow(
        instrument: &'static str,
        flow: &str,
        units: (&'static str, &'static str),
        points: Vec<Point>,
    ) -> Self {
        Curve { flow: flow.to_owned(), ..Curve::at_link(instrument, "", units, points) }
    }
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Not a number where the instrument has no x.
    pub x: f64,
    /// What was found there.
    pub y: f64,
    /// How many observations stand behind it: 1 for a sample, windows of a scale, packets up to x of a distribution.
    pub count: u64,
}

/// All instruments of a run.
#[derive(Debug, Default)]
pub(crate) struct Instruments {
    /// On the links that are watched.
    links: BTreeMap<LinkId, Vec<OnLink>>,
    /// A packet counts somewhere as it arrives: links that hold packets must say so.
    pub(crate) see_arrivals: bool,
    drops: Vec<DropEvents>,
    /// By flow; empty where no window is watched.
    windows: Vec<Vec<Window>>,
    delays: Vec<DelayDistribution>,
    samplers: Vec<Sampler>,
    /// After this time flows are to be read.
    pub(crate) next_sample: Instant,
    transfers: Vec<Classes>,
}

/// An instrument on one link.
#[derive(Debug)]
struct OnLink {
    from: Instant,
    to: Instant,
    what: LinkInstrument,
}

#[derive(Debug)]
enum LinkInstrument {
    Departures,
    RateVariation(Passing, RateVariation),
    AutoCovariance(Passing, AutoCovariance),
    Succession(Succession),
    Bursts(Bursts),
    Carried(Carried),
}

/// Something read from flows at regular times: `every` from `next` to `to`, both ends included.
#[derive(Debug)]
struct Sampler {
    every: Span,
    next: Option<Instant>,
    to: Instant,
    what: Sampled,
}

#[derive(Debug)]
enum Sampled {
    Fairness(Fairness),
    Delivered(Delivered),
}

impl Instruments {
    /// The instruments that a network asks for; tells links and flows that somebody looks.
    pub(crate) fn new(network: &Network, links: &mut LinkTable, flows: &mut [Flow]) -> Self {
        let mut all = Instruments::default();
        for probe in &network.probes {
            if probe.what == ProbeKind::Departures {
                let watched = OnLink { from: probe.from, to: probe.to, what: LinkInstrument::Departures };
                all.put_on(probe.link, watched, (probe.from, probe.to), links);
            }
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
        let Instrument { what, from, to } = instrument;
        let (from, to) = (*from, *to);
        let (link, what) = match what {
            InstrumentKind::RateVariation { link, at, finest, scales } => {
                let variation = RateVariation::new(from, to, *finest, *scales);
                (*link, LinkInstrument::RateVariation(*at, variation))
            }
            InstrumentKind::AutoCovariance { link, at, interval, lags } => {
                let covariance = AutoCovariance::new(from, to, *interval, *lags);
                (*link, LinkInstrument::AutoCovariance(*at, covariance))
            }
            InstrumentKind::Succession { link, classes } => {
                (*link, LinkInstrument::Succession(Succession::new(classes.clone())))
            }
            InstrumentKind::Bursts { link, gap, of_one_flow } => {
                (*link, LinkInstrument::Bursts(Bursts::new(*gap, *of_one_flow)))
            }
            InstrumentKind::Carried { link, every } => {
                (*link, LinkInstrument::Carried(Carried::new(from, to, *every)))
            }
            InstrumentKind::DropEvents { link, gap, length } => {
                self.drops.push(DropEvents::new(*link, from, to, *gap, *length, flows.len()));
                return;
            }
            InstrumentKind::Window { flows: watched, every } => {
                self.windows.resize_with(flows.len(), Vec::new);
                for &id in watched {
                    let Source::Tcp(tcp) = &mut flows[id as usize].source else { continue };
                    tcp.sender.keep_round_trips();
                    let from = from.max(network.flows[id as usize].start);
                    self.windows[id as usize].push(Window::new(&tcp.sender, from, to, *every));
                    flows[id as usize].observed.add_window();
                }
                return;
            }
            InstrumentKind::Delay { classes } => {
                mark(flows, classes, |flow| flow.observed.add_delays());
                self.delays.push(DelayDistribution::new(from, to, classes.clone()));
                return;
            }
            InstrumentKind::Transfers { classes } => {
                self.transfers.push(classes.clone());
                return;
            }
            InstrumentKind::Fairness { flows: chosen, steps, every } => {
                chosen.iter().for_each(|&flow| flows[flow as usize].keep_in_step(0));
                let what = Sampled::Fairness(Fairness::new(chosen.clone(), *steps));
                self.samplers.push(Sampler { every: *every, next: Some(from), to, what });
                return;
            }
            InstrumentKind::Delivered { classes, every } => {
                mark(flows, classes, |flow| flow.keep_in_step(0));
                let what = Sampled::Delivered(Delivered::new(classes.clone()));
                self.samplers.push(Sampler { every: *every, next: Some(from), to, what });
                return;
            }
        };
        let seen = match &what {
            LinkInstrument::RateVariation(Passing::Arrival, _)
            | LinkInstrument::AutoCovariance(Passing::Arrival, _) => {
                self.see_arrivals = true;
                (Instant::ZERO, Instant::MAX) // it may leave long after it arrived
            }
            LinkInstrument::Carried(_) => (Instant::ZERO, to), // it may be on the wire as the time begins
            _ => (from, to),
        };
        self.put_on(link, OnLink { from, to, what }, seen, links);
    }

    fn put_on(&mut self, link: LinkId, watched: OnLink, seen: (Instant, Instant), links: &mut LinkTable) {
        self.links.entry(link).or_default().push(watched);
        if let Some(fitted) = links[link as usize].fitted_mut() {
            let (from, to) = fitted.record.unwrap_or(seen);
            fitted.record = Some((from.min(seen.0), to.max(seen.1)));
        }
    }

    /// A packet is on the wire of a link from `start` to `finish`.
    pub(crate) fn departs(
        &mut self,
        link: LinkId,
        packet: &Packet,
        (start, finish): (Instant, Instant),
        series: &mut Vec<SeriesRow>,
    ) {
        let bytes = u32::from(packet.bytes);
        for OnLink { from, to, what } in self.links.get_mut(&link).into_iter().flatten() {
            if let LinkInstrument::Carried(carried) = what {
                carried.add(bytes, start, finish);
            }
            if start < *from || start >= *to {
                continue;
            }
            match what {
                LinkInstrument::Departures => series.push(SeriesRow {
                    link,
                    kind: SeriesKind::Departure,
                    time_ns: start.as_nanos(),
                    flow: packet.flow,
                    bytes: u64::from(bytes),
                }),
                LinkInstrument::RateVariation(Passing::Departure, variation) => variation.add(start, bytes),
                LinkInstrument::AutoCovariance(Passing::Departure, covariance) => {
                    covariance.add(start, bytes);
                }
                LinkInstrument::Succession(succession) => succession.add(packet.flow),
                LinkInstrument::Bursts(bursts) => bursts.add(packet.flow, start, finish),
                _ => {}
            }
        }
    }

    /// A packet reaches a link.
    pub(crate) fn arrives(&mut self, link: LinkId, bytes: u32, at: Instant) {
        for OnLink { from, to, what } in self.links.get_mut(&link).into_iter().flatten() {
            if at < *from || at >= *to {
                continue;
            }
            match what {
                LinkInstrument::RateVariation(Passing::Arrival, variation) => variation.add(at, bytes),
                LinkInstrument::AutoCovariance(Passing::Arrival, covariance) => covariance.add(at, bytes),
                _ => {}
            }
        }
    }

    /// A link drops a packet.
    pub(crate) fn drops(&mut self, link: LinkId, flow: u32, now: Instant) {
        self.drops.iter_mut().filter(|events| events.link == link).for_each(|events| events.add(flow, now));
    }

    /// A flow's window may have changed.
    #[cold]
    pub(crate) fn looks_at(&mut self, id: u32, source: &Source, now: Instant) {
        if let Source::Tcp(tcp) = source {
            self.windows[id as usize].iter_mut().for_each(|window| window.see(&tcp.sender, now));
        }
    }

    /// A packet of a flow is delivered in order, so long after it was first sent.
    #[cold]
    pub(crate) fn delivers(&mut self, flow: u32, delay: Span, now: Instant) {
        self.delays.iter_mut().for_each(|delays| delays.add(flow, delay, now));
    }

    /// Reads flows at the regular times that fall before `time` (the state between events does not change).
    pub(crate) fn sample_before(&mut self, time: Instant, flows: &[Flow]) {
        for sampler in &mut self.samplers {
            while let Some(at) = sampler.next.filter(|next| *next < time) {
                sampler.sample(at, flows);
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
        let mut curves = Vec::new();
        for (windows, spec) in self.windows.into_iter().zip(&network.flows) {
            windows.into_iter().for_each(|window| window.curves(&spec.name, &mut curves));
        }
        for (link, watched) in self.links {
            let spec = &network.links[link as usize];
            for OnLink { what, .. } in watched {
                match what {
                    LinkInstrument::Departures => {}
                    LinkInstrument::RateVariation(_, found) => curves.push(found.curve(&spec.name)),
                    LinkInstrument::AutoCovariance(_, found) => curves.push(found.curve(&spec.name)),
                    LinkInstrument::Succession(found) => found.curves(&spec.name, &mut curves),
                    LinkInstrument::Bursts(found) => curves.push(found.curve(&spec.name)),
                    LinkInstrument::Carried(found) => curves.push(found.curve(&spec.name)),
                }
            }
        }
        let link_name = |link: LinkId| network.links[link as usize].name.as_str();
        self.drops.into_iter().for_each(|found| found.curves(link_name, &mut curves));
        self.delays.into_iter().for_each(|found| found.curves(&mut curves));
        self.transfers.iter().for_each(|classes| transfers::curves(classes, rows, &mut curves));
        for sampler in self.samplers {
            match sampler.what {
                Sampled::Fairness(found) => curves.push(found.curve()),
                Sampled::Delivered(found) => found.curves(&mut curves),
            }
        }
        curves.retain(|curve| !curve.points.is_empty());
        curves
    }
}

impl Sampler {
    fn sample(&mut self, at: Instant, flows: &[Flow]) {
        match &mut self.what {
            Sampled::Fairness(fairness) => fairness.sample(at, flows),
            Sampled::Delivered(delivered) => delivered.sample(at, flows),
        }
        self.next = next_of(at, self.every, self.to);
    }
}

/// The time of a sample after the one at `at`: the last is at `to`, however long that is after the one before.
fn next_of(at: Instant, every: Span, to: Instant) -> Option<Instant> {
    (at < to).then(|| (at + every).min(to))
}

fn mark(flows: &mut [Flow], classes: &Classes, set: impl Fn(&mut Flow)) {
    let chosen = flows.iter_mut().zip(&classes.of).filter(|(_, class)| **class != Classes::NONE);
    chosen.for_each(|(flow, _)| set(flow));
}

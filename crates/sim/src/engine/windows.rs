//! The windowed engine: links run over a window of time each, as batches, instead of by one event a packet and hop.
//!
//! *Idea.* What a host sends now reaches no host before the propagation delays between them have passed. So hosts run up
//! to the earliest time at which anything that is still to be served could reach one, by the calendar as in the reference
//! engine; but every packet that reaches a link waits there in a list. Then each link in turn puts its list in order and
//! serves it, those that feed others first; what leaves it goes to the lists of the links after it, or to hosts. A link's
//! window ends later than the hosts' by the least time in which a packet gets there from any host (its `offset`): all that
//! can reach the link in its window is then in its list. Links, flows and the way of a packet are the reference engine's
//! own code; what differs is only how time advances, and results are the same bytes.
//!
//! On the papers' network a window is 120 ms long: hundreds of packets for each link at a time, which cost a pass over a
//! list instead of a trip through the calendar, with the code and the data of one link in the caches.
//!
//! *Simultaneous arrivals* at a link are served in the total order of `packet.rs`: what other links send, by flow and hop;
//! then what hosts send at that instant, in the order in which they send it.
//!
//! *Where it breaks.* Links that feed each other in a ring have no order: such networks are left to the reference engine,
//! and so are traced runs. Windows that hold too few packets do not pay: after [`TRIAL`] windows with fewer than
//! [`WORTHWHILE`] packets a link the engine goes on as the reference engine, from where it stands.
//!
//! *References.* The lookahead of K. Chandy and J. Misra, "Distributed simulation" (IEEE TSE 1979).

use super::line::Sorter;
use super::samples::look;
use super::{Engine, Tail};
use crate::control::Control;
use crate::link::{Fitted, Link};
use crate::network::Network;
use crate::output::RunError;
use crate::packet::{Event, Kind};
use paceline_core::{Instant, Span};
use std::collections::BTreeMap;

/// Windows before it is decided whether they pay.
const TRIAL: u32 = 256;
/// Packets for each link and window that pay for sorting and going round.
const WORTHWHILE: u64 = 2;
/// A byte takes at least a nanosecond at this rate, bit/s.
const A_BYTE_TAKES_TIME: u64 = 8_000_000_000;

/// The links that run in windows, and how far time has come.
#[derive(Debug)]
pub(super) struct Windows {
    /// In an order in which each comes after those that feed it.
    stages: Vec<Stage>,
    /// Hosts have run up to here.
    hosts_until: Instant,
    /// The packets that are being served, in order.
    line: Vec<Event>,
    sorter: Sorter,
    /// Windows and packets so far; they end after a trial, unless asked for by name.
    trial: (u32, u64),
    may_end: bool,
}

/// A link and the packets that will reach it.
#[derive(Debug)]
struct Stage {
    link: u32,
    /// The least time from any host to this link.
    offset: Span,
    /// The least time from this link's arrivals to any host, if packets go to one without another stage between.
    to_hosts: Option<Span>,
    service: Service,
    /// The stage that all its packets reach next, with no link between.
    next: Option<u32>,
    /// Behind it begins the tail of every packet's way ([`super::inbox`]).
    ends: bool,
    /// All that arrived before has been served.
    served_until: Instant,
    arrivals: Vec<Event>,
}

/// What a link asks for, besides that its packets come in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    /// Nothing: it refuses nothing, and nobody looks on.
    All,
    /// Each packet may be refused, or its departure recorded; but that is known at the arrival.
    Each,
    /// It holds packets: wake-ups come between arrivals.
    Between,
}

impl Stage {
    /// Moves the arrivals of the next window to `line`, in order. Returns the window's end.
    fn line_up(
        &mut self,
        hosts_until: Instant,
        until: Instant,
        sorter: &mut Sorter,
        line: &mut Vec<Event>,
    ) -> Instant {
        let end = (hosts_until + self.offset).min(until).max(self.served_until);
        let from = std::mem::replace(&mut self.served_until, end);
        sorter.sort(&mut self.arrivals, from, end, line);
        end
    }

    /// Where the hosts stand when something next happens here.
    fn next_window(&self, links: &[Link]) -> Option<Instant> {
        let wakeup = links[self.link as usize].fitted.as_ref().and_then(|link| link.wakeup_at);
        let first = self.arrivals.iter().map(|event| event.at).chain(wakeup).min()?;
        Some(Instant::from_nanos(first.as_nanos().saturating_sub(self.offset.as_nanos())))
    }
}

/// Any host, where a link is meant else.
const HOST: u32 = u32::MAX;

impl Windows {
    /// Windows over the links that `is_staged` marks; `None` where they have no order, or time has no length.
    pub(super) fn new(
        network: &Network,
        is_staged: &[bool],
        service: impl Fn(u32) -> Service,
        may_end: bool,
    ) -> Option<Self> {
        let ways = ways(network, is_staged)?;
        let order = order(&ways)?;
        let mut offsets = BTreeMap::from([(HOST, Span::ZERO)]);
        for &link in &order {
            let feeders = ways.iter().filter(|((_, to), _)| *to == link);
            let offset = feeders.map(|((from, _), &way)| offsets[from] + way).min()?;
            offsets.insert(link, offset);
        }
        let position = |link: u32| order.iter().position(|&staged| staged == link);
        let mut stages = Vec::new();
        for &link in &order {
            let (offset, to_hosts) = (offsets[&link], ways.get(&(link, HOST)).copied());
            if to_hosts.is_some_and(|way| offset + way == Span::ZERO) {
                return None; // no time passes from host to host
            }
            let next = only_follower(network, link).and_then(position).map(|position| position as u32);
            stages.push(Stage {
                link,
                offset,
                to_hosts,
                service: service(link),
                next,
                ends: false,
                served_until: Instant::ZERO,
                arrivals: Vec::new(),
            });
        }
        Some(Windows {
            stages,
            hosts_until: Instant::ZERO,
            line: Vec::new(),
            sorter: Sorter::default(),
            trial: (0, 0),
            may_end,
        })
    }

    /// The stage of a link, if it runs in windows.
    pub(super) fn stage_of(&self) -> BTreeMap<u32, u32> {
        (0..).zip(&self.stages).map(|(position, stage)| (stage.link, position)).collect()
    }

    /// Which stages have nothing but tails behind them.
    pub(super) fn mark_ends(&mut self, ends: &[bool]) {
        self.stages.iter_mut().zip(ends).for_each(|(stage, &ends)| stage.ends = ends);
    }

    /// How far hosts may run: nothing that is still to be served reaches one before.
    fn next_hosts_until(&self) -> Instant {
        let back = |stage: &Stage| stage.to_hosts.map(|way| stage.served_until + way);
        self.stages.iter().filter_map(back).min().unwrap_or(Instant::MAX)
    }

    /// A packet will reach the stage at the event's place; behind the last one its tail begins.
    #[inline(always)]
    pub(super) fn push(&mut self, event: Event, tail: Tail) {
        let stage = &mut self.stages[event.place as usize];
        debug_assert!(event.at >= stage.served_until, "a packet comes too late for its window");
        stage.arrivals.push(event.at_place(tail.shared));
    }

    /// What will reach a stage.
    #[inline(always)]
    pub(super) fn arrivals(&mut self, stage: u32) -> &mut Vec<Event> {
        &mut self.stages[stage as usize].arrivals
    }

    /// Packets on their way to links.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Event> {
        self.stages.iter().flat_map(|stage| &stage.arrivals)
    }
}

/// From one link that runs in windows to the next (or a host), the least time between; `None` where none need pass.
fn ways(network: &Network, is_staged: &[bool]) -> Option<BTreeMap<(u32, u32), Span>> {
    let mut ways: BTreeMap<(u32, u32), Span> = BTreeMap::new();
    for route in network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]) {
        let (mut from, mut way) = (HOST, Span::ZERO);
        for &link in route {
            if is_staged[link as usize] {
                let least = ways.entry((from, link)).or_insert(way);
                *least = way.min(*least);
                (from, way) = (link, Span::ZERO);
            }
            let spec = &network.links[link as usize];
            way = way + spec.delay;
            if spec.delay == Span::ZERO && spec.rate.bits_per_second() > A_BYTE_TAKES_TIME {
                return None;
            }
        }
        let least = ways.entry((from, HOST)).or_insert(way);
        *least = way.min(*least);
    }
    Some(ways)
}

/// The link that all packets of a link reach next, if there is one.
fn only_follower(network: &Network, link: u32) -> Option<u32> {
    let routes = network.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]);
    let mut followers = routes.flat_map(|route| {
        let passes = (0..route.len()).filter(|&hop| route[hop] == link);
        passes.map(|hop| route.get(hop + 1).copied())
    });
    let first = followers.next()??;
    followers.all(|follower| follower == Some(first)).then_some(first)
}

/// The links that the ways lead to, each after those that feed it; `None` if some feed each other in a ring.
fn order(ways: &BTreeMap<(u32, u32), Span>) -> Option<Vec<u32>> {
    let mut feeders: BTreeMap<u32, usize> = BTreeMap::new();
    for &(from, to) in ways.keys().filter(|(_, to)| *to != HOST) {
        *feeders.entry(to).or_default() += usize::from(from != HOST);
    }
    let mut order: Vec<u32> =
        feeders.iter().filter(|(_, feeders)| **feeders == 0).map(|(&link, _)| link).collect();
    let mut done = 0;
    while let Some(&link) = order.get(done) {
        done += 1;
        for &(_, to) in ways.range((link, 0)..(link, HOST)).map(|(way, _)| way) {
            let left = feeders.get_mut(&to)?;
            *left -= 1;
            if *left == 0 {
                order.push(to);
            }
        }
    }
    (done == feeders.len() && done > 0).then_some(order)
}

impl Engine<'_> {
    /// Handles every event before `until`, window by window.
    pub(super) fn run_windows(&mut self, until: Instant, control: &Control) -> Result<(), RunError> {
        self.until = until;
        while let Some(windows) = &mut self.windows {
            if windows.hosts_until >= until {
                self.look_before(until);
                self.now = until;
                return Ok(());
            }
            control.report(windows.hosts_until.as_nanos(), self.network.duration.as_nanos());
            if control.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            windows.hosts_until = windows.next_hosts_until().min(until);
            let (hosts_until, stages, mut is_idle) = (windows.hosts_until, windows.stages.len(), true);
            while let Some(event) = self.calendar.pop_before(hosts_until) {
                is_idle = false;
                if event.at > self.instruments.next_sample {
                    self.instruments.sample_before(event.at, &self.flows);
                }
                self.now = event.at;
                self.handle(event);
            }
            self.instruments.sample_before(hosts_until, &self.flows);
            let served: u64 = (0..stages).map(|stage| self.run_stage(stage, hosts_until, until)).sum();
            self.open_inbox();
            if is_idle && served == 0 {
                self.skip_idle_time();
            }
            self.try_windows(served);
        }
        self.run_events(until, control)
    }

    /// Serves a link up to the end of its window: how many packets.
    fn run_stage(&mut self, stage: usize, hosts_until: Instant, until: Instant) -> u64 {
        let Some(windows) = &mut self.windows else { return 0 };
        let mut line = std::mem::take(&mut windows.line);
        let stage = &mut windows.stages[stage];
        let (link, service, next, ends) = (stage.link, stage.service, stage.next, stage.ends);
        let end = stage.line_up(hosts_until, until, &mut windows.sorter, &mut line);
        let served = line.len() as u64;
        match service {
            Service::All => {
                self.links[link as usize].pass_all(&mut line);
                self.go_on_all(&line, next, ends);
            }
            Service::Each => {
                self.admit_all(link, &mut line, end);
                self.go_on_all(&line, next, ends);
            }
            Service::Between => self.serve(link, &line, end),
        }
        if let Some(windows) = &mut self.windows {
            windows.line = line;
        }
        served
    }

    /// Packets pass a link that holds none: those that it refuses are gone from the line.
    fn admit_all(&mut self, number: u32, line: &mut Vec<Event>, end: Instant) {
        let mut noted = std::mem::take(&mut self.noted);
        let (samples, series) = (&mut self.samples, &mut self.series);
        let look = |link: &mut Fitted, time| look(samples, number, link, time, series);
        self.links[number as usize].admit_all(line, &mut noted, look);
        for (event, passage) in noted.drain(..) {
            self.now = event.at;
            match passage {
                Some(passage) => self.record(event.at_place(number), passage),
                None => self.refuse(&event.at_place(number)),
            }
        }
        self.noted = noted;
        self.look_at_link(number, end);
    }

    /// What a link has let go comes to its next places.
    fn go_on_all(&mut self, line: &[Event], next: Option<u32>, ends: bool) {
        match (next, &mut self.windows) {
            (Some(next), Some(windows)) => windows.stages[next as usize].arrivals.extend_from_slice(line),
            _ if ends => self.descend(line),
            _ => line.iter().for_each(|&event| self.go_on(event)),
        }
    }

    /// Serves a link at which things happen between arrivals.
    fn serve(&mut self, link: u32, line: &[Event], end: Instant) {
        let mut line = line.iter().peekable();
        loop {
            let next = line.peek().map(|event| event.at);
            let wakeup = self.links[link as usize].fitted.as_ref().and_then(|link| link.wakeup_at);
            if let Some(at) = wakeup.filter(|at| *at < end && next.is_none_or(|next| *at <= next)) {
                self.look_at_link(link, at);
                self.now = at;
                self.on_wakeup(link, at);
            } else if let Some(&event) = line.next() {
                self.look_at_link(link, event.at);
                self.now = event.at;
                self.travel(event.at_place(link));
            } else {
                return self.look_at_link(link, end);
            }
        }
    }

    /// Nothing has happened: on to the first window in which something will.
    fn skip_idle_time(&mut self) {
        let next_event = self.calendar.next_at();
        let Some(windows) = &mut self.windows else { return };
        let stages = windows.stages.iter().filter_map(|stage| stage.next_window(&self.links));
        let next = stages.chain(next_event).min().unwrap_or(Instant::MAX);
        if next > windows.hosts_until {
            windows.hosts_until = next;
            for stage in &mut windows.stages {
                stage.served_until = stage.served_until.max(next + stage.offset);
            }
        }
    }

    /// Gives windows up if a trial of them shows that they do not pay.
    fn try_windows(&mut self, served: u64) {
        let Some(windows) = &mut self.windows else { return };
        windows.trial = (windows.trial.0 + 1, windows.trial.1 + served);
        let worthwhile = u64::from(TRIAL) * WORTHWHILE * windows.stages.len() as u64;
        if windows.may_end && windows.trial.0 == TRIAL && windows.trial.1 < worthwhile {
            self.leave_windows();
        }
    }

    /// Windows do not pay: all that waits goes to the calendar.
    #[cold]
    fn leave_windows(&mut self) {
        let Some(windows) = self.windows.take() else { return };
        self.unstage(|stage| windows.stages[stage as usize].link);
        for stage in windows.stages {
            for event in stage.arrivals {
                self.calendar.push(event.at_place(stage.link));
            }
            if let Some(at) = self.links[stage.link as usize].fitted.as_ref().and_then(|link| link.wakeup_at)
            {
                self.calendar.push(Event::of_flow(at, stage.link, Kind::LinkWakeup, 0));
            }
        }
    }
}

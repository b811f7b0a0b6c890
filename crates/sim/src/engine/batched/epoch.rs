//! The batched engine: links run over an epoch of time each, as batches, instead of by one event a packet and hop.
//!
//! *Idea.* What a host sends now reaches no host before the propagation delays between them have passed. So time advances by
//! epochs. Links that must see their packets in the order of time are *ordered* (`plan/ordered_links.rs`); all others are passed at
//! once, as in the reference engine. An epoch ([`Engine::run_epochs`]):
//! 1. `next_hosts_until`: the earliest time at which anything not yet served could reach a host.
//! 2. `run_hosts`: what happens at hosts before it, by the calendar, and timers that are no events (`batched/deadline_index.rs`). What
//!    hosts send waits in `staged`, by ordered link.
//! 3. `serve_links`: each ordered link, after those that feed it, sorts what waits for it (`batched/merge_buffer.rs`) and serves that up
//!    to `hosts_until` + its `offset`, the least time in which a packet gets there from any host: whatever can arrive by
//!    then is there. What leaves it waits for the next ordered link, or for hosts.
//! 4. `deliver`: hosts take what has come, flow by flow (`batched/delivery.rs`), at once: it arrives at `hosts_until` or later, so
//!    no answer reaches an ordered link within this epoch.
//!
//! If nothing happens in an epoch, `skip_idle_time` (`batched/idle_skip.rs`) goes on to the first in which something will. Links, flows and the way of
//! a packet are the reference engine's own code; what differs is only how time advances, and results are the same bytes.
//!
//! *Fast paths*, to the same result: `fastpath/fan_in_merge.rs` (an ordered link together with those before it), `fastpath/isolated_packets.rs` (packets that meet
//! no other), `fastpath/bulk_tcp.rs` (a packet through its host), `batched/shared_hosts.rs` (hosts of several flows).
//!
//! On the papers' network that makes epochs of about 115 ms, and of a round trip, 230 ms, where nothing ties flows together
//! (`fastpath/round_trip_epoch.rs`): hundreds of packets for each link at a time, which cost a pass over a list instead of a trip through
//! the calendar, with the code and the data of one link in the caches.
//!
//! *Simultaneous arrivals* at a link are served in the total order of `packet.rs`: what other links send, by precedence, flow and hop;
//! then what hosts send at that instant, in the order in which they send it.
//!
//! *Rings.* Links that feed each other in a ring, and those downstream of it, go only as far as those that feed them have come, and
//! the way between is long (`stage.rs`). They may be later than hosts; before epochs end, they catch up.
//!
//! *Traces.* What links have to say of each packet is noted as for a probe, and nothing takes a fast path on which nobody
//! looks; the trace puts the rows of all in order up to the time that is over everywhere ([`crate::observe::trace`]).
//!
//! *Where it breaks.* A ring in which no time passes has no epochs: such networks are left to the reference engine.
//! Epochs that hold too few packets do not pay (`batched/fallback.rs`): the engine then goes on as the reference engine, from where
//! it stands.
//!
//! *References.* The lookahead of K. Chandy and J. Misra, "Distributed simulation" (IEEE TSE 1979).

use crate::control::Control;
use crate::engine::Engine;
use crate::engine::batched::delivery::PathSuffix;
use crate::engine::batched::fallback::Fallback;
use crate::engine::batched::merge_buffer::{AtLink, MergeBuffer};
use crate::engine::fastpath::cache_blocking::Blocks;
use crate::engine::fastpath::fan_in_merge::{FanIn, Served};
use crate::engine::fastpath::isolated_packets::IsolatedPackets;
use crate::engine::fastpath::round_trip_epoch::{Leg, minimum_path_delay};
use crate::engine::plan::ordered_links::OrderedLink;
use crate::engine::queue_sampler::look;
use crate::kernel::packet::{Event, Kind};
use crate::model::link::Fitted;
use crate::model::link::window::{Note, Notes, Service};
use crate::observe::output::RunError;
use paceline_core::{Instant, Span};

/// The links that run in epochs, and how far time has come.
#[derive(Debug)]
pub(crate) struct Epochs {
    /// In an order in which each comes after those that feed it, but for the ways that lead back in a ring.
    pub(crate) stages: Vec<OrderedLink>,
    /// About how long epochs are, nanoseconds.
    pub(crate) length: u64,
    /// Hosts have run up to here.
    pub(crate) hosts_until: Instant,
    /// The least time in which data reach a receiver, where epochs can be as long as round trips (`fastpath/round_trip_epoch.rs`).
    pub(crate) way_there: Option<Span>,
    /// They are, now.
    pub(crate) are_round_trips: bool,
    pub(crate) workspace: Workspace,
    pub(crate) fan_in: FanIn,
    pub(crate) isolated: IsolatedPackets,
    /// By ordered link: what it has sent to the next, where that is served after it.
    pub(crate) sent: Vec<Vec<Event>>,
    pub(crate) fallback: Fallback,
}

/// Room for serving a link.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    sorter: MergeBuffer,
    /// What leaves it, if it may go anywhere.
    pub(crate) room: Vec<Event>,
    /// What comes in its epoch, and what comes later.
    due: Vec<Event>,
    later: Vec<Event>,
    pub(crate) notes: Notes,
}

/// Where all goes that leaves an ordered link.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Destination {
    /// Into [`Epochs::sent`]: to the next ordered link, or back to their places (`fastpath/isolated_packets.rs`).
    OrderedLink,
    /// To hosts, by suffixes.
    Delivery,
    /// To several places: each packet by itself.
    Anywhere,
}

impl Destination {
    fn of(stage: &OrderedLink) -> Self {
        match (stage.next, &stage.ends) {
            (Some(_), _) => Destination::OrderedLink,
            (None, Some(_)) => Destination::Delivery,
            (None, None) => Destination::Anywhere,
        }
    }
}

impl Epochs {
    /// Epochs over these ordered links; whether they were asked for by name.
    pub(crate) fn new(stages: Vec<OrderedLink>, by_name: bool) -> Self {
        let (workspace, sent, hosts_until) =
            (Workspace::default(), vec![Vec::new(); stages.len()], Instant::ZERO);
        let length = minimum_path_delay(&stages, Leg::All).map_or(0, Span::as_nanos);
        let fallback = Fallback::new(length, stages.len(), by_name);
        Epochs {
            stages,
            length,
            hosts_until,
            way_there: None,
            are_round_trips: false,
            workspace,
            fan_in: FanIn::default(),
            isolated: IsolatedPackets::default(),
            sent,
            fallback,
        }
    }

    /// Nothing will reach a link before this time from those that feed it and may be late.
    fn fed_until(&self, stage: usize) -> Instant {
        let feeders = self.stages[stage].feeders.iter();
        let until = feeders.map(|&(feeder, way)| self.stages[feeder as usize].served_until + way);
        until.min().unwrap_or(Instant::MAX)
    }

    /// How far hosts have run, if some link has not come as far.
    fn late_until(&self) -> Option<Instant> {
        let is_late = |stage: &OrderedLink| stage.served_until < self.hosts_until;
        self.stages.iter().any(is_late).then_some(self.hosts_until)
    }

    /// Nothing happens before this time any more, at any host or link.
    fn over_until(&self) -> Instant {
        self.stages.iter().map(|stage| stage.served_until).fold(self.hosts_until, Instant::min)
    }
}

impl Engine<'_> {
    /// Handles every event before `until`, epoch by epoch.
    pub(crate) fn run_epochs(&mut self, until: Instant, control: &Control) -> Result<(), RunError> {
        self.epochs.iter_mut().for_each(|epochs| epochs.are_round_trips = false);
        while let Some(epochs) = &mut self.epochs {
            self.until = epochs.fallback.limit(until);
            if epochs.hosts_until >= self.until {
                self.catch_up_with_hosts();
                if self.until == until {
                    return self.come_to(until);
                }
                self.end_fallback_trial();
                continue;
            }
            let over = epochs.over_until();
            self.report(over, control)?;
            let hosts_until = self.next_hosts_until();
            if let Some(epochs) = &mut self.epochs {
                epochs.hosts_until = hosts_until;
                epochs.try_round_trips(self.flows.all().iter());
                self.shared.begin_epoch((hosts_until, epochs.length), self.until);
            }
            let is_idle = self.run_hosts(hosts_until);
            self.instruments.sample_before(hosts_until, self.flows.all());
            let served = self.serve_links(hosts_until);
            if is_idle && served == 0 {
                self.skip_idle_time();
            }
        }
        self.run_events(until, control)
    }

    /// Where the hosts' next epoch ends.
    fn next_hosts_until(&self) -> Instant {
        let next = self.epochs.as_ref().map(Epochs::next_hosts_until);
        next.map_or(self.until, |next| next.min(self.until))
    }

    /// Handles what happens at hosts before this time: whether nothing does.
    pub(crate) fn run_hosts(&mut self, hosts_until: Instant) -> bool {
        let mut is_idle = true;
        while let Some(event) = self.calendar.pop_before(hosts_until) {
            is_idle = false;
            if event.at > self.instruments.next_sample {
                self.instruments.sample_before(event.at, self.flows.all());
            }
            self.now = event.at;
            self.handle(event);
        }
        // After what waited in the calendar: an acknowledgement there comes before the timers after it.
        self.run_due_timers(hosts_until) && is_idle
    }

    /// Serves every link up to the end of its epoch, and lets hosts take what that brings: how many packets.
    pub(crate) fn serve_links(&mut self, hosts_until: Instant) -> u64 {
        let Some(epochs) = &self.epochs else { return 0 };
        let (legs, mut served) = (epochs.legs(hosts_until), 0);
        for (leg, hosts_until) in legs {
            if leg == Leg::Back {
                self.deliver(&[]);
            }
            for position in 0..self.staged.len() {
                let Some(epochs) = self.epochs.as_mut().filter(|all| leg.has(&all.stages[position])) else {
                    continue;
                };
                let stage = (position, epochs.how_served(position));
                let end = hosts_until + epochs.stages[position].offset;
                let length = Span::from_nanos(epochs.length);
                let onward = Destination::of(&epochs.stages[position]);
                self.keep_backlog(position, (end, length));
                let isolated = self.run_isolated(stage, hosts_until);
                served += isolated.unwrap_or_else(|| self.serve_ordered_link(stage, hosts_until, onward));
            }
        }
        self.deliver(&[]);
        self.epochs.iter_mut().for_each(|epochs| epochs.fallback.count(served));
        served
    }

    /// In a ring and downstream of it, links may be later than hosts: serves them until none is.
    fn catch_up_with_hosts(&mut self) {
        while let Some(hosts_until) = self.epochs.as_ref().and_then(Epochs::late_until) {
            self.serve_links(hosts_until);
        }
    }

    /// Serves a link, and those that are served with it, up to the end of its epoch; what leaves goes there: how many packets.
    pub(crate) fn serve_ordered_link(
        &mut self,
        (position, how): (usize, Served),
        hosts_until: Instant,
        onward: Destination,
    ) -> u64 {
        match how {
            Served::WithNext => 0,
            Served::WithSources => self.run_fan_in(position, hosts_until, onward),
            Served::Alone => self.serve_alone(position, hosts_until, onward),
        }
    }

    /// The same of a link alone.
    fn serve_alone(&mut self, position: usize, hosts_until: Instant, onward: Destination) -> u64 {
        let Some(epochs) = &mut self.epochs else { return 0 };
        let times = (hosts_until, self.until.min(epochs.fed_until(position)));
        let (mut workspace, mut sent) =
            (std::mem::take(&mut epochs.workspace), std::mem::take(&mut epochs.sent));
        let stage = &mut epochs.stages[position];
        let (window, in_order, next) = (stage.advance(times), !stage.is_mixed, stage.next);
        let service = (stage.link, stage.service, onward);
        let sources = std::mem::take(&mut stage.sources);
        let mut arrivals = std::mem::take(&mut self.staged[position]);
        let mut out = std::mem::take(&mut sent[position]);
        let lists = sources.iter().map(|source| &sent[*source as usize][..]);
        let Workspace { sorter, room, due, later, notes } = &mut workspace;
        due.clear();
        std::mem::swap(due, &mut arrivals);
        let mut blocks = Blocks::of(due, lists, window, in_order);
        let mut served = 0;
        let order = AtLink { link: service.0, precedence: self.precedence };
        while let Some(end) = blocks.sort(sorter, order) {
            served += self.serve(service, (room, notes), (sorter.due(), end), &mut out);
        }
        blocks.keep(sorter, later);
        arrivals.append(later);
        sources.iter().for_each(|source| sent[*source as usize].clear());
        arrivals.append(&mut self.staged[position]);
        self.staged[position] = arrivals;
        self.hand_back(next, position, &mut out);
        sent[position] = out;
        if let Some(epochs) = &mut self.epochs {
            epochs.stages[position].sources = sources;
            (epochs.workspace, epochs.sent) = (workspace, sent);
        }
        served
    }

    /// What leaves an ordered link for the next waits with what reaches that, if that has been served before it.
    pub(crate) fn hand_back(&mut self, next: Option<u32>, position: usize, out: &mut Vec<Event>) {
        if let Some(next) = next.filter(|next| *next as usize <= position) {
            self.staged[next as usize].append(out);
        }
    }

    /// A link serves the packets that are lined up, none of which comes after this time: how many.
    pub(crate) fn serve(
        &mut self,
        (link, service, onward): (u32, Service, Destination),
        (room, notes): (&mut Vec<Event>, &mut Notes),
        (line, end): (&[Event], Instant),
        sent: &mut Vec<Event>,
    ) -> u64 {
        let out = match onward {
            Destination::OrderedLink => sent,
            Destination::Delivery => &mut self.delivery.arrivals,
            Destination::Anywhere => &mut *room,
        };
        let before = out.len();
        let (samples, series) = (&mut self.samples, &mut self.series);
        let look = |at_work: &mut Fitted, time| look(samples, link, at_work, time, series);
        self.links[link as usize].serve(service, line, end, out, notes, look);
        match &mut self.exchange {
            Some(exchange) => exchange.note(link, notes),
            None => self.say(link, notes),
        }
        match onward {
            Destination::OrderedLink => {}
            Destination::Delivery => {
                self.pass_downstream(before, link);
                if let Some(exchange) = &mut self.exchange {
                    exchange.deal(&mut self.delivery.arrivals); // hosts are elsewhere
                }
            }
            Destination::Anywhere => room.drain(..).for_each(|event| self.go_on(event)),
        }
        line.len() as u64
    }

    /// Says what was noted of packets at a link.
    pub(crate) fn say(&mut self, link: u32, notes: &mut Notes) {
        for (event, note) in notes.drain(..) {
            self.now = event.at;
            let tail = event.place;
            let event = event.at_place(link);
            match note {
                Note::Refused => {
                    self.see_arrival(&event);
                    self.lose(event, tail);
                }
                Note::Dropped => self.lose(event, tail),
                Note::Arrives => self.enter(&event),
                Note::Passes(passage) => self.record(event, passage, true),
                Note::Leaves(passage) => self.record(event, passage, false),
            }
        }
    }

    /// A link has dropped a packet, whose event is at that link; its flow is told it before it takes what the delivery has, if it has any.
    fn lose(&mut self, event: Event, tail: u32) {
        self.see_drop(&event);
        if tail == PathSuffix::LONG.shared {
            self.flows[event.flow as usize].on_drop(&event.packet());
        } else {
            self.losses.push(event);
        }
    }

    /// Gives epochs up if they do not pay.
    fn end_fallback_trial(&mut self) {
        if self.epochs.as_ref().is_some_and(|epochs| !epochs.fallback.is_passed()) {
            self.leave_epochs();
        }
    }

    /// Epochs do not pay: all that waits goes to the calendar.
    #[cold]
    pub(crate) fn leave_epochs(&mut self) {
        self.catch_up_with_hosts();
        self.clear_backlogs();
        let Some(epochs) = self.epochs.take() else { return };
        self.now = epochs.hosts_until;
        self.set_free(false);
        self.unmark_ordered_links(&epochs.stages);
        for (stage, arrivals) in epochs.stages.iter().zip(std::mem::take(&mut self.staged)) {
            for event in arrivals {
                self.calendar.push(event.at_place(stage.link));
            }
            if let Some(at) = self.links[stage.link as usize].fitted().and_then(|link| link.wakeup_at) {
                self.calendar.push(Event::of_flow(at, stage.link, Kind::LinkWakeup, 0));
            }
        }
    }
}

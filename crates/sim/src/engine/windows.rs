//! The windowed engine: links run over a window of time each, as batches, instead of by one event a packet and hop.
//!
//! *Idea.* What a host sends now reaches no host before the propagation delays between them have passed. So time advances by
//! windows. Links that must see their packets in the order of time are *stages* ([`super::stage`]); all others are passed at
//! once, as in the reference engine. A window ([`Engine::run_windows`]):
//! 1. `next_hosts_until`: the earliest time at which anything not yet served could reach a host.
//! 2. `run_hosts`: what happens at hosts before it, by the calendar, and timers that are no events ([`super::agenda`]). What
//!    hosts send waits in `staged`, by stage.
//! 3. `run_stages`: each stage, after those that feed it, puts in order what waits for it ([`super::line`]) and serves that up
//!    to `hosts_until` + its `offset`, the least time in which a packet gets there from any host: whatever can arrive by
//!    then is there. What leaves it waits for the next stage, or for hosts.
//! 4. `open_inbox`: hosts take what has come, flow by flow ([`super::inbox`]), at once: it arrives at `hosts_until` or later, so
//!    no answer reaches a stage within this window.
//!
//! If nothing happens in a window, `skip_idle_time` ([`super::idle`]) goes on to the first in which something will. Links, flows and the way of
//! a packet are the reference engine's own code; what differs is only how time advances, and results are the same bytes.
//!
//! *Short cuts*, to the same result: [`super::fan`] (a stage together with those before it), [`super::lone`] (packets that meet
//! no other), [`super::plain`] (a packet through its host), [`super::shared`] (hosts of several flows).
//!
//! On the papers' network that makes windows of about 115 ms, and of a round trip, 230 ms, where nothing ties flows together
//! ([`super::turn`]): hundreds of packets for each link at a time, which cost a pass over a list instead of a trip through
//! the calendar, with the code and the data of one link in the caches.
//!
//! *Simultaneous arrivals* at a link are served in the total order of `packet.rs`: what other links send, by precedence, flow and hop;
//! then what hosts send at that instant, in the order in which they send it.
//!
//! *Rings.* Links that feed each other in a ring, and those behind it, go only as far as those that feed them have come, and
//! the way between is long (`stage.rs`). They may be later than hosts; before windows end, they catch up.
//!
//! *Traces.* What links have to say of each packet is noted as for a probe, and nothing takes a short way on which nobody
//! looks; the trace puts the rows of all in order up to the time that is over everywhere ([`crate::observe::trace`]).
//!
//! *Where it breaks.* A ring in which no time passes has no windows: such networks are left to the reference engine.
//! Windows that hold too few packets do not pay ([`super::trial`]): the engine then goes on as the reference engine, from where
//! it stands.
//!
//! *References.* The lookahead of K. Chandy and J. Misra, "Distributed simulation" (IEEE TSE 1979).

use super::Engine;
use super::fan::{Fan, Served};
use super::inbox::Tail;
use super::line::{AtLink, Sorter};
use super::lone::Lone;
use super::pieces::Pieces;
use super::samples::look;
use super::stage::Stage;
use super::trial::Trial;
use super::turn::{Leg, least_way};
use crate::control::Control;
use crate::kernel::packet::{Event, Kind};
use crate::model::link::Fitted;
use crate::model::link::window::{Note, Notes, Service};
use crate::observe::output::RunError;
use paceline_core::{Instant, Span};

/// The links that run in windows, and how far time has come.
#[derive(Debug)]
pub(super) struct Windows {
    /// In an order in which each comes after those that feed it, but for the ways that lead back in a ring.
    pub(super) stages: Vec<Stage>,
    /// About how long windows are, nanoseconds.
    pub(super) length: u64,
    /// Hosts have run up to here.
    pub(super) hosts_until: Instant,
    /// The least time in which data reach a receiver, where windows can be as long as round trips ([`super::turn`]).
    pub(super) way_there: Option<Span>,
    /// They are, now.
    pub(super) are_round_trips: bool,
    pub(super) desk: Desk,
    pub(super) fan: Fan,
    pub(super) lone: Lone,
    /// By stage: what it has sent to the next, where that is served after it.
    pub(super) sent: Vec<Vec<Event>>,
    pub(super) trial: Trial,
}

/// Room for serving a link.
#[derive(Debug, Default)]
pub(super) struct Desk {
    sorter: Sorter,
    /// What leaves it, if it may go anywhere.
    pub(super) room: Vec<Event>,
    /// What comes in its window, and what comes later.
    due: Vec<Event>,
    later: Vec<Event>,
    pub(super) notes: Notes,
}

/// Where all goes that leaves a stage.
#[derive(Debug, Clone, Copy)]
pub(super) enum Onward {
    /// Into [`Windows::sent`]: to the next stage, or back to their places ([`super::lone`]).
    Stage,
    /// To hosts, by tails.
    Inbox,
    /// To several places: each packet by itself.
    Anywhere,
}

impl Onward {
    fn of(stage: &Stage) -> Self {
        match (stage.next, &stage.ends) {
            (Some(_), _) => Onward::Stage,
            (None, Some(_)) => Onward::Inbox,
            (None, None) => Onward::Anywhere,
        }
    }
}

impl Windows {
    /// Windows over these stages; whether they were asked for by name.
    pub(super) fn new(stages: Vec<Stage>, by_name: bool) -> Self {
        let (desk, sent, hosts_until) = (Desk::default(), vec![Vec::new(); stages.len()], Instant::ZERO);
        let length = least_way(&stages, Leg::All).map_or(0, Span::as_nanos);
        let trial = Trial::new(length, stages.len(), by_name);
        Windows {
            stages,
            length,
            hosts_until,
            way_there: None,
            are_round_trips: false,
            desk,
            fan: Fan::default(),
            lone: Lone::default(),
            sent,
            trial,
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
        let is_late = |stage: &Stage| stage.served_until < self.hosts_until;
        self.stages.iter().any(is_late).then_some(self.hosts_until)
    }

    /// Nothing happens before this time any more, at any host or link.
    fn over_until(&self) -> Instant {
        self.stages.iter().map(|stage| stage.served_until).fold(self.hosts_until, Instant::min)
    }
}

impl Engine<'_> {
    /// Handles every event before `until`, window by window.
    pub(super) fn run_windows(&mut self, until: Instant, control: &Control) -> Result<(), RunError> {
        self.windows.iter_mut().for_each(|windows| windows.are_round_trips = false);
        while let Some(windows) = &mut self.windows {
            self.until = windows.trial.limit(until);
            if windows.hosts_until >= self.until {
                self.catch_up_with_hosts();
                if self.until == until {
                    return self.come_to(until);
                }
                self.end_trial();
                continue;
            }
            let over = windows.over_until();
            self.report(over, control)?;
            let hosts_until = self.next_hosts_until();
            if let Some(windows) = &mut self.windows {
                windows.hosts_until = hosts_until;
                windows.try_to_turn(self.flows.all().iter());
                self.shared.begin_window((hosts_until, windows.length), self.until);
            }
            let is_idle = self.run_hosts(hosts_until);
            self.instruments.sample_before(hosts_until, self.flows.all());
            let served = self.run_stages(hosts_until);
            if is_idle && served == 0 {
                self.skip_idle_time();
            }
        }
        self.run_events(until, control)
    }

    /// Where the hosts' next window ends.
    fn next_hosts_until(&self) -> Instant {
        let next = self.windows.as_ref().map(Windows::next_hosts_until);
        next.map_or(self.until, |next| next.min(self.until))
    }

    /// Handles what happens at hosts before this time: whether nothing does.
    pub(super) fn run_hosts(&mut self, hosts_until: Instant) -> bool {
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
        self.keep_agenda(hosts_until) && is_idle
    }

    /// Serves every link up to the end of its window, and lets hosts take what that brings: how many packets.
    pub(super) fn run_stages(&mut self, hosts_until: Instant) -> u64 {
        let Some(windows) = &self.windows else { return 0 };
        let (legs, mut served) = (windows.legs(hosts_until), 0);
        for (leg, hosts_until) in legs {
            if leg == Leg::Back {
                self.open_inbox(&[]);
            }
            for position in 0..self.staged.len() {
                let Some(windows) = self.windows.as_mut().filter(|all| leg.has(&all.stages[position])) else {
                    continue;
                };
                let stage = (position, windows.how_served(position));
                let end = hosts_until + windows.stages[position].offset;
                let length = Span::from_nanos(windows.length);
                let onward = Onward::of(&windows.stages[position]);
                self.keep_shelf(position, (end, length));
                let lone = self.run_lone(stage, hosts_until);
                served += lone.unwrap_or_else(|| self.serve_stage(stage, hosts_until, onward));
            }
        }
        self.open_inbox(&[]);
        self.windows.iter_mut().for_each(|windows| windows.trial.count(served));
        served
    }

    /// In a ring and behind it, links may be later than hosts: serves them until none is.
    fn catch_up_with_hosts(&mut self) {
        while let Some(hosts_until) = self.windows.as_ref().and_then(Windows::late_until) {
            self.run_stages(hosts_until);
        }
    }

    /// Serves a link, and those that are served with it, up to the end of its window; what leaves goes there: how many packets.
    pub(super) fn serve_stage(
        &mut self,
        (position, how): (usize, Served),
        hosts_until: Instant,
        onward: Onward,
    ) -> u64 {
        match how {
            Served::WithNext => 0,
            Served::WithSources => self.run_fan(position, hosts_until, onward),
            Served::Alone => self.run_stage(position, hosts_until, onward),
        }
    }

    /// The same of a link alone.
    fn run_stage(&mut self, position: usize, hosts_until: Instant, onward: Onward) -> u64 {
        let Some(windows) = &mut self.windows else { return 0 };
        let times = (hosts_until, self.until.min(windows.fed_until(position)));
        let (mut desk, mut sent) = (std::mem::take(&mut windows.desk), std::mem::take(&mut windows.sent));
        let stage = &mut windows.stages[position];
        let (window, in_order, next) = (stage.advance(times), !stage.is_mixed, stage.next);
        let service = (stage.link, stage.service, onward);
        let sources = std::mem::take(&mut stage.sources);
        let mut arrivals = std::mem::take(&mut self.staged[position]);
        let mut out = std::mem::take(&mut sent[position]);
        let lists = sources.iter().map(|source| &sent[*source as usize][..]);
        let Desk { sorter, room, due, later, notes } = &mut desk;
        due.clear();
        std::mem::swap(due, &mut arrivals);
        let mut pieces = Pieces::of(due, lists, window, in_order);
        let mut served = 0;
        let order = AtLink { link: service.0, precedence: self.precedence };
        while let Some(end) = pieces.line_up(sorter, order) {
            served += self.serve(service, (room, notes), (sorter.due(), end), &mut out);
        }
        pieces.keep(sorter, later);
        arrivals.append(later);
        sources.iter().for_each(|source| sent[*source as usize].clear());
        arrivals.append(&mut self.staged[position]);
        self.staged[position] = arrivals;
        self.hand_back(next, position, &mut out);
        sent[position] = out;
        if let Some(windows) = &mut self.windows {
            windows.stages[position].sources = sources;
            (windows.desk, windows.sent) = (desk, sent);
        }
        served
    }

    /// What leaves a stage for the next waits with what reaches that, if that has been served before it.
    pub(super) fn hand_back(&mut self, next: Option<u32>, position: usize, out: &mut Vec<Event>) {
        if let Some(next) = next.filter(|next| *next as usize <= position) {
            self.staged[next as usize].append(out);
        }
    }

    /// A link serves the packets that are lined up, none of which comes after this time: how many.
    pub(super) fn serve(
        &mut self,
        (link, service, onward): (u32, Service, Onward),
        (room, notes): (&mut Vec<Event>, &mut Notes),
        (line, end): (&[Event], Instant),
        sent: &mut Vec<Event>,
    ) -> u64 {
        let out = match onward {
            Onward::Stage => sent,
            Onward::Inbox => &mut self.inbox.arrivals,
            Onward::Anywhere => &mut *room,
        };
        let before = out.len();
        let (samples, series) = (&mut self.samples, &mut self.series);
        let look = |at_work: &mut Fitted, time| look(samples, link, at_work, time, series);
        self.links[link as usize].serve(service, line, end, out, notes, look);
        match &mut self.post {
            Some(post) => post.note(link, notes),
            None => self.say(link, notes),
        }
        match onward {
            Onward::Stage => {}
            Onward::Inbox => {
                self.descend(before, link);
                if let Some(post) = &mut self.post {
                    post.deal(&mut self.inbox.arrivals); // hosts are elsewhere
                }
            }
            Onward::Anywhere => room.drain(..).for_each(|event| self.go_on(event)),
        }
        line.len() as u64
    }

    /// Says what was noted of packets at a link.
    pub(super) fn say(&mut self, link: u32, notes: &mut Notes) {
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

    /// A link has dropped a packet, whose event is at that link; its flow hears of it before it takes what the inbox has, if it has any.
    fn lose(&mut self, event: Event, tail: u32) {
        self.see_drop(&event);
        if tail == Tail::LONG.shared {
            self.flows[event.flow as usize].on_drop(&event.packet());
        } else {
            self.losses.push(event);
        }
    }

    /// Gives windows up if they do not pay.
    fn end_trial(&mut self) {
        if self.windows.as_ref().is_some_and(|windows| !windows.trial.is_passed()) {
            self.leave_windows();
        }
    }

    /// Windows do not pay: all that waits goes to the calendar.
    #[cold]
    pub(super) fn leave_windows(&mut self) {
        self.catch_up_with_hosts();
        self.clear_shelves();
        let Some(windows) = self.windows.take() else { return };
        self.now = windows.hosts_until;
        self.set_free(false);
        self.unstage(&windows.stages);
        for (stage, arrivals) in windows.stages.iter().zip(std::mem::take(&mut self.staged)) {
            for event in arrivals {
                self.calendar.push(event.at_place(stage.link));
            }
            if let Some(at) = self.links[stage.link as usize].fitted().and_then(|link| link.wakeup_at) {
                self.calendar.push(Event::of_flow(at, stage.link, Kind::LinkWakeup, 0));
            }
        }
    }
}

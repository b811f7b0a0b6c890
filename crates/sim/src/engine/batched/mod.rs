//! The batched engine: ordered links are served an epoch at a time, as batches, instead of by one event a packet and hop.
//!
//! *Idea.* What a host sends now reaches no host before the propagation delays between them have passed: the lookahead. So time advances
//! by epochs. Links that must see their packets in the order of time are *ordered* (`plan/ordered_links.rs`); all others are passed at once,
//! as under the reference engine. An epoch ([`Engine::run_epochs`]):
//! 1. `next_hosts_until`: the earliest time at which anything not yet served could reach a host.
//! 2. `run_hosts`: hosts run up to it, by the calendar and by the deadlines of their timers (`hosts/deadline_index.rs`). What they send
//!    waits in the mailbox, by ordered link.
//! 3. `serve_links`: each ordered link, after those that feed it, sorts what waits for it (`links/merge_buffer.rs`) and serves it up to
//!    `hosts_until` + its `offset`, the least delay from any host: whatever can arrive by then is there.
//! 4. `deliver`: hosts handle what has come (`hosts/delivery.rs`). It arrives at `hosts_until` or later, so no answer belongs to this epoch.
//!    In an epoch of very many packets they handle what fills a parcel in between, while it is in the caches.
//!
//! Flows, links and the slow path are the code of the reference engine; only the way time advances differs. On the papers' network an epoch
//! is about 115 ms, or a round trip of 230 ms: hundreds of packets a link, which cost a pass over a list instead of a trip through the
//! calendar.
//!
//! *Simultaneous arrivals* at a link are served in the total order: what other links send, by precedence, flow and hop; then what hosts send
//! at that instant, as they send it.
//! *Rings.* Links that feed each other in a ring, and those downstream of one, run only as far as their feeders have come, plus the delay between
//! (`plan/ordered_links.rs`). They may be later than hosts, and catch up before a run pauses.
//! *Where it breaks.* A ring in which no time passes has no epochs: the reference engine runs such networks. It takes over, too, where
//! epochs hold too few packets (`batched/fallback.rs`).
//! *References.* K. Chandy, J. Misra, "Distributed simulation" (IEEE TSE 1979).

mod fallback;
mod idle_skip;
mod round_trip_epoch;

use self::fallback::Fallback;
use self::round_trip_epoch::Leg;
use super::Engine;
use super::links::Epoch;
use super::plan::Plan;
use super::plan::ordered_links::OrderedLink;
use crate::control::Control;
use crate::observe::output::RunError;
use paceline_core::Instant;

/// How far time has come, epoch by epoch.
#[derive(Debug)]
pub(crate) struct Epochs {
    plan: Plan,
    /// Hosts have run up to here.
    pub(crate) hosts_until: Instant,
    /// Epochs are as long as round trips, now.
    pub(crate) are_round_trips: bool,
    pub(crate) fallback: Fallback,
}

impl Epochs {
    /// Of so many ordered links, the first event being then; whether they were asked for by name.
    pub(crate) fn new(plan: Plan, ordered_links: usize, first: Option<Instant>, by_name: bool) -> Self {
        let mut fallback = Fallback::new(plan.one_way.as_nanos(), ordered_links, by_name);
        first.into_iter().for_each(|first| fallback.begin(first));
        Epochs { plan, hosts_until: Instant::ZERO, are_round_trips: false, fallback }
    }

    /// How far hosts may run: nothing that a link has still to serve reaches one before that ends an epoch.
    pub(crate) fn next_hosts_until(&self, ordered: &[OrderedLink]) -> Instant {
        let last = if self.are_round_trips { Leg::Back } else { Leg::All };
        let back = |link: &OrderedLink| link.to_hosts.map(|way| link.served_until + way);
        ordered.iter().filter(|link| last.has(link)).filter_map(back).min().unwrap_or(Instant::MAX)
    }

    /// How far hosts have run, if some link has not come as far.
    fn late_until(&self, ordered: &[OrderedLink]) -> Option<Instant> {
        let is_late = |link: &OrderedLink| link.served_until < self.hosts_until;
        ordered.iter().any(is_late).then_some(self.hosts_until)
    }

    /// Nothing happens before this time any more, at any host or link.
    fn over_until(&self, ordered: &[OrderedLink]) -> Instant {
        ordered.iter().map(|link| link.served_until).fold(self.hosts_until, Instant::min)
    }
}

impl Engine<'_> {
    /// Handles every event before `until`, epoch by epoch.
    pub(crate) fn run_epochs(&mut self, until: Instant, control: &Control) -> Result<(), RunError> {
        self.epochs.iter_mut().for_each(|epochs| epochs.are_round_trips = false);
        while let Some(epochs) = &mut self.epochs {
            self.until = epochs.fallback.limit(until);
            self.hosts.run_until(self.until);
            if epochs.hosts_until >= self.until {
                self.catch_up_with_hosts();
                if self.until == until {
                    return self.come_to(until);
                }
                self.leave_epochs_that_do_not_pay();
                continue;
            }
            let over = epochs.over_until(self.links.ordered());
            let hosts_until = epochs.next_hosts_until(self.links.ordered()).min(self.until);
            epochs.hosts_until = hosts_until;
            epochs.try_round_trips(self.hosts.flows().iter());
            self.hosts.begin_epoch(hosts_until, self.plan.epoch.as_nanos());
            self.report(over, control)?;
            let is_idle = self.run_hosts(hosts_until);
            self.hosts.sample_before(hosts_until);
            let served = self.serve_links(hosts_until);
            if is_idle && served == 0 {
                self.skip_idle_time();
            }
        }
        self.run_events(until, control)
    }

    /// Handles what happens at hosts before this time: whether nothing does.
    fn run_hosts(&mut self, hosts_until: Instant) -> bool {
        let mut is_idle = true;
        while let Some(event) = self.hosts.mail.calendar.pop_before(hosts_until) {
            is_idle = false;
            if event.at > self.hosts.next_sample() {
                self.hosts.sample_before(event.at);
            }
            self.handle(event);
        }
        // After what waited in the calendar: an acknowledgement there comes before the timers after it.
        is_idle &= self.hosts.run_due_timers(hosts_until);
        self.settle(true);
        is_idle
    }

    /// Serves every link up to the end of its epoch, and delivers the results to hosts. Returns how many packets were served.
    fn serve_links(&mut self, hosts_until: Instant) -> u64 {
        let Some(epochs) = &self.epochs else { return 0 };
        let (legs, mut served) = (epochs.legs(hosts_until), 0);
        for (leg, hosts_until) in legs {
            let epoch = Epoch { hosts_until, until: self.until, length: self.plan.epoch };
            for position in 0..self.links.ordered().len() {
                if leg.has(&self.links.ordered()[position]) {
                    served += self.links.serve(position, epoch, &mut self.hosts);
                    let have_taken = self.hosts.receive_lists();
                    self.settle(!have_taken);
                }
            }
            self.hosts.deliver();
            self.settle(false);
        }
        self.epochs.iter_mut().for_each(|epochs| epochs.fallback.count(served));
        served
    }

    /// In a ring and downstream of it, links may be later than hosts: serves them until none is.
    fn catch_up_with_hosts(&mut self) {
        while let Some(hosts_until) =
            self.epochs.as_ref().and_then(|epochs| epochs.late_until(self.links.ordered()))
        {
            self.serve_links(hosts_until);
        }
    }

    /// Falls back to the reference engine if epochs do not pay.
    fn leave_epochs_that_do_not_pay(&mut self) {
        if self.epochs.as_ref().is_some_and(|epochs| !epochs.fallback.is_passed()) {
            self.leave_epochs();
        }
    }

    /// Epochs do not pay: all that waits goes to the calendar.
    #[cold]
    pub(crate) fn leave_epochs(&mut self) {
        self.catch_up_with_hosts();
        let Some(epochs) = self.epochs.take() else { return };
        self.now = epochs.hosts_until;
        self.hosts.leave_fast_paths(self.links.table_mut());
        self.links.leave_epochs(&mut self.hosts.mail);
    }
}

//! One run on several threads.
//!
//! *Idea.* Within a window, hosts of different flows share nothing, nor do links that do not feed each other. So flows are
//! shared out among [`Part`]s, engines without links but those that only one flow uses; and links among [`Group`]s, engines without flows.
//! A window is then two rounds: all parts run side by side; then all groups, and what one has served its parts take at once, while others
//! are still at work: each end of a flow gets its packets from one group alone. Links put what they get in the total
//! order, whoever sent it first; what is noted of packets is said in the order of the links; sums do not depend on the order. So the
//! results are the bytes of one thread.
//!
//! *Where it breaks.* What looks at flows at certain times, applications that answer each other, and host ports tie flows
//! together; a packet that may go on to several links asks for its route. Such networks stay on one thread. A window
//! that holds less than about a millisecond's work is not worth the meeting of threads. Links that feed each other are on one thread.

use super::group::Group;
use super::inbox::Inbox;
use super::part::Part;
use super::pool::Pool;
use super::windows::Windows;
use super::{Calendar, Engine};
use crate::control::Control;
use crate::model::flow::Flow;
use crate::observe::output::RunError;
use paceline_core::Instant;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Parts to a thread: one that is done early takes another.
const PARTS_A_THREAD: usize = 4;
/// log2 of the most flows in a part: what a part works on stays in the caches.
const LARGEST_PART: u32 = 13;

/// A network, shared out.
struct Team<'a> {
    parts: Vec<Mutex<Part<'a>>>,
    groups: Vec<Group<'a>>,
    /// By stage: its group, and its place there.
    places: Vec<(usize, usize)>,
    inboxes: Pool<Inbox>,
}

/// Why a team stops.
enum Outcome {
    /// The time has come.
    Over,
    /// Windows hold too few packets for one thread, or for several.
    TooFewForWindows,
    TooFewForThreads,
}

impl<'a> Engine<'a> {
    /// The whole run, on several threads as far as that pays.
    pub(super) fn run_on_threads(&mut self, control: &Control) -> Result<(), RunError> {
        let warmup = Instant::ZERO + self.network.warmup;
        let end = Instant::ZERO + self.network.duration;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        match pool {
            Ok(pool) => pool.install(|| self.run_shared_out(warmup, end, control))?,
            Err(_) => self.threads = 1,
        }
        if !self.counting {
            self.run_until(warmup, control)?;
            self.start_statistics();
        }
        self.run_until(end, control)
    }

    /// The same, as far as several threads pay.
    fn run_shared_out(&mut self, warmup: Instant, end: Instant, control: &Control) -> Result<(), RunError> {
        self.clear_shelves();
        let Some(mut windows) = self.windows.take() else { return Ok(()) };
        let mut team = self.share_out(&mut windows);
        let mut outcome = self.run_team(&mut team, &mut windows, warmup, control);
        if let Ok(Outcome::Over) = outcome {
            self.start_statistics_of(&mut team);
            outcome = self.run_team(&mut team, &mut windows, end, control);
        }
        self.take_back(team, &mut windows);
        self.windows = Some(windows);
        match outcome? {
            Outcome::Over => {}
            Outcome::TooFewForThreads => self.threads = 1,
            Outcome::TooFewForWindows => {
                self.threads = 1;
                self.leave_windows();
            }
        }
        Ok(())
    }

    fn start_statistics_of(&mut self, team: &mut Team<'a>) {
        self.counting = true;
        for part in team.all_parts() {
            part.engine.start_statistics();
            self.at_warmup.append(&mut part.engine.at_warmup);
        }
    }

    /// Whether flows can be shared out.
    pub(super) fn can_be_shared_out(&self) -> bool {
        self.shared.are_none()
            && self.flows_stand_alone()
            && self.flows.all().iter().all(Flow::owns_its_ways_out)
    }

    fn share_out(&mut self, windows: &mut Windows) -> Team<'a> {
        let in_a_part = self.flows.list.len().div_ceil(self.threads.saturating_mul(PARTS_A_THREAD)).max(1);
        let shift = in_a_part.ilog2().min(LARGEST_PART);
        let mut parts = Part::share(self, shift);
        while let Some(event) = self.calendar.pop_before(Instant::MAX) {
            parts[(event.flow >> shift) as usize].engine.calendar.push(event);
        }
        self.calendar = Calendar::new(self.precedence);
        let groups = Group::share(self, windows, parts.len(), shift);
        let places = Group::places(&groups);
        Team { parts: parts.into_iter().map(Mutex::new).collect(), groups, places, inboxes: Pool::default() }
    }

    fn take_back(&mut self, team: Team<'a>, windows: &mut Windows) {
        Group::give_back(team.groups, self, windows);
        // What hosts have sent since comes behind what waits there already.
        for part in team.parts {
            part.into_inner().unwrap_or_else(PoisonError::into_inner).give_back(self);
        }
        self.set_free(true);
    }

    /// Runs until this time, or until that turns out not to pay.
    fn run_team(
        &mut self,
        team: &mut Team<'a>,
        windows: &mut Windows,
        until: Instant,
        control: &Control,
    ) -> Result<Outcome, RunError> {
        windows.are_round_trips = false; // data and acknowledgements side by side
        loop {
            let (from, whole) = (windows.hosts_until, until);
            let until = windows.trial.limit(whole);
            if from >= until {
                return Ok(if until == whole { Outcome::Over } else { Outcome::TooFewForWindows });
            }
            self.until = until;
            control.report(from.as_nanos(), self.network.duration.as_nanos());
            if control.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            let next = team.groups.iter().map(Group::next_hosts_until).min();
            let hosts_until = next.unwrap_or(until).min(until).max(from);
            windows.hosts_until = hosts_until;
            team.run_hosts(hosts_until, until);
            team.run_links(hosts_until, until);
            let served = team.groups.iter().map(|group| group.served).sum();
            for (link, mut notes) in
                team.groups.iter_mut().filter_map(Group::post).flat_map(|post| post.notes.drain(..))
            {
                self.say(link, &mut notes);
            }
            self.losses.clear(); // flows know
            if served == 0 {
                team.skip_idle_time(windows, until);
            }
            windows.trial.count(served);
            if !windows.trial.occupies_threads((from, hosts_until)) {
                return Ok(Outcome::TooFewForThreads);
            }
        }
    }
}

impl<'a> Team<'a> {
    /// The parts, while no thread is at work on any.
    fn all_parts(&mut self) -> impl Iterator<Item = &mut Part<'a>> {
        self.parts.iter_mut().map(|part| part.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// All hosts run up to this time; what they send goes to the groups.
    fn run_hosts(&mut self, hosts_until: Instant, until: Instant) {
        self.parts.par_iter_mut().for_each(|part| {
            let part = part.get_mut().unwrap_or_else(PoisonError::into_inner);
            part.engine.until = until;
            part.run(hosts_until);
        });
        let Team { parts, groups, places, .. } = self;
        for (number, part) in parts.iter_mut().enumerate() {
            let staged = &mut part.get_mut().unwrap_or_else(PoisonError::into_inner).engine.staged;
            for (sent, &(group, place)) in
                staged.iter_mut().zip(&*places).filter(|(sent, _)| !sent.is_empty())
            {
                if let Some(post) = groups[group].post() {
                    post.take(place, number, sent);
                }
            }
        }
    }

    /// All links serve their windows, and hosts take what that brings.
    fn run_links(&mut self, hosts_until: Instant, until: Instant) {
        let Team { parts, groups, inboxes, .. } = self;
        groups.par_iter_mut().for_each(|group| {
            group.run(hosts_until, until);
            let Some(post) = group.post() else { return };
            let bags = post.bags.par_iter_mut().zip(&*parts);
            bags.for_each(|(bag, part)| {
                part.lock().unwrap_or_else(PoisonError::into_inner).take(bag, inboxes);
            });
        });
    }

    /// No link has served anything: if nothing has happened at hosts either, on to the first window in which something will.
    fn skip_idle_time(&mut self, windows: &mut Windows, until: Instant) {
        // A link that holds packets may have let some go though none came: hosts have answered them.
        let has_sent = |part: &Part| part.engine.staged.iter().any(|sent| !sent.is_empty());
        if self.all_parts().any(|part| !part.is_idle || has_sent(part)) {
            return;
        }
        let at_links: Vec<Instant> = self.groups.iter().filter_map(Group::next_window).collect();
        let at_hosts = self.all_parts().filter_map(|part| part.engine.next_at());
        let next = at_hosts.chain(at_links).fold(until, Instant::min);
        windows.skip_to(next, until);
        self.groups.iter_mut().for_each(|group| group.skip_to(next));
    }
}

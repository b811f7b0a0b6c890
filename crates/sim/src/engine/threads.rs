//! One run on several threads.
//!
//! *Idea.* Within a window, hosts of different flows share nothing, nor do links that do not feed each other. So flows are
//! shared out among [`Part`]s, each an engine without links of its own but those that only one flow uses; and each link
//! that runs in windows goes with the links behind it to a [`Unit`]. A window is then a few rounds: all parts side by side,
//! then the units level by level, those of one level side by side; what they have for each other changes hands between
//! rounds. Links put what they get in the total order, whoever sent it first; what is noted of packets is said in the order
//! of the links; sums do not depend on the order. So the results are the bytes of one thread.
//!
//! *Where it breaks.* What looks at flows at certain times, applications that answer each other, and host ports tie flows
//! together; a packet that may go on to several links asks for its route. Such networks stay on one thread. A window
//! that holds less than about a millisecond's work is not worth the meeting of threads.

use super::inbox::Inbox;
use super::part::Part;
use super::pool::Pool;
use super::unit::{Line, Unit};
use super::windows::Windows;
use super::{Calendar, Engine};
use crate::control::Control;
use crate::flow::Flow;
use crate::output::RunError;
use crate::packet::Event;
use paceline_core::Instant;
use rayon::prelude::*;
use std::ops::Range;

/// Parts to a thread: one that is done early takes another.
const PARTS_A_THREAD: usize = 4;
/// log2 of the most flows in a part: what a part works on stays in the caches.
const LARGEST_PART: u32 = 13;

/// A network, shared out.
struct Team<'a> {
    parts: Vec<Part<'a>>,
    /// log2 of the number of flows in a part.
    shift: u32,
    /// By level: none feeds another of its own level, or of one before.
    units: Vec<Unit>,
    levels: Vec<Range<usize>>,
    /// By stage: its unit.
    unit_of: Vec<usize>,
    /// By link: where among its unit's.
    place_in_unit: Vec<u32>,
    lines: Pool<[Line; 2]>,
    inboxes: Pool<Inbox>,
}

/// What changes hands between rounds. Emptied lists go back to where full ones come from: threads allocate nothing anew.
#[derive(Default)]
pub(super) struct Mail {
    full: Vec<Vec<Event>>,
    empty: Vec<Vec<Event>>,
}

impl Mail {
    /// Takes the packets of this list, and leaves an empty one there.
    fn exchange(&mut self, list: &mut Vec<Event>) {
        if !list.is_empty() {
            let empty = self.empty.pop().unwrap_or_default();
            self.full.push(std::mem::replace(list, empty));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.full.is_empty()
    }

    pub(super) fn lists(&self) -> impl Iterator<Item = &[Event]> {
        self.full.iter().map(Vec::as_slice)
    }

    /// Appends all of them to these, in the order in which their lists came.
    pub(super) fn empty_into(&mut self, packets: &mut Vec<Event>) {
        self.lists().for_each(|list| packets.extend_from_slice(list));
        self.clear();
    }

    /// Forgets them.
    pub(super) fn clear(&mut self) {
        self.full.iter_mut().for_each(Vec::clear);
        self.empty.append(&mut self.full);
    }
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
        for part in &mut team.parts {
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
        let in_a_part = self.flows.list.len().div_ceil(self.threads * PARTS_A_THREAD).max(1);
        let shift = in_a_part.ilog2().min(LARGEST_PART);
        let mut parts = Part::share(self, shift);
        while let Some(event) = self.calendar.pop_before(Instant::MAX) {
            parts[(event.flow >> shift) as usize].engine.calendar.push(event);
        }
        self.calendar = Calendar::new();
        let (mut units, place_in_unit) = Unit::all(self, windows, parts.len());
        let level_of = levels_of(&units);
        units.sort_by_key(|unit| level_of[unit.position]);
        let mut unit_of = vec![0; units.len()];
        units.iter().enumerate().for_each(|(place, unit)| unit_of[unit.position] = place);
        let deepest = level_of.iter().max().map_or(0, |deepest| deepest + 1);
        let before = |level| level_of.iter().filter(|of| **of < level).count();
        let levels = (0..deepest).map(|level| before(level)..before(level + 1)).collect();
        let (lines, inboxes) = (Pool::default(), Pool::default());
        Team { parts, shift, units, levels, unit_of, place_in_unit, lines, inboxes }
    }

    fn take_back(&mut self, mut team: Team<'a>, windows: &mut Windows) {
        for part in team.parts {
            part.give_back(self);
        }
        team.units.sort_by_key(|unit| unit.position);
        team.units.into_iter().for_each(|unit| unit.give_back(self, windows));
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
        let Team { parts, shift, units, levels, unit_of, place_in_unit, lines, inboxes } = team;
        windows.turns = false; // data and acknowledgements side by side
        loop {
            let (from, whole) = (windows.hosts_until, until);
            let until = windows.trial.limit(whole);
            self.until = until;
            parts.iter_mut().for_each(|part| part.engine.until = until);
            control.report(from.as_nanos(), self.network.duration.as_nanos());
            if control.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            let next = windows.next_hosts_until(units.iter().map(|unit| &unit.stage));
            let hosts_until = next.min(until).max(from);
            windows.hosts_until = hosts_until;
            parts.par_iter_mut().for_each(|part| part.run(hosts_until, inboxes));
            for part in parts.iter_mut() {
                for (stage, sent) in
                    part.engine.staged.iter_mut().enumerate().filter(|(_, sent)| !sent.is_empty())
                {
                    units[unit_of[stage]].from_hosts.exchange(sent);
                }
            }
            if from >= until {
                return Ok(if until == whole { Outcome::Over } else { Outcome::TooFewForWindows });
            }
            let mut served = 0;
            for level in levels.iter() {
                let level = &mut units[level.clone()];
                let times = (hosts_until, until);
                level.par_iter_mut().for_each(|unit| unit.run(times, place_in_unit, *shift, lines));
                let mut onward = Vec::new();
                for unit in level {
                    served += unit.desk.served;
                    self.say(unit.stage.link, &mut unit.desk.notes);
                    self.losses
                        .drain(..)
                        .for_each(|loss| parts[(loss.flow >> *shift) as usize].engine.losses.push(loss));
                    for behind in &mut unit.desk.behind {
                        let outs = behind.out.iter_mut().zip(parts.iter_mut());
                        outs.for_each(|(out, part)| part.incoming.exchange(out));
                    }
                    onward.extend(unit.stage.next.map(|next| (unit.position, next)));
                }
                for (from, next) in onward {
                    let mut list = std::mem::take(&mut units[unit_of[from]].desk.onward);
                    units[unit_of[next as usize]].from_links.exchange(&mut list);
                    units[unit_of[from]].desk.onward = list;
                }
            }
            if served == 0 && parts.iter().all(|part| part.is_idle) {
                let units_next = units.iter().filter_map(Unit::next_window);
                let next = parts.iter_mut().filter_map(|part| part.engine.next_at()).chain(units_next).min();
                let next = next.unwrap_or(Instant::MAX);
                if next > hosts_until {
                    windows.hosts_until = next;
                    units.iter_mut().for_each(|unit| unit.stage.skip_to(next));
                }
            }
            windows.trial.count(served);
            if !windows.trial.occupies_threads((from, hosts_until)) {
                parts.iter_mut().for_each(|part| part.run(hosts_until, inboxes));
                return Ok(Outcome::TooFewForThreads);
            }
        }
    }
}

/// By unit: how many others are before it on the way of a packet, at most.
fn levels_of(units: &[Unit]) -> Vec<usize> {
    let mut levels = vec![0; units.len()];
    for (position, unit) in units.iter().enumerate() {
        if let Some(next) = unit.stage.next {
            levels[next as usize] = levels[next as usize].max(levels[position] + 1);
        }
    }
    levels
}

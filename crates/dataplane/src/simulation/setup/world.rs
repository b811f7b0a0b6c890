//! The machine that pacers are set up on: two interfaces with what is attached to them, and what frames meet there. With every
//! call one comes to each.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::script::Script;
use crate::bpf::assembler::Instruction;
use crate::bpf::{Attached, ProgramKind};
use crate::bypass::Shared;
use crate::simulation::bpf::{Machine, NOTED, SOCKETS, STATE};
use crate::simulation::script::{Chance, hash};

/// What a pacer may be away for before all that comes passes: its patience, and what a round takes.
const OUTAGE_NS: u64 = 50_000_000;
/// The clock when a script begins.
const START: u64 = 1_000_000_000;
/// Calls that are shown where a law is broken.
const SHOWN: usize = 40;
/// XDP_REDIRECT
const TO_SOCKET: u64 = 4;
/// Whose a program is that is no pacer's.
const OTHER: usize = usize::MAX;

/// A BPF map.
pub(super) struct Map {
    pub(super) owner: usize,
    pub(super) name: String,
    pub(super) bytes: u32,
    pub(super) shared: Arc<Shared>,
    noted: u64,
}

/// A BPF program.
pub(super) struct Program {
    pub(super) owner: usize,
    pub(super) name: String,
    kind: ProgramKind,
    code: Vec<Instruction>,
    /// The state that it shares, and its other map.
    pub(super) maps: [usize; 2],
}

/// What a pacer changes and puts back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) promiscuous: bool,
    pub(super) gro: bool,
    pub(super) lro: bool,
    /// The program at the driver.
    pub(super) driver: Option<usize>,
}

/// An interface.
pub(super) struct Link {
    pub(super) settings: Settings,
    pub(super) before: Settings,
    /// Programs at its ingress, first to last.
    pub(super) ingress: Vec<usize>,
    pub(super) locked_by: Option<usize>,
    /// Traffic has come to depend on a gate: there must be one until a pacer has come to its good end.
    pub(super) needs_gate: bool,
    /// A call failed that should have put settings back, and it was said.
    pub(super) excused: bool,
    /// The youngest frame that has left by it.
    pub(super) last_out: u64,
}

/// What receives.
pub(super) struct Socket {
    pub(super) owner: usize,
    pub(super) link: usize,
    /// A filter, or for AF_XDP the map that it is in.
    pub(super) tap: Option<usize>,
    pub(super) map: Option<usize>,
}

/// A process.
#[derive(Debug, Clone, Default)]
pub(super) struct Life {
    pub(super) calls: u64,
    pub(super) wakes: u64,
    pub(super) is_over: bool,
    pub(super) is_killed: bool,
    pub(super) is_at_work: bool,
    pub(super) has_begun: bool,
    pub(super) is_refused: bool,
    /// It may take the gates away: it has been told to stop, or restores.
    pub(super) ends_well: bool,
    /// It has failed, is stopped or is dead since, and traffic passes by then.
    pub(super) away_since: Option<u64>,
    pub(super) passes_by: u64,
    /// Something has gone wrong in it.
    pub(super) is_disturbed: bool,
    /// Calls that have failed.
    pub(super) failures: u64,
    /// What it found before it changed anything.
    pub(super) found: Option<[(Settings, Vec<usize>); 2]>,
    /// Frames that it holds, by the interface that they came from.
    pub(super) held: [Vec<u64>; 2],
}

pub(super) struct World {
    pub(super) script: Script,
    pub(super) now: u64,
    pub(super) links: [Link; 2],
    pub(super) maps: Vec<Map>,
    pub(super) programs: Vec<Program>,
    pub(super) sockets: Vec<Socket>,
    pub(super) lives: Vec<Life>,
    /// Whose turn it is.
    pub(super) turn: usize,
    pub(super) steps: u64,
    /// When what a killed process had is cleared away: its locks, its sockets.
    clears: Vec<(u64, usize, bool)>,
    frame: u64,
    pub(super) passed: u64,
    pub(super) sent: u64,
    /// When which life made which of its calls.
    pub(super) trace: Vec<(u64, usize, u64, &'static str)>,
    pub(super) violation: Option<String>,
}

impl World {
    pub(super) fn new(script: &Script) -> World {
        let mut chance = Chance(hash(script.seed ^ 0x11f));
        let mut link = || {
            let settings = Settings {
                promiscuous: chance.one_in(4),
                gro: !chance.one_in(4),
                lro: chance.one_in(2),
                driver: None,
            };
            Link {
                settings,
                before: settings,
                ingress: Vec::new(),
                locked_by: None,
                needs_gate: false,
                excused: false,
                last_out: 0,
            }
        };
        let wakes = |at: Option<u64>| at.map_or(u64::MAX, |us| START + 1000 * us);
        World {
            script: script.clone(),
            now: START,
            links: [link(), link()],
            maps: Vec::new(),
            programs: Vec::new(),
            sockets: Vec::new(),
            lives: script
                .lives
                .iter()
                .map(|plan| Life { wakes: wakes(plan.start_us), ends_well: plan.restores, ..Life::default() })
                .collect(),
            turn: usize::MAX,
            steps: 0,
            clears: Vec::new(),
            frame: 0,
            passed: 0,
            sent: 0,
            trace: Vec::new(),
            violation: None,
        }
    }

    pub(super) fn violate(&mut self, what: String) {
        let us = |at: u64| (at - START) / 1000;
        let steps = self.trace.iter().skip(self.trace.len().saturating_sub(SHOWN));
        let steps =
            steps.map(|(at, life, call, name)| format!("\n{:>9} life {life}, call {call}: {name}", us(*at)));
        self.violation
            .get_or_insert_with(|| format!("{} us: {what}{}", us(self.now), steps.collect::<String>()));
    }

    pub(super) fn new_map(&mut self, owner: usize, name: &str, bytes: u32) -> usize {
        let (name, shared) = (name.to_owned(), Arc::new(Shared::alone()));
        self.maps.push(Map { owner, name, bytes, shared, noted: 0 });
        self.maps.len() - 1
    }

    /// A program's maps are found by the descriptors in its code, as the kernel does.
    pub(super) fn new_program(
        &mut self,
        owner: usize,
        kind: ProgramKind,
        name: &str,
        code: &[Instruction],
    ) -> usize {
        let (mut code, mut maps) = (code.to_vec(), [usize::MAX; 2]);
        let other = if kind == ProgramKind::Xdp { SOCKETS } else { NOTED };
        for instruction in code.iter_mut().filter(|instruction| instruction.code == 0x18) {
            let is_state = instruction.registers >> 4 == 2;
            maps[usize::from(!is_state)] = instruction.immediate as usize;
            instruction.immediate = if is_state { STATE } else { other } as i32;
        }
        self.programs.push(Program { owner, name: name.to_owned(), kind, code, maps });
        self.programs.len() - 1
    }

    /// A program as it is found attached.
    pub(super) fn attached(&self, program: usize) -> Attached<usize> {
        let Program { name, maps, .. } = &self.programs[program];
        Attached { name: name.clone(), program, maps: maps.map(|map| map as u32).to_vec() }
    }

    /// The process does not do anything from now on, and may not notice; or it has failed, and knows.
    pub(super) fn is_away(&mut self, life: usize, knows: bool) {
        let now = self.now;
        let away = &mut self.lives[life];
        away.away_since = Some(now);
        away.passes_by = if knows { now } else { now + OUTAGE_NS };
    }

    /// The process changes something.
    pub(super) fn changes(&mut self, life: usize) {
        let found = self.as_it_is();
        self.lives[life].found.get_or_insert(found);
    }

    /// Another program's XDP comes to the driver. It is none of a pacer's business.
    pub(super) fn other(&mut self, link: usize) {
        let other = Some(self.new_program(OTHER, ProgramKind::Xdp, "other", &[]));
        (self.links[link].settings.driver, self.links[link].before.driver) = (other, other);
        let now = self.as_it_is()[link].0.driver;
        for found in self.lives.iter_mut().filter_map(|life| life.found.as_mut()) {
            found[link].0.driver = now;
        }
    }

    /// Whether another program's XDP is there.
    pub(super) fn has_other(&self) -> bool {
        self.links.iter().any(|link| link.before.driver.is_some())
    }

    /// Which of several pacers' programs is at the driver does not matter: each that is left lets frames pass.
    pub(super) fn as_it_is(&self) -> [(Settings, Vec<usize>); 2] {
        self.links.each_ref().map(|link| {
            let driver = link.settings.driver.map(|of| if self.programs[of].owner == OTHER { of } else { 0 });
            (Settings { driver, ..link.settings }, link.ingress.clone())
        })
    }

    /// Nothing of the process runs any more. What it writes as its thread unwinds goes nowhere.
    pub(super) fn kill(&mut self, life: usize) {
        let mut chance = Chance(hash(self.now ^ life as u64));
        for map in self.maps.iter_mut().filter(|map| map.owner == life) {
            map.shared = Arc::new(copy(&map.shared));
        }
        let locks = self.now + chance.below(20_000_000);
        self.clears.push((locks, life, true));
        let dead = &mut self.lives[life];
        (dead.is_killed, dead.ends_well) = (true, false);
        self.leave(life);
    }

    /// The process is over.
    pub(super) fn leave(&mut self, life: usize) {
        let now = self.now;
        let left = &mut self.lives[life];
        (left.is_over, left.is_at_work) = (true, false);
        let late = Chance(hash(now ^ life as u64)).below(110_000_000); // packet sockets take long
        self.clears.push((now + late, life, false));
        left.away_since.get_or_insert_with(|| {
            left.passes_by = now + OUTAGE_NS;
            now
        });
        let programs = &self.programs;
        for link in &mut self.links {
            link.needs_gate |= link.ingress.iter().any(|gate| programs[*gate].owner == life);
        }
    }

    /// Time goes on, and a frame comes to each interface.
    pub(super) fn advance(&mut self, to: u64) {
        while self.now < to {
            self.now = to.min(self.now + 5_000_000);
            for (_, life, locks) in self.clears.extract_if(.., |(at, ..)| *at <= self.now).collect::<Vec<_>>()
            {
                match locks {
                    true => self.links.iter_mut().for_each(|link| {
                        link.locked_by = link.locked_by.filter(|holder| *holder != life);
                    }),
                    false => self.sockets.retain(|socket| socket.owner != life),
                }
            }
            (0..2).for_each(|link| self.arrive(link));
        }
    }

    fn run(&mut self, program: usize, has_socket: bool) -> (u64, Option<u64>) {
        let program = &self.programs[program];
        let shared = Arc::clone(&self.maps[program.maps[0]].shared);
        let noted = &mut self.maps[program.maps[1]].noted;
        let mut machine =
            Machine { context: [100, 0, 0, 0, 0], state: shared.state(), noted, now: self.now, has_socket };
        let said = machine.run(&program.code);
        (said.returned, said.redirected)
    }

    /// A frame comes to an interface.
    fn arrive(&mut self, link: usize) {
        self.frame += 1;
        let number = self.frame;
        let mut takers = Vec::new();
        let driver = self.links[link].settings.driver;
        if let Some(driver) = driver.filter(|driver| self.programs[*driver].owner != OTHER) {
            assert_eq!(self.programs[driver].kind, ProgramKind::Xdp);
            let map = Some(self.programs[driver].maps[1]);
            let owner = self.sockets.iter().find(|socket| socket.map == map).map(|socket| socket.owner);
            if self.run(driver, owner.is_some()).0 == TO_SOCKET {
                takers.extend(owner);
                return self.judge(link, number, &takers, None);
            }
        }
        let taps: Vec<_> = self.sockets.iter().filter(|socket| socket.link == link).collect();
        for (owner, tap) in taps.into_iter().map(|socket| (socket.owner, socket.tap)).collect::<Vec<_>>() {
            if let Some(tap) = tap
                && self.run(tap, false).0 != 0
            {
                takers.push(owner);
            }
        }
        let gate = self.links[link].ingress.first().copied();
        let passes = gate.map(|gate| (gate, self.run(gate, false).1));
        self.judge(link, number, &takers, passes);
    }
}

/// A page of its own, with the same in it.
fn copy(shared: &Shared) -> Shared {
    let (from, copy) = (shared.state(), Shared::alone());
    let to = copy.state();
    for (from, to) in [
        (&from.heartbeat_ns, &to.heartbeat_ns),
        (&from.patience_ns, &to.patience_ns),
        (&from.latch, &to.latch),
        (&from.closed, &to.closed),
        (&from.taken, &to.taken),
        (&from.bypassed, &to.bypassed),
        (&from.trips, &to.trips),
        (&from.settled, &to.settled),
        (&from.changed, &to.changed),
        (&from.process, &to.process),
        (&from.dropped, &to.dropped),
    ] {
        to.store(from.load(Relaxed), Relaxed);
    }
    copy
}

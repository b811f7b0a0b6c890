//! The calls of a process. In each the process may fall, time passes, the laws are checked, and another may have its turn: only the
//! one whose turn it is runs, so that a seed says all.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use paceline_core::Instant;

use super::script::{Script, What};
use super::world::{Socket, World};
use crate::bpf::assembler::Instruction;
use crate::bpf::{Attached, MapKind, ProgramKind};
use crate::bypass::Shared;
use crate::simulation::script::{Chance, hash};
use crate::sys::system::System;

/// More calls than a script has that comes to an end.
const MOST_STEPS: u64 = 50_000;
/// A life that is due waits for its turn no longer than this.
const OVERDUE_NS: u64 = 1_000_000;
/// `ETHTOOL_*`
const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const LRO: u32 = 1 << 15;

/// All processes' machine.
pub(super) struct Machine {
    world: Mutex<World>,
    turned: Condvar,
}

/// A process, as which calls are made.
#[derive(Clone)]
pub(super) struct Process {
    machine: Arc<Machine>,
    pub(super) life: usize,
}

/// Why a thread unwinds.
pub(super) struct Fallen;

/// A lock, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(Process, usize);

/// Sockets, until they are dropped.
pub(super) struct Sockets(pub(super) Process);

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {}", self.life)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut world = self.0.world();
        if !world.lives[self.0.life].is_killed {
            world.links[self.1].locked_by = None;
        }
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        let mut world = self.0.world();
        // the threads that have them go on for as long as one that panics tells of it
        if !world.lives[self.0.life].is_killed && !std::thread::panicking() {
            world.sockets.retain(|socket| socket.owner != self.0.life);
        }
    }
}

impl Machine {
    pub(super) fn new(script: &Script) -> Arc<Machine> {
        Arc::new(Machine { world: Mutex::new(World::new(script)), turned: Condvar::new() })
    }

    pub(super) fn process(self: &Arc<Machine>, life: usize) -> Process {
        Process { machine: Arc::clone(self), life }
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever wakes first has the next turn, after `life`, if any but that one is still there.
    pub(super) fn pass(&self, world: &mut World, life: usize) {
        let count = world.lives.len();
        let next = (1..=count).map(|step| (life + step) % count).filter(|other| !world.lives[*other].is_over);
        let (now, lives) = (world.now, &world.lives);
        world.turn = match next.min_by_key(|other| lives[*other].wakes.max(now)) {
            // the last: it begins a while after all others are over
            Some(next) if lives[next].wakes == u64::MAX => {
                world.lives[next].wakes = now + 200_000_000;
                next
            }
            Some(next) => next,
            None => usize::MAX,
        };
        if let Some(wakes) = world.lives.get(world.turn).map(|next| next.wakes) {
            world.advance(wakes);
        }
        self.turned.notify_all();
    }
}

impl Process {
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.machine.world()
    }

    /// Waits for its turn.
    pub(super) fn wait(&self) {
        let mut world = self.world();
        while world.turn != self.life {
            world = self.machine.turned.wait(world).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The process is over: another has its turn.
    pub(super) fn leave(&self) {
        let mut world = self.world();
        if !world.lives[self.life].is_over {
            world.leave(self.life);
        }
        self.machine.pass(&mut world, self.life);
    }

    /// Another has its turn, until `wakes`.
    fn sleep(&self, mut world: MutexGuard<'_, World>, wakes: u64) {
        world.lives[self.life].wakes = wakes;
        self.machine.pass(&mut world, self.life);
        drop(world);
        self.wait();
    }

    /// A call begins: what happens to the process meanwhile happens, and the call may fail.
    fn call(&self, name: &'static str) -> io::Result<MutexGuard<'_, World>> {
        let mut world = self.world();
        let life = self.life;
        world.steps += 1;
        world.lives[life].calls += 1;
        let number = world.lives[life].calls;
        if world.steps > MOST_STEPS {
            world.violate("it does not end".to_owned());
        }
        if std::thread::panicking() {
            return Ok(world);
        }
        if world.violation.is_some() {
            drop(world);
            resume_unwind(Box::new(Fallen));
        }
        let at = world.now;
        world.trace.push((at, life, number, name));
        let takes = 10_000 + Chance(hash(world.script.seed ^ number << 8 ^ life as u64)).below(100_000);
        let now = world.now;
        world.advance(now + takes);
        let events = world.script.events.iter().filter(|(of, call, _)| (*of, *call) == (life, number));
        let happens: Vec<What> = events.map(|(.., what)| *what).collect();
        let mut fails = None;
        for what in happens {
            world.lives[life].is_disturbed |= !matches!(what, What::Yield | What::Other(_));
            match what {
                What::KillAfter => {}
                What::Other(link) => world.other(link),
                What::Fail(error) => fails = Some(error),
                What::Kill => {
                    world.kill(life);
                    drop(world);
                    resume_unwind(Box::new(Fallen));
                }
                What::Panic => {
                    // at its end what comes is dropped as long as its heartbeat is fresh
                    let knows = !world.lives[life].ends_well;
                    world.lives[life].ends_well = false;
                    world.is_away(life, knows);
                    drop(world);
                    resume_unwind(Box::new(Fallen));
                }
                What::Stop(us) => {
                    let now = world.now;
                    let before = (world.lives[life].away_since, world.lives[life].passes_by);
                    world.is_away(life, false);
                    self.sleep(world, now + 1000 * us);
                    world = self.world();
                    (world.lives[life].away_since, world.lives[life].passes_by) = before;
                }
                What::Yield => {
                    let now = world.now;
                    self.sleep(world, now + 1);
                    world = self.world();
                }
            }
        }
        let now = world.now;
        let is_overdue = |other: &super::world::Life| !other.is_over && other.wakes < now - OVERDUE_NS;
        if world.lives.iter().enumerate().any(|(other, of)| other != life && is_overdue(of)) {
            self.sleep(world, now);
            world = self.world();
        }
        match fails {
            Some(error) => {
                world.lives[life].failures += 1;
                Err(io::Error::from_raw_os_error(error))
            }
            None => Ok(world),
        }
    }

    /// A call that changes an interface.
    fn change(&self, name: &'static str) -> io::Result<MutexGuard<'_, World>> {
        let mut world = self.call(name)?;
        world.changes(self.life);
        Ok(world)
    }

    /// It has changed it.
    fn changed(&self, mut world: MutexGuard<'_, World>) -> io::Result<()> {
        let at = (self.life, world.lives[self.life].calls, What::KillAfter);
        if world.script.events.contains(&at) && !std::thread::panicking() {
            world.kill(self.life);
            drop(world);
            resume_unwind(Box::new(Fallen));
        }
        Ok(())
    }

    /// A packet socket with that filter at an interface, or an AF_XDP one in that map.
    pub(super) fn open(&self, link: usize, tap: Option<usize>, map: Option<usize>) -> io::Result<()> {
        let owner = self.life;
        self.call("open")?.sockets.push(Socket { owner, link, tap, map });
        Ok(())
    }
}

fn error<T>(number: i32) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(number))
}

impl System for Process {
    type Control = ();
    type Lock = Lock;
    type Map = usize;
    type Program = usize;

    fn now(&self) -> Instant {
        Instant::from_nanos(self.world().now)
    }

    fn sleep_until(&self, at: Instant) {
        if let Ok(world) = self.call("sleep_until") {
            self.sleep(world, at.as_nanos());
        }
    }

    fn process(&self) -> u32 {
        1000 + self.life as u32
    }

    fn interface(&self, name: &str) -> Result<(u32, ()), String> {
        drop(self.call("interface").map_err(|error| error.to_string())?);
        Ok((if name == "in" { 1 } else { 2 }, ()))
    }

    fn mtu(&self, (): &(), _: u32) -> io::Result<u32> {
        self.call("mtu").map(|_| 1500)
    }

    fn hardware(&self, (): &(), _: u32) -> io::Result<u16> {
        self.call("hardware").map(|_| libc::ARPHRD_ETHER)
    }

    fn flags(&self, (): &(), interface: u32) -> io::Result<libc::c_short> {
        let promiscuous = self.call("flags")?.links[interface as usize - 1].settings.promiscuous;
        Ok((libc::IFF_UP | if promiscuous { libc::IFF_PROMISC } else { 0 }) as libc::c_short)
    }

    fn set_flags(&self, (): &(), interface: u32, flags: libc::c_short) -> io::Result<()> {
        let promiscuous = i32::from(flags) & libc::IFF_PROMISC != 0;
        let mut world = self.change("set_flags")?;
        world.links[interface as usize - 1].settings.promiscuous = promiscuous;
        self.changed(world)
    }

    fn ethtool(&self, (): &(), interface: u32, command: u32, data: u32) -> io::Result<u32> {
        let is_set = [SET_GRO, SET_FLAGS].contains(&command);
        let mut world = if is_set { self.change("ethtool")? } else { self.call("ethtool")? };
        let settings = &mut world.links[interface as usize - 1].settings;
        match command {
            GET_GRO => Ok(settings.gro.into()),
            GET_FLAGS => Ok(if settings.lro { LRO | 1 } else { 1 }),
            SET_GRO => {
                settings.gro = data != 0;
                self.changed(world).map(|()| 0)
            }
            SET_FLAGS => {
                settings.lro = data & LRO != 0;
                self.changed(world).map(|()| 0)
            }
            _ => error(libc::EOPNOTSUPP),
        }
    }

    fn lock(&self, interface: u32) -> io::Result<Option<Lock>> {
        let mut world = self.call("lock")?;
        let lock = &mut world.links[interface as usize - 1].locked_by;
        if lock.is_some() {
            return Ok(None);
        }
        *lock = Some(self.life);
        Ok(Some(Lock(self.clone(), interface as usize - 1)))
    }

    fn map(&self, _: MapKind, name: &str, value_bytes: u32, _: u32) -> io::Result<usize> {
        Ok(self.call("map")?.new_map(self.life, name, value_bytes))
    }

    fn map_by_id(&self, id: u32) -> io::Result<usize> {
        self.call("map_by_id").map(|_| id as usize)
    }

    fn describe(&self, map: &usize) -> io::Result<(String, u32)> {
        let world = self.call("describe")?;
        Ok((world.maps[*map].name.clone(), world.maps[*map].bytes))
    }

    fn number(&self, map: &usize) -> u32 {
        *map as u32
    }

    fn share(&self, map: &usize) -> io::Result<Arc<Shared>> {
        Ok(Arc::clone(&self.call("share")?.maps[*map].shared))
    }

    fn load(&self, kind: ProgramKind, name: &str, program: &[Instruction]) -> io::Result<usize> {
        Ok(self.call("load")?.new_program(self.life, kind, name, program))
    }

    fn attach_ingress(&self, program: &usize, interface: u32) -> io::Result<()> {
        let mut world = self.call("attach_ingress")?;
        if world.links[interface as usize - 1].ingress.contains(program) {
            return error(libc::EEXIST);
        }
        world.changes(self.life);
        world.links[interface as usize - 1].ingress.insert(0, *program);
        self.changed(world)
    }

    fn detach_ingress(&self, program: &usize, interface: u32) -> io::Result<()> {
        let mut world = self.change("detach_ingress")?;
        let link = interface as usize - 1;
        let ingress = &mut world.links[link].ingress;
        let count = ingress.len();
        ingress.retain(|attached| attached != program);
        if ingress.len() == count {
            return error(libc::ENOENT);
        }
        world.uncovered(self.life, link);
        self.changed(world)
    }

    fn attached_to_ingress(&self, interface: u32) -> io::Result<Vec<Attached<usize>>> {
        let world = self.call("attached_to_ingress")?;
        let ingress = &world.links[interface as usize - 1].ingress;
        Ok(ingress.iter().map(|program| world.attached(*program)).collect())
    }

    fn attach_xdp(&self, interface: u32, program: &usize, replaces: Option<&usize>) -> io::Result<()> {
        let mut world = self.call("attach_xdp")?;
        if world.links[interface as usize - 1].settings.driver.as_ref() != replaces {
            return error(if replaces.is_some() { libc::EEXIST } else { libc::EBUSY });
        }
        world.changes(self.life);
        world.drive(self.life, interface as usize - 1, Some(*program));
        self.changed(world)
    }

    fn attached_xdp(&self, interface: u32) -> io::Result<Option<Attached<usize>>> {
        let world = self.call("attached_xdp")?;
        Ok(world.links[interface as usize - 1].settings.driver.map(|program| world.attached(program)))
    }

    fn detach_xdp(&self, interface: u32, program: &usize) -> io::Result<()> {
        let mut world = self.call("detach_xdp")?;
        if world.links[interface as usize - 1].settings.driver != Some(*program) {
            return error(libc::EEXIST);
        }
        world.changes(self.life);
        world.drive(self.life, interface as usize - 1, None);
        self.changed(world)
    }
}

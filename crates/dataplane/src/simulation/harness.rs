//! Pacers, one after the other, over a simulated kernel; and their accounts.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use paceline_core::pacer::{self, parameters::Value};
use paceline_core::queue::Limit;
use paceline_core::{Rate, Span};

use super::calls::{Calls, Ended};
use super::packet::PacketSide;
use super::script::{Fault, Script, Side};
use super::world::{Notice, PATIENCE_NS, Sockets, World};
use super::xdp::XdpSide;
use crate::bypass::Shared;
use crate::direction::{Direction, Orders, open_on_panic};
use crate::lane::{LaneSpec, Overload};
use crate::meters::{Cause, Meters};
use crate::packet::ring::{Ring, place_for};
use crate::packet::{PacketPort, Transmitter};
use crate::port::{Largest, Port};
use crate::sys::memory::Mapping;
use crate::sys::on_panic::OnPanic;
use crate::xdp;

/// Frames that a port can hold.
const HELD: usize = 400;
const PLACES: usize = 128;
const LINK: u32 = 18;
/// All that it holds, at the lowest rate of `settings`, while it is not stopped.
const LONGEST_STOP_NS: u64 = 400_000_000;

/// What runs came to.
#[derive(Debug, Default, Clone)]
pub(super) struct Told {
    pub(super) came: u64,
    pub(super) sent: u64,
    pub(super) passed: u64,
    /// Lost by the interfaces themselves.
    pub(super) outside: u64,
    pub(super) lives: u64,
    pub(super) dropped: [u64; Cause::ALL.len()],
}

impl Told {
    pub(super) fn add(&mut self, other: &Told) {
        self.came += other.came;
        self.sent += other.sent;
        self.passed += other.passed;
        self.outside += other.outside;
        self.lives += other.lives;
        for (all, more) in self.dropped.iter_mut().zip(other.dropped) {
            *all += more;
        }
    }
}

fn settings(index: u64) -> LaneSpec {
    let line = Rate::from_bits_per_second(1_000_000_000);
    let cases: [(&str, &[(&str, &str)]); 5] = [
        ("none", &[]),
        ("edge", &[("delay", "2 ms")]),
        ("edge", &[("delay", "10 ms")]),
        ("qlbp", &[("mu_min", "20 Mbit/s"), ("mu_max", "200 Mbit/s"), ("q_max", "100 packets")]),
        ("token-bucket", &[("rate", "50 Mbit/s"), ("burst", "9000 B")]),
    ];
    let (method, parameters) = cases[index as usize % cases.len()];
    let mut value = |key: &str| {
        parameters.iter().find(|(name, _)| *name == key).map(|(_, text)| Value::Text((*text).to_owned()))
    };
    let mut pacer = pacer::parse(method, &mut value, line).unwrap();
    pacer.limit = Some(Limit::Packets(300));
    let overload = if index.is_multiple_of(2) { Overload::Drop } else { Overload::Flush };
    LaneSpec { pacer, line_rate: line, overload }
}

/// How a pacer's life ended.
enum End {
    /// The time of the whole run is over: it was told to stop.
    Stopped,
    /// Its main thread has given up.
    Abandoned,
    /// It panicked, or was killed.
    Fell(Fault),
}

/// Runs a script to its end; what broke which law, when (microseconds).
pub(super) fn run(script: &Script) -> Result<Told, String> {
    let world = Rc::new(RefCell::new(World::new(script)));
    let end = 1_000_000_000 + script.length_us * 1000;
    let mut told = Told::default();
    let mut earlier: Option<Arc<Shared>> = None;
    loop {
        let life = match script.xdp {
            true => Life::xdp(&world, script, &mut earlier)?.live(end, &mut told)?,
            false => Life::packet(&world, script, &mut earlier)?.live(end, &mut told)?,
        };
        told.lives += 1;
        if let Some(problem) = world.borrow_mut().violation.take() {
            return Err(problem);
        }
        if life.is_over {
            break;
        }
        earlier = Some(life.shared);
    }
    let world = world.borrow();
    (told.came, told.sent, told.passed, told.outside) = (world.came, world.sent, world.passed, world.outside);
    Ok(told)
}

/// A pacer.
struct Life<P: Port<Kernel = Calls>> {
    world: Rc<RefCell<World>>,
    direction: Direction<P>,
    shared: Arc<Shared>,
    meters: Arc<Meters>,
    orders: Arc<Orders>,
    largest: Largest,
    /// Frames larger than that do not fit into its memory.
    most: Option<usize>,
    /// Makes sure that nothing of the port's is lost, when it holds no frame.
    audit: fn(&P, &World) -> Result<(), String>,
}

/// What a thread does as it unwinds; one that is killed does nothing.
struct Process<'a>(&'a RefCell<World>, Option<OnPanic>);

impl Drop for Process<'_> {
    fn drop(&mut self) {
        if self.0.borrow().is_killed {
            std::mem::forget(self.1.take());
        }
    }
}

struct Lived {
    shared: Arc<Shared>,
    is_over: bool,
}

fn socket() -> OwnedFd {
    std::fs::File::open("/dev/null").unwrap().into()
}

impl Life<PacketPort<Calls>> {
    fn packet(
        world: &Rc<RefCell<World>>,
        script: &Script,
        earlier: &mut Option<Arc<Shared>>,
    ) -> Result<Self, String> {
        let shared = Arc::new(Shared::alone());
        let mtu = world.borrow().mtu;
        let largest = Largest::new(mtu as u32 + LINK);
        attach(world, &shared, false);
        let mapping = Mapping::anonymous(crate::packet::ring::BLOCK).unwrap();
        let ring =
            Ring::over(Calls(Rc::clone(world)), mapping, socket(), place_for(mtu + 14), PLACES.min(60));
        world.borrow_mut().sockets = Sockets::Packet(PacketSide::of(&ring, Arc::clone(&shared)));
        let transmitter = Transmitter::over(Calls(Rc::clone(world)), socket());
        let port = PacketPort::over(ring, transmitter, largest.clone(), 14, HELD, 0)?;
        Ok(Life::new(world, port, script, shared, largest, None, |_, _| Ok(()), earlier))
    }
}

impl Life<xdp::XdpPort<Calls>> {
    fn xdp(
        world: &Rc<RefCell<World>>,
        script: &Script,
        earlier: &mut Option<Arc<Shared>>,
    ) -> Result<Self, String> {
        let shared = Arc::new(Shared::alone());
        let mtu = world.borrow().mtu as u32;
        let largest = Largest::new(mtu + LINK);
        attach(world, &shared, true);
        let kernel = Calls(Rc::clone(world));
        let (port, places) = xdp::simulated::port(kernel, &Arc::new(socket()), mtu, HELD, largest.clone())?;
        let most = places.chunk as usize - 256 - LINK as usize;
        world.borrow_mut().sockets = Sockets::Xdp(XdpSide::of(places, Arc::clone(&shared)));
        Ok(Life::new(world, port, script, shared, largest, Some(most), audit, earlier))
    }
}

fn audit(port: &xdp::XdpPort<Calls>, world: &World) -> Result<(), String> {
    match &world.sockets {
        Sockets::Xdp(xdp) => xdp.audit(port.free_chunks()),
        _ => Ok(()),
    }
}

/// The gate first: until the pacer is at work all passes.
fn attach(world: &Rc<RefCell<World>>, shared: &Arc<Shared>, xdp: bool) {
    let state = shared.state();
    state.patience_ns.store(PATIENCE_NS, Relaxed);
    state.latch.store(1, Relaxed);
    let mut world = world.borrow_mut();
    world.attach(shared, xdp);
    let setting_up = world.now + world.chance.below(30_000_000);
    world.advance(setting_up);
}

impl<P: Port<Kernel = Calls>> Life<P> {
    #[allow(clippy::too_many_arguments, reason = "parts of one thing")]
    fn new(
        world: &Rc<RefCell<World>>,
        port: P,
        script: &Script,
        shared: Arc<Shared>,
        largest: Largest,
        most: Option<usize>,
        audit: fn(&P, &World) -> Result<(), String>,
        earlier: &mut Option<Arc<Shared>>,
    ) -> Self {
        let (meters, orders): (Arc<Meters>, Arc<Orders>) = (Arc::default(), Arc::default());
        let bypass = Some(Arc::clone(&shared));
        let spin = Span::from_nanos([0, 5_000, 80_000][script.seed as usize % 3]);
        if let Some(earlier) = earlier.take() {
            world.borrow_mut().forget(&earlier); // it takes over
        }
        let spec = settings(script.seed / 7);
        let direction = Direction::new(port, spec, bypass, Arc::clone(&meters), Arc::clone(&orders), spin);
        Life { world: Rc::clone(world), direction, shared, meters, orders, largest, most, audit }
    }

    /// Paces until something ends it, and what comes after that until the next one begins.
    fn live(mut self, end: u64, told: &mut Told) -> Result<Lived, String> {
        let before = self.world.borrow().sent;
        let ended = self.pace(end, before);
        let sent = self.world.borrow().sent - before;
        let is_over = self.world.borrow().now >= end;
        self.account(&ended, sent)?;
        for (cause, _) in Cause::ALL {
            told.dropped[cause as usize] += self.meters.dropped(cause);
        }
        let mut world = self.world.borrow_mut();
        let after = match ended {
            End::Stopped => 0,
            // the kernel takes a while to clear a process away, and what has started it to do so again
            End::Abandoned => world.chance.below(20_000_000),
            End::Fell(_) => world.chance.below(150_000_000),
        };
        let cleared = world.now + after;
        world.advance(cleared);
        world.sockets = Sockets::None;
        if matches!(ended, End::Stopped) {
            world.forget(&self.shared); // it takes its gate away, and nothing is forwarded
            world.is_ended = true;
        }
        let again = world.now + world.chance.below(300_000_000);
        world.advance(again);
        while !(world.is_up(Side::In) && world.is_up(Side::Out)) {
            let later = world.now + 5_000_000;
            world.advance(later); // it is started again until they are there
        }
        world.notices.clear();
        Ok(Lived { shared: Arc::clone(&self.shared), is_over })
    }

    fn pace(&mut self, end: u64, sent_before: u64) -> End {
        let shared = Arc::clone(&self.shared);
        let at_work = catch_unwind(AssertUnwindSafe(|| {
            let _process = Process(&self.world, Some(open_on_panic(Some(shared))));
            {
                let mut world = self.world.borrow_mut();
                (world.away_since, world.is_killed, world.is_at_work) = (None, false, true);
                world.has_panicked = false;
            }
            self.direction.begin(true);
            loop {
                let now = self.world.borrow().now;
                let is_over = now >= end;
                if is_over {
                    self.world.borrow_mut().quieten();
                    self.orders.stop();
                } else if self.world.borrow_mut().take_stop() {
                    self.orders.stop();
                }
                let is_abandoned = self.notice();
                let stopped_before = self.world.borrow().stopped_ns;
                if !self.direction.step() {
                    let stopped = self.world.borrow().stopped_ns - stopped_before;
                    let took = self.world.borrow().now - now - stopped;
                    if took > LONGEST_STOP_NS {
                        self.world.borrow_mut().violate(format!("its end takes {} ms", took / 1_000_000));
                    }
                    return if is_abandoned { End::Abandoned } else { End::Stopped };
                }
                let left = self.world.borrow().sent - sent_before;
                let counted = self.meters.sent.packets.load(Relaxed);
                if counted > left {
                    self.world
                        .borrow_mut()
                        .violate(format!("{left} frames have left, {counted} are counted"));
                }
                if self.world.borrow().violation.is_some() {
                    return End::Abandoned;
                }
            }
        }));
        {
            let mut world = self.world.borrow_mut();
            world.is_at_work = false;
            world.has_panicked = at_work.is_err() && !world.is_killed;
        }
        match at_work {
            Ok(end) => end,
            Err(payload) => match payload.downcast_ref::<Ended>() {
                Some(Ended(fault)) => End::Fell(*fault),
                None => resume_unwind(payload),
            },
        }
    }

    /// What the main thread does about news; whether it gives up.
    fn notice(&self) -> bool {
        let notices = std::mem::take(&mut self.world.borrow_mut().notices);
        let mut gives_up = false;
        for notice in notices {
            match notice {
                Notice::Gone => gives_up = true,
                Notice::Reload(to) => self.orders.change(settings(to)),
                Notice::Mtu => {
                    let mtu = self.world.borrow().mtu;
                    self.largest.set(mtu as u32 + LINK);
                    gives_up |= self.most.is_some_and(|most| mtu > most);
                }
            }
        }
        if gives_up {
            self.orders.abandon();
        }
        gives_up
    }

    /// What was taken has left, or is counted.
    fn account(&self, ended: &End, sent: u64) -> Result<(), String> {
        if self.world.borrow().violation.is_some() {
            return Ok(()); // that is told
        }
        let state = self.shared.state();
        let taken = state.taken.load(Relaxed);
        let counted = self.meters.sent.packets.load(Relaxed);
        let stopping = self.meters.dropped(Cause::Stopping);
        let settled = self.meters.settled().wrapping_sub(stopping);
        let (name, exact) = match ended {
            End::Stopped => ("stopped", true),
            End::Abandoned => ("gave up", true),
            End::Fell(Fault::Kill(_)) => ("was killed", false),
            End::Fell(_) => ("panicked", false),
        };
        // in the call that it fell in, it has sent what it has not counted yet
        let most = if exact { counted } else { counted + crate::sys::kernel::BATCH as u64 };
        if !(counted..=most).contains(&sent) {
            return Err(format!("one that {name}: {sent} frames left, {counted} are counted"));
        }
        if exact && taken != settled {
            let causes: Vec<_> =
                Cause::ALL.iter().map(|(cause, name)| (*name, self.meters.dropped(*cause))).collect();
            return Err(format!(
                "one that {name}: {taken} frames were taken, {settled} are accounted for: {counted} sent, {causes:?}"
            ));
        }
        if exact {
            (self.audit)(&self.direction.port, &self.world.borrow())?;
        }
        // signed: of a frame that is cut into several each settles one, and all but one of them are not to be settled
        if !exact && (taken.wrapping_sub(settled) as i64) < 0 {
            return Err(format!("one that {name}: {taken} frames were taken, {settled} are accounted for"));
        }
        if self.meters.reordered.load(Relaxed) + self.meters.unexplained_misses.load(Relaxed) > 0 {
            return Err(format!("one that {name}: it counts frames as reordered, or as held for too long"));
        }
        Ok(())
    }
}

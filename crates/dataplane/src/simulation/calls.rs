//! The calls of the simulated kernel. Each takes time, may fail, and may be the last or the next to last thing that a process
//! does for long.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use paceline_core::{Instant, Span};

use super::script::{Call, Fault, Side};
use super::world::{Sockets, World};
use super::xdp::Next;
use crate::packet::VNET;
use crate::sys::kernel::{Kernel, Read};

/// What a look at the clock takes. A thread that does nothing else is not followed look by look: it would be most of what
/// a simulation costs.
const LOOK_NS: u64 = 150;
const SPINS: u32 = 8;
const SPIN_NS: u64 = 3_000;

/// Hands calls to the world.
#[derive(Clone)]
pub(super) struct Calls(pub(super) Rc<RefCell<World>>);

/// Why a thread has unwound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended(pub(super) Fault);

impl std::fmt::Debug for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a simulated kernel")
    }
}

impl Calls {
    /// A call begins, and takes some time; the error that it fails with, if it does.
    fn begin(&self, call: Call, takes_ns: u64) -> Result<(), i32> {
        let mut world = self.0.borrow_mut();
        world.looks = if call == Call::Now { world.looks } else { 0 };
        let now = world.now;
        world.advance(now + takes_ns);
        let falls = |fault: &Fault| matches!(fault, Fault::Panic(_) | Fault::Kill(_));
        if let Some(fault) = world.take_interrupt(call, falls) {
            world.away_since = Some(world.now);
            world.is_killed = matches!(fault, Fault::Kill(_));
            drop(world);
            std::panic::resume_unwind(Box::new(Ended(fault)));
        }
        let Some(at) = world.failing.iter().position(|(failing, ..)| *failing == call) else { return Ok(()) };
        let (_, error, times) = &mut world.failing[at];
        let error = *error;
        *times = times.saturating_sub(1);
        if *times == 0 {
            world.failing.remove(at);
        }
        Err(error)
    }

    /// A call is over; the process may be stopped here.
    fn end(&self, call: Call) {
        let mut world = self.0.borrow_mut();
        let stops = |fault: &Fault| matches!(fault, Fault::Stop(..));
        if let Some(Fault::Stop(_, us)) = world.take_interrupt(call, stops) {
            let now = world.now;
            world.away_since = Some(now);
            world.advance(now + 1000 * us);
            world.stopped_ns += 1000 * us;
            world.away_since = None;
            world.excused_until = world.excused_until.max(world.now);
        }
    }
}

impl Kernel for Calls {
    fn now(&self) -> Instant {
        let spins = {
            let mut world = self.0.borrow_mut();
            world.looks += 1;
            world.looks > SPINS
        };
        let _ = self.begin(Call::Now, if spins { SPIN_NS } else { LOOK_NS });
        let now = Instant::from_nanos(self.0.borrow().now);
        self.end(Call::Now);
        now
    }

    fn wall_offset(&self) -> i64 {
        self.0.borrow().wall_offset
    }

    fn processor_time_ns(&self) -> u64 {
        0
    }

    fn sleep_until(&self, at: Instant) {
        // a signal may end it early
        if self.begin(Call::Sleep, 500).is_ok() {
            let mut world = self.0.borrow_mut();
            let late = world.chance.below(60_000);
            let until = (at.as_nanos() + late).max(world.now);
            world.advance(until);
        }
        self.end(Call::Sleep);
    }

    fn wait(&self, _: &OwnedFd, most: Span) -> bool {
        let is_cut_short = self.begin(Call::Wait, 500).is_err();
        let mut world = self.0.borrow_mut();
        let begun = world.now;
        let until = world.now + most.as_nanos();
        let has_error = loop {
            let (is_readable, error) = world.ready();
            if is_readable || error != 0 || is_cut_short || world.now >= until {
                if !is_readable && world.now == begun {
                    world.note_idle();
                }
                break error != 0;
            }
            let next = world.next_event().clamp(world.now + 1, until);
            world.advance(next);
        };
        if world.now > begun {
            let late = world.now + world.chance.below(40_000);
            world.advance(late);
        }
        drop(world);
        self.end(Call::Wait);
        has_error
    }

    fn take_error(&self, _: &OwnedFd) -> i32 {
        match &mut self.0.borrow_mut().sockets {
            Sockets::Packet(packet) => std::mem::take(&mut packet.error),
            _ => 0,
        }
    }

    fn read(&self, _: &OwnedFd, into: &mut [u8]) -> io::Result<Read> {
        let read = match self.begin(Call::Read, 1000) {
            // nothing is there is what the kernel never says of a frame that it has announced
            Err(error) if error != libc::EAGAIN => Err(io::Error::from_raw_os_error(error)),
            _ => match &mut self.0.borrow_mut().sockets {
                Sockets::Packet(packet) => packet.read(into),
                _ => Err(io::Error::from_raw_os_error(libc::EBADF)),
            },
        };
        self.end(Call::Read);
        read
    }

    fn send(&self, _: &OwnedFd, frames: &[IoSlice<'_>]) -> io::Result<usize> {
        // nothing happens between the look at the latch and the first frame: see `bypass`
        let failed = self.begin(Call::Send, 0);
        let mut done = 0;
        let mut error = failed.err();
        {
            let mut world = self.0.borrow_mut();
            let most =
                if world.chance.one_in(50) { 1 + world.chance.below(9) as usize } else { frames.len() };
            for frame in frames.iter().take(most) {
                if error.is_some() {
                    break;
                }
                if !world.is_there(Side::Out) {
                    error = Some(libc::ENXIO);
                } else if !world.is_up(Side::Out) {
                    error = Some(libc::ENETDOWN);
                } else if world.now < world.full_until || world.drops > 0 || !world.has_carrier() {
                    world.drops = world.drops.saturating_sub(1);
                    error = Some(libc::ENOBUFS);
                } else if frame.len() > VNET + world.mtu + 18 {
                    error = Some(libc::EMSGSIZE);
                } else {
                    world.send(frame.get(VNET..).unwrap_or_default());
                    done += 1;
                }
            }
            let now = world.now + 700 + 300 * done as u64;
            world.advance(now);
        }
        self.end(Call::Send);
        match error {
            Some(error) if done == 0 => Err(io::Error::from_raw_os_error(error)),
            _ => Ok(done),
        }
    }

    fn has_carrier(&self, _: &OwnedFd) -> bool {
        self.0.borrow().has_carrier()
    }

    fn packet_overflow(&self, _: &OwnedFd) -> io::Result<u64> {
        let counted = match self.begin(Call::Overflow, 300) {
            Err(error) => Err(io::Error::from_raw_os_error(error)),
            Ok(()) => match &mut self.0.borrow_mut().sockets {
                Sockets::Packet(packet) => Ok(std::mem::take(&mut packet.overflow)),
                _ => Ok(0),
            },
        };
        self.end(Call::Overflow);
        counted
    }

    fn kick(&self, _: &OwnedFd) -> io::Result<()> {
        let failed = self.begin(Call::Kick, 700);
        let result = match failed {
            // that it is down the kernel says of itself, and that it was busy when it has lost a frame
            Err(error) if !matches!(error, libc::ENETDOWN | libc::EBUSY) => Err(error),
            _ => self.transmit(),
        };
        self.end(Call::Kick);
        result.map_err(io::Error::from_raw_os_error)
    }

    fn xdp_dropped(&self, _: &OwnedFd) -> io::Result<u64> {
        let counted = match self.begin(Call::Overflow, 300) {
            Err(error) => Err(io::Error::from_raw_os_error(error)),
            Ok(()) => match &self.0.borrow().sockets {
                Sockets::Xdp(xdp) => Ok(xdp.dropped),
                _ => Ok(0),
            },
        };
        self.end(Call::Overflow);
        counted
    }
}

impl Calls {
    /// `__xsk_generic_xmit`
    fn transmit(&self) -> Result<(), i32> {
        let mut world = self.0.borrow_mut();
        if !world.is_there(Side::Out) {
            return Err(libc::ENXIO);
        }
        if !world.is_up(Side::Out) {
            return Err(libc::ENETDOWN);
        }
        let is_full = world.now < world.full_until;
        let mut sent = 0;
        let result = loop {
            let Sockets::Xdp(xdp) = &mut world.sockets else { return Err(libc::ENXIO) };
            let bytes = match xdp.next(sent) {
                Next::Nothing => break Ok(()),
                Next::Again => break Err(libc::EAGAIN),
                Next::Frame(bytes) => bytes,
            };
            if let Some(problem) = xdp.problem.take() {
                world.violate(problem);
                break Ok(());
            }
            if is_full {
                xdp.leave();
                break Err(libc::EAGAIN);
            }
            xdp.take();
            if !world.has_carrier() {
                break Err(libc::EBUSY);
            }
            if world.drops > 0 {
                world.drops -= 1;
                break Err(libc::EBUSY);
            }
            world.send(&bytes);
            sent += 1;
        };
        if sent > 0
            && let Sockets::Xdp(xdp) = &mut world.sockets
        {
            xdp.publish();
        }
        let now = world.now + 300 * u64::from(sent);
        world.advance(now);
        result
    }
}

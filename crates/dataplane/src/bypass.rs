//! Failing open: two small programs in the kernel that forward frames themselves when the pacer does not.
//!
//! *Idea.* At an interface's ingress the kernel shows a frame first to packet sockets, then to ingress programs. The **tap**
//! is the filter of the pacer's packet socket: it takes a frame if the pacer's heartbeat is fresh, and notes for this
//! processor that it has. The **gate**, at the ingress right behind it, drops what the tap took, since the pacer now has it,
//! and sends everything else out by the other interface. So each frame goes one way, and exactly one.
//!
//! A pacer that is killed has no socket, so no tap, and the gate sends from the next frame on. One that hangs has a tap that
//! finds the heartbeat stale; it then trips a **latch**, which the pacer alone resets, after it has thrown away (and counted)
//! what it holds: what it held is older than what has bypassed it since. The gate trips it too when a frame comes that no tap was
//! shown: while an interface comes up the socket is told a moment after frames come. One that fails, by an error of its own or because an
//! interface has gone, trips the latch itself and leaves the gate. Only a pacer that has come to its end takes the gate away.
//!
//! With AF_XDP a program at the driver takes the place of the tap, and the gate sees only what that lets pass.
//!
//! *Where it breaks.* A pacer stopped by a signal between looking at the latch and the kernel's taking the call that sends, a few
//! instructions, sends that batch after it goes on; and a frame that no tap was shown may overtake the batch, 64 frames at most, that the
//! kernel is sending at that moment. The gate stays when the pacer is killed, which is its purpose; the next run on these
//! interfaces takes over from it, its own gate before the other's, so that no frame is without one; `--restore` takes it away.

pub(crate) mod programs;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_core::Span;

use crate::bpf::{Attached, MapKind, ProgramKind};
use crate::sys::interface::{Changed, Interface};
use crate::sys::kernel::Linux;
use crate::sys::system::System;
pub use state::{Shared, State};

/// The gate's name in the kernel.
const GATE: &str = "paceline_gate";
/// That of the program at the driver.
const DRIVER: &str = "paceline_xdp";
/// The name of what they share with the pacer.
const STATE: &str = "paceline_state";

/// The programs of one direction. Dropping it leaves the gate where it is.
#[derive(Debug)]
pub struct Bypass<S: System = Linux> {
    system: S,
    shared: Arc<Shared>,
    state: S::Map,
    /// Whether this processor's tap has taken the frame at hand.
    noted: S::Map,
    gate: S::Program,
    interface: u32,
}

/// What an earlier run, which did not end as it should have, left on an interface.
#[derive(Debug)]
pub struct Leftover<S: System = Linux> {
    gate: S::Program,
    shared: Arc<Shared>,
}

impl<S: System> Bypass<S> {
    /// Loads the gate and puts it at the ingress of `from`, open: all goes to `to` until a tap takes it. It stands before what
    /// is there, an earlier pacer's gate too.
    pub fn install(from: &Interface<S>, to: &Interface<S>, patience: Span) -> Result<Bypass<S>, String> {
        let system = from.system.clone();
        let explain = |error: std::io::Error| match error.raw_os_error() {
            Some(libc::EINVAL) => format!(
                "{}: the kernel has no place for the program that lets traffic bypass ({error}); use Linux 6.6 or later, or \
                 --no-bypass",
                from.name
            ),
            _ => format!("{}: the program that lets traffic bypass: {error}", from.name),
        };
        let state = system.map(MapKind::Shared, STATE, state::BYTES, 1).map_err(explain)?;
        let noted = system.map(MapKind::PerProcessor, "paceline_noted", 8, 1).map_err(explain)?;
        let shared = system.share(&state).map_err(explain)?;
        let program = programs::gate(system.number(&state), system.number(&noted), to.index);
        let gate = system.load(ProgramKind::Ingress, GATE, &program).map_err(explain)?;
        let known = shared.state();
        known.patience_ns.store(patience.as_nanos(), Ordering::Relaxed);
        known.process.store(u64::from(system.process()), Ordering::Relaxed);
        // What comes before the pacer is at work bypasses.
        known.latch.store(1, Ordering::Relaxed);
        system.attach_ingress(&gate, from.index).map_err(explain)?;
        Ok(Bypass { system, shared, state, noted, gate, interface: from.index })
    }

    /// The filter for the packet socket that receives.
    pub fn tap(&self) -> Result<S::Program, String> {
        let system = &self.system;
        let program = programs::tap(system.number(&self.state), system.number(&self.noted));
        system
            .load(ProgramKind::SocketFilter, "paceline_tap", &program)
            .map_err(|error| format!("the filter that takes frames: {error}"))
    }

    /// The program for the driver that receives, and the map for the sockets that take from it.
    pub fn driver(&self) -> Result<(S::Program, S::Map), String> {
        let system = &self.system;
        let explain =
            |error: std::io::Error| format!("the program that takes frames from the driver: {error}");
        let sockets = system.map(MapKind::Sockets, "paceline_xsk", 4, 64).map_err(explain)?;
        let program = programs::driver(system.number(&self.state), system.number(&sockets));
        let program = system.load(ProgramKind::Xdp, DRIVER, &program).map_err(explain)?;
        Ok((program, sockets))
    }

    /// What is shared with the kernel.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Puts the gate back where it was taken away; whether that was so.
    pub fn keep(&self) -> bool {
        // where it is still there it cannot be put a second time
        self.system.attach_ingress(&self.gate, self.interface).is_ok()
    }

    /// Takes the gate away.
    pub fn remove(&self) {
        // If it is not there any more, nor is the interface.
        let _ = self.system.detach_ingress(&self.gate, self.interface);
    }
}

/// What a program shares with the pacer whose it is; `None` if it is no pacer's.
fn state_of<S: System>(system: &S, program: &Attached<S::Program>) -> Option<S::Map> {
    program
        .maps
        .iter()
        .filter_map(|id| system.map_by_id(*id).ok())
        .find(|map| system.describe(map).is_ok_and(|(name, bytes)| name == STATE && bytes == state::BYTES))
}

/// The program at an interface's driver, if it is a pacer's: as there is one pacer an interface, an earlier one's. Another program's
/// XDP is none of a pacer's business.
pub fn left_at_driver<S: System>(interface: &Interface<S>) -> Option<S::Program> {
    let system = &interface.system;
    let found = system.attached_xdp(interface.index).ok()??;
    (found.name == DRIVER && state_of(system, &found).is_some()).then_some(found.program)
}

impl<S: System> Leftover<S> {
    /// What is on an interface's ingress from an earlier run.
    pub fn on(interface: &Interface<S>) -> Vec<Leftover<S>> {
        let system = &interface.system;
        let attached = system.attached_to_ingress(interface.index).unwrap_or_default();
        attached
            .into_iter()
            .filter(|program| program.name == GATE)
            .filter_map(|found| {
                let state = state_of(system, &found)?;
                Some(Leftover { gate: found.program, shared: system.share(&state).ok()? })
            })
            .collect()
    }

    fn read(&self, of: impl Fn(&State) -> &AtomicU64) -> u64 {
        of(self.shared.state()).load(Ordering::Relaxed)
    }

    /// Frames that it held when it ended.
    pub fn lost(&self) -> u64 {
        // Signed: a frame may have been sent that has not been counted as taken yet.
        let held = self.read(|state| &state.taken).wrapping_sub(self.read(|state| &state.settled));
        (held as i64).max(0) as u64
    }

    /// Frames that it had counted as lost.
    pub fn dropped(&self) -> u64 {
        self.read(|state| &state.dropped)
    }

    /// Frames that have bypassed.
    pub fn bypassed(&self) -> u64 {
        self.read(|state| &state.bypassed)
    }

    /// Settings to put back.
    pub fn changed(&self) -> Changed {
        Changed(self.read(|state| &state.changed))
    }

    /// Its process, by the number that it has where it runs.
    pub fn process(&self) -> u64 {
        self.read(|state| &state.process)
    }

    /// Whether its heart beats. One that has just beaten is watched for as long as it has patience.
    pub fn is_alive(&self, system: &S) -> bool {
        let seen = self.read(|state| &state.heartbeat_ns);
        let patience = self.read(|state| &state.patience_ns).min(Span::from_millis(1000).as_nanos());
        let mut now = system.now();
        let end = now + Span::from_nanos(patience);
        while now < end && now.as_nanos().saturating_sub(seen) < patience {
            if self.read(|state| &state.heartbeat_ns) != seen {
                return true;
            }
            system.sleep_until(now + Span::from_millis(2));
            now = system.now();
        }
        false
    }

    /// Takes it away.
    pub fn remove(&self, interface: &Interface<S>) -> std::io::Result<()> {
        interface.system.detach_ingress(&self.gate, interface.index)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]
mod tests;

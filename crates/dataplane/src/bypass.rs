//! Failing open: two small programs in the kernel that forward frames themselves when the pacer does not.
//!
//! *Idea.* At an interface's ingress the kernel shows a frame first to packet sockets, then to ingress programs. The **tap**
//! is the filter of the pacer's packet socket: it takes a frame if the pacer's heartbeat is fresh, and notes for this
//! processor that it has. The **gate**, at the ingress right behind it, drops what the tap took, since the pacer now has it,
//! and sends everything else out by the other interface. So each frame goes one way, and exactly one.
//!
//! A pacer that is killed has no socket, so no tap, and the gate sends from the next frame on. One that hangs has a tap that
//! finds the heartbeat stale; it then trips a **latch**, which the pacer alone resets, after it has thrown away (and counted)
//! what it holds: what it held is older than what has bypassed it since.
//!
//! With AF_XDP a program at the driver takes the place of the tap, and the gate sees only what that lets pass.
//!
//! *Where it breaks.* A pacer stopped by a signal between looking at the latch and handing a frame to the kernel, some 100 ns,
//! sends that frame after it goes on. The gate stays when the pacer is killed, which is its purpose; the next run on these
//! interfaces, or `--restore`, takes it away.

#![allow(unsafe_code, reason = "memory shared with the kernel")]

use std::sync::atomic::{AtomicU64, Ordering};

use paceline_core::{Instant, Span};

use crate::bpf::assembler::{
    Assembler, FRAME, Helper, If, Instruction, Label, R0, R1, R2, R3, R6, R7, R8, Size,
};
use crate::bpf::{Map, MapKind, Program, ProgramKind, attached_to_ingress};
use crate::sys::interface::{Changed, Interface};
use crate::sys::memory::Mapping;

/// The gate's name in the kernel.
const GATE: &str = "paceline_gate";
/// The name of what it shares with the pacer.
const STATE: &str = "paceline_state";

/// What a pacer and its programs share about one direction. The kernel's programs know the offsets.
#[repr(C)]
#[derive(Debug, Default)]
pub struct State {
    /// When the pacer was last well, monotonic nanoseconds.
    pub heartbeat_ns: AtomicU64,
    /// How old that may be.
    pub patience_ns: AtomicU64,
    /// Not 0: traffic bypasses until the pacer says otherwise.
    pub latch: AtomicU64,
    /// Not 0: what the pacer does not take is dropped. Set while it drains.
    pub closed: AtomicU64,
    /// Frames that the pacer was given.
    pub taken: AtomicU64,
    /// Frames that went past it.
    pub bypassed: AtomicU64,
    /// Their bytes.
    pub bypassed_bytes: AtomicU64,
    /// How often the latch was tripped.
    pub trips: AtomicU64,
    /// Frames that the pacer has sent, dropped by its own rules or given up: `taken` without these is what it holds.
    pub settled: AtomicU64,
    /// Settings of the receiving interface to put back, see [`Changed`].
    pub changed: AtomicU64,
    /// The pacer's process.
    pub process: AtomicU64,
}

const HEARTBEAT: i16 = 0;
const PATIENCE: i16 = 8;
const LATCH: i16 = 16;
const CLOSED: i16 = 24;
const TAKEN: i16 = 32;
const BYPASSED: i16 = 40;
const BYPASSED_BYTES: i16 = 48;
const TRIPS: i16 = 56;

/// Room for the state, bytes.
const STATE_BYTES: u32 = 128;

/// Offsets in the context of socket filters and ingress programs (struct __sk_buff).
const SKB_LENGTH: i16 = 0;
const SKB_KIND: i16 = 4;
const OUTGOING: i32 = 4;
/// Verdicts of ingress programs.
const DROP: i32 = 2;
/// In the context of XDP programs (struct xdp_md).
const XDP_QUEUE: i16 = 16;
const XDP_PASS: i32 = 2;

/// The programs of one direction.
#[derive(Debug)]
pub struct Bypass {
    mapping: Mapping,
    state: Map,
    /// Whether this processor's tap has taken the frame at hand.
    noted: Map,
    gate: Program,
    interface: u32,
}

/// What an earlier run, which did not end as it should have, left on an interface.
#[derive(Debug)]
pub struct Leftover {
    gate: Program,
    /// Frames that it held when it ended.
    pub lost: u64,
    /// Frames that have bypassed.
    pub bypassed: u64,
    /// Settings to put back.
    pub changed: Changed,
    /// Its process, if it is still there.
    pub running: Option<u64>,
}

impl Bypass {
    /// Loads the gate and puts it at the ingress of `from`, open: all goes to `to` until a tap takes it.
    pub fn install(from: &Interface, to: &Interface, patience: Span) -> Result<Bypass, String> {
        let explain = |error: std::io::Error| match error.raw_os_error() {
            Some(libc::EINVAL) => format!(
                "{}: the kernel has no place for the program that lets traffic bypass ({error}); use Linux 6.6 or later, or \
                 --no-bypass",
                from.name
            ),
            _ => format!("{}: the program that lets traffic bypass: {error}", from.name),
        };
        let state = Map::new(MapKind::Shared, STATE, STATE_BYTES, 1).map_err(explain)?;
        let noted = Map::new(MapKind::PerProcessor, "paceline_noted", 8, 1).map_err(explain)?;
        let mapping = state.mapped().map_err(explain)?;
        let gate =
            Program::load(ProgramKind::Ingress, GATE, &gate(&state, &noted, to.index)).map_err(explain)?;
        let bypass = Bypass { mapping, state, noted, gate, interface: from.index };
        bypass.state().patience_ns.store(patience.as_nanos(), Ordering::Relaxed);
        // What comes before the pacer is at work bypasses.
        bypass.state().latch.store(1, Ordering::Relaxed);
        bypass.state().process.store(u64::from(std::process::id()), Ordering::Relaxed);
        bypass.gate.attach_ingress(from.index).map_err(explain)?;
        Ok(bypass)
    }

    /// The filter for the packet socket that receives.
    pub fn tap(&self) -> Result<Program, String> {
        Program::load(ProgramKind::SocketFilter, "paceline_tap", &tap(&self.state, &self.noted))
            .map_err(|error| format!("the filter that takes frames: {error}"))
    }

    /// The program for the driver that receives, and the map for the sockets that take from it.
    pub fn driver(&self) -> Result<(Program, Map), String> {
        let explain =
            |error: std::io::Error| format!("the program that takes frames from the driver: {error}");
        let sockets = Map::new(MapKind::Sockets, "paceline_xsk", 4, 64).map_err(explain)?;
        let program = Program::load(ProgramKind::Xdp, "paceline_xdp", &driver(&self.state, &sockets))
            .map_err(explain)?;
        Ok((program, sockets))
    }

    /// What is shared with the kernel.
    pub fn state(&self) -> &State {
        // SAFETY: the mapping is a page, aligned as such, and lives as long as self; a State is atomics, which may change
        // under a shared reference, and any bits are values of them.
        unsafe { &*self.mapping.at(0, size_of::<State>()).cast::<State>() }
    }

    /// The pacer is well.
    #[inline]
    pub fn beat(&self, now: Instant) {
        self.state().heartbeat_ns.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// Whether traffic bypasses.
    #[inline]
    pub fn is_tripped(&self) -> bool {
        self.state().latch.load(Ordering::Acquire) != 0
    }

    /// Takes traffic again. What the pacer held before must be gone.
    pub fn reset(&self, now: Instant) {
        self.beat(now);
        self.state().latch.store(0, Ordering::Release);
    }

    /// Takes the gate away.
    pub fn remove(&self) {
        // If it is not there any more, nor is the interface.
        let _ = self.gate.detach_ingress(self.interface);
    }

    /// Where settings to put back are noted.
    pub fn note_changed(&self, changed: Changed) {
        self.state().changed.store(changed.0, Ordering::Relaxed);
    }

    /// Nothing more is taken, and nothing bypasses.
    pub fn close(&self) {
        self.state().closed.store(1, Ordering::Release);
        self.state().latch.store(1, Ordering::Release);
    }
}

impl Drop for Bypass {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Leftover {
    /// What is on an interface's ingress from an earlier run.
    pub fn on(interface: &Interface) -> Vec<Leftover> {
        let attached = attached_to_ingress(interface.index).unwrap_or_default();
        attached
            .into_iter()
            .filter(|program| program.name == GATE)
            .filter_map(|found| {
                let state = found.maps.iter().filter_map(|id| Map::by_id(*id).ok()).find(|map| {
                    map.describe().is_ok_and(|(name, bytes)| name == STATE && bytes == STATE_BYTES)
                })?;
                let mapping = state.mapped().ok()?;
                // SAFETY: as in Bypass::state; the map has that size, and the reference does not outlive the mapping.
                let state = unsafe { &*mapping.at(0, size_of::<State>()).cast::<State>() };
                let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
                let process = read(&state.process);
                let named = std::fs::read_to_string(format!("/proc/{process}/comm"));
                let alive = named.is_ok_and(|name| name.starts_with("paceline"));
                Some(Leftover {
                    lost: read(&state.taken).saturating_sub(read(&state.settled)),
                    bypassed: read(&state.bypassed),
                    changed: Changed(read(&state.changed)),
                    running: alive.then_some(process),
                    gate: found.program,
                })
            })
            .collect()
    }

    /// Takes it away.
    pub fn remove(&self, interface: &Interface) -> std::io::Result<()> {
        self.gate.detach_ingress(interface.index)
    }
}

/// Leaves the program for `stale` unless the heartbeat is fresh and the latch is not tripped; r7 is the state.
fn unless_well(program: &mut Assembler, passed: Label, stale: Label) {
    program.load(Size::Double, R1, R7, LATCH);
    program.jump_if(R1, If::NotEqual, 0, passed);
    program.call(Helper::Now);
    program.load(Size::Double, R1, R7, HEARTBEAT);
    program.subtract(R0, R1);
    program.load(Size::Double, R2, R7, PATIENCE);
    // Signed: the heartbeat may be of a moment after this program looked at the clock.
    program.jump_if_register(R0, If::SignedGreater, R2, stale);
}

/// Trips the latch.
fn trip(program: &mut Assembler) {
    program.store_number(Size::Double, R7, LATCH, 1);
    program.set(R1, 1);
    program.count(R7, TRIPS, R1);
}

/// Points r8 to this processor's note, or goes to `without`.
fn find_note(program: &mut Assembler, noted: &Map, without: Label) {
    program.store_number(Size::Word, FRAME, -4, 0);
    program.map(R1, noted);
    program.copy(R2, FRAME);
    program.add(R2, -4);
    program.call(Helper::MapLookup);
    program.jump_if(R0, If::Equal, 0, without);
    program.copy(R8, R0);
}

fn tap(state: &Map, noted: &Map) -> Vec<Instruction> {
    let mut program = Assembler::new();
    let (left, stale) = (program.label(), program.label());
    program.copy(R6, R1);
    program.value(R7, state, 0);
    program.load(Size::Word, R1, R6, SKB_KIND);
    program.jump_if(R1, If::Equal, OUTGOING, left);
    find_note(&mut program, noted, left);
    program.store_number(Size::Double, R8, 0, 0);
    unless_well(&mut program, left, stale);
    program.store_number(Size::Double, R8, 0, 1);
    program.set(R1, 1);
    program.count(R7, TAKEN, R1);
    program.set(R0, -1); // all of it
    program.exit();
    program.place(stale);
    trip(&mut program);
    program.place(left);
    program.set(R0, 0); // nothing of it
    program.exit();
    program.finish()
}

fn gate(state: &Map, noted: &Map, to: u32) -> Vec<Instruction> {
    let mut program = Assembler::new();
    let (open, dropped) = (program.label(), program.label());
    program.copy(R6, R1);
    program.value(R7, state, 0);
    find_note(&mut program, noted, open);
    program.load(Size::Double, R1, R8, 0);
    program.store_number(Size::Double, R8, 0, 0);
    program.jump_if(R1, If::NotEqual, 0, dropped);
    program.place(open);
    program.load(Size::Double, R1, R7, CLOSED);
    program.jump_if(R1, If::NotEqual, 0, dropped);
    program.set(R1, 1);
    program.count(R7, BYPASSED, R1);
    program.load(Size::Word, R1, R6, SKB_LENGTH);
    program.count(R7, BYPASSED_BYTES, R1);
    program.set(R1, to as i32);
    program.set(R2, 0);
    program.call(Helper::Redirect);
    program.exit();
    program.place(dropped);
    program.set(R0, DROP);
    program.exit();
    program.finish()
}

fn driver(state: &Map, sockets: &Map) -> Vec<Instruction> {
    let mut program = Assembler::new();
    let (left, stale) = (program.label(), program.label());
    program.copy(R6, R1);
    program.value(R7, state, 0);
    unless_well(&mut program, left, stale);
    program.map(R1, sockets);
    program.load(Size::Word, R2, R6, XDP_QUEUE);
    program.set(R3, XDP_PASS); // where no socket takes it
    program.call(Helper::RedirectMap);
    program.jump_if(R0, If::Equal, XDP_PASS, left);
    program.set(R1, 1);
    program.count(R7, TAKEN, R1);
    program.exit();
    program.place(stale);
    trip(&mut program);
    program.place(left);
    program.set(R0, XDP_PASS);
    program.exit();
    program.finish()
}

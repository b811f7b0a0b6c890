//! What a pacer and its programs in the kernel share about one direction.

#![allow(unsafe_code, reason = "memory shared with the kernel")]

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use paceline_core::Instant;

use crate::bpf::Map;
use crate::sys::interface::Changed;
use crate::sys::memory::Mapping;
use crate::sys::word::Word;

/// The kernel's programs know the offsets.
#[repr(C)]
#[derive(Debug, Default)]
pub struct State<A = AtomicU64> {
    /// When the pacer was last well, monotonic nanoseconds.
    pub heartbeat_ns: A,
    /// How old that may be.
    pub patience_ns: A,
    /// Not 0: traffic bypasses until the pacer says otherwise.
    pub latch: A,
    /// Not 0: what the pacer does not take is dropped, as long as its heartbeat is fresh. Set while it drains.
    pub closed: A,
    /// Frames that the pacer was given.
    pub taken: A,
    /// Frames that went past it.
    pub bypassed: A,
    /// Their bytes.
    pub bypassed_bytes: A,
    /// How often the latch was tripped.
    pub trips: A,
    /// Frames that the pacer has sent, dropped by its own rules or given up: `taken` without these is what it holds.
    pub settled: A,
    /// Settings of the receiving interface to put back, see [`Changed`].
    pub changed: A,
    /// The pacer's process.
    pub process: A,
    /// Frames that were dropped while it drained.
    pub turned_away: A,
    /// Frames that the pacer has counted as lost.
    pub dropped: A,
}

pub(super) const HEARTBEAT: i16 = 0;
pub(super) const PATIENCE: i16 = 8;
pub(super) const LATCH: i16 = 16;
pub(super) const CLOSED: i16 = 24;
pub(super) const TAKEN: i16 = 32;
pub(super) const BYPASSED: i16 = 40;
pub(super) const BYPASSED_BYTES: i16 = 48;
pub(super) const TRIPS: i16 = 56;
pub(super) const TURNED_AWAY: i16 = 88;

/// Room for the state, bytes.
pub(super) const BYTES: u32 = 128;

/// The state, mapped. It says which way frames go.
#[derive(Debug)]
pub struct Shared(Mapping);

impl Shared {
    /// That of a map in the kernel.
    pub(crate) fn of(map: &Map) -> io::Result<Shared> {
        map.mapped().map(Shared)
    }

    /// One that no kernel knows, for a simulated one.
    #[cfg(test)]
    pub(crate) fn alone() -> Shared {
        Shared(Mapping::anonymous(4096).unwrap_or_else(|error| unreachable!("a page: {error}")))
    }

    /// What is shared.
    pub fn state(&self) -> &State {
        // SAFETY: the mapping is a page, aligned as such, and lives as long as self; a State is atomics, which may change
        // under a shared reference, and any bits are values of them.
        unsafe { &*self.0.at(0, size_of::<State>()).cast::<State>() }
    }
}

impl Deref for Shared {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        self.state()
    }
}

impl<A: Word<u64>> State<A> {
    /// The pacer is well.
    #[inline]
    pub fn beat(&self, now: Instant) {
        self.heartbeat_ns.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// Whether traffic bypasses.
    #[inline]
    pub fn is_tripped(&self) -> bool {
        self.latch.load(Ordering::Acquire) != 0
    }

    /// Takes traffic again. What the pacer held before must be gone.
    pub fn reset(&self, now: Instant) {
        self.beat(now);
        self.latch.store(0, Ordering::Release);
    }

    /// Nothing more is taken, and nothing bypasses while the pacer is well.
    pub fn close(&self, now: Instant) {
        self.beat(now);
        self.closed.store(1, Ordering::Release);
        self.latch.store(1, Ordering::Release);
    }

    /// Whether it is still closed: while it was not well traffic may have bypassed.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire) != 0
    }

    /// Nothing more is taken, and all bypasses: what is left of a pacer that has failed.
    pub fn open(&self) {
        self.latch.store(1, Ordering::Release);
        self.closed.store(0, Ordering::Release);
    }

    /// Where settings to put back are noted.
    pub fn note_changed(&self, changed: Changed) {
        self.changed.store(changed.0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(miri)))]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod model;

//! Fast paths that `make bench-ablation` leaves out one by one, to say what each buys.
//!
//! Without the feature `ablation` each is there, which the compiler knows: asking costs nothing. With it one program can leave out
//! any; results are the same bytes (`PACELINE_WITHOUT=NAME` for `cargo test --features ablation --test equality`).

#[cfg(feature = "ablation")]
use std::sync::atomic::{AtomicU32, Ordering};

/// A fast path that can be left out.
#[derive(Debug, Clone, Copy)]
pub enum FastPath {
    /// engine/turn.rs
    Turn,
    /// engine/plain.rs
    Plain,
    /// engine/plain.rs: the copies of its code for bare connections.
    Bare,
    /// engine/shared.rs
    Shared,
    /// engine/fan.rs
    Fan,
    /// link/running.rs: packets of one size at the links of a fan.
    FanAlike,
    /// link/running.rs: packets that count alike.
    Running,
    /// engine/lone.rs
    Lone,
    /// engine/shelf.rs
    Shelf,
    /// engine/behind.rs
    Behind,
    /// engine/pieces.rs
    Pieces,
    /// engine/inbox.rs: packets are dealt out by flow.
    Deal,
    /// engine/fetch.rs
    Fetch,
    /// engine/own.rs
    Own,
    /// engine/idle.rs
    Idle,
    /// link/ledger.rs: packets of one size at a queue.
    QueueAlike,
    /// link/ledger.rs
    Ledger,
    /// link/window.rs: a pacer is driven by its own type.
    Driven,
    /// engine/line.rs: packets are put in order by slots.
    Slots,
    /// calendar.rs: a wheel, where else is a heap.
    Wheel,
    /// engine/trial.rs
    Trial,
}

impl FastPath {
    /// All, by name.
    pub const ALL: [(&'static str, FastPath); 21] = [
        ("turn", FastPath::Turn),
        ("plain", FastPath::Plain),
        ("bare", FastPath::Bare),
        ("shared", FastPath::Shared),
        ("fan", FastPath::Fan),
        ("fan-alike", FastPath::FanAlike),
        ("running", FastPath::Running),
        ("lone", FastPath::Lone),
        ("shelf", FastPath::Shelf),
        ("behind", FastPath::Behind),
        ("pieces", FastPath::Pieces),
        ("deal", FastPath::Deal),
        ("fetch", FastPath::Fetch),
        ("own", FastPath::Own),
        ("idle", FastPath::Idle),
        ("queue-alike", FastPath::QueueAlike),
        ("ledger", FastPath::Ledger),
        ("driven", FastPath::Driven),
        ("slots", FastPath::Slots),
        ("wheel", FastPath::Wheel),
        ("trial", FastPath::Trial),
    ];

    /// It may be used.
    #[inline(always)]
    pub(crate) fn is_on(self) -> bool {
        #[cfg(feature = "ablation")]
        return LEFT_OUT.load(Ordering::Relaxed) >> self as u32 & 1 == 0;
        #[cfg(not(feature = "ablation"))]
        true
    }

    /// It is left out from now on, in the whole process.
    #[cfg(feature = "ablation")]
    pub fn leave_out(self) {
        LEFT_OUT.fetch_or(1 << self as u32, Ordering::Relaxed);
    }
}

#[cfg(feature = "ablation")]
static LEFT_OUT: AtomicU32 = AtomicU32::new(0);

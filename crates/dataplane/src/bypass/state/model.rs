//! What a tap and a gate may see of the state while the pacer changes it, as a model of memory has it.
//!
//! The programs' loads are `Acquire` here, which is what loads are on x86. A program for other machines has no such load
//! (BPF_LOAD_ACQ came with Linux 6.15): there a frame that comes in the nanoseconds in which a pacer closes may be seen to pass.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};

use super::State;
use crate::sys::word::model::{Modelled, Weak, holds};
use paceline_core::Instant;

type Modelling = State<Modelled<AtomicU64>>;

const PATIENCE: u64 = 20;
/// When all happens.
const NOW: u64 = 1000;

/// A state with a heartbeat of then, and this latch; the accesses to one of its words are weak.
fn state(heartbeat: u64, latch: u64, [on_latch, on_closed]: [Weak; 2]) -> Modelling {
    let word = |value| Modelled::<AtomicU64>::new(value, Weak::Nothing);
    State {
        heartbeat_ns: word(heartbeat),
        patience_ns: word(PATIENCE),
        latch: Modelled::<AtomicU64>::new(latch, on_latch),
        closed: Modelled::<AtomicU64>::new(0, on_closed),
        taken: word(0),
        bypassed: word(0),
        bypassed_bytes: word(0),
        trips: word(0),
        settled: word(0),
        changed: word(0),
        process: word(0),
        turned_away: word(0),
        dropped: word(0),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Way {
    Taken,
    Bypassed,
    TurnedAway,
}

/// Which way a frame goes: what [`super::super::programs`] does at a tap and at the gate behind it.
fn meet(state: &Modelling) -> Way {
    let load = |word: &Modelled<AtomicU64>| word.inner.load(Ordering::Acquire);
    let is_fresh = || NOW as i64 - load(&state.heartbeat_ns) as i64 <= load(&state.patience_ns) as i64;
    if load(&state.latch) == 0 {
        if is_fresh() {
            return Way::Taken;
        }
        state.latch.inner.store(1, Ordering::Release);
        state.trips.inner.fetch_add(1, Ordering::Relaxed);
    }
    if load(&state.closed) != 0 && is_fresh() { Way::TurnedAway } else { Way::Bypassed }
}

/// A pacer that comes to its end: what comes is taken or turned away, and never overtakes what it still holds.
fn none_passes_while_it_closes(weak: [Weak; 2]) -> bool {
    holds(move || {
        let state = Arc::new(state(NOW, 0, weak));
        let there = Arc::clone(&state);
        let kernel = loom::thread::spawn(move || [meet(&there), meet(&there)]);
        state.close(Instant::from_nanos(NOW));
        let ways = kernel.join().unwrap();
        assert!(!ways.contains(&Way::Bypassed));
        assert_ne!(ways, [Way::TurnedAway, Way::Taken]);
        assert_eq!(meet(&state), Way::TurnedAway);
    })
}

/// A pacer that comes back: whoever sees that it takes frames sees that it is well.
fn none_trips_it_as_it_comes_back(weak: [Weak; 2]) -> bool {
    holds(move || {
        let state = Arc::new(state(NOW - 10 * PATIENCE, 1, weak));
        let there = Arc::clone(&state);
        let kernel = loom::thread::spawn(move || [meet(&there), meet(&there)]);
        state.reset(Instant::from_nanos(NOW));
        let ways = kernel.join().unwrap();
        assert!(ways != [Way::Taken, Way::Bypassed] && !state.is_tripped());
        assert_eq!(meet(&state), Way::Taken);
    })
}

/// A pacer that fails, at work or at its end: a frame passes, and none is thrown away that it would have had to send.
fn all_pass_once_it_has_failed(weak: [Weak; 2]) -> bool {
    holds(move || {
        let state = Arc::new(state(NOW, 0, weak));
        let there = Arc::clone(&state);
        let kernel = loom::thread::spawn(move || [meet(&there), meet(&there)]);
        state.open();
        let ways = kernel.join().unwrap();
        assert!(!ways.contains(&Way::TurnedAway));
        assert_ne!(ways, [Way::Bypassed, Way::Taken]);
        assert_eq!(meet(&state), Way::Bypassed);
    })
}

#[test]
fn what_the_programs_see_of_a_pacer_is_never_half_of_what_it_says() {
    let strong = [Weak::Nothing; 2];
    assert!(none_passes_while_it_closes(strong));
    assert!(none_trips_it_as_it_comes_back(strong));
    assert!(all_pass_once_it_has_failed(strong));
}

#[test]
fn the_latch_must_be_released_after_what_it_stands_for() {
    let weak = [Weak::Stores, Weak::Nothing];
    assert!(!none_passes_while_it_closes(weak));
    assert!(!none_trips_it_as_it_comes_back(weak));
}

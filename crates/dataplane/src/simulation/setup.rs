//! A simulated machine under set-up, locks, taking over, giving up and the end: two or three pacers' lives on two interfaces, and
//! one after them.
//!
//! *Idea.* The lives are `pace::life`'s own code ([`life`]), each in a thread; their system calls ([`calls`]) end in a machine
//! ([`world`]) that has interfaces with settings, gates in order and a driver's program, locks, and the memory that gates share with
//! pacers, and runs the BPF programs on a frame that comes to each interface with every call. Only one thread runs at a time, and a
//! call is where another gets its turn, fails, or where the process is killed, stopped, or panics ([`script`]). The laws ([`laws`]), at
//! each interface:
//!
//! - a frame is taken by one pacer at most, not both taken and passed, and leaves once, in order;
//! - once a pacer has worked or has died there it is never without a gate, until one has come to its good end, or restores;
//! - at once where a pacer fails or panics, and 50 ms after it is killed or stopped, nothing is taken by it and nothing is dropped;
//! - a pacer that is refused changes nothing, one that cannot start leaves what it found; of two that start at once one works;
//! - who ends well leaves no gate, no driver's program, and the settings that were there before the first;
//! - another program's XDP, whenever it comes to the driver, is never taken away.
//!
//! Scripts are random, and beside these one for each call of a pacer that takes over, and for each way to fall in it.
//! A script that breaks a law is made smaller while it still does, and printed with the calls that were made.
//!
//! *What it was seen to find*, with the faults put in on purpose, and the first seed that does: gates removed where a pacer fails (1); lanes
//! closed instead of opened on a failure (1) or a panic (8), nothing done on a panic (8); no lock, with the other's heartbeat looked at (0)
//! or the other taken for dead, as one in another PID namespace was (0); a lock let go after set-up (0), locks in either order (96); the
//! earlier gate removed before the new one is put in (1); a failure at taking over undone (1155); a restore without a lock (6). By itself
//! it found that a pacer killed between changing a setting and noting it (50), right after it had put its program at the driver (22), or
//! between taking its gate away and putting settings back (78; 39 for a restore), left them changed for ever; and, in an early form, that a
//! start that failed left a setting changed that an earlier one had noted and not changed. Since other programs' XDP comes to drivers it
//! found that a note of one's own program there, killed before it was put there or replaced since, had that taken away (28); and later that a restore that could not put a setting
//! back took the gate away that says so (65569).
//!
//! *Where it ends.* The threads that pace are a stand-in of a few lines, which `simulation` has in full; interfaces stay, and no other
//! program changes the gates.

mod calls;
mod laws;
mod life;
mod script;
mod world;

use super::shrunk;
use calls::Machine;
use script::{CALLS, Ends, Plan, Script, What};

/// Scripts that are run; `make simulate` runs one for each 20 s that it simulates.
const SEEDS: u64 = 2000;

/// Runs a script to its end: what broke which law, or frames that were sent and that passed.
fn run(script: &Script) -> Result<(u64, u64), String> {
    let machine = Machine::new(script);
    std::thread::scope(|scope| {
        for (life, plan) in script.lives.iter().enumerate() {
            let process = machine.process(life);
            scope.spawn(move || life::run(&process, *plan));
        }
        let last = script.lives.len().saturating_sub(1);
        machine.pass(&mut machine.world(), last);
    });
    let mut world = machine.world();
    let now = world.now;
    world.advance(now + 200_000_000);
    world.check_refusals();
    match world.violation.take() {
        Some(problem) => Err(problem),
        None => Ok((world.sent, world.passed)),
    }
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of threads")]
fn simulated_lives_break_no_law() {
    let number = |name: &str| -> Option<u64> { std::env::var(name).ok()?.parse().ok() };
    let first = number("PACELINE_SEED").unwrap_or(0);
    let count = number("PACELINE_SIMULATED_SECONDS").map_or(SEEDS, |seconds| seconds.div_ceil(20));
    let (mut sent, mut passed) = (0, 0);
    for seed in first..first + count {
        let script = Script::random(seed);
        match run(&script) {
            Ok((by, past)) => (sent, passed) = (sent + by, passed + past),
            Err(problem) => panic!("{}", shrunk(script, problem, Script::smaller, run)),
        }
    }
    println!("{sent} frames sent, {passed} passed");
    assert!(sent > 10 * count && passed > 10 * count); // it has done something
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of threads")]
fn simulated_lives_that_fall_in_any_of_their_calls_break_no_law() {
    let shapes = [(false, false), (false, true), (true, false), (true, true)];
    let whats = [What::Fail(libc::ENOMEM), What::Kill, What::KillAfter, What::Panic];
    for ((seed, (left, xdp)), what) in (0..).zip(shapes).flat_map(|shape| whats.map(|what| (shape, what))) {
        let fails = Plan {
            start_us: Some(0),
            restores: false,
            turned: false,
            xdp: left,
            works_us: 0,
            ends: Ends::Fail,
        };
        let takes_over = Plan { start_us: Some(100_000), xdp, ends: Ends::Stop, ..fails };
        let last = Plan { start_us: None, ..takes_over };
        for call in 1..=CALLS {
            let script = Script { seed, lives: vec![fails, takes_over, last], events: vec![(1, call, what)] };
            if let Err(problem) = run(&script) {
                panic!("{}", shrunk(script, problem, Script::smaller, run));
            }
            // where another program's XDP was before the first, or comes just before it falls
            for other in [1, call] {
                let events = vec![(0, other, What::Other(0)), (0, call, what)];
                let script = Script { seed, lives: vec![fails, last], events };
                if let Err(problem) = run(&script) {
                    panic!("{}", shrunk(script, problem, Script::smaller, run));
                }
            }
        }
    }
}

//! A simulated kernel under one direction: everything that can go wrong goes wrong, in a time of its own, from a seed.
//!
//! *Idea.* The direction, its port, its rings and the BPF programs are the real ones; their calls end in [`calls`], whose kernel
//! ([`world`], [`packet`], [`xdp`]) has two interfaces and a clock, and runs the programs ([`bpf`]) on each frame that comes. A
//! script ([`script`]) says what fails when. Frames know what they are ([`traffic`]), so that the laws are checked as each
//! leaves:
//!
//! - a frame leaves at most once, whole, in order, with its own tag, by the pacer or past it;
//! - a frame that was taken has left, or is counted under its cause, and leaves no later than its method has it;
//! - after a panic at once, and 50 ms after any other failure, nothing is taken any more by a pacer that is away, and what is not
//!   taken passes;
//! - no wait ends at once for ever.
//!
//! A script that breaks one is made smaller while it still does, and printed: put into `simulation/scripts/` it is run for ever.
//!
//! [`setup`] has what is before and after that. `make simulate` runs both for longer.

mod bpf;
mod calls;
mod harness;
mod ingress;
mod packet;
mod script;
mod setup;
mod traffic;
mod world;
mod xdp;

use std::fmt::Display;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use harness::run;
use script::Script;

/// How long a script runs, simulated; under Miri, which sees what the rings' unsafe code does, a moment.
const LENGTH_US: u64 = if cfg!(miri) { 30_000 } else { 20_000_000 };

/// The smallest script found that still fails, and how.
fn shrunk<S: Display, T>(
    mut script: S,
    mut problem: String,
    smaller: impl Fn(&S) -> Vec<S>,
    run: impl Fn(&S) -> Result<T, String>,
) -> String {
    'smaller: loop {
        for candidate in smaller(&script) {
            if let Err(still) = run(&candidate) {
                (script, problem) = (candidate, still);
                continue 'smaller;
            }
        }
        return format!("{problem}\n\n{script}");
    }
}

#[test]
fn simulated_faults_break_no_law() {
    let seconds = std::env::var("PACELINE_SIMULATED_SECONDS").ok().and_then(|text| text.parse().ok());
    let first = std::env::var("PACELINE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let count = seconds
        .map_or(if cfg!(miri) { 4 } else { 12 }, |seconds: u64| seconds.div_ceil(LENGTH_US / 1_000_000));
    let (next, told) = (AtomicU64::new(first), Mutex::new(harness::Told::default()));
    let failed = AtomicBool::new(false);
    let work = || {
        while let seed = next.fetch_add(1, Relaxed)
            && seed < first + count
            && !failed.load(Relaxed)
        {
            let script = Script::random(seed, LENGTH_US);
            match run(&script) {
                Ok(one) => told.lock().unwrap().add(&one),
                Err(problem) => {
                    failed.store(true, Relaxed);
                    panic!("{}", shrunk(script, problem, Script::smaller, run));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let told = told.into_inner().unwrap();
    println!("{} s simulated: {told:?}", count * LENGTH_US / 1_000_000);
    // it has done something
    match cfg!(miri) {
        true => assert!(told.sent > 100 && told.passed > 100),
        false => assert!(told.sent > told.came / 10 && told.lives > count && told.passed > 0),
    }
}

#[test]
#[cfg_attr(miri, ignore = "20 s are too long")]
fn simulated_scripts_that_have_failed_break_no_law() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/simulation/scripts");
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let script: Script = std::fs::read_to_string(&path).unwrap().parse().unwrap();
        assert_eq!(script.to_string().parse(), Ok(script.clone()));
        if let Err(problem) = run(&script) {
            panic!("{}: {problem}", path.display());
        }
        count += 1;
    }
    assert!(count > 0);
}

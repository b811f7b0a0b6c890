//! Which pacers start when, how each ends, and what happens to each in which of its calls: made from a seed, and made smaller while
//! it still fails.

use std::fmt;

use crate::simulation::script::{Chance, hash};

/// How a pacer at work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// It is told to stop.
    Stop,
    /// The main thread finds that it cannot go on.
    Fail,
    /// A direction's thread panics.
    ThreadPanics,
    /// The main thread panics.
    Panics,
}

/// A life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// When it starts, microseconds; `None`: when all others are over.
    pub(super) start_us: Option<u64>,
    /// It is no pacer: it puts back what others have left.
    pub(super) restores: bool,
    /// `--in` and `--out` the other way round.
    pub(super) turned: bool,
    pub(super) xdp: bool,
    pub(super) works_us: u64,
    pub(super) ends: Ends,
}

/// What happens to a process in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The call fails with that error.
    Fail(i32),
    /// The process is killed before it.
    Kill,
    /// Or right after it, if it changes an interface.
    KillAfter,
    /// The main thread panics before it.
    Panic,
    /// The process is stopped before it, for so many microseconds.
    Stop(u64),
    /// Another process has its turn.
    Yield,
    /// Another program's XDP comes to the driver of an interface, whatever is there.
    Other(usize),
}

/// Lives, and what happens to which in which of its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) seed: u64,
    pub(super) lives: Vec<Plan>,
    /// The life, the number of its call, what.
    pub(super) events: Vec<(usize, u64, What)>,
}

/// About as many as a pacer makes that takes over and works for a tenth of a second.
pub(super) const CALLS: u64 = 90;
/// As it makes until it knows that it has the interfaces.
const SET_UP: u64 = 12;

impl Chance {
    /// Below one of two limits.
    fn either(&mut self, low: u64, high: u64) -> u64 {
        let limit = if self.one_in(2) { low } else { high };
        self.below(limit)
    }
}

impl Script {
    /// Two or three lives, many of them at the same moment, and one at the end that nothing happens to.
    pub(super) fn random(seed: u64) -> Script {
        let mut chance = Chance(hash(seed ^ 0x5e70));
        let count = 2 + chance.below(2) as usize;
        let mut start = 0;
        let mut lives: Vec<Plan> = (0..count)
            .map(|_| {
                start += if chance.one_in(2) { chance.below(300) } else { chance.below(250_000) };
                Plan {
                    start_us: Some(start),
                    restores: chance.one_in(6),
                    turned: chance.one_in(3),
                    xdp: chance.one_in(2),
                    works_us: chance.either(10_000, 200_000),
                    ends: [Ends::Stop, Ends::Stop, Ends::Fail, Ends::ThreadPanics, Ends::Panics]
                        [chance.below(5) as usize],
                }
            })
            .collect();
        let mut events = Vec::new();
        for life in 0..count {
            for _ in 0..chance.below(6) {
                events.push((life, chance.either(SET_UP, CALLS), What::Yield));
            }
            for _ in 0..chance.below(3) {
                let what = match chance.below(6) {
                    0 => What::Kill,
                    1 => What::KillAfter,
                    2 => What::Panic,
                    3 => What::Stop(1 + chance.either(5_000, 300_000)),
                    _ => What::Fail(
                        [libc::EPERM, libc::ENOMEM, libc::EINVAL, libc::ENODEV][chance.below(4) as usize],
                    ),
                };
                events.push((life, chance.below(CALLS), what));
            }
        }
        // drawn apart: seeds that are known to find something stay what they are
        let mut apart = Chance(hash(seed ^ 0xd21e));
        if apart.one_in(4) {
            let (life, call) = (apart.below(count as u64) as usize, 1 + apart.either(3, CALLS));
            events.push((life, call, What::Other(apart.below(2) as usize)));
        }
        let mut last = lives[0];
        (last.start_us, last.works_us, last.ends) = (None, 20_000, Ends::Stop);
        (last.restores, last.xdp) = (chance.one_in(4), chance.one_in(2));
        lives.push(last);
        Script { seed, lives, events }
    }

    /// Smaller ones that may fail as well.
    pub(super) fn smaller(&self) -> Vec<Script> {
        let mut all = Vec::new();
        for life in 0..self.lives.len() {
            let mut less = self.clone();
            less.lives.remove(life);
            less.events.retain(|(of, ..)| *of != life);
            less.events.iter_mut().filter(|(of, ..)| *of > life).for_each(|(of, ..)| *of -= 1);
            all.push(less);
        }
        for event in 0..self.events.len() {
            let mut less = self.clone();
            less.events.remove(event);
            all.push(less);
        }
        for life in 0..self.lives.len() {
            let mut change = |to: fn(&mut Plan)| {
                let mut less = self.clone();
                to(&mut less.lives[life]);
                if less != *self {
                    all.push(less);
                }
            };
            change(|plan| plan.ends = Ends::Stop);
            change(|plan| plan.xdp = false);
            change(|plan| plan.turned = false);
            change(|plan| plan.restores = false);
            change(|plan| plan.works_us /= 2);
            change(|plan| plan.start_us = plan.start_us.map(|start| start / 2));
        }
        all
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        for (life, plan) in self.lives.iter().enumerate() {
            writeln!(f, "life {life}: {plan:?}")?;
        }
        for (life, call, what) in &self.events {
            writeln!(f, "life {life}, call {call}: {what:?}")?;
        }
        Ok(())
    }
}

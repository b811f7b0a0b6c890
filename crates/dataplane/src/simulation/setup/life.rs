//! What a process does: the pacer's own code from its locks to its end, with a small stand-in for the threads that pace in between,
//! which look at the latch, beat and send as `direction` does.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use paceline_core::Span;
use serde_json::Value;

use super::calls::{Fallen, Process, Sockets};
use super::script::{Ends, Plan};
use crate::bypass::Shared;
use crate::config::{Arguments, BackEnd, Config};
use crate::direction::open_on_panic;
use crate::pace::life::{Say, end, live, restore};
use crate::pace::{Lane, PaceError};
use crate::sys::interface::Interface;
use crate::sys::system::System;

const HEARTBEAT: Span = Span::from_millis(5);

/// Lives a life, from its first turn on.
pub(super) fn run(process: &Process, plan: Plan) {
    process.wait();
    let mut is_said = false;
    let mut say = |line: &str| is_said |= line.contains("could not be put back");
    let names = if plan.turned { ["out", "in"] } else { ["in", "out"] };
    let whole = catch_unwind(AssertUnwindSafe(|| match plan.restores {
        true => restore(process, names, &mut say),
        false => paces(process, plan, names, &mut say),
    }));
    let mut world = process.world();
    let me = world.lives[process.life].clone();
    world.links.iter_mut().for_each(|link| link.excused |= is_said);
    // what keeps it from starting, and one that comes as it puts things back
    let troubles = me.failures + u64::from(world.has_other());
    if let Ok(Err(PaceError::System(problem))) = &whole
        && !plan.restores
        && troubles < 2
        && me.found.as_ref().is_some_and(|found| *found != world.as_it_is())
    {
        world.violate(format!("life {} could not start, and leaves something: {problem}", process.life));
    }
    match whole {
        Ok(Ok(())) if !me.is_disturbed => world.check_put_back(process.life),
        Ok(Err(PaceError::System(problem) | PaceError::Failed(problem, _))) => {
            let is_refused = problem.contains("a pacer is at work");
            world.lives[process.life].is_refused = is_refused;
            if is_refused && (me.found.is_some() || problem.contains('\n')) {
                world.violate(format!(
                    "life {} was refused and has changed something: {problem}",
                    process.life
                ));
            }
            let is_others = problem.contains("has an XDP program already") && world.has_other();
            if plan.start_us.is_none() && !is_others && !world.links.iter().any(|link| link.excused) {
                world.violate(format!("nothing is in the way of life {}, but: {problem}", process.life));
            }
        }
        _ => {}
    }
    drop(world);
    process.leave();
}

fn paces(process: &Process, plan: Plan, names: [&str; 2], say: Say<'_>) -> Result<(), PaceError> {
    let mut config = Config::parse("", "", &Arguments::default())?;
    config.back_end = if plan.xdp { BackEnd::AfXdp } else { BackEnd::AfPacket };
    let [first, second] = names;
    let interfaces = [Interface::of(process, first)?, Interface::of(process, second)?];
    let ports = |lanes: &[Lane<Process>; 2], _: Say<'_>| ports(process, plan, lanes);
    let work =
        |lanes: &[Lane<Process>; 2], (): &(), sockets, say: Say<'_>| work(process, plan, lanes, sockets, say);
    live(interfaces, &config, say, || Ok(()), ports, work).map(|_| ())
}

fn ports(process: &Process, plan: Plan, lanes: &[Lane<Process>; 2]) -> Result<Sockets, PaceError> {
    let sockets = Sockets(process.clone());
    let explain = |error: std::io::Error| error.to_string();
    for lane in lanes {
        let (link, bypass) = (lane.from.index as usize - 1, lane.bypass.as_ref().unwrap());
        if plan.xdp {
            let (program, map) = bypass.driver()?;
            process.open(link, None, Some(map)).map_err(explain)?;
            lane.drive(program)?;
        } else {
            process.open(link, Some(bypass.tap()?), None).map_err(explain)?;
        }
    }
    Ok(sockets)
}

/// A direction: the state that it shares, and the interface that its frames come from.
struct Direction<'a>(&'a Process, Arc<Shared>, usize);

impl Direction<'_> {
    fn begin(&self) {
        self.1.reset(self.0.now());
    }

    fn round(&self) {
        self.1.beat(self.0.now());
        if self.1.is_tripped() {
            self.discard();
            self.1.reset(self.0.now());
        }
        self.send();
    }

    fn send(&self) {
        let mut world = self.0.world();
        for number in std::mem::take(&mut world.lives[self.0.life].held[self.2]) {
            world.sent += 1;
            world.depart(self.2, number, "by its pacer");
        }
    }

    fn discard(&self) {
        self.0.world().lives[self.0.life].held[self.2].clear();
    }

    fn drain(&self) {
        self.1.beat(self.0.now());
        if self.1.is_tripped() {
            self.discard();
        }
        self.1.close(self.0.now());
        self.0.sleep_until(self.0.now() + HEARTBEAT);
        if self.1.is_closed() {
            self.send();
        }
        self.discard();
    }
}

fn work(
    process: &Process,
    plan: Plan,
    lanes: &[Lane<Process>; 2],
    sockets: Sockets,
    say: Say<'_>,
) -> Result<Value, PaceError> {
    let directions =
        lanes.each_ref().map(|lane| Direction(process, lane.shared().unwrap(), lane.from.index as usize - 1));
    {
        let mut world = process.world();
        let life = &mut world.lives[process.life];
        (life.is_at_work, life.has_begun) = (true, true);
        world.links.iter_mut().for_each(|link| link.needs_gate = true);
    }
    directions.iter().for_each(Direction::begin);
    let over = process.now() + Span::from_nanos(1000 * plan.works_us);
    for round in 1.. {
        directions.iter().for_each(Direction::round);
        if process.now() >= over {
            break;
        }
        if round % 10 == 0 {
            lanes.iter().for_each(|lane| lane.keep(say));
        }
        process.sleep_until(process.now() + HEARTBEAT);
    }
    let well = plan.ends == Ends::Stop;
    {
        let mut world = process.world();
        let life = &mut world.lives[process.life];
        (life.is_at_work, life.ends_well) = (!well, well);
        if !well {
            world.is_away(process.life, true);
        }
    }
    let waited = match plan.ends {
        Ends::Stop => Ok(()),
        Ends::Fail => Err("an interface is gone".to_owned()),
        Ends::ThreadPanics => {
            let shared = Arc::clone(&directions[0].1);
            let panics = || {
                let _gate = open_on_panic(Some(shared));
                resume_unwind(Box::new(Fallen));
            };
            assert!(std::thread::spawn(panics).join().is_err());
            Err("a thread has failed; traffic goes past it".to_owned())
        }
        Ends::Panics => resume_unwind(Box::new(Fallen)),
    };
    let join = || {
        for direction in &directions {
            match plan.ends {
                Ends::Stop => direction.drain(),
                _ => direction.1.open(),
            }
        }
        drop(sockets);
        false
    };
    match end(lanes, waited, join) {
        None => Ok(Value::Null),
        Some(problem) => Err(PaceError::Failed(problem, Value::Null)),
    }
}

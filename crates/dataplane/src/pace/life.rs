//! A pacer's life, from its locks to its end, on any [`System`].

use std::sync::Arc;

use serde_json::Value;

use super::PaceError;
use super::checks::interface;
use super::lane::{Lane, free_driver};
use super::take_over::{Leftovers, lock};
use crate::bypass::Shared;
use crate::config::{BackEnd, Config, ConfigError};
use crate::direction::Orders;
use crate::sys::interface::Interface;
use crate::sys::on_panic::OnPanic;
use crate::sys::system::System;

/// Where what is to be said goes, line by line.
pub(crate) type Say<'a> = &'a mut dyn FnMut(&str);

/// Takes the interfaces, opens lanes between them, takes over from an earlier pacer, works, and puts everything back; where it fails it
/// leaves them so that traffic passes by itself. `begin` comes before anything is changed, and what it returns lasts until all is
/// put back.
pub(crate) fn live<S: System, H, P>(
    interfaces: [Interface<S>; 2],
    config: &Config,
    say: Say<'_>,
    begin: impl FnOnce() -> Result<H, String>,
    ports: impl FnOnce(&[Lane<S>; 2], Say<'_>) -> Result<P, PaceError>,
    work: impl FnOnce(&[Lane<S>; 2], &H, P, Say<'_>) -> Result<Value, PaceError>,
) -> Result<Value, PaceError> {
    let _locks = lock(&interfaces)?;
    let leftovers = Leftovers::on(&interfaces)?;
    let [inherited, inherited_back] = leftovers.changed();

    let held = begin()?;
    let [first, second] = interfaces;
    let again = |of: &Interface<S>| Interface::of(&of.system, &of.name);
    let back = [again(&second)?, again(&first)?];
    let forward = Lane::open("forward", [first, second], inherited, config)?;
    let reverse = Lane::open("reverse", back, inherited_back, config).inspect_err(|_| forward.undo(say))?;
    let lanes = [forward, reverse];
    let result = match ports(&lanes, say) {
        Ok(ports) => pace(&lanes, &leftovers, config, say, |say| work(&lanes, &held, ports, say)),
        Err(error) => Err(error),
    };
    match &result {
        Ok(_) => lanes.iter().for_each(|lane| lane.close(say)),
        Err(PaceError::Failed(..)) => {} // traffic passes by what is there
        Err(_) => lanes.iter().for_each(|lane| lane.undo(say)),
    }
    result
}

/// Lets all traffic pass, whatever threads are at. What they hold they count themselves, or whoever finds what they have left.
fn abandon(lanes: &[(Arc<Orders>, Option<Arc<Shared>>)]) {
    for (orders, bypass) in lanes {
        orders.abandon();
        bypass.iter().for_each(|bypass| bypass.open());
    }
}

/// Takes over from an earlier pacer and paces: the summary. Where something fails all traffic passes, and stays so.
fn pace<S: System>(
    lanes: &[Lane<S>; 2],
    leftovers: &Leftovers<S>,
    config: &Config,
    say: Say<'_>,
    work: impl FnOnce(Say<'_>) -> Result<Value, PaceError>,
) -> Result<Value, PaceError> {
    let open = lanes.each_ref().map(|lane| (Arc::clone(&lane.orders), lane.shared()));
    let gates = open.clone();
    let _gates = OnPanic::new(move || abandon(&gates));
    let paced = match take_over(lanes, leftovers, config, say) {
        Ok(()) => work(say),
        Err(error) => Err(error),
    };
    paced.map_err(|error| match error {
        PaceError::Config(ConfigError(problem)) | PaceError::System(problem) => {
            abandon(&open);
            PaceError::Failed(problem, Value::Null)
        }
        failed => failed,
    })
}

/// This pacer's gates stand before what an earlier one has left, which can go.
fn take_over<S: System>(
    lanes: &[Lane<S>; 2],
    leftovers: &Leftovers<S>,
    config: &Config,
    say: Say<'_>,
) -> Result<(), PaceError> {
    leftovers.remove(lanes.each_ref().map(|lane| &lane.from), say)?;
    if config.back_end == BackEnd::AfPacket {
        lanes.iter().try_for_each(|lane| free_driver(&lane.from))?;
    }
    Ok(())
}

/// Tells the threads to end, as the wait for that has, and has them `join`, which says whether one has failed; what is wrong, if
/// anything is: then all traffic passes.
pub(crate) fn end<S: System>(
    lanes: &[Lane<S>; 2],
    waited: Result<(), String>,
    join: impl FnOnce() -> bool,
) -> Option<String> {
    for lane in lanes {
        match waited {
            Ok(()) => lane.orders.stop(),
            Err(_) => lane.orders.abandon(),
        }
    }
    let has_failed = join();
    let problem = match waited {
        Ok(()) if !has_failed => None,
        Ok(()) => Some("a thread has failed; traffic goes past it".to_owned()),
        Err(problem) => Some(problem),
    };
    if problem.is_some() {
        lanes.iter().for_each(Lane::give_up);
    }
    problem
}

/// Takes away what a killed pacer has left on two interfaces.
pub(crate) fn restore<S: System>(system: &S, names: [&str; 2], say: Say<'_>) -> Result<(), PaceError> {
    let [input, output] = names;
    let interfaces = [interface(system, "--in", input)?, interface(system, "--out", output)?];
    let _locks = lock(&interfaces)?;
    Leftovers::on(&interfaces)?.restore(interfaces.each_ref(), say)
}

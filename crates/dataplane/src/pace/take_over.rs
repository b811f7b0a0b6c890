//! One pacer an interface, and what an earlier one has left there.

use super::PaceError;
use super::lane::free_driver;
use crate::bypass::Leftover;
use crate::sys::interface::{Changed, Interface};
use crate::sys::lock;
use crate::sys::system::System;

/// What was left on each interface.
#[derive(Debug)]
pub(super) struct Leftovers<S: System>([Vec<Leftover<S>>; 2]);

/// Takes the interfaces' locks, for as long as they are held: another pacer that starts at the same moment does not get them.
pub(super) fn lock<S: System>(interfaces: &[Interface<S>; 2]) -> Result<Vec<S::Lock>, PaceError> {
    let mut sorted: Vec<_> = interfaces.iter().collect();
    // in the same order by everybody: of two that start at once one gets both
    sorted.sort_unstable_by_key(|interface| interface.index);
    sorted.into_iter().map(|interface| lock::take(interface)?.ok_or_else(|| at_work(interface))).collect()
}

fn at_work<S: System>(interface: &Interface<S>) -> PaceError {
    let process = match Leftover::on(interface).first() {
        Some(leftover) => format!(", process {}", leftover.process()),
        None => String::new(), // it has no gate
    };
    format!("{}: a pacer is at work on it{process}; stop that first", interface.name).into()
}

impl<S: System> Leftovers<S> {
    /// Finds them. The locks are held: whoever left them has ended, unless it knew of no locks.
    pub(super) fn on(interfaces: &[Interface<S>; 2]) -> Result<Leftovers<S>, PaceError> {
        let found = interfaces.each_ref().map(Leftover::on);
        for (interface, leftovers) in interfaces.iter().zip(&found) {
            if leftovers.iter().any(|leftover| leftover.is_alive(&interface.system)) {
                return Err(at_work(interface));
            }
        }
        Ok(Leftovers(found))
    }

    /// Settings of each interface to put back.
    pub(super) fn changed(&self) -> [Changed; 2] {
        self.0.each_ref().map(|leftovers| {
            Changed(leftovers.iter().fold(0, |changed, leftover| changed | leftover.changed().0))
        })
    }

    /// Takes the gates away. Where a newer one stands before them no frame has come to them since.
    pub(super) fn remove(
        &self,
        interfaces: [&Interface<S>; 2],
        say: &mut dyn FnMut(&str),
    ) -> Result<(), PaceError> {
        interfaces.into_iter().zip(&self.0).try_for_each(|(interface, left)| remove(left, interface, say))
    }

    /// Puts the settings of each interface back, and then takes its gates away: where that fails they stay, since they say what is
    /// to be put back.
    pub(super) fn restore(
        &self,
        interfaces: [&Interface<S>; 2],
        say: &mut dyn FnMut(&str),
    ) -> Result<(), PaceError> {
        let mut restored = Ok(());
        for ((interface, changed), left) in interfaces.into_iter().zip(self.changed()).zip(&self.0) {
            let put_back = interface.restore(changed).map_err(|error| format!("{}: {error}", interface.name));
            let put_back = free_driver(interface).and(put_back).map_err(PaceError::from);
            restored = restored.and(put_back.and_then(|()| remove(left, interface, say)));
        }
        restored
    }
}

fn remove<S: System>(
    leftovers: &[Leftover<S>],
    interface: &Interface<S>,
    say: &mut dyn FnMut(&str),
) -> Result<(), PaceError> {
    for leftover in leftovers {
        say(&format!(
            "{}: an earlier pacer did not end as it should: {} packets were lost in its queue, {} before that; {} have gone past it since",
            interface.name,
            leftover.lost(),
            leftover.dropped(),
            leftover.bypassed()
        ));
        leftover.remove(interface).map_err(|error| format!("{}: {error}", interface.name))?;
    }
    Ok(())
}

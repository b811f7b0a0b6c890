//! A direction as the process has it: its interface, with what was changed there, and what its thread shares.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::bypass::{Bypass, Shared, left_at_driver};
use crate::config::Config;
use crate::direction::Orders;
use crate::meters::{Cause, Meters};
use crate::metrics::Told;
use crate::port::Largest;
use crate::summary::Bypassed;
use crate::sys::interface::{Changed, Interface};
use crate::sys::kernel::Linux;
use crate::sys::system::System;

/// IEEE 802.1Q, bytes.
const VLAN_TAG: u32 = 4;

/// Where another program's XDP has come into the place of one that is to go, that is not there any more.
pub(super) fn if_there(taken: std::io::Result<()>) -> std::io::Result<()> {
    match taken {
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        taken => taken,
    }
}

/// Takes away what an earlier run has left at an interface's driver.
pub(super) fn free_driver<S: System>(interface: &Interface<S>) -> Result<(), String> {
    let Some(left) = left_at_driver(interface) else { return Ok(()) };
    if_there(interface.system.detach_xdp(interface.index, &left))
        .map_err(|error| format!("{}: {error}", interface.name))
}

/// A program at a driver, and that of an earlier run in whose place it is.
#[derive(Debug)]
struct AtDriver<P> {
    program: P,
    left: Option<P>,
}

/// A direction as others see it.
#[derive(Debug)]
pub struct Lane<S: System = Linux> {
    /// `forward` or `reverse`.
    pub name: &'static str,
    /// The interface that frames come from.
    pub from: Interface<S>,
    /// The one that they leave by.
    pub to: Interface<S>,
    /// What is measured.
    pub meters: Arc<Meters>,
    /// What lets traffic go past it.
    pub bypass: Option<Arc<Bypass<S>>>,
    /// The largest frame that can leave.
    pub(super) largest: Largest,
    pub(super) orders: Arc<Orders>,
    /// What stands before a packet in a frame that leaves, bytes: a link header, and a VLAN tag.
    overhead: u32,
    /// What this run has changed, and what an earlier one has left changed.
    changed: Cell<u64>,
    inherited: Cell<u64>,
    /// What it has put at the driver.
    driver: RefCell<Option<AtDriver<S::Program>>>,
}

impl<S: System> Lane<S> {
    /// Puts the gate at `from`, open, before that of an earlier run, and changes its settings.
    pub(super) fn open(
        name: &'static str,
        [from, to]: [Interface<S>; 2],
        inherited: Changed,
        config: &Config,
    ) -> Result<Lane<S>, String> {
        let explain = |error: std::io::Error| format!("{}: {error}", to.name);
        let overhead = to.link_header().map_err(explain)? + VLAN_TAG;
        let largest = Largest::new(to.mtu().map_err(explain)?.saturating_add(overhead));
        let bypass = match config.bypass {
            true => Some(Arc::new(Bypass::install(&from, &to, config.patience)?)),
            false => None,
        };
        let lane = Lane {
            name,
            from,
            to,
            meters: Arc::default(),
            bypass,
            largest,
            orders: Arc::default(),
            overhead,
            changed: Cell::new(0),
            inherited: Cell::new(inherited.0),
            driver: RefCell::new(None),
        };
        if let Err(error) = lane.prepare() {
            lane.undo(&mut |_| {});
            return Err(format!("{}: settings: {error}", lane.from.name));
        }
        Ok(lane)
    }

    /// What is to be put back is noted before it is changed: whoever comes to it puts it back, whenever this one is killed.
    fn prepare(&self) -> std::io::Result<()> {
        let wanted = self.from.unprepared()?;
        self.change(wanted);
        let done = self.from.prepare(wanted);
        self.changed.set(done.as_ref().map_or(0, |done| done.0));
        self.note();
        done.map(|_| ())
    }

    /// The outgoing interface now takes packets of that size.
    pub(super) fn follow(&self, mtu: u32) {
        self.largest.set(mtu.saturating_add(self.overhead));
    }

    /// Something was changed that is to be put back, by whoever comes to it.
    fn change(&self, settings: Changed) {
        self.changed.set(self.changed.get() | settings.0);
        self.note();
    }

    /// Puts the program at the driver, in the place of what an earlier run has left there.
    #[cfg(feature = "xdp")]
    pub(crate) fn drive(&self, program: S::Program) -> Result<(), String> {
        let (system, name) = (&self.from.system, &self.from.name);
        let left = left_at_driver(&self.from);
        let attached = system.attach_xdp(self.from.index, &program, left.as_ref());
        attached.map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY | libc::EEXIST) => {
                format!("{name}: has an XDP program already; take it away: ip link set dev {name} xdp off")
            }
            Some(libc::EOPNOTSUPP) => {
                format!("{name}: its driver has no XDP; write --back-end af_packet")
            }
            _ => format!("{name}: its driver does not take the program: {error}"),
        })?;
        self.driver.replace(Some(AtDriver { program, left }));
        Ok(())
    }

    /// Puts its programs back where they were taken away.
    pub(crate) fn keep(&self, say: &mut dyn FnMut(&str)) {
        let Some(bypass) = &self.bypass else { return };
        let is_back = bypass.keep();
        let driver = self.driver.borrow();
        let put = |program: &S::Program| self.from.system.attach_xdp(self.from.index, program, None).is_ok();
        if driver.as_ref().is_some_and(|driver| put(&driver.program)) | is_back {
            say(&format!("{}: its program had been taken away, and is back", self.from.name));
        }
    }

    fn note(&self) {
        if let Some(bypass) = &self.bypass {
            bypass.shared().note_changed(Changed(self.changed.get() | self.inherited.get()));
        }
    }

    /// It has come to its end: all is as it was before the pacer, or before the earlier one.
    pub(super) fn close(&self, say: &mut dyn FnMut(&str)) {
        let driver = self.driver.take().map(|driver| AtDriver { left: None, ..driver });
        self.put_back(driver, Changed(self.changed.get() | self.inherited.get()), say);
    }

    /// It has not begun: all is as it was, what an earlier run has left too.
    pub(super) fn undo(&self, say: &mut dyn FnMut(&str)) {
        self.put_back(self.driver.take(), Changed(self.changed.get()), say);
    }

    /// The gate goes last: until then it says what is to be put back.
    fn put_back(&self, driver: Option<AtDriver<S::Program>>, changed: Changed, say: &mut dyn FnMut(&str)) {
        let (system, index) = (&self.from.system, self.from.index);
        let driver = driver.map_or(Ok(()), |AtDriver { program, left }| match left {
            Some(left) => system.attach_xdp(index, &left, Some(&program)),
            None => system.detach_xdp(index, &program),
        });
        if let Err(error) = if_there(driver).and(self.from.restore(changed)) {
            say(&format!("{}: its settings could not be put back: {error}", self.from.name));
        }
        if let Some(bypass) = &self.bypass {
            bypass.remove();
        }
    }

    /// What is shared with the programs that let traffic go past it.
    pub(crate) fn shared(&self) -> Option<Arc<Shared>> {
        self.bypass.as_ref().map(|bypass| Arc::clone(bypass.shared()))
    }

    /// It has failed, and its thread has ended: all that comes passes, and what the thread held and has not counted is lost.
    pub(super) fn give_up(&self) {
        let Some(bypass) = &self.bypass else { return };
        let shared = bypass.shared();
        shared.open();
        let held = shared.state().taken.load(Relaxed).wrapping_sub(self.meters.settled());
        self.meters.drop_for(Cause::Outage, (held as i64).max(0) as u64);
        shared.state().settled.store(self.meters.settled(), Relaxed);
        shared.state().dropped.store(self.meters.dropped_in_all(), Relaxed);
    }

    pub(super) fn told(&self) -> Told {
        Told { name: self.name, meters: Arc::clone(&self.meters), bypass: self.shared() }
    }

    /// What went past it.
    pub fn bypassed(&self) -> Option<Bypassed> {
        let state = self.bypass.as_ref()?.shared().state();
        let (packets, bytes) = (state.bypassed.load(Relaxed), state.bypassed_bytes.load(Relaxed));
        Some(Bypassed { packets, bytes, trips: state.trips.load(Relaxed) })
    }
}

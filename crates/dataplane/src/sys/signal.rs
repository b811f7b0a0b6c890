//! Signals that a program waits for instead of being interrupted by.

#![allow(unsafe_code, reason = "system calls")]

use paceline_core::Span;
use paceline_core::units::NANOS_PER_SECOND;

/// What a pacer is told by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT or SIGTERM: come to an end.
    Stop,
    /// SIGHUP: read the settings again.
    Reload,
}

/// Signals that this thread, and those that it starts, do not get; until it is dropped.
#[derive(Debug)]
pub struct Held {
    set: libc::sigset_t,
    before: libc::sigset_t,
}

impl Held {
    /// Holds them back.
    pub fn new() -> Held {
        // SAFETY: a sigset_t is integers, for which zero is a value; the calls fill in valid references.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            Held { set, before }
        }
    }

    /// Waits for one, so long.
    pub fn wait(&self, most: Span) -> Option<Signal> {
        let time = libc::timespec {
            tv_sec: (most.as_nanos() / NANOS_PER_SECOND) as libc::time_t,
            tv_nsec: (most.as_nanos() % NANOS_PER_SECOND) as libc::c_long,
        };
        // SAFETY: a set and a time behind valid references; what came with the signal is not asked for.
        match unsafe { libc::sigtimedwait(&raw const self.set, std::ptr::null_mut(), &raw const time) } {
            libc::SIGHUP => Some(Signal::Reload),
            libc::SIGINT | libc::SIGTERM => Some(Signal::Stop),
            _ => None,
        }
    }
}

impl Default for Held {
    fn default() -> Self {
        Held::new()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the mask that was there before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

//! Signals that a program reads, among other things that it waits for, instead of being interrupted by them.

#![allow(unsafe_code, reason = "system calls")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

/// What a pacer is told by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT or SIGTERM: come to an end.
    Stop,
    /// SIGHUP: read the settings again.
    Reload,
    /// SIGUSR1, where a test has asked for it: fail.
    #[cfg(debug_assertions)]
    Panic,
}

/// Signals that this thread, and those that it starts, do not get; until it is dropped.
#[derive(Debug)]
pub struct Held {
    pending: OwnedFd,
    before: libc::sigset_t,
}

impl Held {
    /// Holds them back.
    pub fn new() -> io::Result<Held> {
        // SAFETY: a sigset_t is integers, for which zero is a value; the calls fill in valid references; the descriptor is new
        // and owned by nothing else.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&raw mut set, signal);
            }
            #[cfg(debug_assertions)]
            if std::env::var_os("PACELINE_PANICS").is_some() {
                libc::sigaddset(&raw mut set, libc::SIGUSR1);
            }
            let flags = libc::SFD_NONBLOCK | libc::SFD_CLOEXEC;
            let pending = OwnedFd::from_raw_fd(check(libc::signalfd(-1, &raw const set, flags))?);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            Ok(Held { pending, before })
        }
    }

    /// The next one that has come.
    pub fn next(&self) -> Option<Signal> {
        // SAFETY: a signalfd_siginfo is integers, for which zero is a value; the kernel writes at most its size.
        let (read, told) = unsafe {
            let mut told: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of_val(&told);
            (libc::read(self.pending.as_raw_fd(), (&raw mut told).cast(), size), told)
        };
        match (usize::try_from(read).ok()?, told.ssi_signo as libc::c_int) {
            (_, libc::SIGHUP) => Some(Signal::Reload),
            #[cfg(debug_assertions)]
            (_, libc::SIGUSR1) => Some(Signal::Panic),
            (1.., _) => Some(Signal::Stop),
            (0, _) => None,
        }
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pending.as_fd()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the mask that was there before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

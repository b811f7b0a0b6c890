//! Signals that a program reads, among other things that it waits for, instead of being interrupted by them.
//!
//! *Idea.* The thread that reads them holds them back and has a descriptor on which they wait (signalfd); threads that it starts
//! hold them back as well, so that no system call of theirs is cut short. But a process may have others, NumPy's or Python's
//! own, and the kernel gives a signal to any thread that does not hold it back. So there is a handler for those, which
//! hands the signal on to the thread that reads (`signal/handler.rs`). Several may read: each is told.
//!
//! *References.* signal(7), signalfd(2); signal-safety(7), of what a handler may do.

#![allow(unsafe_code, reason = "system calls")]

mod handler;

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;
use handler::Reader;

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

/// Those that are read. SIGUSR1 kills otherwise, as it does by default.
fn read() -> Vec<libc::c_int> {
    #[cfg(debug_assertions)]
    if std::env::var_os("PACELINE_PANICS").is_some() {
        return handler::SIGNALS.to_vec();
    }
    handler::SIGNALS.into_iter().filter(|signal| *signal != libc::SIGUSR1).collect()
}

/// Signals of this process are this thread's to read, and interrupt neither it nor those that it starts; until it is dropped, when
/// what was there before is put back.
#[derive(Debug)]
pub struct Held {
    pending: OwnedFd,
    before: libc::sigset_t,
    reader: Reader,
    /// It was told to stop: to say so once more says nothing new.
    stopping: Cell<bool>,
    /// What is handed on waits in the thread.
    _of_this_thread: PhantomData<*const ()>,
}

impl Held {
    /// Holds them back.
    pub fn new() -> io::Result<Held> {
        let signals = read();
        // SAFETY: a sigset_t is integers, for which zero is a value; the calls fill in valid references; the descriptor is new
        // and owned by nothing else.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in &signals {
                libc::sigaddset(&raw mut set, *signal);
            }
            let flags = libc::SFD_NONBLOCK | libc::SFD_CLOEXEC;
            let pending = OwnedFd::from_raw_fd(check(libc::signalfd(-1, &raw const set, flags))?);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
            let back = |error| {
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
                error
            };
            let reader = Reader::new(&signals).map_err(back)?;
            Ok(Held { pending, before, reader, stopping: Cell::new(false), _of_this_thread: PhantomData })
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
        if read <= 0 {
            return None;
        }
        let signal = told.ssi_signo as libc::c_int;
        if told.ssi_code != libc::SI_TKILL {
            self.reader.tell_others(signal); // it was for the process, and not handed on
        }
        match signal {
            libc::SIGHUP => Some(Signal::Reload),
            #[cfg(debug_assertions)]
            libc::SIGUSR1 => Some(Signal::Panic),
            _ => {
                self.stopping.set(true);
                Some(Signal::Stop)
            }
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
        self.reader.leave();
        while self.stopping.get() && self.next().is_some() {}
        // SAFETY: the mask that was there before. What still waits comes to what is there now.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

//! What a signal does that comes to a thread which does not read them: it is handed on to those that do.
//!
//! The handler calls nothing but getpid, tgkill, sigaction and raise, reads atomics, and leaves errno as it was. In a child that
//! was forked since, no thread reads it: there the handler puts back what was before, and the signal does that.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use crate::sys::check;

/// Those that are ever handled.
pub(super) const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1];

/// The threads of this process that read signals; 0 is a free place.
static READERS: [AtomicI32; 64] = [const { AtomicI32::new(0) }; 64];
/// The process that they are of: not a child of it.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// One thread at a time changes who reads, and handlers.
static CHANGE: Mutex<()> = Mutex::new(());
/// What each signal did before.
static BEFORE: Before = Before(UnsafeCell::new([const { MaybeUninit::uninit() }; SIGNALS.len()]));

struct Before(UnsafeCell<[MaybeUninit<libc::sigaction>; SIGNALS.len()]>);

// SAFETY: a place is written under `CHANGE`, while the handler of its signal is not this one, and read under `CHANGE` or by that
// handler.
unsafe impl Sync for Before {}

/// A thread's place among those that read.
#[derive(Debug)]
pub(super) struct Reader {
    place: &'static AtomicI32,
    thread: libc::pid_t,
}

impl Reader {
    /// This thread reads these signals from now on.
    pub(super) fn new(signals: &[libc::c_int]) -> io::Result<Reader> {
        let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: no pointers.
        let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
        if PROCESS.swap(process, SeqCst) != process {
            READERS.iter().for_each(|place| place.store(0, SeqCst)); // the parent's
        }
        let free = READERS.iter().find(|place| place.load(SeqCst) == 0);
        let place = free.ok_or_else(|| io::Error::other("too many pacers in one process"))?;
        place.store(thread, SeqCst);
        let reader = Reader { place, thread };
        for signal in signals {
            install(*signal).inspect_err(|_| leave(place))?;
        }
        Ok(reader)
    }

    /// It does not any more. The last one puts back what there was before.
    pub(super) fn leave(&self) {
        let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        leave(self.place);
    }

    /// What this one was told is the others' as well.
    pub(super) fn tell_others(&self, signal: libc::c_int) {
        // SAFETY: no pointers.
        hand_on(unsafe { libc::getpid() }, signal, self.thread);
    }
}

/// Under `CHANGE`.
fn leave(place: &AtomicI32) {
    if READERS.iter().all(|other| std::ptr::eq(other, place) || other.load(SeqCst) == 0) {
        SIGNALS.into_iter().filter(|signal| is_handled(*signal)).for_each(put_back);
    }
    place.store(0, SeqCst); // now, so that a handler that runs has one to tell
}

fn handle() -> libc::sighandler_t {
    on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t
}

/// What a signal does now.
fn now(signal: libc::c_int) -> io::Result<libc::sigaction> {
    let mut action = MaybeUninit::zeroed();
    // SAFETY: the kernel fills in a valid reference; a sigaction is integers, for which zero is a value.
    unsafe {
        check(libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()))?;
        Ok(action.assume_init())
    }
}

fn is_handled(signal: libc::c_int) -> bool {
    now(signal).is_ok_and(|action| action.sa_sigaction == handle())
}

/// Handles a signal, unless it is handled already. Under `CHANGE`.
fn install(signal: libc::c_int) -> io::Result<()> {
    let before = now(signal)?;
    if before.sa_sigaction == handle() {
        return Ok(());
    }
    // SAFETY: of `BEFORE`, see there; the kernel reads a valid sigaction. The others wait while it runs, so that none comes twice
    // to a thread's stack.
    unsafe {
        if let Some((_, place)) = places().find(|(of, _)| *of == signal) {
            (*place).write(before);
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle();
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&raw mut action.sa_mask);
        check(libc::sigaction(signal, &raw const action, std::ptr::null_mut())).map(|_| ())
    }
}

/// Each signal, and where what it did before is kept.
fn places() -> impl Iterator<Item = (libc::c_int, *mut MaybeUninit<libc::sigaction>)> {
    let first = BEFORE.0.get().cast::<MaybeUninit<libc::sigaction>>();
    // SAFETY: as many places as signals.
    SIGNALS.into_iter().enumerate().map(move |(index, signal)| (signal, unsafe { first.add(index) }))
}

/// Lets a signal that is handled do what it did before.
fn put_back(signal: libc::c_int) {
    for (_, place) in places().filter(|(of, _)| *of == signal) {
        // SAFETY: it was written before the signal was handled; the kernel reads a valid sigaction.
        unsafe { libc::sigaction(signal, (*place).as_ptr(), std::ptr::null_mut()) };
    }
}

/// Whether some thread other than `except` reads signals; each of them is told.
fn hand_on(process: libc::pid_t, signal: libc::c_int, except: libc::pid_t) -> bool {
    let mut told = false;
    for reader in &READERS {
        let thread = reader.load(SeqCst);
        if thread != 0 && thread != except {
            // SAFETY: integers only.
            told |= unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) } == 0;
        }
    }
    told
}

extern "C" fn on_signal(signal: libc::c_int) {
    // SAFETY: errno is this thread's own; the rest takes integers, or what `put_back` says.
    unsafe {
        let errno = libc::__errno_location();
        let kept = *errno;
        let process = libc::getpid();
        if process != PROCESS.load(SeqCst) {
            put_back(signal);
            libc::raise(signal);
        } else if !hand_on(process, signal, 0) {
            libc::raise(signal); // the last one has just left, and has put back what there was
        }
        *errno = kept;
    }
}

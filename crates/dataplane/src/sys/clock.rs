//! The monotonic clock, and waiting for it: asleep until shortly before, then awake.
//!
//! *Idea.* A timer wakes a thread tens of microseconds late; one that runs looks at the clock every few nanoseconds. So a
//! wait sleeps until `spin` before its end and spins from there.

#![allow(unsafe_code, reason = "system calls")]

use std::os::fd::{AsRawFd, BorrowedFd};

use paceline_core::units::NANOS_PER_SECOND;
use paceline_core::{Instant, Span};

/// Nanoseconds on `clock`.
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a timespec behind a valid reference; the clocks asked for exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * NANOS_PER_SECOND + time.tv_nsec as u64
}

/// Now, on the clock that BPF programs see as well.
#[inline]
pub fn now() -> Instant {
    Instant::from_nanos(read(libc::CLOCK_MONOTONIC))
}

/// Processor time that this thread has taken, nanoseconds.
pub fn processor_time_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// What to take from a wall-clock time, in nanoseconds, to have it on the monotonic clock.
pub fn wall_offset() -> i64 {
    // The wall clock between two readings of the other; the closest of a few pairs.
    let pairs = (0..5).map(|_| {
        let before = read(libc::CLOCK_MONOTONIC);
        let wall = read(libc::CLOCK_REALTIME);
        let after = read(libc::CLOCK_MONOTONIC);
        (after - before, wall as i64 - ((before + after) / 2) as i64)
    });
    pairs.min().map_or(0, |(_, offset)| offset)
}

/// Sleeps until then.
pub fn sleep_until(at: Instant) {
    let nanos = at.as_nanos();
    let time = libc::timespec {
        tv_sec: (nanos / NANOS_PER_SECOND) as libc::time_t,
        tv_nsec: (nanos % NANOS_PER_SECOND) as libc::c_long,
    };
    // SAFETY: the kernel reads a valid timespec. A signal ends the sleep early, which callers expect.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        )
    };
}

/// Sleeps until something can be read from `readable`, or so long: what poll(2) says of it, 0 where the time is over.
pub fn wait_for(readable: BorrowedFd<'_>, most: Span) -> libc::c_short {
    let mut poll = libc::pollfd { fd: readable.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec {
        tv_sec: (most.as_nanos() / NANOS_PER_SECOND) as libc::time_t,
        tv_nsec: (most.as_nanos() % NANOS_PER_SECOND) as libc::c_long,
    };
    // SAFETY: one pollfd and one timespec behind valid references; no signal mask.
    let ready = unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) };
    if ready > 0 { poll.revents } else { 0 }
}

/// What a descriptor is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll {
    /// Something to read, or its end.
    Readable,
    /// Room to write.
    Writable,
}

/// Sleeps until one of them is as it is waited for, or so long: which are.
pub fn poll(waits: &[(BorrowedFd<'_>, Poll)], most: Span) -> Vec<bool> {
    let mut polls: Vec<libc::pollfd> = waits
        .iter()
        .map(|(fd, what)| libc::pollfd {
            fd: fd.as_raw_fd(),
            events: if *what == Poll::Readable { libc::POLLIN } else { libc::POLLOUT },
            revents: 0,
        })
        .collect();
    let milliseconds = libc::c_int::try_from(most.as_nanos() / 1_000_000).unwrap_or(libc::c_int::MAX);
    // SAFETY: so many pollfds behind a valid pointer.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, milliseconds) };
    polls.iter().map(|poll| poll.revents != 0).collect()
}

/// Whether a little can be written within so long, without having to wait for a reader.
pub fn is_writable(writable: BorrowedFd<'_>, most: Span) -> bool {
    poll(&[(writable, Poll::Writable)], most) == [true]
}

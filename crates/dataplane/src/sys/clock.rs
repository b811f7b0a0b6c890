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

/// Sleeps until something can be read from `readable`, or so long; whether there is something.
pub fn wait_for(readable: BorrowedFd<'_>, most: Span) -> bool {
    let mut poll = libc::pollfd { fd: readable.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec {
        tv_sec: (most.as_nanos() / NANOS_PER_SECOND) as libc::time_t,
        tv_nsec: (most.as_nanos() % NANOS_PER_SECOND) as libc::c_long,
    };
    // SAFETY: one pollfd and one timespec behind valid references; no signal mask.
    unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) > 0 }
}

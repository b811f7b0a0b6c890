//! How a thread is scheduled.

#![allow(unsafe_code, reason = "system calls")]

use std::io;

use super::check;

/// What this thread, or if it is the first the process, is called.
pub fn name(name: &str) {
    let name: Vec<u8> = name.bytes().take(15).chain([0]).collect();
    // SAFETY: a string that ends in a zero, which the kernel copies.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0) };
}

/// This thread goes before all that is not real-time.
pub fn realtime(priority: u8) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority.into() };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads a valid sched_param; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) }).map(|_| ())
}

/// This thread goes with all others.
pub(crate) fn ordinary() {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads a valid sched_param; 0 is the calling thread. It was allowed more.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) };
}

/// This thread's timers are not to be put off (they are, by 50 us, where it is not real-time).
pub fn prompt_timers() {
    // SAFETY: integers only. That it cannot be done is no reason to stop.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Keeps all memory in place that is used; without it a page may have to be fetched while a frame waits.
///
/// What the allocator has reserved is locked when it is first used: a gigabyte would be filled at once.
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: integers only.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT) }).map(|_| ())
}

/// Stays on that processor.
pub fn pin(processor: usize) -> io::Result<()> {
    // SAFETY: a cpu_set_t is integers, for which zero is a value; CPU_SET checks its bound.
    let returned = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if processor >= 8 * size_of::<libc::cpu_set_t>() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    check(returned).map(|_| ())
}

//! Calls of the kernel that the standard library does not make. All `unsafe` of this crate is here and in [`socket`].
#![allow(unsafe_code)]

mod socket;

pub(crate) use socket::{Address, Socket};

use std::fs::File;
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::time::Duration;

/// Bytes, descriptors and such as a call returns them, or the error that it left.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn transferred(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// The monotonic clock, ns.
#[must_use]
pub(crate) fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// The wall clock, ns since 1970: time stamps of the kernel are of this one.
#[must_use]
pub(crate) fn wall_clock() -> u64 {
    clock(libc::CLOCK_REALTIME)
}

fn clock(which: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `time` is a timespec to write to, and zero is a valid one should the call fail.
    let time = unsafe {
        libc::clock_gettime(which, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time of this process, user and system, seconds.
#[must_use]
pub(crate) fn cpu_seconds() -> f64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID) as f64 / 1e9
}

/// Takes a name that others see, and has the kernel end this process when its parent ends, however that happens.
///
/// # Errors
/// Never, on a Linux of this century.
pub(crate) fn become_child(name: &std::ffi::CStr) -> io::Result<()> {
    // SAFETY: takes numbers only, and `name`, which ends in a zero and is copied.
    unsafe {
        checked(libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0))?;
        checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0))?;
    }
    Ok(())
}

/// Before everything without a real-time priority, and what is there now not paged out; whether the priority was granted.
#[must_use]
pub(crate) fn become_real_time(priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: `parameters` outlives the call; mlockall takes a number.
    unsafe {
        // Not what comes: where that is limited, allocations would fail. Nor what the allocator has reserved and not used.
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0
    }
}

/// While what is returned is kept, processors that idle do not halt, and wake in a few us in the place of a hundred (Linux
/// `Documentation/power/pm_qos_interface.rst`). `None` where that is not granted.
#[must_use]
pub(crate) fn keep_processors_awake() -> Option<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// Lets this process have as many descriptors as it may.
pub(crate) fn raise_descriptor_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives the calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Sockets made from now on by this thread are in the network namespace behind `namespace`.
///
/// # Errors
/// No permission, or no namespace.
pub(crate) fn enter_namespace(namespace: i32) -> io::Result<()> {
    // SAFETY: takes numbers only.
    checked(unsafe { libc::setns(namespace, libc::CLONE_NEWNET) })?;
    Ok(())
}

/// Descriptors to watch for something to read.
#[derive(Debug)]
pub(crate) struct Watched {
    polled: Vec<libc::pollfd>,
}

impl Watched {
    /// These, in this order.
    pub(crate) fn new(descriptors: impl IntoIterator<Item = i32>) -> Self {
        let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        Watched { polled: descriptors.into_iter().map(watch).collect() }
    }

    /// Waits until there is something to read, for so long at most: whether there is.
    pub(crate) fn wait(&mut self, longest: Duration) -> bool {
        let timeout = libc::timespec {
            tv_sec: longest.as_secs() as libc::time_t,
            tv_nsec: longest.subsec_nanos().into(),
        };
        let count = self.polled.len() as libc::nfds_t;
        // SAFETY: `polled` has `count` entries, and both it and `timeout` outlive the call; no signal mask is given.
        let ready =
            unsafe { libc::ppoll(self.polled.as_mut_ptr(), count, &raw const timeout, std::ptr::null()) };
        if ready <= 0 {
            self.polled.iter_mut().for_each(|polled| polled.revents = 0);
        }
        ready > 0
    }

    /// After a wait: whether the descriptor at that place has something to read, or has ended.
    #[must_use]
    pub(crate) fn is_ready(&self, place: usize) -> bool {
        self.polled.get(place).is_some_and(|polled| polled.revents != 0)
    }
}

/// Whether there is something to read, or an end of it.
#[must_use]
pub(crate) fn readable(descriptor: i32) -> bool {
    Watched::new([descriptor]).wait(Duration::ZERO)
}

/// Reads once.
///
/// # Errors
/// `WouldBlock` where there is nothing; else what is wrong with it.
pub(crate) fn read(descriptor: i32, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: writes at most the length of `into` to it.
    transferred(unsafe { libc::read(descriptor, into.as_mut_ptr().cast(), into.len()) })
}

/// Writes once.
///
/// # Errors
/// `WouldBlock` where there is no room; else what is wrong with it.
pub(crate) fn write(descriptor: i32, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: reads at most the length of `bytes` from it.
    transferred(unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) })
}

/// Readiness of sockets.
#[derive(Debug)]
pub(crate) struct Poll {
    epoll: i32,
    events: Vec<libc::epoll_event>,
}

impl Poll {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// No descriptors left.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: takes a number.
        let epoll = checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Poll { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; 256] })
    }

    /// Tells of changes of this socket, until it is closed.
    ///
    /// # Errors
    /// It is watched already, or no socket.
    pub(crate) fn watch(&self, socket: i32, token: u64) -> io::Result<()> {
        let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: `event` outlives the call.
        checked(unsafe { libc::epoll_ctl(self.epoll, libc::EPOLL_CTL_ADD, socket, &raw mut event) })?;
        Ok(())
    }

    /// Waits for changes, for so long at most: the tokens of the sockets that have changed.
    pub(crate) fn wait(&mut self, longest: Duration) -> Vec<u64> {
        if !Watched::new([self.epoll]).wait(longest) {
            return Vec::new();
        }
        // SAFETY: `events` has room for as many as is said.
        let count =
            unsafe { libc::epoll_wait(self.epoll, self.events.as_mut_ptr(), self.events.len() as i32, 0) };
        self.events.iter().take(usize::try_from(count).unwrap_or(0)).map(|event| event.u64).collect()
    }
}

//! The kernel's side: descriptors, mapped memory, clocks, scheduling, interfaces. All that is unsafe in this crate is in here
//! and in the back ends, each block with its reason.

pub mod capability;
pub mod clock;
pub mod interface;
pub mod kernel;
pub mod links;
pub mod lock;
pub mod memory;
pub mod netlink;
pub(crate) mod on_panic;
mod routes;
pub mod signal;
pub(crate) mod stderr;
pub mod system;
pub mod terminal;
pub mod thread;
pub mod use_of;
pub mod word;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What a system call returned, or why it failed.
pub(crate) fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

/// Opens a socket that children do not inherit.
#[allow(unsafe_code, reason = "system calls")]
pub(crate) fn socket(domain: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor returned is new and owned by nothing else.
    unsafe {
        let fd = check(libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Sets an option of a socket to a plain value: integers, or a C structure of them.
#[allow(unsafe_code, reason = "system calls")]
pub(crate) fn set_option<T: Copy>(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: the kernel reads size_of::<T>() bytes behind a reference that is valid for as many.
    let returned = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    check(returned).map(|_| ())
}

/// Reads an option of a socket into a plain value; how many bytes of it were filled.
#[allow(unsafe_code, reason = "system calls")]
pub(crate) fn option<T: Copy>(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &mut T,
) -> io::Result<usize> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes behind a reference that is valid for as many; T is integers.
    let returned = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, std::ptr::from_mut(value).cast(), &raw mut length)
    };
    check(returned).map(|_| length as usize)
}

/// The number of the interface that a packet socket is bound to.
#[allow(unsafe_code, reason = "system calls")]
fn bound_to(socket: &OwnedFd) -> Option<u32> {
    // SAFETY: a sockaddr_ll is integers, for which zero is a value; the kernel writes at most `length` bytes.
    let (returned, address) = unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let to = (&raw mut address).cast::<libc::sockaddr>();
        (libc::getsockname(socket.as_raw_fd(), to, &raw mut length), address)
    };
    (returned == 0).then_some(address.sll_ifindex as u32)
}

/// Binds a socket to an address of its family.
#[allow(unsafe_code, reason = "system calls")]
pub(crate) fn bind<A: Copy>(socket: &OwnedFd, address: &A) -> io::Result<()> {
    // SAFETY: the kernel reads size_of::<A>() bytes behind a valid reference.
    let returned = unsafe {
        libc::bind(socket.as_raw_fd(), std::ptr::from_ref(address).cast(), size_of::<A>() as libc::socklen_t)
    };
    check(returned).map(|_| ())
}

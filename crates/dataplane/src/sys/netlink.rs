//! The one netlink message that is needed: a program put at a driver, or taken from there.
//!
//! *References.* rtnetlink(7); linux/if_link.h.

#![allow(unsafe_code, reason = "system calls")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{check, socket};

const SETLINK: u16 = 19;
const REQUEST_ACK: u16 = 0x1 | 0x4;
const IFLA_XDP: u16 = 43 | 0x8000; // nested
const IFLA_XDP_FD: u16 = 1;
const IFLA_XDP_FLAGS: u16 = 3;
/// Fails where there is one.
const IF_NONE: u32 = 1;
/// By the driver itself, before the kernel has made anything of the frame.
const NATIVE: u32 = 4;

/// Puts a program at an interface's driver, in the place of the one there if it `replaces`, at once and without a frame between.
/// It stays when the program that did so has ended.
pub fn attach_xdp(interface: u32, program: &OwnedFd, replaces: bool) -> io::Result<()> {
    set_xdp(interface, program.as_raw_fd(), if replaces { NATIVE } else { IF_NONE | NATIVE })
}

/// Takes the program at an interface's driver away.
pub fn detach_xdp(interface: u32) -> io::Result<()> {
    set_xdp(interface, -1, NATIVE)
}

fn set_xdp(interface: u32, program: i32, flags: u32) -> io::Result<()> {
    let attribute =
        |kind: u16, value: [u8; 4]| [&8u16.to_ne_bytes()[..], &kind.to_ne_bytes(), &value].concat();
    let nested =
        [attribute(IFLA_XDP_FD, program.to_ne_bytes()), attribute(IFLA_XDP_FLAGS, flags.to_ne_bytes())];
    let nested = nested.concat();
    // struct ifinfomsg: family, kind, index, flags, mask
    let mut link = vec![0u8; 16];
    link.splice(4..8, interface.to_ne_bytes());
    let mut body = link;
    body.extend((4 + nested.len() as u16).to_ne_bytes());
    body.extend(IFLA_XDP.to_ne_bytes());
    body.extend(nested);
    // struct nlmsghdr: length, kind, flags, number, port
    let mut message = (16 + body.len() as u32).to_ne_bytes().to_vec();
    message.extend(SETLINK.to_ne_bytes());
    message.extend(REQUEST_ACK.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);

    let netlink = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    // SAFETY: a buffer and its length; the kernel reads it.
    let sent = unsafe { libc::send(netlink.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    check(sent as libc::c_int)?;
    let mut answer = [0u8; 4096];
    // SAFETY: a buffer and its length; the kernel writes no more.
    let got = unsafe { libc::recv(netlink.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    check(got as libc::c_int)?;
    // behind the header an error number, 0 if all is well
    match answer.get(16..20) {
        Some([a, b, c, d]) if got >= 20 => match i32::from_ne_bytes([*a, *b, *c, *d]) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        },
        _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

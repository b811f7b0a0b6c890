//! The netlink messages that are needed: a program put at a driver, taken from there, or looked for. Several programs may want the
//! place: none is replaced or taken away but the one that is meant (Linux 5.7).
//!
//! *References.* rtnetlink(7); linux/if_link.h.

#![allow(unsafe_code, reason = "system calls")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{check, socket};

const ERROR: u16 = 2;
const GETLINK: u16 = 18;
const SETLINK: u16 = 19;
const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
const IFLA_XDP: u16 = 43;
const NESTED: u16 = 0x8000;
const IFLA_XDP_FD: u16 = 1;
const IFLA_XDP_FLAGS: u16 = 3;
const IFLA_XDP_DRV_PROG_ID: u16 = 5;
const IFLA_XDP_EXPECTED_FD: u16 = 8;
/// Fails where there is one.
const IF_NONE: u32 = 1;
/// By the driver itself, before the kernel has made anything of the frame.
const NATIVE: u32 = 4;
/// Fails where another is there than the one that is expected.
const REPLACE: u32 = 16;

/// Puts a program at an interface's driver, in the place of the one that it `replaces`, at once and without a frame between; EBUSY
/// or EEXIST where another is there. It stays when the program that did so has ended.
pub fn attach_xdp(interface: u32, program: &OwnedFd, replaces: Option<&OwnedFd>) -> io::Result<()> {
    set_xdp(interface, Some(program), replaces)
}

/// Takes a program at an interface's driver away; EEXIST where it is not there.
pub fn detach_xdp(interface: u32, program: &OwnedFd) -> io::Result<()> {
    set_xdp(interface, None, Some(program))
}

/// The number of the program at an interface's driver.
pub fn attached_xdp(interface: u32) -> io::Result<Option<u32>> {
    let answer = ask(GETLINK, REQUEST, &about(interface))?;
    let within =
        |of: &[u8], kind| attributes(of).find(|(of, _)| *of == kind).map(|(_, value)| value.to_vec());
    let xdp = within(answer.get(32..).unwrap_or_default(), IFLA_XDP);
    let id = xdp.and_then(|xdp| within(&xdp, IFLA_XDP_DRV_PROG_ID));
    Ok(id.and_then(|id| id.try_into().ok()).map(u32::from_ne_bytes))
}

fn set_xdp(interface: u32, program: Option<&OwnedFd>, expected: Option<&OwnedFd>) -> io::Result<()> {
    let attribute =
        |kind: u16, value: [u8; 4]| [&8u16.to_ne_bytes()[..], &kind.to_ne_bytes(), &value].concat();
    let program = program.map_or(-1, |program| program.as_raw_fd());
    let flags = NATIVE | if expected.is_some() { REPLACE } else { IF_NONE };
    let mut nested =
        [attribute(IFLA_XDP_FD, program.to_ne_bytes()), attribute(IFLA_XDP_FLAGS, flags.to_ne_bytes())]
            .concat();
    if let Some(expected) = expected {
        nested.extend(attribute(IFLA_XDP_EXPECTED_FD, expected.as_raw_fd().to_ne_bytes()));
    }
    let mut body = about(interface);
    body.extend((4 + nested.len() as u16).to_ne_bytes());
    body.extend((IFLA_XDP | NESTED).to_ne_bytes());
    body.extend(nested);
    ask(SETLINK, REQUEST | ACK, &body).map(|_| ())
}

/// struct ifinfomsg: family, kind, index, flags, mask
fn about(interface: u32) -> Vec<u8> {
    let mut link = vec![0u8; 16];
    link.splice(4..8, interface.to_ne_bytes());
    link
}

/// Each attribute's kind and value.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [a, b, c, d, ..] = *bytes else { return None };
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]) & !NESTED, value))
    })
}

/// The kernel's answer to a message, from its header on.
fn ask(kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<u8>> {
    // struct nlmsghdr: length, kind, flags, number, port
    let mut message = (16 + body.len() as u32).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);

    let netlink = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    // SAFETY: a buffer and its length; the kernel reads it.
    let sent = unsafe { libc::send(netlink.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    check(sent as libc::c_int)?;
    let mut answer = vec![0u8; 1 << 15];
    // SAFETY: a buffer and its length; the kernel writes no more.
    let got = unsafe { libc::recv(netlink.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    answer.truncate(check(got as libc::c_int)? as usize);
    let error = answer.get(4..6) == Some(&ERROR.to_ne_bytes());
    // behind the header an error number, 0 if all is well
    match answer.get(16..20) {
        Some([a, b, c, d]) if error => match i32::from_ne_bytes([*a, *b, *c, *d]) {
            0 => Ok(answer),
            error => Err(io::Error::from_raw_os_error(-error)),
        },
        Some(_) => Ok(answer),
        None => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

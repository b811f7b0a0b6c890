//! The netlink messages that are needed: a program put at a driver, taken from there, or looked for; all routes. Several programs
//! may want the place at a driver: none is replaced or taken away but the one that is meant (Linux 5.7).
//!
//! *References.* rtnetlink(7); linux/if_link.h.

#![allow(unsafe_code, reason = "system calls")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{check, socket};

const ERROR: u16 = 2;
const DONE: u16 = 3;
const GETLINK: u16 = 18;
const SETLINK: u16 = 19;
const GETROUTE: u16 = 26;
const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
/// All that there are, in several messages.
const DUMP: u16 = 0x300;
/// struct nlmsghdr
const HEADER: usize = 16;
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

/// Routes of all tables and families, a message each without its header: struct rtmsg, and attributes.
pub(super) fn routes() -> io::Result<Vec<Vec<u8>>> {
    let netlink = send(GETROUTE, REQUEST | DUMP, &[0; 12])?;
    let mut found = Vec::new();
    loop {
        let answer = receive(&netlink)?;
        let mut rest = &answer[..];
        while !rest.is_empty() {
            let (kind, body, others) = message(rest).ok_or(io::ErrorKind::InvalidData)?;
            match kind {
                DONE => return Ok(found),
                ERROR => return Err(error_in(body).unwrap_or_else(|| io::ErrorKind::InvalidData.into())),
                _ => found.push(body.to_vec()),
            }
            rest = others;
        }
    }
}

/// The first message's kind, what is behind its header, and the messages after it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let [a, b, c, d, e, f, ..] = *bytes else { return None };
    let length = u32::from_ne_bytes([a, b, c, d]) as usize;
    let rest = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((u16::from_ne_bytes([e, f]), bytes.get(HEADER..length)?, rest))
}

/// Each attribute's kind and value.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
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
    let answer = receive(&send(kind, flags, body)?)?;
    match message(&answer) {
        Some((ERROR, body, _)) => error_in(body).map_or(Ok(answer), Err),
        Some(_) => Ok(answer),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// What an error message says: a negative number, 0 if all is well.
fn error_in(body: &[u8]) -> Option<io::Error> {
    let error = body.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes));
    match error {
        Some(0) => None,
        Some(error) => Some(io::Error::from_raw_os_error(error.saturating_neg())),
        None => Some(io::ErrorKind::InvalidData.into()),
    }
}

/// Sends a message; its answer comes to the socket.
fn send(kind: u16, flags: u16, body: &[u8]) -> io::Result<OwnedFd> {
    // struct nlmsghdr: length, kind, flags, number, port
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);

    let netlink = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    // SAFETY: a buffer and its length; the kernel reads it.
    let sent = unsafe { libc::send(netlink.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    check(sent as libc::c_int)?;
    Ok(netlink)
}

fn receive(netlink: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut answer = vec![0u8; 1 << 15];
    // SAFETY: a buffer and its length; the kernel writes no more.
    let got = unsafe { libc::recv(netlink.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    answer.truncate(check(got as libc::c_int)? as usize);
    if answer.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(answer) }
}

//! Sending by a packet socket, a batch at a call.

#![allow(unsafe_code, reason = "system calls")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::ring::sending_socket;
use crate::sys::interface::Interface;
use crate::sys::set_option;

/// Frames at a call.
pub const BATCH: usize = 64;

/// What came of a call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Frames sent, from the first.
    pub done: usize,
    /// The one after them will never be.
    pub rejected: bool,
    /// The one after them may be later.
    pub blocked: bool,
}

/// A socket that only sends.
#[derive(Debug)]
pub struct Transmitter {
    socket: OwnedFd,
}

impl Transmitter {
    /// Opens one. What is wrong is said in one line.
    pub fn open(interface: &Interface) -> Result<Transmitter, String> {
        let explain = |error: io::Error| format!("{}: socket to send by: {error}", interface.name);
        let socket = sending_socket(interface).map_err(explain)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1i32).map_err(explain)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32).map_err(explain)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &(16i32 << 20)).map_err(explain)?;
        Ok(Transmitter { socket })
    }

    /// Sends frames, each with its header before it, [`BATCH`] at most.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> Outcome {
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
        let mut count = 0;
        for (part, frame) in parts.iter_mut().zip(frames) {
            *part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            count += 1;
        }
        // SAFETY: an msghdr is pointers and integers, for which zero is a value: no address, nothing beside the data.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        for (message, part) in messages.iter_mut().zip(&mut parts) {
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: `count` messages whose parts point to the frames, which the caller borrows until this is over; the kernel
        // only reads them.
        let sent = unsafe {
            libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
        };
        let Ok(done) = usize::try_from(sent) else {
            // an error is that of the first frame; those of later ones come up when they are first
            return match io::Error::last_os_error().raw_os_error() {
                Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR | libc::ENOMEM) => {
                    Outcome { blocked: true, ..Outcome::default() }
                }
                _ => Outcome { rejected: true, ..Outcome::default() },
            };
        };
        Outcome { done, rejected: false, blocked: false }
    }
}

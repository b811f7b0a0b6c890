//! Sending by a packet socket, a batch at a call.
//!
//! *Idea.* What the driver has no room for now stays with the caller, which tries again. An interface without carrier refuses
//! frames in the same words, for as long as that lasts: so after some tries it is asked for its carrier, and what cannot leave is
//! not kept.
//!
//! *References.* Linux `packet_snd`, `__dev_direct_xmit`, `net_xmit_errno`: no carrier is `ENOBUFS`.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;

use super::ring::sending_socket;
use crate::sys::interface::Interface;
use crate::sys::kernel::{BATCH, Kernel, Linux};
use crate::sys::set_option;

/// Calls in a row without room, after which the interface is asked for its carrier: more than a driver's ring takes to empty
/// often, and a third of a millisecond as they are repeated.
const TRIES: u32 = 16;

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
pub struct Transmitter<K: Kernel = Linux> {
    kernel: K,
    socket: OwnedFd,
    /// Calls in a row that found no room.
    tries: Cell<u32>,
}

impl Transmitter {
    /// Opens one. What is wrong is said in one line.
    pub fn open(interface: &Interface) -> Result<Transmitter, String> {
        let explain = |error: io::Error| format!("{}: socket to send by: {error}", interface.name);
        let socket = sending_socket(interface).map_err(explain)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1i32).map_err(explain)?;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32).map_err(explain)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &(16i32 << 20)).map_err(explain)?;
        Ok(Transmitter { kernel: Linux, socket, tries: Cell::new(0) })
    }
}

impl<K: Kernel> Transmitter<K> {
    /// By that socket.
    #[cfg(test)]
    pub(crate) fn over(kernel: K, socket: OwnedFd) -> Self {
        Transmitter { kernel, socket, tries: Cell::new(0) }
    }

    /// Sends frames, each with its header before it, [`BATCH`] at most.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> Outcome {
        self.send_if(&|| true, frames)
    }

    /// As [`Transmitter::send`], if it still `may` when all is ready.
    pub(super) fn send_if<'a>(
        &self,
        may: &dyn Fn() -> bool,
        frames: impl Iterator<Item = &'a [u8]>,
    ) -> Outcome {
        let mut parts = [IoSlice::new(&[]); BATCH];
        let mut count = 0;
        for (part, frame) in parts.iter_mut().zip(frames) {
            *part = IoSlice::new(frame);
            count += 1;
        }
        if !may() {
            return Outcome::default();
        }
        match self.kernel.send(&self.socket, parts.get(..count).unwrap_or_default()) {
            Ok(done) => {
                self.tries.set(0);
                Outcome { done, rejected: false, blocked: false }
            }
            // an error is that of the first frame; those of later ones come up when they are first
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOBUFS) => self.without_room(),
                Some(libc::EAGAIN | libc::EINTR | libc::ENOMEM) => {
                    Outcome { blocked: true, ..Outcome::default() }
                }
                _ => Outcome { rejected: true, ..Outcome::default() },
            },
        }
    }

    #[cold]
    fn without_room(&self) -> Outcome {
        self.tries.set(self.tries.get() + 1);
        // once it has none, each frame is refused at once
        let rejected = self.tries.get() >= TRIES && !self.kernel.has_carrier(&self.socket);
        if self.tries.get() >= TRIES && !rejected {
            self.tries.set(0);
        }
        Outcome { rejected, blocked: !rejected, ..Outcome::default() }
    }
}

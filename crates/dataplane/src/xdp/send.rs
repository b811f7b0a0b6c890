//! Sending: what is in the transmit ring has left only when the kernel has taken it.
//!
//! *Idea.* The port keeps each frame until the kernel's counter has passed it, and counts it then. Where the interface is gone or
//! down the kernel takes nothing, and what was put for it is made void. An interface that drops a frame says so at once, and
//! ends the call there: it was the last one taken.
//!
//! *References.* Linux `__xsk_generic_xmit`, `xsk_check_common` (net/xdp/xsk.c).

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use paceline_core::Instant;

use super::Handle;
use super::rings::Frames;
use crate::lane::Frame;
use crate::port::Sent;
use crate::sys::kernel::{BATCH, Kernel};

/// How often a call is repeated for one that the interface has no room for.
const TRIES: u32 = 8;

/// The half of a socket that sends.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) socket: Arc<OwnedFd>,
    pub(super) ring: Frames,
    /// What is in the ring and has not been taken, and where in it.
    pub(super) pending: VecDeque<(u32, Frame<Handle>)>,
    /// The driver takes frames by itself: none that was put can be made void.
    pub(super) zero_copy: bool,
}

/// What became of the frames in the ring.
enum Kicked {
    /// The kernel has taken what it could.
    Taken,
    /// It lost the last of what it took.
    Dropped,
    /// It takes none: the interface is down, or gone.
    Down,
}

impl Sender {
    /// Sends from the front, a batch at most; `free` has frames that need no chunk any more and that the kernel will not
    /// give back.
    pub(super) fn send(
        &mut self,
        kernel: &impl Kernel,
        ready: &mut VecDeque<Frame<Handle>>,
        left: &mut dyn FnMut(&Frame<Handle>, Instant),
        free: &mut dyn FnMut(Handle),
    ) -> Sent {
        self.put(ready);
        let mut sent = Sent::default();
        let mut tries = 0;
        while tries < TRIES && self.ring.left() > 0 {
            let before = self.ring.left();
            let kicked = kick(kernel, &self.socket);
            self.settle(kernel, &kicked, &mut sent, left);
            if let Kicked::Down = kicked {
                if self.zero_copy {
                    break;
                }
                sent.rejected += self.withdraw(free);
                // with a ring full of what is void nothing could be put
                for frame in ready.drain(..ready.len().min(BATCH)) {
                    sent.rejected += 1;
                    free(frame.handle);
                }
                return sent;
            }
            let has_moved = self.ring.left() < before || matches!(kicked, Kicked::Dropped);
            tries = if has_moved { 0 } else { tries + 1 };
        }
        sent.blocked = !self.pending.is_empty();
        sent
    }

    /// Puts frames into the ring, as many as there is room for.
    fn put(&mut self, ready: &mut VecDeque<Frame<Handle>>) {
        while self.pending.len() < BATCH && self.ring.has_room() {
            let Some(frame) = ready.pop_front() else { break };
            let position = self.ring.put(frame.handle.at, frame.handle.length);
            self.pending.push_back((position, frame));
        }
        self.ring.publish();
    }

    /// Counts what the kernel has taken.
    fn settle(
        &mut self,
        kernel: &impl Kernel,
        kicked: &Kicked,
        sent: &mut Sent,
        left: &mut dyn FnMut(&Frame<Handle>, Instant),
    ) {
        let taken = self.pending.iter().take_while(|(position, _)| self.ring.is_taken(*position)).count();
        let is_lost = matches!(kicked, Kicked::Dropped);
        let now = kernel.now();
        // a kernel that drops the first of a call does not move its counter before the next
        let settled = taken.max(usize::from(is_lost)).min(self.pending.len());
        for (index, (_, frame)) in self.pending.drain(..settled).enumerate() {
            if is_lost && index + 1 == settled {
                sent.rejected += 1;
            } else {
                sent.packets += 1;
                left(&frame, now);
            }
        }
    }

    /// Makes void what has not been taken: how many frames.
    pub(super) fn withdraw(&mut self, free: &mut dyn FnMut(Handle)) -> u64 {
        if self.zero_copy {
            return 0;
        }
        let mut count = 0;
        for (position, frame) in self.pending.drain(..) {
            if !self.ring.is_taken(position) {
                self.ring.void(position);
                free(frame.handle);
            }
            count += 1;
        }
        count
    }
}

fn kick(kernel: &impl Kernel, socket: &OwnedFd) -> Kicked {
    match kernel.kick(socket).map_err(|error: io::Error| error.raw_os_error()) {
        Err(Some(libc::EBUSY)) => Kicked::Dropped,
        Err(Some(libc::ENETDOWN | libc::ENXIO | libc::EBADF)) => Kicked::Down,
        _ => Kicked::Taken,
    }
}

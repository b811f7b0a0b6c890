//! Sending: what is in the transmit ring has left only when the kernel has taken it.
//!
//! *Idea.* Frames are put into the ring, the kernel is called, and those that its counter has passed are counted. What it
//! has not taken stays with the port, and goes first at the next call. Where the interface is gone or down the kernel takes
//! nothing, and what was put for it is made void. An interface that drops a frame says so at once, and ends the call there: it
//! was the last one taken.
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
    /// What is in the ring and was not taken by the call that it was put for, and where in the ring.
    pub(super) pending: VecDeque<(u32, Frame<Handle>)>,
    /// The driver takes frames by itself: none that was put can be made void.
    pub(super) zero_copy: bool,
    /// Calls in a row that took nothing.
    pub(super) tries: u32,
}

/// What came of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kicked {
    /// The kernel has taken what it could.
    Taken,
    /// It lost the last of what it took.
    Dropped,
    /// It takes none: the interface is down, or gone.
    Down,
}

impl Sender {
    /// Sends from the front, by one call, if it still `may` when all is ready; `free` has frames whose chunks the kernel will not give back.
    pub(super) fn send(
        &mut self,
        kernel: &impl Kernel,
        ready: &mut VecDeque<Frame<Handle>>,
        may: &dyn Fn() -> bool,
        left: &mut dyn FnMut(&Frame<Handle>, Instant),
        free: &mut dyn FnMut(Handle),
    ) -> Sent {
        let old = self.pending.len();
        let (first, new) = if old == 0 { self.put(ready) } else { (0, 0) };
        if !may() {
            self.keep(ready, first, new);
            return Sent::default();
        }
        let before = self.ring.left();
        let kicked = kick(kernel, &self.socket);
        let now = kernel.now();
        let after = self.ring.left();
        // a kernel that drops the first of a call moves its counter at the next one
        let passed = (before - after.min(before)) as usize;
        let mut sent = Sent::default();
        let mut count = |frame: &Frame<Handle>, is_lost: bool| match is_lost {
            true => sent.rejected += 1,
            false => {
                sent.packets += 1;
                left(frame, now);
            }
        };
        let is_lost = kicked == Kicked::Dropped;
        if old > 0 {
            let taken = self.pending.iter().take_while(|(position, _)| self.ring.is_taken(*position)).count();
            let taken = taken.max(usize::from(is_lost)).min(old);
            for (index, (_, frame)) in self.pending.drain(..taken).enumerate() {
                count(&frame, is_lost && index + 1 == taken);
            }
        } else {
            let taken = new - (after as usize).min(new);
            let taken = taken.max(usize::from(is_lost)).min(new);
            for index in 0..taken {
                let Some(frame) = ready.pop_front() else { break };
                count(&frame, is_lost && index + 1 == taken);
            }
            self.keep(ready, first.wrapping_add(taken as u32), new - taken);
        }
        if kicked == Kicked::Down && !self.zero_copy {
            sent.rejected += self.withdraw(free);
            // where the ring was full of what is void nothing could be put
            for frame in ready.drain(..if new == 0 { ready.len().min(BATCH) } else { 0 }) {
                sent.rejected += 1;
                free(frame.handle);
            }
            return sent;
        }
        self.tries = if passed > 0 || is_lost { 0 } else { self.tries + 1 };
        if self.tries >= TRIES {
            self.tries = 0;
            sent.blocked = true;
        }
        sent
    }

    /// Puts frames into the ring, as many as there is room for, and leaves them where they are: where the first is in the
    /// ring, and how many.
    fn put(&mut self, ready: &VecDeque<Frame<Handle>>) -> (u32, usize) {
        let first = self.ring.position();
        let mut count = 0;
        for frame in ready.iter().take(BATCH) {
            if !self.ring.has_room() {
                break;
            }
            self.ring.put(frame.handle.at, frame.handle.length);
            count += 1;
        }
        self.ring.publish();
        (first, count)
    }

    /// So many frames from the front are in the ring, from that place on, and have not been taken.
    fn keep(&mut self, ready: &mut VecDeque<Frame<Handle>>, first: u32, count: usize) {
        let rest = ready.drain(..count).zip(0u32..);
        self.pending.extend(rest.map(|(frame, index)| (first.wrapping_add(index), frame)));
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

//! The AF_XDP back end: the driver puts frames into memory of this program, and takes them from there.
//!
//! *Idea.* Both sockets share one memory of equal chunks ([`memory::Chunks`]), so that a frame leaves from where it came in;
//! each direction has chunks of its own, which no other thread touches. A chunk goes round: free, in the fill ring for the
//! kernel to use, in the receive ring with a frame, held, in the transmit ring, in the completion ring, free.
//! In each of the two sockets' rings one thread alone is the program's side: receiving belongs to one direction, sending to
//! the other.
//!
//! *Where it breaks.* One receive queue: several would need one order among them. Virtual interfaces hand over frames of
//! local senders before their checksum is filled in, and there is nothing here that says so: these senders must do it
//! themselves (`ethtool -K … tx off`). Frames have no time of arrival but that of their being seen.
//!
//! *References.* Documentation/networking/af_xdp.rst; linux/if_xdp.h.

#![allow(unsafe_code, reason = "memory shared with the kernel")]

mod memory;
mod rings;
mod socket;

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use paceline_core::{Instant, Span};

use crate::lane::Frame;
use crate::port::{Port, Refusal, Sent};
use crate::sys::clock;
use crate::sys::interface::Interface;
use memory::Chunks;
use rings::{Addresses, Frames};
pub use socket::open;

/// Frames that rings hold.
const RING: u32 = 2048;

/// A frame: where it begins in the memory, and its length.
#[derive(Debug, Clone, Copy)]
pub struct Handle {
    at: u64,
    length: u32,
}

/// One direction's halves of the two sockets.
#[derive(Debug)]
pub struct XdpPort {
    chunks: Arc<Chunks>,
    /// Chunks that nobody uses.
    free: Vec<u64>,
    /// The socket that receives, and the kernel's drops when it was last asked.
    receiving: Arc<OwnedFd>,
    dropped: u64,
    received: Frames,
    fill: Addresses,
    /// The socket that sends.
    sending: Arc<OwnedFd>,
    transmit: Frames,
    completed: Addresses,
    /// The largest frame that can leave.
    largest: u32,
    uncounted: u32,
}

impl XdpPort {
    /// Takes back what has been sent.
    fn reclaim(&mut self) {
        while let Some(at) = self.completed.take() {
            self.free.push(self.chunks.start_of(at));
        }
    }

    /// Gives the kernel chunks to put frames in.
    fn refill(&mut self) {
        while self.fill.has_room() {
            let Some(chunk) = self.free.pop() else { break };
            self.fill.put(chunk);
        }
        self.fill.publish();
    }

    /// Puts frames from the front into the transmit ring, as many as there is room for: how many.
    fn put(&mut self, ready: &VecDeque<Frame<Handle>>) -> usize {
        let mut count = 0;
        for frame in ready.iter().take(socket::BATCH) {
            if !self.transmit.has_room() {
                break;
            }
            self.transmit.put(frame.handle.at, frame.handle.length);
            count += 1;
        }
        self.transmit.publish();
        count
    }
}

impl Port for XdpPort {
    type Handle = Handle;

    fn receive(
        &mut self,
        most: usize,
        now: Instant,
        take: &mut dyn FnMut(&mut Self, Frame<Handle>),
        refuse: &mut dyn FnMut(Refusal),
    ) -> usize {
        let mut count = 0;
        while count < most {
            let Some((at, length)) = self.received.take() else { break };
            count += 1;
            let handle = Handle { at, length };
            if length > self.largest {
                self.discard(handle);
                refuse(Refusal::TooLarge);
                continue;
            }
            take(self, Frame::new(handle, length.saturating_sub(self.uncounted), now));
        }
        count
    }

    /// What is held takes chunks from the kernel; some must be left to receive with.
    fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    fn keep(&mut self, _: &mut Handle) {}

    fn send(
        &mut self,
        ready: &mut VecDeque<Frame<Handle>>,
        left: &mut dyn FnMut(&Frame<Handle>, Instant),
    ) -> Sent {
        let mut sent = Sent::default();
        while !ready.is_empty() {
            let count = self.put(ready);
            let (lost, stuck) = socket::kick(&self.sending, &mut self.transmit);
            let now = clock::now();
            for index in 0..count {
                let Some(frame) = ready.pop_front() else { break };
                // which of them an interface lost is not known; that they are counted is what matters
                if index as u64 >= lost {
                    left(&frame, now);
                }
            }
            sent.packets += (count as u64).saturating_sub(lost);
            sent.rejected += lost;
            self.reclaim();
            if stuck || count == 0 {
                sent.blocked = true;
                break;
            }
        }
        sent
    }

    fn discard(&mut self, handle: Handle) {
        self.free.push(self.chunks.start_of(handle.at));
    }

    fn finish_round(&mut self) {
        self.received.give_back();
        self.reclaim();
        self.refill();
    }

    fn wait(&mut self, most: Span) {
        clock::wait_for(self.receiving.as_fd(), most);
    }

    #[inline]
    fn has_received(&self) -> bool {
        self.received.has_any()
    }

    fn overflowed(&mut self) -> u64 {
        let dropped = socket::dropped(&self.receiving).unwrap_or(self.dropped);
        let since = dropped - self.dropped.min(dropped);
        self.dropped = dropped;
        since
    }
}

/// What a pair of ports is made from.
#[derive(Debug)]
pub struct XdpSpec<'a> {
    /// The interfaces: the first direction receives by the first.
    pub interfaces: [&'a Interface; 2],
    /// How many frames each direction can hold.
    pub held: [usize; 2],
    /// Bytes at the front of each frame that the stage does not count.
    pub uncounted: u32,
    /// The driver must put frames into this program's memory itself.
    pub zero_copy: bool,
}

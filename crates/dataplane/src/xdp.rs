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

mod memory;
mod rings;
mod send;
#[cfg(test)]
pub(crate) mod simulated;
mod socket;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use paceline_core::{Instant, Span};

use crate::lane::Frame;
use crate::port::{Largest, Port, Refusal, Sent};
use crate::sys::interface::Interface;
use crate::sys::kernel::{Kernel, Linux};
use memory::Chunks;
use rings::{Addresses, Frames};
use send::Sender;
pub use socket::open;

/// How often the kernel is asked again what it had to drop, where it does not say.
const TRIES: u32 = 4;

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
pub struct XdpPort<K: Kernel = Linux> {
    kernel: K,
    chunks: Arc<Chunks>,
    /// Where the first and the last of this direction's chunks begin: what lies elsewhere is not its own, whatever a ring says.
    own: RangeInclusive<u64>,
    /// Free chunks.
    free: Vec<u64>,
    /// The socket that receives, and the kernel's drops when it was last asked.
    receiving: Arc<OwnedFd>,
    dropped: u64,
    /// Addresses in rings that were none of this direction's.
    astray: u64,
    errors: u64,
    received: Frames,
    fill: Addresses,
    sender: Sender,
    completed: Addresses,
    largest: Largest,
    uncounted: u32,
}

impl<K: Kernel> XdpPort<K> {
    /// Takes back what has been sent.
    fn reclaim(&mut self) {
        while let Some(at) = self.completed.take() {
            self.put_back(at);
        }
        self.completed.put_back();
    }

    /// The chunk around an address is free.
    fn put_back(&mut self, at: u64) {
        match self.chunks.start_of(at).filter(|start| self.own.contains(start)) {
            Some(start) => self.free.push(start),
            None => self.astray += 1,
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
}

impl<K: Kernel> Port for XdpPort<K> {
    type Handle = Handle;
    type Kernel = K;

    #[inline]
    fn kernel(&self) -> &K {
        &self.kernel
    }

    fn receive(
        &mut self,
        most: usize,
        now: Instant,
        take: &mut dyn FnMut(&mut Self, Frame<Handle>),
        refuse: &mut dyn FnMut(Refusal),
    ) -> usize {
        let mut count = 0;
        let largest = self.largest.bytes();
        while count < most {
            let Some((at, length)) = self.received.take() else { break };
            count += 1;
            let handle = Handle { at, length };
            if !self.chunks.around(at, length).is_some_and(|start| self.own.contains(&start)) {
                self.astray += 1;
                refuse(Refusal::Lost);
                continue;
            }
            if length as usize > largest {
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
        may: &dyn Fn() -> bool,
        left: &mut dyn FnMut(&Frame<Handle>, Instant),
    ) -> Sent {
        let XdpPort { kernel, sender, free, chunks, .. } = self;
        // what is in `ready` has been looked at when it came in
        let sent =
            sender.send(kernel, ready, may, left, &mut |handle| free.extend(chunks.start_of(handle.at)));
        self.reclaim();
        sent
    }

    fn pending(&self) -> usize {
        self.sender.pending.len()
    }

    fn withdraw(&mut self) -> u64 {
        let XdpPort { sender, free, chunks, .. } = self;
        sender.withdraw(&mut |handle| free.extend(chunks.start_of(handle.at)))
    }

    fn discard(&mut self, handle: Handle) {
        self.put_back(handle.at);
    }

    fn finish_round(&mut self) {
        self.received.put_back();
        self.reclaim();
        self.refill();
    }

    fn wait(&mut self, most: Span) {
        if self.kernel.wait(&self.receiving, most) {
            self.errors += u64::from(self.kernel.take_error(&self.receiving) != 0);
        }
    }

    #[inline]
    fn has_received(&self) -> bool {
        self.received.has_any()
    }

    fn overflowed(&mut self) -> u64 {
        let asked = (0..TRIES).find_map(|_| self.kernel.xdp_dropped(&self.receiving).ok());
        let dropped = asked.unwrap_or(self.dropped);
        let since = dropped - self.dropped.min(dropped);
        self.dropped = dropped;
        since
    }

    fn errors(&self) -> u64 {
        self.errors + self.astray
    }
}

/// The size of the chunks that frames of an interface with this MTU fit into; `None` where there is none.
pub fn chunk_for(mtu: u32) -> Option<u32> {
    Chunks::size_for(mtu.saturating_add(socket::LINK))
}

/// What a pair of ports is made from.
#[derive(Debug)]
pub struct XdpSpec<'a> {
    /// The interfaces: the first direction receives by the first.
    pub interfaces: [&'a Interface; 2],
    /// What each direction's frames may have to leave.
    pub largest: [&'a Largest; 2],
    /// How many frames each direction can hold.
    pub held: [usize; 2],
    /// Bytes at the front of each frame that the stage does not count.
    pub uncounted: u32,
    /// The driver must put frames into this program's memory itself.
    pub zero_copy: bool,
}

//! AF_XDP sockets as the kernel has them, in copy mode: four rings, and memory in chunks.
//!
//! *References.* Linux `__xsk_rcv`, `__xsk_generic_xmit` (net/xdp/xsk.c), `xskq_cons_read_desc` (net/xdp/xsk_queue.h).

#![allow(unsafe_code, reason = "rings shared with the program under test")]

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::traffic::Arrival;
use crate::bypass::Shared;
use crate::xdp::simulated::{Places, RING};

const PRODUCER: usize = 0;
const CONSUMER: usize = 64;
const ENTRIES: usize = 192;
/// Room that the kernel keeps before a frame.
const HEADROOM: u64 = 256;
/// Frames that one call sends at most.
const BUDGET: u32 = 32;
/// `XDP_PKT_CONTD`
const CONTINUES: u32 = 1;

/// struct xdp_desc
#[repr(C)]
#[derive(Clone, Copy)]
struct Descriptor {
    address: u64,
    length: u32,
    options: u32,
}

pub(super) struct XdpSide {
    pub(super) shared: Arc<Shared>,
    places: Places,
    /// The transmit ring's counters as the kernel has noted them.
    consumed: u32,
    produced: u32,
    pub(super) dropped: u64,
    drains: bool,
    /// Chunks that are the kernel's to put frames in, or that wait to be sent: none is given to it twice.
    owned: HashSet<u64>,
    pub(super) problem: Option<String>,
}

/// What a call to send came to.
pub(super) enum Next {
    Frame(Vec<u8>),
    Nothing,
    /// The budget is over, or nothing can be completed.
    Again,
}

impl XdpSide {
    pub(super) fn of(places: Places, shared: Arc<Shared>) -> XdpSide {
        let owned = HashSet::new();
        XdpSide { shared, places, consumed: 0, produced: 0, dropped: 0, drains: false, owned, problem: None }
    }

    fn counter(&self, ring: *mut u8, at: usize) -> &AtomicU32 {
        // SAFETY: rings begin with their counters, aligned, which both sides access atomically; they outlive self.
        unsafe { &*ring.add(at).cast::<AtomicU32>() }
    }

    fn entry<T>(&self, ring: *mut u8, counter: u32) -> *mut T {
        // SAFETY: within the ring, whose size is a power of two.
        unsafe { ring.add(ENTRIES).cast::<T>().add((counter & (RING - 1)) as usize) }
    }

    pub(super) fn is_readable(&self) -> bool {
        let ring = self.places.received;
        self.counter(ring, PRODUCER).load(Ordering::Acquire)
            != self.counter(ring, CONSUMER).load(Ordering::Acquire)
    }

    /// A frame that was redirected to the socket: copied into a chunk, or dropped.
    pub(super) fn put(&mut self, arrival: &Arrival) {
        let mut bytes = arrival.bytes();
        if let Some(tag) = arrival.tag() {
            bytes.splice(12..12, tag); // a driver leaves it in
        }
        let (fill, received) = (self.places.fill, self.places.received);
        let taken = self.counter(fill, CONSUMER).load(Ordering::Relaxed);
        let produced = self.counter(received, PRODUCER).load(Ordering::Relaxed);
        let free = RING - produced.wrapping_sub(self.counter(received, CONSUMER).load(Ordering::Acquire));
        let has_chunk = self.counter(fill, PRODUCER).load(Ordering::Acquire) != taken;
        if !has_chunk || free == 0 || bytes.len() as u64 > self.places.chunk - HEADROOM {
            self.dropped += 1;
            return;
        }
        // SAFETY: an entry that the program has published.
        let chunk = unsafe { self.entry::<u64>(fill, taken).read() };
        self.counter(fill, CONSUMER).store(taken.wrapping_add(1), Ordering::Release);
        let address = chunk - chunk % self.places.chunk + HEADROOM;
        assert!(address as usize + bytes.len() <= self.places.chunks.1);
        // SAFETY: within the chunk, which is the kernel's; the entry is the kernel's too.
        unsafe {
            let to = self.places.chunks.0.add(address as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            let descriptor = Descriptor { address, length: bytes.len() as u32, options: 0 };
            self.entry::<Descriptor>(received, produced).write(descriptor);
        }
        self.counter(received, PRODUCER).store(produced.wrapping_add(1), Ordering::Release);
    }

    /// The next frame to be sent, in a call that has sent so many. It is taken by [`XdpSide::take`].
    pub(super) fn next(&mut self, sent: u32) -> Next {
        let ring = self.places.transmit;
        if self.consumed == self.produced {
            self.publish();
            self.produced = self.counter(ring, PRODUCER).load(Ordering::Acquire);
        }
        if self.consumed == self.produced {
            return Next::Nothing;
        }
        // SAFETY: an entry that the program has published.
        let descriptor = unsafe { self.entry::<Descriptor>(ring, self.consumed).read() };
        let (at, length) = (descriptor.address, u64::from(descriptor.length));
        let size = self.places.chunk;
        if length == 0 || at % size + length > size || at >= self.places.chunks.1 as u64 {
            self.consumed = self.consumed.wrapping_add(1); // invalid: passed over, and the call ends
            self.drains = descriptor.options & CONTINUES != 0;
            return Next::Nothing;
        }
        if std::mem::take(&mut self.drains) {
            self.take(); // what follows one that says that another does is thrown away with it
            return Next::Nothing;
        }
        let completed = self.places.completed;
        let waiting = self
            .counter(completed, PRODUCER)
            .load(Ordering::Relaxed)
            .wrapping_sub(self.counter(completed, CONSUMER).load(Ordering::Acquire));
        if sent == BUDGET || waiting == RING {
            return Next::Again;
        }
        let mut bytes = vec![0; length as usize];
        // SAFETY: within the memory, as just made sure of.
        unsafe {
            let from = self.places.chunks.0.add(at as usize);
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
        }
        if !self.owned.insert(at - at % size) {
            self.problem = Some(format!("the chunk at {at} is to be sent, and has not come back"));
        }
        Next::Frame(bytes)
    }

    /// The frame that was next has been taken, and its chunk goes back.
    pub(super) fn take(&mut self) {
        let (ring, completed) = (self.places.transmit, self.places.completed);
        // SAFETY: the entry that was next.
        let address = unsafe { self.entry::<Descriptor>(ring, self.consumed).read() }.address;
        self.consumed = self.consumed.wrapping_add(1);
        let produced = self.counter(completed, PRODUCER).load(Ordering::Relaxed);
        // SAFETY: there is room, as `next` has made sure of.
        unsafe { self.entry::<u64>(completed, produced).write(address) };
        self.counter(completed, PRODUCER).store(produced.wrapping_add(1), Ordering::Release);
        self.owned.remove(&(address - address % self.places.chunk));
    }

    /// The frame that was next stays where it is.
    pub(super) fn leave(&mut self) {
        // SAFETY: the entry that was next.
        let entry = unsafe { self.entry::<Descriptor>(self.places.transmit, self.consumed).read() };
        self.owned.remove(&(entry.address - entry.address % self.places.chunk));
    }

    /// With those that the program has, every chunk is somewhere, and once.
    pub(super) fn audit(&self, free: &[u64]) -> Result<(), String> {
        let mut all: Vec<u64> = free.to_vec();
        for (ring, size) in [(self.places.fill, 8), (self.places.completed, 8), (self.places.received, 16)] {
            let mut at = self.counter(ring, CONSUMER).load(Ordering::Acquire);
            while at != self.counter(ring, PRODUCER).load(Ordering::Acquire) {
                // SAFETY: an entry of that size that has been published; its address is its first word.
                all.push(unsafe {
                    match size {
                        8 => self.entry::<u64>(ring, at).read(),
                        _ => self.entry::<Descriptor>(ring, at).read().address,
                    }
                });
                at = at.wrapping_add(1);
            }
        }
        all.iter_mut().for_each(|at| *at -= *at % self.places.chunk);
        all.sort_unstable();
        let expected: Vec<u64> =
            (0..self.places.count as u64).map(|index| index * self.places.chunk).collect();
        match all == expected {
            true => Ok(()),
            false => Err(format!("{} chunks are somewhere, of {}", all.len(), expected.len())),
        }
    }

    /// The program sees what has been taken.
    pub(super) fn publish(&mut self) {
        self.counter(self.places.transmit, CONSUMER).store(self.consumed, Ordering::Release);
    }
}

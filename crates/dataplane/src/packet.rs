//! The AF_PACKET back end: frames come in by a ring that the kernel fills, and leave by a packet socket.
//!
//! *Idea.* A frame that leaves in the round in which it came is sent from the ring; one that is held is copied to a pool
//! first, so that the ring is soon empty again: the kernel calls a ring readable as long as its newest frame is not given
//! back. Sending goes straight to the driver (`PACKET_QDISC_BYPASS`), since a queue behind a pacer would be one too many.
//!
//! Both sockets speak `virtio_net_hdr`: a frame from a virtual interface may lack its checksum, or be several that only an
//! offload has joined, and says so in this header. What lacks its checksum is passed on so; the outgoing interface fills
//! it in. Joined frames are cut apart ([`crate::segment`]).
//!
//! The kernel takes VLAN tags out of frames before anybody sees them; they are put back.
//!
//! *References.* Documentation/networking/packet_mmap.rst; packet(7).

#![allow(unsafe_code, reason = "system calls and a ring shared with the kernel")]

pub(crate) mod ring;
mod transmit;

use std::collections::VecDeque;

use paceline_core::{Instant, Span};

use crate::bpf::Program;
use crate::lane::Frame;
use crate::port::{Largest, Port, Refusal, Sent};
use crate::segment;
use crate::sys::interface::Interface;
pub use crate::sys::kernel::BATCH;
use crate::sys::kernel::{Kernel, Linux};
use crate::sys::memory::Mapping;
pub(crate) use ring::address;
pub use ring::{Arrival, Ring};
pub use transmit::{Outcome, Transmitter};

/// `struct virtio_net_hdr`, which stands before every frame on these sockets.
pub const VNET: usize = 10;

/// Where a frame is.
#[derive(Debug)]
pub enum Handle {
    /// In the ring: where in it, and how many bytes, header included.
    Ring(usize, usize),
    /// In the pool: its place, and how many bytes.
    Pool(u32, usize),
    /// In memory of its own.
    Own(Box<[u8]>),
}

/// Sockets and buffers of one direction.
#[derive(Debug)]
pub struct PacketPort<K: Kernel = Linux> {
    ring: Ring<K>,
    transmitter: Transmitter<K>,
    pool: Mapping,
    /// Size of a place in the pool, bytes.
    place: usize,
    free: Vec<u32>,
    /// Bytes at the front of each frame that the stage does not count.
    uncounted: u32,
    largest: Largest,
    link_header: usize,
}

/// What a port is made from.
#[derive(Debug)]
pub struct PacketPortSpec<'a> {
    /// Where frames come from.
    pub from: &'a Interface,
    /// Where they go.
    pub to: &'a Interface,
    /// What that one can send.
    pub largest: &'a Largest,
    /// How many frames can be held.
    pub held: usize,
    /// Bytes at the front of each frame that the stage does not count.
    pub uncounted: u32,
    /// Chooses what is taken.
    pub tap: Option<&'a Program>,
}

impl PacketPort {
    /// Opens both sockets. What is wrong is said in one line.
    pub fn open(spec: &PacketPortSpec<'_>) -> Result<PacketPort, String> {
        let mtu =
            |interface: &Interface| interface.mtu().map_err(|error| format!("{}: {error}", interface.name));
        let header = |interface: &Interface| {
            let known = interface.link_header();
            known.map(|bytes| bytes as usize).map_err(|error| format!("{}: {error}", interface.name))
        };
        let link_header = header(spec.from)?;
        if header(spec.to)? != link_header {
            return Err(format!(
                "{} and {} have different kinds of frames; pair two of a kind",
                spec.from.name, spec.to.name
            ));
        }
        let transmitter = Transmitter::open(spec.to)?;
        let ring = Ring::open(spec.from, mtu(spec.from)? as usize + link_header, spec.tap)?;
        PacketPort::over(ring, transmitter, spec.largest.clone(), link_header, spec.held, spec.uncounted)
    }
}

impl<K: Kernel> PacketPort<K> {
    /// With these sockets, and room for so many frames.
    pub(crate) fn over(
        ring: Ring<K>,
        transmitter: Transmitter<K>,
        largest: Largest,
        link_header: usize,
        held: usize,
        uncounted: u32,
    ) -> Result<Self, String> {
        let place = (VNET + largest.bytes()).next_multiple_of(64);
        let explain = |error: std::io::Error| format!("memory for {held} frames: {error}");
        let pool = Mapping::anonymous(place * held.max(1)).map_err(explain)?;
        let free = (0..held as u32).rev().collect();
        Ok(PacketPort { ring, transmitter, pool, place, free, uncounted, largest, link_header })
    }

    /// Header and frame.
    fn bytes<'a>(&'a self, handle: &'a Handle) -> &'a [u8] {
        match handle {
            Handle::Ring(at, length) => self.ring.bytes(*at, *length),
            // SAFETY: the place is this handle's alone until it is discarded, and the mapping outlives the borrow.
            Handle::Pool(place, length) => unsafe {
                std::slice::from_raw_parts(self.pool.at(*place as usize * self.place, *length), *length)
            },
            Handle::Own(bytes) => bytes,
        }
    }
}

impl<K: Kernel> Port for PacketPort<K> {
    type Handle = Handle;
    type Kernel = K;

    #[inline]
    fn kernel(&self) -> &K {
        self.ring.kernel()
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
            let Some(arrival) = self.ring.next(now) else { break };
            count += 1;
            match arrival {
                Arrival::Frame { at, length, arrived } => {
                    let bytes = length - VNET;
                    if bytes > largest {
                        refuse(Refusal::TooLarge);
                        continue;
                    }
                    let counted = (bytes as u32).saturating_sub(self.uncounted);
                    take(self, Frame::new(Handle::Ring(at, length), counted, arrived));
                }
                Arrival::Apart { bytes, arrived } => {
                    let frames = match bytes.get(1) {
                        // one frame: the MTU has been raised since the ring was made
                        Some(0) if bytes.len() <= largest + VNET => Some(vec![bytes.into_boxed_slice()]),
                        _ => segment::cut(&bytes, largest + VNET, self.link_header),
                    };
                    match frames {
                        Some(frames) => {
                            for own in frames {
                                let counted = ((own.len() - VNET) as u32).saturating_sub(self.uncounted);
                                take(self, Frame::new(Handle::Own(own), counted, arrived));
                            }
                        }
                        None => refuse(Refusal::TooLarge),
                    }
                }
                Arrival::Lost => refuse(Refusal::Lost),
            }
        }
        count
    }

    #[inline]
    fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    fn keep(&mut self, handle: &mut Handle) {
        let Handle::Ring(at, length) = *handle else { return };
        if length > self.place {
            // larger than frames were when the pool was made
            *handle = Handle::Own(self.ring.bytes(at, length).into());
            return;
        }
        let Some(place) = self.free.pop() else { return };
        let from = self.ring.bytes(at, length);
        let to = self.pool.at(place as usize * self.place, length);
        // SAFETY: `at` has checked that so many bytes are in the mapping; the place was free, so nothing else has it.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, length) };
        *handle = Handle::Pool(place, length);
    }

    fn send(
        &mut self,
        ready: &mut VecDeque<Frame<Handle>>,
        may: &dyn Fn() -> bool,
        left: &mut dyn FnMut(&Frame<Handle>, Instant),
    ) -> Sent {
        let batch = ready.iter().take(BATCH).map(|frame| self.bytes(&frame.handle));
        let outcome = self.transmitter.send_if(may, batch);
        let now = self.kernel().now();
        for index in 0..outcome.done + usize::from(outcome.rejected) {
            let Some(frame) = ready.pop_front() else { break };
            if index < outcome.done {
                left(&frame, now);
            }
            self.discard(frame.handle);
        }
        Sent { packets: outcome.done as u64, rejected: u64::from(outcome.rejected), blocked: outcome.blocked }
    }

    fn pending(&self) -> usize {
        0
    }

    fn withdraw(&mut self) -> u64 {
        0
    }

    fn discard(&mut self, handle: Handle) {
        if let Handle::Pool(place, _) = handle {
            self.free.push(place);
        }
    }

    fn finish_round(&mut self) {
        self.ring.put_back();
    }

    fn wait(&mut self, most: Span) {
        self.ring.wait(most);
    }

    #[inline]
    fn has_received(&self) -> bool {
        self.ring.is_readable()
    }

    fn overflowed(&mut self) -> u64 {
        self.ring.overflowed()
    }

    fn errors(&self) -> u64 {
        self.ring.errors()
    }
}

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

mod ring;
mod transmit;

use std::collections::VecDeque;
use std::os::fd::AsFd;

use paceline_core::{Instant, Span};

use crate::bpf::Program;
use crate::lane::Frame;
use crate::port::{Port, Refusal, Sent};
use crate::segment;
use crate::sys::clock;
use crate::sys::interface::Interface;
use crate::sys::memory::Mapping;
pub use ring::{Arrival, Ring};
pub use transmit::{BATCH, Outcome, Transmitter};

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
pub struct PacketPort {
    ring: Ring,
    transmitter: Transmitter,
    pool: Mapping,
    /// Size of a place in the pool, bytes.
    place: usize,
    free: Vec<u32>,
    /// Bytes at the front of each frame that the stage does not count.
    uncounted: u32,
    /// The largest frame that can leave, link header and a VLAN tag included, and the link header, bytes.
    largest: usize,
    link_header: usize,
}

/// What a port is made from.
#[derive(Debug)]
pub struct PacketPortSpec<'a> {
    /// Where frames come from.
    pub from: &'a Interface,
    /// Where they go.
    pub to: &'a Interface,
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
        let link_header = if is_ethernet(spec.from)? { 14 } else { 0 };
        if is_ethernet(spec.to)? != is_ethernet(spec.from)? {
            return Err(format!(
                "{} and {} have different kinds of frames; pair two of a kind",
                spec.from.name, spec.to.name
            ));
        }
        let largest = mtu(spec.to)? as usize + link_header + 4;
        let place = (VNET + largest).next_multiple_of(64);
        let explain = |error: std::io::Error| format!("memory for {} frames: {error}", spec.held);
        let pool = Mapping::anonymous(place * spec.held.max(1)).map_err(explain)?;
        let free = (0..spec.held as u32).rev().collect();
        let transmitter = Transmitter::open(spec.to)?;
        let ring = Ring::open(spec.from, mtu(spec.from)? as usize + link_header, spec.tap)?;
        Ok(PacketPort {
            ring,
            transmitter,
            pool,
            place,
            free,
            uncounted: spec.uncounted,
            largest,
            link_header,
        })
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

fn is_ethernet(interface: &Interface) -> Result<bool, String> {
    let hardware = interface.hardware().map_err(|error| format!("{}: {error}", interface.name))?;
    Ok(hardware == libc::ARPHRD_ETHER || hardware == libc::ARPHRD_LOOPBACK)
}

impl Port for PacketPort {
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
            let Some(arrival) = self.ring.next(now) else { break };
            count += 1;
            match arrival {
                Arrival::Frame { at, length, arrived } => {
                    let bytes = length - VNET;
                    if bytes > self.largest {
                        refuse(Refusal::TooLarge);
                        continue;
                    }
                    let counted = (bytes as u32).saturating_sub(self.uncounted);
                    take(self, Frame::new(Handle::Ring(at, length), counted, arrived));
                }
                Arrival::Joined { bytes, arrived } => {
                    match segment::cut(&bytes, self.largest + VNET, self.link_header) {
                        Some(frames) => {
                            for own in frames {
                                let counted = ((own.len() - VNET) as u32).saturating_sub(self.uncounted);
                                take(self, Frame::new(Handle::Own(own), counted, arrived));
                            }
                        }
                        None => refuse(Refusal::TooLarge),
                    }
                }
                Arrival::Lost => refuse(Refusal::TooLarge),
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
        let Some(place) = self.free.pop() else { return };
        let from = self.ring.bytes(at, length);
        let to = self.pool.at(place as usize * self.place, length);
        // SAFETY: `at` has checked that so many bytes are in the mapping; the place was free, so nobody else has it.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, length) };
        *handle = Handle::Pool(place, length);
    }

    fn send(
        &mut self,
        ready: &mut VecDeque<Frame<Handle>>,
        left: &mut dyn FnMut(&Frame<Handle>, Instant),
    ) -> Sent {
        let mut sent = Sent::default();
        while !ready.is_empty() {
            let batch = ready.iter().take(transmit::BATCH).map(|frame| self.bytes(&frame.handle));
            let outcome = self.transmitter.send(batch);
            let now = clock::now();
            for index in 0..outcome.done + usize::from(outcome.rejected) {
                let Some(frame) = ready.pop_front() else { break };
                if index < outcome.done {
                    left(&frame, now);
                }
                self.discard(frame.handle);
            }
            sent.packets += outcome.done as u64;
            sent.rejected += u64::from(outcome.rejected);
            if outcome.blocked {
                sent.blocked = true;
                break;
            }
        }
        sent
    }

    fn discard(&mut self, handle: Handle) {
        if let Handle::Pool(place, _) = handle {
            self.free.push(place);
        }
    }

    fn finish_round(&mut self) {
        self.ring.give_back();
    }

    fn wait(&mut self, most: Span) {
        clock::wait_for(self.ring.socket().as_fd(), most);
    }

    #[inline]
    fn has_received(&self) -> bool {
        self.ring.is_readable()
    }

    fn overflowed(&mut self) -> u64 {
        self.ring.overflowed()
    }
}

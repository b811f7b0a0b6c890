//! A packet socket as the kernel has it: a ring of places, a queue beside it, a pending error.
//!
//! *References.* Linux `tpacket_rcv`, `packet_notifier` (net/packet/af_packet.c); Documentation/networking/packet_mmap.rst.

#![allow(unsafe_code, reason = "a ring shared with the program under test")]

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::traffic::Arrival;
use crate::bypass::Shared;
use crate::packet::VNET;
use crate::packet::ring::{BLOCK, Ring};
use crate::sys::kernel::{Kernel, Read, STATUS_VLAN, STATUS_VLAN_PROTOCOL};

/// Where the kernel puts a frame: behind its header, an address and ten bytes for the offloads.
const MAC: usize = 76;
const QUEUED: usize = 2000;

pub(super) struct PacketSide {
    pub(super) shared: Arc<Shared>,
    /// The ring: its memory, the size of a place, how many.
    base: *mut u8,
    place: usize,
    places: usize,
    head: usize,
    queue: VecDeque<(Vec<u8>, Option<[u8; 4]>)>,
    pub(super) error: i32,
    pub(super) overflow: u64,
    /// Its interface is there.
    pub(super) bound: bool,
}

impl PacketSide {
    /// The kernel's side of a ring, which must outlive it.
    pub(super) fn of<K: Kernel>(ring: &Ring<K>, shared: Arc<Shared>) -> PacketSide {
        let (base, place, places) = ring.memory();
        PacketSide {
            shared,
            base,
            place,
            places,
            head: 0,
            queue: VecDeque::new(),
            error: 0,
            overflow: 0,
            bound: true,
        }
    }

    fn at(&self, place: usize) -> *mut u8 {
        let per_block = BLOCK / self.place;
        let offset = (place / per_block) * BLOCK + (place % per_block) * self.place;
        // SAFETY: within the ring's memory, which is laid out so.
        unsafe { self.base.add(offset) }
    }

    fn status(&self, place: usize) -> &AtomicU32 {
        // SAFETY: the first word of a place, aligned, which both sides access atomically.
        unsafe { &*self.at(place).cast::<AtomicU32>() }
    }

    /// The newest frame has not been given back: `packet_poll`.
    pub(super) fn is_readable(&self) -> bool {
        self.status((self.head + self.places - 1) % self.places).load(Ordering::Acquire) != 0
    }

    /// Puts a frame into the ring, and beside it what is larger than a place; where it is full the frame is lost.
    pub(super) fn put(&mut self, arrival: &Arrival, wall_ns: u64) {
        if self.status(self.head).load(Ordering::Acquire) != 0 {
            self.overflow += 1;
            return;
        }
        let frame = arrival.bytes();
        let bytes = [&arrival.header()[..], &frame].concat();
        let there = bytes.len().min(self.place - MAC + VNET);
        let mut status = 1;
        if there < bytes.len() && self.queue.len() < QUEUED {
            status |= 2;
            self.queue.push_back((bytes.clone(), arrival.tag()));
        }
        let [a, b, c, d] = arrival.tag().unwrap_or_default();
        if arrival.tag().is_some() {
            status |= STATUS_VLAN | STATUS_VLAN_PROTOCOL;
        }
        let header = libc::tpacket2_hdr {
            tp_status: 0,
            tp_len: frame.len() as u32,
            tp_snaplen: (there - VNET) as u32,
            tp_mac: MAC as u16,
            tp_net: MAC as u16 + 14,
            tp_sec: (wall_ns / 1_000_000_000) as u32,
            tp_nsec: (wall_ns % 1_000_000_000) as u32,
            tp_vlan_tci: u16::from_be_bytes([c, d]),
            tp_vlan_tpid: u16::from_be_bytes([a, b]),
            tp_padding: [0; 4],
        };
        // SAFETY: within the place, which is the kernel's.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(self.head).add(MAC - VNET), there);
            self.at(self.head).cast::<libc::tpacket2_hdr>().write(header);
        }
        self.status(self.head).store(status, Ordering::Release);
        self.head = (self.head + 1) % self.places;
    }

    /// Reads from the queue beside the ring: a pending error first, as `skb_recv_datagram` does.
    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<Read> {
        if self.error != 0 {
            return Err(io::Error::from_raw_os_error(std::mem::take(&mut self.error)));
        }
        let Some((bytes, tag)) = self.queue.pop_front() else {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        };
        let there = bytes.len().min(into.len());
        into[..there].copy_from_slice(&bytes[..there]);
        Ok(Read { length: bytes.len(), tag })
    }
}

//! A packet socket's receive ring, TPACKET_V2: a circle of places; a word in each says whose it is.

#![allow(unsafe_code, reason = "a ring shared with the kernel")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use paceline_core::units::NANOS_PER_SECOND;
use paceline_core::{Instant, Span};

use super::VNET;
use crate::bpf::Program;
use crate::sys::interface::Interface;
use crate::sys::memory::Mapping;
use crate::sys::{bind, clock, option, set_option, socket};

/// Places in the ring: 4 ms of 1 Mpps, longer than a pacer that is well ever stays away.
const PLACES: usize = 4096;
/// The kernel allocates so much at a time, bytes.
const BLOCK: usize = 1 << 18;
/// What joined frames may have, header included: the kernel's limit is 64 KiB.
const MOST_JOINED: usize = (1 << 16) + 256;
/// How often the offset between the wall clock and the monotonic one is measured again.
const CLOCKS_COMPARED: Span = Span::from_millis(250);

const STATUS_USER: u32 = 1;
const STATUS_COPY: u32 = 2;
const STATUS_VLAN: u32 = 1 << 4;
const STATUS_VLAN_PROTOCOL: u32 = 1 << 6;

/// What was in a place.
#[derive(Debug)]
pub enum Arrival {
    /// A frame, where its header begins and how many bytes both have.
    Frame {
        /// Offset in the ring.
        at: usize,
        /// Length with its header.
        length: usize,
        /// When the kernel got it.
        arrived: Instant,
    },
    /// Several joined by an offload, with their header.
    Joined {
        /// Header and frame.
        bytes: Vec<u8>,
        /// When the kernel got it.
        arrived: Instant,
    },
    /// One that was too large for the ring and could not be had otherwise.
    Lost,
}

/// The ring and its socket.
#[derive(Debug)]
pub struct Ring {
    mapping: Mapping,
    socket: OwnedFd,
    /// Size of a place, bytes, and how many are in a block.
    place: usize,
    per_block: usize,
    places: usize,
    /// The next place to look at, and the first that has not been given back.
    next: usize,
    oldest: usize,
    /// Places between the two.
    used: usize,
    wall_offset: i64,
    compared: Instant,
    joined: Vec<u8>,
}

impl Ring {
    /// Opens a socket on an interface whose frames have so many bytes at most.
    pub fn open(interface: &Interface, largest: usize, tap: Option<&Program>) -> Result<Ring, String> {
        let explain = |what: &str, error: io::Error| format!("{}: {what}: {error}", interface.name);
        // No protocol yet: nothing comes in before all is set up.
        let socket = socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK, 0)
            .map_err(|e| explain("packet socket", e))?;
        let set = |name, value: i32| set_option(&socket, libc::SOL_PACKET, name, &value);
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        set(libc::PACKET_VERSION, version).map_err(|error| explain("ring", error))?;
        set(libc::PACKET_VNET_HDR, 1).map_err(|error| explain("headers of offloads", error))?;
        set(libc::PACKET_IGNORE_OUTGOING, 1).map_err(|error| explain("what it sends itself", error))?;
        // what is too large for a place is queued beside the ring
        set(libc::PACKET_COPY_THRESH, 1).map_err(|error| explain("joined frames", error))?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(64i32 << 20))
            .map_err(|error| explain("room for joined frames", error))?;
        if let Some(tap) = tap {
            set_option(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &tap.fd().as_raw_fd())
                .map_err(|error| explain("filter", error))?;
        }
        let place = (96 + VNET + largest + 4).next_multiple_of(64);
        let per_block = BLOCK / place;
        if per_block == 0 {
            return Err(format!("{}: its MTU is larger than a pacer can hold", interface.name));
        }
        let blocks = PLACES.div_ceil(per_block);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: place as u32,
            tp_frame_nr: (blocks * per_block) as u32,
        };
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
            .map_err(|error| explain("ring", error))?;
        let mapping = Mapping::shared(socket.as_fd(), blocks * BLOCK, 0).map_err(|e| explain("ring", e))?;
        let ring = Ring {
            mapping,
            socket,
            place,
            per_block,
            places: blocks * per_block,
            next: 0,
            oldest: 0,
            used: 0,
            wall_offset: clock::wall_offset(),
            compared: clock::now(),
            joined: vec![0; MOST_JOINED],
        };
        bind(&ring.socket, &address(interface, libc::ETH_P_ALL as u16))
            .map_err(|e| explain("packet socket", e))?;
        Ok(ring)
    }

    /// Its socket, to wait for.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The next frame, which stays where it is until [`Ring::give_back`].
    pub fn next(&mut self, now: Instant) -> Option<Arrival> {
        if self.used == self.places || !self.is_readable() {
            return None;
        }
        let place = self.offset(self.next);
        let header = self.mapping.at(place, size_of::<libc::tpacket2_hdr>()).cast::<libc::tpacket2_hdr>();
        // SAFETY: the place is the program's now, says its status; the header lies at its beginning, aligned to 64.
        let header = unsafe { header.read() };
        self.next = (self.next + 1) % self.places;
        self.used += 1;
        let arrived = self.arrived(&header, now);
        if header.tp_status & STATUS_COPY != 0 {
            return Some(self.take_joined(&header, arrived));
        }
        if header.tp_snaplen < header.tp_len {
            return Some(Arrival::Lost);
        }
        let mut at = place + usize::from(header.tp_mac) - VNET;
        let mut length = header.tp_snaplen as usize + VNET;
        if let Some(tag) = tag(&header) {
            self.put_tag_back(at, tag);
            (at, length) = (at - 4, length + 4);
        }
        match self.bytes(at, length) {
            [_, 0, ..] => Some(Arrival::Frame { at, length, arrived }),
            // joined, though small enough for a place
            bytes => Some(Arrival::Joined { bytes: bytes.to_vec(), arrived }),
        }
    }

    /// Gives back all that [`Ring::next`] has yielded.
    pub fn give_back(&mut self) {
        for _ in 0..self.used {
            self.status(self.oldest).store(0, Ordering::Release);
            self.oldest = (self.oldest + 1) % self.places;
        }
        self.used = 0;
    }

    /// Whether there is a frame.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.status(self.next).load(Ordering::Acquire) & STATUS_USER != 0
    }

    /// Bytes that [`Ring::next`] has yielded and that have not been given back.
    #[inline]
    pub fn bytes(&self, at: usize, length: usize) -> &[u8] {
        // SAFETY: within the mapping; the kernel does not write to a place that has not been given back.
        unsafe { std::slice::from_raw_parts(self.mapping.at(at, length), length) }
    }

    /// Frames that found the ring full since the last call.
    pub fn overflowed(&mut self) -> u64 {
        let mut statistics = [0u32; 2]; // frames, and of these dropped
        match option(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics) {
            Ok(_) => statistics[1].into(),
            Err(_) => 0,
        }
    }

    fn offset(&self, place: usize) -> usize {
        (place / self.per_block) * BLOCK + (place % self.per_block) * self.place
    }

    #[inline]
    fn status(&self, place: usize) -> &AtomicU32 {
        // SAFETY: the first word of a place, aligned, is its status, which both sides access atomically.
        unsafe { &*self.mapping.at(self.offset(place), 4).cast::<AtomicU32>() }
    }

    /// The kernel's time of arrival on the monotonic clock; not later than now, nor absurdly earlier.
    fn arrived(&mut self, header: &libc::tpacket2_hdr, now: Instant) -> Instant {
        if now.since(self.compared) > CLOCKS_COMPARED {
            (self.wall_offset, self.compared) = (clock::wall_offset(), now);
        }
        let wall = u64::from(header.tp_sec) * NANOS_PER_SECOND + u64::from(header.tp_nsec);
        let time = Instant::from_nanos((wall as i64 - self.wall_offset).max(0) as u64);
        // The wall clock may have been set since.
        if now.since(time) > Span::from_millis(1000) { now } else { time.min(now) }
    }

    /// Moves what stands before the tag four bytes to the front, where the ring has room, and writes the tag.
    fn put_tag_back(&mut self, at: usize, tag: [u8; 4]) {
        const MOVED: usize = VNET + 12;
        let room = self.mapping.at(at - 4, MOVED + 4);
        // SAFETY: the place is the program's; these bytes are in it, behind the ring's own header, which ends at 32 while a
        // frame's begins at 66 at least. No other reference to them exists.
        let room = unsafe { std::slice::from_raw_parts_mut(room, MOVED + 4) };
        room.copy_within(4.., 0);
        room[MOVED..].copy_from_slice(&tag);
        move_checksum(room);
    }

    fn take_joined(&mut self, header: &libc::tpacket2_hdr, arrived: Instant) -> Arrival {
        // SAFETY: the kernel writes at most as many bytes as the buffer has.
        let received = unsafe {
            libc::recv(
                self.socket.as_raw_fd(),
                self.joined.as_mut_ptr().cast(),
                self.joined.len(),
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
            )
        };
        match usize::try_from(received).ok().and_then(|length| self.joined.get(..length)) {
            Some(bytes) if bytes.len() >= VNET + 12 => {
                let mut bytes = bytes.to_vec();
                if let Some(tag) = tag(header) {
                    bytes.splice(VNET + 12..VNET + 12, tag);
                    move_checksum(&mut bytes);
                }
                Arrival::Joined { bytes, arrived }
            }
            _ => Arrival::Lost,
        }
    }
}

/// The VLAN tag that the kernel has taken out of a frame.
fn tag(header: &libc::tpacket2_hdr) -> Option<[u8; 4]> {
    if header.tp_status & STATUS_VLAN == 0 {
        return None;
    }
    let protocol = match header.tp_status & STATUS_VLAN_PROTOCOL {
        0 => libc::ETH_P_8021Q as u16,
        _ => header.tp_vlan_tpid,
    };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), header.tp_vlan_tci.to_be_bytes());
    Some([a, b, c, d])
}

/// A tag has been put in: where the checksum begins, which is said from the front of the frame, is four bytes on.
fn move_checksum(header: &mut [u8]) {
    if let [1, _, _, _, _, _, low, high, ..] = header {
        [*low, *high] = u16::from_ne_bytes([*low, *high]).wrapping_add(4).to_ne_bytes();
    }
}

/// Where a packet socket is bound to.
pub(super) fn address(interface: &Interface, protocol: u16) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: interface.index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

/// Opens a packet socket that receives nothing.
pub(super) fn sending_socket(interface: &Interface) -> io::Result<OwnedFd> {
    let socket = socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    bind(&socket, &address(interface, 0))?;
    Ok(socket)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod tests;

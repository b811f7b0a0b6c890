//! A packet socket's receive ring, TPACKET_V2: a circle of places; a word in each says whose it is.

#![allow(unsafe_code, reason = "a ring shared with the kernel")]

mod circle;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::AtomicU32;

use paceline_core::units::NANOS_PER_SECOND;
use paceline_core::{Instant, Span};

use super::VNET;
use crate::bpf::Program;
use crate::sys::interface::Interface;
use crate::sys::kernel::{Kernel, Linux, vlan_tag};
use crate::sys::memory::Mapping;
use crate::sys::{bind, set_option, socket};
use circle::{Circle, Statuses};

/// Places in the ring: 4 ms of 1 Mpps, longer than a pacer that is well ever stays away.
const PLACES: usize = 4096;
/// The kernel allocates so much at a time, bytes.
pub(crate) const BLOCK: usize = 1 << 18;
/// What joined frames may have, header included: the kernel's limit is 64 KiB.
const MOST_JOINED: usize = (1 << 16) + 256;
/// How often the offset between the wall clock and the monotonic one is measured again.
const CLOCKS_COMPARED: Span = Span::from_millis(250);

/// How often what failed is tried again: a frame beside the ring is given up then.
const TRIES: u32 = 4;

const STATUS_COPY: u32 = 2;
/// Where a frame's header for offloads can begin in a place: behind the ring's own, and room to move it for a tag.
const FIRST: usize = size_of::<libc::tpacket2_hdr>() + 4;

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
    /// One that is too large for a place, or several joined by an offload, with their header.
    Apart {
        /// Header and frame.
        bytes: Vec<u8>,
        /// When the kernel got it.
        arrived: Instant,
    },
    /// One that was too large for the ring and could not be had otherwise, or that the ring does not say where it is.
    Lost,
}

/// The memory of a ring: blocks of places.
#[derive(Debug)]
struct Memory {
    mapping: Mapping,
    /// Size of a place, bytes, and how many are in a block.
    place: usize,
    per_block: usize,
}

impl Memory {
    fn offset(&self, place: usize) -> usize {
        (place / self.per_block) * BLOCK + (place % self.per_block) * self.place
    }
}

impl Statuses for Memory {
    type Status = AtomicU32;

    #[inline]
    fn status(&self, place: usize) -> &AtomicU32 {
        // SAFETY: the first word of a place, aligned, is its status, which both sides access atomically.
        unsafe { &*self.mapping.at(self.offset(place), 4).cast::<AtomicU32>() }
    }
}

/// The ring and its socket.
#[derive(Debug)]
pub struct Ring<K: Kernel = Linux> {
    kernel: K,
    memory: Memory,
    circle: Circle,
    socket: OwnedFd,
    wall_offset: i64,
    compared: Instant,
    apart: Vec<u8>,
    /// Errors taken from the socket.
    errors: u64,
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
        // with the tag of its own: see `read_apart`
        set(libc::PACKET_AUXDATA, 1).map_err(|error| explain("joined frames", error))?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &(64i32 << 20))
            .map_err(|error| explain("room for joined frames", error))?;
        if let Some(tap) = tap {
            set_option(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &tap.fd().as_raw_fd())
                .map_err(|error| explain("filter", error))?;
        }
        let place = place_for(largest);
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
        let ring = Ring::over(Linux, mapping, socket, place, blocks * per_block);
        bind(&ring.socket, &address(interface.index, libc::ETH_P_ALL as u16))
            .map_err(|e| explain("packet socket", e))?;
        Ok(ring)
    }
}

impl<K: Kernel> Ring<K> {
    /// In that memory, with so many places of a size.
    pub(crate) fn over(kernel: K, mapping: Mapping, socket: OwnedFd, place: usize, places: usize) -> Self {
        let (wall_offset, compared) = (kernel.wall_offset(), kernel.now());
        Ring {
            kernel,
            memory: Memory { mapping, place, per_block: BLOCK / place },
            circle: Circle::new(places),
            socket,
            wall_offset,
            compared,
            apart: vec![0; MOST_JOINED],
            errors: 0,
        }
    }

    /// Its memory, the size of a place and how many there are, for a simulated kernel to fill.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> (*mut u8, usize, usize) {
        (self.memory.mapping.at(0, 0), self.memory.place, self.circle.places())
    }

    /// The kernel that fills it.
    #[inline]
    pub fn kernel(&self) -> &K {
        &self.kernel
    }

    /// Its socket, to wait for.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The next frame, which stays where it is until [`Ring::put_back`].
    pub fn next(&mut self, now: Instant) -> Option<Arrival> {
        let place = self.circle.take(&self.memory)?;
        let place = self.memory.offset(place);
        let header =
            self.memory.mapping.at(place, size_of::<libc::tpacket2_hdr>()).cast::<libc::tpacket2_hdr>();
        // SAFETY: the place is the program's now, says its status; the header lies at its beginning, aligned to 64.
        let header = unsafe { header.read() };
        let arrived = self.arrived(&header, now);
        let there = self.there(&header);
        if header.tp_status & STATUS_COPY != 0 {
            return Some(self.read_apart(
                &header,
                there.map(|(from, length)| (place + from, length)),
                arrived,
            ));
        }
        let (Some((from, mut length)), true) = (there, header.tp_snaplen >= header.tp_len) else {
            return Some(Arrival::Lost);
        };
        let mut at = place + from;
        if let Some(tag) = tag(&header) {
            self.put_tag_back(at, tag);
            (at, length) = (at - 4, length + 4);
        }
        match self.bytes(at, length) {
            [_, 0, ..] => Some(Arrival::Frame { at, length, arrived }),
            // joined, though small enough for a place
            bytes => Some(Arrival::Apart { bytes: bytes.to_vec(), arrived }),
        }
    }

    /// Where in its place a frame's header begins, and how many bytes of both are there, says the ring. Nothing that it says
    /// makes the program read or write beyond the place, or over the ring's own header.
    #[inline]
    fn there(&self, header: &libc::tpacket2_hdr) -> Option<(usize, usize)> {
        let from = usize::from(header.tp_mac).checked_sub(VNET)?;
        let length = VNET.checked_add(header.tp_snaplen as usize)?;
        let is_within = from >= FIRST && from.checked_add(length)? <= self.memory.place;
        // a tag goes behind two addresses
        let is_whole = length >= VNET + 12 || tag(header).is_none();
        (is_within && is_whole).then_some((from, length))
    }

    /// Gives back all that [`Ring::next`] has yielded.
    pub fn put_back(&mut self) {
        self.circle.put_back(&self.memory);
    }

    /// Whether there is a frame that has not been yielded.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.circle.has_any(&self.memory)
    }

    /// Bytes that [`Ring::next`] has yielded and that have not been given back.
    #[inline]
    pub fn bytes(&self, at: usize, length: usize) -> &[u8] {
        // SAFETY: within the mapping; the kernel does not write to a place that has not been given back.
        unsafe { std::slice::from_raw_parts(self.memory.mapping.at(at, length), length) }
    }

    /// Frames that found the ring full since the last call.
    pub fn overflowed(&mut self) -> u64 {
        (0..TRIES).find_map(|_| self.kernel.packet_overflow(&self.socket).ok()).unwrap_or(0)
    }

    /// Sleeps until there is a frame, or so long.
    pub fn wait(&mut self, most: Span) {
        if self.kernel.wait(&self.socket, most) {
            self.errors += u64::from(self.kernel.take_error(&self.socket) != 0);
        }
    }

    /// Errors that the socket has had, as when its interface goes down.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// The kernel's time of arrival on the monotonic clock; not later than now, nor absurdly earlier.
    fn arrived(&mut self, header: &libc::tpacket2_hdr, now: Instant) -> Instant {
        if now.since(self.compared) > CLOCKS_COMPARED {
            (self.wall_offset, self.compared) = (self.kernel.wall_offset(), now);
        }
        let wall = u64::from(header.tp_sec) * NANOS_PER_SECOND + u64::from(header.tp_nsec);
        let time = Instant::from_nanos((wall as i64 - self.wall_offset).max(0) as u64);
        // The wall clock may have been set since.
        if now.since(time) > Span::from_millis(1000) { now } else { time.min(now) }
    }

    /// Moves what stands before the tag four bytes to the front, where the ring has room, and writes the tag.
    fn put_tag_back(&mut self, at: usize, tag: [u8; 4]) {
        const MOVED: usize = VNET + 12;
        let room = self.memory.mapping.at(at - 4, MOVED + 4);
        // SAFETY: the place is the program's; these bytes are in it, behind the ring's own header: `there` has made sure of
        // both. No other reference to them exists.
        let room = unsafe { std::slice::from_raw_parts_mut(room, MOVED + 4) };
        room.copy_within(4.., 0);
        room[MOVED..].copy_from_slice(&tag);
        move_checksum(room);
    }

    /// The frame beside the ring whose beginning is in a place, `there`.
    ///
    /// The two can come apart: where reading fails the frame stays in the socket's queue, and would be taken for the next one.
    /// So what is read must begin as the place does, with its length and its tag; what does not belongs to a place that
    /// has been given up. An error that is pending, as after the interface was down, is no word about a frame.
    fn read_apart(
        &mut self,
        header: &libc::tpacket2_hdr,
        there: Option<(usize, usize)>,
        arrived: Instant,
    ) -> Arrival {
        let Some((at, length)) = there else { return Arrival::Lost };
        let tag = tag(header);
        let mut tries = 0;
        while tries < TRIES {
            let read = match self.kernel.read(&self.socket, &mut self.apart) {
                Ok(read) => read,
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => return Arrival::Lost,
                Err(_) => {
                    tries += 1;
                    self.errors += 1;
                    continue;
                }
            };
            let Some(bytes) = self.apart.get(..read.length) else { continue }; // larger than any frame is
            let place = self.bytes(at, length);
            let is_it = read.length == VNET + header.tp_len as usize
                && read.tag == tag
                && bytes.get(VNET..length) == place.get(VNET..);
            if !is_it {
                continue;
            }
            let mut bytes = bytes.to_vec();
            if let Some(tag) = tag {
                bytes.splice(VNET + 12..VNET + 12, tag);
                move_checksum(&mut bytes);
            }
            return Arrival::Apart { bytes, arrived };
        }
        Arrival::Lost
    }
}

/// The VLAN tag that the kernel has taken out of a frame.
fn tag(header: &libc::tpacket2_hdr) -> Option<[u8; 4]> {
    vlan_tag(header.tp_status, header.tp_vlan_tpid, header.tp_vlan_tci)
}

/// A tag has been put in: where the checksum begins, which is said from the front of the frame, is four bytes on.
fn move_checksum(header: &mut [u8]) {
    if let [1, _, _, _, _, _, low, high, ..] = header {
        [*low, *high] = u16::from_ne_bytes([*low, *high]).wrapping_add(4).to_ne_bytes();
    }
}

/// The size of a place for frames of so many bytes at most: what the kernel puts before them, and a tag.
pub(crate) fn place_for(largest: usize) -> usize {
    (96 + VNET + largest + 4).next_multiple_of(64)
}

/// Where a packet socket is bound to.
pub(crate) fn address(interface: u32, protocol: u16) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol.to_be(),
        sll_ifindex: interface as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

/// Opens a packet socket that receives nothing.
pub(super) fn sending_socket(interface: &Interface) -> io::Result<OwnedFd> {
    let socket = socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    bind(&socket, &address(interface.index, 0))?;
    Ok(socket)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]
mod tests;

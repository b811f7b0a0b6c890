//! The system calls that a direction makes while frames pass, behind a trait: the kernel's own, or those of a simulated kernel
//! that fails where a test says so (`simulation/`).
//!
//! Dispatch is static: a direction on [`Linux`] is compiled as if the calls stood in it.

#![allow(unsafe_code, reason = "system calls")]

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use paceline_core::{Instant, Span};

use super::{bound_to, check, clock, interface, option};

/// Frames that one call to send takes.
pub const BATCH: usize = 64;

/// `SOL_PACKET`'s message beside a frame, and flags of a status (linux/if_packet.h).
const AUXDATA: libc::c_int = 8;
pub(crate) const STATUS_VLAN: u32 = 1 << 4;
pub(crate) const STATUS_VLAN_PROTOCOL: u32 = 1 << 6;

/// A frame that was read beside the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// Its length, which may be more than the buffer had room for.
    pub length: usize,
    /// The VLAN tag that the kernel has taken out of it.
    pub tag: Option<[u8; 4]>,
}

/// What a direction asks of the kernel.
pub trait Kernel: std::fmt::Debug {
    /// The monotonic clock, which BPF programs see as well.
    fn now(&self) -> Instant;
    /// What to take from a wall-clock time, in nanoseconds, to have it on the monotonic clock.
    fn wall_offset(&self) -> i64;
    /// Processor time that this thread has taken, nanoseconds.
    fn processor_time_ns(&self) -> u64;
    /// Sleeps until then.
    fn sleep_until(&self, at: Instant);
    /// Sleeps until something can be read, or so long; whether the socket has an error pending, which ends every wait at once
    /// until it is taken.
    fn wait(&self, socket: &OwnedFd, most: Span) -> bool;
    /// Takes a socket's pending error: 0 where there is none.
    fn take_error(&self, socket: &OwnedFd) -> i32;
    /// Reads a frame that did not fit into its place in the ring, its header before it.
    fn read(&self, socket: &OwnedFd, into: &mut [u8]) -> io::Result<Read>;
    /// Sends frames by a packet socket, [`BATCH`] at most: how many, or the error of the first.
    fn send(&self, socket: &OwnedFd, frames: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Whether the interface that a packet socket is bound to has a carrier; where that cannot be known it has.
    fn has_carrier(&self, socket: &OwnedFd) -> bool;
    /// Frames that a packet socket's ring had no place for since the last call.
    fn packet_overflow(&self, socket: &OwnedFd) -> io::Result<u64>;
    /// Has the kernel send what is in an AF_XDP socket's transmit ring.
    fn kick(&self, socket: &OwnedFd) -> io::Result<()>;
    /// Frames that an AF_XDP socket had no chunk or no place for since it was opened.
    fn xdp_dropped(&self, socket: &OwnedFd) -> io::Result<u64>;
}

/// The kernel itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Linux;

impl Kernel for Linux {
    #[inline]
    fn now(&self) -> Instant {
        clock::now()
    }

    fn wall_offset(&self) -> i64 {
        clock::wall_offset()
    }

    fn processor_time_ns(&self) -> u64 {
        clock::processor_time_ns()
    }

    fn sleep_until(&self, at: Instant) {
        clock::sleep_until(at);
    }

    fn wait(&self, socket: &OwnedFd, most: Span) -> bool {
        clock::wait_for(socket.as_fd(), most) & (libc::POLLERR | libc::POLLHUP) != 0
    }

    fn take_error(&self, socket: &OwnedFd) -> i32 {
        let mut error = 0i32;
        match option(socket, libc::SOL_SOCKET, libc::SO_ERROR, &mut error) {
            Ok(_) => error,
            Err(_) => 0,
        }
    }

    fn read(&self, socket: &OwnedFd, into: &mut [u8]) -> io::Result<Read> {
        let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let mut beside = Beside([0; 64]);
        // SAFETY: an msghdr is pointers and integers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = beside.0.as_mut_ptr().cast();
        message.msg_controllen = beside.0.len() as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the kernel writes at most as many bytes as the buffer and the room beside it have; both outlive the call.
        let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
        if length < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Read { length: length as usize, tag: tag_beside(&message) })
    }

    fn send(&self, socket: &OwnedFd, frames: &[IoSlice<'_>]) -> io::Result<usize> {
        // SAFETY: an mmsghdr is pointers and integers, for which zero is a value: no address, nothing beside the data.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        for (message, frame) in messages.iter_mut().zip(frames) {
            // an IoSlice is an iovec, says the standard library
            message.msg_hdr.msg_iov = std::ptr::from_ref(frame).cast_mut().cast();
            message.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        // SAFETY: `count` messages whose parts point to the frames, which the caller borrows until this is over; the kernel
        // only reads them.
        let sent =
            unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
        check(sent).map(|sent| sent as usize)
    }

    fn has_carrier(&self, socket: &OwnedFd) -> bool {
        bound_to(socket).is_none_or(|index| interface::has_carrier(socket, index))
    }

    fn packet_overflow(&self, socket: &OwnedFd) -> io::Result<u64> {
        let mut statistics = [0u32; 2]; // frames, and of these dropped
        option(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics)?;
        Ok(statistics[1].into())
    }

    fn kick(&self, socket: &OwnedFd) -> io::Result<()> {
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: no data and no address.
        let sent =
            unsafe { libc::sendto(socket.as_raw_fd(), std::ptr::null(), 0, flags, std::ptr::null(), 0) };
        check(sent as libc::c_int).map(|_| ())
    }

    fn xdp_dropped(&self, socket: &OwnedFd) -> io::Result<u64> {
        // struct xdp_statistics: dropped, invalid receive and transmit descriptors, ring full, …
        let mut statistics = [0u64; 6];
        option(socket, libc::SOL_XDP, libc::XDP_STATISTICS, &mut statistics)?;
        let [dropped, _, _, full, ..] = statistics;
        Ok(dropped + full)
    }
}

/// Room for what comes beside a frame, aligned as its headers are.
#[repr(C, align(8))]
struct Beside([u8; 64]);

/// The tag that is told beside a frame (`struct tpacket_auxdata`).
fn tag_beside(message: &libc::msghdr) -> Option<[u8; 4]> {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Auxiliary {
        status: u32,
        lengths: [u32; 2],
        offsets: [u16; 2],
        tci: u16,
        tpid: u16,
    }
    // SAFETY: a message that recvmsg has filled in, and whose room is still there.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR return headers that lie within that room, or null.
        let (level, kind, length) =
            unsafe { ((*header).cmsg_level, (*header).cmsg_type, (*header).cmsg_len as usize) };
        // SAFETY: integers only.
        let wanted = unsafe { libc::CMSG_LEN(size_of::<Auxiliary>() as u32) } as usize;
        if level == libc::SOL_PACKET && kind == AUXDATA && length >= wanted {
            // SAFETY: so many bytes follow the header, says its length; any bits are an Auxiliary.
            let told = unsafe { libc::CMSG_DATA(header).cast::<Auxiliary>().read_unaligned() };
            return vlan_tag(told.status, told.tpid, told.tci);
        }
        // SAFETY: as above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}

/// The VLAN tag that the kernel has taken out of a frame, as it says it in a ring and beside a frame.
pub(crate) fn vlan_tag(status: u32, tpid: u16, tci: u16) -> Option<[u8; 4]> {
    if status & STATUS_VLAN == 0 {
        return None;
    }
    let protocol = if status & STATUS_VLAN_PROTOCOL == 0 { libc::ETH_P_8021Q as u16 } else { tpid };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), tci.to_be_bytes());
    Some([a, b, c, d])
}

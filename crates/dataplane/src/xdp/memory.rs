//! Memory in chunks of one size, shared with the kernel and between directions.

#![allow(unsafe_code, reason = "a system call")]

use std::io;
use std::os::fd::OwnedFd;

use crate::sys::memory::Mapping;
use crate::sys::set_option;

/// Room that the kernel keeps before a frame, bytes (`XDP_PACKET_HEADROOM`).
const HEADROOM: u32 = 256;

/// The chunks.
#[derive(Debug)]
pub(super) struct Chunks {
    mapping: Mapping,
    chunk: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Registration {
    address: u64,
    length: u64,
    chunk: u32,
    headroom: u32,
    flags: u32,
    metadata: u32,
}

impl Chunks {
    /// So many chunks that frames of `largest` bytes fit into.
    pub(super) fn new(count: usize, largest: u32) -> Result<Chunks, String> {
        let Some(chunk) = Chunks::size_for(largest) else {
            return Err(format!(
                "frames of {largest} bytes do not fit into AF_XDP's chunks of 4 KiB; lower the MTU to 3800, or write --back-end af_packet"
            ));
        };
        let mapping = Mapping::anonymous(count * chunk as usize)
            .map_err(|error| format!("memory for {count} frames: {error}"))?;
        Ok(Chunks { mapping, chunk: chunk.into() })
    }

    /// The size of chunks that frames of `largest` bytes fit into.
    pub(super) fn size_for(largest: u32) -> Option<u32> {
        [2048, 4096].into_iter().find(|chunk| largest.saturating_add(HEADROOM) <= *chunk)
    }

    /// Tells the kernel, by the socket that brings the memory in.
    pub(super) fn register(&self, socket: &OwnedFd) -> io::Result<()> {
        let registration = Registration {
            address: self.mapping.at(0, 0) as u64,
            length: self.mapping.len() as u64,
            chunk: self.chunk as u32,
            headroom: 0,
            flags: 0,
            metadata: 0,
        };
        set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)
    }

    /// Where it is, and its size, for a simulated kernel.
    #[cfg(test)]
    pub(super) fn memory(&self) -> (*mut u8, usize) {
        (self.mapping.at(0, 0), self.mapping.len())
    }

    /// Where the chunk begins that an address lies in; `None` where it lies in none.
    #[inline]
    pub(super) fn start_of(&self, at: u64) -> Option<u64> {
        // sizes are powers of two, and a division would cost as much as all else that is done with an address
        (at < self.mapping.len() as u64).then_some(at & !(self.chunk - 1))
    }

    /// Where the chunk begins that a frame lies in, all of it.
    #[inline]
    pub(super) fn around(&self, at: u64, length: u32) -> Option<u64> {
        let start = self.start_of(at)?;
        (at - start + u64::from(length) <= self.chunk).then_some(start)
    }

    /// Where chunks begin, from one number to before another.
    pub(super) fn range(&self, from: usize, to: usize) -> Vec<u64> {
        (from as u64..to as u64).map(|index| index * self.chunk).collect()
    }
}

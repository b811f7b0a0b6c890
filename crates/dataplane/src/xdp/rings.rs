//! Rings between the program and the kernel: one puts, the other takes, and each owns one of two counters.

#![allow(unsafe_code, reason = "memory shared with the kernel")]

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::memory::Mapping;

/// Where a ring's parts lie in its mapping, as the kernel says it.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Offsets {
    producer: u64,
    consumer: u64,
    entries: u64,
    flags: u64,
}

/// A ring; the program's counter is ahead of what it has told the kernel until it publishes or gives back.
#[derive(Debug)]
struct Ring {
    mapping: Mapping,
    offsets: Offsets,
    size: u32,
    /// The program's counter: next to put, or next to take.
    mine: u32,
    /// The kernel's, as last seen.
    theirs: u32,
}

impl Ring {
    fn map(
        fd: BorrowedFd<'_>,
        page: i64,
        offsets: Offsets,
        size: u32,
        entry: usize,
    ) -> std::io::Result<Ring> {
        let length = offsets.entries as usize + size as usize * entry;
        Ok(Ring { mapping: Mapping::shared(fd, length, page)?, offsets, size, mine: 0, theirs: 0 })
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel says that an aligned counter is there; `at` checks the bounds; it is accessed atomically.
        unsafe { &*self.mapping.at(offset as usize, 4).cast::<AtomicU32>() }
    }

    /// The address of an entry of type T.
    fn entry<T>(&self, counter: u32) -> *mut T {
        let index = (counter & (self.size - 1)) as usize; // sizes are powers of two
        self.mapping.at(self.offsets.entries as usize + index * size_of::<T>(), size_of::<T>()).cast()
    }

    /// Whether one more can be put.
    #[inline]
    fn has_room(&mut self) -> bool {
        if self.mine.wrapping_sub(self.theirs) < self.size {
            return true;
        }
        self.theirs = self.consumer().load(Ordering::Acquire);
        self.mine.wrapping_sub(self.theirs) < self.size
    }

    #[inline]
    fn put<T>(&mut self, value: T) {
        // SAFETY: within the ring; the kernel does not look at it before it is published, and has room said so.
        unsafe { self.entry::<T>(self.mine).write(value) };
        self.mine = self.mine.wrapping_add(1);
    }

    #[inline]
    fn take<T: Copy>(&mut self) -> Option<T> {
        if self.mine == self.theirs {
            self.theirs = self.producer().load(Ordering::Acquire);
            if self.mine == self.theirs {
                return None;
            }
        }
        // SAFETY: within the ring, and the kernel has put it there and waits for it to be given back.
        let value = unsafe { self.entry::<T>(self.mine).read() };
        self.mine = self.mine.wrapping_add(1);
        Some(value)
    }
}

/// struct xdp_desc
#[repr(C)]
#[derive(Clone, Copy)]
struct Descriptor {
    address: u64,
    length: u32,
    options: u32,
}

/// A receive or a transmit ring: frames.
#[derive(Debug)]
pub(super) struct Frames(Ring);

/// A fill or a completion ring: addresses.
#[derive(Debug)]
pub(super) struct Addresses(Ring);

impl Frames {
    pub(super) fn map(fd: BorrowedFd<'_>, page: i64, offsets: Offsets, size: u32) -> std::io::Result<Self> {
        Ring::map(fd, page, offsets, size, size_of::<Descriptor>()).map(Frames)
    }

    #[inline]
    pub(super) fn has_room(&mut self) -> bool {
        self.0.has_room()
    }

    /// Where in the ring the next frame is put.
    #[inline]
    pub(super) fn position(&self) -> u32 {
        self.0.mine
    }

    /// A frame to be sent. There must be room.
    #[inline]
    pub(super) fn put(&mut self, address: u64, length: u32) {
        self.0.put(Descriptor { address, length, options: 0 });
    }

    /// A frame that was put and that the kernel has not taken is none any more: it passes over a descriptor that lies nowhere.
    /// Only where the kernel takes frames in calls of this program alone, as it does where it copies them.
    pub(super) fn void(&mut self, position: u32) {
        // SAFETY: within the ring, and the kernel looks at it in calls that this thread makes.
        unsafe {
            self.0.entry::<Descriptor>(position).write(Descriptor {
                address: u64::MAX,
                length: 0,
                options: 0, // no other follows: the kernel would throw it away with this one
            });
        }
    }

    /// Whether the kernel has taken what was put there.
    #[inline]
    pub(super) fn is_taken(&self, position: u32) -> bool {
        self.0.mine.wrapping_sub(position) > self.left()
    }

    pub(super) fn publish(&mut self) {
        self.0.producer().store(self.0.mine, Ordering::Release);
    }

    /// Frames that the kernel has not taken yet.
    pub(super) fn left(&self) -> u32 {
        self.0.mine.wrapping_sub(self.0.consumer().load(Ordering::Acquire))
    }

    /// Where a frame that was received lies, and its length.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u64, u32)> {
        self.0.take::<Descriptor>().map(|descriptor| (descriptor.address, descriptor.length))
    }

    /// What was taken is the kernel's again.
    pub(super) fn give_back(&mut self) {
        self.0.consumer().store(self.0.mine, Ordering::Release);
    }

    #[inline]
    pub(super) fn has_any(&self) -> bool {
        self.0.mine != self.0.producer().load(Ordering::Acquire)
    }
}

impl Addresses {
    pub(super) fn map(fd: BorrowedFd<'_>, page: i64, offsets: Offsets, size: u32) -> std::io::Result<Self> {
        Ring::map(fd, page, offsets, size, size_of::<u64>()).map(Addresses)
    }

    #[inline]
    pub(super) fn has_room(&mut self) -> bool {
        self.0.has_room()
    }

    #[inline]
    pub(super) fn put(&mut self, address: u64) {
        self.0.put(address);
    }

    pub(super) fn publish(&mut self) {
        self.0.producer().store(self.0.mine, Ordering::Release);
    }

    /// One that the kernel has done with; it is given back at once.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u64> {
        let address = self.0.take()?;
        self.0.consumer().store(self.0.mine, Ordering::Release);
        Some(address)
    }
}

/// Rings that no socket has, for a simulated kernel, and where their parts are.
#[cfg(test)]
pub(super) mod alone {
    use super::{Addresses, Descriptor, Frames, Mapping, Offsets, Ring};

    const OFFSETS: Offsets = Offsets { producer: 0, consumer: 64, entries: 192, flags: 128 };

    fn ring(size: u32, entry: usize) -> (Ring, *mut u8) {
        let mapping = Mapping::anonymous(192 + size as usize * entry)
            .unwrap_or_else(|error| unreachable!("memory: {error}"));
        let base = mapping.at(0, 0);
        (Ring { mapping, offsets: OFFSETS, size, mine: 0, theirs: 0 }, base)
    }

    pub(in super::super) fn frames(size: u32) -> (Frames, *mut u8) {
        let (ring, base) = ring(size, size_of::<Descriptor>());
        (Frames(ring), base)
    }

    pub(in super::super) fn addresses(size: u32) -> (Addresses, *mut u8) {
        let (ring, base) = ring(size, size_of::<u64>());
        (Addresses(ring), base)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod tests;

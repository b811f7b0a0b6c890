//! Rings between the program and the kernel: one puts, the other takes, and each owns one of two counters.

#![allow(unsafe_code, reason = "memory shared with the kernel")]

use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::memory::Mapping;
use crate::sys::word::Word;

/// Where a ring's parts lie in its mapping, as the kernel says it.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Offsets {
    producer: u64,
    consumer: u64,
    entries: u64,
    flags: u64,
}

/// What both sides have of a ring.
pub(super) trait Memory {
    type Entry;
    type Counter: Word<u32>;

    fn producer(&self) -> &Self::Counter;

    fn consumer(&self) -> &Self::Counter;

    /// Reads what a counter counts.
    ///
    /// # Safety
    /// The other side does not write to it.
    unsafe fn read(&self, counter: u32) -> Self::Entry;

    /// Writes it.
    ///
    /// # Safety
    /// The other side does not look at it.
    unsafe fn write(&self, counter: u32, value: Self::Entry);
}

/// Memory shared with the kernel.
#[derive(Debug)]
pub(super) struct Mapped<T> {
    mapping: Mapping,
    offsets: Offsets,
    size: u32,
    holds: PhantomData<T>,
}

impl<T> Mapped<T> {
    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel says that an aligned counter is there; `at` checks the bounds; it is accessed atomically.
        unsafe { &*self.mapping.at(offset as usize, 4).cast::<AtomicU32>() }
    }

    fn entry(&self, counter: u32) -> *mut T {
        let index = (counter & (self.size - 1)) as usize; // sizes are powers of two
        self.mapping.at(self.offsets.entries as usize + index * size_of::<T>(), size_of::<T>()).cast()
    }
}

impl<T: Copy> Memory for Mapped<T> {
    type Entry = T;
    type Counter = AtomicU32;

    #[inline]
    fn producer(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }

    #[inline]
    fn consumer(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }

    #[inline]
    unsafe fn read(&self, counter: u32) -> T {
        // SAFETY: within the ring, aligned as the kernel lays it out; no one writes to it, as the caller says.
        unsafe { self.entry(counter).read() }
    }

    #[inline]
    unsafe fn write(&self, counter: u32, value: T) {
        // SAFETY: as above.
        unsafe { self.entry(counter).write(value) };
    }
}

/// A ring; the program's counter is ahead of what it has told the other side until it publishes or gives back.
#[derive(Debug)]
struct Ring<M> {
    memory: M,
    size: u32,
    /// The program's counter: next to put, or next to take.
    mine: u32,
    /// The other side's, as last seen.
    theirs: u32,
}

impl<T: Copy> Ring<Mapped<T>> {
    fn map(fd: BorrowedFd<'_>, page: i64, offsets: Offsets, size: u32) -> std::io::Result<Self> {
        let length = offsets.entries as usize + size as usize * size_of::<T>();
        let mapping = Mapping::shared(fd, length, page)?;
        Ok(Ring::new(Mapped { mapping, offsets, size, holds: PhantomData }, size, 0))
    }
}

impl<M: Memory> Ring<M> {
    /// One whose counters both stand at `start`.
    fn new(memory: M, size: u32, start: u32) -> Self {
        Ring { memory, size, mine: start, theirs: start }
    }

    /// Whether one more can be put.
    #[inline]
    fn has_room(&mut self) -> bool {
        if self.mine.wrapping_sub(self.theirs) < self.size {
            return true;
        }
        self.theirs = self.memory.consumer().load(Ordering::Acquire);
        self.mine.wrapping_sub(self.theirs) < self.size
    }

    #[inline]
    fn put(&mut self, value: M::Entry) {
        // SAFETY: the kernel does not look at it before it is published, and has room said so.
        unsafe { self.memory.write(self.mine, value) };
        self.mine = self.mine.wrapping_add(1);
    }

    /// What was put is the other side's.
    #[inline]
    fn publish(&self) {
        self.memory.producer().store(self.mine, Ordering::Release);
    }

    #[inline]
    fn take(&mut self) -> Option<M::Entry> {
        if self.mine == self.theirs {
            self.theirs = self.memory.producer().load(Ordering::Acquire);
            if self.mine == self.theirs {
                return None;
            }
        }
        // SAFETY: the kernel has put it there and waits for it to be given back.
        let value = unsafe { self.memory.read(self.mine) };
        self.mine = self.mine.wrapping_add(1);
        Some(value)
    }

    /// What was taken is the other side's again.
    #[inline]
    fn put_back(&self) {
        self.memory.consumer().store(self.mine, Ordering::Release);
    }
}

/// struct xdp_desc
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Descriptor {
    address: u64,
    length: u32,
    options: u32,
}

/// A receive or a transmit ring: frames.
#[derive(Debug)]
pub(super) struct Frames<M = Mapped<Descriptor>>(Ring<M>);

/// A fill or a completion ring: addresses.
#[derive(Debug)]
pub(super) struct Addresses<M = Mapped<u64>>(Ring<M>);

impl Frames {
    pub(super) fn map(fd: BorrowedFd<'_>, page: i64, offsets: Offsets, size: u32) -> std::io::Result<Self> {
        Ring::map(fd, page, offsets, size).map(Frames)
    }
}

impl<M: Memory<Entry = Descriptor>> Frames<M> {
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
        // options: no other follows, which the kernel would throw away with this one
        let nowhere = Descriptor { address: u64::MAX, length: 0, options: 0 };
        // SAFETY: the kernel looks at it in calls that this thread makes.
        unsafe { self.0.memory.write(position, nowhere) };
    }

    /// Whether the kernel has taken what was put there.
    #[inline]
    pub(super) fn is_taken(&self, position: u32) -> bool {
        self.0.mine.wrapping_sub(position) > self.left()
    }

    pub(super) fn publish(&mut self) {
        self.0.publish();
    }

    /// Frames that the kernel has not taken yet.
    pub(super) fn left(&self) -> u32 {
        self.0.mine.wrapping_sub(self.0.memory.consumer().load(Ordering::Acquire))
    }

    /// Where a frame that was received lies, and its length.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(u64, u32)> {
        self.0.take().map(|descriptor| (descriptor.address, descriptor.length))
    }

    /// What was taken is the kernel's again.
    pub(super) fn put_back(&mut self) {
        self.0.put_back();
    }

    #[inline]
    pub(super) fn has_any(&self) -> bool {
        self.0.mine != self.0.memory.producer().load(Ordering::Acquire)
    }
}

impl Addresses {
    pub(super) fn map(fd: BorrowedFd<'_>, page: i64, offsets: Offsets, size: u32) -> std::io::Result<Self> {
        Ring::map(fd, page, offsets, size).map(Addresses)
    }
}

impl<M: Memory<Entry = u64>> Addresses<M> {
    #[inline]
    pub(super) fn has_room(&mut self) -> bool {
        self.0.has_room()
    }

    #[inline]
    pub(super) fn put(&mut self, address: u64) {
        self.0.put(address);
    }

    pub(super) fn publish(&mut self) {
        self.0.publish();
    }

    /// One that the kernel has done with.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u64> {
        self.0.take()
    }

    /// What was taken is the kernel's again.
    pub(super) fn put_back(&mut self) {
        self.0.put_back();
    }
}

/// Rings that no socket has, for a simulated kernel, and where their parts are.
#[cfg(test)]
pub(super) mod alone {
    use super::*;

    const OFFSETS: Offsets = Offsets { producer: 0, consumer: 64, entries: 192, flags: 128 };

    /// One whose counters stand at `start`.
    pub(super) fn ring<T: Copy>(size: u32, start: u32) -> Ring<Mapped<T>> {
        let mapping = Mapping::anonymous(192 + size as usize * size_of::<T>())
            .unwrap_or_else(|error| unreachable!("memory: {error}"));
        let memory = Mapped { mapping, offsets: OFFSETS, size, holds: PhantomData };
        memory.producer().store(start, Ordering::Relaxed);
        memory.consumer().store(start, Ordering::Relaxed);
        Ring::new(memory, size, start)
    }

    pub(in super::super) fn frames(size: u32) -> (Frames, *mut u8) {
        let ring = ring(size, 0);
        let base = ring.memory.mapping.at(0, 0);
        (Frames(ring), base)
    }

    pub(in super::super) fn addresses(size: u32) -> (Addresses, *mut u8) {
        let ring = ring(size, 0);
        let base = ring.memory.mapping.at(0, 0);
        (Addresses(ring), base)
    }
}

#[cfg(all(test, not(miri)))]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod model;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod tests;

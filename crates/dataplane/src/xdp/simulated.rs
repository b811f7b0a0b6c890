//! A port whose kernel is a simulated one, and where its rings and its memory are.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::XdpPort;
use super::memory::Chunks;
use super::rings::alone;
use super::send::Sender;
use crate::port::Largest;
use crate::sys::kernel::Kernel;

/// Entries of each ring.
pub(crate) const RING: u32 = 256;

/// Where the kernel's side finds things.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) chunks: (*mut u8, usize),
    pub(crate) chunk: u64,
    pub(crate) count: usize,
    pub(crate) received: *mut u8,
    pub(crate) fill: *mut u8,
    pub(crate) transmit: *mut u8,
    pub(crate) completed: *mut u8,
}

/// A port with room for so many frames, whose interfaces have that MTU.
pub(crate) fn port<K: Kernel>(
    kernel: K,
    socket: &Arc<OwnedFd>,
    mtu: u32,
    held: usize,
    largest: Largest,
) -> Result<(XdpPort<K>, Places), String> {
    let count = held + 3 * RING as usize;
    let largest_frame = mtu + super::socket::LINK;
    let chunks = Chunks::new(count, largest_frame)?;
    let chunk = Chunks::size_for(largest_frame).unwrap_or(0).into();
    let (received, received_at) = alone::frames(RING);
    let (transmit, transmit_at) = alone::frames(RING);
    let (fill, fill_at) = alone::addresses(RING);
    let (completed, completed_at) = alone::addresses(RING);
    let free = chunks.range(0, count);
    let places = Places {
        chunks: chunks.memory(),
        chunk,
        count,
        received: received_at,
        fill: fill_at,
        transmit: transmit_at,
        completed: completed_at,
    };
    let sender = Sender {
        socket: Arc::clone(socket),
        ring: transmit,
        pending: VecDeque::new(),
        zero_copy: false,
        tries: 0,
    };
    let mut port = XdpPort {
        kernel,
        own: 0..=(count as u64 - 1) * chunk,
        chunks: Arc::new(chunks),
        free,
        receiving: Arc::clone(socket),
        dropped: 0,
        astray: 0,
        errors: 0,
        received,
        fill,
        sender,
        completed,
        largest,
        uncounted: 0,
    };
    port.refill();
    Ok((port, places))
}

impl<K: Kernel> XdpPort<K> {
    /// Where the free chunks begin, as the program has it.
    pub(crate) fn free_chunks(&self) -> &[u64] {
        &self.free
    }
}

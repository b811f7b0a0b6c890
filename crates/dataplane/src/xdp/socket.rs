//! AF_XDP sockets: two of them on two interfaces, with one memory.

#![allow(unsafe_code, reason = "system calls")]

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use super::memory::Chunks;
use super::rings::{Addresses, Frames, Offsets};
use super::send::Sender;
use super::{RING, XdpPort, XdpSpec};
use crate::bpf::Map;
use crate::sys::interface::Interface;
use crate::sys::kernel::{BATCH, Linux};
use crate::sys::{bind, option, set_option, socket};

/// linux/if_xdp.h: how many the kernel takes at a call.
const MAX_TX_SKB_BUDGET: libc::c_int = 9;
/// What stands before a packet: Ethernet's header, and a VLAN tag.
pub(super) const LINK: u32 = 18;
/// Chunks of a direction that are in rings while others are held.
const IN_RINGS: usize = 3 * RING as usize;

/// Where rings are mapped from.
const RECEIVE: i64 = 0;
const TRANSMIT: i64 = 0x8000_0000;
const FILL: i64 = 0x1_0000_0000;
const COMPLETION: i64 = 0x1_8000_0000;

/// struct xdp_mmap_offsets
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct AllOffsets {
    receive: Offsets,
    transmit: Offsets,
    fill: Offsets,
    completion: Offsets,
}

/// A socket and its rings.
struct Endpoint {
    fd: Arc<OwnedFd>,
    receive: Frames,
    transmit: Frames,
    fill: Addresses,
    completion: Addresses,
}

/// Opens both sockets and gives each direction its halves. What is wrong is said in one line.
pub fn open(spec: &XdpSpec<'_>, maps: [&Map; 2]) -> Result<[XdpPort; 2], String> {
    let mut most = 0;
    for interface in spec.interfaces {
        let queues = interface.receive_queues();
        if queues != 1 {
            return Err(format!(
                "{0} has {queues} receive queues, and AF_XDP here uses one; say: ethtool -L {0} combined 1",
                interface.name
            ));
        }
        let mtu = interface.mtu().map_err(|error| format!("{}: {error}", interface.name))?;
        most = most.max(mtu.saturating_add(LINK));
    }
    let counts = spec.held.map(|held| held + IN_RINGS);
    let [first, second] = counts;
    let chunks = Arc::new(Chunks::new(first + second, most)?);

    let [one, other] = spec.interfaces;
    let mut a = prepare(one, Some(&chunks))?;
    attach(one, &a.fd, None, spec.zero_copy)?;
    let mut b = prepare(other, None)?;
    attach(other, &b.fd, Some(&a.fd), spec.zero_copy)?;
    let frees = [chunks.range(0, first), chunks.range(first, first + second)];
    for (free, fill) in frees.iter().zip([&mut a.fill, &mut b.fill]) {
        for chunk in free.iter().take(RING as usize) {
            fill.put(*chunk);
        }
        fill.publish();
    }
    for (map, endpoint) in maps.into_iter().zip([&a, &b]) {
        map.insert(0, &endpoint.fd).map_err(|error| format!("socket for the driver's program: {error}"))?;
    }
    let [range_a, range_b] = frees.each_ref().map(|free| (free.first().copied(), free.last().copied()));
    let [free_a, free_b] = frees.map(|free| free.into_iter().skip(RING as usize).collect());
    let [largest_a, largest_b] = spec.largest;
    let sender = |socket: &Arc<OwnedFd>, ring| Sender {
        socket: Arc::clone(socket),
        ring,
        pending: VecDeque::with_capacity(BATCH),
        zero_copy: spec.zero_copy,
        tries: 0,
    };
    let own = |(first, last): (Option<u64>, Option<u64>)| first.unwrap_or(0)..=last.unwrap_or(0);
    let forward = XdpPort {
        kernel: Linux,
        chunks: Arc::clone(&chunks),
        own: own(range_a),
        free: free_a,
        receiving: Arc::clone(&a.fd),
        dropped: 0,
        astray: 0,
        errors: 0,
        received: a.receive,
        fill: a.fill,
        sender: sender(&b.fd, b.transmit),
        completed: b.completion,
        largest: largest_a.clone(),
        uncounted: spec.uncounted,
    };
    let reverse = XdpPort {
        kernel: Linux,
        chunks,
        own: own(range_b),
        free: free_b,
        receiving: b.fd,
        dropped: 0,
        astray: 0,
        errors: 0,
        received: b.receive,
        fill: b.fill,
        sender: sender(&a.fd, a.transmit),
        completed: a.completion,
        largest: largest_b.clone(),
        uncounted: spec.uncounted,
    };
    Ok([forward, reverse])
}

/// A socket with its rings, not bound; it brings the memory in, or shares that of another.
fn prepare(interface: &Interface, chunks: Option<&Chunks>) -> Result<Endpoint, String> {
    let explain = |error: io::Error| format!("{}: AF_XDP socket: {error}", interface.name);
    let fd = socket(libc::AF_XDP, libc::SOCK_RAW, 0).map_err(explain)?;
    if let Some(chunks) = chunks {
        chunks.register(&fd).map_err(explain)?;
    }
    for ring in
        [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_RX_RING, libc::XDP_TX_RING]
    {
        set_option(&fd, libc::SOL_XDP, ring, &RING).map_err(explain)?;
    }
    set_option(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &(16i32 << 20)).map_err(explain)?;
    // before Linux 6.17 it is 32, and a round takes two calls
    let _ = set_option(&fd, libc::SOL_XDP, MAX_TX_SKB_BUDGET, &(BATCH as u32));
    let mut at = AllOffsets::default();
    option(&fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut at).map_err(explain)?;
    let receive = Frames::map(fd.as_fd(), RECEIVE, at.receive, RING).map_err(explain)?;
    let transmit = Frames::map(fd.as_fd(), TRANSMIT, at.transmit, RING).map_err(explain)?;
    let fill = Addresses::map(fd.as_fd(), FILL, at.fill, RING).map_err(explain)?;
    let completion = Addresses::map(fd.as_fd(), COMPLETION, at.completion, RING).map_err(explain)?;
    Ok(Endpoint { fd: Arc::new(fd), receive, transmit, fill, completion })
}

/// Binds a socket to its interface's one queue.
fn attach(
    interface: &Interface,
    fd: &OwnedFd,
    shared: Option<&OwnedFd>,
    zero_copy: bool,
) -> Result<(), String> {
    const SHARED: u16 = 1;
    const COPY: u16 = 2;
    const ZERO_COPY: u16 = 4;
    let flags = match (shared, zero_copy) {
        (Some(_), _) => SHARED, // the mode is that of the memory's first socket
        (None, true) => ZERO_COPY,
        (None, false) => COPY,
    };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface.index,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: shared.map_or(0, |fd| fd.as_raw_fd() as u32),
    };
    bind(fd, &address).map_err(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::EINVAL) if zero_copy => format!(
            "{}: its driver has no zero copy ({error}); write --back-end af_xdp, which copies, or use a network card that has",
            interface.name
        ),
        Some(libc::EBUSY) => format!("{}: another program has its receive queue", interface.name),
        _ => format!("{}: AF_XDP socket: {error}", interface.name),
    })
}

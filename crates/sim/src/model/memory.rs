//! A memory that several ports share by dynamic thresholds.
//!
//! *Idea.* A port takes a packet while what it holds is less than alpha times what is free of the memory, and the packet fits into that. So
//! queues that are congested alike hold alike, and leave a part free for others: one holds alpha B / (1 + alpha) of a memory of B, each of n
//! alpha B / (1 + n alpha). A queue that is above its threshold, because others have grown, takes nothing until it is below again.
//!
//! *Choices.* What waits is held, in a port's pacer and queue; what is on the wire has left the memory, and an idle port takes any packet, as
//! by the rule `counts = "waiting"`. A port's own limit counts beside.
//!
//! *Where it breaks.* A burst to a port that was empty finds no more than its threshold, however much the others are about to send.
//!
//! *References.* A. K. Choudhury, E. L. Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Transactions on
//! Networking 6(2), 1998.

use crate::kernel::cause::Cause;
use crate::kernel::packet::Event;
use crate::model::link::{BoundedLink, Fate, Link};
use crate::network::{MemorySpec, Network};
use paceline_core::queue::Limit;

/// The memories of a network, at work.
#[derive(Debug, Default)]
pub(crate) struct Memories {
    all: Vec<SharedMemory>,
    /// By link: its memory and its port there. Empty where there are no memories.
    ports: Vec<Option<(u32, u32)>>,
}

/// One of them: what it holds in all, and by port, in the unit of its size.
#[derive(Debug)]
struct SharedMemory {
    size: Limit,
    alpha: f64,
    held: u64,
    ports: Vec<u64>,
}

impl Memories {
    pub(crate) fn of(network: &Network) -> Self {
        if network.memories.is_empty() {
            return Memories::default();
        }
        let mut ports = vec![None; network.links.len()];
        for (number, memory) in (0..).zip(&network.memories) {
            (0..).zip(&memory.links).for_each(|(port, link)| ports[*link as usize] = Some((number, port)));
        }
        Memories { all: network.memories.iter().map(SharedMemory::new).collect(), ports }
    }

    /// No link shares one.
    #[inline(always)]
    pub(crate) fn are_none(&self) -> bool {
        self.all.is_empty()
    }

    fn port(&mut self, link: u32) -> Option<(&mut SharedMemory, usize)> {
        let (number, port) = (*self.ports.get(link as usize)?)?;
        Some((&mut self.all[number as usize], port as usize))
    }

    /// The packet of an event reaches a link, which it does not pass if a memory of its has no room.
    pub(crate) fn offer(&mut self, link: &mut Link, event: &Event) -> Fate {
        let Some((memory, port)) = self.port(event.place) else { return link.offer(event) };
        link.bounded_mut().map_or(Fate::Dropped(Cause::Memory), |bounded| {
            let has_room = bounded.is_idle(event.at) || memory.admits(port, event.bytes);
            bounded.offer_if(event, has_room)
        })
    }

    /// A link has taken packets in, or let some go.
    pub(crate) fn settle(&mut self, number: u32, link: &BoundedLink) {
        if let Some((memory, port)) = self.port(number) {
            let (bytes, packets) = link.holds();
            memory.holds(port, if matches!(memory.size, Limit::Bytes(_)) { bytes } else { packets });
        }
    }
}

impl SharedMemory {
    fn new(spec: &MemorySpec) -> Self {
        SharedMemory { size: spec.size, alpha: spec.alpha, held: 0, ports: vec![0; spec.links.len()] }
    }

    fn admits(&self, port: usize, bytes: u16) -> bool {
        let (size, this) = match self.size {
            Limit::Bytes(size) => (size, u64::from(bytes)),
            Limit::Packets(size) => (size, 1),
        };
        let free = size.saturating_sub(self.held);
        this <= free && (self.ports[port] as f64) < self.alpha * free as f64
    }

    fn holds(&mut self, port: usize, held: u64) {
        self.held = self.held + held - self.ports[port];
        self.ports[port] = held;
    }
}

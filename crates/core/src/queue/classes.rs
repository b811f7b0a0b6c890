//! A FIFO for each class of packets, and one buffer for all of them.
//!
//! *Idea.* A packet's class is its flow's, which the link knows. The buffer's limit is that of all classes together, by the link's rule; a
//! class may have one of its own beside it, of what waits of that class.

use std::array::from_fn;
use std::collections::VecDeque;
use std::sync::Arc;

use super::held::Held;
use super::rule::{Found, Limit, QueueSpec, Rule};
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::stage::Packet;
use crate::units::{Instant, Rate};

/// As many classes as IEEE 802.1Q has priorities, from 0 on.
pub const CLASSES: usize = 8;

/// Limits of classes, as scenarios name them.
pub(super) const LIMITS: Parameter = Parameter {
    name: "limits",
    kind: Kind::ByClass(&Kind::Buffer),
    default: Some("none"),
    doc: "what may wait of each class, from 0 on",
};

/// What may wait of each class; `None` is as much as the buffer takes.
pub(super) fn read_limits(reader: &mut Reader<'_>) -> Result<Option<[Limit; CLASSES]>, ParameterError> {
    if !reader.given(LIMITS.name) {
        return Ok(None);
    }
    reader.by_class(LIMITS.name, |reader, name| reader.buffer(name)).map(Some)
}

/// What waits of each class, and the wire.
#[derive(Debug, Clone)]
pub(super) struct ClassQueues<P> {
    pub(super) held: Held,
    rule: Rule,
    queues: [ClassQueue<P>; CLASSES],
    /// By [`Packet::flow`]; of others 0.
    class_of: Arc<[u8]>,
}

#[derive(Debug, Clone)]
struct ClassQueue<P> {
    packets: VecDeque<P>,
    bytes: u64,
    rule: Rule,
}

impl<P: Packet> ClassQueues<P> {
    pub(super) fn new(spec: &QueueSpec, limits: Option<&[Limit; CLASSES]>, rate: Rate) -> Self {
        let queue = |class: usize| {
            let limit = limits.map(|limits| limits[class]);
            let rule = Rule::new(&QueueSpec { limit, ..QueueSpec::default() });
            ClassQueue { packets: VecDeque::new(), bytes: 0, rule }
        };
        let (held, rule) = (Held::new(rate), Rule::new(spec));
        ClassQueues { held, rule, queues: from_fn(queue), class_of: Arc::default() }
    }

    pub(super) fn classify(&mut self, classes: &Arc<[u8]>) {
        self.class_of = Arc::clone(classes);
    }

    pub(super) fn class(&self, packet: &P) -> usize {
        let class = self.class_of.get(packet.flow() as usize).copied().unwrap_or(0);
        usize::from(class).min(CLASSES - 1)
    }

    /// The buffer has no room for a packet of so many bytes.
    pub(super) fn is_full(&self, bytes: u32, now: Instant) -> bool {
        self.rule.drops(bytes, &self.held.found(now))
    }

    /// Its class may not hold it. On an idle link it need not wait.
    pub(super) fn is_over_its_limit(&self, class: usize, bytes: u32, now: Instant) -> bool {
        let ClassQueue { packets, bytes: waiting_bytes, rule } = &self.queues[class];
        let in_service = self.held.found(now).in_service.map(|_| 0);
        rule.drops(
            bytes,
            &Found { waiting_bytes: *waiting_bytes, waiting_packets: packets.len() as u64, in_service },
        )
    }

    pub(super) fn push(&mut self, class: usize, packet: P, now: Instant) {
        self.held.add(packet.bytes(), now);
        let queue = &mut self.queues[class];
        queue.bytes += u64::from(packet.bytes());
        queue.packets.push_back(packet);
    }

    /// The size of the one of this class that has waited longest, bytes.
    pub(super) fn head(&self, class: usize) -> Option<u32> {
        self.queues[class].packets.front().map(P::bytes)
    }

    /// Takes that out, to serve it.
    pub(super) fn pop(&mut self, class: usize) -> Option<P> {
        let packet = self.queues[class].packets.pop_front();
        self.goes(class, packet)
    }

    /// Takes out the newest of it, to drop it.
    pub(super) fn pop_newest(&mut self, class: usize) -> Option<P> {
        let packet = self.queues[class].packets.pop_back();
        self.goes(class, packet)
    }

    fn goes(&mut self, class: usize, packet: Option<P>) -> Option<P> {
        let packet = packet?;
        self.queues[class].bytes -= u64::from(packet.bytes());
        self.held.remove(packet.bytes());
        Some(packet)
    }

    /// Bytes that wait of it.
    pub(super) fn bytes(&self, class: usize) -> u64 {
        self.queues[class].bytes
    }

    /// The highest of which something waits.
    pub(super) fn highest(&self) -> Option<usize> {
        self.queues.iter().rposition(|queue| !queue.packets.is_empty())
    }
}

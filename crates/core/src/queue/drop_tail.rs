//! Drop-tail: the FIFO before a wire, which drops what finds it full; step by step.
//!
//! *Idea.* A packet waits until those before it have been serialised. There are two forms. This one, [`DropTail`], holds packets
//! and is a [`Stage`]: `dequeue` begins the service of a packet. The closed form, [`super::ClosedDropTail`], holds none
//! and returns at the arrival when its service will begin and end. Both have the same admission rule, and agree to the
//! nanosecond.
//!
//! *Parameters.* `limit` (bytes or packets; none by default) and what it `counts`: simulators differ here, and at five
//! packets of buffer that is a fifth of the throughput. Departures precede arrivals of the same instant: a packet
//! whose service can begin now no longer waits, one whose last bit leaves now is gone.

use std::collections::VecDeque;

use super::discipline::{Queueing, Tuned};
use super::held::Held;
use super::rule::{Found, QueueSpec, Rule};
use super::signal::Stamped;
use crate::parameters::{Parameter, ParameterError, Reader};
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, Rate};
use crate::wire::Wire;

/// Nothing to set: the limit is the link's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parameters;

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[];

    fn read(_: &mut Reader<'_>) -> Result<Self, ParameterError> {
        Ok(Parameters)
    }

    fn has_closed_form(_: bool) -> bool {
        true
    }
}

/// A FIFO of packets `P` and the wire it feeds.
///
/// ```
/// use paceline_core::queue::{DropTail, Limit, QueueSpec};
/// use paceline_core::{Instant, Packet, Rate, Stage, Verdict};
///
/// #[derive(Debug, PartialEq)]
/// struct Frame(u8);
/// impl Packet for Frame {
///     fn bytes(&self) -> u32 {
///         1000
///     }
/// }
///
/// let spec = QueueSpec { limit: Some(Limit::Packets(1)), ..QueueSpec::default() };
/// let mut queue = DropTail::new(&spec, Rate::from_bits_per_second(8_000_000)); // 1000 B in 1 ms
/// let now = Instant::ZERO;
/// assert_eq!(queue.enqueue(Frame(1), now), Verdict::Queued); // its service can begin at once
/// assert_eq!(queue.enqueue(Frame(2), now), Verdict::Queued);
/// assert_eq!(queue.enqueue(Frame(3), now), Verdict::Refused(Frame(3)));
/// assert_eq!(queue.waiting_packets(now), 1);
/// assert_eq!(queue.dequeue(now), Some(Frame(1)));
/// assert_eq!(queue.next_wakeup(), Some(Instant::from_nanos(1_000_000)));
/// ```
#[derive(Debug, Clone)]
pub struct DropTail<P> {
    held: Held,
    rule: Rule,
    /// What waits, oldest first. The first one's service may be due.
    queue: VecDeque<P>,
}

impl<P: Packet> DropTail<P> {
    /// Empty; the wire is free.
    pub fn new(spec: &QueueSpec, rate: Rate) -> Self {
        DropTail { held: Held::new(rate), rule: Rule::new(spec), queue: VecDeque::new() }
    }

    /// The wire: after a `dequeue`, its `free_at` is when the packet's last bit has left.
    #[inline]
    pub fn wire(&self) -> &Wire {
        &self.held.wire
    }

    /// The service of a packet can begin.
    #[inline]
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.held.is_idle(now)
    }

    /// Bytes that wait at `now`, not counting what is on the wire or due to be.
    pub fn waiting_bytes(&self, now: Instant) -> u64 {
        self.held.bytes - self.due(now).map_or(0, |head| u64::from(head.bytes()))
    }

    /// Packets that wait at `now`, not counting what is on the wire or due to be.
    pub fn waiting_packets(&self, now: Instant) -> u64 {
        self.held.packets - u64::from(self.due(now).is_some())
    }

    /// The packet whose service can begin at `now`: it no longer waits, though nobody has called `dequeue` yet.
    fn due(&self, now: Instant) -> Option<&P> {
        if self.is_idle(now) { self.queue.front() } else { None }
    }

    fn found(&self, now: Instant) -> Found {
        let in_service =
            if self.is_idle(now) { self.due(now).map(P::bytes) } else { Some(self.held.served_bytes) };
        Found {
            waiting_bytes: self.waiting_bytes(now),
            waiting_packets: self.waiting_packets(now),
            in_service,
        }
    }

    /// A packet of so many bytes would be dropped.
    pub(super) fn is_full(&self, bytes: u32, now: Instant) -> bool {
        self.rule.drops(bytes, &self.found(now))
    }

    /// Takes the oldest packet out: to serve it, or to drop it.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<P> {
        let packet = self.queue.pop_front()?;
        self.held.remove(packet.bytes());
        Some(packet)
    }

    /// The service of a packet of so many bytes begins.
    #[inline]
    pub(super) fn serve(&mut self, bytes: u32, now: Instant) {
        self.held.serve(bytes, now);
    }

    /// Takes a packet that the rule of admission has let in.
    pub(super) fn push(&mut self, packet: P, now: Instant) {
        self.held.add(packet.bytes(), now);
        self.queue.push_back(packet);
    }

    /// Makes room for `bytes` by dropping the packet that has waited longest, if that is enough.
    pub(super) fn displace(&mut self, bytes: u32, now: Instant) -> Option<P> {
        let oldest = usize::from(self.due(now).is_some());
        let size = self.queue.get(oldest)?.bytes();
        let mut found = self.found(now);
        found.waiting_bytes -= u64::from(size);
        found.waiting_packets -= 1;
        if self.rule.drops(bytes, &found) {
            return None;
        }
        self.held.remove(size);
        self.queue.remove(oldest)
    }
}

impl<P: Packet> DropTail<Stamped<P>> {
    /// The same as `enqueue`, of a packet that comes now.
    pub(super) fn enqueue_stamped(&mut self, packet: P, now: Instant) -> Verdict<P> {
        match self.enqueue(Stamped { packet, came: now }, now) {
            Verdict::Queued => Verdict::Queued,
            Verdict::Refused(stamped) => Verdict::Refused(stamped.packet),
            Verdict::Displaced(stamped) => Verdict::Displaced(stamped.packet),
        }
    }
}

impl<P: Packet> Queueing<P> for DropTail<P> {
    type Parameters = Parameters;

    fn with(spec: &QueueSpec, _: &Parameters, rate: Rate) -> Self {
        DropTail::new(spec, rate)
    }

    #[inline]
    fn held(&self) -> &Held {
        &self.held
    }

    fn held_mut(&mut self) -> &mut Held {
        &mut self.held
    }
}

impl<P: Packet> Stage<P> for DropTail<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        if self.is_full(packet.bytes(), now) {
            return Verdict::Refused(packet);
        }
        self.push(packet, now);
        Verdict::Queued
    }

    /// The service of the oldest packet begins, if the wire is free.
    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if !self.is_idle(now) {
            return None;
        }
        let packet = self.pop()?;
        self.serve(packet.bytes(), now);
        Some(packet)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.held.next_wakeup()
    }
}

//! The FIFO before a wire, which refuses what finds it full.
//!
//! *Idea.* A packet waits until those before it have been serialised. One type, two forms. The **step-by-step** form
//! [`DropTail<P>`] holds packets of type `P` and is a [`Stage`]: `dequeue` says that the service of a packet begins. The
//! **closed form** [`DropTail<Booking>`] holds none: [`DropTail::admit`] says at the arrival when the packet's service will
//! begin and end, so an engine needs no event for either. Both ask the same rule, [`Counts`], and agree to the nanosecond.
//! A [`Booking`] is not a [`Packet`], so neither form can be driven as the other.
//!
//! *Parameters.* `limit` (bytes or packets; none by default) and what it `counts`: simulators differ here, and at five
//! packets of buffer that is a fifth of the throughput. Departures precede arrivals of the same instant: a packet
//! whose service can begin now no longer waits, one whose last bit leaves now is gone.
//!
//! *Where it breaks.* Drop-front has no closed form: what is displaced was promised a departure already.
//!
//! *References.* ns-2 2.35, `queue/drop-tail.cc`, for [`Counts::Ns2`].

use std::collections::VecDeque;
use std::fmt;

use crate::stage::{Packet, Stage, Verdict};
use crate::units::parse::BufferSize;
use crate::units::{Bytes, Instant, Rate};
use crate::wire::Wire;

/// How much a queue may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// So many bytes.
    Bytes(u64),
    /// So many packets of any size.
    Packets(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Limit::Bytes(bytes) => BufferSize::Bytes(Bytes::new(bytes)).fmt(f),
            Limit::Packets(packets) => BufferSize::Packets(packets).fmt(f),
        }
    }
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Counts {
    /// What waits, the arrival included, but not what is on the wire. An idle link takes any packet.
    #[default]
    Waiting,
    /// What waits and what is on the wire, the arrival included, on an idle link too.
    WaitingAndService,
    /// What waits, the arrival included, must stay *below* the limit, on an idle link too.
    Ns2,
}

impl Counts {
    /// Every rule and its name in a scenario.
    pub const ALL: &'static [(&'static str, Counts)] =
        &[("waiting", Counts::Waiting), ("waiting+service", Counts::WaitingAndService), ("ns2", Counts::Ns2)];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Counts::Waiting => "waiting",
            Counts::WaitingAndService => "waiting+service",
            Counts::Ns2 => "ns2",
        }
    }

    /// The rule of that name.
    pub fn named(name: &str) -> Option<Counts> {
        Counts::ALL.iter().find(|(listed, _)| *listed == name).map(|(_, counts)| *counts)
    }
}

/// A buffer as a network configures it; unlimited by default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueueSpec {
    /// How much it may hold; `None` is unlimited.
    pub limit: Option<Limit>,
    /// What the limit counts.
    pub counts: Counts,
    /// Make room by dropping the packet that has waited longest instead of refusing the one that arrives.
    pub drop_front: bool,
}

/// What the closed form holds in place of a waiting packet.
#[derive(Debug, Clone, Copy)]
pub struct Booking {
    /// When its service begins.
    pub start: Instant,
    /// Size on the wire, bytes.
    pub bytes: u32,
}

/// When an admitted packet is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When its first bit leaves.
    pub start: Instant,
    /// When its last bit has left.
    pub finish: Instant,
}

/// A FIFO and the wire it feeds: step by step over packets `P`, in closed form over [`Booking`]s.
#[derive(Debug, Clone)]
pub struct DropTail<P> {
    wire: Wire,
    rule: Rule,
    drop_front: bool,
    /// What waits, oldest first. Step by step, the first one's service may be due.
    queue: VecDeque<P>,
    /// Sum over `queue`, bytes.
    queued_bytes: u64,
    /// Size of the packet whose service began last, bytes.
    served_bytes: u32,
    /// In closed form: when the service of the oldest that waits begins; [`Instant::MAX`] where none does.
    next_start: Instant,
    /// Step by step: when the oldest packet found the queue empty, so that it is never due in the past.
    arrived: Instant,
}

/// The admission rule, shared by both forms.
#[derive(Debug, Clone, Copy)]
struct Rule {
    limit: Option<Limit>,
    counts: Counts,
}

/// What an arrival finds.
struct Found {
    waiting_bytes: u64,
    waiting_packets: u64,
    /// Size of the packet on the wire; `None` on an idle link.
    in_service: Option<u32>,
}

impl Rule {
    fn new(spec: &QueueSpec) -> Self {
        Rule { limit: spec.limit, counts: spec.counts }
    }

    /// Whether a packet of `bytes` must be refused.
    #[inline(always)]
    fn refuses(self, bytes: u32, found: Found) -> bool {
        let Some(limit) = self.limit else { return false };
        let (most, waiting, this, served) = match limit {
            Limit::Bytes(most) => {
                (most, found.waiting_bytes, u64::from(bytes), found.in_service.map_or(0, u64::from))
            }
            Limit::Packets(most) => (most, found.waiting_packets, 1, u64::from(found.in_service.is_some())),
        };
        match self.counts {
            Counts::Waiting => found.in_service.is_some() && waiting + this > most,
            Counts::WaitingAndService => waiting + served + this > most,
            Counts::Ns2 => waiting + this >= most,
        }
    }
}

impl<P> DropTail<P> {
    fn build(spec: &QueueSpec, rate: Rate) -> Self {
        DropTail {
            wire: Wire::new(rate),
            rule: Rule::new(spec),
            drop_front: spec.drop_front,
            queue: VecDeque::new(),
            queued_bytes: 0,
            served_bytes: 0,
            next_start: Instant::MAX,
            arrived: Instant::ZERO,
        }
    }

    /// The wire: after a `dequeue`, its `free_at` is when the packet's last bit has left.
    #[inline]
    pub fn wire(&self) -> &Wire {
        &self.wire
    }

    #[inline]
    fn idle(&self, now: Instant) -> bool {
        self.wire.free_at() <= now
    }
}

impl DropTail<Booking> {
    /// The closed form; `None` for drop-front, which has none.
    pub fn closed_form(spec: &QueueSpec, rate: Rate) -> Option<Self> {
        match spec.drop_front && spec.limit.is_some() {
            true => None,
            false => Some(Self::build(spec, rate)),
        }
    }

    /// Offers a packet that arrives at `now`: when it will be served, or `None` if it is refused.
    ///
    /// Time never runs backwards between calls. Without a limit nothing is kept.
    #[inline(always)]
    pub fn admit(&mut self, bytes: u32, now: Instant) -> Option<Departure> {
        self.admit_and_tell(bytes, now, |_| {})
    }

    /// The same; tells of each packet that had to wait when its service has begun, at the latest by then.
    #[inline(always)]
    pub fn admit_and_tell(
        &mut self,
        bytes: u32,
        now: Instant,
        started: impl FnMut(Booking),
    ) -> Option<Departure> {
        if self.rule.limit.is_none() {
            let (start, finish) = self.wire.send(bytes, now);
            return Some(Departure { start, finish });
        }
        self.tell_started(now, started);
        let idle = self.idle(now);
        let found = Found {
            waiting_bytes: self.queued_bytes,
            waiting_packets: self.queue.len() as u64,
            in_service: if idle { None } else { Some(self.served_bytes) },
        };
        if self.rule.refuses(bytes, found) {
            return None;
        }
        let (start, finish) = self.wire.send(bytes, now);
        if idle {
            self.served_bytes = bytes;
        } else {
            self.next_start = self.next_start.min(start);
            self.queue.push_back(Booking { start, bytes });
            self.queued_bytes += u64::from(bytes);
        }
        Some(Departure { start, finish })
    }

    /// Bytes that wait at `now`, not counting what is on the wire; `None` without a limit, where nothing is kept.
    #[inline]
    pub fn waiting_bytes(&mut self, now: Instant) -> Option<u64> {
        self.tell_started(now, |_| {});
        self.rule.limit.map(|_| self.queued_bytes)
    }

    /// Packets that wait at `now`, not counting what is on the wire; `None` without a limit, where nothing is kept.
    #[inline]
    pub fn waiting_packets(&mut self, now: Instant) -> Option<u64> {
        self.tell_started(now, |_| {});
        self.rule.limit.map(|_| self.queue.len() as u64)
    }

    /// Whether it keeps what waits: it has a limit.
    pub fn keeps_what_waits(&self) -> bool {
        self.rule.limit.is_some()
    }

    /// Forgets the packets whose service has begun by `now`, in order, and tells of each.
    #[inline(always)]
    pub fn tell_started(&mut self, now: Instant, mut started: impl FnMut(Booking)) {
        // One question to guess the answer of, not two: whether one waits, and whether its service has begun.
        while self.next_start <= now
            && let Some(booking) = self.queue.pop_front()
        {
            started(booking);
            self.queued_bytes -= u64::from(booking.bytes);
            self.served_bytes = booking.bytes;
            self.next_start = self.queue.front().map_or(Instant::MAX, |next| next.start);
        }
    }
}

impl<P: Packet> DropTail<P> {
    /// The step-by-step form, a [`Stage`].
    pub fn new(spec: &QueueSpec, rate: Rate) -> Self {
        Self::build(spec, rate)
    }

    /// Bytes that wait at `now`, not counting what is on the wire or due to be.
    pub fn waiting_bytes(&self, now: Instant) -> u64 {
        self.queued_bytes - self.due(now).map_or(0, |head| u64::from(head.bytes()))
    }

    /// Packets that wait at `now`, not counting what is on the wire or due to be.
    pub fn waiting_packets(&self, now: Instant) -> u64 {
        self.queue.len() as u64 - u64::from(self.due(now).is_some())
    }

    /// All that is held, bytes.
    pub fn held_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// All that is held, packets.
    pub fn held_packets(&self) -> u64 {
        self.queue.len() as u64
    }

    /// The packet whose service can begin at `now`: it no longer waits, though nobody has called `dequeue` yet.
    fn due(&self, now: Instant) -> Option<&P> {
        if self.idle(now) { self.queue.front() } else { None }
    }

    fn found(&self, now: Instant) -> Found {
        let in_service = if self.idle(now) { self.due(now).map(P::bytes) } else { Some(self.served_bytes) };
        Found {
            waiting_bytes: self.waiting_bytes(now),
            waiting_packets: self.waiting_packets(now),
            in_service,
        }
    }

    /// Makes room for `bytes` by dropping the packet that has waited longest, if that is enough.
    fn displace(&mut self, bytes: u32, now: Instant) -> Option<P> {
        let oldest = usize::from(self.due(now).is_some());
        let size = self.queue.get(oldest)?.bytes();
        let mut found = self.found(now);
        found.waiting_bytes -= u64::from(size);
        found.waiting_packets -= 1;
        if self.rule.refuses(bytes, found) {
            return None;
        }
        self.queued_bytes -= u64::from(size);
        self.queue.remove(oldest)
    }
}

impl<P: Packet> Stage<P> for DropTail<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        let bytes = packet.bytes();
        let mut displaced = None;
        if self.rule.refuses(bytes, self.found(now)) {
            displaced = if self.drop_front { self.displace(bytes, now) } else { None };
            if displaced.is_none() {
                return Verdict::Refused(packet);
            }
        }
        if self.queue.is_empty() {
            self.arrived = now;
        }
        self.queued_bytes += u64::from(bytes);
        self.queue.push_back(packet);
        displaced.map_or(Verdict::Queued, Verdict::Displaced)
    }

    /// The service of the oldest packet begins, if the wire is free.
    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if !self.idle(now) {
            return None;
        }
        let packet = self.queue.pop_front()?;
        self.queued_bytes -= u64::from(packet.bytes());
        self.served_bytes = packet.bytes();
        self.wire.send(packet.bytes(), now);
        Some(packet)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.queue.front().map(|_| self.wire.free_at().max(self.arrived))
    }
}

//! What every discipline counts of what it holds, and the wire that it feeds.

use super::rule::Found;
use crate::units::{Instant, Rate};
use crate::wire::Wire;

/// How much a queue holds, and its wire. Whoever takes a packet in, takes one out or begins to serve one says so here.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(super) wire: Wire,
    pub(super) bytes: u64,
    pub(super) packets: u64,
    /// Size of the packet whose service began last, bytes.
    pub(super) served_bytes: u32,
    /// When a packet last found nothing held, so that none is due in the past.
    arrived: Instant,
}

impl Held {
    /// Nothing; the wire is free.
    pub(super) fn new(rate: Rate) -> Self {
        Held { wire: Wire::new(rate), bytes: 0, packets: 0, served_bytes: 0, arrived: Instant::ZERO }
    }

    /// A packet of so many bytes is taken in.
    #[inline]
    pub(super) fn add(&mut self, bytes: u32, now: Instant) {
        if self.packets == 0 {
            self.arrived = now;
        }
        self.bytes += u64::from(bytes);
        self.packets += 1;
    }

    /// One is taken out: to serve it, or to drop it.
    #[inline]
    pub(super) fn remove(&mut self, bytes: u32) {
        self.bytes -= u64::from(bytes);
        self.packets -= 1;
    }

    /// The service of one that has been taken out begins.
    #[inline]
    pub(super) fn serve(&mut self, bytes: u32, now: Instant) {
        self.served_bytes = bytes;
        self.wire.send(bytes, now);
    }

    /// A packet is taken in, and its service begins at once.
    #[inline]
    pub(super) fn pass(&mut self, bytes: u32, now: Instant) {
        self.arrived = now;
        self.serve(bytes, now);
    }

    /// The service of a packet can begin.
    #[inline]
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.wire.free_at() <= now
    }

    /// What an arrival finds where several queues are held: all that is held waits, though the service of some packet may be due.
    pub(super) fn found(&self, now: Instant) -> Found {
        let due = || (self.packets > 0).then_some(0);
        let in_service = if self.is_idle(now) { due() } else { Some(self.served_bytes) };
        Found { waiting_bytes: self.bytes, waiting_packets: self.packets, in_service }
    }

    /// When the service of a packet can next begin.
    #[inline]
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        (self.packets > 0).then(|| self.wire.free_at().max(self.arrived))
    }
}

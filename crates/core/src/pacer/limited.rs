//! What any pacer holds, counted and limited.

use crate::queue::Limit;
use crate::stage::{Packet, Stage, Verdict};
use crate::units::Instant;

/// A pacing algorithm that counts what it holds and refuses what exceeds its limit.
#[derive(Debug, Clone)]
pub struct Limited<S> {
    algorithm: S,
    limit: Option<Limit>,
    held_bytes: u64,
    held_packets: u64,
}

impl<S> Limited<S> {
    pub(super) fn new(algorithm: S, limit: Option<Limit>) -> Self {
        Limited { algorithm, limit, held_bytes: 0, held_packets: 0 }
    }

    pub(super) fn set_limit(&mut self, limit: Option<Limit>) {
        self.limit = limit;
    }

    #[inline]
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    #[inline]
    pub(super) fn held_packets(&self) -> u64 {
        self.held_packets
    }

    /// Whether a packet of `bytes` would exceed the limit. One that finds the pacer empty never does: like an idle link,
    /// an empty pacer takes any packet, so that no limit can stop a link for good.
    #[inline]
    fn is_full_for(&self, bytes: u32) -> bool {
        match self.limit {
            None => false,
            Some(_) if self.held_packets == 0 => false,
            Some(Limit::Bytes(most)) => self.held_bytes + u64::from(bytes) > most,
            Some(Limit::Packets(most)) => self.held_packets >= most,
        }
    }
}

impl<P: Packet, S: Stage<P>> Stage<P> for Limited<S> {
    #[inline(always)]
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        let bytes = packet.bytes();
        if self.is_full_for(bytes) {
            return Verdict::Refused(packet);
        }
        let verdict = self.algorithm.enqueue(packet, now);
        if !matches!(verdict, Verdict::Refused(_)) {
            self.held_bytes += u64::from(bytes);
            self.held_packets += 1;
        }
        verdict
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Instant) -> Option<P> {
        let packet = self.algorithm.dequeue(now)?;
        self.held_bytes -= u64::from(packet.bytes());
        self.held_packets -= 1;
        Some(packet)
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Instant> {
        self.algorithm.next_wakeup()
    }
}

//! A toy queue discipline: the newest packet is served first.

use super::discipline::{Queueing, Tuned};
use super::rule::{Found, QueueSpec, Rule};
use crate::parameters::{Parameter, ParameterError, Reader};
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, Rate};
use crate::wire::Wire;

/// Nothing to set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parameters;

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[];
    const KEEPS_ORDER: bool = false;

    fn read(_: &mut Reader<'_>) -> Result<Self, ParameterError> {
        Ok(Parameters)
    }
}

/// What waits, the newest last, and the wire that it feeds.
#[derive(Debug, Clone)]
pub struct Toy<P> {
    wire: Wire,
    rule: Rule,
    stack: Vec<P>,
    held_bytes: u64,
    /// Size of the packet whose service began last, bytes.
    served_bytes: u32,
    /// When a packet found the stack empty.
    arrived: Instant,
}

impl<P: Packet> Queueing<P> for Toy<P> {
    type Parameters = Parameters;

    fn with(spec: &QueueSpec, _: &Parameters, rate: Rate) -> Self {
        let (wire, rule) = (Wire::new(rate), Rule::new(spec));
        Toy { wire, rule, stack: Vec::new(), held_bytes: 0, served_bytes: 0, arrived: Instant::ZERO }
    }

    fn wire(&self) -> &Wire {
        &self.wire
    }

    fn wire_mut(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    fn held_packets(&self) -> u64 {
        self.stack.len() as u64
    }
}

impl<P: Packet> Stage<P> for Toy<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        let is_idle = self.wire.free_at() <= now && self.stack.is_empty();
        let found = Found {
            waiting_bytes: self.held_bytes,
            waiting_packets: self.stack.len() as u64,
            in_service: (!is_idle).then_some(self.served_bytes),
        };
        if self.rule.drops(packet.bytes(), &found) {
            return Verdict::Refused(packet);
        }
        if self.stack.is_empty() {
            self.arrived = now;
        }
        self.held_bytes += u64::from(packet.bytes());
        self.stack.push(packet);
        Verdict::Queued
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if self.wire.free_at() > now {
            return None;
        }
        let packet = self.stack.pop()?;
        self.held_bytes -= u64::from(packet.bytes());
        self.served_bytes = packet.bytes();
        self.wire.send(packet.bytes(), now);
        Some(packet)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.stack.last().map(|_| self.wire.free_at().max(self.arrived))
    }
}

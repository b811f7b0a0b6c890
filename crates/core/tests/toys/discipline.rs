//! A toy queue discipline: the newest packet is served first.

use super::discipline::{Queueing, Tuned};
use super::held::Held;
use super::rule::{QueueSpec, Rule};
use crate::parameters::{Parameter, ParameterError, Reader};
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, Rate};

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

/// What waits, the newest last.
#[derive(Debug, Clone)]
pub struct Toy<P> {
    held: Held,
    rule: Rule,
    stack: Vec<P>,
}

impl<P: Packet> Queueing<P> for Toy<P> {
    type Parameters = Parameters;

    fn with(spec: &QueueSpec, _: &Parameters, rate: Rate) -> Self {
        Toy { held: Held::new(rate), rule: Rule::new(spec), stack: Vec::new() }
    }

    fn held(&self) -> &Held {
        &self.held
    }

    fn held_mut(&mut self) -> &mut Held {
        &mut self.held
    }
}

impl<P: Packet> Stage<P> for Toy<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        if self.rule.drops(packet.bytes(), &self.held.found(now)) {
            return Verdict::Refused(packet);
        }
        self.held.add(packet.bytes(), now);
        self.stack.push(packet);
        Verdict::Queued
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if !self.held.is_idle(now) {
            return None;
        }
        let packet = self.stack.pop()?;
        self.held.remove(packet.bytes());
        self.held.serve(packet.bytes(), now);
        Some(packet)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.held.next_wakeup()
    }
}

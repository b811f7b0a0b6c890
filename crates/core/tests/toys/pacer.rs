//! A toy pacer: a least time between two packets.

use std::collections::VecDeque;
use std::fmt;

use super::{Backlog, Envelope, Tuned};
use crate::gap::Gap;
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, Rate, Span};

/// What can be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The least time between two packets.
    pub gap: Span,
}

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] =
        &[Parameter { name: "gap", kind: Kind::Span, default: None, doc: "the least time between two packets" }];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        Ok(Parameters { gap: reader.span("gap")? })
    }

    fn delay_bound(&self, _: Rate, _: Backlog) -> Option<Span> {
        None
    }

    fn envelope(&self, _: Rate, _: u32) -> Option<Envelope> {
        None
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " gap = {}", self.gap)
    }
}

/// What it holds.
#[derive(Debug, Clone)]
pub struct Toy<P> {
    gap: Gap,
    queue: VecDeque<P>,
    /// When the oldest packet may leave.
    due: Instant,
}

impl<P: Packet> Toy<P> {
    /// The link's rate makes no difference.
    pub fn new(parameters: &Parameters, _: Rate) -> Self {
        let mut gap = Gap::default();
        gap.set_gap(parameters.gap);
        Toy { gap, queue: VecDeque::new(), due: Instant::ZERO }
    }
}

impl<P: Packet> Stage<P> for Toy<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        if self.queue.is_empty() {
            self.due = self.gap.next_release(now);
        }
        self.queue.push_back(packet);
        Verdict::Queued
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if now < self.due {
            return None;
        }
        let packet = self.queue.pop_front()?;
        self.gap.released(now);
        self.due = self.gap.next_release(now);
        Some(packet)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.queue.front().map(|_| self.due)
    }
}

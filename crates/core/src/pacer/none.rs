//! No pacing: packets leave as they come.
//!
//! *Idea.* The stage that every other is compared with.
//! *Parameters.* None.
//! *Where it breaks.* It passes every burst on.
//! *References.* None needed.

use std::collections::VecDeque;
use std::fmt;

use super::{Backlog, Envelope, Tuned};
use crate::parameters::{Parameter, ParameterError, Reader};
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, Rate, Span};

/// Nothing to set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parameters;

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[];

    fn read(_: &mut Reader<'_>) -> Result<Self, ParameterError> {
        Ok(Parameters)
    }

    fn delay_bound(&self, _: Rate, _: Backlog) -> Option<Span> {
        Some(Span::ZERO)
    }

    fn envelope(&self, _: Rate, _: u32) -> Option<Envelope> {
        None
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// Holds packets for as long as its caller takes to fetch them.
#[derive(Debug, Clone)]
pub struct Unpaced<P> {
    queue: VecDeque<P>,
    /// When the oldest packet found the queue empty.
    due: Instant,
}

impl<P: Packet> Unpaced<P> {
    /// The link's rate makes no difference.
    pub fn new(_: &Parameters, _: Rate) -> Self {
        Unpaced { queue: VecDeque::new(), due: Instant::ZERO }
    }
}

impl<P: Packet> Stage<P> for Unpaced<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        if self.queue.is_empty() {
            self.due = now;
        }
        self.queue.push_back(packet);
        Verdict::Queued
    }

    #[inline]
    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if now < self.due { None } else { self.queue.pop_front() }
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Instant> {
        self.queue.front().map(|_| self.due)
    }
}

//! Drop-front: a FIFO that makes room for an arrival by dropping the packet that has waited longest.
//!
//! *Idea.* What is at the front has the oldest news for its sender: dropping it there signals congestion a queueing delay sooner
//! than dropping the arrival does (Lakshman, Neidhardt and Ott 1996). One packet makes room for one; where that is not enough, the arrival is
//! dropped.
//!
//! *Parameters.* None: the limit, and what it counts, are the link's.
//!
//! *Where it breaks.* It has no closed form: what it drops was already promised a departure. The packet on the wire is never dropped.
//!
//! *References.* T. V. Lakshman, A. Neidhardt, T. J. Ott, "The drop from front strategy in TCP and in TCP over ATM", INFOCOM 1996.

use super::discipline::{Queueing, Tuned};
use super::drop_tail::DropTail;
use super::held::Held;
use super::rule::QueueSpec;
use crate::parameters::{Parameter, ParameterError, Reader};
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, Rate};

/// Nothing to set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parameters;

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[];

    fn read(_: &mut Reader<'_>) -> Result<Self, ParameterError> {
        Ok(Parameters)
    }

    /// Without a limit nothing is dropped, and it is a FIFO.
    fn has_closed_form(is_limited: bool) -> bool {
        !is_limited
    }
}

/// A FIFO that drops at its front, and the wire that it feeds.
#[derive(Debug, Clone)]
pub struct DropFront<P>(DropTail<P>);

impl<P: Packet> Queueing<P> for DropFront<P> {
    type Parameters = Parameters;

    fn with(spec: &QueueSpec, _: &Parameters, rate: Rate) -> Self {
        DropFront(DropTail::new(spec, rate))
    }

    #[inline]
    fn held(&self) -> &Held {
        self.0.held()
    }

    fn held_mut(&mut self) -> &mut Held {
        self.0.held_mut()
    }
}

impl<P: Packet> Stage<P> for DropFront<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        match self.0.enqueue(packet, now) {
            Verdict::Refused(packet) => match self.0.displace(packet.bytes(), now) {
                Some(older) => {
                    self.0.push(packet, now);
                    Verdict::Displaced(older)
                }
                None => Verdict::Refused(packet),
            },
            verdict => verdict,
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant) -> Option<P> {
        self.0.dequeue(now)
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Instant> {
        self.0.next_wakeup()
    }
}

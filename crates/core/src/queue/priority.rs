//! Strict priority: a FIFO for each class, and the highest class that holds a packet is served next.
//!
//! *Idea.* A packet waits for what is on the wire, for what waits of its own class and of those above it, and for what comes of those
//! above it meanwhile: nothing on the wire is interrupted. So the load of a class is felt by those below it alone.
//!
//! *Parameters.* `limits`: what may wait of each class, from 0 on. The link's `buffer` is the limit of all classes together; what finds
//! it full is dropped, of whatever class. So limits of the lower classes keep room for the higher ones, as each band of Linux's `prio` has
//! its own.
//!
//! *Where it breaks.* A class that sends as much as the link carries starves those below it; nothing bounds how long.
//!
//! *References.* A. Cobham, "Priority assignment in waiting line problems", Operations Research 2(1), 1954, for the waiting times; IEEE
//! 802.1Q-2018 section 8.6.8.1 ("strict priority"), whose higher numbers go first; Linux `net/sched/sch_prio.c`, whose lower ones do.

use std::sync::Arc;

use super::classes::{CLASSES, ClassQueues, LIMITS, read_limits};
use super::discipline::{Queueing, Tuned};
use super::held::Held;
use super::rule::{Limit, QueueSpec};
use crate::parameters::{Parameter, ParameterError, Reader};
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, Rate};

/// What classes may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// By class; `None` leaves it to the buffer.
    pub limits: Option<[Limit; CLASSES]>,
}

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[LIMITS];
    const KEEPS_ORDER: bool = false;
    const HAS_CLASSES: bool = true;

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        Ok(Parameters { limits: read_limits(reader)? })
    }
}

/// Queues by class, and the wire that they feed.
#[derive(Debug, Clone)]
pub struct Priority<P>(ClassQueues<P>);

impl<P: Packet> Queueing<P> for Priority<P> {
    type Parameters = Parameters;

    fn with(spec: &QueueSpec, parameters: &Parameters, rate: Rate) -> Self {
        Priority(ClassQueues::new(spec, parameters.limits.as_ref(), rate))
    }

    #[inline]
    fn held(&self) -> &Held {
        &self.0.held
    }

    fn held_mut(&mut self) -> &mut Held {
        &mut self.0.held
    }

    fn classify(&mut self, classes: &Arc<[u8]>) {
        self.0.classify(classes);
    }
}

impl<P: Packet> Stage<P> for Priority<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        let (class, bytes) = (self.0.class(&packet), packet.bytes());
        if self.0.is_full(bytes, now) || self.0.is_over_its_limit(class, bytes, now) {
            return Verdict::Refused(packet);
        }
        self.0.push(class, packet, now);
        Verdict::Queued
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if !self.0.held.is_idle(now) {
            return None;
        }
        let class = self.0.highest()?;
        let packet = self.0.pop(class)?;
        self.0.held.serve(packet.bytes(), now);
        Some(packet)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.0.held.next_wakeup()
    }
}

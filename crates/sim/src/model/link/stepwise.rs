//! A queue that is served step by step, and what it does beside what verdicts say.
//!
//! *Idea.* A discipline may drop packets as another leaves, or to make room, and may mark one. What it has dropped comes out first, then
//! what leaves.

use super::by_class::ByClass;

use crate::kernel::cause::Cause;
use crate::kernel::chance::Stream;
use crate::kernel::packet::Event;
use crate::network::{LinkSpec, Network, VaryingRate};
use crate::varying::{Transmit, Transmitter};
use paceline_core::queue::{Queue, QueueSpec};
use paceline_core::{Instant, Stage, Verdict};

/// A step-by-step queue at a link.
#[derive(Debug)]
pub(super) struct Stepwise {
    pub(super) queue: Queue<Event>,
    /// Its service begins now, after what the queue has dropped before it.
    next: Option<Event>,
    /// Marks that are accounted for.
    marks: u64,
    /// Of a discipline that tells classes apart.
    pub(super) by_class: Option<Box<ByClass>>,
    /// Of a rate that varies; and when the packet last begun will have left.
    transmitter: Option<Box<Transmitter>>,
    /// A packet that comes to an idle link may wait.
    waits: bool,
    finish: Instant,
}

/// What comes out of it.
pub(super) enum Out {
    /// It is on the wire; it may have just been marked.
    Leaves { event: Event, marked: bool },
    /// It is dropped.
    Dropped(Event, Cause),
}

impl Stepwise {
    /// Counts by class are over this window.
    pub(super) fn new(
        buffer: &QueueSpec,
        spec: &LinkSpec,
        (network, window): (&Network, (Instant, Instant)),
    ) -> Self {
        let (seed, classes) = (network.seed, &network.classes);
        let mut draws = Stream::of(seed, &spec.name, "queue");
        let queue = Queue::new(buffer, spec.rate).with_seed(draws.between(0, u64::MAX)).with_classes(classes);
        let by_class = buffer.discipline.has_classes().then(|| Box::new(ByClass::new(classes, window)));
        let varying = spec.fitting.varying.as_ref();
        let transmitter = varying.map(|rate| Box::new(rate.transmitter(seed, &spec.name)));
        let waits = varying.is_some_and(VaryingRate::waits_when_idle);
        Stepwise { queue, next: None, marks: 0, by_class, transmitter, waits, finish: Instant::ZERO }
    }

    /// A packet comes, and whether the queue has marked it. By the rate of an idle link its service may begin later.
    #[inline]
    pub(super) fn enqueue(&mut self, event: Event, now: Instant) -> (Verdict<Event>, bool) {
        if let Some(transmitter) = &mut self.transmitter
            && self.queue.wire().free_at() <= now
        {
            self.queue.busy_until(transmitter.opens(now));
        }
        let verdict = self.queue.enqueue(event, now);
        if let Some(by_class) = &mut self.by_class {
            by_class.comes(&event, now, !matches!(verdict, Verdict::Refused(_)));
            if let Verdict::Displaced(older) = &verdict {
                by_class.goes(older, now, true);
            }
        }
        (verdict, self.has_marked())
    }

    /// Whether a packet that comes now goes on the wire at once, without being held.
    #[inline]
    pub(super) fn passes(&mut self, event: &Event) -> bool {
        let is_plain = self.next.is_none() && self.by_class.is_none() && self.transmitter.is_none();
        is_plain && self.queue.passes(event, event.at)
    }

    /// The queue alone, and the marks of it that are accounted for: where there is nothing else here that acts.
    pub(super) fn plain(&mut self) -> Option<(&mut Queue<Event>, &mut u64)> {
        let is_plain = self.next.is_none() && self.by_class.is_none() && self.transmitter.is_none();
        is_plain.then_some((&mut self.queue, &mut self.marks))
    }

    /// A packet that comes now is served at once.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        !self.waits && self.queue.held_packets() == 0 && self.queue.wire().free_at() <= now
    }

    /// What comes out of it at `now`: call until there is nothing.
    #[inline]
    pub(super) fn take(&mut self, now: Instant) -> Option<Out> {
        let next = self.next.take().or_else(|| self.begin(now));
        if let Some((dropped, cause)) = self.queue.take_dropped() {
            self.next = next;
            if let Some(by_class) = &mut self.by_class {
                by_class.goes(&dropped, now, true);
            }
            return Some(Out::Dropped(dropped, cause.into()));
        }
        next.map(|event| Out::Leaves { event, marked: self.has_marked() })
    }

    /// The service of the next packet begins, if there is one.
    #[inline]
    fn begin(&mut self, now: Instant) -> Option<Event> {
        let event = self.queue.dequeue(now)?;
        if let Some(by_class) = &mut self.by_class {
            by_class.goes(&event, now, false);
        }
        if let Some(transmitter) = &mut self.transmitter {
            let free_at;
            (self.finish, free_at) = transmitter.send(event.bytes, now);
            self.queue.busy_until(free_at);
        }
        Some(event)
    }

    /// When the packet will have left that has just come out.
    #[inline]
    pub(super) fn finish(&self) -> Instant {
        if self.transmitter.is_some() { self.finish } else { self.queue.wire().free_at() }
    }

    /// When something may next come out of it.
    #[inline]
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        if self.next.is_some() || self.queue.has_dropped() {
            return Some(Instant::ZERO); // at once
        }
        self.queue.next_wakeup()
    }

    #[inline]
    fn has_marked(&mut self) -> bool {
        let before = std::mem::replace(&mut self.marks, self.queue.marks());
        self.marks > before
    }
}

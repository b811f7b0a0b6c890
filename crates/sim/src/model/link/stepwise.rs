//! A queue that is served step by step, and what it does beside what verdicts say.
//!
//! *Idea.* A discipline may drop packets as another leaves, or to make room, and may mark one. What it has dropped comes out first, then
//! what leaves.

use crate::kernel::chance::Stream;
use crate::kernel::packet::Event;
use crate::network::LinkSpec;
use paceline_core::queue::{Queue, QueueSpec};
use paceline_core::{Cause, Instant, Stage, Verdict};

/// A step-by-step queue at a link.
#[derive(Debug)]
pub(super) struct Stepwise {
    pub(super) queue: Queue<Event>,
    /// Its service begins now, after what the queue has dropped before it.
    next: Option<Event>,
    /// Marks that are accounted for.
    marks: u64,
}

/// What comes out of it.
pub(super) enum Out {
    /// It is on the wire; it may have just been marked.
    Leaves { event: Event, marked: bool },
    /// It is dropped.
    Dropped(Event, Cause),
}

impl Stepwise {
    pub(super) fn new(buffer: &QueueSpec, spec: &LinkSpec, seed: u64) -> Self {
        let mut draws = Stream::new(seed, &format!("{}:queue", spec.name));
        let queue = Queue::new(buffer, spec.rate).with_seed(draws.between(0, u64::MAX));
        Stepwise { queue, next: None, marks: 0 }
    }

    /// A packet comes, and whether the queue has marked it.
    #[inline]
    pub(super) fn enqueue(&mut self, event: Event, now: Instant) -> (Verdict<Event>, bool) {
        (self.queue.enqueue(event, now), self.has_marked())
    }

    /// What comes out of it at `now`: call until there is nothing.
    #[inline]
    pub(super) fn take(&mut self, now: Instant) -> Option<Out> {
        let next = self.next.take().or_else(|| self.queue.dequeue(now));
        if let Some((dropped, cause)) = self.queue.take_dropped() {
            self.next = next;
            return Some(Out::Dropped(dropped, cause));
        }
        next.map(|event| Out::Leaves { event, marked: self.has_marked() })
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

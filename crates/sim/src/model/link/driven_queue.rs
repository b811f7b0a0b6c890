//! A step-by-step queue serves a list, in a loop that is compiled for its discipline.
//!
//! *Idea.* [`BoundedLink::hold_until`] asks which discipline it is at each step of each packet, and hands packets on through verdicts that have
//! room for two. Here the discipline is known, and a packet goes from the list into the queue, and from there to `out`.
//! *Where it applies.* No pacer, forced losses or classes; a rate that does not vary; nothing records departures.
//! *What it buys.* Without it FQ-CoDel takes 19 % more instructions (`benches/ablation.py --path driven-queue`).

use super::Buffer;
use super::batch::{Note, Notes};
use super::bounded::BoundedLink;
use super::counters::LinkCounters;
use super::meter::Meter;
use crate::kernel::cause::Cause;
use crate::kernel::packet::Event;
use paceline_core::queue::{QueueDriver, Served};
use paceline_core::{Instant, Span, Verdict};

/// A queue at work on a list.
struct DrivenQueue<'a> {
    counters: &'a mut LinkCounters,
    meter: Option<&'a mut Meter>,
    wakeup_at: &'a mut Option<Instant>,
    /// Marks that are accounted for.
    marks: &'a mut u64,
    /// The packets of the list arrive, and what may leave up to `last` does.
    line: &'a [Event],
    last: Instant,
    delay: Span,
    out: &'a mut Vec<Event>,
    notes: &'a mut Notes,
}

impl BoundedLink {
    /// The packets of a list arrive, and, at the wake-ups in between and on to `last`, what may leave does. `false`, and nothing has
    /// happened, where the link is another.
    pub(super) fn serve_driven(
        &mut self,
        last: Instant,
        line: &[Event],
        delay: Span,
        out: &mut Vec<Event>,
        notes: &mut Notes,
    ) -> bool {
        let BoundedLink { buffer: Buffer::Stepwise(stepwise), counters, meter, wakeup_at, .. } = self else {
            return false;
        };
        if self.pacer.is_some() || self.losses.is_some() || self.record.is_some() {
            return false;
        }
        let Some((queue, marks)) = stepwise.plain() else { return false };
        let meter = meter.as_mut();
        queue.driven_by(DrivenQueue { counters, meter, wakeup_at, marks, line, last, delay, out, notes });
        true
    }
}

impl QueueDriver<Event> for DrivenQueue<'_> {
    #[inline(never)]
    fn drive<Q: Served<Event>>(mut self, queue: &mut Q) {
        self.counters.all_arrive(self.line);
        let mut wakeup = self.wakeup_at.unwrap_or(Instant::MAX);
        let mut line = self.line.iter();
        loop {
            let next = line.as_slice().first();
            let until = next.map_or(self.last, |event| event.at);
            while wakeup <= until {
                self.pump(queue, wakeup);
                wakeup = queue.next_wakeup().map_or(Instant::MAX, |at| at.max(wakeup));
            }
            let Some(event) = line.next() else { break };
            self.take_in(queue, event);
            let next = if queue.has_dropped() { Some(event.at) } else { queue.next_wakeup() };
            wakeup = next.map_or(Instant::MAX, |at| at.max(event.at));
        }
        *self.wakeup_at = (wakeup < Instant::MAX).then_some(wakeup);
    }
}

impl DrivenQueue<'_> {
    /// What comes out of the queue now: what it has dropped, then the packet whose service begins.
    #[inline(always)]
    fn pump<Q: Served<Event>>(&mut self, queue: &mut Q, now: Instant) {
        let next = queue.dequeue(now);
        while let Some((dropped, cause)) = queue.take_dropped() {
            self.drop_waiting(&dropped, cause.into(), now);
        }
        let Some(event) = next else { return };
        self.count_mark(queue, now);
        if let Some(meter) = &mut self.meter {
            meter.leaves(u32::from(event.bytes), now, now);
        }
        self.goes(event, queue.wire().free_at(), now);
    }

    /// A packet arrives.
    #[inline(always)]
    fn take_in<Q: Served<Event>>(&mut self, queue: &mut Q, event: &Event) {
        let now = event.at;
        if queue.passes(event, now) {
            if let Some(meter) = &mut self.meter {
                meter.passes(now);
            }
            return self.goes(*event, queue.wire().free_at(), now);
        }
        let verdict = queue.enqueue(*event, now);
        if let Verdict::Refused(_) = verdict {
            let cause = queue.why_refused().into();
            self.counters.drops(cause, now);
            return self.notes.push((*event, Note::Dropped(cause)));
        }
        if let Some(meter) = &mut self.meter {
            meter.enter(u32::from(event.bytes), now);
        }
        if let Verdict::Displaced(older) = verdict {
            return self.drop_waiting(&older, Cause::Overflow, now);
        }
        self.count_mark(queue, now);
    }

    /// The queue may have marked the packet that has just come, or leaves.
    #[inline(always)]
    fn count_mark<Q: Served<Event>>(&mut self, queue: &Q, now: Instant) {
        let marks = queue.marks();
        if marks > std::mem::replace(self.marks, marks) {
            self.counters.marks(now);
        }
    }

    /// A packet is on the wire from `now` on.
    #[inline(always)]
    fn goes(&mut self, event: Event, finish: Instant, now: Instant) {
        self.counters.leaves(event.bytes, event.is_ack(), now, finish);
        event.goes_on(finish + self.delay, self.out);
    }

    #[inline(never)]
    fn drop_waiting(&mut self, event: &Event, cause: Cause, now: Instant) {
        self.counters.drops(cause, now);
        if let Some(meter) = &mut self.meter {
            meter.drop_now(u32::from(event.bytes), now);
        }
        self.notes.push((event.at_time(now), Note::DroppedWaiting(cause)));
    }
}

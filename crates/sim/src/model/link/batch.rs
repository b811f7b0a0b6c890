//! What reaches a link within an epoch, served in one loop.
//!
//! *Idea.* The packets are a list in the order of arrival. The events of those that leave get the time at the far end and go to the list
//! of what comes next; drops, and passages that are recorded, are noted.

use super::{BoundedLink, Buffer, Fate, Link, Passage, Release, Wide};
use crate::kernel::cause::Cause;
use crate::kernel::packet::Event;
use paceline_core::pacer::Driver;
use paceline_core::{Instant, Span, Stage, Wire};

/// What a link asks for, besides that its packets come in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// Nothing: it is lossless and not observed.
    All,
    /// Each packet may be dropped, by a full buffer alone; a meter runs.
    Bounded,
    /// Each packet may be dropped, or its departure recorded; but that is known at the arrival.
    Each,
    /// It holds packets: wake-ups come between arrivals.
    Between,
}

/// What is reported of a packet at a link, at the event's time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Note {
    /// It arrives and is dropped.
    Dropped(Cause),
    /// It had waited, and is dropped.
    DroppedWaiting(Cause),
    /// It arrives, and will wait.
    Arrives,
    /// It arrives, and will leave so.
    Passes(Passage),
    /// It had waited, and leaves so.
    Leaves(Passage),
    /// It is held, and has been marked.
    Marked(Cause),
}

/// What is noted of an epoch, in the order in which it happens.
pub(crate) type Notes = Vec<(Event, Note)>;

impl Link {
    /// Serves an epoch's packets, up to `end`: what leaves goes to `out`. `look` takes the queue's samples before a time, and returns
    /// when the next is due.
    pub(crate) fn serve(
        &mut self,
        service: Service,
        line: &[Event],
        end: Instant,
        out: &mut Vec<Event>,
        notes: &mut Notes,
        look: impl FnMut(&mut BoundedLink, Instant) -> Instant,
    ) {
        match service {
            Service::All => self.pass_all(line, out),
            Service::Bounded => self.serve_between_looks(line, end, look, |_, delay, bounded, line| {
                bounded.fill(line, delay, out, notes);
            }),
            Service::Each => self.admit_all(line, out, end, notes, look),
            Service::Between => self.hold_all(line, out, end, notes, look),
        }
    }

    /// A lossless link that is not recorded.
    fn pass_all(&mut self, line: &[Event], out: &mut Vec<Event>) {
        let (Some(first), Some(last)) = (line.first(), line.last()) else { return };
        let times = (first.at, last.at);
        if let Some(mut service) = self.begin_batch(line.len(), times) {
            for event in appended(out, line) {
                let (start, arrival) = service.pass(event, event.at);
                if start > event.at {
                    self.makes_wait(event, event.at, start);
                }
                event.move_on(arrival);
            }
            self.end_batch(&service, times.0, line.len() as u64);
        } else {
            for event in appended(out, line) {
                event.move_on(self.pass(event.bytes, event.is_ack(), event.at).arrival);
            }
        }
    }

    /// Serves a list from one sample of the queue to the next.
    fn serve_between_looks(
        &mut self,
        mut line: &[Event],
        end: Instant,
        mut look: impl FnMut(&mut BoundedLink, Instant) -> Instant,
        mut serve: impl FnMut(&mut Wire, Span, &mut BoundedLink, &[Event]),
    ) {
        let Link::Wide(wide) = self else { return };
        let Wide { wire, delay, bounded: Some(bounded), .. } = &mut **wide else { return };
        let mut next_look = look(bounded, Instant::ZERO);
        while let Some(first) = line.first() {
            if first.at > next_look {
                next_look = look(bounded, first.at);
            }
            let (before, behind) = line.split_at(line.partition_point(|event| event.at <= next_look).max(1));
            serve(wire, *delay, bounded, before);
            line = behind;
        }
        look(bounded, end);
    }

    /// A link that may drop packets, but holds none.
    fn admit_all(
        &mut self,
        line: &[Event],
        out: &mut Vec<Event>,
        end: Instant,
        notes: &mut Notes,
        look: impl FnMut(&mut BoundedLink, Instant) -> Instant,
    ) {
        self.serve_between_looks(line, end, look, |wire, delay, bounded, line| {
            for event in line {
                let passage = if bounded.only_watched {
                    let (start, finish) = wire.send(u32::from(event.bytes), event.at);
                    let recorded = bounded.watch(event.bytes, event.is_ack(), event.at, start, finish);
                    Ok(Passage { start, arrival: finish + delay, recorded, marked: false })
                } else {
                    bounded.admit(event, delay)
                };
                match passage {
                    Ok(passage) => event.leaves(passage, Note::Passes, out, notes),
                    Err(cause) => notes.push((*event, Note::Dropped(cause))),
                }
            }
        });
    }

    /// A link with a pacer or a step-by-step queue: what leaves goes to `out`.
    fn hold_all(
        &mut self,
        mut line: &[Event],
        out: &mut Vec<Event>,
        end: Instant,
        notes: &mut Notes,
        mut look: impl FnMut(&mut BoundedLink, Instant) -> Instant,
    ) {
        let Link::Wide(wide) = self else { return };
        let Wide { delay, bounded: Some(bounded), .. } = &mut **wide else { return };
        let last = end - Span::from_nanos(1);
        let mut next_look = look(bounded, Instant::ZERO);
        loop {
            let wakeup = bounded.wakeup_at.filter(|at| *at <= last);
            let Some(next) = line.first().map(|event| event.at).into_iter().chain(wakeup).min() else {
                break;
            };
            if next > next_look {
                next_look = look(bounded, next);
            }
            let (before, behind) = line.split_at(line.partition_point(|event| event.at <= next_look));
            bounded.hold_until(last.min(next_look), before, *delay, out, notes);
            line = behind;
        }
        look(bounded, end);
    }
}

/// Appends all of a list to `out`. Returns the copy.
pub(super) fn appended<'a>(out: &'a mut Vec<Event>, line: &[Event]) -> &'a mut [Event] {
    let before = out.len();
    out.extend_from_slice(line);
    &mut out[before..]
}

impl BoundedLink {
    /// The packets of a list arrive and, at the wake-ups in between and on to `last`, what may leave does.
    fn hold_until(
        &mut self,
        last: Instant,
        line: &[Event],
        delay: Span,
        out: &mut Vec<Event>,
        notes: &mut Notes,
    ) {
        if crate::ablation::FastPath::DrivenPacer.is_on()
            && let Buffer::Closed(_) = self.buffer
            && let Some(mut pacer) = self.pacer.take()
        {
            pacer.driven_by(Pacing { link: self, last, line, delay, out, notes });
            self.pacer = Some(pacer);
            return;
        }
        if crate::ablation::FastPath::DrivenQueue.is_on() && self.serve_driven(last, line, delay, out, notes)
        {
            return;
        }
        let mut line = line.iter();
        loop {
            let next = line.as_slice().first();
            let until = next.map_or(last, |event| event.at);
            while let Some(now) = self.wakeup_at.filter(|at| *at <= until) {
                if let Some((event, release)) = self.pump(delay, now) {
                    self.lets_go(event, release, out, notes);
                }
                self.wakeup_at = self.next_wakeup().map(|at| at.max(now));
            }
            let Some(event) = line.next() else { break };
            let fate = self.offer(event, delay);
            self.takes_in(event, fate, out, notes);
            self.wakeup_at = self.next_wakeup().map(|at| at.max(event.at));
        }
    }

    /// What has become of a packet that has arrived.
    #[inline(always)]
    fn takes_in(&self, event: &Event, fate: Fate, out: &mut Vec<Event>, notes: &mut Notes) {
        match fate {
            Fate::Leaves(passage) => return event.leaves(passage, Note::Passes, out, notes),
            Fate::Dropped(cause) => return notes.push((*event, Note::Dropped(cause))),
            Fate::Displaced(older) => notes.push((older, Note::DroppedWaiting(Cause::Overflow))),
            Fate::Held | Fate::Marked(_) => {}
        }
        if self.record.is_some() {
            notes.push((*event, Note::Arrives));
            if let Fate::Marked(cause) = fate {
                notes.push((*event, Note::Marked(cause)));
            }
        }
    }

    /// What becomes of a packet that was held.
    #[inline(always)]
    fn lets_go(&self, event: Event, release: Release, out: &mut Vec<Event>, notes: &mut Notes) {
        match release {
            Release::Leaves(passage) => event.leaves(passage, Note::Leaves, out, notes),
            Release::Dropped(cause) => notes.push((event, Note::DroppedWaiting(cause))),
            Release::Marked if self.record.is_some() => notes.push((event, Note::Marked(Cause::Early))),
            Release::Marked => {}
        }
    }
}

/// [`BoundedLink::hold_until`] of a link whose pacer is driven: it feeds a plain FIFO. Without it edge pacing takes 11 % more instructions
/// (`benches/ablation.py --path driven-pacer`).
struct Pacing<'a> {
    link: &'a mut BoundedLink,
    last: Instant,
    line: &'a [Event],
    delay: Span,
    out: &'a mut Vec<Event>,
    notes: &'a mut Notes,
}

impl Driver<Event> for Pacing<'_> {
    type Outcome = ();

    #[inline(never)]
    fn drive<S: Stage<Event>>(self, pacer: &mut S) {
        let Pacing { link, last, line, delay, out, notes } = self;
        link.counters.all_arrive(line);
        let mut wakeup = link.wakeup_at.unwrap_or(Instant::MAX);
        let mut line = line.iter();
        loop {
            let next = line.as_slice().first();
            let until = next.map_or(last, |event| event.at);
            while wakeup <= until {
                if let Some(event) = pacer.dequeue(wakeup) {
                    let (event, release) = link.is_released(event, wakeup, delay);
                    link.lets_go(event, release, out, notes);
                }
                wakeup = pacer.next_wakeup().map_or(Instant::MAX, |at| at.max(wakeup));
            }
            let Some(event) = line.next() else { break };
            let fate = if let Some(cause) = link.is_lost(event) {
                link.counters.drops(cause, event.at);
                Fate::Dropped(cause)
            } else {
                link.is_held(event, pacer.enqueue(*event, event.at), Cause::Pacer)
            };
            link.takes_in(event, fate, out, notes);
            wakeup = pacer.next_wakeup().map_or(Instant::MAX, |at| at.max(event.at));
        }
        link.wakeup_at = (wakeup < Instant::MAX).then_some(wakeup);
    }
}

impl Event {
    /// The packet is on the wire.
    #[inline(always)]
    fn leaves(self, passage: Passage, note: fn(Passage) -> Note, out: &mut Vec<Event>, notes: &mut Notes) {
        if passage.recorded {
            notes.push((self, note(passage)));
        }
        self.goes_on(passage.arrival, out);
    }
}

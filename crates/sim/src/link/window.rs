//! What reaches a link within a window of time, served in one loop.
//!
//! *Idea.* The packets stand in line, in the order of arrival. Those that leave take their places in it, their events moved
//! on to the far end; what somebody may want to know of the others, and of those that are recorded, is noted.

use super::{Buffer, Fate, Fitted, Link, Passage, Wide};
use crate::packet::Event;
use paceline_core::queue::Departure;
use paceline_core::{Instant, Span, Wire};

/// What a link asks for, besides that its packets come in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// Nothing: it refuses nothing, and nobody looks on.
    All,
    /// Each packet may be refused, by a full buffer alone; a meter runs.
    Bounded,
    /// Each packet may be refused, or its departure recorded; but that is known at the arrival.
    Each,
    /// It holds packets: wake-ups come between arrivals.
    Between,
}

/// Something to be said of a packet at a link, at the event's time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Note {
    /// It arrives and is refused.
    Refused,
    /// It had waited, and is dropped.
    Dropped,
    /// It arrives, and will wait.
    Arrives,
    /// It arrives, and will leave so.
    Passes(Passage),
    /// It had waited, and leaves so.
    Leaves(Passage),
}

/// What is noted of a window, in the order in which it happens.
pub(crate) type Notes = Vec<(Event, Note)>;

impl Link {
    /// Serves a window's packets, up to `end`. `room` is for what the loop needs. `look` is called before what happens at the
    /// times that it names, and then names the next.
    pub(crate) fn serve(
        &mut self,
        service: Service,
        (line, room): (&mut Vec<Event>, &mut Vec<Event>),
        end: Instant,
        notes: &mut Notes,
        look: impl FnMut(&mut Fitted, Instant) -> Instant,
    ) {
        match service {
            Service::All => self.pass_all(line),
            Service::Bounded => {
                room.clear();
                self.fill(line, room, end, notes, look);
                std::mem::swap(line, room);
            }
            Service::Each => self.admit_all(line, end, notes, look),
            Service::Between => {
                room.clear();
                self.hold_all(line, room, end, notes, look);
                std::mem::swap(line, room);
            }
        }
    }

    /// A link that refuses nothing and is not recorded.
    fn pass_all(&mut self, line: &mut [Event]) {
        let wide = match self {
            Link::Wide(wide) => wide,
            Link::Slim(slim) => {
                let mut working = *slim;
                for event in line {
                    event.at = working.pass(event.bytes, event.at).1;
                    event.step();
                }
                *slim = working;
                return;
            }
        };
        let Wide { wire, delay, fitted } = &mut **wide;
        let (Some(fitted), Some(first), Some(last)) = (fitted, line.first(), line.last()) else {
            return wire.pass_all(line, *delay, |_, _, _| {});
        };
        let (first, latest) = (first.at, wire.latest(line.len(), last.at));
        if !fitted.counters.counts_all(first, latest) {
            return wire.pass_all(line, *delay, |event, start, finish| {
                fitted.watch(event.bytes, event.is_ack(), event.at, start, finish);
            });
        }
        let (mut bytes, mut data) = (0, 0);
        wire.pass_all(line, *delay, |event, start, _| {
            bytes += u64::from(event.bytes);
            data += u64::from(!event.is_ack());
            if start > event.at {
                fitted.wait(event.bytes, event.at, start);
            }
        });
        fitted.counters.passes_all(line.len() as u64, bytes, data);
    }

    /// A link with a limited buffer and a meter, and nothing else: what leaves goes to `out`.
    fn fill(
        &mut self,
        mut line: &[Event],
        out: &mut Vec<Event>,
        end: Instant,
        notes: &mut Notes,
        mut look: impl FnMut(&mut Fitted, Instant) -> Instant,
    ) {
        let Link::Wide(wide) = self else { return };
        let Wide { delay, fitted: Some(fitted), .. } = &mut **wide else { return };
        let mut next_look = look(fitted, Instant::ZERO);
        while let Some(first) = line.first() {
            if first.at > next_look {
                next_look = look(fitted, first.at);
            }
            let before = line.partition_point(|event| event.at <= next_look).max(1);
            fitted.fill(&line[..before], *delay, out, notes);
            line = &line[before..];
        }
        look(fitted, end);
    }

    /// A link that may refuse packets, but holds none.
    fn admit_all(
        &mut self,
        line: &mut Vec<Event>,
        end: Instant,
        notes: &mut Notes,
        mut look: impl FnMut(&mut Fitted, Instant) -> Instant,
    ) {
        let Link::Wide(wide) = self else { return };
        let Wide { wire, delay, fitted: Some(fitted) } = &mut **wide else { return };
        let mut next_look = look(fitted, Instant::ZERO);
        let mut left = 0;
        for next in 0..line.len() {
            let event = &line[next];
            if event.at > next_look {
                next_look = look(fitted, event.at);
            }
            let passage = if fitted.only_watched {
                let (start, finish) = wire.send(u32::from(event.bytes), event.at);
                let recorded = fitted.watch(event.bytes, event.is_ack(), event.at, start, finish);
                Some(Passage { start, arrival: finish + *delay, recorded })
            } else {
                fitted.admit(event, *delay)
            };
            let Some(passage) = passage else {
                notes.push((*event, Note::Refused));
                continue;
            };
            if passage.recorded {
                notes.push((*event, Note::Passes(passage)));
            }
            line[left] = line[next]; // as it came: what was just written is not read again
            line[left].at = passage.arrival;
            line[left].step();
            left += 1;
        }
        line.truncate(left);
        look(fitted, end);
    }

    /// A link with a pacer or a step-by-step queue: what leaves goes to `out`.
    fn hold_all(
        &mut self,
        line: &[Event],
        out: &mut Vec<Event>,
        end: Instant,
        notes: &mut Notes,
        mut look: impl FnMut(&mut Fitted, Instant) -> Instant,
    ) {
        let Link::Wide(wide) = self else { return };
        let Wide { delay, fitted: Some(fitted), .. } = &mut **wide else { return };
        let delay = *delay;
        let mut next_look = look(fitted, Instant::ZERO);
        let mut line = line.iter().peekable();
        loop {
            let next = line.peek().map(|event| event.at);
            let wakeup = fitted.wakeup_at.filter(|at| *at < end && next.is_none_or(|next| *at <= next));
            let Some(now) = wakeup.or(next) else { break };
            if now > next_look {
                next_look = look(fitted, now);
            }
            if wakeup.is_some() {
                if let Some((packet, passage)) = fitted.pump(delay, now) {
                    let event = Event::of_packet(now, packet.tail, packet);
                    match passage {
                        Some(passage) => event.leaves(passage, Note::Leaves, out, notes),
                        None => notes.push((event, Note::Dropped)),
                    }
                }
            } else if let Some(event) = line.next() {
                fitted.takes_in(event, delay, out, notes);
            }
            fitted.wakeup_at = fitted.next_wakeup().map(|at| at.max(now));
        }
        look(fitted, end);
    }
}

/// A wire over which all of a line goes.
trait PassAll {
    /// `tell` hears of each packet, and of the start and the end of its service.
    fn pass_all(&mut self, line: &mut [Event], delay: Span, tell: impl FnMut(&Event, Instant, Instant));
}

impl PassAll for Wire {
    #[inline(always)]
    fn pass_all(&mut self, line: &mut [Event], delay: Span, mut tell: impl FnMut(&Event, Instant, Instant)) {
        let mut wire = *self;
        for event in line {
            let (start, finish) = wire.send(u32::from(event.bytes), event.at);
            tell(event, start, finish);
            event.at = finish + delay;
            event.step();
        }
        *self = wire;
    }
}

impl Fitted {
    /// As `admit`, packet by packet, with all that is asked of such a link in one place.
    #[inline(never)]
    fn fill(&mut self, line: &[Event], delay: Span, out: &mut Vec<Event>, notes: &mut Notes) {
        let Fitted { buffer: Buffer::Closed(queue), meter: Some(meter), counters, record, .. } = self else {
            return;
        };
        let (from, to) = record.unwrap_or((Instant::MAX, Instant::MAX));
        for event in line {
            let (bytes, at) = (event.bytes, event.at);
            let departure =
                queue.admit_and_tell(u32::from(bytes), at, |waited| meter.starts(waited.bytes, waited.start));
            let Some(Departure { start, finish }) = departure else {
                counters.refuses(at);
                notes.push((*event, Note::Refused));
                continue;
            };
            if start > at {
                meter.waits_elsewhere(u32::from(bytes), at);
            }
            counters.passes(bytes, event.is_ack(), at, start, finish);
            let arrival = finish + delay;
            if from <= start && start < to {
                notes.push((*event, Note::Passes(Passage { start, arrival, recorded: true })));
            }
            let mut event = *event;
            event.at = arrival;
            event.step();
            out.push(event);
        }
    }

    /// A packet arrives.
    #[inline(always)]
    fn takes_in(&mut self, event: &Event, delay: Span, out: &mut Vec<Event>, notes: &mut Notes) {
        match self.offer(event, delay) {
            Fate::Leaves(passage) => return event.leaves(passage, Note::Passes, out, notes),
            Fate::Refused => return notes.push((*event, Note::Refused)),
            Fate::Displaced(older) => {
                notes.push((Event::of_packet(event.at, older.tail, older), Note::Dropped));
            }
            Fate::Held => {}
        }
        if self.record.is_some() {
            notes.push((*event, Note::Arrives));
        }
    }

    /// Asks when something may next leave; returns that time if it is not known yet.
    pub(crate) fn set_wakeup(&mut self, now: Instant) -> Option<Instant> {
        let at = self.next_wakeup()?.max(now);
        if self.wakeup_at.is_some_and(|known| known <= at) {
            return None;
        }
        self.wakeup_at = Some(at);
        Some(at)
    }
}

impl Event {
    /// The packet has been given to the wire.
    #[inline(always)]
    fn leaves(
        mut self,
        passage: Passage,
        note: fn(Passage) -> Note,
        out: &mut Vec<Event>,
        notes: &mut Notes,
    ) {
        if passage.recorded {
            notes.push((self, note(passage)));
        }
        self.at = passage.arrival;
        self.step();
        out.push(self);
    }
}

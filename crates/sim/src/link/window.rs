//! What reaches a link within a window of time, served in one loop.
//!
//! *Idea.* The packets stand in line, in the order of arrival. Those that leave take their places in it, their events moved
//! on to the far end; what somebody may want to know of the others, and of those that are recorded, is noted.

use super::{Fate, Fitted, Link, Passage, Wide};
use crate::packet::Event;
use paceline_core::{Instant, Span};

/// What a link asks for, besides that its packets come in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// Nothing: it refuses nothing, and nobody looks on.
    All,
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
        let (mut wire, delay) = (wide.wire, wide.delay);
        if let Some(fitted) = &mut wide.fitted {
            let mut counters = fitted.counters;
            for event in line {
                let (start, finish) = wire.send(u32::from(event.bytes), event.at);
                if start > event.at {
                    fitted.wait(event.bytes, event.at, start);
                }
                counters.passes(event.bytes, event.is_ack(), event.at, start, finish);
                event.at = finish + delay;
                event.step();
            }
            fitted.counters = counters;
        } else {
            for event in line {
                event.at = wire.send(u32::from(event.bytes), event.at).1 + delay;
                event.step();
            }
        }
        wide.wire = wire;
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

impl Fitted {
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

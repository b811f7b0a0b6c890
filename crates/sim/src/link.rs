//! A link: forced losses, then the pacer, then the buffer, then the wire, then propagation.
//!
//! *Idea.* A plain FIFO tells at the arrival when the packet will have left: one event a hop. A pacer, or a queue that
//! drops at its front, works step by step: the engine then calls [`Link::pump`] at the link's wake-ups.
//!
//! Most links of a large network are access links that refuse nothing and that nobody asks about. Such a link is a wire and
//! a delay, half a cache line ([`slim`]); whatever else a link may have lies in a box ([`Fitted`]).

mod counters;
mod losses;
mod slim;
pub(crate) mod window;

use crate::meter::Meter;
use crate::network::{DropRule, FlowId, LinkSpec};
use crate::packet::Event;
pub(crate) use counters::LinkCounters;
use losses::Loss;
use paceline_core::pacer::Pacer;
use paceline_core::queue::{ClosedDropTail, Departure, DropTail};
use paceline_core::{Instant, Span, Stage, Verdict, Wire};
use slim::Slim;

/// One link in one direction, at work.
#[derive(Debug)]
pub(crate) enum Link {
    Slim(Slim),
    Wide(Box<Wide>),
}

/// Any other link than a slim one.
#[derive(Debug)]
pub(crate) struct Wide {
    /// The wire of a link that refuses and holds nothing; else the buffer's wire is the one that counts.
    wire: Wire,
    delay: Span,
    fitted: Option<Fitted>,
}

/// A link that has a limited buffer, a pacer, forced losses, a meter, or a probe.
#[derive(Debug)]
pub(crate) struct Fitted {
    buffer: Buffer,
    /// A plain link but for its counters, meter and probes: the wire outside of the box serves it.
    only_watched: bool,
    pacer: Option<Pacer<Event>>,
    losses: Vec<Loss>,
    pub(crate) counters: LinkCounters,
    pub(crate) meter: Option<Meter>,
    /// The wake-up event that counts; events of other times are stale.
    pub(crate) wakeup_at: Option<Instant>,
    /// Departures are recorded from, until: where a probe or an instrument looks.
    pub(crate) record: Option<(Instant, Instant)>,
}

#[derive(Debug)]
enum Buffer {
    /// Departures known at the arrival.
    Closed(ClosedDropTail),
    /// Drop-front: they are not.
    Stepwise(Box<DropTail<Event>>),
}

/// A packet's way over the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    /// Its serialisation begins.
    pub(crate) start: Instant,
    /// Its last bit is at the far end.
    pub(crate) arrival: Instant,
    /// A probe wants to know of it.
    pub(crate) recorded: bool,
}

/// What became of a packet that reached a link.
#[derive(Debug)]
pub(crate) enum Fate {
    /// Admitted by a plain FIFO: it is under way.
    Leaves(Passage),
    /// Held: ask [`Link::pump`].
    Held,
    /// Dropped.
    Refused,
    /// Held, at the cost of this one.
    Displaced(Event),
}

impl Link {
    /// `metered`: results or probes ask for what this link does.
    pub(crate) fn new(
        spec: &LinkSpec,
        losses: Vec<(Option<FlowId>, DropRule)>,
        metered: bool,
        window: (Instant, Instant),
        seed: u64,
        flows: usize,
    ) -> Self {
        let plain = spec.pacer.is_none() && spec.buffer.limit.is_none() && losses.is_empty();
        let fitted = (!plain || metered).then(|| {
            let buffer = match ClosedDropTail::new(&spec.buffer, spec.rate) {
                Some(closed) => Buffer::Closed(closed),
                None => Buffer::Stepwise(Box::new(DropTail::new(&spec.buffer, spec.rate))),
            };
            let losses = losses.into_iter().enumerate();
            Fitted {
                buffer,
                only_watched: plain,
                pacer: spec.pacer.as_ref().map(|pacer| Pacer::new(pacer, spec.rate)),
                losses: losses
                    .map(|(number, (flow, rule))| Loss::new(flow, rule, number, spec, seed, flows))
                    .collect(),
                counters: LinkCounters::over(window),
                meter: if metered { Meter::new(window.0, window.1) } else { None },
                wakeup_at: None,
                record: None,
            }
        });
        match Slim::new(spec.rate, spec.delay) {
            Some(slim) if fitted.is_none() => Link::Slim(slim),
            _ => Link::Wide(Box::new(Wide { wire: Wire::new(spec.rate), delay: spec.delay, fitted })),
        }
    }

    /// What it has besides a wire and a delay.
    #[inline]
    pub(crate) fn fitted(&self) -> Option<&Fitted> {
        match self {
            Link::Slim(_) => None,
            Link::Wide(wide) => wide.fitted.as_ref(),
        }
    }

    /// The same.
    #[inline]
    pub(crate) fn fitted_mut(&mut self) -> Option<&mut Fitted> {
        match self {
            Link::Slim(_) => None,
            Link::Wide(wide) => wide.fitted.as_mut(),
        }
    }

    /// A packet reaches a link that refuses nothing and that nobody watches, at `at`: when its last bit is at the far end.
    #[inline(always)]
    pub(crate) fn pass_unwatched(&mut self, bytes: u16, at: Instant) -> Instant {
        match self {
            Link::Slim(slim) => slim.pass(bytes, at).1,
            Link::Wide(wide) => wide.pass_unwatched(bytes, at),
        }
    }

    /// What stands for a link that is being used elsewhere.
    pub(crate) fn stand_in() -> Self {
        Link::Slim(Slim::FASTEST)
    }

    /// It refuses nothing, and nobody watches.
    #[inline]
    pub(crate) fn is_unwatched(&self) -> bool {
        self.fitted().is_none()
    }

    /// A packet reaches a link that refuses nothing, at `at`.
    #[inline(always)]
    pub(crate) fn pass(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Passage {
        match self {
            Link::Slim(slim) => {
                let (start, arrival) = slim.pass(bytes, at);
                Passage { start, arrival, recorded: false }
            }
            Link::Wide(wide) => wide.pass(bytes, is_ack, at),
        }
    }

    /// The packet of an event reaches a link that may refuse or hold it, at the event's time.
    #[inline]
    pub(crate) fn offer(&mut self, event: &Event) -> Fate {
        match self {
            Link::Wide(wide) => {
                wide.fitted.as_mut().map_or(Fate::Refused, |fitted| fitted.offer(event, wide.delay))
            }
            Link::Slim(_) => Fate::Refused,
        }
    }

    /// Lets go the next packet that may go at `now`: with its passage, or `None` where the buffer behind the pacer
    /// refused it. Call until it returns `None`.
    pub(crate) fn pump(&mut self, now: Instant) -> Option<(Event, Option<Passage>)> {
        match self {
            Link::Slim(_) => None,
            Link::Wide(wide) => wide.fitted.as_mut()?.pump(wide.delay, now),
        }
    }

    /// Every packet's passage is known at its arrival, and none is dropped.
    #[inline]
    pub(crate) fn refuses_nothing(&self) -> bool {
        self.fitted().is_none_or(|link| link.only_watched)
    }

    /// It refuses what finds its buffer full, and has a meter; nothing else.
    pub(crate) fn is_bounded(&self) -> bool {
        self.fitted().is_some_and(|link| {
            let is_bounded = matches!(&link.buffer, Buffer::Closed(queue) if queue.keeps_what_waits());
            is_bounded && link.pacer.is_none() && link.losses.is_empty() && link.meter.is_some()
        })
    }

    /// A packet may wait here for a wake-up.
    pub(crate) fn holds(&self) -> bool {
        self.fitted().is_some_and(|link| link.pacer.is_some() || matches!(link.buffer, Buffer::Stepwise(_)))
    }

    /// Packets held in a pacer or a step-by-step queue (a plain FIFO's are under way already).
    pub(crate) fn held_packets(&self) -> u64 {
        self.fitted().map_or(0, Fitted::held_packets)
    }
}

impl Wide {
    #[inline(never)]
    fn pass_unwatched(&mut self, bytes: u16, at: Instant) -> Instant {
        self.wire.send(u32::from(bytes), at).1 + self.delay
    }

    #[inline(always)]
    fn pass(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Passage {
        let (start, finish) = self.wire.send(u32::from(bytes), at);
        let recorded =
            self.fitted.as_mut().is_some_and(|fitted| fitted.watch(bytes, is_ack, at, start, finish));
        Passage { start, arrival: finish + self.delay, recorded }
    }
}

impl Fitted {
    /// A packet passes a link that is only watched; whether a probe wants to know.
    #[inline(always)]
    fn watch(&mut self, bytes: u16, is_ack: bool, at: Instant, start: Instant, finish: Instant) -> bool {
        if start > at {
            self.wait(bytes, at, start);
        }
        self.counters.passes(bytes, is_ack, at, start, finish);
        self.record.is_some_and(|(from, to)| from <= start && start < to)
    }

    /// A packet waits from its arrival to the start of its service.
    #[inline(never)]
    fn wait(&mut self, bytes: u16, at: Instant, start: Instant) {
        if let Some(meter) = &mut self.meter {
            meter.waits(u32::from(bytes), at, start);
        }
    }

    fn offer(&mut self, event: &Event, delay: Span) -> Fate {
        if self.pacer.is_none() && matches!(self.buffer, Buffer::Closed(_)) {
            return self.admit(event, delay).map_or(Fate::Refused, Fate::Leaves);
        }
        self.counters.arrives(event.at);
        if self.is_lost(event.flow) {
            self.counters.drops(event.at);
            return Fate::Refused;
        }
        self.hold(event)
    }

    /// A packet reaches a link whose departures are known at the arrival: its passage, if it is not dropped.
    #[inline(always)]
    fn admit(&mut self, event: &Event, delay: Span) -> Option<Passage> {
        let now = event.at;
        if !self.is_lost(event.flow)
            && let Buffer::Closed(queue) = &mut self.buffer
            && let Some(Departure { start, finish }) =
                admit(queue, &mut self.meter, u32::from(event.bytes), now)
        {
            self.counters.passes(event.bytes, event.is_ack(), now, start, finish);
            let recorded = self.record.is_some_and(|(from, to)| from <= start && start < to);
            return Some(Passage { start, arrival: finish + delay, recorded });
        }
        self.counters.refuses(now);
        None
    }

    /// The meter, which knows of all that has happened by `now`.
    pub(crate) fn meter_at(&mut self, now: Instant) -> Option<&mut Meter> {
        let meter = self.meter.as_mut()?;
        if let Buffer::Closed(queue) = &mut self.buffer
            && self.pacer.is_none()
        {
            queue.tell_started(now, |waited| meter.starts(waited.bytes, waited.start));
        }
        Some(meter)
    }

    /// Whether a rule forces the loss of this packet; every rule counts it.
    #[inline(always)]
    fn is_lost(&mut self, flow: FlowId) -> bool {
        !self.losses.is_empty() && self.is_lost_by_rule(flow)
    }

    #[inline(never)]
    fn is_lost_by_rule(&mut self, flow: FlowId) -> bool {
        let mut lost = false;
        for loss in &mut self.losses {
            lost |= loss.takes(flow);
        }
        lost
    }

    fn hold(&mut self, event: &Event) -> Fate {
        let now = event.at;
        let verdict = match (&mut self.pacer, &mut self.buffer) {
            (Some(pacer), _) => pacer.enqueue(*event, now),
            (None, Buffer::Stepwise(queue)) => queue.enqueue(*event, now),
            (None, Buffer::Closed(_)) => Verdict::Refused(*event),
        };
        self.is_held(event, verdict)
    }

    /// What a pacer or a step-by-step queue has said to a packet that has arrived.
    #[inline(always)]
    fn is_held(&mut self, event: &Event, verdict: Verdict<Event>) -> Fate {
        let now = event.at;
        if matches!(verdict, Verdict::Refused(_)) {
            self.counters.drops(now);
            return Fate::Refused;
        }
        if let Some(meter) = &mut self.meter {
            meter.enter(u32::from(event.bytes), now);
        }
        if let Verdict::Displaced(older) = verdict {
            self.drop_waiting(&older, now);
            return Fate::Displaced(older.at_time(now));
        }
        Fate::Held
    }

    fn pump(&mut self, delay: Span, now: Instant) -> Option<(Event, Option<Passage>)> {
        loop {
            if let Buffer::Stepwise(queue) = &mut self.buffer
                && let Some(event) = queue.dequeue(now)
            {
                let finish = queue.wire().free_at();
                let passage = self.leaves(&event, now, Departure { start: now, finish }, delay);
                return Some((event.at_time(now), Some(passage)));
            }
            let event = self.pacer.as_mut()?.dequeue(now)?;
            let dropped = match &mut self.buffer {
                Buffer::Closed(_) => {
                    let passage = self.is_released(&event, now, delay);
                    return Some((event.at_time(now), passage));
                }
                Buffer::Stepwise(queue) => match queue.enqueue(event, now) {
                    Verdict::Queued => continue,
                    Verdict::Refused(event) | Verdict::Displaced(event) => event,
                },
            };
            self.drop_waiting(&dropped, now);
            return Some((dropped.at_time(now), None));
        }
    }

    /// A pacer lets go a packet: how it passes the plain FIFO behind, if that does not drop it.
    #[inline(always)]
    fn is_released(&mut self, event: &Event, now: Instant, delay: Span) -> Option<Passage> {
        let departure = match &mut self.buffer {
            Buffer::Closed(queue) => queue.admit(u32::from(event.bytes), now),
            Buffer::Stepwise(_) => None,
        };
        match departure {
            Some(departure) => Some(self.leaves(event, now, departure, delay)),
            None => {
                self.drop_waiting(event, now);
                None
            }
        }
    }

    /// When [`Link::pump`] may next let something go.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        let pacer = self.pacer.as_ref().and_then(Stage::<Event>::next_wakeup);
        let queue = match &self.buffer {
            Buffer::Closed(_) => None,
            Buffer::Stepwise(queue) => queue.next_wakeup(),
        };
        match (pacer, queue) {
            (Some(pacer), Some(queue)) => Some(pacer.min(queue)),
            (pacer, queue) => pacer.or(queue),
        }
    }

    fn held_packets(&self) -> u64 {
        let queued = match &self.buffer {
            Buffer::Closed(_) => 0,
            Buffer::Stepwise(queue) => queue.held_packets(),
        };
        self.pacer.as_ref().map_or(0, Pacer::held_packets) + queued
    }

    /// A packet that was held is given to the wire at `now`.
    #[inline(always)]
    fn leaves(&mut self, event: &Event, now: Instant, departure: Departure, delay: Span) -> Passage {
        let Departure { start, finish } = departure;
        if let Some(meter) = &mut self.meter {
            meter.leaves(u32::from(event.bytes), now, start);
        }
        self.counters.leaves(event.bytes, event.is_ack(), start, finish);
        let recorded = self.record.is_some_and(|window| is_within(window, start));
        Passage { start, arrival: finish + delay, recorded }
    }

    #[inline(never)]
    fn drop_waiting(&mut self, event: &Event, now: Instant) {
        self.counters.drops(now);
        if let Some(meter) = &mut self.meter {
            meter.drop_now(u32::from(event.bytes), now);
        }
    }
}

/// Whether a departure is to be recorded: on few links it may.
#[cold]
fn is_within((from, to): (Instant, Instant), start: Instant) -> bool {
    from <= start && start < to
}

/// Offers a packet to a queue that no pacer feeds, and tells the meter of it: the queue keeps what waits for both, if it
/// keeps it.
#[inline(always)]
fn admit(
    queue: &mut ClosedDropTail,
    meter: &mut Option<Meter>,
    bytes: u32,
    now: Instant,
) -> Option<Departure> {
    let Some(meter) = meter else { return queue.admit(bytes, now) };
    let departure = queue.admit_and_tell(bytes, now, |waited| meter.starts(waited.bytes, waited.start))?;
    if departure.start > now {
        if queue.keeps_what_waits() {
            meter.waits_elsewhere(bytes, now);
        } else {
            meter.waits(bytes, now, departure.start);
        }
    }
    Some(departure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slim_link_is_half_a_cache_line() {
        assert_eq!(size_of::<Link>(), 32);
    }
}

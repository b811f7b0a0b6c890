//! What a link may have besides a wire and a delay: a buffer, a pacer, forced losses, a policer, jitter, counters, a meter, probes.

use super::by_class::ByClass;
use super::counters::LinkCounters;
use super::jitter::Jitter;
use super::leads::Leads;
use super::losses::Losses;
use super::meter::Meter;
use super::passage::{Fate, Passage, Release};
use super::stepwise::{Out, Stepwise};
use crate::kernel::cause::Cause;
use crate::kernel::packet::Event;
use paceline_core::pacer::Pacer;
use paceline_core::queue::{Arrival, ClosedDropTail, Departure};
use paceline_core::{Ecn, Instant, Packet, Span, Stage, Verdict};

/// A link that has a limited buffer, a pacer, forced losses, a policer, jitter, a meter, a probe, or a trace.
#[derive(Debug)]
pub(crate) struct BoundedLink {
    pub(super) buffer: Buffer,
    /// A lossless link but for its counters, meter and probes: the wire of `Wide` serves it.
    pub(super) only_watched: bool,
    pub(super) pacer: Option<Pacer<Event>>,
    pub(super) losses: Option<Box<Losses>>,
    pub(super) jitter: Option<Box<Jitter>>,
    pub(crate) counters: LinkCounters,
    pub(crate) meter: Option<Meter>,
    /// How long before ns-2 would have known of arrivals, where that decides ties packet by packet.
    pub(super) leads: Option<Box<Leads>>,
    /// The wake-up event that counts; events of other times are stale.
    pub(crate) wakeup_at: Option<Instant>,
    /// Departures are recorded from, until: where a probe or an instrument looks; always, with a trace.
    pub(crate) record: Option<(Instant, Instant)>,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are closed, and lie in a box already")]
pub(super) enum Buffer {
    /// Departures known at the arrival.
    Closed(ClosedDropTail),
    /// They are not: step by step.
    Stepwise(Box<Stepwise>),
}

impl BoundedLink {
    /// A packet passes a link that is only watched; whether it is recorded.
    #[inline(always)]
    pub(super) fn watch(
        &mut self,
        bytes: u16,
        is_ack: bool,
        at: Instant,
        start: Instant,
        finish: Instant,
    ) -> bool {
        if start > at {
            self.wait(bytes, at, start);
        }
        self.counters.passes(bytes, is_ack, at, start, finish);
        is_recorded(self.record, start)
    }

    /// A packet waits from its arrival to the start of its service.
    #[inline(never)]
    pub(super) fn wait(&mut self, bytes: u16, at: Instant, start: Instant) {
        if let Some(meter) = &mut self.meter {
            meter.waits(u32::from(bytes), at, start);
        }
    }

    pub(super) fn offer(&mut self, event: &Event, delay: Span) -> Fate {
        if self.pacer.is_none() && matches!(self.buffer, Buffer::Closed(_)) {
            return self.admit(event, delay).map_or_else(Fate::Dropped, Fate::Leaves);
        }
        self.counters.arrives(event.at);
        if let Some(cause) = self.is_lost(event) {
            self.counters.drops(cause, event.at);
            return Fate::Dropped(cause);
        }
        if self.is_marked(event) {
            return self.hold_marked(*event);
        }
        self.goes_at_once(event, delay).map_or_else(|| self.hold(event), Fate::Leaves)
    }

    /// A packet comes to an idle link, which need not hold it. What is recorded is held, so that it is seen to come and to leave.
    fn goes_at_once(&mut self, event: &Event, delay: Span) -> Option<Passage> {
        let Buffer::Stepwise(stepwise) = &mut self.buffer else { return None };
        if self.pacer.is_some() || self.record.is_some() || !stepwise.passes(event) {
            return None;
        }
        let (now, finish) = (event.at, stepwise.finish());
        if let Some(meter) = &mut self.meter {
            meter.passes(now);
        }
        self.counters.leaves(event.bytes, event.is_ack(), now, finish);
        Some(Passage { start: now, arrival: finish + delay, recorded: false, marked: false })
    }

    /// A packet that a rule marks comes to a queue that may mark it too.
    #[cold]
    fn hold_marked(&mut self, mut event: Event) -> Fate {
        let before = event.ecn();
        event.mark();
        match self.hold(&event) {
            Fate::Held if before != Ecn::Ce => {
                self.counters.marks(event.at);
                Fate::Marked(Cause::Forced)
            }
            fate => fate,
        }
    }

    /// A packet reaches a link that shares a memory, which has room for it or not.
    #[inline(never)]
    pub(crate) fn offer_if(&mut self, event: &Event, has_room: bool) -> Fate {
        self.counters.arrives(event.at);
        if let Some(cause) = self.is_lost(event) {
            self.counters.drops(cause, event.at);
            return Fate::Dropped(cause);
        }
        if !has_room {
            self.counters.drops(Cause::Memory, event.at);
            return Fate::Dropped(Cause::Memory);
        }
        if self.is_marked(event) { self.hold_marked(*event) } else { self.hold(event) }
    }

    /// Whether a rule marks the packet that has just come.
    #[inline]
    fn is_marked(&self, event: &Event) -> bool {
        self.losses.as_ref().is_some_and(|losses| losses.marks && event.ecn().is_capable())
    }

    /// A packet that comes now goes on the wire at once.
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        matches!(&self.buffer, Buffer::Stepwise(stepwise) if stepwise.is_idle(now)) && self.pacer.is_none()
    }

    /// What waits in its pacer and in its queue, bytes and packets, where the queue works step by step.
    pub(crate) fn holds(&self) -> (u64, u64) {
        let (mut bytes, mut packets) = (0, 0);
        if let Buffer::Stepwise(stepwise) = &self.buffer {
            (bytes, packets) = (stepwise.queue.held_bytes(), stepwise.queue.held_packets());
        }
        if let Some(pacer) = &self.pacer {
            (bytes, packets) = (bytes + pacer.held_bytes(), packets + pacer.held_packets());
        }
        (bytes, packets)
    }

    /// A packet reaches a link whose departures are known at the arrival: its passage, or why it is dropped.
    #[inline(always)]
    pub(super) fn admit(&mut self, event: &Event, delay: Span) -> Result<Passage, Cause> {
        let now = event.at;
        let cause = match self.is_lost(event) {
            Some(cause) => cause,
            None => match self.take(event) {
                Some(Departure { start, finish }) => {
                    self.counters.passes(event.bytes, event.is_ack(), now, start, finish);
                    let recorded = is_recorded(self.record, start);
                    return Ok(Passage { start, arrival: finish + delay, recorded, marked: false });
                }
                None => Cause::Overflow,
            },
        };
        self.counters.drops_arrival(cause, now);
        Err(cause)
    }

    /// A packet comes to a queue that no pacer feeds, and the meter counts it: the queue keeps what waits for both, if it keeps it.
    #[inline(always)]
    fn take(&mut self, event: &Event) -> Option<Departure> {
        let arrival = self.arrival(event);
        let Buffer::Closed(queue) = &mut self.buffer else { return None };
        let (bytes, now) = (arrival.bytes, arrival.now);
        let meter = &mut self.meter;
        let admission = queue.admit_and_report(arrival, |waited| {
            if let Some(meter) = meter {
                meter.starts(waited.bytes, waited.start);
            }
        });
        if admission.is_tied {
            self.counters.were_tied(now, 1, admission.departure.is_none().into());
        }
        let departure = admission.departure?;
        if let Some(meter) = &mut self.meter {
            if admission.is_booked {
                meter.waits_elsewhere(bytes, now);
            } else if departure.start > now {
                meter.waits(bytes, now, departure.start);
            }
        }
        Some(departure)
    }

    #[inline(always)]
    fn arrival(&self, event: &Event) -> Arrival {
        let lead = self.leads.as_ref().map_or(Span::ZERO, |leads| leads.of(event));
        Arrival { lead, ..event.arrival() }
    }

    /// The meter, which knows of all that has happened by `now`.
    pub(crate) fn meter_at(&mut self, now: Instant) -> Option<&mut Meter> {
        let meter = self.meter.as_mut()?;
        if let Buffer::Closed(queue) = &mut self.buffer
            && self.pacer.is_none()
        {
            queue.report_started(now, |waited| meter.starts(waited.bytes, waited.start));
        }
        Some(meter)
    }

    /// Why this packet is dropped, if a rule forces its loss or the policer drops it.
    #[inline(always)]
    pub(super) fn is_lost(&mut self, event: &Event) -> Option<Cause> {
        self.losses.as_mut()?.take(event)
    }

    #[inline(always)]
    pub(super) fn hold(&mut self, event: &Event) -> Fate {
        let now = event.at;
        let (verdict, marked) = match (&mut self.pacer, &mut self.buffer) {
            (Some(pacer), _) => (pacer.enqueue(*event, now), false),
            (None, Buffer::Stepwise(stepwise)) => stepwise.enqueue(*event, now),
            (None, Buffer::Closed(_)) => (Verdict::Refused(*event), false),
        };
        let refused_for = match (&verdict, &self.buffer) {
            (Verdict::Refused(_), _) if self.pacer.is_some() => Cause::Pacer,
            (Verdict::Refused(_), Buffer::Stepwise(stepwise)) => stepwise.queue.why_refused().into(),
            _ => Cause::Overflow,
        };
        match self.is_held(event, verdict, refused_for) {
            Fate::Held if marked => {
                self.counters.marks(now);
                Fate::Marked(Cause::Early)
            }
            fate => fate,
        }
    }

    /// What a pacer or a step-by-step queue has done with a packet that has arrived.
    #[inline(always)]
    pub(super) fn is_held(&mut self, event: &Event, verdict: Verdict<Event>, refused_for: Cause) -> Fate {
        let now = event.at;
        if matches!(verdict, Verdict::Refused(_)) {
            self.counters.drops(refused_for, now);
            return Fate::Dropped(refused_for);
        }
        if let Some(meter) = &mut self.meter {
            meter.enter(u32::from(event.bytes), now);
        }
        if let Verdict::Displaced(older) = verdict {
            self.drop_waiting(&older, Cause::Overflow, now);
            return Fate::Displaced(older.at_time(now));
        }
        Fate::Held
    }

    /// What leaves now, with the time at which it arrived; or is dropped as it would leave, or marked, with that time.
    pub(super) fn pump(&mut self, delay: Span, now: Instant) -> Option<(Event, Release)> {
        loop {
            if let Buffer::Stepwise(stepwise) = &mut self.buffer
                && let Some(out) = stepwise.take(now)
            {
                let finish = stepwise.finish();
                return Some(self.comes_out(out, now, Departure { start: now, finish }, delay));
            }
            let event = self.pacer.as_mut()?.dequeue(now)?;
            let Buffer::Stepwise(stepwise) = &mut self.buffer else {
                return Some(self.is_released(event, now, delay));
            };
            let (dropped, cause) = match stepwise.enqueue(event, now) {
                (Verdict::Queued, false) => continue,
                (Verdict::Queued, true) => {
                    self.counters.marks(now);
                    return Some((event.at_time(now), Release::Marked));
                }
                (Verdict::Refused(event), _) => (event, stepwise.queue.why_refused().into()),
                (Verdict::Displaced(older), _) => (older, Cause::Overflow),
            };
            self.drop_waiting(&dropped, cause, now);
            return Some((dropped.at_time(now), Release::Dropped(cause)));
        }
    }

    /// Something comes out of a step-by-step queue.
    #[inline]
    fn comes_out(&mut self, out: Out, now: Instant, departure: Departure, delay: Span) -> (Event, Release) {
        match out {
            Out::Leaves { event, marked } => {
                if marked {
                    self.counters.marks(now);
                }
                let passage = self.leaves(&event, now, departure, delay);
                (event, Release::Leaves(Passage { marked, ..passage }))
            }
            Out::Dropped(event, cause) => {
                self.drop_waiting(&event, cause, now);
                (event.at_time(now), Release::Dropped(cause))
            }
        }
    }

    /// A pacer releases a packet: how it passes the plain FIFO after it, if that does not drop it.
    #[inline(always)]
    pub(super) fn is_released(&mut self, event: Event, now: Instant, delay: Span) -> (Event, Release) {
        let arrival = Arrival { now, ..event.arrival() };
        let mut departure = None;
        if let Buffer::Closed(queue) = &mut self.buffer {
            let admission = queue.admit(arrival);
            if admission.is_tied {
                self.counters.were_tied(now, 1, admission.departure.is_none().into());
            }
            departure = admission.departure;
        }
        match departure {
            Some(departure) => (event, Release::Leaves(self.leaves(&event, now, departure, delay))),
            None => {
                self.drop_waiting(&event, Cause::Overflow, now);
                (event.at_time(now), Release::Dropped(Cause::Overflow))
            }
        }
    }

    /// When to wake it up now, if that is sooner than it will be; `None` where no event need be made.
    pub(crate) fn set_wakeup(&mut self, now: Instant) -> Option<Instant> {
        let at = self.next_wakeup()?.max(now);
        if self.wakeup_at.is_some_and(|known| known <= at) {
            return None;
        }
        self.wakeup_at = Some(at);
        Some(at)
    }

    /// When [`Link::pump`] may next let something go.
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        let pacer = self.pacer.as_ref().and_then(Stage::<Event>::next_wakeup);
        let queue = match &self.buffer {
            Buffer::Closed(_) => None,
            Buffer::Stepwise(stepwise) => stepwise.next_wakeup(),
        };
        match (pacer, queue) {
            (Some(pacer), Some(queue)) => Some(pacer.min(queue)),
            (pacer, queue) => pacer.or(queue),
        }
    }

    /// What its queue does by class, if it tells classes apart.
    pub(crate) fn by_class(&mut self) -> Option<&mut ByClass> {
        match &mut self.buffer {
            Buffer::Closed(_) => None,
            Buffer::Stepwise(stepwise) => stepwise.by_class.as_deref_mut(),
        }
    }

    pub(super) fn held_packets(&self) -> u64 {
        let queued = match &self.buffer {
            Buffer::Closed(_) => 0,
            Buffer::Stepwise(stepwise) => stepwise.queue.held_packets(),
        };
        self.pacer.as_ref().map_or(0, Pacer::held_packets) + queued
    }

    /// A packet that was held is on the wire from `now`.
    #[inline(always)]
    fn leaves(&mut self, event: &Event, now: Instant, departure: Departure, delay: Span) -> Passage {
        let Departure { start, finish } = departure;
        if let Some(meter) = &mut self.meter {
            meter.leaves(u32::from(event.bytes), now, start);
        }
        self.counters.leaves(event.bytes, event.is_ack(), start, finish);
        let recorded = is_recorded(self.record, start);
        Passage { start, arrival: finish + delay, recorded, marked: false }
    }

    #[inline(never)]
    fn drop_waiting(&mut self, event: &Event, cause: Cause, now: Instant) {
        self.counters.drops(cause, now);
        if let Some(meter) = &mut self.meter {
            meter.drop_now(u32::from(event.bytes), now);
        }
    }
}

/// Whether a departure that starts then is to be recorded: on few links any is.
#[inline(always)]
pub(super) fn is_recorded(record: Option<(Instant, Instant)>, start: Instant) -> bool {
    record.is_some_and(|window| is_within(window, start))
}

#[cold]
fn is_within((from, to): (Instant, Instant), start: Instant) -> bool {
    from <= start && start < to
}

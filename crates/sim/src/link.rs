//! A link: forced losses, then the pacer, then the buffer, then the wire, then propagation.
//!
//! *Idea.* A plain FIFO tells at the arrival when the packet will have left: one event a hop. A pacer, or a queue that
//! drops at its front, works step by step: the engine then calls [`Link::pump`] at the link's wake-ups.
//!
//! Most links of a large network are access links that refuse nothing and that nobody asks about. Such a link is a wire and
//! a delay, one cache line; whatever else a link may have lies in a box ([`Fitted`]).

use crate::chance::Stream;
use crate::meter::Meter;
use crate::network::{DropRule, FlowId, LinkSpec};
use crate::packet::{Event, Packet};
use paceline_core::pacer::Pacer;
use paceline_core::queue::{Booking, Departure, DropTail};
use paceline_core::{Instant, Span, Stage, Verdict, Wire};

/// One link in one direction, at work. Aligned so that none straddles two cache lines.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Link {
    /// The wire of a link that refuses and holds nothing; else the buffer's wire is the one that counts.
    wire: Wire,
    delay: Span,
    pub(crate) fitted: Option<Box<Fitted>>,
}

/// A link that has a limited buffer, a pacer, forced losses, a meter, or a probe.
#[derive(Debug)]
pub(crate) struct Fitted {
    buffer: Buffer,
    /// A plain link but for its counters, meter and probes: the wire outside of the box serves it.
    only_watched: bool,
    pacer: Option<Pacer<Packet>>,
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
    Closed(DropTail<Booking>),
    /// Drop-front: they are not.
    Stepwise(Box<DropTail<Packet>>),
}

/// What a link counts over the window from warm-up to end. A packet may pass ahead of time: its own times decide.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LinkCounters {
    from: Instant,
    to: Instant,
    /// Packets that reached the link.
    pub(crate) arrived: u64,
    /// Packets refused, displaced, or lost by force.
    pub(crate) dropped: u64,
    /// The same since the start.
    pub(crate) dropped_ever: u64,
    /// Data packets that left the wire from the start to the window's end.
    pub(crate) data_ever: u64,
    /// Bytes that left the wire, of packets that were on it within the window alone.
    left_bytes: u64,
    /// And of those that were on it as the window began or ended: the part within.
    left_bytes_at_edges: f64,
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
    Displaced(Packet),
}

#[derive(Debug)]
struct Loss {
    flow: Option<FlowId>,
    rule: LossRule,
}

#[derive(Debug)]
enum LossRule {
    /// Ascending numbers of arrivals, and how many of each flow have come.
    Arrivals {
        numbers: Vec<u64>,
        seen: Vec<u64>,
    },
    Probability {
        probability: f64,
        draws: Stream,
    },
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
            let buffer = match DropTail::closed_form(&spec.buffer, spec.rate) {
                Some(closed) => Buffer::Closed(closed),
                None => Buffer::Stepwise(Box::new(DropTail::new(&spec.buffer, spec.rate))),
            };
            let losses = losses.into_iter().enumerate();
            Box::new(Fitted {
                buffer,
                only_watched: plain,
                pacer: spec.pacer.as_ref().map(|pacer| Pacer::new(pacer, spec.rate)),
                losses: losses
                    .map(|(number, (flow, rule))| Loss::new(flow, rule, number, spec, seed, flows))
                    .collect(),
                counters: LinkCounters { from: window.0, to: window.1, ..LinkCounters::default() },
                meter: if metered { Meter::new(window.0, window.1) } else { None },
                wakeup_at: None,
                record: None,
            })
        });
        Link { wire: Wire::new(spec.rate), delay: spec.delay, fitted }
    }

    /// A packet reaches a link that refuses nothing and that nobody watches, at `at`: when its last bit is at the far end.
    #[inline(always)]
    pub(crate) fn pass_unwatched(&mut self, bytes: u16, at: Instant) -> Instant {
        self.wire.send(u32::from(bytes), at).1 + self.delay
    }

    /// It refuses nothing, and nobody watches.
    #[inline]
    pub(crate) fn is_unwatched(&self) -> bool {
        self.fitted.is_none()
    }

    /// A packet reaches a link that refuses nothing, at `at`.
    #[inline(always)]
    pub(crate) fn pass(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Passage {
        let (start, finish) = self.wire.send(u32::from(bytes), at);
        let recorded =
            self.fitted.as_mut().is_some_and(|fitted| fitted.watch(bytes, is_ack, at, start, finish));
        Passage { start, arrival: finish + self.delay, recorded }
    }

    /// A batch of packets, in the order of arrival, passes a link that refuses nothing and is not recorded: their events move
    /// on to its far end.
    pub(crate) fn pass_all(&mut self, line: &mut [Event]) {
        let (mut wire, delay) = (self.wire, self.delay);
        if let Some(fitted) = &mut self.fitted {
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
        self.wire = wire;
    }

    /// The packet of an event reaches a link that may refuse or hold it, at the event's time.
    #[inline]
    pub(crate) fn offer(&mut self, event: &Event) -> Fate {
        self.fitted.as_mut().map_or(Fate::Refused, |fitted| fitted.offer(event, self.delay))
    }

    /// The same of a link that holds nothing: the packet's passage, if it is not dropped.
    #[inline(always)]
    pub(crate) fn admit(&mut self, event: &Event) -> Option<Passage> {
        if self.refuses_nothing() {
            return Some(self.pass(event.bytes, event.is_ack(), event.at)); // its wire is another
        }
        self.fitted.as_mut()?.admit(event, self.delay)
    }

    /// Lets go the next packet that may go at `now`: with its passage, or `None` where the buffer behind the pacer
    /// refused it. Call until it returns `None`.
    pub(crate) fn pump(&mut self, now: Instant) -> Option<(Packet, Option<Passage>)> {
        self.fitted.as_mut()?.pump(self.delay, now)
    }

    /// Every packet's passage is known at its arrival, and none is dropped.
    #[inline]
    pub(crate) fn refuses_nothing(&self) -> bool {
        self.fitted.as_ref().is_none_or(|link| link.only_watched)
    }

    /// A packet may wait here for a wake-up.
    pub(crate) fn holds(&self) -> bool {
        self.fitted
            .as_ref()
            .is_some_and(|link| link.pacer.is_some() || matches!(link.buffer, Buffer::Stepwise(_)))
    }

    /// Packets held in a pacer or a step-by-step queue (a plain FIFO's are under way already).
    pub(crate) fn held_packets(&self) -> u64 {
        self.fitted.as_ref().map_or(0, |fitted| fitted.held_packets())
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
        let now = event.at;
        self.counters.arrives(now);
        if self.is_lost(event.flow) {
            self.counters.drops(now);
            return Fate::Refused;
        }
        self.hold(event.packet(), now)
    }

    /// A packet reaches a link whose departures are known at the arrival: its passage, if it is not dropped.
    #[inline(always)]
    fn admit(&mut self, event: &Event, delay: Span) -> Option<Passage> {
        let now = event.at;
        let is_lost = !self.losses.is_empty() && self.is_lost(event.flow);
        if !is_lost
            && let Buffer::Closed(queue) = &mut self.buffer
            && let Some(Departure { start, finish }) = queue.admit(u32::from(event.bytes), now)
        {
            let recorded = self.watch(event.bytes, event.is_ack(), now, start, finish);
            return Some(Passage { start, arrival: finish + delay, recorded });
        }
        self.counters.arrives(now);
        self.counters.drops(now);
        None
    }

    /// Whether a rule forces the loss of this packet; every rule counts it.
    fn is_lost(&mut self, flow: FlowId) -> bool {
        let mut lost = false;
        for loss in &mut self.losses {
            lost |= loss.takes(flow);
        }
        lost
    }

    fn hold(&mut self, packet: Packet, now: Instant) -> Fate {
        let bytes = u32::from(packet.bytes);
        let verdict = match (&mut self.pacer, &mut self.buffer) {
            (Some(pacer), _) => pacer.enqueue(packet, now),
            (None, Buffer::Stepwise(queue)) => queue.enqueue(packet, now),
            (None, Buffer::Closed(_)) => Verdict::Refused(packet),
        };
        if matches!(verdict, Verdict::Refused(_)) {
            self.counters.drops(now);
            return Fate::Refused;
        }
        if let Some(meter) = &mut self.meter {
            meter.enter(bytes, now);
        }
        if let Verdict::Displaced(older) = verdict {
            self.drop_waiting(&older, now);
            return Fate::Displaced(older);
        }
        Fate::Held
    }

    fn pump(&mut self, delay: Span, now: Instant) -> Option<(Packet, Option<Passage>)> {
        loop {
            if let Buffer::Stepwise(queue) = &mut self.buffer
                && let Some(packet) = queue.dequeue(now)
            {
                let finish = queue.wire().free_at();
                return Some((packet, Some(self.leaves(&packet, now, finish, delay))));
            }
            let packet = self.pacer.as_mut()?.dequeue(now)?;
            let dropped = match &mut self.buffer {
                Buffer::Closed(queue) => match queue.admit(u32::from(packet.bytes), now) {
                    Some(departure) => {
                        let passage = self.leaves(&packet, departure.start, departure.finish, delay);
                        return Some((packet, Some(passage)));
                    }
                    None => packet,
                },
                Buffer::Stepwise(queue) => match queue.enqueue(packet, now) {
                    Verdict::Queued => continue,
                    Verdict::Refused(packet) | Verdict::Displaced(packet) => packet,
                },
            };
            self.drop_waiting(&dropped, now);
            return Some((dropped, None));
        }
    }

    /// When [`Link::pump`] may next let something go.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        let pacer = self.pacer.as_ref().and_then(Stage::<Packet>::next_wakeup);
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

    /// A packet that was held has been given to the wire.
    fn leaves(&mut self, packet: &Packet, start: Instant, finish: Instant, delay: Span) -> Passage {
        if let Some(meter) = &mut self.meter {
            meter.leave_at(u32::from(packet.bytes), start);
        }
        self.counters.leaves(u32::from(packet.bytes), packet.is_ack, start, finish);
        let recorded = self.record.is_some_and(|(from, to)| from <= start && start < to);
        Passage { start, arrival: finish + delay, recorded }
    }

    fn drop_waiting(&mut self, packet: &Packet, now: Instant) {
        self.counters.drops(now);
        if let Some(meter) = &mut self.meter {
            meter.drop_now(u32::from(packet.bytes), now);
        }
    }
}

impl LinkCounters {
    /// Bytes that left the wire within the window.
    pub(crate) fn left_bytes(&self) -> f64 {
        self.left_bytes as f64 + self.left_bytes_at_edges
    }

    #[inline]
    fn counts(&self, now: Instant) -> bool {
        self.from <= now && now < self.to
    }

    #[inline]
    fn arrives(&mut self, now: Instant) {
        self.arrived += u64::from(self.counts(now));
    }

    fn drops(&mut self, now: Instant) {
        self.dropped += u64::from(self.counts(now));
        self.dropped_ever += 1;
    }

    /// A packet arrives and is given to the wire.
    #[inline(always)]
    fn passes(&mut self, bytes: u16, is_ack: bool, at: Instant, start: Instant, finish: Instant) {
        if self.from <= at && finish < self.to {
            self.arrived += 1;
            self.left_bytes += u64::from(bytes);
            self.data_ever += u64::from(!is_ack);
        } else {
            self.passes_outside(bytes, is_ack, at, start, finish);
        }
    }

    /// The same, where not all of it falls into the window.
    #[inline]
    fn passes_outside(&mut self, bytes: u16, is_ack: bool, at: Instant, start: Instant, finish: Instant) {
        if finish < self.from {
            self.data_ever += u64::from(!is_ack);
        } else {
            self.passes_an_edge(bytes, is_ack, at, start, finish);
        }
    }

    /// The same, where the window begins or ends within it.
    #[cold]
    fn passes_an_edge(&mut self, bytes: u16, is_ack: bool, at: Instant, start: Instant, finish: Instant) {
        self.arrives(at);
        self.leaves(u32::from(bytes), is_ack, start, finish);
    }

    fn leaves(&mut self, bytes: u32, is_ack: bool, start: Instant, finish: Instant) {
        self.data_ever += u64::from(!is_ack && finish < self.to);
        if self.from <= start && finish <= self.to {
            self.left_bytes += u64::from(bytes);
        } else if finish > self.from && start < self.to {
            let within = finish.min(self.to).since(start.max(self.from)).as_seconds();
            let whole = finish.since(start).as_seconds();
            self.left_bytes_at_edges += f64::from(bytes) * within / whole;
        }
    }
}

impl Loss {
    fn new(
        flow: Option<FlowId>,
        rule: DropRule,
        number: usize,
        spec: &LinkSpec,
        seed: u64,
        flows: usize,
    ) -> Self {
        let rule = match rule {
            DropRule::Arrivals(numbers) => LossRule::Arrivals { numbers, seen: vec![0; flows] },
            DropRule::Probability(probability) => {
                let draws = Stream::new(seed, &format!("{}:loss {number}", spec.name));
                LossRule::Probability { probability, draws }
            }
        };
        Loss { flow, rule }
    }

    /// Counts the packet, and says whether it is lost.
    fn takes(&mut self, packet_flow: u32) -> bool {
        if self.flow.is_some_and(|flow| flow != packet_flow) {
            return false;
        }
        match &mut self.rule {
            LossRule::Arrivals { numbers, seen } => {
                let seen = &mut seen[packet_flow as usize];
                *seen += 1;
                numbers.binary_search(&(*seen - 1)).is_ok()
            }
            LossRule::Probability { probability, draws } => draws.unit() < *probability,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_link_is_a_cache_line() {
        assert_eq!(size_of::<Link>(), 64);
    }
}

//! A link: forced losses, then the pacer, then the buffer, then the wire, then propagation.
//!
//! *Idea.* A plain FIFO tells at the arrival when the packet will have left ([`DropTail::admit`]): one event a hop. A pacer,
//! or a queue that drops at its front, works step by step: the engine then calls [`Link::pump`] at the link's wake-ups.
//! Everything that most links lack (pacer, meter, forced losses, probes) lies in a box of its own.

use crate::chance::Stream;
use crate::meter::Meter;
use crate::network::{DropRule, FlowId, LinkSpec};
use crate::packet::Packet;
use paceline_core::pacer::Pacer;
use paceline_core::queue::{Booking, DropTail};
use paceline_core::{Instant, Rate, Span, Stage, Verdict};

/// One link in one direction, at work.
#[derive(Debug)]
pub(crate) struct Link {
    buffer: Buffer,
    delay: Span,
    pub(crate) counters: LinkCounters,
    pub(crate) extra: Option<Box<Extra>>,
}

/// What most links lack.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    pacer: Option<Pacer<Packet>>,
    pub(crate) meter: Option<Meter>,
    losses: Vec<Loss>,
    /// The wake-up event that counts; events of other times are stale.
    pub(crate) wakeup_at: Option<Instant>,
    /// Departures are recorded from, until.
    pub(crate) record: Option<(Instant, Instant)>,
}

#[derive(Debug)]
enum Buffer {
    /// Departures known at the arrival.
    Closed(DropTail<Booking>),
    /// Drop-front: they are not.
    Stepwise(Box<DropTail<Packet>>),
}

/// What a link has counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LinkCounters {
    /// Packets that reached the link.
    pub(crate) arrived: u64,
    /// Packets refused, displaced, or lost by force.
    pub(crate) dropped: u64,
    /// Bytes given to the wire.
    pub(crate) sent_bytes: u64,
}

/// A packet's way over the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    /// Its serialisation begins.
    pub(crate) start: Instant,
    /// Its last bit has left.
    pub(crate) finish: Instant,
    /// Its last bit is at the far end.
    pub(crate) arrival: Instant,
}

/// What became of a packet that reached a link.
#[derive(Debug)]
pub(crate) enum Fate {
    /// Admitted by a plain FIFO: it is under way.
    Leaves(Passage),
    /// Held: ask [`Link::pump`].
    Held,
    /// Dropped: the packet itself, or one that it displaced (and then it is held).
    Dropped { packet: Packet, held: bool },
}

#[derive(Debug)]
struct Loss {
    flow: Option<FlowId>,
    rule: LossRule,
}

#[derive(Debug)]
enum LossRule {
    /// Ascending numbers of arrivals, and how many of each flow have come.
    Arrivals { numbers: Vec<u64>, seen: Vec<u64> },
    Probability { probability: f64, draws: Stream },
}

impl Link {
    pub(crate) fn new(spec: &LinkSpec, rate: Rate, losses: Vec<(Option<FlowId>, DropRule)>, seed: u64, flows: usize) -> Self {
        let buffer = match DropTail::closed_form(&spec.buffer, rate) {
            Some(closed) => Buffer::Closed(closed),
            None => Buffer::Stepwise(Box::new(DropTail::new(&spec.buffer, rate))),
        };
        let mut extra = Extra {
            pacer: spec.pacer.as_ref().map(|pacer| Pacer::new(pacer, rate)),
            ..Extra::default()
        };
        for (number, (flow, rule)) in losses.into_iter().enumerate() {
            let rule = match rule {
                DropRule::Arrivals(numbers) => LossRule::Arrivals { numbers, seen: vec![0; flows] },
                DropRule::Probability(probability) => {
                    let draws = Stream::new(seed, &format!("{}:loss {number}", spec.name));
                    LossRule::Probability { probability, draws }
                }
            };
            extra.losses.push(Loss { flow, rule });
        }
        let stepwise = matches!(buffer, Buffer::Stepwise(_));
        let is_plain = !stepwise && extra.pacer.is_none() && extra.losses.is_empty();
        let extra = (!is_plain).then(|| Box::new(extra));
        Link { buffer, delay: spec.delay, counters: LinkCounters::default(), extra }
    }

    /// The box for what most links lack, made if it is not there.
    pub(crate) fn extra(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// A packet reaches the link.
    #[inline]
    pub(crate) fn offer(&mut self, packet: Packet, now: Instant) -> Fate {
        self.counters.arrived += 1;
        if self.extra.is_some() {
            return self.offer_with_extra(packet, now);
        }
        match self.admit(&packet, now) {
            Some(passage) => Fate::Leaves(passage),
            None => {
                self.counters.dropped += 1;
                Fate::Dropped { packet, held: false }
            }
        }
    }

    fn offer_with_extra(&mut self, packet: Packet, now: Instant) -> Fate {
        let Some(extra) = self.extra.as_deref_mut() else { return Fate::Held };
        if extra.losses.iter_mut().fold(false, |lost, loss| loss.takes(&packet) || lost) {
            self.counters.dropped += 1;
            return Fate::Dropped { packet, held: false };
        }
        let bytes = u32::from(packet.bytes);
        let verdict = match (&mut extra.pacer, &mut self.buffer) {
            (Some(pacer), _) => pacer.enqueue(packet, now),
            (None, Buffer::Stepwise(queue)) => queue.enqueue(packet, now),
            (None, Buffer::Closed(queue)) => {
                let Some(departure) = queue.admit(bytes, now) else {
                    self.counters.dropped += 1;
                    return Fate::Dropped { packet, held: false };
                };
                self.counters.sent_bytes += u64::from(bytes);
                if let Some(meter) = &mut extra.meter
                    && departure.start > now
                {
                    meter.enter(bytes, now);
                    meter.leave_at(bytes, departure.start);
                }
                let arrival = departure.finish + self.delay;
                return Fate::Leaves(Passage { start: departure.start, finish: departure.finish, arrival });
            }
        };
        let entered = !matches!(verdict, Verdict::Refused(_));
        if let Some(meter) = &mut extra.meter
            && entered
        {
            meter.enter(bytes, now);
        }
        match verdict {
            Verdict::Queued => Fate::Held,
            Verdict::Refused(packet) => {
                self.counters.dropped += 1;
                Fate::Dropped { packet, held: false }
            }
            Verdict::Displaced(older) => {
                self.counters.dropped += 1;
                if let Some(meter) = &mut extra.meter {
                    meter.drop_now(u32::from(older.bytes), now);
                }
                Fate::Dropped { packet: older, held: true }
            }
        }
    }

    /// Lets go the next packet that may go at `now`: with its passage, or `None` where the buffer behind the pacer
    /// refused it. Call until it returns `None`.
    pub(crate) fn pump(&mut self, now: Instant) -> Option<(Packet, Option<Passage>)> {
        loop {
            if let Buffer::Stepwise(queue) = &mut self.buffer
                && let Some(packet) = queue.dequeue(now)
            {
                let finish = queue.wire().free_at();
                self.counters.sent_bytes += u64::from(packet.bytes);
                if let Some(meter) = self.extra.as_deref_mut().and_then(|extra| extra.meter.as_mut()) {
                    meter.leave_at(u32::from(packet.bytes), now);
                }
                let passage = Passage { start: now, finish, arrival: finish + self.delay };
                return Some((packet, Some(passage)));
            }
            let extra = self.extra.as_deref_mut()?;
            let packet = extra.pacer.as_mut()?.dequeue(now)?;
            let bytes = u32::from(packet.bytes);
            let refused = match &mut self.buffer {
                Buffer::Closed(queue) => match queue.admit(bytes, now) {
                    Some(departure) => {
                        self.counters.sent_bytes += u64::from(bytes);
                        if let Some(meter) = &mut extra.meter {
                            meter.leave_at(bytes, departure.start);
                        }
                        let arrival = departure.finish + self.delay;
                        let passage = Passage { start: departure.start, finish: departure.finish, arrival };
                        return Some((packet, Some(passage)));
                    }
                    None => packet,
                },
                Buffer::Stepwise(queue) => match queue.enqueue(packet, now) {
                    Verdict::Queued => continue,
                    Verdict::Refused(packet) | Verdict::Displaced(packet) => packet,
                },
            };
            self.counters.dropped += 1;
            if let Some(meter) = &mut extra.meter {
                meter.drop_now(u32::from(refused.bytes), now);
            }
            return Some((refused, None));
        }
    }

    /// When [`Link::pump`] may next let something go.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        let pacer = self.extra.as_deref().and_then(|extra| extra.pacer.as_ref()).and_then(Stage::<Packet>::next_wakeup);
        let queue = match &self.buffer {
            Buffer::Closed(_) => None,
            Buffer::Stepwise(queue) => queue.next_wakeup(),
        };
        match (pacer, queue) {
            (Some(pacer), Some(queue)) => Some(pacer.min(queue)),
            (pacer, queue) => pacer.or(queue),
        }
    }

    /// Packets held in a pacer or a step-by-step queue (a plain FIFO's are under way already).
    pub(crate) fn held_packets(&self) -> u64 {
        let paced = self.extra.as_deref().and_then(|extra| extra.pacer.as_ref()).map_or(0, Pacer::held_packets);
        paced
            + match &self.buffer {
                Buffer::Closed(_) => 0,
                Buffer::Stepwise(queue) => queue.held_packets(),
            }
    }

    /// Bytes that have left the wire by `now`: what it was given less what it has still to serialise.
    pub(crate) fn left_bytes(&self, now: Instant) -> f64 {
        let wire = match &self.buffer {
            Buffer::Closed(queue) => queue.wire(),
            Buffer::Stepwise(queue) => queue.wire(),
        };
        let ahead = wire.free_at().since(now).as_seconds() * wire.rate().bits_per_second() as f64 / 8.0;
        self.counters.sent_bytes as f64 - ahead
    }

    #[inline]
    fn admit(&mut self, packet: &Packet, now: Instant) -> Option<Passage> {
        let Buffer::Closed(queue) = &mut self.buffer else { return None };
        let departure = queue.admit(u32::from(packet.bytes), now)?;
        self.counters.sent_bytes += u64::from(packet.bytes);
        Some(Passage { start: departure.start, finish: departure.finish, arrival: departure.finish + self.delay })
    }
}

impl Loss {
    /// Counts the packet, and says whether it is lost.
    fn takes(&mut self, packet: &Packet) -> bool {
        if self.flow.is_some_and(|flow| flow != packet.flow) {
            return false;
        }
        match &mut self.rule {
            LossRule::Arrivals { numbers, seen } => {
                let seen = &mut seen[packet.flow as usize];
                *seen += 1;
                numbers.binary_search(&(*seen - 1)).is_ok()
            }
            LossRule::Probability { probability, draws } => draws.unit() < *probability,
        }
    }
}

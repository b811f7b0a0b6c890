//! A link: forced losses, then the policer, then the pacer, then the buffer, then the wire, then propagation.
//!
//! *Idea.* A plain FIFO returns at the arrival when the packet will have left: one event a hop. A pacer, or a queue
//! without such a closed form, works step by step: the engine then calls [`Link::pump`] at the link's wake-ups.
//!
//! Most links of a large network are lossless access links that results do not name. Such a link is a wire and
//! a delay, half a cache line ([`compact`]); whatever else a link may have is boxed ([`BoundedLink`]).

mod accounting;
pub(crate) mod batch;
pub(crate) mod batch_service;
mod bounded;
mod by_class;
mod compact;
mod counters;
mod driven_queue;
mod jitter;
mod leads;
mod losses;
mod meter;
mod passage;
mod stepwise;
mod table;

use self::meter::Meter;
use crate::kernel::cause::Cause;
use crate::kernel::chance::Stream;
use crate::kernel::packet::Event;
use crate::network::{Fitting, ForcedDrop, LinkId, LinkSpec, Network};
pub(crate) use bounded::BoundedLink;
use bounded::Buffer;
pub(crate) use by_class::ByClass;
use compact::Compact;
pub(crate) use counters::LinkCounters;
use jitter::Jitter;
pub(crate) use leads::TieOrders;
use losses::Losses;
use paceline_core::pacer::Pacer;
use paceline_core::queue::{ClosedDropTail, QueueSpec, Ties};
use paceline_core::{Instant, Span, Wire};
pub(crate) use passage::{Carry, Fate, Passage, Release};
use stepwise::Stepwise;
pub(crate) use table::LinkTable;

/// One link in one direction, at work.
#[derive(Debug)]
pub(crate) enum Link {
    Compact(Compact),
    Wide(Box<Wide>),
}

/// Any other link than a compact one.
#[derive(Debug)]
pub(crate) struct Wide {
    /// The wire of a lossless link without a pacer; else the buffer's wire is the one that counts.
    wire: Wire,
    delay: Span,
    bounded: Option<BoundedLink>,
    /// All that it has not yet sent is of so many bytes, if it will be free then.
    alike: (u32, Instant),
}

impl Link {
    /// `metered`: results or probes ask for what this link does. `traced`: each packet is recorded. `shares`: a memory.
    pub(crate) fn new(
        spec: &LinkSpec,
        losses: Vec<ForcedDrop>,
        (metered, traced, shares): (bool, bool, bool),
        window: (Instant, Instant),
        (network, number): (&Network, LinkId),
        decided: &mut TieOrders,
    ) -> Self {
        let (seed, flows) = (network.seed, network.flows.len());
        let Fitting { buffer, pacer, .. } = &*spec.fitting;
        let varying = spec.fitting.varying.as_ref();
        let is_fifo = buffer.discipline.has_closed_form(false) && varying.is_none();
        let losses = Losses::of(losses, spec, seed, flows);
        let jitter = spec.fitting.jitter.map(|jitter| Box::new(Jitter::new(jitter, seed, &spec.name)));
        let plain = pacer.is_none()
            && buffer.limit.is_none()
            && is_fifo
            && losses.is_none()
            && jitter.is_none()
            && !shares;
        let bounded = (!plain || metered || traced).then(|| {
            let (ties, leads) = match buffer.ties {
                Ties::Ns2 => decided.at(number),
                ties => (ties, None),
            };
            let as_ns2 = buffer.ties == Ties::Ns2;
            let mut draws = Stream::of(seed, &spec.name, "ties");
            let closed = ClosedDropTail::new(&QueueSpec { ties, ..(**buffer).clone() }, spec.rate);
            let buffer = match closed.filter(|_| varying.is_none() && !shares) {
                Some(closed) => {
                    let closed = closed.with_seed(draws.between(0, u64::MAX));
                    Buffer::Closed(if as_ns2 { closed.with_rounding() } else { closed })
                }
                None => Buffer::Stepwise(Box::new(Stepwise::new(buffer, spec, (network, window)))),
            };
            BoundedLink {
                buffer,
                only_watched: plain,
                pacer: pacer.as_ref().map(|pacer| Pacer::new(pacer, spec.rate)),
                losses,
                jitter,
                counters: LinkCounters::over(window),
                meter: metered.then(|| Meter::new(window.0, window.1)),
                leads,
                wakeup_at: None,
                record: traced.then_some((Instant::ZERO, Instant::MAX)),
            }
        });
        match Compact::new(spec.rate, spec.delay) {
            Some(compact) if bounded.is_none() => Link::Compact(compact),
            _ => {
                let alike = (0, Instant::ZERO);
                Link::Wide(Box::new(Wide { wire: Wire::new(spec.rate), delay: spec.delay, bounded, alike }))
            }
        }
    }

    /// What it has besides a wire and a delay.
    #[inline]
    pub(crate) fn bounded(&self) -> Option<&BoundedLink> {
        match self {
            Link::Compact(_) => None,
            Link::Wide(wide) => wide.bounded.as_ref(),
        }
    }

    /// The same.
    #[inline]
    pub(crate) fn bounded_mut(&mut self) -> Option<&mut BoundedLink> {
        match self {
            Link::Compact(_) => None,
            Link::Wide(wide) => wide.bounded.as_mut(),
        }
    }

    /// Departures from one time to another are to be recorded, beside those that are already.
    pub(crate) fn record(&mut self, seen: (Instant, Instant)) {
        if let Some(bounded) = self.bounded_mut() {
            let (from, to) = bounded.record.unwrap_or(seen);
            bounded.record = Some((from.min(seen.0), to.max(seen.1)));
        }
    }

    /// What stands for a link that is being used elsewhere.
    pub(crate) fn stand_in() -> Self {
        Link::Compact(Compact::FASTEST)
    }

    /// It is lossless, and not observed.
    #[inline]
    pub(crate) fn is_unwatched(&self) -> bool {
        self.bounded().is_none()
    }

    /// A packet reaches a lossless link, at `at`.
    #[inline(always)]
    pub(crate) fn pass(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Passage {
        match self {
            Link::Compact(compact) => {
                let (start, arrival) = compact.pass(bytes, at);
                Passage { start, arrival, recorded: false, marked: false }
            }
            Link::Wide(wide) => wide.pass(bytes, is_ack, at),
        }
    }

    /// The packet of an event reaches a link that may drop or hold it, at the event's time.
    #[inline]
    pub(crate) fn offer(&mut self, event: &Event) -> Fate {
        match self {
            Link::Wide(wide) => wide
                .bounded
                .as_mut()
                .map_or(Fate::Dropped(Cause::Overflow), |bounded| bounded.offer(event, wide.delay)),
            Link::Compact(_) => Fate::Dropped(Cause::Overflow),
        }
    }

    /// What happens next to a packet that is held, at `now`. Call until it returns `None`.
    pub(crate) fn pump(&mut self, now: Instant) -> Option<(Event, Release)> {
        match self {
            Link::Compact(_) => None,
            Link::Wide(wide) => wide.bounded.as_mut()?.pump(wide.delay, now),
        }
    }

    /// Every packet's passage is known at its arrival, and none is dropped.
    #[inline]
    pub(crate) fn is_lossless(&self) -> bool {
        self.bounded().is_none_or(|link| link.only_watched)
    }

    /// It drops what finds its buffer full, and has a meter; nothing else.
    pub(crate) fn has_only_a_limit(&self) -> bool {
        self.bounded().is_some_and(|link| {
            let has_only_a_limit = matches!(&link.buffer, Buffer::Closed(queue) if queue.keeps_what_waits());
            has_only_a_limit
                && link.pacer.is_none()
                && link.losses.is_none()
                && link.leads.is_none()
                && link.meter.is_some()
        })
    }

    /// What delays packets that have left it, one by one.
    #[inline]
    pub(crate) fn jitter_mut(&mut self) -> Option<&mut Jitter> {
        self.bounded_mut()?.jitter.as_deref_mut()
    }

    /// A packet may wait here for a wake-up.
    pub(crate) fn holds(&self) -> bool {
        self.bounded().is_some_and(|link| link.pacer.is_some() || matches!(link.buffer, Buffer::Stepwise(_)))
    }

    /// Packets held in a pacer or a step-by-step queue (a plain FIFO's are under way already).
    pub(crate) fn held_packets(&self) -> u64 {
        self.bounded().map_or(0, BoundedLink::held_packets)
    }
}

impl Carry for Link {
    #[inline(always)]
    fn carry(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Instant {
        match self {
            Link::Compact(compact) => compact.carry(bytes, is_ack, at),
            Link::Wide(wide) => wide.carry(bytes, is_ack, at),
        }
    }
}

impl Wide {
    #[inline(never)]
    fn carry(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Instant {
        self.pass(bytes, is_ack, at).arrival
    }

    #[inline(always)]
    fn pass(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Passage {
        let (start, finish) = self.wire.send(u32::from(bytes), at);
        let recorded =
            self.bounded.as_mut().is_some_and(|bounded| bounded.watch(bytes, is_ack, at, start, finish));
        Passage { start, arrival: finish + self.delay, recorded, marked: false }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]
mod tests;

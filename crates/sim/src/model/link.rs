//! A link: forced losses, then the pacer, then the buffer, then the wire, then propagation.
//!
//! *Idea.* A plain FIFO tells at the arrival when the packet will have left: one event a hop. A pacer, or a queue that
//! drops at its front, works step by step: the engine then calls [`Link::pump`] at the link's wake-ups.
//!
//! Most links of a large network are access links that refuse nothing and that nobody asks about. Such a link is a wire and
//! a delay, half a cache line ([`slim`]); whatever else a link may have lies in a box ([`Fitted`]).

mod counters;
mod fitted;
mod leads;
mod ledger;
mod losses;
mod meter;
mod passage;
pub(crate) mod running;
mod slim;
mod table;
pub(crate) mod window;

use self::meter::Meter;
use crate::kernel::chance::Stream;
use crate::kernel::packet::Event;
use crate::network::{DropRule, Fitting, FlowId, LinkId, LinkSpec, Network};
pub(crate) use counters::LinkCounters;
use fitted::Buffer;
pub(crate) use fitted::Fitted;
pub(crate) use leads::Decided;
use losses::Loss;
use paceline_core::pacer::Pacer;
use paceline_core::queue::{ClosedDropTail, DropTail, QueueSpec, Ties};
use paceline_core::{Instant, Span, Wire};
pub(crate) use passage::{Carry, Fate, Passage};
use slim::Slim;
pub(crate) use table::LinkTable;

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
    /// All that it has not yet sent is of so many bytes, if it will be free then.
    alike: (u32, Instant),
}

impl Link {
    /// `metered`: results or probes ask for what this link does. `traced`: each packet is recorded.
    pub(crate) fn new(
        spec: &LinkSpec,
        losses: Vec<(Option<FlowId>, DropRule)>,
        (metered, traced): (bool, bool),
        window: (Instant, Instant),
        (network, number): (&Network, LinkId),
        decided: &mut Decided,
    ) -> Self {
        let (seed, flows) = (network.seed, network.flows.len());
        let Fitting { buffer, pacer, .. } = &*spec.fitting;
        let plain = pacer.is_none() && buffer.limit.is_none() && losses.is_empty();
        let fitted = (!plain || metered || traced).then(|| {
            let (ties, leads) = match buffer.ties {
                Ties::Ns2 => decided.at(number),
                ties => (ties, None),
            };
            let mut draws = Stream::new(seed, &format!("{}:ties", spec.name));
            let buffer = match ClosedDropTail::new(&QueueSpec { ties, ..(**buffer).clone() }, spec.rate) {
                Some(closed) => Buffer::Closed(closed.with_seed(draws.between(0, u64::MAX))),
                None => Buffer::Stepwise(Box::new(DropTail::new(buffer, spec.rate))),
            };
            let losses = losses.into_iter().enumerate();
            Fitted {
                buffer,
                only_watched: plain,
                pacer: pacer.as_ref().map(|pacer| Pacer::new(pacer, spec.rate)),
                losses: losses
                    .map(|(number, (flow, rule))| Loss::new(flow, rule, number, spec, seed, flows))
                    .collect(),
                counters: LinkCounters::over(window),
                meter: metered.then(|| Meter::new(window.0, window.1)),
                leads,
                wakeup_at: None,
                record: traced.then_some((Instant::ZERO, Instant::MAX)),
            }
        });
        match Slim::new(spec.rate, spec.delay) {
            Some(slim) if fitted.is_none() => Link::Slim(slim),
            _ => {
                let alike = (0, Instant::ZERO);
                Link::Wide(Box::new(Wide { wire: Wire::new(spec.rate), delay: spec.delay, fitted, alike }))
            }
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

    /// Departures from one time to another are to be recorded, beside those that are already.
    pub(crate) fn record(&mut self, seen: (Instant, Instant)) {
        if let Some(fitted) = self.fitted_mut() {
            let (from, to) = fitted.record.unwrap_or(seen);
            fitted.record = Some((from.min(seen.0), to.max(seen.1)));
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
            is_bounded
                && link.pacer.is_none()
                && link.losses.is_empty()
                && link.leads.is_none()
                && link.meter.is_some()
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

impl Carry for Link {
    #[inline(always)]
    fn carry(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Instant {
        match self {
            Link::Slim(slim) => slim.carry(bytes, is_ack, at),
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
            self.fitted.as_mut().is_some_and(|fitted| fitted.watch(bytes, is_ack, at, start, finish));
        Passage { start, arrival: finish + self.delay, recorded }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]
mod tests;

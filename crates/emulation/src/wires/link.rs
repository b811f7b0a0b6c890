//! One link: pacer, buffer, wire, propagation, and what is counted of them.

use super::meter::Meter;
use super::network::Parcel;
use super::plan::{Detour, LinkPlan, PacerPlan};
use paceline_core::pacer::{self, Pacer, PacerSpec, parameters::Value};
use paceline_core::queue::{Arrival, ClosedDropTail, Counts, Limit, QueueSpec, Ties};
use paceline_core::{Instant, Rate, Span, Stage, Verdict};
use serde::Serialize;
use std::collections::VecDeque;

/// What becomes of a packet that reaches a link.
#[derive(Debug)]
pub(crate) enum Admitted {
    /// Its pacer has no room.
    Refused(Parcel),
    /// Its pacer has it.
    Held,
}

#[derive(Debug)]
pub(crate) struct Link {
    /// Where its packets leave this process to be paced.
    pub(crate) detour: Option<Detour>,
    delay: Span,
    pacer: Pacer<Parcel>,
    /// The pacer's next call, once asked for.
    asked: Option<Instant>,
    /// Away to be paced, oldest first: number and size.
    lent: VecDeque<(u32, u32)>,
    queue: ClosedDropTail,
    meter: Option<Meter>,
    start: Instant,
    from: Instant,
    to: Instant,
    departures: Option<(Instant, Instant)>,
    found: LinkFound,
}

/// What was found of a link in the statistics' window; the first loss in the whole run.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct LinkFound {
    arrived_packets: u64,
    dropped_packets: u64,
    /// Bits that left the wire.
    left_bits: u64,
    first_drop_ns: Option<u64>,
    queue_mean_bytes: Option<f64>,
    queue_p99_bytes: Option<u64>,
    /// What waited, sampled from the start on.
    queue_samples: Vec<u64>,
    /// Of the packets whose service began in the time asked for: when, ns from the start; the flow; the size.
    departures: Vec<(u64, u32, u32)>,
}

impl Link {
    pub(crate) fn new(plan: &LinkPlan, start: Instant, from: Instant, to: Instant) -> Result<Self, String> {
        let rate = Rate::from_bits_per_second(plan.rate_bps);
        let counts = Counts::named(&plan.buffer.counts).ok_or("buffer.counts: no such rule")?;
        let limit = limit(plan.buffer.bytes, plan.buffer.packets);
        let ties = Ties::ALL.iter().find(|(name, _)| *name == plan.buffer.ties);
        let &(_, ties) = ties.ok_or("buffer.ties: no such rule")?;
        let spec = QueueSpec { limit, counts, discipline: Default::default(), ties };
        let spec = match &plan.pacer {
            Some(pacer) => (spec, read_pacer(pacer, rate)?),
            None => (spec, PacerSpec::default()),
        };
        let at = |ns: u64| start + Span::from_nanos(ns);
        let record = &plan.record;
        let measured = record.queue || record.samples_every_ns.is_some();
        Ok(Link {
            detour: plan.detour,
            delay: Span::from_nanos(plan.delay_ns),
            pacer: Pacer::new(&spec.1, rate),
            asked: None,
            lent: VecDeque::new(),
            queue: ClosedDropTail::new(&spec.0, rate)
                .ok_or("drop-front has no closed form")?
                .with_seed(plan.buffer.seed),
            meter: measured.then(|| Meter::new(start, from, to, record.samples_every_ns)),
            start,
            from,
            to,
            departures: record.departures_ns.map(|(from, to)| (at(from), at(to))),
            found: LinkFound::default(),
        })
    }

    fn counts(&self, now: Instant) -> bool {
        (self.from..self.to).contains(&now)
    }

    /// A packet reaches the link: it is offered to the pacer.
    pub(crate) fn arrive(&mut self, parcel: Parcel, now: Instant) -> Admitted {
        self.found.arrived_packets += u64::from(self.counts(now));
        match self.pacer.enqueue(parcel, now) {
            Verdict::Queued | Verdict::Displaced(_) => {
                if let Some(meter) = &mut self.meter {
                    meter.enter(parcel.bytes, now);
                }
                Admitted::Held
            }
            Verdict::Refused(parcel) => {
                self.count_drop(now);
                Admitted::Refused(parcel)
            }
        }
    }

    /// A packet reaches the link and leaves this process, for its pacer is elsewhere.
    pub(crate) fn lend(&mut self, id: u32, bytes: u32, now: Instant) {
        self.found.arrived_packets += u64::from(self.counts(now));
        if let Some(meter) = &mut self.meter {
            meter.enter(bytes, now);
        }
        self.lent.push_back((id, bytes));
    }

    /// The packet that has been away for longest.
    pub(crate) fn take_back(&mut self) -> Option<(u32, u32)> {
        self.lent.pop_front()
    }

    /// A packet that was away does not come back.
    pub(crate) fn lost_by_pacer(&mut self, bytes: u32, now: Instant) {
        self.count_drop(now);
        if let Some(meter) = &mut self.meter {
            meter.lose(bytes, now);
        }
    }

    /// A packet that the pacer lets go now.
    pub(crate) fn release(&mut self, now: Instant) -> Option<Parcel> {
        self.pacer.dequeue(now)
    }

    /// When the pacer is to be asked next, where that has not been said yet.
    pub(crate) fn wake_up(&mut self, now: Instant) -> Option<Instant> {
        let wanted = self.pacer.next_wakeup()?;
        let known = self.asked.is_some_and(|asked| asked > now && asked <= wanted);
        if known {
            return None;
        }
        self.asked = Some(wanted);
        Some(wanted)
    }

    /// A packet has passed the pacer: when it reaches the other end, or `None` if the buffer refuses it.
    pub(crate) fn serve(&mut self, parcel: Parcel, flow: u32, now: Instant) -> Option<Instant> {
        let Some(departure) = self.queue.admit(Arrival { flow, ..Arrival::new(parcel.bytes, now) }).departure
        else {
            self.count_drop(now);
            if let Some(meter) = &mut self.meter {
                meter.lose(parcel.bytes, now);
            }
            return None;
        };
        if let Some(meter) = &mut self.meter {
            meter.leave_at(parcel.bytes, departure.start);
        }
        if self.counts(departure.finish) {
            self.found.left_bits += u64::from(parcel.bytes) * 8;
        }
        if self.departures.is_some_and(|(from, to)| (from..to).contains(&departure.start)) {
            let time = departure.start.since(self.start).as_nanos();
            self.found.departures.push((time, flow, parcel.bytes));
        }
        Some(departure.finish + self.delay)
    }

    /// What was found, at the end.
    pub(crate) fn found(&mut self) -> LinkFound {
        if let Some(meter) = &mut self.meter {
            let levels = meter.finish();
            self.found.queue_mean_bytes = levels.map(|(mean, _)| mean);
            self.found.queue_p99_bytes = levels.map(|(_, p99)| p99);
            self.found.queue_samples = meter.samples().to_vec();
        }
        self.found.clone()
    }

    fn count_drop(&mut self, now: Instant) {
        self.found.dropped_packets += u64::from(self.counts(now));
        self.found.first_drop_ns.get_or_insert(now.since(self.start).as_nanos());
    }
}

fn limit(bytes: Option<u64>, packets: Option<u64>) -> Option<Limit> {
    bytes.map(Limit::Bytes).or(packets.map(Limit::Packets))
}

fn read_pacer(plan: &PacerPlan, rate: Rate) -> Result<PacerSpec, String> {
    let mut value = |name: &str| {
        let given = plan.parameters.iter().find(|(given, _)| given == name)?;
        Some(given.1.parse().map_or_else(|_| Value::Text(given.1.clone()), Value::Number))
    };
    let spec = pacer::parse(&plan.method, &mut value, rate).map_err(|error| format!("pacer: {error}"))?;
    Ok(PacerSpec { limit: limit(plan.bytes, plan.packets), ..spec })
}

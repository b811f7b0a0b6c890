//! A link by its definition: forced losses, pacer, buffer, wire, one after the other, and all that happens written down.

use super::cases::Case;
use crate::kernel::cause::Cause;
use crate::kernel::packet::Event;
use paceline_core::pacer::Pacer;
use paceline_core::queue::Queue;
use paceline_core::{Instant, Stage, Verdict};

/// A packet that has left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) event: Event,
    pub(super) start: Instant,
    pub(super) finish: Instant,
}

/// What has happened.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) left: Vec<Way>,
    /// Those that did not come in.
    pub(super) refused: Vec<(Event, Cause)>,
    /// Those that had waited, at the time of their loss.
    pub(super) dropped: Vec<(Event, Cause)>,
    /// Those that did, where they may wait.
    pub(super) taken: Vec<Event>,
    /// How many packets pacer and step-by-step queue hold after each arrival.
    pub(super) held: Vec<u64>,
    /// When how many bytes more wait.
    changes: Vec<(Instant, i64)>,
}

impl Told {
    fn waits(&mut self, event: &Event, now: Instant) {
        self.changes.push((now, event.bytes.into()));
    }

    fn waits_no_more(&mut self, event: &Event, now: Instant) {
        self.changes.push((now, -i64::from(event.bytes)));
    }

    /// What waits after all that happens up to multiples of this: so many levels.
    pub(super) fn levels(&self, every: u64, count: u64) -> Vec<u64> {
        let (mut level, mut changes) = (0, self.changes.iter().peekable());
        let level_at = |number| {
            while let Some((_, bytes)) = changes.next_if(|(at, _)| at.as_nanos() <= number * every) {
                level += bytes;
            }
            level as u64
        };
        (1..=count).map(level_at).collect()
    }

    /// The mean over a window.
    pub(super) fn mean_level(&self, (from, to): (Instant, Instant)) -> f64 {
        let inside = |at: Instant| at.max(from).min(to);
        let area: f64 = self
            .changes
            .iter()
            .map(|(at, bytes)| *bytes as f64 * to.since(inside(*at)).as_nanos() as f64)
            .sum();
        area / to.since(from).as_nanos() as f64
    }
}

struct Slow<'a> {
    case: &'a Case,
    pacer: Option<Pacer<Event>>,
    queue: Queue<Event>,
    told: Told,
    now: Instant,
    /// What a policer has let pass.
    conforming: Vec<Event>,
    /// Of a rate that varies: when the busy period began, the bits sent since, and when the last of them leaves.
    busy: (u64, u64, u64),
}

impl Slow<'_> {
    /// All that happens by itself until then.
    fn advance(&mut self, until: Instant) {
        loop {
            let pacer = self.pacer.as_ref().and_then(Stage::<Event>::next_wakeup);
            let Some(next) = pacer.into_iter().chain(self.queue.next_wakeup()).min() else { return };
            let now = self.now.max(next);
            if now > until {
                return;
            }
            self.now = now;
            self.serve(now);
            if let Some(event) = self.pacer.as_mut().and_then(|pacer| pacer.dequeue(now)) {
                self.comes_to_queue(event, now);
                self.serve(now);
            }
        }
    }

    fn serve(&mut self, now: Instant) {
        while let Some(event) = self.queue.dequeue(now) {
            self.told.waits_no_more(&event, now);
            if let Some(rates) = &self.case.rates {
                if self.busy.2 != now.as_nanos() {
                    self.busy = (now.as_nanos(), 0, 0);
                }
                self.busy.1 += 8 * u64::from(event.bytes);
                self.busy.2 = rates.finish(self.busy.0, self.busy.1);
                self.queue.busy_until(Instant::from_nanos(self.busy.2));
            }
            self.told.left.push(Way { event, start: now, finish: self.queue.wire().free_at() });
        }
    }

    /// Out of the pacer.
    fn comes_to_queue(&mut self, event: Event, now: Instant) {
        match self.queue.enqueue(event, now) {
            Verdict::Queued => {}
            Verdict::Refused(lost) | Verdict::Displaced(lost) => {
                self.told.waits_no_more(&lost, now);
                self.told.dropped.push((lost.at_time(now), Cause::Overflow));
            }
        }
    }

    /// With it, more than burst and rate would have passed since some packet that did.
    fn is_policed(&mut self, event: &Event) -> bool {
        let Some(policer) = self.case.spec.fitting.policer else { return false };
        let (rate, burst) = (policer.rate.bits_per_second(), 8_000_000_000 * policer.burst.count());
        let mut sum = 0;
        let conforms = [*event].iter().chain(self.conforming.iter().rev()).all(|from| {
            sum += 8_000_000_000 * u64::from(from.bytes);
            sum <= burst + rate * event.at.since(from.at).as_nanos()
        });
        if conforms {
            self.conforming.push(*event);
        }
        !conforms
    }

    fn arrives(&mut self, event: Event) {
        let now = event.at;
        self.advance(now);
        self.now = now;
        if self.case.is_lost(&event) {
            return self.told.refused.push((event, Cause::Forced));
        }
        if self.is_policed(&event) {
            return self.told.refused.push((event, Cause::Policer));
        }
        let (verdict, cause) = match &mut self.pacer {
            Some(pacer) => (pacer.enqueue(event, now), Cause::Pacer),
            None => (self.queue.enqueue(event, now), Cause::Overflow),
        };
        match verdict {
            Verdict::Refused(_) => return self.told.refused.push((event, cause)),
            Verdict::Queued => self.told.waits(&event, now),
            Verdict::Displaced(older) => {
                self.told.waits(&event, now);
                self.told.waits_no_more(&older, now);
                self.told.dropped.push((older.at_time(now), Cause::Overflow));
            }
        }
        self.told.taken.push(event);
        self.advance(now);
    }
}

/// Serves a case's line.
pub(super) fn serve(case: &Case) -> Told {
    let fitting = &case.spec.fitting;
    let mut slow = Slow {
        case,
        pacer: fitting.pacer.as_ref().map(|pacer| Pacer::new(pacer, case.spec.rate)),
        queue: Queue::new(&fitting.buffer, case.spec.rate),
        told: Told::default(),
        now: Instant::ZERO,
        conforming: Vec::new(),
        busy: (0, 0, u64::MAX),
    };
    for event in &case.line {
        slow.arrives(*event);
        let queued = if case.kind.is_stepwise() { slow.queue.held_packets() } else { 0 };
        slow.told.held.push(slow.pacer.as_ref().map_or(0, Pacer::held_packets) + queued);
    }
    slow.advance(Instant::MAX);
    slow.told
}

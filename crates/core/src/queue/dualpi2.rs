//! DualPI2: a queue for L4S and one for the rest, coupled so that flows of both kinds have about equal rates.
//!
//! *Idea.* Senders that react to each mark by a little (L4S) can be marked often and keep a queue of a millisecond; classic ones, which
//! halve, need a longer queue. A proportional-integral controller sets a base probability p′ by the longer of the two waits. A classic
//! packet is dropped or marked with p′²; an L4S packet is marked with k·p′, k = 2: as classic rates fall with 1/√p and L4S's with 1/p, they
//! meet. L4S packets are marked by their own wait too: where it exceeds `step`. ECT(1) and CE say that a packet is of L4S (RFC 9331).
//!
//! *Parameters.* `target` 15 ms; `max_rtt` 100 ms, from which the gains follow: α = 0.1·T/max_rtt², β = 0.3/max_rtt, T the lesser of the
//! target and max_rtt/3; `step` 1 ms. With no more than `mtu` bytes behind it a packet is not dropped. The limit is the link's buffer;
//! without one what the link sends in 250 ms.
//!
//! *Choices.* Where the RFC leaves them open: the scheduler is Linux's, weighted 90 to 10 by bytes while both wait; the ramp of the L4S AQM is a
//! step (range 0), which needs a packet behind the marked one (`Th_len` 1); likelihoods add up to certainties, as in appendix A, so that
//! nothing is drawn. In overload, from k·p′ = 1 on, L4S packets are dropped with p′² too (section 4.1.3), 1/k² at most.
//!
//! *Where it breaks.* A flow that takes ECT(1) and does not slow down at marks takes the link, until overload drops its packets as the others'.
//!
//! *References.* K. De Schepper, B. Briscoe, G. White, "Dual-Queue Coupled Active Queue Management (AQM) for Low Latency, Low Loss, and
//! Scalable Throughput (L4S)", RFC 9332, 2023, appendix A; Linux `net/sched/sch_dualpi2.c` for the scheduler.

use std::collections::VecDeque;

use super::discipline::{Queueing, Tuned};
use super::held::Held;
use super::rule::{Limit, QueueSpec, Rule};
use super::signal::{Signals, Stamped, Updates};
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::stage::{Cause, Packet, Stage, Verdict};
use crate::units::{Instant, Rate, Span};

/// The coupling factor k (RFC 9332 section 4.2).
const K: f64 = 2.0;
/// The most that a classic packet's probability is: 1/k².
const MOST_CLASSIC: f64 = 1.0 / (K * K);
/// What a byte of each queue weighs while both wait, as in Linux.
const L4S_WEIGHT: i64 = 90;
const CLASSIC_WEIGHT: i64 = 10;

/// The controller's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// The delay of classic packets that it aims at.
    pub target: Span,
    /// The longest round trip that it is stable for.
    pub max_rtt: Span,
    /// An L4S packet that has waited longer is marked.
    pub step: Span,
    /// With so little behind it a packet is never dropped, bytes.
    pub mtu: u64,
}

impl Parameters {
    /// How often the probability is computed.
    fn update(&self) -> Span {
        self.target.min(Span::from_nanos(self.max_rtt.as_nanos() / 3)).max(LEAST_UPDATE)
    }
}

/// It is not computed more often.
const LEAST_UPDATE: Span = Span::from_millis(1);

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "target",
            kind: Kind::Span,
            default: Some("15 ms"),
            doc: "queueing delay of classic packets that it aims at",
        },
        Parameter {
            name: "max_rtt",
            kind: Kind::Span,
            default: Some("100 ms"),
            doc: "longest round trip: its gains follow",
        },
        Parameter {
            name: "step",
            kind: Kind::Span,
            default: Some("1 ms"),
            doc: "an L4S packet that has waited longer is marked",
        },
        Parameter {
            name: "mtu",
            kind: Kind::Bytes,
            default: Some("1500 B"),
            doc: "with no more than this behind it a packet is not dropped",
        },
    ];

    const KEEPS_ORDER: bool = false;
    const ACTS_EARLY: bool = true;

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        let parameters = Parameters {
            target: reader.span_or("target", Span::from_millis(15))?,
            max_rtt: reader.span_or("max_rtt", Span::from_millis(100))?,
            step: reader.span_or("step", Span::from_millis(1))?,
            mtu: reader.bytes_or("mtu", 1500)?,
        };
        if parameters.max_rtt == Span::ZERO {
            return Err(reader.impossible("max_rtt", "is no time; write for example \"100 ms\""));
        }
        Ok(parameters)
    }
}

/// One of the two queues.
#[derive(Debug, Clone)]
struct Lane<P> {
    packets: VecDeque<Stamped<P>>,
    /// What has not yet added up to a mark or a drop.
    likelihood: f64,
}

impl<P: Packet> Lane<P> {
    const EMPTY: Self = Lane { packets: VecDeque::new(), likelihood: 0.0 };

    /// How long its head has waited.
    fn wait(&self, now: Instant) -> Span {
        self.packets.front().map_or(Span::ZERO, |head| now.since(head.came))
    }

    /// Whether likelihoods have added up to more than one (`recur()`).
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.likelihood += likelihood;
        let recurs = self.likelihood > 1.0;
        if recurs {
            self.likelihood -= 1.0;
        }
        recurs
    }
}

/// The two queues, and the wire that they feed.
#[derive(Debug, Clone)]
pub struct DualPi2<P> {
    held: Held,
    rule: Rule,
    parameters: Parameters,
    l4s: Lane<P>,
    classic: Lane<P>,
    /// Classic packets go first while it is above zero.
    credit: i64,
    /// The base probability p′, and the wait at the last update.
    base: f64,
    last_wait: Span,
    updates: Updates,
    signals: Signals<P>,
}

impl<P: Packet> DualPi2<P> {
    /// `dualpi2_update()`, as often as it is due until `now`.
    fn update_until(&mut self, now: Instant) {
        let mut updates = self.updates;
        updates.until(now, |at| {
            let seconds = |span: Span| span.as_nanos() as f64 * 1e-9;
            let wait = self.l4s.wait(at).max(self.classic.wait(at));
            let (max_rtt, every) = (seconds(self.parameters.max_rtt), seconds(self.parameters.update()));
            let (alpha, beta) = (0.1 * every / (max_rtt * max_rtt), 0.3 / max_rtt);
            let (now, target) = (seconds(wait), seconds(self.parameters.target));
            self.base += alpha * (now - target) + beta * (now - seconds(self.last_wait));
            self.base = self.base.clamp(0.0, 1.0);
            self.last_wait = wait;
        });
        self.updates = updates;
    }

    /// A credit that lets L4S packets go first.
    fn first_credit(&self) -> i64 {
        let mtu = i64::try_from(self.parameters.mtu).unwrap_or(i64::MAX).min(1 << 32);
        mtu * (CLASSIC_WEIGHT - L4S_WEIGHT)
    }

    /// The next packet of the scheduler: of L4S, and how the credit changes once it is sent; `None` where only one queue has packets.
    fn schedule(&mut self) -> Option<(Stamped<P>, bool, Option<i64>)> {
        let (l4s, classic) = (!self.l4s.packets.is_empty(), !self.classic.packets.is_empty());
        let is_l4s = l4s && (!classic || self.credit <= 0);
        let lane = if is_l4s { &mut self.l4s } else { &mut self.classic };
        let stamped = lane.packets.pop_front()?;
        self.held.remove(stamped.bytes());
        let bytes = i64::from(stamped.bytes());
        let change = (l4s && classic).then_some(bytes * if is_l4s { CLASSIC_WEIGHT } else { -L4S_WEIGHT });
        Some((stamped, is_l4s, change))
    }

    /// What becomes of a packet that would leave now.
    fn signal(&mut self, stamped: Stamped<P>, is_l4s: bool, now: Instant) -> Option<P> {
        let Stamped { mut packet, came } = stamped;
        let (coupled, square) = (K * self.base, (self.base * self.base).min(MOST_CLASSIC));
        let may_drop = self.held.bytes > self.parameters.mtu;
        if is_l4s && coupled < 1.0 {
            let is_late = now.since(came) > self.parameters.step && !self.l4s.packets.is_empty();
            let likelihood = if is_late { 1.0 } else { coupled };
            if self.l4s.recurs(likelihood) {
                self.signals.mark(&mut packet);
            }
        } else if is_l4s {
            if may_drop && self.l4s.recurs(square) {
                self.signals.drop(packet, Cause::Early);
                return None;
            }
            self.signals.mark(&mut packet);
        } else if may_drop && self.classic.recurs(square) {
            let is_overload = square >= MOST_CLASSIC;
            if is_overload || !self.signals.mark(&mut packet) {
                self.signals.drop(packet, Cause::Early);
                return None;
            }
        }
        Some(packet)
    }
}

impl<P: Packet> Queueing<P> for DualPi2<P> {
    type Parameters = Parameters;
    const DROPS_LATER: bool = true;

    fn with(spec: &QueueSpec, parameters: &Parameters, rate: Rate) -> Self {
        let default = Limit::Bytes(rate.bits_per_second() / 32); // 250 ms
        let limit = spec.limit.or(Some(default));
        let mut queue = DualPi2 {
            held: Held::new(rate),
            rule: Rule::new(&QueueSpec { limit, ..spec.clone() }),
            parameters: *parameters,
            l4s: Lane::EMPTY,
            classic: Lane::EMPTY,
            credit: 0,
            base: 0.0,
            last_wait: Span::ZERO,
            updates: Updates::new(parameters.update()),
            signals: Signals::new(true),
        };
        queue.credit = queue.first_credit();
        queue
    }

    #[inline]
    fn held(&self) -> &Held {
        &self.held
    }

    fn held_mut(&mut self) -> &mut Held {
        &mut self.held
    }

    #[inline]
    fn signals(&self) -> Option<&Signals<P>> {
        Some(&self.signals)
    }

    #[inline]
    fn signals_mut(&mut self) -> Option<&mut Signals<P>> {
        Some(&mut self.signals)
    }
}

impl<P: Packet> Stage<P> for DualPi2<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        self.update_until(now);
        if self.rule.drops(packet.bytes(), &self.held.found(now)) {
            return Verdict::Refused(packet);
        }
        self.held.add(packet.bytes(), now);
        // ECT(1) or CE
        let lane = if packet.ecn() as u8 & 1 == 1 { &mut self.l4s } else { &mut self.classic };
        lane.packets.push_back(Stamped { packet, came: now });
        Verdict::Queued
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if !self.held.is_idle(now) || self.held.packets == 0 {
            return None;
        }
        self.update_until(now);
        while let Some((stamped, is_l4s, change)) = self.schedule() {
            let Some(packet) = self.signal(stamped, is_l4s, now) else { continue };
            self.credit = change.map_or_else(|| self.first_credit(), |change| self.credit + change);
            self.held.serve(packet.bytes(), now);
            return Some(packet);
        }
        None
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.held.next_wakeup()
    }
}

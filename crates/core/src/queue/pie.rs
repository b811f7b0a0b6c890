//! PIE: a FIFO that drops, or marks, arrivals with a probability that a controller sets by the queueing delay.
//!
//! *Idea.* Each `update`, 15 ms, the probability moves by α times how far the delay is above the target and β times how much it has
//! grown: a proportional-integral controller whose steps are scaled down while the probability is small. A burst passes: after a
//! quiet time nothing is dropped for `burst`, 150 ms.
//!
//! *Parameters.* `target` 15 ms, `update` 15 ms, `burst` 150 ms (RFC 8033 section 4); α = 1/8, β = 1 + 1/4 a second. Nothing is dropped
//! while no more than two packets of `mtu` bytes wait. A mark does instead of a drop while the probability is below 0.1 (section 5.1).
//! `derandomise = "on"` spaces drops out (section 5.4).
//!
//! *Choices.* The delay is that of the packet that left last, and none once nothing waits (the RFC's timestamps, and Linux's). A step is
//! at most 0.02 while the probability is 0.1 or more (section 5.5). It is always active (section 5.3 is optional). Drops are by packets.
//!
//! *Where it breaks.* The delay is known to the next update only: on slow links a packet's time is the target.
//!
//! *References.* R. Pan, P. Natarajan, F. Baker, G. White, "Proportional Integral Controller Enhanced (PIE)", RFC 8033, 2017, appendix A.

use super::codel::ECN;
use super::discipline::{Queueing, Tuned};
use super::drop_tail::DropTail;
use super::held::Held;
use super::rule::QueueSpec;
use super::signal::{Draws, Signals, Stamped, Updates};
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::stage::{Cause, Packet, Stage, Verdict};
use crate::units::{Instant, Rate, Span};

/// Gains of the controller, 1/s (RFC 8033 section 4.2).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Below this probability a mark does instead of a drop (section 5.1).
const MARKS_BELOW: f64 = 0.1;
/// The largest step up from a probability of 0.1 on (section 5.5).
const LARGEST_STEP: f64 = 0.02;

/// The controller's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// The delay that it aims at (`QDELAY_REF`).
    pub target: Span,
    /// How often the probability is computed (`T_UPDATE`).
    pub update: Span,
    /// How long a burst passes (`MAX_BURST`).
    pub burst: Span,
    /// Nothing is dropped while no more than two of these wait, bytes.
    pub mtu: u64,
    /// It marks what understands marks.
    pub marks: bool,
    /// Drops are spaced out.
    pub derandomises: bool,
}

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "target",
            kind: Kind::Span,
            default: Some("15 ms"),
            doc: "queueing delay that it aims at",
        },
        Parameter {
            name: "update",
            kind: Kind::Span,
            default: Some("15 ms"),
            doc: "how often the probability is computed, 1 ms at least",
        },
        Parameter {
            name: "burst",
            kind: Kind::Span,
            default: Some("150 ms"),
            doc: "how long a burst passes",
        },
        Parameter {
            name: "mtu",
            kind: Kind::Bytes,
            default: Some("1500 B"),
            doc: "nothing is dropped while no more than two of these wait",
        },
        Parameter {
            name: "ecn",
            kind: Kind::Choice(ECN),
            default: Some("mark"),
            doc: "what becomes of a packet that understands marks, while the probability is below 0.1",
        },
        Parameter {
            name: "derandomise",
            kind: Kind::Choice(&["off", "on"]),
            default: Some("off"),
            doc: "drops are spaced out",
        },
    ];

    const ACTS_EARLY: bool = true;

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        let parameters = Parameters {
            target: reader.span_or("target", Span::from_millis(15))?,
            update: reader.span_or("update", Span::from_millis(15))?,
            burst: reader.span_or("burst", Span::from_millis(150))?,
            mtu: reader.bytes_or("mtu", 1500)?,
            marks: reader.choice("ecn", ECN, 0)? == 0,
            derandomises: reader.choice("derandomise", &["off", "on"], 0)? == 1,
        };
        if parameters.update < Span::from_millis(1) {
            return Err(reader.impossible("update", "is too often; write at least \"1 ms\""));
        }
        Ok(parameters)
    }
}

/// A FIFO under PIE, and the wire that it feeds.
#[derive(Debug, Clone)]
pub struct Pie<P> {
    fifo: DropTail<Stamped<P>>,
    parameters: Parameters,
    signals: Signals<P>,
    draws: Draws,
    /// The probability of a drop, and its sum over packets since the last one.
    probability: f64,
    accumulated: f64,
    /// The delay of what left last, and as it was at the last update.
    delay: Span,
    last_delay: Span,
    /// Nothing is dropped for so long.
    allowance: Span,
    updates: Updates,
}

impl<P: Packet> Pie<P> {
    /// Catches up with the updates until `now`.
    fn update_until(&mut self, now: Instant) {
        let mut updates = self.updates;
        updates.until(now, |_| self.update());
        self.updates = updates;
    }

    /// `calculate_drop_prob()`.
    fn update(&mut self) {
        let seconds = |span: Span| span.as_nanos() as f64 * 1e-9;
        let (delay, last) = (seconds(self.delay), seconds(self.last_delay));
        let mut step = ALPHA * (delay - seconds(self.parameters.target)) + BETA * (delay - last);
        step /= match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.probability >= 0.1 {
            step = step.min(LARGEST_STEP);
        }
        self.probability += step;
        if self.delay == Span::ZERO && self.last_delay == Span::ZERO {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.last_delay = self.delay;
        self.allowance =
            Span::from_nanos(self.allowance.as_nanos().saturating_sub(self.parameters.update.as_nanos()));
    }

    /// Whether the arrival is to be dropped or marked.
    fn acts(&mut self) -> bool {
        let half = Span::from_nanos(self.parameters.target.as_nanos() / 2);
        if self.probability == 0.0 && self.delay < half && self.last_delay < half {
            self.allowance = self.parameters.burst;
        }
        if self.allowance > Span::ZERO {
            return false;
        }
        let few = self.parameters.mtu.saturating_mul(2);
        if (self.last_delay < half && self.probability < 0.2) || self.fifo.held().bytes <= few {
            return false;
        }
        if !self.parameters.derandomises {
            return self.draws.unit() < self.probability;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let acts = if self.accumulated < 0.85 {
            false
        } else {
            self.accumulated >= 8.5 || self.draws.unit() < self.probability
        };
        if acts {
            self.accumulated = 0.0;
        }
        acts
    }
}

impl<P: Packet> Queueing<P> for Pie<P> {
    type Parameters = Parameters;

    fn with(spec: &QueueSpec, parameters: &Parameters, rate: Rate) -> Self {
        Pie {
            fifo: DropTail::new(spec, rate),
            parameters: *parameters,
            signals: Signals::new(parameters.marks),
            draws: Draws::new(0),
            probability: 0.0,
            accumulated: 0.0,
            delay: Span::ZERO,
            last_delay: Span::ZERO,
            allowance: Span::ZERO,
            updates: Updates::new(parameters.update),
        }
    }

    #[inline]
    fn held(&self) -> &Held {
        self.fifo.held()
    }

    fn held_mut(&mut self) -> &mut Held {
        self.fifo.held_mut()
    }

    fn seed(&mut self, seed: u64) {
        self.draws = Draws::new(seed);
    }

    #[inline]
    fn signals(&self) -> Option<&Signals<P>> {
        Some(&self.signals)
    }
}

impl<P: Packet> Stage<P> for Pie<P> {
    fn enqueue(&mut self, mut packet: P, now: Instant) -> Verdict<P> {
        self.update_until(now);
        if self.fifo.is_full(packet.bytes(), now) {
            self.accumulated = 0.0; // any drop begins the spacing anew
            return self.signals.refuse(packet, Cause::Overflow);
        }
        if self.acts() && !(self.probability < MARKS_BELOW && self.signals.mark(&mut packet)) {
            return self.signals.refuse(packet, Cause::Early);
        }
        self.fifo.push(Stamped { packet, came: now }, now);
        Verdict::Queued
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if !self.fifo.is_idle(now) || self.fifo.held().packets == 0 {
            return None;
        }
        self.update_until(now);
        let Stamped { packet, came } = self.fifo.pop()?;
        self.delay = if self.fifo.held().packets == 0 { Span::ZERO } else { now.since(came) };
        self.fifo.serve(packet.bytes(), now);
        Some(packet)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.fifo.next_wakeup()
    }
}

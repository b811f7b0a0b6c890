//! QLBP: queue length based pacing, at a rate that grows with the queue.
//!
//! *Idea.* One FIFO, whose head leaves L / rate(q) after the packet before it, with
//!
//! ```text
//! rate(q) = mu_min + (mu_max - mu_min) q / Q_max    while q is at most Q_max       (eq. 1)
//!         = the link's rate                         beyond
//! ```
//!
//! and q what is held, the head included. Each arrival makes q larger and so the head earlier: its release is computed
//! anew, and is never before that arrival. A source slower than mu_min is not held at all; the longer the queue, the
//! less each packet is held, so a loaded link stays loaded.
//!
//! *Parameters.* `mu_min`, `mu_max` (rates, mu_max at most the link's) and `q_max` (bytes or packets: q is counted in the
//! same unit); or `load` (rho, of the link's rate C) and `max_delay`, from which mu_max = (1 + rho) C / 2, mu_min = rho C / 2,
//! Q_max = max_delay mu_max, as section III sets them. There are no other defaults.
//!
//! *Where it breaks.* There is no bound on the delay of a packet that is alone but for one just before it, other than
//! L / mu_min; the paper's bound Q_max / mu_max is for a steady source. Fixing the gap when a packet leaves, rather than
//! re-evaluating it at each arrival, is a different and much worse algorithm.
//!
//! *References.* Y. Cai, T. Wolf, W. Gong, "Delaying transmissions in data communication networks to improve
//! transport-layer performance", IEEE JSAC 29(5), 2011.

use std::collections::VecDeque;
use std::fmt;

use super::{Backlog, Envelope, Tuned};
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::queue::Limit;
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Instant, NANOS_PER_SECOND, Rate, Span};

/// The parameters of eq. (1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Rate at an empty queue.
    pub mu_min: Rate,
    /// Rate at a queue of `q_max`.
    pub mu_max: Rate,
    /// Queue beyond which nothing is held back, in the unit in which the queue is counted.
    pub q_max: Limit,
}

impl Parameters {
    /// From the load (in (0, 1]) and the longest delay of a steady source.
    ///
    /// ```
    /// # use paceline_core::{Rate, Span, pacer::qlbp::Parameters};
    /// let link = Rate::from_bits_per_second(100_000_000);
    /// let parameters = Parameters::from_load(0.5, Span::from_millis(10), link);
    /// assert_eq!(parameters.mu_max.bits_per_second(), 75_000_000);
    /// assert_eq!(parameters.mu_min.bits_per_second(), 25_000_000);
    /// ```
    pub fn from_load(load: f64, max_delay: Span, link_rate: Rate) -> Self {
        let capacity = link_rate.bits_per_second() as f64;
        let mu_max = Rate::from_bits_per_second(((1.0 + load) / 2.0 * capacity) as u64).min(link_rate);
        let bits = u128::from(max_delay.as_nanos()) * u128::from(mu_max.bits_per_second());
        let bytes = bits / (8 * u128::from(NANOS_PER_SECOND));
        Parameters {
            mu_min: Rate::from_bits_per_second((load / 2.0 * capacity) as u64).min(mu_max),
            mu_max,
            q_max: Limit::Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)),
        }
    }
}

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "mu_min",
            kind: Kind::Rate,
            default: Some("load C / 2"),
            doc: "rate at an empty queue",
        },
        Parameter {
            name: "mu_max",
            kind: Kind::Rate,
            default: Some("(1 + load) C / 2"),
            doc: "rate at `q_max`",
        },
        Parameter {
            name: "q_max",
            kind: Kind::Buffer,
            default: Some("max_delay mu_max"),
            doc: "queue beyond which nothing is held back; the queue is counted in its unit",
        },
        Parameter {
            name: "load",
            kind: Kind::Fraction,
            default: None,
            doc: "expected load, with `max_delay` in place of the three above",
        },
        Parameter {
            name: "max_delay",
            kind: Kind::Span,
            default: None,
            doc: "longest delay of a steady source",
        },
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        let link_rate = reader.link_rate();
        if reader.given("load") || reader.given("max_delay") {
            for explicit in ["mu_min", "mu_max", "q_max"] {
                if reader.given(explicit) {
                    let problem =
                        "follows from load and max_delay; give those two or mu_min, mu_max and q_max";
                    return Err(reader.impossible(explicit, problem));
                }
            }
            let load = reader.fraction("load")?;
            let max_delay = reader.span("max_delay")?;
            return Ok(Parameters::from_load(load, max_delay, link_rate));
        }
        if !["mu_min", "mu_max", "q_max"].into_iter().any(|explicit| reader.given(explicit)) {
            return Err(
                reader.incomplete("\"mu_min\", \"mu_max\" and \"q_max\", or \"load\" and \"max_delay\"")
            );
        }
        let (mu_min, mu_max) = (reader.rate("mu_min")?, reader.rate("mu_max")?);
        if mu_min > mu_max {
            return Err(reader
                .impossible("mu_min", format!("{mu_min} is above mu_max = {mu_max}; write at most that")));
        }
        if mu_max > link_rate {
            let problem = format!("{mu_max} is above the link's rate; write at most \"{link_rate}\"");
            return Err(reader.impossible("mu_max", problem));
        }
        let q_max = reader.buffer("q_max")?;
        if matches!(q_max, Limit::Bytes(0) | Limit::Packets(0)) {
            return Err(reader
                .impossible("q_max", format!("{q_max} would never pace; write for example \"10 packets\"")));
        }
        Ok(Parameters { mu_min, mu_max, q_max })
    }

    /// Every packet held leaves within L / mu_min of the one before it.
    fn delay_bound(&self, link_rate: Rate, backlog: Backlog) -> Option<Span> {
        let each = self.mu_min.min(link_rate).time_to_send(u64::from(backlog.largest));
        Some(Span::from_nanos(each.as_nanos().saturating_mul(backlog.packets)))
    }

    fn envelope(&self, link_rate: Rate, largest: u32) -> Option<Envelope> {
        Some(Envelope { rate: link_rate.max(self.mu_max), burst: u64::from(largest) })
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameters { mu_min, mu_max, q_max } = self;
        write!(f, " mu_min = {mu_min}, mu_max = {mu_max}, q_max = {q_max}")
    }
}

/// The delay queue and its rate controller.
#[derive(Debug, Clone)]
pub struct Qlbp<P> {
    queue: VecDeque<P>,
    /// What is held, bytes.
    queued_bytes: u64,
    /// mu_min Q_max, bit/s times the unit of Q_max: rate(q) = (floor + slope q) / Q_max.
    floor: u128,
    /// mu_max - mu_min, bit/s.
    slope: u64,
    /// Q_max, bytes or packets.
    q_max: u64,
    /// Whether q counts packets.
    packets: bool,
    link_rate: Rate,
    /// When the last packet left; `None` before the first.
    last_send: Option<Instant>,
    /// When the head may leave, if there is one.
    release: Instant,
}

impl<P: Packet> Qlbp<P> {
    /// A pacer for a link of that rate.
    pub fn new(parameters: &Parameters, link_rate: Rate) -> Self {
        let (q_max, packets) = match parameters.q_max {
            Limit::Bytes(bytes) => (bytes, false),
            Limit::Packets(packets) => (packets, true),
        };
        let q_max = q_max.min(1 << 60); // beyond any memory; keeps the products within 128 bits
        let mu_min = parameters.mu_min.min(parameters.mu_max).bits_per_second();
        Qlbp {
            queue: VecDeque::new(),
            queued_bytes: 0,
            floor: u128::from(mu_min) * u128::from(q_max),
            slope: parameters.mu_max.bits_per_second() - mu_min,
            q_max,
            packets,
            link_rate,
            last_send: None,
            release: Instant::ZERO,
        }
    }

    /// Computes when the head leaves, `now` at the earliest, as an arrival or a departure at `now` leaves the queue.
    #[inline]
    fn schedule(&mut self, now: Instant) {
        let (Some(head), Some(last_send)) = (self.queue.front(), self.last_send) else {
            self.release = now;
            return;
        };
        self.release = now.max(last_send + self.gap(head.bytes()));
    }

    /// L / rate(q), rounded up to a nanosecond.
    #[inline]
    fn gap(&self, bytes: u32) -> Span {
        let q = if self.packets { self.queue.len() as u64 } else { self.queued_bytes };
        let bits = u128::from(bytes) * (8 * u128::from(NANOS_PER_SECOND));
        if q > self.q_max || self.q_max == 0 {
            return Span::from_nanos(divide_up(bits, u128::from(self.link_rate.bits_per_second())));
        }
        let scaled_rate = self.floor + u128::from(self.slope) * u128::from(q);
        Span::from_nanos(divide_up(bits * u128::from(self.q_max), scaled_rate))
    }
}

/// The quotient rounded up, `u64::MAX` at most; in 64 bits where both fit, which is several times as fast.
#[inline]
fn divide_up(numerator: u128, denominator: u128) -> u64 {
    match (u64::try_from(numerator), u64::try_from(denominator)) {
        (Ok(numerator), Ok(denominator)) => numerator.div_ceil(denominator.max(1)),
        _ => u64::try_from(numerator.div_ceil(denominator.max(1))).unwrap_or(u64::MAX),
    }
}

impl<P: Packet> Stage<P> for Qlbp<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        self.queued_bytes += u64::from(packet.bytes());
        self.queue.push_back(packet);
        self.schedule(now);
        Verdict::Queued
    }

    #[inline]
    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if now < self.release {
            return None;
        }
        let packet = self.queue.pop_front()?;
        self.queued_bytes -= u64::from(packet.bytes());
        self.last_send = Some(now);
        self.schedule(now);
        Some(packet)
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Instant> {
        self.queue.front().map(|_| self.release)
    }
}

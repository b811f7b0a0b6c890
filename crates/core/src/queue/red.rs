//! RED: a FIFO that drops, or marks, arrivals with a probability that grows with the average queue.
//!
//! *Idea.* The average follows what arrivals find, by a weight of `q_weight` each. From `thresh` to `maxthresh` the probability grows from
//! 0 to `max_p`, and on to 1 at twice that (gentle). Counting since the last one spaces drops out: with `wait` none comes until 1/p
//! packets have. A queue that has been idle is as if packets of `mean_packet` bytes had found it empty, back to back.
//!
//! *Parameters.* As ns-2's `Queue/RED`, in its words, and with its defaults: `thresh` 5 packets, or half of what the link sends in 5 ms if
//! that is more; `maxthresh` three times that; `unit = "bytes"` measures the queue in bytes, and drops large packets more often.
//! `adaptive` moves `max_p` so that the average stays halfway between the thresholds. A mark does instead of a drop while the
//! probability is below `mark_p`. `ns2_draws` draws what a run of ns-2 draws: its reference traces, packet for packet. A packet that arrives while one or none waits is taken.
//!
//! *Choices.* ns-2's automatic weight is for a round trip of three times the link's delay, 100 ms at least; here it is for 100 ms, which is
//! the same for links up to 33 ms: 1 − exp(−1/C), for C packets a second. A limit is the link's buffer, by its rule; ns-2 sets bits only
//! if told to. `ecn = "always"` marks above `maxthresh` too, as Linux's red does without `harddrop`: with one threshold, a weight of 1 and
//! `max_p` 1 that is the switch of DCTCP.
//!
//! *Where it breaks.* Where thresholds lie is for who sets them: the average follows the load, not the delay. The average is of arrivals:
//! a few large packets move it as much as a few small ones.
//!
//! *References.* S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM Transactions on Networking 1(4),
//! 1993; S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED", 2001; ns-2 2.35, `queue/red.cc`.

mod parameters;

use super::discipline::Queueing;
use super::drop_tail::DropTail;
use super::held::Held;
use super::mrg32k3a::Source;
use super::powers::power;
use super::rule::QueueSpec;
use super::signal::Signals;
use crate::stage::{Cause, Packet, Stage, Verdict};
use crate::units::{Instant, NANOS_PER_SECOND, Rate, Span};
pub(super) use parameters::Parameters;

/// How often `adaptive` moves `max_p` (ns-2's `interval_`).
const INTERVAL: Span = Span::from_millis(500);
/// The average is computed step by step for so many packets of an idle time; above, by squares.
const STEPS: u64 = 1 << 10;

/// A FIFO under RED, and the wire that it feeds.
#[derive(Debug, Clone)]
pub struct Red<P> {
    fifo: DropTail<P>,
    parameters: Parameters,
    signals: Signals<P>,
    draws: Source,
    average: f64,
    /// The present `max_p`, and when it moved last.
    max_p: f64,
    moved: Instant,
    /// Packets and bytes since the last early drop or mark.
    count: u64,
    count_bytes: u64,
    /// The average was above `thresh` at the last arrival, and packets waited.
    was_above: bool,
}

impl<P: Packet> Red<P> {
    /// Of the parameters' packets, in what the queue is measured in.
    fn measure(&self, packets: f64) -> f64 {
        if self.parameters.by_bytes { packets * self.parameters.mean_packet as f64 } else { packets }
    }

    /// An arrival finds a queue of that length: the average follows.
    fn estimate(&mut self, length: u64, now: Instant) {
        let mut idle = 0;
        if self.fifo.held().packets == 0 && self.fifo.is_idle(now) {
            let nanos = now.since(self.fifo.wire().free_at()).as_nanos() as f64;
            idle = (self.parameters.packets_per_second * (nanos / NANOS_PER_SECOND as f64)) as u64;
        }
        let keeps = 1.0 - self.parameters.q_weight;
        if idle <= STEPS {
            (0..idle).for_each(|_| self.average *= keeps);
        } else {
            self.average *= power(keeps, idle);
        }
        self.average = self.average * keeps + self.parameters.q_weight * length as f64;
        if self.parameters.adaptive && now > self.moved + INTERVAL {
            self.move_max_p(now);
        }
    }

    fn move_max_p(&mut self, now: Instant) {
        let (low, high) = (self.measure(self.parameters.thresh), self.measure(self.parameters.maxthresh));
        let part = 0.4 * (high - low);
        let Parameters { alpha, beta, top, bottom, .. } = self.parameters;
        if self.average < low + part && self.max_p > bottom {
            self.max_p *= beta;
            self.moved = now;
        } else if self.average > high - part && self.max_p < top {
            self.max_p += alpha.min(0.25 * self.max_p);
            self.moved = now;
        }
    }

    /// The probability by the average alone.
    fn probability(&self) -> f64 {
        let (low, high) = (self.measure(self.parameters.thresh), self.measure(self.parameters.maxthresh));
        let p = if self.average < high {
            // ns-2 divides by 1 where the thresholds are one
            let width = if high > low { high - low } else { 1.0 };
            (1.0 / width * self.average + -low / width) * self.max_p
        } else if self.parameters.gentle {
            // by the first `max_p`, as ns-2 has it
            let max_p = self.parameters.max_p;
            (1.0 - max_p) / high * self.average + (2.0 * max_p - 1.0)
        } else {
            1.0
        };
        p.min(1.0)
    }

    /// The same by what has come since the last drop, of a packet of so many bytes.
    fn spaced(&self, p: f64, bytes: u32) -> f64 {
        let Parameters { by_size, mean_packet, wait, .. } = self.parameters;
        let count = if by_size { self.count_bytes / mean_packet } else { self.count } as f64;
        let mut p = match wait {
            true if count * p < 1.0 => 0.0,
            true if count * p < 2.0 => p / (2.0 - count * p),
            false if count * p < 1.0 => p / (1.0 - count * p),
            _ => 1.0,
        };
        if by_size && p < 1.0 {
            p = p * f64::from(bytes) / mean_packet as f64;
        }
        p.min(1.0)
    }

    fn begin_count(&mut self, packets: u64, bytes: u64) {
        (self.count, self.count_bytes) = (packets, bytes);
    }

    /// Whether the arrival is dropped early, if it is not marked; at a full buffer it will be dropped anyway.
    fn drops_early(&mut self, packet: &mut P, is_full: bool) -> bool {
        let p = self.probability();
        if self.draws.unit() > self.spaced(p, packet.bytes()) {
            return false;
        }
        self.begin_count(0, 0);
        is_full || !(p < self.parameters.mark_p && self.signals.mark(packet))
    }
}

impl<P: Packet> Queueing<P> for Red<P> {
    type Parameters = Parameters;

    fn with(spec: &QueueSpec, parameters: &Parameters, rate: Rate) -> Self {
        Red {
            fifo: DropTail::new(spec, rate),
            parameters: *parameters,
            signals: Signals::new(parameters.marks),
            draws: Source::of(parameters.ns2_draws),
            average: 0.0,
            max_p: parameters.max_p,
            moved: Instant::ZERO,
            count: 0,
            count_bytes: 0,
            was_above: false,
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
        self.draws.seed(seed);
    }

    #[inline]
    fn signals(&self) -> Option<&Signals<P>> {
        Some(&self.signals)
    }
}

impl<P: Packet> Stage<P> for Red<P> {
    fn enqueue(&mut self, mut packet: P, now: Instant) -> Verdict<P> {
        let (bytes, packets) = (self.fifo.waiting_bytes(now), self.fifo.waiting_packets(now));
        let length = if self.parameters.by_bytes { bytes } else { packets };
        self.estimate(length, now);
        self.count += 1;
        self.count_bytes += u64::from(packet.bytes());
        let is_full = self.fifo.is_full(packet.bytes(), now);
        let mut is_dropped = false;
        if self.average >= self.measure(self.parameters.thresh) && length > 1 {
            if self.parameters.drops_undrawn && self.probability() >= 1.0 {
                self.begin_count(0, 0);
                is_dropped = true;
            } else if !self.was_above {
                self.begin_count(1, packet.bytes().into());
                self.was_above = true;
            } else {
                is_dropped = self.drops_early(&mut packet, is_full);
            }
        } else {
            self.was_above = false;
        }
        if is_full {
            self.begin_count(0, 0);
            return self.signals.refuse(packet, Cause::Overflow);
        }
        if is_dropped {
            return self.signals.refuse(packet, Cause::Early);
        }
        self.fifo.push(packet, now);
        Verdict::Queued
    }

    #[inline]
    fn dequeue(&mut self, now: Instant) -> Option<P> {
        self.fifo.dequeue(now)
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Instant> {
        self.fifo.next_wakeup()
    }
}

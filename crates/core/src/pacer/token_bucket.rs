//! Token bucket: a fixed rate and a burst, the shaper that users have today.
//!
//! *Idea.* Tokens flow into a bucket of `burst` bytes at `rate`; a packet takes as many as it has bytes, and waits until
//! they are there. Tokens are counted in bit-nanoseconds per second (a byte is 8,000,000,000 of them), so that a
//! nanosecond adds exactly `rate` of them and nothing is ever rounded.
//!
//! A packet larger than the bucket would wait for ever. Here it leaves when the bucket is full and the bucket owes the
//! rest, which later packets wait for: the rate holds in the long run, whatever the burst. A burst of 0 spaces packets at
//! exactly the rate. (Linux's tbf drops such packets.)
//!
//! *Parameters.* `rate` (bit/s) and `burst` (bytes); no defaults. The bucket is full at the start.
//!
//! *Where it breaks.* It delays without bound where the load is above the rate, and passes on every burst that fits.
//!
//! *References.* J. Turner, "New directions in communications", IEEE Communications Magazine 24(10), 1986; Linux `sch_tbf.c`.

use std::collections::VecDeque;
use std::fmt;

use super::{Backlog, Envelope, Tuned};
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::stage::{Packet, Stage, Verdict};
use crate::units::{Bytes, Instant, NANOS_PER_SECOND, Rate, Span};

/// Tokens in a byte.
const BYTE: i128 = 8 * NANOS_PER_SECOND as i128;

/// Rate and burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// How fast tokens come.
    pub rate: Rate,
    /// How many bytes' worth there can be.
    pub burst: Bytes,
}

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter { name: "rate", kind: Kind::Rate, default: None, doc: "long-term rate" },
        Parameter {
            name: "burst",
            kind: Kind::Bytes,
            default: None,
            doc: "what may leave at once; a larger packet waits for a full bucket and leaves a debt",
        },
    ];

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        Ok(Parameters { rate: reader.rate("rate")?, burst: Bytes::new(reader.bytes("burst")?) })
    }

    /// The backlog at the token rate, and the debt that a packet larger than the bucket may have left.
    fn delay_bound(&self, _: Rate, backlog: Backlog) -> Option<Span> {
        Some(self.rate.time_to_send(backlog.bytes.saturating_add(u64::from(backlog.largest))))
    }

    fn envelope(&self, _: Rate, largest: u32) -> Option<Envelope> {
        Some(Envelope { rate: self.rate, burst: self.burst.count().max(u64::from(largest)) })
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " rate = {}, burst = {}", self.rate, self.burst)
    }
}

/// The bucket and the packets that wait for it.
#[derive(Debug, Clone)]
pub struct TokenBucket<P> {
    queue: VecDeque<P>,
    rate: Rate,
    /// A full bucket, tokens.
    full: i128,
    /// Tokens at `updated`; negative while a packet larger than the bucket is paid off.
    tokens: i128,
    updated: Instant,
    /// When the head may leave, if there is one.
    release: Instant,
}

impl<P: Packet> TokenBucket<P> {
    /// A full bucket. The link's rate makes no difference.
    pub fn new(parameters: &Parameters, _: Rate) -> Self {
        let full = i128::from(parameters.burst.count()) * BYTE;
        TokenBucket {
            queue: VecDeque::new(),
            rate: parameters.rate,
            full,
            tokens: full,
            updated: Instant::ZERO,
            release: Instant::ZERO,
        }
    }

    /// Adds what has come in since the last update, up to `most`.
    #[inline]
    fn fill(&mut self, now: Instant, most: i128) {
        let elapsed = now.since(self.updated).as_nanos();
        self.updated = now;
        let added = u128::from(elapsed) * u128::from(self.rate.bits_per_second());
        let added = i128::try_from(added).unwrap_or(i128::MAX);
        self.tokens = self.tokens.saturating_add(added).min(most);
    }

    /// Computes when the head has its tokens, which are up to date.
    #[inline]
    fn schedule(&mut self) {
        let Some(head) = self.queue.front() else { return };
        let missing = (i128::from(head.bytes()) * BYTE).min(self.full) - self.tokens;
        let rate = self.rate.bits_per_second();
        let wait = match u64::try_from(missing) {
            Ok(missing) => missing.div_ceil(rate),
            Err(_) if missing < 0 => 0,
            Err(_) => u64::try_from(missing.unsigned_abs().div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
        };
        self.release = self.updated + Span::from_nanos(wait);
    }
}

impl<P: Packet> Stage<P> for TokenBucket<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        self.queue.push_back(packet);
        if self.queue.len() == 1 {
            self.fill(now, self.full);
            self.schedule();
        }
        Verdict::Queued
    }

    #[inline]
    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if now < self.release {
            return None;
        }
        let packet = self.queue.pop_front()?;
        // It left on the first whole nanosecond: what came in after its due fraction belongs to the next.
        self.fill(now, self.full + i128::from(self.rate.bits_per_second() - 1));
        self.tokens -= i128::from(packet.bytes()) * BYTE;
        self.schedule();
        Some(packet)
    }

    #[inline]
    fn next_wakeup(&self) -> Option<Instant> {
        self.queue.front().map(|_| self.release)
    }
}

//! Policer: a token bucket that drops. What finds enough tokens passes at once, all else is gone; nothing waits.
//!
//! *Idea.* Tokens flow into a bucket of `burst` bytes at `rate`. A packet that finds as many as it has bytes takes them and conforms; one that
//! does not is dropped, and takes none. Tokens are counted in bit-nanoseconds per second, as the [shaper's](crate::pacer::token_bucket) are,
//! so that a nanosecond adds exactly `rate` of them and nothing is ever rounded.
//!
//! *Parameters.* `rate` (bit/s) and `burst` (bytes); no defaults. The bucket is full at the start. It never holds the tokens for a packet larger
//! than `burst`: such packets are all dropped.
//!
//! *Where it breaks.* A TCP that sends its windows as bursts cannot fill the rate where the bucket is smaller than they are: the kernel's
//! documentation asks for rate times round trip.
//!
//! *References.* RFC 2697 (J. Heinanen, R. Guerin, "A single rate three color marker", 1999), section 3, colour-blind, of an excess burst of
//! zero: green passes, red is dropped. Linux `net/sched/act_police.c` (which counts in time, to 64 ns) does the same.

use crate::units::{Bytes, Instant, NANOS_PER_SECOND, Rate};

/// Tokens in a byte.
const BYTE: u128 = 8 * NANOS_PER_SECOND as u128;

/// Rate and burst of a [`Policer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicerSpec {
    /// How fast tokens come.
    pub rate: Rate,
    /// How many bytes' worth there can be.
    pub burst: Bytes,
}

/// The bucket.
///
/// ```
/// use paceline_core::policer::{Policer, PolicerSpec};
/// use paceline_core::{Bytes, Instant, Rate};
///
/// let spec = PolicerSpec { rate: Rate::from_bits_per_second(8_000_000), burst: Bytes::new(2_500) };
/// let mut policer = Policer::new(&spec); // 1000 B a millisecond
/// let at = |micros: u64| Instant::from_nanos(1_000 * micros);
/// assert_eq!([0, 0, 0].map(|now| policer.conforms(1_000, at(now))), [true, true, false]); // 500 B are left
/// assert_eq!([499, 500].map(|now| policer.conforms(1_000, at(now))), [false, true]);
/// ```
#[derive(Debug, Clone)]
pub struct Policer {
    rate: Rate,
    /// A full bucket, tokens.
    full: u128,
    /// Tokens at `updated`.
    tokens: u128,
    updated: Instant,
}

impl Policer {
    /// A full bucket.
    pub fn new(spec: &PolicerSpec) -> Self {
        let full = u128::from(spec.burst.count()) * BYTE;
        Policer { rate: spec.rate, full, tokens: full, updated: Instant::ZERO }
    }

    /// A packet comes, no earlier than the one before: whether it may pass. Else it is to be dropped.
    pub fn conforms(&mut self, bytes: u32, now: Instant) -> bool {
        let elapsed = now.since(self.updated).as_nanos();
        self.updated = now;
        let added = u128::from(elapsed) * u128::from(self.rate.bits_per_second());
        self.tokens = self.tokens.saturating_add(added).min(self.full);
        match self.tokens.checked_sub(u128::from(bytes) * BYTE) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }
}

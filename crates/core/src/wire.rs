//! Serialisation of packets at a fixed rate, exact to the nanosecond over any length of time.
//!
//! *Idea.* A packet of L bytes takes 8 L / rate seconds, which is seldom a whole number of nanoseconds. The remainder is
//! carried to the next packet of the same busy period, so that n packets back to back take exactly
//! floor(8 L n / rate): no rate drifts. The quotient of the last size seen is kept, so that the usual packet costs an
//! addition, not a division; and at the usual rates a byte takes whole nanoseconds, so that there are no remainders either.

use crate::units::{Instant, NANOS_PER_SECOND, Rate, Span};
use std::hint::select_unpredictable;

/// The transmitter of a link: when is it free, and when will a packet have left.
///
/// ```
/// use paceline_core::{Instant, Rate, Wire};
///
/// // 1000 B at 3 Mbit/s take 2,666,666.67 ns: three of them, back to back, exactly 8 ms.
/// let mut wire = Wire::new(Rate::from_bits_per_second(3_000_000));
/// let (start, finish) = wire.send(1000, Instant::ZERO);
/// assert_eq!((start.as_nanos(), finish.as_nanos()), (0, 2_666_666));
/// wire.send(1000, Instant::ZERO);
/// wire.send(1000, Instant::ZERO);
/// assert_eq!(wire.free_at().as_nanos(), 8_000_000);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    rate: Rate,
    free_at: Instant,
    /// What a byte takes, nanoseconds; 0 where it is no whole number of them, or too many.
    byte_nanos: u64,
    /// Fraction of a nanosecond owed by the current busy period, in units of 1 ns / rate.
    remainder: u64,
    /// Serialisation time of the last size seen: size in bytes, whole nanoseconds, remainder.
    last_bytes: u32,
    last_whole: Span,
    last_remainder: u64,
    /// The last size seen, if nothing is owed by it or before; else no packet's.
    exact_bytes: u64,
}

/// No packet has this size, bytes.
const NONE: u64 = u64::MAX;

impl Wire {
    /// A wire that is free from time zero. No packet takes a nanosecond at 2^63 bit/s: above, rates are alike.
    pub fn new(rate: Rate) -> Self {
        let bps = rate.bits_per_second().min(1 << 63);
        let is_whole = bps > 8 && (8 * NANOS_PER_SECOND).is_multiple_of(bps);
        Wire {
            rate: Rate::from_bits_per_second(bps),
            free_at: Instant::ZERO,
            byte_nanos: if is_whole { 8 * NANOS_PER_SECOND / bps } else { 0 },
            remainder: 0,
            last_bytes: 0,
            last_whole: Span::ZERO,
            last_remainder: 0,
            exact_bytes: NONE,
        }
    }

    /// The rate, bit/s.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// When the last packet given to the wire has left it.
    #[inline]
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Packets given to the wire so far have left a fraction of a nanosecond to serve.
    ///
    /// ```
    /// # use paceline_core::{Instant, Rate, Wire};
    /// let mut wire = Wire::new(Rate::from_bits_per_second(3_000_000));
    /// wire.send(1000, Instant::ZERO);
    /// assert!(wire.owes()); // two thirds of a nanosecond
    /// ```
    pub fn owes(&self) -> bool {
        self.remainder > 0
    }

    /// Sends a packet as soon as the wire is free, `now` at the earliest: when its first bit leaves, and its last.
    #[inline(always)]
    pub fn send(&mut self, bytes: u32, now: Instant) -> (Instant, Instant) {
        let whole = if self.byte_nanos != 0 {
            Span::from_nanos(u64::from(bytes) * self.byte_nanos)
        } else if u64::from(bytes) == self.exact_bytes {
            self.last_whole
        } else {
            return self.send_inexactly(bytes, now);
        };
        let start = self.start(now);
        self.free_at = start + whole;
        (start, self.free_at)
    }

    /// What a packet of this size takes, if it owes no fraction of a nanosecond, nor does the wire.
    pub(crate) fn exact(&self, bytes: u32) -> Option<Span> {
        if self.byte_nanos != 0 {
            return Some(Span::from_nanos(u64::from(bytes) * self.byte_nanos));
        }
        (u64::from(bytes) == self.exact_bytes).then_some(self.last_whole)
    }

    /// Packets that owe nothing have been sent elsewhere, and it is free after them.
    pub(crate) fn is_free_from(&mut self, free_at: Instant) {
        self.free_at = free_at;
    }

    /// When a packet that arrives at `now` is served. Which it is is unpredictable: branchless.
    #[inline(always)]
    fn start(&self, now: Instant) -> Instant {
        select_unpredictable(now > self.free_at, now, self.free_at)
    }

    /// The same where fractions of a nanosecond are owed, or may be.
    #[inline(never)]
    fn send_inexactly(&mut self, bytes: u32, now: Instant) -> (Instant, Instant) {
        if bytes != self.last_bytes {
            self.measure(bytes);
        }
        let (start, rate) = (self.start(now), self.rate.bits_per_second());
        // A new busy period owes nothing.
        let owed = select_unpredictable(now > self.free_at, 0, self.remainder) + self.last_remainder;
        let is_whole = owed >= rate;
        self.remainder = owed - select_unpredictable(is_whole, rate, 0);
        self.free_at = start + self.last_whole + Span::from_nanos(u64::from(is_whole));
        let is_exact = self.remainder | self.last_remainder == 0;
        self.exact_bytes = if is_exact { u64::from(bytes) } else { NONE };
        (start, self.free_at)
    }

    /// None of so many packets of so many bytes at most will have left later, if the last of them arrives at `now`.
    ///
    /// ```
    /// # use paceline_core::{Instant, Rate, Wire};
    /// let wire = Wire::new(Rate::from_bits_per_second(8_000_000)); // 1000 B in 1 ms
    /// assert_eq!(wire.latest(5, 1000, Instant::ZERO).as_nanos(), 5_000_001);
    /// ```
    pub fn latest(&self, packets: usize, bytes: u32, now: Instant) -> Instant {
        let bits = 8 * packets as u128 * u128::from(bytes);
        let nanos = bits * u128::from(NANOS_PER_SECOND) / u128::from(self.rate.bits_per_second().max(1)) + 1;
        self.free_at.max(now) + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Divides once for a new size.
    #[cold]
    fn measure(&mut self, bytes: u32) {
        let (bits, rate) = (u64::from(bytes) * 8, self.rate.bits_per_second());
        let (whole, remainder) = match bits.checked_mul(NANOS_PER_SECOND) {
            Some(scaled) => (scaled / rate, scaled % rate),
            None => {
                let (scaled, rate) = (u128::from(bits) * u128::from(NANOS_PER_SECOND), u128::from(rate));
                let whole = u64::try_from(scaled / rate).unwrap_or(u64::MAX);
                (whole, u64::try_from(scaled % rate).unwrap_or(0))
            }
        };
        self.last_bytes = bytes;
        self.last_whole = Span::from_nanos(whole);
        self.last_remainder = remainder;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_period_does_not_drift() {
        // 1000 B at 3 Mbit/s is 2666666.66 ns: a million of them back to back end on the exact nanosecond.
        let mut wire = Wire::new(Rate::from_bits_per_second(3_000_000));
        for _ in 0..1_000_000 {
            wire.send(1000, Instant::ZERO);
        }
        assert_eq!(wire.free_at().as_nanos(), 8_000_000_000_000_000 / 3_000);
    }

    #[test]
    fn sizes_may_alternate() {
        for (rate, packets) in [(7_000_000, 7_000), (8_000_000, 8_000), (10, 10)] {
            let mut wire = Wire::new(Rate::from_bits_per_second(rate));
            for _ in 0..packets {
                wire.send(40, Instant::ZERO);
                wire.send(1500, Instant::ZERO);
            }
            assert_eq!(wire.free_at().as_nanos(), packets * 1540 * 8 * 1_000_000_000 / rate);
        }
    }

    #[test]
    fn a_busy_period_owes_nothing_to_the_one_before() {
        // 1000 B at 3 Mbit/s is 2666666.66 ns; three of them back to back would be 8,000,000.
        let mut wire = Wire::new(Rate::from_bits_per_second(3_000_000));
        for start in [0, 10_000_000, 20_000_000] {
            let (_, finish) = wire.send(1000, Instant::from_nanos(start));
            assert_eq!(finish.as_nanos(), start + 2_666_666);
        }
    }

    #[test]
    fn what_is_owed_is_the_fraction_of_a_nanosecond() {
        // 1000 B at 3 Mbit/s are 8/3 ms: after three packets nothing is owed.
        let mut wire = Wire::new(Rate::from_bits_per_second(3_000_000));
        let owes = [0; 4].map(|now| {
            wire.send(1000, Instant::from_nanos(now));
            wire.owes()
        });
        assert_eq!(owes, [true, true, false, true]);
    }

    #[test]
    fn the_latest_is_the_next_nanosecond_after_all_have_left() {
        // Five of 1000 B at 3 Mbit/s are 13,333,333.3 ns.
        let mut wire = Wire::new(Rate::from_bits_per_second(3_000_000));
        assert_eq!(wire.latest(5, 1000, Instant::from_nanos(7)).as_nanos(), 7 + 13_333_333 + 1);
        wire.send(1500, Instant::ZERO);
        assert_eq!(wire.latest(5, 1000, Instant::from_nanos(7)).as_nanos(), 4_000_000 + 13_333_333 + 1);
    }

    #[test]
    fn sizes_whose_product_needs_128_bits_do_not_drift() {
        // 8 * 4 GB * 10^9 is above 2^64.
        let (bytes, rate) = (4_000_000_000_u32, 7_000_000);
        let mut wire = Wire::new(Rate::from_bits_per_second(rate));
        for packets in 1..=7 {
            let (_, finish) = wire.send(bytes, Instant::ZERO);
            let exact = packets * u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate);
            assert_eq!(u128::from(finish.as_nanos()), exact, "{packets}");
        }
    }

    #[test]
    fn no_size_or_rate_overflows() {
        for rate in [1, 100_000_000_000_000, u64::MAX] {
            let mut wire = Wire::new(Rate::from_bits_per_second(rate));
            for bytes in [u32::MAX, 0, 65_536, u32::MAX] {
                let (start, finish) = wire.send(bytes, Instant::from_nanos(u64::MAX - 1));
                assert!(start <= finish);
            }
        }
    }

    #[test]
    fn an_idle_wire_starts_at_once() {
        let mut wire = Wire::new(Rate::from_bits_per_second(8_000_000));
        let (start, finish) = wire.send(1000, Instant::from_nanos(5));
        assert_eq!((start.as_nanos(), finish.as_nanos()), (5, 1_000_005));
        let (start, _) = wire.send(1000, Instant::from_nanos(6));
        assert_eq!(start, finish);
    }
}

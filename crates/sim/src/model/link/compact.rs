//! A wire and a delay in half a cache line: the access links of common networks, of which a flow has four.
//!
//! *Idea.* [`Wire`](paceline_core::Wire) in 32-bit numbers: 8 L / rate seconds are L p / q nanoseconds with p / q reduced, and
//! remainders are counted in 1 ns / q. p follows from which powers of 2 and 5 were cancelled.
//! *Where it breaks.* Rates below about 122 kbit/s, or above 4.29 Gbit/s unless they are round; delays from 4.29 s on: such a
//! link has a [`Wire`](paceline_core::Wire). Both agree to the nanosecond.

use super::passage::Carry;
use paceline_core::{Instant, Rate, Span};
use std::hint::select_unpredictable;

/// Bits in a byte times nanoseconds in a second: 2^12 5^9.
const SCALE: u64 = 8_000_000_000;
const FIVES: [u64; 10] = [1, 5, 25, 125, 625, 3_125, 15_625, 78_125, 390_625, 1_953_125];
/// The largest packet, bytes.
const LARGEST: u64 = 65_535;

/// A lossless link that is not observed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compact {
    free_at: Instant,
    /// q: what a nanosecond is cut into.
    unit: u32,
    /// What the current busy period owes, in units.
    remainder: u32,
    /// Serialisation time of the last size seen, nanoseconds; and its units, less those of a nanosecond: adding that to what is owed
    /// overflows where both make one.
    last_whole: u32,
    last_short: u32,
    delay: u32,
    last_bytes: u16,
    /// Powers of 2 and of 5 in p, half a byte each.
    powers: u8,
    #[expect(dead_code, reason = "what it says is said by its place")]
    mark: Mark,
}

/// Its unused values are where [`super::Link`] and an option of one keep which they are: so both take 32 bytes.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Mark {
    Compact,
}

impl Compact {
    /// A byte takes a nanosecond, and then it is there.
    pub(super) const FASTEST: Compact = Compact {
        free_at: Instant::ZERO,
        unit: 1,
        remainder: 0,
        last_whole: 0,
        last_short: 1_u32.wrapping_neg(),
        delay: 0,
        last_bytes: 0,
        powers: 0,
        mark: Mark::Compact,
    };

    /// `None` where its numbers do not fit.
    pub(super) fn new(rate: Rate, delay: Span) -> Option<Self> {
        let rate = rate.bits_per_second();
        let (mut unit, mut twos, mut fives) = (rate, 12_u8, 9);
        while unit.is_multiple_of(2) && twos > 0 {
            (unit, twos) = (unit / 2, twos - 1);
        }
        while unit.is_multiple_of(5) && fives > 0 {
            (unit, fives) = (unit / 5, fives - 1);
        }
        u32::try_from(SCALE * LARGEST / rate + 1).ok()?;
        let unit = u32::try_from(unit).ok()?;
        Some(Compact {
            free_at: Instant::ZERO,
            unit,
            remainder: 0,
            last_whole: 0,
            last_short: unit.wrapping_neg(),
            delay: u32::try_from(delay.as_nanos()).ok()?,
            last_bytes: 0,
            powers: twos << 4 | fives,
            mark: Mark::Compact,
        })
    }

    /// When it is idle, if nothing more comes.
    pub(super) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// A fraction of a nanosecond is left to serve.
    pub(super) fn owes(&self) -> bool {
        self.remainder > 0
    }

    /// A packet reaches it at `at`: when its first bit leaves, and when its last is at the far end.
    #[inline(always)]
    pub(super) fn pass(&mut self, bytes: u16, at: Instant) -> (Instant, Instant) {
        if bytes != self.last_bytes {
            self.measure(bytes);
        }
        // As `Wire::send`.
        let is_free = at > self.free_at;
        let start = select_unpredictable(is_free, at, self.free_at);
        let (rest, is_whole) =
            select_unpredictable(is_free, 0, self.remainder).overflowing_add(self.last_short);
        self.remainder = select_unpredictable(is_whole, rest, rest.wrapping_add(self.unit));
        (start, self.leave(start, u64::from(self.last_whole) + u64::from(is_whole)))
    }

    /// The same where it is idle nearly always. Returns when the last bit is at the far end.
    #[inline(always)]
    fn pass_idle(&mut self, bytes: u16, at: Instant) -> Instant {
        if at <= self.free_at || bytes != self.last_bytes {
            return self.pass_busy(bytes, at);
        }
        self.remainder = self.last_short.wrapping_add(self.unit);
        self.leave(at, self.last_whole.into())
    }

    #[cold]
    fn pass_busy(&mut self, bytes: u16, at: Instant) -> Instant {
        self.pass(bytes, at).1
    }

    /// It is busy with a packet from `start` on, for so many nanoseconds: when that is at the far end. A run lasts at most a year
    /// (`input/quantity.rs`), and a packet takes seconds here: no link owes centuries, so the end of time is not checked.
    #[inline(always)]
    fn leave(&mut self, start: Instant, busy: u64) -> Instant {
        self.free_at = start.later_by(Span::from_nanos(busy));
        self.free_at.later_by(Span::from_nanos(self.delay.into()))
    }

    /// Divides once for a new size.
    #[cold]
    fn measure(&mut self, bytes: u16) {
        let scaled = u64::from(bytes) * (FIVES[usize::from(self.powers & 15)] << (self.powers >> 4));
        let unit = u64::from(self.unit);
        self.last_bytes = bytes;
        (self.last_whole, self.last_short) =
            ((scaled / unit) as u32, ((scaled % unit) as u32).wrapping_sub(self.unit));
    }
}

impl Carry for Compact {
    /// Acknowledgements are small: they hardly ever wait for each other. Data come in bursts, and are spared the branch.
    #[inline(always)]
    fn carry(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Instant {
        if is_ack { self.pass_idle(bytes, at) } else { self.pass(bytes, at).1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_core::Wire;

    #[test]
    fn agrees_with_the_wire() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 20) % below
        };
        let round = [125_000, 8_000_000, 10_000_000, 10_000_000_000, 400_000_000_000, 6_000_000_000];
        for case in 0..2_000 {
            let rate = round.get(case).copied().unwrap_or_else(|| {
                let magnitude = draw(12);
                130_000 + draw(4_000_000_000 >> magnitude)
            });
            let (rate, delay) = (Rate::from_bits_per_second(rate), Span::from_nanos(draw(1 << 32)));
            let mut compact = Compact::new(rate, delay).unwrap();
            let mut carrying = compact;
            let mut wire = Wire::new(rate);
            let mut now = 0;
            for _ in 0..100 {
                let bytes = [40, 1000, 1500, 65_535][draw(4) as usize];
                now += draw(30_000_000) * draw(2);
                let at = Instant::from_nanos(now);
                let (start, finish) = wire.send(u32::from(bytes), at);
                assert_eq!(compact.pass(bytes, at), (start, finish + delay), "{rate}");
                assert_eq!(carrying.carry(bytes, draw(3) > 0, at), finish + delay, "{rate}");
                for compact in [compact, carrying] {
                    assert_eq!((compact.free_at(), compact.owes()), (wire.free_at(), wire.owes()), "{rate}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (ok, rate) = (Span::from_millis(4), Rate::from_bits_per_second);
        assert!(Compact::new(rate(100_000), ok).is_none());
        assert!(Compact::new(rate(9_999_999_999), ok).is_none());
        assert!(Compact::new(rate(10_000_000), Span::from_millis(4_295)).is_none());
        // 65,535 B take 2^32 - 2 ns, and one more
        assert!(Compact::new(rate(122_069), ok).is_some() && Compact::new(rate(122_068), ok).is_none());
        // 2^32 - 5 is a prime number, 2^32 + 1 is divided by neither 2 nor 5
        assert!(
            Compact::new(rate((1 << 32) - 5), ok).is_some()
                && Compact::new(rate((1 << 32) + 1), ok).is_none()
        );
        let longest = Span::from_nanos(u32::MAX.into());
        assert!(Compact::new(rate(10_000_000), longest).is_some());
        assert!(Compact::new(rate(10_000_000), longest + Span::from_nanos(1)).is_none());
    }
}

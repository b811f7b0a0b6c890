//! Time in nanoseconds, sizes in bytes, rates in bit/s: integers, so that nothing depends on rounding.
//!
//! The one parser of quantities (`"100 Mbit/s"`, `"10 ms"`, `"5 KB"`) is in [`parse`].

pub mod parse;

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Nanoseconds in a second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A point in simulated (or measured) time: nanoseconds since the start. Ends after 584 years.
///
/// ```
/// use paceline_core::{Instant, Span};
///
/// let sent = Instant::from_nanos(1_000);
/// let arrived = sent + Span::from_millis(2);
/// assert_eq!(arrived.since(sent), Span::from_nanos(2_000_000));
/// assert_eq!(sent.since(arrived), Span::ZERO);
/// assert_eq!(arrived.as_seconds(), 0.002001);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A length of time, nanoseconds.
///
/// ```
/// use paceline_core::Span;
///
/// assert_eq!(Span::from_millis(10).to_string(), "10 ms");
/// assert_eq!(Span::from_seconds(1.5).as_nanos(), 1_500_000_000);
/// assert_eq!(Span::from_nanos(250).as_seconds(), 2.5e-7);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// An amount of data, bytes.
///
/// ```
/// use paceline_core::Bytes;
///
/// assert_eq!((Bytes::new(4_000) + Bytes::new(1_000)).to_string(), "5 KB");
/// assert_eq!(Bytes::new(1_500).count(), 1_500);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A rate, bit/s; never zero.
///
/// ```
/// use paceline_core::{Rate, Span};
///
/// let rate = Rate::from_bits_per_second(100_000_000);
/// assert_eq!(rate.to_string(), "100 Mbit/s");
/// assert_eq!(rate.time_to_send(1_500), Span::from_nanos(120_000));
/// assert_eq!(Rate::from_bits_per_second(0).bits_per_second(), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Instant {
    /// The start of time.
    pub const ZERO: Instant = Instant(0);
    /// Later than any event.
    pub const MAX: Instant = Instant(u64::MAX);

    /// From nanoseconds since the start.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    #[inline]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time since `earlier`; zero if that is later.
    #[inline]
    pub fn since(self, earlier: Instant) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The same, where `earlier` is known to be no later: nothing is compared.
    ///
    /// ```
    /// # use paceline_core::{Instant, Span};
    /// assert_eq!(Instant::from_nanos(9).after(Instant::from_nanos(4)), Span::from_nanos(5));
    /// ```
    #[inline(always)]
    pub fn after(self, earlier: Instant) -> Span {
        debug_assert!(earlier <= self);
        Span(self.0.wrapping_sub(earlier.0))
    }

    /// So much earlier, where that is known to be no less than the start of time: nothing is compared.
    ///
    /// ```
    /// # use paceline_core::{Instant, Span};
    /// assert_eq!(Instant::from_nanos(9).earlier_by(Span::from_nanos(4)), Instant::from_nanos(5));
    /// ```
    #[inline(always)]
    pub fn earlier_by(self, span: Span) -> Instant {
        debug_assert!(span.0 <= self.0);
        Instant(self.0.wrapping_sub(span.0))
    }

    /// So much later, where that is known to lie before the end of time: nothing is compared.
    ///
    /// ```
    /// # use paceline_core::{Instant, Span};
    /// assert_eq!(Instant::from_nanos(9).later_by(Span::from_nanos(4)), Instant::from_nanos(13));
    /// ```
    #[inline(always)]
    pub fn later_by(self, span: Span) -> Instant {
        debug_assert!(self.0.checked_add(span.0).is_some());
        Instant(self.0.wrapping_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than any run.
    pub const MAX: Span = Span(u64::MAX);

    /// From nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Span(nanos)
    }

    /// From milliseconds.
    #[inline]
    pub const fn from_millis(millis: u64) -> Self {
        Span(millis.saturating_mul(1_000_000))
    }

    /// From seconds, rounded to the nearest nanosecond; negative or not a number becomes zero.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Self {
        Span((seconds * 1e9 + 0.5) as u64)
    }

    /// Nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    #[inline]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Bytes {
    /// From a number of bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Bytes(bytes)
    }

    /// The number of bytes.
    #[inline]
    pub const fn count(self) -> u64 {
        self.0
    }
}

impl Rate {
    /// From bit/s. A rate of zero would never send: it becomes 1 bit/s (parsers refuse it before).
    #[inline]
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Rate(if bits == 0 { 1 } else { bits })
    }

    /// bit/s.
    #[inline]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Time that `bytes` take at this rate, rounded up to a nanosecond (a whole packet has left by then).
    #[inline]
    pub fn time_to_send(self, bytes: u64) -> Span {
        let scaled = u128::from(bytes) * 8 * u128::from(NANOS_PER_SECOND);
        Span(u64::try_from(scaled.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
    }
}

impl Add<Span> for Instant {
    type Output = Instant;
    /// Saturates: an event after the end of time never happens.
    #[inline]
    fn add(self, span: Span) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Instant {
    type Output = Instant;
    /// Saturates at the start of time.
    #[inline]
    fn sub(self, span: Span) -> Instant {
        Instant(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl fmt::Display for Span {
    /// The largest unit that gives a number of at least one, and every digit: `10 ms`, `1.5 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &[(NANOS_PER_SECOND, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")])
    }
}

impl fmt::Display for Bytes {
    /// Decimal units, and every digit: `5 KB` is 5000 B.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB"), (1, "B")])
    }
}

impl fmt::Display for Rate {
    /// The largest unit that gives a number of at least one, and every digit: `100 Mbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (1_000_000_000_000, "Tbit/s"),
            (1_000_000_000, "Gbit/s"),
            (1_000_000, "Mbit/s"),
            (1_000, "kbit/s"),
            (1, "bit/s"),
        ];
        scaled(f, self.0, &units)
    }
}

/// Writes `value` in the largest of `units` (descending powers of ten, the last one 1) that it reaches, exactly.
fn scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let &(size, unit) = units.iter().find(|(size, _)| value >= *size).unwrap_or(&units[units.len() - 1]);
    let (whole, fraction) = (value / size, value % size);
    if fraction == 0 {
        return write!(f, "{whole} {unit}");
    }
    let digits = size.ilog10() as usize;
    let fraction = format!("{fraction:0digits$}");
    write!(f, "{whole}.{} {unit}", fraction.trim_end_matches('0'))
}

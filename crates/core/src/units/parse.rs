//! The one parser of quantities: command line, scenario files and Python all come here.
//!
//! A quantity is a decimal number and a unit, `"100 Mbit/s"`, `"10 ms"`, `"5 KB"`, `"5 packets"`, `"0.1 BDP"`; a range is
//! two of them, `"8 Mbit/s .. 12 Mbit/s"`. Numbers are read digit by digit into integers, never through a float, so
//! `"0.1 Gbit/s"` is 100,000,000 bit/s. Times and rates finer than 1 ns or 1 bit/s are rounded to the nearest; bytes
//! and packets must be whole. Whatever a value displays as parses back to the same value.

mod error;
mod hint;
mod unit;

use std::fmt;
use std::str::FromStr;

use super::{Bytes, Rate, Span};
pub use error::QuantityError;
use error::{Problem, shorten};
pub use hint::Usual;
use unit::{Kind, Unit};

/// A buffer as written, before the network it stands in is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BufferSize {
    /// So many bytes.
    Bytes(Bytes),
    /// So many packets of any size.
    Packets(u64),
    /// A multiple of the bandwidth-delay product; finite, not negative.
    Bdp(f64),
}

/// Two quantities, `low` at most `high`; a single one has them equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range<T> {
    /// The least value.
    pub low: T,
    /// The greatest value.
    pub high: T,
}

/// Reads a rate: `"100 Mbit/s"`. Zero is refused.
///
/// ```
/// # use paceline_core::{Rate, units::parse};
/// assert_eq!(parse::rate("100 Mbit/s"), Ok(Rate::from_bits_per_second(100_000_000)));
/// assert!(parse::rate("100").unwrap_err().to_string().contains("unit"));
/// ```
pub fn rate(text: &str) -> Result<Rate, QuantityError> {
    let (number, unit) = split(text, Kind::Rate)?;
    match number.times(unit, Whole::Nearest)? {
        0 => Err(number.error(Problem::ZeroRate)),
        bits => Ok(Rate::from_bits_per_second(bits)),
    }
}

/// Reads a time: `"10 ms"`.
///
/// ```
/// # use paceline_core::{Span, units::parse};
/// assert_eq!(parse::span("10 ms"), Ok(Span::from_millis(10)));
/// ```
pub fn span(text: &str) -> Result<Span, QuantityError> {
    let (number, unit) = split(text, Kind::Time)?;
    Ok(Span::from_nanos(number.times(unit, Whole::Nearest)?))
}

/// Reads an amount of data: `"5 KB"` (1 KB = 1000 B), `"64 KiB"` (1 KiB = 1024 B).
///
/// ```
/// # use paceline_core::{Bytes, units::parse};
/// assert_eq!(parse::bytes("64 KiB"), Ok(Bytes::new(65_536)));
/// ```
pub fn bytes(text: &str) -> Result<Bytes, QuantityError> {
    let (number, unit) = split(text, Kind::Size)?;
    Ok(Bytes::new(number.times(unit, Whole::Exactly("bytes"))?))
}

/// Reads a buffer: `"5 KB"`, `"5 packets"`, `"0.1 BDP"`.
///
/// ```
/// # use paceline_core::units::parse::{self, BufferSize};
/// assert_eq!(parse::buffer("5 packets"), Ok(BufferSize::Packets(5)));
/// ```
pub fn buffer(text: &str) -> Result<BufferSize, QuantityError> {
    let (number, unit) = split(text, Kind::Buffer)?;
    match unit.kind {
        Kind::Packets => Ok(BufferSize::Packets(number.times(unit, Whole::Exactly("packets"))?)),
        Kind::Bdp => match number.digits.parse::<f64>() {
            Ok(multiple) if multiple.is_finite() => Ok(BufferSize::Bdp(multiple)),
            _ => Err(number.error(Problem::TooLarge)),
        },
        _ => Ok(BufferSize::Bytes(Bytes::new(number.times(unit, Whole::Exactly("bytes"))?))),
    }
}

/// Reads `"low .. high"` or a single quantity.
///
/// ```
/// # use paceline_core::{Span, units::parse::{self, Range}};
/// let delays: Range<Span> = parse::range("5 ms .. 15 ms")?;
/// assert_eq!((delays.low, delays.high), (Span::from_millis(5), Span::from_millis(15)));
/// # Ok::<(), parse::QuantityError>(())
/// ```
pub fn range<T: Quantity>(text: &str) -> Result<Range<T>, QuantityError> {
    let Some((low, high)) = text.split_once("..") else {
        let both = T::parse(text)?;
        return Ok(Range { low: both, high: both });
    };
    let (low, high) = match (T::parse(low), T::parse(high)) {
        (Ok(low), Ok(high)) => (low, high),
        (low_read, high_read) => {
            return Err(range_error(text, (low, low_read.err()), (high, high_read.err())));
        }
    };
    match low.partial_cmp(&high) {
        Some(order) if order.is_le() => Ok(Range { low, high }),
        _ => Err(QuantityError::new(text, Problem::Backwards)),
    }
}

/// What is wrong with a range, an end of which is no quantity: both ends get the unit that one has.
fn range_error(
    text: &str,
    low: (&str, Option<QuantityError>),
    high: (&str, Option<QuantityError>),
) -> QuantityError {
    fn bare(end: &Option<QuantityError>) -> Option<(&str, Kind)> {
        end.as_ref().and_then(QuantityError::bare_number)
    }
    let unit_of = |end: &str| end.trim_start_matches(|c: char| !c.is_alphabetic()).trim().to_owned();
    let problem = match (bare(&low.1), bare(&high.1)) {
        (Some((from, wanted)), Some((to, _))) => {
            Problem::NoUnits { low: from.to_owned(), high: to.to_owned(), wanted }
        }
        (Some((from, _)), None) if high.1.is_none() => {
            Problem::HalfUnit { instead: format!("{from} {} .. {}", unit_of(high.0), high.0.trim()) }
        }
        (None, Some((to, _))) if low.1.is_none() => {
            Problem::HalfUnit { instead: format!("{} .. {to} {}", low.0.trim(), unit_of(low.0)) }
        }
        _ => return low.1.or(high.1).unwrap_or_else(|| QuantityError::new(text, Problem::Backwards)),
    };
    QuantityError::new(text, problem)
}

/// What [`range`] reads two of.
pub trait Quantity: Copy + PartialOrd {
    /// Reads one.
    fn parse(text: &str) -> Result<Self, QuantityError>;

    /// The names of the units that one may have.
    ///
    /// ```
    /// # use paceline_core::{Bytes, units::parse::Quantity};
    /// assert_eq!(Bytes::units(), ["B", "KB", "MB", "GB", "KiB", "MiB", "GiB"]);
    /// ```
    fn units() -> Vec<&'static str>;
}

macro_rules! quantities {
    ($($type:ty: $parse:path, $kind:ident;)+) => {$(
        impl Quantity for $type {
            fn parse(text: &str) -> Result<Self, QuantityError> {
                $parse(text)
            }

            fn units() -> Vec<&'static str> {
                Kind::$kind.units()
            }
        }

        impl FromStr for $type {
            type Err = QuantityError;

            fn from_str(text: &str) -> Result<Self, QuantityError> {
                $parse(text)
            }
        }
    )+};
}

quantities! {
    Rate: rate, Rate;
    Span: span, Time;
    Bytes: bytes, Size;
    BufferSize: buffer, Buffer;
}

impl<T: Quantity> FromStr for Range<T> {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        range(text)
    }
}

impl PartialOrd for BufferSize {
    /// Only like with like: bytes and packets have no order.
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (BufferSize::Bytes(a), BufferSize::Bytes(b)) => a.partial_cmp(b),
            (BufferSize::Packets(a), BufferSize::Packets(b)) => a.partial_cmp(b),
            (BufferSize::Bdp(a), BufferSize::Bdp(b)) => a.partial_cmp(b),
            _ => None,
        }
    }
}

impl fmt::Display for BufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BufferSize::Bytes(bytes) => bytes.fmt(f),
            BufferSize::Packets(1) => f.write_str("1 packet"),
            BufferSize::Packets(packets) => write!(f, "{packets} packets"),
            BufferSize::Bdp(multiple) => write!(f, "{multiple} BDP"),
        }
    }
}

impl<T: fmt::Display + PartialEq> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.low == self.high {
            true => self.low.fmt(f),
            false => write!(f, "{} .. {}", self.low, self.high),
        }
    }
}

/// A decimal number as written, and where it stood.
struct Number<'a> {
    text: &'a str,
    digits: &'a str,
}

/// What happens to a fraction of the smallest unit.
enum Whole {
    Nearest,
    /// It is refused, in the name of this unit.
    Exactly(&'static str),
}

/// Splits a quantity into its number and its unit, which is of the kind wanted.
fn split(text: &str, wanted: Kind) -> Result<(Number<'_>, Unit), QuantityError> {
    let error = |problem| Err(QuantityError::new(text, problem));
    let trimmed = text.trim();
    let (negative, unsigned) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let Some(length) = number_length(unsigned) else {
        return error(Problem::NoNumber(wanted));
    };
    if negative {
        return error(Problem::Negative);
    }
    let (digits, name) = unsigned.split_at(length);
    let name = name.trim();
    if name.is_empty() {
        return error(Problem::NoUnit { number: shorten(digits), wanted });
    }
    match Unit::named(name) {
        Some(unit) if wanted.accepts(unit.kind) => Ok((Number { text, digits }, unit)),
        Some(unit) => error(Problem::WrongKind { is: unit.kind, wanted }),
        None => error(unknown_unit(&Number { text, digits }, name, wanted)),
    }
}

/// A unit that is none: what it may have been meant for.
fn unknown_unit(number: &Number<'_>, name: &str, wanted: Kind) -> Problem {
    let times = |unit| number.times(unit, Whole::Nearest).ok().filter(|amount| *amount > 0);
    if name.starts_with(',') {
        let instead = hint::without_comma(number.text.trim(), wanted);
        if !instead.is_empty() {
            return Problem::Comma { instead };
        }
    }
    if wanted == Kind::Time
        && let Some(nanoseconds) = Unit::long_time(name).and_then(times)
    {
        return Problem::LargeUnit {
            unit: shorten(name),
            instead: Span::from_nanos(nanoseconds).to_string(),
        };
    }
    if wanted == Kind::Rate
        && let Some(bits) = Unit::bytes_a_second(name).and_then(times)
    {
        return Problem::BytesRate { bits: Rate::from_bits_per_second(bits).to_string() };
    }
    if wanted.accepts(Kind::Size)
        && let Some(bits) = Unit::bits(name).and_then(times)
    {
        return Problem::Bits { bytes: Bytes::new(bits.div_ceil(8)).to_string() };
    }
    Problem::UnknownUnit { unit: shorten(name), wanted, meant: Unit::meant(name, wanted) }
}

/// How many bytes of `text` are a decimal number: digits, an optional fraction, an optional exponent.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if end == 0 {
        return None;
    }
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        end += if fraction > 0 { 1 + fraction } else { 0 };
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    Some(end)
}

impl Number<'_> {
    fn error(&self, problem: Problem) -> QuantityError {
        QuantityError::new(self.text, problem)
    }

    /// The number times the unit's size, computed in integers.
    fn times(&self, unit: Unit, whole: Whole) -> Result<u64, QuantityError> {
        let (mantissa, exponent) = self.digits.split_once(['e', 'E']).unwrap_or((self.digits, "0"));
        let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: String = [before, after].concat();
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Ok(0);
        }
        // An exponent beyond four digits cannot be meant: only its sign matters then.
        let beyond = if exponent.starts_with('-') { -9_999 } else { 9_999 };
        let mut exponent = exponent.parse::<i64>().map_or(beyond, |exponent| exponent.clamp(-9_999, 9_999));
        exponent = exponent.saturating_sub_unsigned(after.len() as u64);
        // 25 digits and the largest unit fit in 128 bits; digits beyond them can only decide whether it is whole.
        let (kept, beyond) = digits.split_at(digits.len().min(25));
        exponent = exponent.saturating_add_unsigned(beyond.len() as u64);
        let lost = beyond.bytes().any(|digit| digit != b'0');
        let kept = kept.bytes().fold(0u128, |value, digit| value * 10 + u128::from(digit - b'0'));
        let scaled = kept * u128::from(unit.size);

        let power = u32::try_from(exponent.unsigned_abs()).ok().and_then(|power| 10u128.checked_pow(power));
        let (value, up, rest) = match power {
            Some(power) if exponent >= 0 => {
                (scaled.checked_mul(power).ok_or_else(|| self.error(Problem::TooLarge))?, false, false)
            }
            Some(power) => (scaled / power, scaled % power >= power.div_ceil(2), scaled % power != 0),
            None if exponent >= 0 => return Err(self.error(Problem::TooLarge)),
            None => (0, false, true),
        };
        match whole {
            Whole::Exactly(unit) if rest || lost => Err(self.error(Problem::NotWhole(unit))),
            _ => u64::try_from(value + u128::from(up)).map_err(|_| self.error(Problem::TooLarge)),
        }
    }
}

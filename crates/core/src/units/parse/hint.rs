//! What to write for a number without a unit, or with a neighbour's: the same magnitude, in the unit that is meant there.

use super::unit::Kind;
use super::{bytes, rate, span};

/// What a bare number counts at a place, where that is not what its kind suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usual {
    /// Durations, starts: seconds, where delays are milliseconds.
    Seconds,
    /// Packets and parts of them: bytes, where buffers are kilobytes.
    PacketBytes,
    /// Windows: packets, where buffers may be either.
    Packets,
}

/// From here on a bare rate or size is in base units: nobody writes 1000 and means Mbit/s.
const BASE_UNITS: f64 = 1000.0;
/// A window of more packets than this is one of bytes.
const BYTES_OF_WINDOW: f64 = 10_000.0;

/// What to write for `number`, in quotes, perhaps two ways; an example of the kind where nothing of that size can be.
pub(super) fn of_number(number: &str, wanted: Kind, usual: Option<Usual>) -> String {
    let ways = ways(number, number, wanted, usual);
    if ways.is_empty() {
        return wanted.example();
    }
    quoted(&ways)
}

/// Each in quotes, one or the other.
pub(super) fn quoted(ways: &[String]) -> String {
    ways.iter().map(|way| format!("\"{way}\"")).collect::<Vec<_>>().join(" or ")
}

/// A quantity whose number is cut short by a comma, `1,000 packets` or `10,5 ms`, as it may be meant: the comma parts
/// thousands, or is a decimal point.
pub(super) fn without_comma(text: &str, wanted: Kind) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" "); // a hint is one line
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let groups: Vec<&str> = number.split(',').collect();
    if groups.len() == 1 {
        return Vec::new(); // the comma is behind a decimal point: what is left would be the same
    }
    let thousands = (1..=3).contains(&groups[0].len()) && groups[1..].iter().all(|group| group.len() == 3);
    let whole = thousands.then(|| format!("{}{unit}", groups.concat()));
    let point = match groups[..] {
        [before, after] if after.contains(|c| ('1'..='9').contains(&c)) => {
            Some(format!("{before}.{after}{unit}"))
        }
        _ => None,
    };
    [whole, point].into_iter().flatten().filter(|text| parses(text, wanted)).collect()
}

/// The same for a range, both ends in the unit that its high end suggests.
pub(super) fn of_range(low: &str, high: &str, wanted: Kind, usual: Option<Usual>) -> String {
    let ends = (ways(low, high, wanted, usual), ways(high, high, wanted, usual));
    match (ends.0.first(), ends.1.first()) {
        (Some(low), Some(high)) => format!("\"{low} .. {high}\""),
        _ => wanted.example(),
    }
}

/// `number` with a unit, most likely first, where it is as `like` counts.
fn ways(number: &str, like: &str, wanted: Kind, usual: Option<Usual>) -> Vec<String> {
    let number = number.strip_suffix(".0").unwrap_or(number); // TOML's 10.0 and 1e1
    let size: f64 = like.parse().unwrap_or(f64::NAN);
    let is_whole = size.fract() == 0.0;
    let as_is = |unit: &str| Some(format!("{number} {unit}"));
    let base = size >= BASE_UNITS;
    let in_bytes = || match bytes(&format!("{number} B")) {
        Ok(bytes) if base => Some(bytes.to_string()),
        _ if base => None,
        _ => as_is("KB"),
    };
    let packets = || if size == 1.0 { as_is("packet") } else { as_is("packets") };
    let ways = match wanted {
        Kind::Rate if base => [rate(&format!("{number} bit/s")).ok().map(|rate| rate.to_string()), None],
        Kind::Rate => [as_is("Mbit/s").filter(|text| rate(text).is_ok()), None],
        Kind::Time if usual == Some(Usual::Seconds) => [as_is("s"), None],
        Kind::Time if size > 0.0 && size < 1.0 => {
            [span(&format!("{number} s")).ok().map(|span| span.to_string()), None]
        }
        Kind::Time => [as_is("ms"), None],
        Kind::Size if usual == Some(Usual::PacketBytes) => [as_is("B"), None],
        Kind::Size => [in_bytes(), None],
        Kind::Packets => [packets(), None],
        Kind::Bdp => [as_is("BDP"), None],
        Kind::Buffer if usual == Some(Usual::Packets) && is_whole && size < BYTES_OF_WINDOW => {
            [packets(), None]
        }
        Kind::Buffer if size > 0.0 && size < 1.0 => [as_is("BDP"), None],
        Kind::Buffer if is_whole => [in_bytes(), packets()],
        Kind::Buffer => [in_bytes(), as_is("BDP")],
    };
    ways.into_iter().flatten().filter(|text| parses(text, wanted)).collect()
}

/// Whether the advice itself would be taken.
fn parses(text: &str, wanted: Kind) -> bool {
    match wanted {
        Kind::Rate => rate(text).is_ok(),
        Kind::Time => span(text).is_ok(),
        Kind::Size => bytes(text).is_ok(),
        Kind::Packets | Kind::Bdp | Kind::Buffer => super::buffer(text).is_ok(),
    }
}

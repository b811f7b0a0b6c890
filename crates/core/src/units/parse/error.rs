//! What is wrong with a text that should be a quantity, and what to write instead.

use super::hint::{self, Usual};
use super::unit::Kind;
use std::fmt;

/// Why a text is not the quantity that was asked for: one line that says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError {
    /// The text as given, cut short if it is long.
    text: String,
    problem: Problem,
    usual: Option<Usual>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    NoNumber(Kind),
    NoUnit {
        number: String,
        wanted: Kind,
    },
    /// A range of which neither end has one.
    NoUnits {
        low: String,
        high: String,
        wanted: Kind,
    },
    /// A range of which one end has one.
    HalfUnit {
        instead: String,
    },
    /// Bytes a second, and what that is in bit/s.
    BytesRate {
        bits: String,
    },
    /// An amount in bits, and what that is in bytes.
    Bits {
        bytes: String,
    },
    /// A comma in the number, and the number as it may be meant, perhaps two ways.
    Comma {
        instead: Vec<String>,
    },
    /// A unit that is a multiple of one that there is, and what that is in it.
    LargeUnit {
        unit: String,
        instead: String,
    },
    UnknownUnit {
        unit: String,
        wanted: Kind,
        meant: Option<&'static str>,
    },
    WrongKind {
        is: Kind,
        wanted: Kind,
    },
    Negative,
    ZeroRate,
    TooLarge,
    NotWhole(&'static str),
    Backwards,
}

impl QuantityError {
    pub(super) fn new(text: &str, problem: Problem) -> Self {
        QuantityError { text: shorten(text.trim()), problem, usual: None }
    }

    /// The same, with the advice that suits a place where this is what bare numbers count.
    ///
    /// ```
    /// # use paceline_core::units::parse::{self, Usual};
    /// let wrong = parse::span("10").unwrap_err().with_usual(Usual::Seconds);
    /// assert!(wrong.to_string().contains("10 s"));
    /// ```
    pub fn with_usual(self, usual: Usual) -> Self {
        QuantityError { usual: Some(usual), ..self }
    }

    /// The number that stands alone.
    pub(super) fn bare_number(&self) -> Option<(&str, Kind)> {
        match &self.problem {
            Problem::NoUnit { number, wanted } => Some((number, *wanted)),
            _ => None,
        }
    }
}

impl std::error::Error for QuantityError {}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ", self.text)?;
        match &self.problem {
            Problem::NoNumber(wanted) => {
                write!(f, "does not begin with a number; write for example {}", wanted.example())
            }
            Problem::NoUnit { number, wanted } => {
                write!(f, "has no unit; write for example {}", hint::of_number(number, *wanted, self.usual))
            }
            Problem::NoUnits { low, high, wanted } => {
                write!(f, "has no unit; write for example {}", hint::of_range(low, high, *wanted, self.usual))
            }
            Problem::HalfUnit { instead } => {
                write!(f, "has a unit at one end only; write for example {instead:?}")
            }
            Problem::BytesRate { bits } => {
                write!(f, "is in bytes, and rates are in bits, eight to a byte; write {bits:?}")
            }
            Problem::Bits { bytes } => {
                write!(f, "is in bits, and sizes are in bytes, of eight bits each; write {bytes:?}")
            }
            Problem::Comma { instead } => write!(f, "has a comma; write {}", hint::quoted(instead)),
            Problem::LargeUnit { unit, instead } => {
                write!(f, "has an unknown unit {unit:?}; write {instead:?}")
            }
            Problem::UnknownUnit { unit, meant: Some(meant), .. } => {
                write!(f, "has an unknown unit {unit:?}; did you mean {meant:?}?")
            }
            Problem::UnknownUnit { unit, wanted, meant: None } => {
                write!(f, "has an unknown unit {unit:?}; write for example {}", wanted.example())
            }
            Problem::WrongKind { is, wanted } => {
                write!(f, "is {}, not {}; write for example {}", is.noun(), wanted.noun(), wanted.example())
            }
            Problem::Negative => f.write_str("is negative; write a number that is not below 0"),
            Problem::ZeroRate => f.write_str("is no rate at all; write at least \"1 bit/s\""),
            Problem::TooLarge => f.write_str("is too large: it does not fit in 64 bits of the smallest unit"),
            Problem::NotWhole(unit) => write!(f, "is not a whole number of {unit}; write one that is"),
            Problem::Backwards => {
                f.write_str("is not a range; write the lesser value first, both in units of one kind")
            }
        }
    }
}

/// As much of a text as fits a message.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

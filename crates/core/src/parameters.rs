//! The parameters of pacers and queue disciplines as scenarios write them: what each is called, what it measures, and what is wrong with it.

mod closest;

use std::array::from_fn;
use std::fmt;

use crate::queue::{CLASSES, Limit};
use crate::units::parse::{self, BufferSize, QuantityError};
use crate::units::{Rate, Span};

pub use closest::closest;

/// A parameter of a method: what its row in the documentation says, and what its reader accepts.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it measures.
    pub kind: Kind,
    /// What is taken if it is left out; `None` if it must be given.
    pub default: Option<&'static str>,
    /// What it means, in a line.
    pub doc: &'static str,
}

/// What a parameter measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A rate, `"100 Mbit/s"`.
    Rate,
    /// A time, `"10 ms"`.
    Span,
    /// An amount of data, `"5 KB"`.
    Bytes,
    /// An amount of data or a number of packets.
    Buffer,
    /// A bare number above 0, 1 at most.
    Fraction,
    /// A bare whole number, a million at most.
    Count,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these for all classes of packets, or a list of them by class.
    ByClass(&'static Kind),
}

impl Kind {
    /// What to write, for example.
    ///
    /// ```
    /// # use paceline_core::parameters::Kind;
    /// assert_eq!(Kind::Span.example(), "\"10 ms\"");
    /// ```
    pub fn example(self) -> &'static str {
        match self {
            Kind::Rate => "\"100 Mbit/s\"",
            Kind::Span => "\"10 ms\"",
            Kind::Bytes => "\"5 KB\"",
            Kind::Buffer => "\"5 KB\" or \"5 packets\"",
            Kind::Fraction => "0.8",
            Kind::Count => "4",
            Kind::Choice(_) => "one of the words that it knows",
            Kind::ByClass(one) => one.example(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Rate => f.write_str("rate"),
            Kind::Span => f.write_str("time"),
            Kind::Bytes => f.write_str("bytes"),
            Kind::Buffer => f.write_str("bytes or packets"),
            Kind::Fraction => f.write_str("number in (0, 1]"),
            Kind::Count => f.write_str("whole number"),
            Kind::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                f.write_str(&words.join(" or "))
            }
            Kind::ByClass(one) => write!(f, "{one}; or a list by class, the last for those after it"),
        }
    }
}

impl Parameter {
    pub(crate) fn table_row(&self) -> String {
        let default = self.default.unwrap_or("");
        format!("| | `{}` | {} | {} | {default} |\n", self.name, self.doc, self.kind)
    }
}

/// What a scenario says of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    Text(String),
    /// A bare number.
    Number(f64),
    /// Several.
    List(Vec<Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Number(number) => number.fmt(f),
            Value::List(values) => {
                let values: Vec<String> = values.iter().map(Value::to_string).collect();
                write!(f, "[{}]", values.join(", "))
            }
        }
    }
}

/// Reads one of a list: its name, what is said of each parameter, the link's rate. [`crate::pacer::parse`], [`crate::queue::parse`].
pub type Parse<T> = fn(&str, &mut dyn FnMut(&str) -> Option<Value>, Rate) -> Result<T, ParameterError>;

/// What is wrong with a method or its parameters, in one line.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterError {
    /// There is nothing of that name.
    Unknown {
        /// What it should be: `pacer`, `queue discipline`.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The one that it resembles.
        meant: Option<&'static str>,
        /// All that there are.
        known: Vec<&'static str>,
    },
    /// The method has no such parameter.
    UnknownKey {
        /// The method.
        method: String,
        /// The key as given.
        key: String,
        /// The parameter that it resembles.
        meant: Option<&'static str>,
        /// All that it has.
        known: Vec<&'static str>,
    },
    /// A parameter that must be given is not.
    Missing {
        /// The method.
        method: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What to write, for example.
        example: &'static str,
    },
    /// None of the sets of parameters that would do is given.
    Incomplete {
        /// The method.
        method: &'static str,
        /// The sets, as words.
        needs: &'static str,
    },
    /// A parameter is not the quantity that it should be.
    Quantity {
        /// The method.
        method: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What is wrong with it.
        error: QuantityError,
    },
    /// A parameter is impossible, by itself or beside the others.
    Impossible {
        /// The method.
        method: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
}

impl ParameterError {
    /// The parameter that is wrong, if it is one.
    ///
    /// ```
    /// # use paceline_core::{Rate, pacer};
    /// let missing = pacer::parse("edge", &mut |_| None, Rate::from_bits_per_second(1_000)).unwrap_err();
    /// assert_eq!(missing.parameter(), Some("delay"));
    /// ```
    pub fn parameter(&self) -> Option<&str> {
        match self {
            ParameterError::Unknown { .. } | ParameterError::Incomplete { .. } => None,
            ParameterError::UnknownKey { key, .. } => Some(key),
            ParameterError::Missing { parameter, .. }
            | ParameterError::Quantity { parameter, .. }
            | ParameterError::Impossible { parameter, .. } => Some(parameter),
        }
    }

    pub(crate) fn unknown(what: &'static str, name: &str, known: Vec<&'static str>) -> Self {
        let meant = closest(name, known.iter().copied());
        ParameterError::Unknown { what, name: name.to_owned(), meant, known }
    }

    pub(crate) fn unknown_key(method: &str, key: &str, parameters: &'static [Parameter]) -> Self {
        let known: Vec<&'static str> = parameters.iter().map(|parameter| parameter.name).collect();
        let meant = closest(key, known.iter().copied());
        ParameterError::UnknownKey { method: method.to_owned(), key: key.to_owned(), meant, known }
    }
}

impl std::error::Error for ParameterError {}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Unknown { what, name, meant: Some(meant), .. } => {
                write!(f, "there is no {what} {name:?}; did you mean {meant:?}?")
            }
            ParameterError::Unknown { what, name, meant: None, known } => {
                write!(f, "there is no {what} {name:?}; there are {}", known.join(", "))
            }
            ParameterError::UnknownKey { method, key, meant: Some(meant), .. } => {
                write!(f, "{method} has no parameter {key:?}; did you mean {meant:?}?")
            }
            ParameterError::UnknownKey { method, key, meant: None, known } if known.is_empty() => {
                write!(f, "{method} has no parameter {key:?}; it has none")
            }
            ParameterError::UnknownKey { method, key, meant: None, known } => {
                write!(f, "{method} has no parameter {key:?}; it has {}", known.join(", "))
            }
            ParameterError::Missing { method, parameter, example } => {
                write!(f, "{method} needs {parameter:?}; write for example {parameter} = {example}")
            }
            ParameterError::Incomplete { method, needs } => write!(f, "{method} needs {needs}"),
            ParameterError::Quantity { parameter, error, .. } => write!(f, "{parameter}: {error}"),
            ParameterError::Impossible { parameter, problem, .. } => write!(f, "{parameter}: {problem}"),
        }
    }
}

/// The most that a [`Kind::Count`] may be.
const MOST_COUNT: u64 = 1_000_000;

/// Reads the parameters of one method.
pub(crate) struct Reader<'a> {
    method: &'static str,
    values: &'a mut dyn FnMut(&str) -> Option<Value>,
    link_rate: Rate,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        method: &'static str,
        values: &'a mut dyn FnMut(&str) -> Option<Value>,
        link_rate: Rate,
    ) -> Self {
        Reader { method, values, link_rate }
    }

    /// Rate of the link that is paced.
    pub(crate) fn link_rate(&self) -> Rate {
        self.link_rate
    }

    pub(crate) fn given(&mut self, parameter: &str) -> bool {
        (self.values)(parameter).is_some()
    }

    pub(crate) fn rate(&mut self, parameter: &'static str) -> Result<Rate, ParameterError> {
        self.quantity(parameter, Kind::Rate, parse::rate)
    }

    pub(crate) fn span(&mut self, parameter: &'static str) -> Result<Span, ParameterError> {
        self.quantity(parameter, Kind::Span, parse::span)
    }

    pub(crate) fn bytes(&mut self, parameter: &'static str) -> Result<u64, ParameterError> {
        self.quantity(parameter, Kind::Bytes, parse::bytes).map(|bytes| bytes.count())
    }

    pub(crate) fn buffer(&mut self, parameter: &'static str) -> Result<Limit, ParameterError> {
        match self.quantity(parameter, Kind::Buffer, parse::buffer)? {
            BufferSize::Bytes(bytes) => Ok(Limit::Bytes(bytes.count())),
            BufferSize::Packets(packets) => Ok(Limit::Packets(packets)),
            BufferSize::Bdp(_) => {
                Err(self.impossible(parameter, "a pacer knows no round-trip time; write bytes or packets"))
            }
        }
    }

    /// A time, or the default.
    pub(crate) fn span_or(&mut self, parameter: &'static str, default: Span) -> Result<Span, ParameterError> {
        if self.given(parameter) { self.span(parameter) } else { Ok(default) }
    }

    /// Bytes, or the default.
    pub(crate) fn bytes_or(&mut self, parameter: &'static str, default: u64) -> Result<u64, ParameterError> {
        if self.given(parameter) { self.bytes(parameter) } else { Ok(default) }
    }

    /// A number in (0, 1].
    pub(crate) fn fraction(&mut self, parameter: &'static str) -> Result<f64, ParameterError> {
        let value = self.needed(parameter, Kind::Fraction)?;
        let number = match &value {
            Value::Number(number) => Some(*number),
            Value::Text(text) => text.trim().parse().ok(),
            Value::List(_) => None,
        };
        match number {
            Some(number) if number > 0.0 && number <= 1.0 => Ok(number),
            _ => {
                let problem = format!("{value} is not a number above 0 and at most 1; write for example 0.8");
                Err(self.impossible(parameter, problem))
            }
        }
    }

    /// A whole number, a million at most.
    pub(crate) fn count(&mut self, parameter: &'static str) -> Result<u64, ParameterError> {
        let value = self.needed(parameter, Kind::Count)?;
        let number = match &value {
            Value::Number(number) if number.fract() == 0.0 && *number >= 0.0 => Some(*number as u64),
            Value::Number(_) | Value::List(_) => None,
            Value::Text(text) => text.trim().parse().ok(),
        };
        let problem = || format!("{value} is no whole number of at most {MOST_COUNT}; write for example 4");
        number.filter(|number| *number <= MOST_COUNT).ok_or_else(|| self.impossible(parameter, problem()))
    }

    /// One of `words`, `default` if it is left out: its position.
    pub(crate) fn choice(
        &mut self,
        parameter: &'static str,
        words: &'static [&'static str],
        default: usize,
    ) -> Result<usize, ParameterError> {
        let Some(value) = (self.values)(parameter) else { return Ok(default) };
        let found = match &value {
            Value::Text(text) => words.iter().position(|word| word == text),
            Value::Number(_) | Value::List(_) => None,
        };
        let problem = || format!("{value} is none of its values; write {}", Kind::Choice(words));
        found.ok_or_else(|| self.impossible(parameter, problem()))
    }

    /// By class of packets: one value for all, or a list from class 0 on, whose last is that of the classes after it.
    pub(crate) fn by_class<T: Copy>(
        &mut self,
        parameter: &'static str,
        read: fn(&mut Reader<'_>, &'static str) -> Result<T, ParameterError>,
    ) -> Result<[T; CLASSES], ParameterError> {
        let values = match (self.values)(parameter) {
            Some(Value::List(values)) => values,
            one => one.into_iter().collect(),
        };
        let one = |value: &Value| {
            let mut alone = |_: &str| Some(value.clone());
            read(&mut Reader::new(self.method, &mut alone, self.link_rate), parameter)
        };
        let read: Vec<T> = values.iter().map(one).collect::<Result<_, _>>()?;
        let (Some(last), true) = (read.last(), read.len() <= CLASSES) else {
            let problem = format!("{} values are not one for each class; write 1 to {CLASSES}", read.len());
            return Err(self.impossible(parameter, problem));
        };
        Ok(from_fn(|class| *read.get(class).unwrap_or(last)))
    }

    pub(crate) fn impossible(&self, parameter: &'static str, problem: impl Into<String>) -> ParameterError {
        ParameterError::Impossible { method: self.method, parameter, problem: problem.into() }
    }

    pub(crate) fn incomplete(&self, needs: &'static str) -> ParameterError {
        ParameterError::Incomplete { method: self.method, needs }
    }

    fn needed(&mut self, parameter: &'static str, kind: Kind) -> Result<Value, ParameterError> {
        let missing = ParameterError::Missing { method: self.method, parameter, example: kind.example() };
        (self.values)(parameter).ok_or(missing)
    }

    fn quantity<T>(
        &mut self,
        parameter: &'static str,
        kind: Kind,
        parse: fn(&str) -> Result<T, QuantityError>,
    ) -> Result<T, ParameterError> {
        let text = match self.needed(parameter, kind)? {
            Value::Text(text) => text,
            Value::Number(number) => number.to_string(), // the parser says which unit to write
            list @ Value::List(_) => {
                return Err(self.impossible(parameter, format!("{list} is a list; write {}", kind.example())));
            }
        };
        parse(&text).map_err(|error| ParameterError::Quantity { method: self.method, parameter, error })
    }
}

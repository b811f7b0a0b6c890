//! Sizes and times that are drawn, as a scenario writes them: `"10 KB"`, `{ pareto = { mean = "100 KB", shape = 1.2 } }`,
//! `{ exponential = "100 ms" }`, `{ uniform = "1 KB .. 3 KB" }`.

use paceline_core::units::parse::{Quantity, Range};
use paceline_core::{Bytes, Span};
use serde_json::Value;

use super::distribution::{Distribution, MOST_BYTES};
use crate::input::keys::{Key, Kind, Way, key, needed};
use crate::input::{Field, Result, Table};

/// A table has one of the keys.
fn one_each(keys: &[Key]) -> Vec<Way> {
    keys.iter().map(|key| Way::of(vec![*key])).collect()
}

/// A Pareto shape beyond this is no tail any more.
const STEEPEST: f64 = 1000.0;

/// The distributions, of quantities of a kind.
macro_rules! drawn {
    ($one:expr, $range:expr) => {
        [
            needed("fixed", $one, "always the same"),
            needed("uniform", $range, "evenly from the least to the greatest"),
            needed(
                "exponential",
                Kind::Either(&[$one, Kind::Table("", &[needed("mean", $one, "of the distribution")])]),
                "exponential with this mean",
            ),
            needed(
                "pareto",
                Kind::Ways("", || {
                    let of = |key| Way::of(vec![key, needed("shape", Kind::Number(0.0, STEEPEST), SHAPE)]);
                    vec![
                        of(needed("mean", $one, "of the distribution")),
                        of(needed("min", $one, "the least of the distribution")),
                    ]
                }),
                "with a tail that falls as a power",
            ),
        ]
    };
}
const SHAPE: &str = "of the tail: the lower, the longer; above 1 where there is a mean";

/// A size, or how sizes are drawn.
pub(crate) const SIZES: Kind = Kind::Either(&[
    Kind::Bytes,
    Kind::Ways("drawn-sizes", || {
        const KEYS: [Key; 4] = drawn!(Kind::Bytes, Kind::ByteRange);
        one_each(&KEYS)
    }),
]);
/// A time, or how times are drawn.
pub(crate) const TIMES: Kind = Kind::Either(&[
    Kind::Time,
    Kind::Ways("drawn-times", || {
        const KEYS: [Key; 4] = drawn!(Kind::Time, Kind::Times);
        one_each(&KEYS)
    }),
]);
/// The keys themselves, whatever is drawn.
const KEYS: [Key; 4] = drawn!(Kind::Any, Kind::Any);

/// What is drawn.
struct What {
    /// `size` or `time`, for errors.
    noun: &'static str,
    /// What one would write.
    example: &'static str,
    /// Zero may be.
    may_be_zero: bool,
    /// Something is computed from the mean: there must be one.
    needs_mean: bool,
}

impl Distribution {
    /// `think`, seconds: none unless given.
    pub(super) fn think(table: &Table<'_>) -> Result<Self> {
        Ok(table.optional("think", Field::times)?.unwrap_or(Distribution::Fixed(0.0)))
    }
}

impl Field<'_> {
    /// Sizes in bytes, at least one.
    pub(crate) fn sizes(&self) -> Result<Distribution> {
        let what = What { noun: "size", example: "10 KB", may_be_zero: false, needs_mean: false };
        let sizes = distribution(self, &what, |bytes: Bytes| bytes.count() as f64)?;
        let least = match sizes {
            Distribution::Fixed(size) | Distribution::Uniform { high: size, .. } => size,
            Distribution::Exponential { mean } => mean,
            Distribution::Pareto { minimum, .. } => minimum,
        };
        if least > MOST_BYTES {
            return Err(self.refused("is more than 1000 GB; write less"));
        }
        Ok(sizes)
    }

    /// Times in seconds; zero may be.
    pub(crate) fn times(&self) -> Result<Distribution> {
        let what = What { noun: "time", example: "100 ms", may_be_zero: true, needs_mean: false };
        distribution(self, &what, Span::as_seconds)
    }

    /// Times in seconds that have a mean; zero may be if `may_be_zero`.
    pub(crate) fn times_with_mean(&self, may_be_zero: bool) -> Result<Distribution> {
        let what = What { noun: "time", example: "100 ms", may_be_zero, needs_mean: true };
        distribution(self, &what, Span::as_seconds)
    }
}

fn distribution<T: Quantity>(field: &Field<'_>, what: &What, number: fn(T) -> f64) -> Result<Distribution> {
    let example = what.example;
    match field.value() {
        Value::Object(_) => {}
        Value::String(text) if text.contains("..") => {
            return Err(field.refused(format!(
                "would be drawn once; write {{ uniform = {text:?} }} to draw each time, or one {}",
                what.noun
            )));
        }
        _ => return quantity(field, what, number).map(Distribution::Fixed),
    }
    let table = field.table(&KEYS)?;
    let kinds = KEYS.map(|key| key.name);
    let mut given = kinds.into_iter().filter_map(|key| table.get(key));
    let Some(inner) = given.next() else {
        if let Some(slip) = kinds.iter().find_map(|key| table.slip_of(key)) {
            return Err(slip);
        }
        return Err(
            field.wrong(format!("an empty table; write for example {{ exponential = \"{example}\" }}"))
        );
    };
    if given.next().is_some() {
        return Err(field.wrong("more than one distribution; write one of them"));
    }
    if let Some(fixed) = table.get("fixed") {
        return quantity(&fixed, what, number).map(Distribution::Fixed);
    }
    if let Some(uniform) = table.get("uniform") {
        let Range { low, high } = uniform.range_of::<T>()?;
        let (low, high) = (number(low), number(high));
        if high == 0.0 || (low == 0.0 && !what.may_be_zero) {
            return Err(uniform.refused(format!("begins with no {} at all; write more", what.noun)));
        }
        return Ok(Distribution::Uniform { low, high });
    }
    if let Some(exponential) = table.get("exponential") {
        let positive = What { may_be_zero: false, ..*what };
        let mean = match exponential.value() {
            Value::Object(_) => {
                let inner = exponential.table(&[needed("mean", Kind::Any, "")])?;
                quantity(&inner.required("mean", &format!("\"{example}\""))?, &positive, number)?
            }
            _ => quantity(&exponential, &positive, number)?,
        };
        return Ok(Distribution::Exponential { mean });
    }
    pareto(&inner, what, number)
}

/// Of which a table has `shape` and one of the others.
const PARETO_KEYS: [Key; 3] =
    [key("mean", Kind::Any, ""), key("min", Kind::Any, ""), needed("shape", Kind::Any, SHAPE)];

/// `{ mean, shape }` or `{ min, shape }`.
fn pareto<T: Quantity>(field: &Field<'_>, what: &What, number: fn(T) -> f64) -> Result<Distribution> {
    let table: Table<'_> = field.table(&PARETO_KEYS)?;
    let positive = What { may_be_zero: false, ..*what };
    let shape_field = table.required("shape", "1.2")?;
    let shape = shape_field.number("a shape", 0.0, STEEPEST)?;
    let (mean, minimum) = (table.get("mean"), table.get("min"));
    if shape == 0.0 {
        return Err(shape_field.refused("is no tail at all; write more, for example 1.2"));
    }
    if shape <= 1.0 && (mean.is_some() || what.needs_mean) {
        return Err(shape_field
            .refused("has an infinite mean, and one is needed; write more than 1, for example 1.2"));
    }
    match (mean, minimum) {
        (Some(mean), None) => Ok(Distribution::pareto(quantity(&mean, &positive, number)?, shape)),
        (None, Some(minimum)) => {
            Ok(Distribution::Pareto { minimum: quantity(&minimum, &positive, number)?, shape })
        }
        (Some(_), Some(_)) => {
            Err(field.wrong("both mean and min, of which one gives the other; write one of them"))
        }
        (None, None) => {
            Err(field
                .wrong(format!("no mean; write for example {{ mean = \"{}\", shape = 1.2 }}", what.example)))
        }
    }
}

fn quantity<T: Quantity>(field: &Field<'_>, what: &What, number: fn(T) -> f64) -> Result<f64> {
    let value = number(field.one_of::<T>()?);
    if value == 0.0 && !what.may_be_zero {
        return Err(
            field.refused(format!("is no {} at all; write for example \"{}\"", what.noun, what.example))
        );
    }
    Ok(value)
}

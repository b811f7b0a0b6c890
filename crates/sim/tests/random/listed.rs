//! One of a list of `core`, pacers or queue disciplines, with parameters drawn from what the list says of them: one that joins its list
//! is drawn here without another line.

use paceline_core::Rate;
use paceline_core::parameters::{Kind, Parameter, Parse, Value};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

/// A name and its parameters.
type Row = (&'static str, &'static [Parameter]);
/// A name, and the text of each parameter that is given.
pub(crate) type Drawn = (&'static str, Vec<(&'static str, String)>);

/// Rates of links in random networks, bit/s, from the least on.
const RATES: [u64; 5] = [1_000_000, 2_000_000, 7_301_000, 16_000_000, 40_000_000];

/// One of the rows, each as likely, legal on links of every rate.
pub(crate) fn listed<T: 'static>(
    rows: impl Iterator<Item = Row>,
    parse: Parse<T>,
) -> impl Strategy<Value = Drawn> {
    Union::new(rows.map(|(name, parameters)| {
        let values: Vec<_> = parameters.iter().map(|one| prop::option::of(value(one.kind))).collect();
        let drawn = values.prop_map(move |values| {
            let given = parameters.iter().zip(values).filter_map(|(one, text)| Some((one.name, text?)));
            (name, given.collect::<Vec<_>>())
        });
        drawn.prop_filter("legal together", move |(name, given)| {
            let mut value = |key: &str| {
                let text = given.iter().find(|(name, _)| *name == key).map(|(_, text)| text);
                text.map(|text| value_of(text))
            };
            RATES.into_iter().all(|rate| parse(name, &mut value, Rate::from_bits_per_second(rate)).is_ok())
        })
    }))
}

fn value(kind: Kind) -> BoxedStrategy<String> {
    match kind {
        Kind::Rate => (1..10_u32).prop_map(|rate| format!("{rate}00 kbit/s")).boxed(),
        Kind::Span => (0..30_u32).prop_map(|time| format!("{time} ms")).boxed(),
        Kind::Bytes => (2..9_u32).prop_map(|size| format!("{size} KB")).boxed(),
        Kind::Buffer => (1..30_u32).prop_map(|packets| format!("{packets} packets")).boxed(),
        Kind::Fraction => (1..10_u32).prop_map(|tenths| format!("0.{tenths}")).boxed(),
        Kind::Count => (0..100_u32).prop_map(|count| count.to_string()).boxed(),
        Kind::Choice(words) => select(words).prop_map(str::to_owned).boxed(),
        Kind::ByClass(one) => {
            prop::collection::vec(value(*one), 1..=3).prop_map(|values| values.join(",")).boxed()
        }
    }
}

/// What a text stands for: a list where it has commas.
fn value_of(text: &str) -> Value {
    match text.contains(',') {
        true => Value::List(text.split(',').map(value_of).collect()),
        false => text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Number),
    }
}

/// `key = "value"`, a bare number without quotes; a list without a space.
pub(crate) fn written((key, text): &(&'static str, String)) -> String {
    if text.contains(',') {
        return format!("{key} = [\"{}\"]", text.replace(',', "\",\""));
    }
    let is_number = text.parse::<f64>().is_ok();
    if is_number { format!("{key} = {text}") } else { format!("{key} = \"{text}\"") }
}

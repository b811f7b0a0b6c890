//! A pacer or a queue discipline as a table names it: its parameters are kept as they are written until the link's rate is known.

use paceline_core::Rate;
use paceline_core::parameters::{ParameterError, Parse, Value as Parameter};
use serde_json::Value;

use crate::input::{Result, ScenarioError, Table};

/// Text or a number.
fn scalar(value: &Value) -> Option<Parameter> {
    match value {
        Value::String(text) => Some(Parameter::Text(text.clone())),
        Value::Number(number) => Some(Parameter::Number(number.as_f64().unwrap_or(f64::NAN))),
        _ => None,
    }
}

/// A name of a list, with parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    /// Its name.
    pub(crate) name: String,
    /// Its parameters as they are written.
    pub(crate) parameters: Vec<(String, Parameter)>,
}

impl Named {
    /// Reads the parameters `keys` of `name`, as far as the table has them.
    pub(crate) fn read(name: &str, keys: &[&str], table: &Table<'_>) -> Result<Named> {
        let mut parameters = Vec::new();
        for key in keys {
            if let Some(field) = table.get(key) {
                let value = match field.value() {
                    Value::Array(list) => list.iter().map(scalar).collect::<Option<_>>().map(Parameter::List),
                    one => scalar(one),
                };
                let wrong = || field.refused("is neither text nor a number; write a quantity in quotes");
                parameters.push(((*key).to_owned(), value.ok_or_else(wrong)?));
            }
        }
        Ok(Named { name: name.to_owned(), parameters })
    }

    /// Notes what is wrong whatever the link is; what depends on its rate is reported when that is known.
    pub(crate) fn check<T>(&self, table: &Table<'_>, parse: Parse<T>) -> Result<()> {
        let made = self.parsed(|| table.path().to_owned(), Rate::from_bits_per_second(1_000_000_000), parse);
        table.noting(made.map_or_else(
            |error| match *error {
                (ParameterError::Quantity { .. }, error) => Err(error),
                (ParameterError::Missing { parameter, .. }, error) => {
                    Err(table.slip_of(parameter).unwrap_or(error))
                }
                _ => Ok(()),
            },
            |_| Ok(()),
        ))
    }

    /// What it is on a link of this rate; `path`, where it is written, is asked for if something is wrong.
    pub(crate) fn on_link<T>(&self, path: impl Fn() -> String, rate: Rate, parse: Parse<T>) -> Result<T> {
        self.parsed(path, rate, parse).map_err(|error| error.1)
    }

    fn parsed<T>(
        &self,
        path: impl Fn() -> String,
        rate: Rate,
        parse: Parse<T>,
    ) -> std::result::Result<T, Box<(ParameterError, ScenarioError)>> {
        let mut value_of =
            |key: &str| self.parameters.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        parse(&self.name, &mut value_of, rate).map_err(|error| {
            let path = match error.parameter() {
                Some(parameter) => format!("{}.{parameter}", path()),
                None => path(),
            };
            let problem = match &error {
                ParameterError::Missing { parameter, example, .. } => {
                    format!("missing; write for example {parameter} = {example}")
                }
                ParameterError::Quantity { parameter, error, .. } => match value_of(parameter) {
                    Some(Parameter::Number(number)) => {
                        error.to_string().replacen(&format!("\"{number}\""), &number.to_string(), 1)
                    }
                    _ => error.to_string(),
                },
                ParameterError::Impossible { problem, .. } => problem.clone(),
                other => other.to_string(),
            };
            let said = ScenarioError::at(&path, problem);
            Box::new((error, said))
        })
    }
}

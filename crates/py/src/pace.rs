//! `pace`: the data plane's command, in this process.

use std::ffi::OsString;

use paceline_core::pacer::METHODS;
use paceline_core::pacer::parameters::Kind;
use paceline_dataplane::command;
use paceline_dataplane::config::{FLAGS, Flag};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::guard::guard;

/// Runs the pacer with these arguments, called `name` in what it says: its exit code, and unless `prints` its summary, JSON,
/// where it has one that is to be shown. Releases the GIL; it is ended by SIGINT or SIGTERM, which Python does not see meanwhile.
/// Raises RunError.
#[pyfunction]
pub(crate) fn pace(
    py: Python<'_>,
    name: &str,
    arguments: Vec<OsString>,
    prints: bool,
) -> PyResult<(i32, Option<String>)> {
    guard(|| {
        Ok(py.detach(|| {
            if prints {
                return (command::run(name, arguments), None);
            }
            let mut summary = None;
            let mut keep = |shown: &Value| {
                summary = Some(shown.to_string());
                String::new()
            };
            (command::run_and_show(name, arguments, &mut keep), summary)
        }))
    })
}

/// The flags of `pace`, JSON: name, what stands for a value, help, whether the way back has one too, and the method that a
/// parameter is of.
#[pyfunction]
pub(crate) fn pace_flags() -> PyResult<String> {
    guard(|| {
        let flags = FLAGS.iter().map(|Flag { name, value, help, each_way }| {
            json!({ "name": name, "value": value, "help": help, "each_way": each_way, "method": null })
        });
        let parameters = METHODS.iter().flat_map(|row| {
            row.parameters.iter().map(|parameter| {
                json!({
                    "name": parameter.name.replace('_', "-"),
                    "value": word(parameter.kind),
                    "help": format!("{}{}", parameter.doc, default(parameter.default)),
                    "each_way": true,
                    "method": row.name,
                })
            })
        });
        Ok(Value::Array(flags.chain(parameters).collect()).to_string())
    })
}

/// What stands for a value in the help.
fn word(kind: Kind) -> String {
    match kind {
        Kind::Rate => "RATE".to_owned(),
        Kind::Span => "TIME".to_owned(),
        Kind::Bytes | Kind::Buffer => "SIZE".to_owned(),
        Kind::Fraction | Kind::Count => "NUMBER".to_owned(),
        Kind::Choice(words) => words.join("|"),
        Kind::ByClass(one) => word(*one),
    }
}

fn default(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!("  [default: {text}]"))
}

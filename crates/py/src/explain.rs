//! What TCP's options are: every profile's values and where they come from.

use paceline_tcp::options::{OPTIONS, Setting, Value, meaning_of};
use paceline_tcp::{Config, Profile};
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use crate::guard::guard;
use crate::input_error;

/// Every profile with its options, JSON: a list of `profile`, `meaning`, `options`; of an option `option`, `value`, `unit`,
/// `written` (as in a scenario), `source`, `meaning`. What does not exist is null.
#[pyfunction]
pub(crate) fn tcp_options() -> PyResult<String> {
    guard(|| {
        let profiles: Vec<Json> = Profile::ALL
            .iter()
            .map(|(name, profile)| {
                let options: Vec<Json> = OPTIONS.iter().map(|option| explained(option, *profile)).collect();
                json!({ "profile": name, "meaning": meaning_of(*profile), "options": options })
            })
            .collect();
        serde_json::to_string(&profiles).map_err(input_error)
    })
}

fn explained(option: &Setting, profile: Profile) -> Json {
    let value = option.value(&Config::new(profile));
    let number = match value {
        Value::Bytes(number) | Value::Packets(number) | Value::Count(number) => json!(number),
        Value::Time(span) => json!(span.as_seconds()),
        Value::Flag(flag) => json!(flag),
        Value::Name(name) => json!(name),
        Value::Unset(_) => Json::Null,
    };
    let plain = |text: &str| text.replace('`', ""); // Markdown's
    json!({
        "option": option.key,
        "value": number,
        "unit": (!value.unit().is_empty()).then(|| value.unit()),
        "written": plain(&value.to_string()),
        "source": plain(&option.source(profile)),
        "meaning": plain(option.meaning),
    })
}

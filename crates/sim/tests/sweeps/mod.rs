//! What a scenario sweeps.

use serde_json::Value;

/// Every combination of the values in `[sweep]`.
pub(crate) fn settings(mut file: Value) -> Vec<Value> {
    let sweep = file.as_object_mut().unwrap().remove("sweep").unwrap_or_default();
    let mut all = vec![file];
    for (path, values) in sweep.as_object().into_iter().flatten().filter(|(path, _)| *path != "seeds") {
        let with = |file: &Value| {
            values.as_array().unwrap().iter().map(|value| set(file.clone(), path, value)).collect()
        };
        all = all.iter().flat_map(|file| -> Vec<Value> { with(file) }).collect();
    }
    all
}

/// Entries of lists go by number or by name.
fn set(mut file: Value, path: &str, value: &Value) -> Value {
    let mut here = &mut file;
    for key in path.split('.') {
        here = match here {
            Value::Array(entries) => {
                let named = entries.iter().position(|entry| entry["name"] == key);
                &mut entries[named.unwrap_or_else(|| key.parse().unwrap())]
            }
            table => &mut table[key],
        };
    }
    *here = value.clone();
    file
}

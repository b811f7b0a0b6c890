//! Files that a scenario names: where they are, how fast they play.

use std::path::Path;

use crate::input::{Field, Result, ScenarioError, Table};

/// The path of a file that is there.
pub(super) fn path<'a>(field: &Field<'a>) -> Result<&'a str> {
    let path = field.text()?;
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() => Ok(path),
        Ok(_) => Err(wrong(field, path, "is no file; name one")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(field.wrong(format!("no such file: {path}; a path is relative to the scenario's folder")))
        }
        Err(error) => Err(wrong(field, path, format!("cannot be read: {error}"))),
    }
}

/// What is wrong with the file that a key names.
pub(super) fn wrong(field: &Field<'_>, path: &str, problem: impl std::fmt::Display) -> ScenarioError {
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    field.wrong(format!("{name}: {problem}"))
}

/// `speed`: how much faster than written the file plays; 1 unless given.
pub(super) fn speed(table: &Table<'_>) -> Result<f64> {
    let speed = table.optional("speed", |field| match field.number("a factor", 0.0, 1e9)? {
        0.0 => {
            Err(field.refused("would never begin; write a factor above 0, for example 2 for twice as fast"))
        }
        speed => Ok(speed),
    })?;
    Ok(speed.unwrap_or(1.0))
}

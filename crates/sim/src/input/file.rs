//! Files that a scenario names.

use std::path::Path;

use super::error::{Result, ScenarioError};
use super::reader::Field;

/// The path of a file that is there.
pub(crate) fn path<'a>(field: &Field<'a>) -> Result<&'a str> {
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
pub(crate) fn wrong(field: &Field<'_>, path: &str, problem: impl std::fmt::Display) -> ScenarioError {
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    field.wrong(format!("{name}: {problem}"))
}

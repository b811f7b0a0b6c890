//! One reader for TOML and JSON: every value knows the path that leads to it, so that errors name it.

use serde_json::{Map, Value};

use super::error::{Faults, Result, ScenarioError, shortened, shown};
use super::keys::{Key, names};
use super::suggest::suggestion;

/// Keys that a file has before its tables; written behind a table's head, TOML takes them for that table's.
const OF_THE_FILE: [&str; 5] = ["title", "duration", "warmup", "seed", "pacing"];

/// A value, and the path that leads to it.
#[derive(Debug, Clone)]
pub(crate) struct Field<'a> {
    path: String,
    value: &'a Value,
    faults: Faults,
}

/// A table whose keys are all known.
#[derive(Debug, Clone)]
pub(crate) struct Table<'a> {
    path: String,
    map: &'a Map<String, Value>,
    faults: Faults,
}

impl<'a> Field<'a> {
    /// What `read` makes of the whole file, if nothing at all is wrong with it.
    pub(crate) fn read_root<T>(value: &'a Value, read: impl FnOnce(&Field<'a>) -> Result<T>) -> Result<T> {
        let root = Field { path: String::new(), value, faults: Faults::default() };
        root.faults.unless_any(read(&root))
    }

    /// Another value in the same place.
    pub(crate) fn standing_for<'b>(&self, value: &'b Value) -> Field<'b> {
        Field { path: self.path.clone(), value, faults: self.faults.clone() }
    }

    /// From the top: `network.core.buffer`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The value as it was written.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// An error here.
    pub(crate) fn wrong(&self, problem: impl std::fmt::Display) -> ScenarioError {
        ScenarioError::at(&self.path, problem)
    }

    /// An error here that quotes the value: `5 has no unit; …`.
    pub(crate) fn refused(&self, problem: impl std::fmt::Display) -> ScenarioError {
        self.wrong(format!("{} {problem}", shown(self.value)))
    }

    /// A table with no other keys than these.
    pub(crate) fn table(&self, keys: &[Key]) -> Result<Table<'a>> {
        let table = self.open()?;
        table.only(keys)?;
        Ok(table)
    }

    /// A table whose keys depend on its contents: [`Table::only`] must follow.
    pub(crate) fn open(&self) -> Result<Table<'a>> {
        match self.value {
            Value::Object(map) => Ok(Table { path: self.path.clone(), map, faults: self.faults.clone() }),
            // [[network]] where [network] is meant
            Value::Array(tables) if !tables.is_empty() && tables.iter().all(Value::is_object) => {
                let is_header = !self.path.contains('[');
                let one = if is_header { format!("[{}]", self.path) } else { "{ key = value, … }".into() };
                Err(self.wrong(format!("a list of tables, where there is one; write {one}")))
            }
            _ => Err(self.refused("is not a table; write { key = value, … }")),
        }
    }

    /// The elements of a list.
    pub(crate) fn list(&self) -> Result<Vec<Field<'a>>> {
        match self.value {
            Value::Array(elements) => Ok(self.elements(elements)),
            // [traffic] where [[traffic]] is meant
            Value::Object(_) if !self.path.contains(['.', '[']) => {
                Err(self
                    .wrong(format!("a single table, where there may be several; write [[{}]]", self.path)))
            }
            Value::Object(_) => Err(self.refused("is not a list; write [{ … }]")),
            _ => Err(self.refused("is not a list; write [ … ]")),
        }
    }

    /// The elements of a list, or the one thing that stands in its place, under its own path.
    pub(crate) fn one_or_many(&self) -> Vec<Field<'a>> {
        match self.value {
            Value::Array(elements) => self.elements(elements),
            _ => vec![self.clone()],
        }
    }

    /// What `read` makes of each element of a list; all faults are reported.
    pub(crate) fn each<T>(&self, read: impl FnMut(&Field<'a>) -> Result<T>) -> Result<Vec<T>> {
        self.all_of(&self.list()?, read)
    }

    /// What was read here; a fault is noted, so that it is reported with all others.
    pub(crate) fn noting<T>(&self, read: Result<T>) -> Result<T> {
        self.faults.note(read)
    }

    /// What `read` makes of each of these; all faults are reported.
    pub(crate) fn all_of<T>(
        &self,
        fields: &[Field<'a>],
        read: impl FnMut(&Field<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let read: Vec<Result<T>> = fields.iter().map(read).map(|element| self.faults.note(element)).collect();
        read.into_iter().collect()
    }

    fn elements(&self, elements: &'a [Value]) -> Vec<Field<'a>> {
        let at =
            |(i, value)| Field { path: format!("{}[{i}]", self.path), value, faults: self.faults.clone() };
        elements.iter().enumerate().map(at).collect()
    }

    /// Text.
    pub(crate) fn text(&self) -> Result<&'a str> {
        match self.value {
            Value::String(text) => Ok(text),
            _ => Err(self.refused("is not text; write it in quotes")),
        }
    }

    /// A name: text that is not empty and does not hide.
    pub(crate) fn name(&self) -> Result<String> {
        let name = self.text()?;
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ' | '/' | '+');
        if name.is_empty() || name.len() > 100 || !name.chars().all(plain) || name.trim() != name {
            return Err(
                self.refused("is not a name; write up to 100 letters, digits, dots, dashes, underscores")
            );
        }
        Ok(name.to_owned())
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.refused("is neither true nor false; write true or false"))
    }

    /// A whole number in this range.
    pub(crate) fn whole(&self, least: u64, most: u64) -> Result<u64> {
        let range = || format!("write a whole number from {least} to {most}");
        let Some(number) = self.value.as_u64() else {
            return Err(match self.value {
                Value::Number(n) if n.as_f64().is_some_and(|n| n < 0.0) => {
                    self.refused(format!("is negative; {}", range()))
                }
                _ => self.refused(format!("is not a whole number; {}", range())),
            });
        };
        if number < least {
            return Err(self.refused(format!("is below {least}; {}", range())));
        }
        if number > most {
            return Err(self.refused(format!("is above {most}; {}", range())));
        }
        Ok(number)
    }

    /// A finite number from `least` to `most`, described for the error by `kind` ("a fraction", "a factor").
    pub(crate) fn number(&self, kind: &str, least: f64, most: f64) -> Result<f64> {
        let range = format!("write {kind} from {least} to {most}");
        match self.value.as_f64() {
            Some(number) if number < least => Err(self.refused(format!("is below {least}; {range}"))),
            Some(number) if number > most => Err(self.refused(format!("is above {most}; {range}"))),
            Some(number) => Ok(number),
            None => Err(self.refused(format!("is not a number; {range}"))),
        }
    }

    /// One of a list of names.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T> {
        let name = self.text()?;
        let names = || choices.iter().map(|(name, _)| *name);
        match choices.iter().find(|(choice, _)| *choice == name) {
            Some((_, value)) => Ok(*value),
            None => {
                let what = suggestion(name, names(), || format!("write {}", any_of(names())));
                Err(self.refused(format!("is unknown; {what}")))
            }
        }
    }
}

impl<'a> Table<'a> {
    /// Where the table is.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Refuses keys that are not among these.
    pub(crate) fn only(&self, keys: &[Key]) -> Result<()> {
        let keys = names(keys);
        self.only_listed(&keys, || format!("write one of: {}", keys.join(", ")))
    }

    /// The same; `all` words which there are, where none is near. Other faults are reported too.
    pub(crate) fn only_listed(&self, keys: &[&str], all: impl Fn() -> String) -> Result<()> {
        for (key, value) in self.map.iter().filter(|(key, _)| !keys.contains(&key.as_str())) {
            let is_astray =
                !self.path.is_empty() && !value.is_object() && OF_THE_FILE.contains(&key.as_str());
            let what = suggestion(key, keys.iter().copied(), || match is_astray {
                true => "it is of the whole file; write it above the first [table]".to_owned(),
                false => all(),
            });
            let unknown = ScenarioError::at(&self.path_of(key), format!("unknown key; {what}"));
            let _ = self.faults.note::<()>(Err(unknown));
        }
        Ok(())
    }

    /// What was read here; a fault is noted, so that it is reported with all others.
    pub(crate) fn noting<T>(&self, read: Result<T>) -> Result<T> {
        self.faults.note(read)
    }

    /// The value of a key, if it is there.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        self.map.get(key).map(|value| Field { path: self.path_of(key), value, faults: self.faults.clone() })
    }

    /// The value of a key that must be there; `example` is what one would write.
    pub(crate) fn required(&self, key: &str, example: &str) -> Result<Field<'a>> {
        self.get(key).ok_or_else(|| {
            self.slip_of(key).unwrap_or_else(|| {
                ScenarioError::at(&self.path_of(key), format!("missing; write for example {key} = {example}"))
            })
        })
    }

    /// The fault of an unknown key that was taken for a slip of this one.
    pub(crate) fn slip_of(&self, key: &str) -> Option<ScenarioError> {
        self.faults.slip_of(key, &self.path)
    }

    /// What `read` makes of a key that must be there. A fault is noted, so that it is reported with all others.
    pub(crate) fn needs<T>(
        &self,
        key: &str,
        example: &str,
        read: impl FnOnce(&Field<'a>) -> Result<T>,
    ) -> Result<T> {
        self.faults.note(self.required(key, example).and_then(|field| read(&field)))
    }

    /// What `read` makes of a key's value; `None` where it is left out, or wrong: then the fault is noted, and nothing runs.
    pub(crate) fn optional<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Field<'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.faults.note(self.get(key).as_ref().map(read).transpose()).unwrap_or(None))
    }

    /// The path that a key has or would have.
    pub(crate) fn path_of(&self, key: &str) -> String {
        let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let key = if bare { shortened(key) } else { shortened(&Value::from(key).to_string()) };
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }
}

/// `"a", "b" or "c"`.
pub(crate) fn any_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

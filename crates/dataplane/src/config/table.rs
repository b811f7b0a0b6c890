//! A table of settings that remembers where each came from: a file's key, or a flag.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::path::Path;

use paceline_core::pacer::parameters::{Value, closest};

use super::{ConfigError, plain};

/// Bytes that no file of settings has.
const MOST: u64 = 1 << 20;

/// Settings by the path of their key: `in`, `forward.delay`.
#[derive(Debug, Default)]
pub(super) struct Table {
    file: String,
    root: toml::Table,
    /// Paths that flags have given.
    flags: HashSet<String>,
}

impl Table {
    /// Reads a file.
    pub(super) fn load(path: &Path) -> Result<Table, ConfigError> {
        let file = path.display().to_string();
        let text = read(path).map_err(|problem| ConfigError(format!("{file}: {problem}")))?;
        Table::parse(file, &text)
    }

    /// Reads what a file says.
    pub(super) fn parse(file: String, text: &str) -> Result<Table, ConfigError> {
        let root: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line =
                error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
            let problem = error.message().lines().collect::<Vec<_>>().join(" ");
            ConfigError(format!("{file}: line {line}: {problem}"))
        })?;
        Ok(Table { file, root, flags: HashSet::new() })
    }

    /// Puts what flags say on top.
    pub(super) fn lay(&mut self, values: &[(String, String)]) {
        for (path, value) in values {
            let value = match value.as_str() {
                "true" => toml::Value::Boolean(true),
                "false" => toml::Value::Boolean(false),
                text => toml::Value::String(text.to_owned()),
            };
            self.flags.insert(path.clone());
            match path.split_once('.') {
                None => {
                    self.root.insert(path.clone(), value);
                }
                Some((direction, key)) => {
                    let entry = self.root.entry(direction).or_insert_with(|| toml::Table::new().into());
                    // a method given by a flag is another method: what the file says of its own goes
                    if key == "method"
                        && entry.get("method") != Some(&value)
                        && let Some(table) = entry.as_table_mut()
                    {
                        table.retain(|key, _| {
                            super::DIRECTION_KEYS.contains(&key)
                                || self.flags.contains(&format!("{direction}.{key}"))
                        });
                    }
                    if let Some(table) = entry.as_table_mut() {
                        table.insert(key.to_owned(), value);
                    }
                }
            }
        }
    }

    /// Refuses keys that are none of `known`.
    pub(super) fn check(&self, table: &str, known: &[&'static str]) -> Result<(), ConfigError> {
        for key in self.keys(table)? {
            if !known.contains(&key.as_str()) {
                let hint = match closest(&key, known.iter().copied()) {
                    Some(meant) => format!("there is no such key; did you mean {meant:?}?"),
                    None => format!("there is no such key; there are {}", known.join(", ")),
                };
                return Err(self.wrong(table, &key, &hint));
            }
        }
        Ok(())
    }

    /// Keys of a table; none if it is not there.
    pub(super) fn keys(&self, table: &str) -> Result<Vec<String>, ConfigError> {
        Ok(self.table(table)?.map(|table| table.keys().cloned().collect()).unwrap_or_default())
    }

    /// A text.
    pub(super) fn text(&self, table: &str, key: &str) -> Result<Option<String>, ConfigError> {
        self.quantity(table, key, |text| match text.is_empty() {
            true => Err("is empty; write a name".to_owned()),
            false => Ok(text.to_owned()),
        })
    }

    /// A truth.
    pub(super) fn boolean(&self, table: &str, key: &str) -> Result<Option<bool>, ConfigError> {
        match self.value(table, key)? {
            None => Ok(None),
            Some(toml::Value::Boolean(value)) => Ok(Some(*value)),
            Some(other) => Err(self.wrong(table, key, &format!("{other} is neither; write true or false"))),
        }
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(
        &self,
        table: &str,
        key: &str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, ConfigError> {
        self.quantity(table, key, |text| {
            let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
            found.ok_or_else(|| {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                format!("{text:?} is none of its values; write {}", words.join(" or "))
            })
        })
    }

    /// A quantity, by its parser.
    pub(super) fn quantity<T>(
        &self,
        table: &str,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        let text = match self.value(table, key)? {
            None => return Ok(None),
            Some(toml::Value::String(text)) => text.clone(),
            Some(toml::Value::Integer(number)) => number.to_string(), // the parser says which unit to write
            Some(toml::Value::Float(number)) => number.to_string(),
            Some(other) => {
                let problem = format!("is {}; write a text in quotes", article(other.type_str()));
                return Err(self.wrong(table, key, &problem));
            }
        };
        parse(&text).map(Some).map_err(|problem| self.wrong(table, key, &problem))
    }

    /// A parameter of a method.
    pub(super) fn parameter(&self, table: &str, key: &str) -> Result<Option<Value>, ConfigError> {
        match self.value(table, key)? {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(Value::Text(text.clone()))),
            Some(toml::Value::Integer(number)) => Ok(Some(Value::Number(*number as f64))),
            Some(toml::Value::Float(number)) => Ok(Some(Value::Number(*number))),
            Some(other) => {
                let problem = format!("is {}; write a quantity in quotes", article(other.type_str()));
                Err(self.wrong(table, key, &problem))
            }
        }
    }

    /// What is wrong with a key, after where it is.
    pub(super) fn wrong(&self, table: &str, key: &str, problem: &str) -> ConfigError {
        ConfigError(format!("{}{problem}", self.place(table, key)))
    }

    /// Where a key is: a flag, or a path in the file. An empty key is the table.
    pub(super) fn place(&self, table: &str, key: &str) -> String {
        let path = match (table, key) {
            ("", key) => key.to_owned(),
            (table, "") => table.to_owned(),
            (table, key) => format!("{table}.{key}"),
        };
        if self.flags.contains(&path) || self.file.is_empty() {
            let flag = path.replacen("forward.", "", 1).replacen("reverse.", "reverse-", 1).replace('_', "-");
            match (table, key) {
                ("forward", "") => "--method: ".to_owned(),
                ("reverse", "") => "--reverse-method: ".to_owned(),
                _ => format!("--{flag}: "),
            }
        } else {
            format!("{}: {path}: ", self.file)
        }
    }

    fn value(&self, table: &str, key: &str) -> Result<Option<&toml::Value>, ConfigError> {
        Ok(self.table(table)?.and_then(|table| table.get(key)))
    }

    fn table(&self, name: &str) -> Result<Option<&toml::Table>, ConfigError> {
        match (name, self.root.get(name)) {
            ("", _) => Ok(Some(&self.root)),
            (_, None) => Ok(None),
            (_, Some(toml::Value::Table(table))) => Ok(Some(table)),
            (_, Some(other)) => {
                let problem = format!("is {}; write a table, [{name}]", article(other.type_str()));
                Err(self.wrong("", name, &problem))
            }
        }
    }
}

/// What a file says. Reading it neither waits for anybody nor ends only with memory: a pacer reads its settings again while it
/// paces.
fn read(path: &Path) -> Result<String, String> {
    let is_file = |known: &std::fs::Metadata| match (known.is_file(), known.len()) {
        _ if known.is_dir() => Err("a directory; name a file of settings in it".to_owned()),
        (false, _) => Err("is no regular file; name one".to_owned()),
        (true, MOST..) => Err(format!("is larger than {MOST} bytes; name a file of settings")),
        _ => Ok(()),
    };
    let explain = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "no such file; docs/dataplane.md shows one to start from".to_owned(),
        _ => format!("cannot be read: {}", plain(&error)),
    };
    is_file(&std::fs::metadata(path).map_err(explain)?)?; // to open a device may do something
    let mut options = OpenOptions::new();
    #[cfg(target_os = "linux")]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.read(true).open(path).map_err(explain)?;
    is_file(&file.metadata().map_err(explain)?)?; // it may be another by now
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).map_err(explain)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("not UTF-8 text (byte {at}); save the file as UTF-8")
    })?;
    Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned)) // a byte order mark
}

fn article(kind: &str) -> String {
    match kind.starts_with(['a', 'e', 'i', 'o']) {
        true => format!("an {kind}"),
        false => format!("a {kind}"),
    }
}

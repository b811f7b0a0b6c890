//! What is wrong with a scenario, in one line that says where and what to write instead.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use serde_json::Value;

/// Why a scenario was refused. Displays as a line for each fault: where, what is wrong, what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioError {
    /// The text is no TOML, or no JSON.
    Syntax {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The parser's message.
        problem: String,
    },
    /// A value that cannot be, or a key that is not known.
    Invalid {
        /// From the top: `network.core.buffer`, `traffic[0].tcp.variant`; empty for the file as a whole.
        path: String,
        /// What is wrong; what to write instead.
        problem: String,
    },
    /// Two or more of them, none of which follows from another.
    Several(Vec<ScenarioError>),
}

/// What was read, or what is wrong with it.
pub(crate) type Result<T, E = ScenarioError> = std::result::Result<T, E>;

/// Faults beyond so many are not reported.
const MOST_FAULTS: usize = 100;

impl ScenarioError {
    pub(crate) fn at(path: &str, problem: impl fmt::Display) -> Self {
        ScenarioError::Invalid { path: path.to_owned(), problem: one_line(&problem.to_string()) }
    }

    /// The one fault, or each of several.
    pub fn each(&self) -> &[ScenarioError] {
        match self {
            ScenarioError::Several(faults) => faults,
            one => std::slice::from_ref(one),
        }
    }

    /// From a parser's message and the byte offset in `text` that it points to.
    pub(crate) fn syntax_at(text: &str, offset: usize, problem: &str) -> Self {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ScenarioError::Syntax {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem: one_line(problem),
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScenarioError::Syntax { line, column, problem } => {
                write!(f, "line {line}, column {column}: {problem}")
            }
            ScenarioError::Several(faults) => {
                for (i, fault) in faults.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "\n" })?;
                    fault.fmt(f)?;
                }
                Ok(())
            }
            ScenarioError::Invalid { path, problem } if path.is_empty() => f.write_str(problem),
            ScenarioError::Invalid { path, problem } => write!(f, "{path}: {problem}"),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// The faults found so far: a reader notes one and reads on, so that all are reported at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Rc<RefCell<Vec<ScenarioError>>>);

impl Faults {
    /// What was read; a fault is noted, unless it is already.
    pub(crate) fn note<T>(&self, read: Result<T>) -> Result<T> {
        if let Err(error) = &read {
            let mut noted = self.0.borrow_mut();
            for fault in error.each() {
                if !noted.contains(fault) && noted.len() < MOST_FAULTS {
                    noted.push(fault.clone());
                }
            }
        }
        read
    }

    /// A key that was taken for a slip of another, which need not be missed then.
    pub(crate) fn slip_of(&self, key: &str, table: &str) -> Option<ScenarioError> {
        let meant = format!("did you mean \"{key}\"?");
        let is_slip = |fault: &&ScenarioError| match fault {
            ScenarioError::Invalid { path, problem } => {
                path.strip_prefix(table).is_some_and(|rest| !rest.trim_start_matches('.').contains('.'))
                    && problem.starts_with("unknown key")
                    && problem.ends_with(&meant)
            }
            _ => false,
        };
        self.0.borrow().iter().find(is_slip).cloned()
    }

    /// What was read, if nothing at all was wrong.
    pub(crate) fn unless_any<T>(&self, read: Result<T>) -> Result<T> {
        let read = self.note(read);
        let mut noted = self.0.take();
        match noted.len() {
            0 => read,
            1 => Err(noted.remove(0)),
            _ => Err(ScenarioError::Several(noted)),
        }
    }
}

/// How the TOML parser hands over a date: as a table with this key.
const TOML_DATE: &str = "$__toml_private_datetime";

/// A value as an error shows it: as it was written, but short.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Object(table) if table.contains_key(TOML_DATE) => "a date".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Null => "nothing".to_owned(),
        other => shortened(&other.to_string()),
    }
}

/// At most about forty characters of `text`.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let kept: String = text.chars().take(MOST - 1).collect();
    format!("{kept}…")
}

/// Line breaks become commas, other control characters their escapes.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for part in text.split('\n').map(str::trim).filter(|part| !part.is_empty()) {
        if !line.is_empty() {
            line.push_str(", ");
        }
        for c in part.chars() {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                line.extend(c.escape_unicode());
            } else {
                line.push(c);
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_errors_count_lines_and_characters_from_one() {
        let error = ScenarioError::syntax_at("a = 1\né = ?\n", 11, "bad");
        assert_eq!(error.to_string(), "line 2, column 5: bad");
    }

    #[test]
    fn errors_are_one_line() {
        let error = ScenarioError::at("a", "first\nsecond\u{7}");
        assert_eq!(error.to_string(), "a: first, second\\u{7}");
    }
}

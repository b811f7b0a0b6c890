//! The four lines that a program exchanges with what started it.

use crate::system;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, Write};

/// Reads the plan: one line of JSON.
///
/// # Errors
/// A line for people: there is none, or it is not a plan.
pub(crate) fn plan<T: DeserializeOwned>() -> Result<T, String> {
    serde_json::from_str(&line()?).map_err(|error| format!("the plan on standard input: {error}"))
}

/// Says that everything is set up, and waits to hear when time zero is: ns of the monotonic clock.
///
/// # Errors
/// A line for people: whoever started this has gone, or said something else.
pub(crate) fn start() -> Result<u64, String> {
    say("ready")?;
    let line = line()?;
    let time = line.trim().strip_prefix("start ").and_then(|time| time.parse().ok());
    time.ok_or_else(|| format!("expected `start` and a time in ns, not {line:?}"))
}

/// Hands over what was found: one line of JSON.
///
/// # Errors
/// A line for people: nobody reads it.
pub(crate) fn report<T: Serialize>(found: &T) -> Result<(), String> {
    say(&serde_json::to_string(found).map_err(|error| error.to_string())?)
}

/// Whether whoever started this has closed the pipe, or sent another line: time to stop.
#[must_use]
pub(crate) fn is_over() -> bool {
    system::readable(0)
}

fn say(line: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| format!("standard output: {error}"))
}

fn line() -> Result<String, String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) => Err("standard input ended; this program is started by `paceline emulate`".to_owned()),
        Ok(_) => Ok(line),
        Err(error) => Err(format!("standard input: {error}")),
    }
}

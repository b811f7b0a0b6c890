//! The command `paceline pace`, and the program `paceline-pace`: from arguments to an exit code.
//!
//! Data go to standard output, everything else to standard error.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::config::{Arguments, Config, ConfigError, HELP};
use crate::replay::{self, Outcome};

const DONE: i32 = 0;
const FAILED: i32 = 1;
const WRONG_INPUT: i32 = 2;

/// Runs the command; `name` is what it is called by. The exit code.
pub fn run(name: &str, arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let mut say = |line: &str| {
        let _ = writeln!(std::io::stderr(), "{name}: {line}");
    };
    let arguments = match Arguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            say(&error.0);
            return WRONG_INPUT;
        }
    };
    if arguments.help {
        return print(
            &format!("{}\n{}", HELP.replace("paceline-pace", name), paceline_core::pacer::table()),
            &mut say,
        );
    }
    if arguments.version {
        return print(&format!("{name} {}\n", env!("CARGO_PKG_VERSION")), &mut say);
    }
    let result = match &arguments.replay {
        Some(capture) => pace_capture(&arguments, capture),
        None => pace_interfaces(&arguments, &mut say),
    };
    match result {
        Ok(summary) if arguments.json => print(&format!("{summary}\n"), &mut say),
        Ok(summary) => {
            for line in lines(&summary) {
                say(&line);
            }
            DONE
        }
        Err(Failure::Wrong(error)) => {
            say(&error.0);
            WRONG_INPUT
        }
        Err(Failure::System(problem)) => {
            say(&problem);
            FAILED
        }
    }
}

enum Failure {
    Wrong(ConfigError),
    System(String),
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::Wrong(error)
    }
}

fn print(text: &str, say: &mut dyn FnMut(&str)) -> i32 {
    match std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush()) {
        Ok(()) => DONE,
        Err(error) => {
            say(&format!("standard output: {error}"));
            FAILED
        }
    }
}

#[cfg(target_os = "linux")]
fn pace_interfaces(arguments: &Arguments, say: &mut dyn FnMut(&str)) -> Result<Value, Failure> {
    use crate::pace::{self, PaceError};
    if arguments.write.is_some() {
        return Err(ConfigError("--write: goes with --replay".to_owned()).into());
    }
    let explain = |error| match error {
        PaceError::Config(error) => Failure::Wrong(error),
        PaceError::System(problem) => Failure::System(problem),
    };
    if arguments.restore {
        return pace::restore(arguments, say).map(|()| Value::Null).map_err(explain);
    }
    pace::run(arguments, say).map_err(explain)
}

#[cfg(not(target_os = "linux"))]
fn pace_interfaces(_: &Arguments, _: &mut dyn FnMut(&str)) -> Result<Value, Failure> {
    Err(Failure::System("interfaces are paced on Linux only; --replay works here".to_owned()))
}

/// Paces a capture in its own time.
fn pace_capture(arguments: &Arguments, capture: &Path) -> Result<Value, Failure> {
    let config = Config::read(arguments)?;
    let spec = config.forward.spec(None)?;
    let method = spec.pacer.method.to_string();
    let wire = config.forward.given_line_rate();
    let place = |path: &Path, problem: &str| ConfigError(format!("{}: {problem}", path.display()));
    let input = File::open(capture).map_err(|error| place(capture, &error.to_string()))?;
    let mut output = match &arguments.write {
        None => None,
        Some(path) => {
            let file = File::create(path).map_err(|error| place(path, &error.to_string()))?;
            Some(BufWriter::new(file))
        }
    };
    let output = output.as_mut().map(|file| file as &mut dyn Write);
    let outcome = replay::capture(BufReader::new(input), output, spec, wire, config.uncounted)
        .map_err(|problem| place(capture, &problem))?;
    Ok(said_of(&method, &outcome))
}

fn said_of(method: &str, outcome: &Outcome) -> Value {
    let mean = match outcome.sent.0 {
        0 => Value::Null,
        packets => (outcome.delay_sum_ns as f64 / packets as f64 / 1e3).into(),
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "back_end": "replay",
        "forward": {
            "method": method,
            "received": { "packets": outcome.received.0, "bytes": outcome.received.1 },
            "sent": { "packets": outcome.sent.0, "bytes": outcome.sent.1 },
            "dropped": { "queue": outcome.dropped },
            "flushed_packets": outcome.flushed,
            "delay": { "mean_us": mean, "max_us": outcome.delay_max_ns as f64 / 1e3 },
        },
    })
}

/// A summary in words, a line a direction.
fn lines(summary: &Value) -> Vec<String> {
    let of = |name: &str| {
        let direction = summary.get(name)?;
        let number = |path: &str| direction.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
        let dropped: f64 = direction
            .get("dropped")
            .and_then(Value::as_object)
            .map_or(0.0, |causes| causes.values().filter_map(Value::as_f64).sum());
        Some(format!(
            "{name}: {} packets in, {} out, {dropped} dropped, {} flushed, {} past it; held for {:.3} ms on average, {:.3} ms at most; \
             late by {:.1} us at p99",
            number("/received/packets"),
            number("/sent/packets"),
            number("/flushed_packets"),
            number("/bypassed/packets"),
            number("/delay/mean_us") / 1e3,
            number("/delay/max_us") / 1e3,
            number("/lateness/p99_us"),
        ))
    };
    ["forward", "reverse"].into_iter().filter_map(of).collect()
}

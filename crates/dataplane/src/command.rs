//! The command `paceline pace`, and the program `paceline-pace`: from arguments to an exit code.
//!
//! Data go to standard output, everything else to standard error.

#[cfg(target_os = "linux")]
mod watch;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use paceline_capture::Format;
use paceline_capture::write::{Form, Writer};
use serde_json::{Value, json};

use crate::config::{Arguments, Config, ConfigError, help, plain};
use crate::replay::{self, Outcome};

const DONE: i32 = 0;
const FAILED: i32 = 1;
const WRONG_INPUT: i32 = 2;
const INTERRUPTED: i32 = 130;

/// Runs the command; `name` is what it is called by. The exit code.
///
/// ```
/// # use paceline_dataplane::command;
/// assert_eq!(command::run("pace", ["--version".into()]), 0);
/// assert_eq!(command::run("pace", ["--nonsense".into()]), 2);
/// ```
pub fn run(name: &str, arguments: impl IntoIterator<Item = OsString>) -> i32 {
    run_and_show(name, arguments, &mut |summary| {
        lines(summary).iter().fold(String::new(), |text, line| text + line + "\n")
    })
}

/// As [`run`]; `show` makes the text of the summary where it is not asked for as JSON.
pub fn run_and_show(
    name: &str,
    arguments: impl IntoIterator<Item = OsString>,
    show: &mut dyn FnMut(&Value) -> String,
) -> i32 {
    let mut say = |line: &str| say(&format!("{name}: {line}"));
    let arguments = match Arguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            say(&error.0);
            return WRONG_INPUT;
        }
    };
    if arguments.help {
        return print(&help(name), &mut say);
    }
    if arguments.version {
        return print(&format!("{name} {}\n", env!("CARGO_PKG_VERSION")), &mut say);
    }
    let result = match &arguments.replay {
        Some(capture) => pace_capture(name, &arguments, capture),
        None => pace_interfaces(&arguments, &mut say),
    };
    match result {
        Ok(summary) if arguments.json => print(&format!("{summary}\n"), &mut say),
        Ok(Value::Null) => DONE, // what is restored has no summary
        Ok(summary) => print(&show(&summary), &mut say),
        Err(Failure::Wrong(error)) => {
            say(&error.0);
            WRONG_INPUT
        }
        Err(Failure::System(problem)) => {
            say(&problem);
            FAILED
        }
        Err(Failure::Paced(problem, summary)) => {
            if arguments.json && !summary.is_null() {
                print(&format!("{summary}\n"), &mut say);
            }
            say(&problem);
            FAILED
        }
    }
}

#[cfg(target_os = "linux")]
use crate::sys::stderr::say;

#[cfg(not(target_os = "linux"))]
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

enum Failure {
    Wrong(ConfigError),
    System(String),
    /// It has paced before that: what.
    Paced(String, Value),
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
            say(&format!("standard output: {}", plain(&error)));
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
        PaceError::Failed(problem, summary) => Failure::Paced(problem, summary),
    };
    if arguments.restore {
        return pace::restore(arguments, say).map(|()| Value::Null).map_err(explain);
    }
    pace::run(arguments, say).map_err(explain)
}

#[cfg(not(target_os = "linux"))]
fn pace_interfaces(_: &Arguments, _: &mut dyn FnMut(&str)) -> Result<Value, Failure> {
    let problem = "to pace interfaces needs Linux; `--replay FILE` paces a capture anywhere";
    Err(ConfigError(problem.to_owned()).into())
}

/// Paces a capture in its own time.
fn pace_capture(name: &str, arguments: &Arguments, capture: &Path) -> Result<Value, Failure> {
    let config = Config::read(arguments)?;
    let spec = config.forward.spec(None)?;
    let method = spec.pacer.method.to_string();
    let wire = config.forward.given_line_rate();
    let place = |path: &Path, problem: &str| ConfigError(format!("{}: {problem}", path.display()));
    #[cfg(target_os = "linux")]
    let _watch =
        watch::Watch::start(name).map_err(|error| Failure::System(format!("signals: {}", plain(&error))))?;
    #[cfg(not(target_os = "linux"))]
    let _ = name;
    let input = paceline_capture::open(capture).map_err(|error| place(capture, &error.to_string()))?;
    let mut output = arguments.write.as_deref().map(|path| Replacement::of(path, capture)).transpose()?;
    let writer = output.as_mut().map(Replacement::writer).transpose()?;
    let outcome = replay::capture(input, writer, spec, wire, config.uncounted)
        .map_err(|problem| place(capture, &problem))?;
    output.map_or(Ok(()), Replacement::keep)?;
    Ok(said_of(&method, &outcome))
}

/// Files that are written in part. Whoever ends the process keeps this, so that none is made or named after that.
static PARTIAL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn partial() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that takes its name when it is whole: until then what has had the name keeps it.
struct Replacement {
    path: PathBuf,
    /// Where it is written; the name itself, where that is of no ordinary file.
    partial: PathBuf,
    file: File,
}

impl Replacement {
    /// To be written at this path, while that capture is read.
    fn of(path: &Path, capture: &Path) -> Result<Self, ConfigError> {
        let problem = |problem: &str| ConfigError(format!("--write: {}: {problem}", path.display()));
        let whole = |path: &Path| std::fs::canonicalize(path).ok();
        let known = whole(path);
        if known.is_some() && known == whole(capture) {
            return Err(problem("is the capture itself; name another file"));
        }
        let is_special = std::fs::metadata(path).is_ok_and(|known| !known.is_file());
        let path = known.unwrap_or_else(|| path.to_owned()); // what a link stands for, not the link
        let partial = match path.file_name() {
            Some(name) if !is_special => {
                path.with_file_name(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()))
            }
            _ => path.clone(),
        };
        if !is_special && Form::of_name(&path).is_none() {
            return Err(problem(
                "the name must end in .pcap or .pcapng (.gz or .zst after that compresses it)",
            ));
        }
        if path.is_dir() {
            return Err(problem("is a directory; name a file"));
        }
        let mut partials = self::partial();
        let file = File::create(&partial).map_err(|error| problem(&plain(&error)))?;
        if partial != path {
            partials.push(partial.clone());
        }
        Ok(Replacement { path, partial, file })
    }

    /// In the form that the name says; a plain pcap where it does not say.
    fn writer(&mut self) -> Result<Writer<'_>, ConfigError> {
        let form = Form::of_name(&self.path).unwrap_or(Form::plain(Format::Pcap));
        Writer::new(Box::new(&mut self.file), form)
            .map_err(|problem| ConfigError(format!("--write: {}: {problem}", self.path.display())))
    }

    /// All of it has been written: it takes its name.
    fn keep(mut self) -> Result<(), ConfigError> {
        let done = self.file.flush().and_then(|()| match self.partial == self.path {
            true => Ok(()),
            false => {
                let _not_meanwhile = partial();
                std::fs::rename(&self.partial, &self.path)
            }
        });
        done.map_err(|error| ConfigError(format!("--write: {}: {}", self.path.display(), plain(&error))))
    }
}

impl Drop for Replacement {
    /// What is not whole does not stay.
    fn drop(&mut self) {
        if self.partial != self.path {
            let mut partials = partial();
            let _ = std::fs::remove_file(&self.partial); // gone, where it was whole
            partials.retain(|path| *path != self.partial);
        }
    }
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
            "untimed_packets": outcome.untimed,
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;

    #[test]
    fn what_cannot_be_replayed_leaves_files_as_they_are() {
        let folder = std::env::temp_dir().join(format!("paceline-replay-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (capture, other) = (folder.join("no.pcap"), folder.join("other.pcap"));
        let replay = |into: &Path| {
            let options = ["--method", "none", "--replay"].map(OsString::from).into_iter();
            let paths = [capture.clone().into(), "--write".into(), into.as_os_str().to_owned()];
            run("paceline-pace", options.chain(paths))
        };
        std::fs::write(&capture, "no capture").unwrap();
        std::fs::write(&other, "another").unwrap();
        assert_eq!((replay(&capture), replay(&other)), (WRONG_INPUT, WRONG_INPUT));
        assert_eq!(std::fs::read(&capture).unwrap(), b"no capture");
        assert_eq!(std::fs::read(&other).unwrap(), b"another");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "nothing in part");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

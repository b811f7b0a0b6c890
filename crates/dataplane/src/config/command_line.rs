//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};
use paceline_core::pacer::METHODS;

use super::{ConfigError, DIRECTION_KEYS};

/// What it is and how it is called: before the flags in the help.
pub const ABOUT: &str = "\
Pace the frames that pass between two network interfaces.

  paceline-pace --in eth1 --out eth2 --method edge --delay 10ms
  paceline-pace --in eth1 --out eth2 --method token-bucket --rate 100Mbit/s --burst 15KB --reverse-method edge --reverse-delay 5ms
  paceline-pace --config /etc/paceline/pace.toml --top
  paceline-pace --replay traffic.pcap --write paced.pcap --method qlbp --load 0.8 --max-delay 5ms --line-rate 100Mbit/s
  paceline-pace --restore --in eth1 --out eth2

Frames that come in by --in leave by --out when the method says so; those that come in by --out leave by --in, by --reverse-….
SIGINT and SIGTERM let what is held leave and put the interfaces back.
";

/// A flag, as the help and shells have it.
#[derive(Debug)]
pub struct Flag {
    /// Its name, without the dashes.
    pub name: &'static str,
    /// What stands for its value, or the words that it may be, with bars between; empty where it takes none.
    pub value: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Whether the way back has one of its own, `--reverse-`.
    pub each_way: bool,
}

const fn flag(name: &'static str, value: &'static str, help: &'static str) -> Flag {
    Flag { name, value, help, each_way: false }
}

const fn each_way(name: &'static str, value: &'static str, help: &'static str) -> Flag {
    Flag { name, value, help, each_way: true }
}

/// Every flag but the parameters of methods.
pub const FLAGS: [Flag; 22] = [
    flag("in", "IF", "The interface that frames come from, given over to the pacer."),
    flag("out", "IF", "The interface that they leave by, given over to the pacer."),
    each_way("method", "none|edge|qlbp|token-bucket", "What decides when a frame leaves.  [default: none]"),
    each_way(
        "line-rate",
        "RATE",
        "The line's rate, for methods that ask.  [default: what the interface says]",
    ),
    each_way("buffer", "SIZE", "The pacer's queue, packets or bytes.  [default: 16384 packets]"),
    each_way(
        "overload",
        "drop|flush",
        "drop: a full queue drops what arrives; flush: it lets all go at once.  [default: drop]",
    ),
    flag(
        "uncounted",
        "SIZE",
        "Bytes of each frame that no method counts, as 14 for Ethernet's header.  [default: 0]",
    ),
    flag("back-end", "af_packet|af_xdp|af_xdp_zero_copy", "How frames are moved.  [default: af_packet]"),
    flag("spin", "TIME", "How long before a departure to be awake.  [default: 80us]"),
    flag("patience", "TIME", "Traffic goes past a pacer that has been away so long.  [default: 40ms]"),
    flag("no-bypass", "", "It does not: it stops."),
    flag("no-realtime", "", "Ordinary threads, without real-time priority."),
    flag("metrics", "ADDRESS", "Serve Prometheus metrics, on loopback.  [default: off]"),
    flag("top", "", "Show what goes on."),
    flag("json", "", "Print the summary at the end as JSON only."),
    flag("quiet", "", "Say nothing but what went wrong; the summary is printed as ever."),
    flag("config", "FILE", "Read settings from a TOML file; flags go before it. SIGHUP reads it again."),
    flag("replay", "FILE", "Pace a capture in its own time: pcap or pcapng, gzip'd, in zstd or plain."),
    flag("write", "FILE", "Write what leaves a replay: .pcap or .pcapng, .gz or .zst after that."),
    flag("force", "", "Pace interfaces that have an address or a route, too."),
    flag("restore", "", "Take away what a killed pacer left on --in and --out."),
    flag("version", "", "Show the version and exit."),
];

/// What `--help` prints of a program of that name.
pub fn help(name: &str) -> String {
    let mut text = ABOUT.replace("paceline-pace", name) + "\n";
    for Flag { name, value, help, each_way } in FLAGS {
        let reverse = if each_way { "  Also --reverse-." } else { "" };
        text += &format!("  {:<37} {help}{reverse}\n", format!("--{name} {value}"));
    }
    text + "\nExit codes: 0 done, 1 it failed, 2 the input is wrong.\n\n" + &paceline_core::pacer::table()
}

/// The command line, taken apart.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// A file of settings.
    pub config: Option<PathBuf>,
    /// Settings by their path, `forward.delay`.
    pub(super) values: Vec<(String, String)>,
    /// A capture to pace instead.
    pub replay: Option<PathBuf>,
    /// Where to write what leaves.
    pub write: Option<PathBuf>,
    /// Take away what an earlier run left.
    pub restore: bool,
    /// Pace interfaces that the machine itself uses.
    pub force: bool,
    /// Show what goes on.
    pub top: bool,
    /// Print a summary as JSON.
    pub json: bool,
    /// Say only what went wrong.
    pub quiet: bool,
    /// Print the help.
    pub help: bool,
    /// Print the version.
    pub version: bool,
}

/// Flags of settings that hold for both directions.
const BOTH: [&str; 7] = ["in", "out", "back-end", "uncounted", "spin", "patience", "metrics"];

impl Arguments {
    /// Takes a command line apart, without the program's name.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, ConfigError> {
        Arguments::take_apart(arguments).map_err(ConfigError::one_line)
    }

    fn take_apart(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, ConfigError> {
        let mut parser = Parser::from_args(arguments);
        let mut parsed = Arguments::default();
        let explain = |error: lexopt::Error| ConfigError(format!("{error}; see --help"));
        while let Some(argument) = parser.next().map_err(explain)? {
            let Arg::Long(flag) = argument else {
                match argument {
                    Arg::Short('h') => parsed.help = true,
                    Arg::Short('q') => parsed.quiet = true,
                    other => return Err(ConfigError(format!("{}; see --help", other.unexpected()))),
                }
                continue;
            };
            let flag = flag.to_owned();
            let mut text = || -> Result<String, ConfigError> {
                let value = parser.value().map_err(explain)?;
                value.string().map_err(|_| ConfigError(format!("--{flag}: is not UTF-8; write a text")))
            };
            match flag.as_str() {
                "help" => parsed.help = true,
                "version" => parsed.version = true,
                "json" => parsed.json = true,
                "quiet" => parsed.quiet = true,
                "top" => parsed.top = true,
                "restore" => parsed.restore = true,
                "force" => parsed.force = true,
                "no-bypass" => parsed.values.push(("bypass".to_owned(), "false".to_owned())),
                "no-realtime" => parsed.values.push(("realtime".to_owned(), "false".to_owned())),
                "config" => parsed.config = Some(text()?.into()),
                "replay" => parsed.replay = Some(text()?.into()),
                "write" => parsed.write = Some(text()?.into()),
                name if BOTH.contains(&name) => parsed.values.push((name.replace('-', "_"), text()?)),
                name => {
                    let (direction, key) = match name.strip_prefix("reverse-") {
                        Some(key) => ("reverse", key),
                        None => ("forward", name),
                    };
                    let key = key.replace('-', "_");
                    if !known(&key) {
                        return Err(ConfigError(format!("--{name}: there is no such option; see --help")));
                    }
                    let value = text()?;
                    parsed.values.push((format!("{direction}.{key}"), value));
                }
            }
        }
        Ok(parsed)
    }
}

/// Whether a direction can have it, whatever its method.
fn known(key: &str) -> bool {
    let of_methods = || METHODS.iter().flat_map(|row| row.parameters).any(|parameter| parameter.name == key);
    DIRECTION_KEYS.contains(&key) || of_methods()
}

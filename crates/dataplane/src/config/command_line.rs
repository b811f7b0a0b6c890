//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};
use paceline_core::pacer::METHODS;

use super::{ConfigError, DIRECTION_KEYS};

/// What `--help` prints, but for the table of methods.
pub const HELP: &str = "\
Pace the frames that pass between two network interfaces.

  paceline-pace --in eth1 --out eth2 --method edge --delay 10ms
  paceline-pace --in eth1 --out eth2 --method token-bucket --rate 100Mbit/s --burst 15KB --reverse-method edge --reverse-delay 5ms
  paceline-pace --config /etc/paceline/pace.toml --top
  paceline-pace --replay traffic.pcap --write paced.pcap --method qlbp --load 0.8 --max-delay 5ms --line-rate 100Mbit/s
  paceline-pace --restore --in eth1 --out eth2

Frames that come in by --in leave by --out when the method says so; those that come in by --out leave by --in, by --reverse-….

  --in IF, --out IF    the two interfaces, given over to the pacer
  --method METHOD      none, edge, qlbp, token-bucket; parameters below, each with --reverse- for the way back
  --line-rate RATE     the line's rate, for methods that ask; what the interface says unless given
  --buffer SIZE        the pacer's queue, packets or bytes  [16384 packets]
  --overload WORD      drop: a full queue drops what arrives; flush: it lets all go at once  [drop]
  --uncounted SIZE     bytes of each frame that no method counts, as 14 for Ethernet's header  [0]
  --back-end WORD      af_packet, af_xdp, af_xdp_zero_copy  [af_packet]
  --spin TIME          how long before a departure to be awake  [80us]
  --patience TIME      traffic goes past a pacer that has been away so long  [40ms]
  --no-bypass          it does not: it stops
  --no-realtime        ordinary threads
  --metrics ADDRESS    serve Prometheus metrics, on loopback  [off]
  --top                show what goes on
  --json               print a summary as JSON at the end
  --config FILE        read settings from a TOML file; flags go before it. SIGHUP reads it again
  --replay FILE        pace a capture in its own time: pcap or pcapng, gzip'd, in zstd or plain; --write FILE writes what
                       leaves, in the form that its name ends in: .pcap, .pcapng, and .gz or .zst after that
  --force              pace interfaces that have an address or the default route, too
  --restore            take away what a killed pacer left on --in and --out

SIGINT and SIGTERM let what is held leave and put the interfaces back. Exit codes: 0 done, 1 it failed, 2 the input is wrong.
";

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

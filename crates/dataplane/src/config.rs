//! What a pacer is told: flags, or a TOML file, or a file with flags on top. Both fill one table, which is read once.
//!
//! Parameters of methods have the names that scenarios give them, and the parser that scenarios have: `max_delay` in a file,
//! `--max-delay` as a flag; `--reverse-max-delay` for the way back.

mod command_line;
mod table;

use paceline_core::pacer::parameters::{ParameterError, Value};
use paceline_core::pacer::{self, PacerSpec};
use paceline_core::queue::Limit;
use paceline_core::units::parse::{self, BufferSize};
use paceline_core::{Rate, Span};

use crate::lane::{LaneSpec, Overload};
pub use command_line::{ABOUT, Arguments, FLAGS, Flag, help};
use table::Table;

/// Frames that are held where no limit is given: 10 ms at 20 Gbit/s.
const MOST_HELD: u64 = 16_384;
/// The most that can be asked for, frames.
const MOST_ASKED: u64 = 1 << 20;
/// The smallest frame, bytes: so many fit where a limit counts bytes.
const SMALLEST: u64 = 60;

/// Keys of a file, and of each direction in it, beside the parameters of methods.
const KEYS: [&str; 11] = [
    "in",
    "out",
    "back_end",
    "uncounted",
    "spin",
    "patience",
    "bypass",
    "realtime",
    "metrics",
    "forward",
    "reverse",
];
const DIRECTION_KEYS: [&str; 4] = ["method", "line_rate", "buffer", "overload"];

/// What is wrong, in a line that begins with where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(pub String);

impl std::error::Error for ConfigError {}

impl ConfigError {
    /// In one line whatever it quotes: line ends and other controls as they are escaped.
    fn one_line(self) -> Self {
        let plain = |char: char| match char.is_control() || matches!(char, '\u{2028}' | '\u{2029}') {
            true => char.escape_default().to_string(),
            false => char.to_string(),
        };
        ConfigError(self.0.chars().map(plain).collect())
    }
}

/// What the system says, without its number for it.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// How frames are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackEnd {
    /// Packet sockets.
    #[default]
    AfPacket,
    /// AF_XDP sockets, frames copied by the kernel.
    AfXdp,
    /// AF_XDP sockets, frames where the network card puts them.
    AfXdpZeroCopy,
}

impl BackEnd {
    /// Each and its name.
    pub const ALL: [(&'static str, BackEnd); 3] = [
        ("af_packet", BackEnd::AfPacket),
        ("af_xdp", BackEnd::AfXdp),
        ("af_xdp_zero_copy", BackEnd::AfXdpZeroCopy),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        BackEnd::ALL.iter().find(|(_, back_end)| *back_end == self).map_or("", |(name, _)| name)
    }
}

/// One direction as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionConfig {
    method: String,
    parameters: Vec<(String, Value)>,
    line_rate: Option<Rate>,
    limit: Option<Limit>,
    overload: Overload,
    place: String,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where frames to be paced come from.
    pub input: Option<String>,
    /// Where they go.
    pub output: Option<String>,
    /// How frames are moved.
    pub back_end: BackEnd,
    /// Bytes at the front of each frame that no pacer counts.
    pub uncounted: u32,
    /// How long before a departure a thread is awake.
    pub spin: Span,
    /// How long the pacer may be away before traffic goes past it.
    pub patience: Span,
    /// Whether traffic goes past it then.
    pub bypass: bool,
    /// Whether its threads ask for real-time priority.
    pub realtime: bool,
    /// Where metrics are served.
    pub metrics: Option<std::net::SocketAddr>,
    /// From `input` to `output`.
    pub forward: DirectionConfig,
    /// The way back.
    pub reverse: DirectionConfig,
}

impl Config {
    /// Reads the file, if there is one, puts the flags on top, and makes sure of all of it.
    pub fn read(arguments: &Arguments) -> Result<Config, ConfigError> {
        let table = match &arguments.config {
            Some(path) => Table::load(path),
            None => Ok(Table::default()),
        };
        table.and_then(|table| Config::of(table, arguments)).map_err(ConfigError::one_line)
    }

    /// As [`Config::read`], from a file of that name that says `text`.
    ///
    /// ```
    /// # use paceline_core::{Rate, Span};
    /// # use paceline_dataplane::config::{Arguments, Config};
    /// let text = "in = 'eth1'\nout = 'eth2'\n[forward]\nmethod = 'edge'\ndelay = '10 ms'\n";
    /// let config = Config::parse("pace.toml", text, &Arguments::default())?;
    /// assert_eq!(config.input.as_deref(), Some("eth1"));
    /// let lane = config.forward.spec(Some(Rate::from_bits_per_second(1_000_000_000)))?;
    /// assert_eq!(lane.pacer.method.to_string(), "edge delay = 10 ms, release = start");
    /// let wrong = Config::parse("pace.toml", "[forward]\nmethd = 'edge'\n", &Arguments::default());
    /// assert!(wrong.unwrap_err().to_string().contains("method"));
    /// # Ok::<(), paceline_dataplane::config::ConfigError>(())
    /// ```
    pub fn parse(file: &str, text: &str, arguments: &Arguments) -> Result<Config, ConfigError> {
        let table = Table::parse(file.to_owned(), text);
        table.and_then(|table| Config::of(table, arguments)).map_err(ConfigError::one_line)
    }

    fn of(mut table: Table, arguments: &Arguments) -> Result<Config, ConfigError> {
        table.lay(&arguments.values);
        table.check("", &KEYS)?;
        let interface = |key| -> Result<Option<String>, ConfigError> { table.text("", key) };
        let back_end = table.choice("", "back_end", &BackEnd::ALL)?.unwrap_or_default();
        let uncounted = table.quantity("", "uncounted", |text| match text.parse::<u32>() {
            Ok(bytes) => Ok(bytes.into()),
            Err(_) => parse::bytes(text).map(|bytes| bytes.count()).map_err(|error| error.to_string()),
        })?;
        let span = |key| {
            table.quantity("", key, |text| match text {
                "0" => Ok(Span::ZERO),
                _ => parse::span(text).map_err(|error| error.to_string()),
            })
        };
        let spin = span("spin")?.unwrap_or(Span::from_nanos(80_000));
        let patience = span("patience")?.unwrap_or(Span::from_millis(40));
        if patience < Span::from_millis(15) {
            let problem = format!("{patience} is less than a busy machine may take; write 15 ms or more");
            return Err(table.wrong("", "patience", &problem));
        }
        if spin > Span::from_millis(1) {
            let problem = format!("{spin} would leave no processor time to others; write 1 ms or less");
            return Err(table.wrong("", "spin", &problem));
        }
        let metrics = table.quantity("", "metrics", |text| {
            let address: Result<std::net::SocketAddr, _> = text.parse();
            match address {
                Ok(address) if address.ip().is_loopback() => Ok(Some(address)),
                Ok(address) => Err(format!("{address} is not on loopback; write for example 127.0.0.1:9464")),
                Err(_) if text == "off" => Ok(None),
                Err(_) => Err(format!("{text:?} is no address; write for example 127.0.0.1:9464")),
            }
        })?;
        Ok(Config {
            input: interface("in")?,
            output: interface("out")?,
            back_end,
            uncounted: u32::try_from(uncounted.unwrap_or(0)).unwrap_or(u32::MAX),
            spin,
            patience,
            bypass: table.boolean("", "bypass")?.unwrap_or(true),
            realtime: table.boolean("", "realtime")?.unwrap_or(true),
            metrics: metrics.flatten(),
            forward: DirectionConfig::read(&table, "forward")?,
            reverse: DirectionConfig::read(&table, "reverse")?,
        })
    }
}

impl DirectionConfig {
    fn read(table: &Table, name: &str) -> Result<Self, ConfigError> {
        let method = table.text(name, "method")?.unwrap_or_else(|| "none".to_owned());
        let keys = table.keys(name)?;
        let own = keys.iter().map(String::as_str).filter(|key| !DIRECTION_KEYS.contains(key));
        if let Err(error) = pacer::check_keys(&method, own) {
            let key = error.parameter().unwrap_or("method").to_owned();
            let known = match pacer::parameters_of(&method) {
                Some([]) => format!("; each direction has {}", DIRECTION_KEYS.join(", ")),
                _ => String::new(),
            };
            return Err(table.wrong(name, &key, &format!("{error}{known}")));
        }
        let parameters = pacer::parameters_of(&method).unwrap_or_default();
        let mut values = Vec::new();
        for parameter in parameters {
            if let Some(value) = table.parameter(name, parameter.name)? {
                values.push((parameter.name.to_owned(), value));
            }
        }
        let line_rate =
            table.quantity(name, "line_rate", |text| parse::rate(text).map_err(|e| e.to_string()))?;
        let limit = table.quantity(name, "buffer", |text| match parse::buffer(text) {
            Ok(BufferSize::Bytes(bytes)) => Ok(Limit::Bytes(bytes.count())),
            Ok(BufferSize::Packets(packets)) => Ok(Limit::Packets(packets)),
            Ok(BufferSize::Bdp(_)) => {
                Err("a pacer knows no round-trip time; write bytes or packets".to_owned())
            }
            Err(error) => Err(error.to_string()),
        })?;
        let config = DirectionConfig {
            method,
            parameters: values,
            line_rate,
            limit,
            overload: table.choice(name, "overload", &Overload::ALL)?.unwrap_or_default(),
            place: table.place(name, "").trim_end_matches([':', ' ']).to_owned(),
        };
        if config.places() > MOST_ASKED {
            let problem = format!("is more than {MOST_ASKED} packets of {SMALLEST} bytes; write less");
            return Err(table.wrong(name, "buffer", &problem));
        }
        // Any rate will do to find what is wrong with the rest; the interface's own is known later.
        config.spec(line_rate.or(Some(Rate::from_bits_per_second(u64::MAX))))?;
        Ok(config)
    }

    /// The lane's: `speed` is what the interface says of its rate.
    pub fn spec(&self, speed: Option<Rate>) -> Result<LaneSpec, ConfigError> {
        let Some(line_rate) = self.line_rate.or(speed) else {
            // only methods that ask for the rate depend on it
            return match self.asks_rate() {
                true => Err(ConfigError(format!(
                    "{}: {} needs the line's rate, which the interface does not say; write --line-rate \"100 Mbit/s\"",
                    self.place, self.method
                ))),
                false => self.spec(Some(Rate::from_bits_per_second(u64::MAX))),
            };
        };
        let mut value =
            |key: &str| self.parameters.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        let mut pacer: PacerSpec =
            pacer::parse(&self.method, &mut value, line_rate).map_err(|error| self.wrong(&error))?;
        pacer.limit = Some(self.limit.unwrap_or(Limit::Packets(MOST_HELD)));
        Ok(LaneSpec { pacer, line_rate, overload: self.overload })
    }

    /// What is wrong with a parameter: by its flag, where its direction is one of flags.
    fn wrong(&self, error: &ParameterError) -> ConfigError {
        let Some(dashes) = self.place.strip_suffix("method").filter(|dashes| dashes.starts_with("--")) else {
            return ConfigError(format!("{}: {error}", self.place));
        };
        ConfigError(match error {
            ParameterError::Missing { method, parameter, example } => {
                let flag = format!("{dashes}{}", parameter.replace('_', "-"));
                let example = example.split(" or ").next().unwrap_or(example);
                format!("{}: {method} needs {flag}; write for example {flag} {example}", self.place)
            }
            ParameterError::Quantity { parameter, error, .. } => {
                format!("{dashes}{}: {error}", parameter.replace('_', "-"))
            }
            ParameterError::Impossible { parameter, problem, .. } => {
                format!("{dashes}{}: {problem}", parameter.replace('_', "-"))
            }
            other => format!("{}: {other}", self.place),
        })
    }

    /// How many frames may be held.
    pub fn places(&self) -> u64 {
        match self.limit {
            None => MOST_HELD,
            Some(Limit::Packets(packets)) => packets.max(1),
            Some(Limit::Bytes(bytes)) => bytes / SMALLEST + 1,
        }
    }

    /// The line's rate as it was asked for.
    pub fn given_line_rate(&self) -> Option<Rate> {
        self.line_rate
    }

    fn asks_rate(&self) -> bool {
        self.method == "qlbp"
    }
}

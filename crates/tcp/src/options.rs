//! Every option of a connection, in one table: what a scenario's `tcp` table may hold, what `paceline explain tcp` and
//! docs/tcp.md list. An option's value is read from a [`Config`]; its source is told for each world that a profile comes
//! from.

mod table;

pub use table::OPTIONS;

use crate::config::{Config, Profile};
use paceline_core::Span;
use std::fmt;

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its key in a scenario.
    pub key: &'static str,
    /// What it is, in a line.
    pub meaning: &'static str,
    value: fn(&Config) -> Value,
    /// The section of an RFC; the variable of ns-2; the file or the name in Linux. Empty where there is none.
    rfc: &'static str,
    ns2: &'static str,
    linux: &'static str,
}

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A size, bytes.
    Bytes(u32),
    /// A window, packets.
    Packets(u32),
    /// A length of time.
    Time(Span),
    /// A number of things.
    Count(u32),
    /// On or off.
    Flag(bool),
    /// One of a list of names.
    Name(&'static str),
    /// The default, which has no value to write: what happens instead.
    Unset(&'static str),
}

impl Setting {
    /// Its value in a connection with these settings.
    pub fn value(&self, config: &Config) -> Value {
        (self.value)(config)
    }

    /// Where it comes from in the world of a profile: a section of an RFC, a variable of ns-2, a file or name of Linux. Where
    /// that world does not know the option, what does know it.
    pub fn source(&self, profile: Profile) -> String {
        let own = match profile {
            Profile::Rfc => self.rfc,
            Profile::Ns2 | Profile::Ns2Of2005 | Profile::Ns2Validation => self.ns2,
            Profile::Linux => self.linux,
        };
        if !own.is_empty() {
            return own.to_owned();
        }
        let known = [("", self.rfc), ("ns-2 ", self.ns2), ("Linux ", self.linux)];
        known
            .iter()
            .find(|(_, source)| !source.is_empty())
            .map(|(of, source)| format!("{of}{source}"))
            .unwrap_or_default()
    }
}

impl Value {
    /// `B`, `packets`, `s`, or nothing.
    pub fn unit(self) -> &'static str {
        match self {
            Value::Bytes(_) => "B",
            Value::Packets(_) => "packets",
            Value::Time(_) => "s",
            Value::Count(_) | Value::Flag(_) | Value::Name(_) | Value::Unset(_) => "",
        }
    }
}

impl fmt::Display for Value {
    /// As a scenario writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bytes(bytes) => write!(f, "\"{bytes} B\""),
            Value::Packets(packets) => write!(f, "\"{packets} packets\""),
            Value::Time(Span::ZERO) => f.write_str("\"0 s\""),
            Value::Time(span) => write!(f, "\"{span}\""),
            Value::Count(count) => write!(f, "{count}"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Name(name) => write!(f, "\"{name}\""),
            Value::Unset(instead) => f.write_str(instead),
        }
    }
}

/// What a profile is, in a line.
pub fn meaning_of(profile: Profile) -> &'static str {
    match profile {
        Profile::Rfc => "the RFCs of today",
        Profile::Linux => "Linux, net/ipv4/tcp*.c",
        Profile::Ns2 => "ns-2 2.35's defaults, tcl/lib/ns-default.tcl",
        Profile::Ns2Of2005 => "ns-2 2.28's defaults, of February 2005",
        Profile::Ns2Validation => "what ns-2's own test suite sets, tcl/test/test-suite-tcpVariants.tcl",
    }
}

/// The keys of a scenario's `tcp` table: `profile`, and every option's.
pub fn keys() -> Vec<&'static str> {
    ["profile"].into_iter().chain(OPTIONS.iter().map(|option| option.key)).collect()
}

/// docs/tcp.md.
pub fn page() -> String {
    let mut page = String::from(
        "# TCP: every option, every profile\n\n\
         Made from the table in `crates/tcp/src/options/`; `paceline explain tcp` prints the same. To write it anew:\n\
         `PACELINE_WRITE=1 cargo test -p paceline-tcp --test options`.\n\n\
         A scenario sets an option in a traffic's `tcp` table, `tcp = { profile = \"ns2\", variant = \"newreno\" }`; what it \
         leaves out is the\nprofile's.",
    );
    page += " With `bic` and `cubic`, ns-2's profiles are TCP-Linux's: `tick` 1 ms, `max_rto` 120 s, `min_rto` 200 ms, `initial_rto` \
             3 s,\n`timestamps_end_back_off`.";
    page += &format!(
        " A scenario that names no profile has `{}` ([why](adr/0001-default-tcp.md)).\n\n\
         | profile | what it is |\n|---|---|\n",
        Profile::DEFAULT.name()
    );
    for (name, profile) in Profile::ALL {
        page += &format!("| `{name}` | {} |\n", meaning_of(profile));
    }
    page += "\n## Values\n\n| option | what it is |";
    for (name, _) in Profile::ALL {
        page += &format!(" `{name}` |");
    }
    page += &format!("\n|---|---|{}\n", "---|".repeat(Profile::ALL.len()));
    for option in OPTIONS {
        page += &format!("| `{}` | {} |", option.key, option.meaning);
        for (_, profile) in Profile::ALL {
            page += &match option.value(&Config::new(profile)) {
                Value::Unset(instead) => format!(" {instead} |"),
                value => format!(" `{value}` |"),
            };
        }
        page += "\n";
    }
    page += "\n## Sources\n\n| option | RFC | ns-2 2.35 | Linux |\n|---|---|---|---|\n";
    for option in OPTIONS {
        page += &format!("| `{}` | {} | {} | {} |\n", option.key, option.rfc, option.ns2, option.linux);
    }
    page
}

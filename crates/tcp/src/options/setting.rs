//! One option of a connection, its value and its sources.

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
    pub(super) value: fn(&Config) -> Value,
    /// The section of an RFC; the variable of ns-2; the file or the name in Linux. Empty where there is none.
    pub(super) rfc: &'static str,
    pub(super) ns2: &'static str,
    pub(super) linux: &'static str,
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
    ///
    /// ```
    /// # use paceline_tcp::{Config, Profile, options::{OPTIONS, Value}};
    /// let payload = OPTIONS.iter().find(|option| option.key == "payload").expect("an option");
    /// assert_eq!(payload.value(&Config::new(Profile::Ns2)), Value::Bytes(1000));
    /// ```
    pub fn value(&self, config: &Config) -> Value {
        (self.value)(config)
    }

    /// Its source with a profile: a section of an RFC, a variable of ns-2, a file or name of Linux. Where the profile's source does not
    /// have the option, one that does.
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

//! What a capture's packets are put through: a pacer, and the output link behind it.
//!
//! *Idea.* A pacer is written as in a scenario: a method and its first parameter (`edge 10 ms`), or its parameters by name
//! (`edge delay = 10 ms, release = finish`; commas may be left out). Three more names are those of the link that it stands
//! before.
//! *Parameters.* `link` (rate; none unless given: what the pacer releases has left), `buffer` (what waits for that link,
//! bytes or packets), `pacer_buffer` (what the pacer may hold). A limit that is not given is [`MOST_HELD`], so that a pacer
//! slower than its capture does not fill the memory.

use paceline_core::Rate;
use paceline_core::pacer::parameters::{ParameterError, Value};
use paceline_core::pacer::{METHODS, Method, PacerSpec, check_keys, parameters_of, parse};
use paceline_core::queue::{Limit, QueueSpec};
use paceline_core::units::parse::{self as quantity, BufferSize};

/// Held where no limit is given.
pub const MOST_HELD: Limit = Limit::Bytes(256_000_000);

/// The names that are the link's.
const LINK_KEYS: [&str; 3] = ["link", "buffer", "pacer_buffer"];

/// A pacer and its output link.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaper {
    /// As it was written.
    pub name: String,
    /// The pacer, its limit given or not.
    pub pacer: PacerSpec,
    /// The output link's rate; `None`: packets take no time on it.
    pub link: Option<Rate>,
    /// What waits for the link.
    pub buffer: QueueSpec,
}

impl Shaper {
    /// Reads one as a user writes it. An error is one line, whatever the text.
    pub fn parse(text: &str) -> Result<Shaper, String> {
        let ends_a_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let escaped = |said: String| match said.contains(ends_a_line) {
            true => said
                .chars()
                .map(|c| if ends_a_line(c) { c.escape_default().to_string() } else { c.to_string() })
                .collect(),
            false => said,
        };
        Shaper::read(text).map_err(escaped)
    }

    fn read(text: &str) -> Result<Shaper, String> {
        let (method, settings) = spell_out(text)?;
        if matches!(method, "host" | "port") {
            return Err(format!(
                "\"{method}\" paces by a sender's window, which a capture does not show; write one of {}",
                METHODS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
            ));
        }
        let own = settings.iter().map(|(key, _)| *key).filter(|key| !LINK_KEYS.contains(key));
        check_keys(method, own).map_err(|error| match &error {
            ParameterError::UnknownKey { meant: None, .. } => {
                format!("{error}, and {} are its link's", LINK_KEYS.join(", "))
            }
            _ => error.to_string(),
        })?;
        let value = |key: &str| settings.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let link = value("link").map(quantity::rate).transpose().map_err(|error| format!("link: {error}"))?;
        if link.is_none() && value("load").is_some() {
            return Err(format!("{method}: load is of a link's rate; write also link = \"100 Mbit/s\""));
        }
        if link.is_none() && value("buffer").is_some() {
            return Err("buffer: nothing waits without a link; write also link = \"100 Mbit/s\"".to_owned());
        }
        let limit = |key: &str| -> Result<Option<Limit>, String> {
            match value(key).map(quantity::buffer).transpose().map_err(|error| format!("{key}: {error}"))? {
                None => Ok(None),
                Some(BufferSize::Bytes(bytes)) => Ok(Some(Limit::Bytes(bytes.count()))),
                Some(BufferSize::Packets(packets)) => Ok(Some(Limit::Packets(packets))),
                Some(BufferSize::Bdp(_)) => {
                    Err(format!("{key}: a capture has no round-trip time; write bytes or packets"))
                }
            }
        };
        let mut value_of = |key: &str| value(key).map(|value| Value::Text(value.to_owned()));
        let rate = link.unwrap_or(Rate::from_bits_per_second(u64::MAX));
        let mut pacer = parse(method, &mut value_of, rate).map_err(|error| error.to_string())?;
        pacer.limit = limit("pacer_buffer")?;
        let buffer = QueueSpec { limit: limit("buffer")?, ..QueueSpec::default() };
        Ok(Shaper { name: text.split_whitespace().collect::<Vec<_>>().join(" "), pacer, link, buffer })
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.pacer.method
    }
}

/// A method, and its parameters by name.
type SpeltOut<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// `edge 10 ms, link = 1 Gbit/s`, spelt out.
fn spell_out(text: &str) -> Result<SpeltOut<'_>, String> {
    let text = text.trim();
    let (method, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if method.is_empty() {
        return Err("names no pacer; write for example \"edge delay = 10 ms\"".to_owned());
    }
    let mut settings: Vec<(&str, &str)> = Vec::new();
    let mut parts = rest.split('=').peekable();
    let mut key = None;
    while let Some(part) = parts.next() {
        // before an equals sign stand the value of the last key, and the next key
        let (value, next) = match parts.peek() {
            None => (part, None),
            Some(_) => {
                let part = part.trim_end();
                let next = part.rsplit(|c: char| c.is_whitespace() || c == ',').next().unwrap_or(part);
                (&part[..part.len() - next.len()], Some(next))
            }
        };
        let value = value.trim().trim_end_matches(',').trim().trim_matches('"');
        let name = match key {
            Some(key) => key,
            None if value.is_empty() => "",
            // what stands before any key is the first parameter
            None => match parameters_of(method) {
                Some([first, ..]) => first.name,
                Some([]) => return Err(format!("{method} has no parameter to give \"{value}\" to")),
                None => "", // an unknown method has an error of its own
            },
        };
        if !name.is_empty() && value.is_empty() {
            return Err(format!("{name}: has no value; write \"key = value\""));
        }
        if settings.iter().any(|(known, _)| *known == name) {
            return Err(format!("{name}: is given twice; write it once"));
        }
        if !name.is_empty() {
            settings.push((name, value));
        }
        if next.is_some_and(str::is_empty) {
            return Err("has a value without a key; write \"key = value\"".to_owned());
        }
        key = next;
    }
    Ok((method, settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_blanks_may_be_left_out() {
        let plain = Shaper::parse("edge delay = 10 ms, release = finish, link = 100 Mbit/s").unwrap();
        for same in [
            "edge delay=10ms release=finish link=100Mbit/s",
            "edge 10 ms, release = finish, link = 100 Mbit/s",
            "edge link=100Mbit/s,delay=10ms,release=finish",
            "edge delay = \"10 ms\", release = \"finish\", link = \"100 Mbit/s\"",
        ] {
            assert_eq!(Shaper { name: plain.name.clone(), ..Shaper::parse(same).unwrap() }, plain, "{same}");
        }
        assert_eq!(plain.method().to_string(), "edge delay = 10 ms, release = finish");
        assert_eq!(plain.link, Some(Rate::from_bits_per_second(100_000_000)));
        assert_eq!(Shaper::parse("none").unwrap().link, None);
        let limits = Shaper::parse("none link=1Gbit/s buffer=5packets pacer_buffer=20KB").unwrap();
        assert_eq!(limits.buffer.limit, Some(Limit::Packets(5)));
        assert_eq!(limits.pacer.limit, Some(Limit::Bytes(20_000)));
    }

    #[test]
    fn what_is_wrong_is_said_in_a_line() {
        let cases = [
            ("", "names no pacer"),
            ("edges 10 ms", "did you mean \"edge\"?"),
            ("edge", "edge needs \"delay\""),
            ("edge 10", "has no unit"),
            ("edge 10 ms rate = 1 Mbit/s", "edge has no parameter \"rate\""),
            ("edge delay = 1 ms delay = 2 ms", "is given twice"),
            ("edge delay =", "has no value"),
            ("edge delay = = 2 ms", "has no value"),
            ("edge 10 ms, = 2 ms", "value without a key"),
            ("none 10 ms", "none has no parameter"),
            ("host", "by a sender's window"),
            ("qlbp load = 0.8 max_delay = 1 ms", "write also link"),
            ("none buffer = 5 KB", "write also link"),
            ("none link = 1 Mbit/s, buffer = 1 BDP", "no round-trip time"),
            ("token-bucket rate = 1 Mbit/s", "token-bucket needs \"burst\""),
        ];
        for (text, part) in cases {
            let said = Shaper::parse(text).unwrap_err();
            assert!(said.contains(part) && said.lines().count() == 1, "{text}: {said}");
        }
    }

    /// Every character there is, where a blank, a comma or a letter may stand: it is read, or refused in a line.
    #[test]
    fn no_character_of_unicode_panics() {
        let no_break = "edge 10 ms,\u{a0}release = finish";
        assert_eq!(
            Shaper::parse(no_break).unwrap().method().to_string(),
            "edge delay = 10 ms, release = finish"
        );
        for c in '\0'..=char::MAX {
            if let Err(said) = Shaper::parse(&format!("edge 10 ms,{c}release {c}={c} finish{c}")) {
                assert_eq!(said.lines().count(), 1, "{c:?}: {said}");
            }
        }
        assert!(Shaper::parse("edge \u{1e}=").is_err_and(|said| said.starts_with("\\u{1e}: has no value")));
    }
}

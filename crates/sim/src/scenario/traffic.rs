//! `[[traffic]]`: what hosts send to each other.

use paceline_core::{Rate, Span};
use paceline_tcp::config::{Config, Profile};

use super::error::ScenarioError;
use super::quantity::Range;
use super::reader::{Field, Table};
use super::tcp::{self, MOST_PACKET};

type Result<T> = std::result::Result<T, ScenarioError>;

/// More flows than this are a slip of the pen.
pub(crate) const MOST_FLOWS: u64 = 10_000_000;

/// Keys of every kind.
const KEYS: [&str; 6] = ["name", "kind", "count", "from", "to", "start"];
const BULK_KEYS: [&str; 2] = ["tcp", "size"];
const OPEN_LOOP_KEYS: [&str; 4] = ["rate", "packet", "header", "stop"];

/// Flows that are alike.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Traffic {
    /// Where it is written: `traffic[0]`.
    pub(crate) path: String,
    /// Its flows are `name.0`, `name.1`, …
    pub(crate) name: String,
    /// Flows per pair of hosts.
    pub(crate) count: u64,
    /// Names of sending hosts or groups; `None` leaves it to the template.
    pub(crate) from: Option<HostNames>,
    /// Names of receiving hosts or groups; `None` is the partner of each sender.
    pub(crate) to: Option<HostNames>,
    /// When each flow starts, drawn once for each.
    pub(crate) start: Range<Span>,
    /// What it sends.
    pub(crate) kind: Kind,
}

/// Hosts by name, group or wildcard.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostNames {
    /// Where they are written.
    pub(crate) path: String,
    /// As they are written.
    pub(crate) names: Vec<String>,
}

/// What a flow sends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// TCP, for ever or for so many packets.
    Bulk {
        /// Unpaced.
        tcp: Box<Config>,
        /// The profile that the settings came from.
        profile: Profile,
        /// Packets to send.
        packets: Option<u64>,
    },
    /// Packets without feedback.
    OpenLoop {
        /// Exponential gaps, or constant ones.
        poisson: bool,
        /// On the wire, drawn once for each flow.
        rate: Range<Rate>,
        /// On the wire, bytes.
        bytes: u32,
        /// Of these, bytes that goodput counts.
        payload: u32,
        /// When it stops.
        stop: Option<Span>,
    },
}

#[derive(Debug, Clone, Copy)]
enum KindName {
    Bulk,
    Cbr,
    Poisson,
    NotYet,
}

const KINDS: [(&str, KindName); 9] = [
    ("bulk", KindName::Bulk),
    ("cbr", KindName::Cbr),
    ("poisson", KindName::Poisson),
    ("closed-loop", KindName::NotYet),
    ("rpc", KindName::NotYet),
    ("on-off", KindName::NotYet),
    ("self-similar", KindName::NotYet),
    ("cvec", KindName::NotYet),
    ("pcap", KindName::NotYet),
];

impl Traffic {
    /// Reads every `[[traffic]]`; names that are not given are the kind's, numbered from the second on.
    pub(crate) fn read_all(field: &Field<'_>, duration: Span) -> Result<Vec<Traffic>> {
        let mut all: Vec<Traffic> = Vec::new();
        for field in field.list()? {
            let traffic = Traffic::read(&field, duration, &all)?;
            all.push(traffic);
        }
        if all.is_empty() {
            return Err(field.wrong("no traffic; write at least one [[traffic]] table"));
        }
        Ok(all)
    }

    fn read(field: &Field<'_>, duration: Span, before: &[Traffic]) -> Result<Traffic> {
        let table = field.open()?;
        let kind_field = table.required("kind", "\"bulk\"")?;
        let kind_text = kind_field.text()?;
        let kind = kind_field.choice(&KINDS)?;
        let own: &[&str] = match kind {
            KindName::Bulk => &BULK_KEYS,
            KindName::Cbr | KindName::Poisson => &OPEN_LOOP_KEYS,
            KindName::NotYet => {
                return Err(kind_field.refused("is not built yet; choose \"bulk\", \"cbr\" or \"poisson\""));
            }
        };
        table.only(&[&KEYS, own].concat())?;
        let taken = |name: &str| before.iter().any(|other| other.name == name);
        let name = match table.get("name") {
            Some(name) if taken(name.text()?) => {
                return Err(name.refused("names an earlier traffic; write another name"));
            }
            Some(name) => name.name()?,
            None if !taken(kind_text) => kind_text.to_owned(),
            None => (2..).map(|n| format!("{kind_text}-{n}")).find(|name| !taken(name)).unwrap_or_default(),
        };
        let start =
            table.optional("start", Field::spans)?.unwrap_or(Range { low: Span::ZERO, high: Span::ZERO });
        if start.low >= duration {
            let field = table.required("start", "\"0 s\"")?;
            return Err(
                field.refused(format!("is not before the end; write less than the duration, \"{duration}\""))
            );
        }
        Ok(Traffic {
            path: field.path().to_owned(),
            name,
            count: table.optional("count", |field| field.whole(1, MOST_FLOWS))?.unwrap_or(1),
            from: table.optional("from", HostNames::read)?,
            to: table.optional("to", HostNames::read)?,
            start,
            kind: match kind {
                KindName::Bulk | KindName::NotYet => Kind::bulk(&table)?,
                KindName::Cbr => Kind::open_loop(&table, start, false)?,
                KindName::Poisson => Kind::open_loop(&table, start, true)?,
            },
        })
    }
}

impl HostNames {
    /// A name, or a list of names.
    pub(crate) fn read(field: &Field<'_>) -> Result<HostNames> {
        let names = field.one_or_many();
        let names: Vec<String> =
            names.iter().map(|name| name.text().map(str::to_owned)).collect::<Result<_>>()?;
        if names.is_empty() {
            return Err(field.wrong("an empty list; write at least one name"));
        }
        Ok(HostNames { path: field.path().to_owned(), names })
    }
}

impl Kind {
    fn bulk(table: &Table<'_>) -> Result<Kind> {
        let (tcp, profile) = match table.get("tcp") {
            Some(field) => tcp::read(&field)?,
            None => (Config::new(Profile::Rfc), Profile::Rfc),
        };
        let packets = table.optional("size", |field| field.packets(tcp.payload, true, u64::MAX))?;
        Ok(Kind::Bulk { tcp: Box::new(tcp), profile, packets })
    }

    fn open_loop(table: &Table<'_>, start: Range<Span>, poisson: bool) -> Result<Kind> {
        let bytes = table.required("packet", "\"1000 B\"")?.packet_bytes(1, MOST_PACKET)?;
        let header = table.optional("header", |field| field.packet_bytes(0, bytes))?.unwrap_or(0);
        let stop = table.optional("stop", |field| match field.span()? {
            stop if stop <= start.low => {
                Err(field.refused(format!("is not after the start; write more than \"{}\"", start.low)))
            }
            stop => Ok(stop),
        })?;
        let field = table.required("rate", "\"1 Mbit/s\"")?;
        let rate = field.rates()?;
        let most = u64::from(bytes) * 8_000_000_000;
        if rate.high.bits_per_second() > most {
            let most = Rate::from_bits_per_second(most);
            return Err(
                field.refused(format!("is more than a packet a nanosecond; write at most \"{most}\""))
            );
        }
        Ok(Kind::OpenLoop { poisson, rate, bytes, payload: bytes - header, stop })
    }
}

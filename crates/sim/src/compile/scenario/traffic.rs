//! `[[traffic]]`: what hosts send to each other.

mod dialogue;
mod file;
mod open_loop;

use std::sync::Arc;

use paceline_core::Span;
use paceline_core::queue::CLASSES;
use paceline_tcp::config::{Config, Profile};

use super::names::NameList;
use super::tcp;
use crate::input::keys::{self, Key, NAMES, Way, key, needed, words};
use crate::input::{Field, Range, Result, Table};
use crate::workload::{self, DIALOGUES};

pub(crate) use self::dialogue::{DialogueTraffic, Script};
pub(crate) use self::open_loop::OpenLoop;

/// More flows than this are a slip of the pen.
pub(crate) const MOST_FLOWS: u64 = 10_000_000;

/// Keys of every kind.
const KEYS: [Key; 7] = [
    key("name", keys::Kind::Text, "its flows are name.0, name.1, …; the kind unless given"),
    needed("kind", keys::Kind::Word(|| words(&Listed::all())), "what it sends"),
    COUNT,
    key(
        "from",
        NAMES,
        "sending hosts: names, groups or wildcards; all that send in the template unless given",
    ),
    key("to", NAMES, "receiving hosts: names, groups or wildcards; each sender's partner unless given"),
    key("start", keys::Kind::Times, "when each flow starts, drawn for each; at the start unless given"),
    key(
        "class",
        keys::Kind::Whole(0, CLASSES as u64 - 1),
        "of its packets, for queues that tell classes apart; 0 unless given",
    ),
];
const COUNT: Key =
    key("count", keys::Kind::Whole(1, MOST_FLOWS), "flows for each pair of hosts; 1 unless given");
const BULK_KEYS: [Key; 2] = [
    TCP,
    key(
        "size",
        keys::Kind::BytesOrPackets,
        "what each flow sends, bytes of payload or packets; without end unless given",
    ),
];
/// Of every kind that is TCP.
const TCP: Key = key(
    "tcp",
    keys::Kind::Ways("tcp", || vec![Way::of(tcp::keys())]),
    "settings of its connections, as `paceline explain tcp` lists them",
);

/// `[[traffic]]`, one way a kind.
pub(super) const ALL: keys::Kind = keys::Kind::List(&keys::Kind::Ways("traffic", || {
    let way = |(name, listed): (&'static str, Listed)| {
        let common = KEYS.into_iter().filter(|key| listed.has(key));
        Way::with("kind", keys::Kind::Just(name, listed.summary()), common.chain(listed.keys()).collect())
    };
    Listed::all().into_iter().map(way).collect()
}));

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
    pub(crate) from: Option<NameList>,
    /// Names of receiving hosts or groups; `None` is the partner of each sender.
    pub(crate) to: Option<NameList>,
    /// When each flow starts, drawn once for each.
    pub(crate) start: Range<Span>,
    /// Of its packets, for queues that tell classes apart.
    pub(crate) class: u8,
    /// What it sends.
    pub(crate) kind: Kind,
}

/// What a flow sends.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a scenario has few of them")]
pub(crate) enum Kind {
    /// TCP, for ever or for so many packets.
    Bulk {
        /// Unpaced.
        tcp: Arc<Config>,
        /// The profile that the settings came from.
        profile: Profile,
        /// Packets to send.
        packets: Option<u64>,
    },
    /// Packets without feedback.
    OpenLoop(OpenLoop),
    /// TCP, as applications ask for it.
    Dialogue(DialogueTraffic),
}

/// What reads a table: it gets its range of starts, and the duration.
type Reader = fn(&Table<'_>, Range<Span>, Span) -> Result<Kind>;

/// A kind by its name in a scenario.
struct Row {
    name: &'static str,
    /// What it is, in a line.
    summary: &'static str,
    keys: &'static [Key],
    read: Reader,
}

/// Beside them there are [`DIALOGUES`].
const KINDS: [Row; 7] = [
    Row {
        name: "bulk",
        summary: "TCP, without end or for so much",
        keys: &BULK_KEYS,
        read: |table, _, _| Kind::bulk(table),
    },
    Row {
        name: "cbr",
        summary: "packets at equal gaps",
        keys: &open_loop::STEADY_KEYS,
        read: |table, start, _| open(OpenLoop::steady(table, start, false)),
    },
    Row {
        name: "poisson",
        summary: "packets at exponential gaps",
        keys: &open_loop::STEADY_KEYS,
        read: |table, start, _| open(OpenLoop::steady(table, start, true)),
    },
    Row {
        name: "on-off",
        summary: "packets at equal gaps while on, and nothing while off",
        keys: &open_loop::ON_OFF_KEYS,
        read: |table, start, _| open(OpenLoop::on_off(table, start)),
    },
    Row {
        name: "self-similar",
        summary: "packets at the rate of fractional Gaussian noise, slot by slot",
        keys: &open_loop::SELF_SIMILAR_KEYS,
        read: |table, start, end| open(OpenLoop::self_similar(table, start, end)),
    },
    Row {
        name: "pcap",
        summary: "the packets of a capture, at their times and sizes",
        keys: &open_loop::PCAP_KEYS,
        read: |table, start, end| open(OpenLoop::pcap(table, start, end)),
    },
    Row {
        name: CVEC,
        summary: "connections that were measured, played again",
        keys: &dialogue::CVEC_KEYS,
        read: |table, _, end| DialogueTraffic::cvec(table, end).map(Kind::Dialogue),
    },
];

/// One of all kinds.
#[derive(Clone, Copy)]
enum Listed {
    Kind(&'static Row),
    Dialogue(&'static workload::Row),
}

impl Listed {
    fn all() -> Vec<(&'static str, Listed)> {
        let kinds = KINDS.iter().map(|row| (row.name, Listed::Kind(row)));
        kinds.chain(DIALOGUES.iter().map(|row| (row.name, Listed::Dialogue(row)))).collect()
    }

    fn summary(self) -> &'static str {
        match self {
            Listed::Kind(row) => row.summary,
            Listed::Dialogue(row) => row.summary,
        }
    }

    fn keys(self) -> Vec<Key> {
        match self {
            Listed::Kind(row) => row.keys.to_vec(),
            Listed::Dialogue(row) => row.keys.iter().copied().chain([TCP]).collect(),
        }
    }

    /// Whether it has a key of those of every kind: a file lists its connections, and has no `count`.
    fn has(self, key: &Key) -> bool {
        key.name != COUNT.name || !matches!(self, Listed::Kind(Row { name: CVEC, .. }))
    }

    fn read(self, table: &Table<'_>, start: Range<Span>, duration: Span) -> Result<Kind> {
        match self {
            Listed::Kind(row) => (row.read)(table, start, duration),
            Listed::Dialogue(row) => {
                let talk = (row.read)(table);
                let tcp = dialogue::settings(table);
                DialogueTraffic::same(talk?, table, tcp).map(Kind::Dialogue)
            }
        }
    }
}
const CVEC: &str = "cvec";

fn open(read: Result<OpenLoop>) -> Result<Kind> {
    read.map(Kind::OpenLoop)
}

impl Traffic {
    /// Reads every `[[traffic]]`; names that are not given are the kind's, numbered from the second on.
    pub(crate) fn read_all(field: &Field<'_>, duration: Span) -> Result<Vec<Traffic>> {
        let mut all: Vec<Traffic> = Vec::new();
        let read = field.each(|field| {
            let traffic = Traffic::read(field, duration, &all)?;
            all.push(traffic);
            Ok(())
        })?;
        if read.is_empty() {
            return Err(field.wrong("no traffic; write at least one [[traffic]] table"));
        }
        Ok(all)
    }

    fn read(field: &Field<'_>, duration: Span, before: &[Traffic]) -> Result<Traffic> {
        let table = field.open()?;
        let kind_field = table.required("kind", "\"bulk\"")?;
        let kind_text = kind_field.text()?;
        let listed = kind_field.choice(&Listed::all())?;
        let common = KEYS.into_iter().filter(|key| listed.has(key));
        table.only(&common.chain(listed.keys()).collect::<Vec<_>>())?;
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
            from: table.optional("from", NameList::read)?,
            to: table.optional("to", NameList::read)?,
            start,
            class: table.optional("class", |field| field.whole(0, CLASSES as u64 - 1))?.unwrap_or(0) as u8,
            kind: listed.read(&table, start, duration)?,
        })
    }
}

impl Kind {
    fn bulk(table: &Table<'_>) -> Result<Kind> {
        let (tcp, profile) = dialogue::settings(table)?;
        let packets = table.optional("size", |field| field.packets(tcp.payload, true, u64::MAX))?;
        Ok(Kind::Bulk { tcp: Arc::new(tcp), profile, packets })
    }
}

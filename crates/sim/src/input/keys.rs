//! The keys of tables: what their readers take, and what an editor is told of them (`schema.rs` beside this).

use paceline_core::parameters::{Kind as ParameterKind, Parameter};

/// A key of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    /// As a scenario writes it.
    pub(crate) name: &'static str,
    /// What its reader takes.
    pub(crate) kind: Kind,
    /// What it is, in a line.
    pub(crate) doc: &'static str,
    /// It must be there.
    pub(crate) is_needed: bool,
}

/// A key that may be left out.
pub(crate) const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, doc, is_needed: false }
}

/// A key that must be there.
pub(crate) const fn needed(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, doc, is_needed: true }
}

impl From<&Parameter> for Key {
    /// One of a pacer or a queue discipline. Which of them are needed depends on the others.
    fn from(parameter: &Parameter) -> Key {
        key(parameter.name, Kind::Parameter(parameter.kind), parameter.doc)
    }
}

/// What the reader of a key takes. Bounds that other keys or the network set are not told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Anything at all.
    Any,
    /// Text.
    Text,
    /// `true` or `false`.
    Flag,
    /// `false`, for none.
    False,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// One of these words, perhaps a space and more.
    Spelt(fn() -> Vec<&'static str>),
    /// This word; what it stands for, in a line.
    Just(&'static str, &'static str),
    /// This word, a space and more.
    SpeltOut(&'static str),
    /// A time.
    Time,
    /// A time, or a range of times.
    Times,
    /// A rate.
    Rate,
    /// A rate, or a range of rates.
    Rates,
    /// An amount of data.
    Bytes,
    /// A range of amounts of data, or one.
    ByteRange,
    /// An amount of data, or a number of packets.
    BytesOrPackets,
    /// An amount of data, a number of packets, or a multiple of the bandwidth-delay product.
    Buffer,
    /// A parameter of a pacer or a queue discipline.
    Parameter(ParameterKind),
    /// A list.
    List(&'static Kind),
    /// A list with these, in this order.
    Tuple(&'static [Kind]),
    /// One, or a list of them.
    OneOrMany(&'static Kind),
    /// Any of these.
    Either(&'static [Kind]),
    /// A table with these keys. What has a name is described once.
    Table(&'static str, &'static [Key]),
    /// A table that may be written in several ways.
    Ways(&'static str, fn() -> Vec<Way>),
    /// A table with these keys, or a list of them.
    TablesOf(&'static [Key]),
    /// A table with any keys.
    Open,
}

/// A name, or a list of names.
pub(crate) const NAMES: Kind = Kind::OneOrMany(&Kind::Text);

/// One way to write a table.
#[derive(Debug)]
pub(crate) struct Way {
    /// The key that tells it from the others, and what is written there. Without one it is known by a key that it needs and no other has.
    pub(crate) tag: Option<(&'static str, Kind)>,
    pub(crate) keys: Vec<Key>,
}

impl Way {
    /// The only one, or one that is known by a key that it needs.
    pub(crate) fn of(keys: Vec<Key>) -> Way {
        Way { tag: None, keys }
    }

    /// With this at a key.
    pub(crate) fn with(name: &'static str, kind: Kind, keys: Vec<Key>) -> Way {
        Way { tag: Some((name, kind)), keys }
    }
}

/// The names in a list of choices.
pub(crate) fn words<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(name, _)| *name).collect()
}

/// The names of keys.
pub(crate) fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// Keys that these lists have, each once, as `kind` where they differ.
pub(crate) fn merged(lists: impl IntoIterator<Item = Key>, kind: Kind) -> Vec<Key> {
    let mut all: Vec<Key> = Vec::new();
    for one in lists {
        if all.iter().all(|other| other.name != one.name) {
            all.push(Key { kind, is_needed: false, ..one });
        }
    }
    all
}

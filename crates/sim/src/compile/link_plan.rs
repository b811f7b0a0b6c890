//! A link's table: rate, delay, buffers.

use paceline_core::policer::PolicerSpec;
use paceline_core::queue::{self, Counts, DISCIPLINES, Limit, QueueSpec, Ties};
use paceline_core::{Rate, Span};
use serde_json::{Value, json};

use super::parameters::Named;
use crate::input::keys::{Key, Kind, Way, key, needed, words};
use crate::input::{BufferSize, Field, Range, Result, Table, any_of, suggestion};
use crate::network::{JitterShape, JitterSpec, VaryingRate};
use crate::varying::VARYING;

/// Keys of every link's table.
const KEYS: [Key; 11] = [
    needed(
        "rate",
        Kind::Either(&[Kind::Rates, VARYING]),
        "of serialisation; a range is drawn once a link, a table says how it varies",
    ),
    needed("delay", Kind::Times, "propagation; a range is drawn once a link"),
    key("jitter", Kind::Table("jitter", &JITTER_KEYS), "a delay beside it, drawn for each packet"),
    key("buffer", Kind::Buffer, "what may wait in the forward direction; unlimited unless given"),
    key("counts", COUNTS, "what its limits count; the network's unless given"),
    key("ties", TIES, "who goes first where a packet arrives as another leaves; the network's unless given"),
    key(
        "queue",
        Kind::Either(&[Kind::Word(discipline_names), Kind::Ways("queue", disciplines)]),
        "the queue discipline, or a table with its parameters; drop-tail unless given",
    ),
    key("drop", Kind::Word(|| words(&DROPS)), "tail and front say queue = drop-tail and drop-front"),
    key(
        "police",
        Kind::Table("policer", &POLICER_KEYS),
        "a policer in the forward direction: a token bucket that drops",
    ),
    key("pacer_buffer", Kind::Buffer, "what a pacer before it may hold; unlimited unless given"),
    key(REVERSE_BUFFER, Kind::Buffer, "what may wait in the reverse direction; unlimited unless given"),
];
const REVERSE_BUFFER: &str = "reverse_buffer";
/// Of `[network]` too.
pub(crate) const COUNTS: Kind = Kind::Word(|| words(Counts::ALL));
pub(crate) const TIES: Kind = Kind::Word(|| words(Ties::ALL));
const JITTER_KEYS: [Key; 4] = [
    needed("mean", Kind::Time, "of what is added"),
    needed(
        "spread",
        Kind::Time,
        "half the width of the uniform distribution, or the standard deviation of the normal one; the mean at most",
    ),
    key("shape", Kind::Word(|| words(JitterShape::ALL)), "of the distribution; uniform unless given"),
    key("reorder", Kind::Flag, "packets may overtake each other; false unless given"),
];
const POLICER_KEYS: [Key; 2] = [
    needed("rate", Kind::Rate, "at which tokens flow in"),
    needed("burst", Kind::Bytes, "tokens that the bucket holds"),
];
const DROPS: [(&str, &str); 2] = [("tail", "drop-tail"), ("front", "drop-front")];

/// A link's table.
pub(crate) const LINK: Kind = Kind::Ways("link", || vec![Way::of(LinkPlan::keys(&[]))]);
/// The table of a way back.
pub(crate) const WAY_BACK: Kind = Kind::Ways("way-back", || vec![Way::of(way_back_keys())]);

fn way_back_keys() -> Vec<Key> {
    KEYS.into_iter().filter(|key| key.name != REVERSE_BUFFER).collect()
}

fn discipline_names() -> Vec<&'static str> {
    DISCIPLINES.iter().map(|row| row.name).collect()
}

/// Of each, `discipline` and its parameters.
fn disciplines() -> Vec<Way> {
    let way = |row: &'static queue::Row| {
        Way::with(DISCIPLINE.name, Kind::Just(row.name, row.summary), discipline_keys(row))
    };
    DISCIPLINES.iter().map(way).collect()
}

const DISCIPLINE: Key = needed("discipline", Kind::Word(discipline_names), "its name");

fn discipline_keys(row: &queue::Row) -> Vec<Key> {
    [DISCIPLINE].into_iter().chain(row.parameters.iter().map(Key::from)).collect()
}

/// What `[network]` sets for all its links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Defaults {
    /// What buffers count.
    pub(crate) counts: Counts,
    /// Who goes first where a packet arrives as another leaves; where it is not given, that depends on what the buffer counts.
    pub(crate) ties: Option<Ties>,
    /// How long the run is, for means over it.
    pub(crate) duration: Span,
}

impl Defaults {
    /// Reads them from `[network]`, and the duration from the file, which is wrong elsewhere if it is.
    pub(crate) fn read(network: &Table<'_>, file: &Table<'_>) -> Result<Self> {
        let counts = network.optional("counts", |field| field.choice(Counts::ALL))?;
        let ties = network.optional("ties", |field| field.choice(Ties::ALL))?;
        let duration = file.get("duration").and_then(|field| field.positive_span().ok());
        let duration = duration.unwrap_or(Span::from_millis(3_600_000));
        Ok(Defaults { counts: counts.unwrap_or_default(), ties, duration })
    }
}

/// A link as a scenario describes it; ranges are drawn once for each link.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkPlan {
    /// Where it is written: `network.core`.
    pub(crate) path: String,
    /// Serialisation rate; of one that varies, its mean.
    pub(crate) rate: Range<Rate>,
    /// How it varies.
    pub(crate) varying: Option<VaryingRate>,
    /// Propagation delay.
    pub(crate) delay: Range<Span>,
    /// What is added to it, packet by packet.
    pub(crate) jitter: Option<JitterSpec>,
    /// The forward direction's buffer; `None` is unlimited.
    pub(crate) buffer: Option<BufferSize>,
    /// The other direction's buffer; `None` is unlimited.
    pub(crate) reverse_buffer: Option<BufferSize>,
    /// What a pacer in front of it may hold; `None` is unlimited.
    pub(crate) pacer_buffer: Option<BufferSize>,
    /// The forward direction's policer.
    pub(crate) policer: Option<PolicerSpec>,
    /// What the limits count.
    pub(crate) counts: Counts,
    /// Who goes first where a packet arrives as another leaves.
    pub(crate) ties: Ties,
    /// The queue discipline.
    pub(crate) discipline: Named,
}

impl LinkPlan {
    /// Of a link's table, and `more`.
    pub(crate) fn keys(more: &[Key]) -> Vec<Key> {
        [&KEYS, more].concat()
    }

    /// Reads a link's table, which may also have the keys in `more`.
    pub(crate) fn read<'a>(
        field: &Field<'a>,
        more: &[Key],
        defaults: &Defaults,
    ) -> Result<(Table<'a>, LinkPlan)> {
        let table = field.table(&LinkPlan::keys(more))?;
        let plan = LinkPlan::from_table(field, &table, defaults)?;
        Ok((table, plan))
    }

    /// Reads the table of a way back, which has none itself.
    pub(crate) fn read_way_back(field: &Field<'_>, defaults: &Defaults) -> Result<LinkPlan> {
        LinkPlan::from_table(field, &field.table(&way_back_keys())?, defaults)
    }

    fn from_table(field: &Field<'_>, table: &Table<'_>, defaults: &Defaults) -> Result<LinkPlan> {
        let counts = table.optional("counts", |field| field.choice(Counts::ALL))?.unwrap_or(defaults.counts);
        let ties = table.optional("ties", |field| field.choice(Ties::ALL))?.or(defaults.ties);
        let rate = table.needs("rate", "\"100 Mbit/s\"", |field| rate(field, defaults.duration));
        let delay = table.needs("delay", "\"10 ms\"", Field::spans);
        let waits = matches!(&rate, Ok((_, Some(varying))) if varying.waits_when_idle());
        if waits && counts != Counts::Waiting {
            let by = counts.name();
            let what =
                format!("is by a trace, and the buffer counts by \"{by}\"; write counts = \"waiting\"");
            return Err(table.required("rate", "")?.wrong(what));
        }
        let (rate, delay) = (rate?, delay?);
        Ok(LinkPlan {
            path: field.path().to_owned(),
            buffer: table.optional("buffer", Field::buffer)?,
            reverse_buffer: table.optional("reverse_buffer", Field::buffer)?,
            pacer_buffer: table.optional("pacer_buffer", Field::buffer)?,
            policer: table.optional("police", policer)?,
            jitter: table.optional("jitter", jitter)?,
            counts,
            ties: ties.unwrap_or(if counts == Counts::Ns2 { Ties::Ns2 } else { Ties::Random }),
            discipline: discipline(table)?,
            rate: rate.0,
            varying: rate.1,
            delay,
        })
    }

    /// One of its buffers, once sizes are known; `bdp` returns one bandwidth-delay product, in bytes.
    pub(crate) fn queue(
        &self,
        size: Option<BufferSize>,
        rate: Rate,
        bdp: impl FnOnce() -> Result<u64>,
    ) -> Result<QueueSpec> {
        let limit = size.map(|size| LinkPlan::limit(size, bdp)).transpose()?;
        let discipline = self.discipline.on_link(|| format!("{}.queue", self.path), rate, queue::parse)?;
        Ok(QueueSpec { limit, counts: self.counts, discipline, ties: self.ties })
    }

    /// A size, bytes or packets.
    pub(crate) fn limit(size: BufferSize, bdp: impl FnOnce() -> Result<u64>) -> Result<Limit> {
        Ok(match size {
            BufferSize::Bytes(bytes) => Limit::Bytes(bytes.count()),
            BufferSize::Packets(packets) => Limit::Packets(packets),
            BufferSize::Bdp(multiple) => Limit::Bytes((multiple * bdp()? as f64) as u64),
        })
    }
}

/// A rate or a range of rates; or how it varies in a run of this duration, and its mean.
fn rate(field: &Field<'_>, duration: Span) -> Result<(Range<Rate>, Option<VaryingRate>)> {
    if !matches!(field.value(), Value::Object(_)) {
        return Ok((field.rates()?, None));
    }
    let varying = VaryingRate::read(field)?;
    let mean = varying.mean(duration);
    Ok((Range { low: mean, high: mean }, Some(varying)))
}

/// `jitter = { mean = "2 ms", spread = "1 ms", shape = "normal", reorder = true }`.
fn jitter(field: &Field<'_>) -> Result<JitterSpec> {
    let table = field.table(&JITTER_KEYS)?;
    let mean = table.needs("mean", "\"2 ms\"", Field::positive_span);
    let spread = table.needs("spread", "\"1 ms\"", Field::positive_span)?;
    let (mean, shape) = (mean?, table.optional("shape", |field| field.choice(JitterShape::ALL))?);
    if spread > mean {
        let what = format!("is above the mean, and no delay is below zero; write \"{mean}\" at most");
        return Err(table.required("spread", "")?.refused(what));
    }
    let reorder = table.optional("reorder", Field::flag)?.unwrap_or(false);
    Ok(JitterSpec { mean, spread, shape: shape.unwrap_or_default(), reorder })
}

/// `police = { rate = "10 Mbit/s", burst = "15 KB" }`.
fn policer(field: &Field<'_>) -> Result<PolicerSpec> {
    let table = field.table(&POLICER_KEYS)?;
    let rate = table.needs("rate", "\"10 Mbit/s\"", Field::one_of);
    let burst = table.needs("burst", "\"15 KB\"", Field::one_of)?;
    Ok(PolicerSpec { rate: rate?, burst })
}

/// `queue = "drop-front"`, or a table with `discipline` and its parameters; of the two FIFOs `drop = "front"` says the same.
fn discipline(table: &Table<'_>) -> Result<Named> {
    let drop = table.optional("drop", |field| field.choice(&DROPS))?;
    let Some(field) = table.get("queue") else { return Named::read(drop.unwrap_or("drop-tail"), &[], table) };
    if drop.is_some() {
        return Err(field.wrong("drop says it already; write one of the two"));
    }
    let spelt_out = match field.value() {
        Value::String(_) => json!({ "discipline": field.value() }),
        _ => field.value().clone(),
    };
    let own = field.standing_for(&spelt_out).open()?;
    let name = own.required(DISCIPLINE.name, "\"drop-tail\"")?;
    let row = DISCIPLINES.iter().find(|row| name.value().as_str() == Some(row.name)).ok_or_else(|| {
        let names = || discipline_names().into_iter();
        let what =
            suggestion(name.value().as_str().unwrap_or(""), names(), || format!("write {}", any_of(names())));
        name.refused(format!("is no queue discipline; {what}"))
    })?;
    own.only(&discipline_keys(row))?;
    let keys: Vec<&str> = row.parameters.iter().map(|parameter| parameter.name).collect();
    let named = Named::read(row.name, &keys, &own)?;
    named.check(&own, queue::parse)?;
    Ok(named)
}

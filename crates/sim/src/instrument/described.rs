//! The interface of instruments: what a kind says of itself, and where its observers stand.

use super::classes::{Classes, NamedFlow};
use super::observer::Observer;
use crate::input::keys::{Key, Kind, key, words};
use crate::input::{Result, Table};
use crate::kernel::ids::{FlowId, LinkId};
use paceline_core::{Instant, Span};
use std::fmt::Debug;
use std::sync::Arc;

/// A kind of instrument that a table of `[probes]` describes.
pub(crate) trait Described: Sized {
    /// The keys of its table. With `links` it stands on links: those named, or the core.
    const KEYS: &'static [Key];
    /// It shows what happens over time, from the start of the run; else a distribution, from where the statistics begin.
    const IS_OVER_TIME: bool = false;

    /// Reads them, for a time watched.
    fn read(table: &Table<'_>, watched: (Instant, Instant)) -> Result<Self>;

    /// What is measured, and at which link; `None` is measured at flows.
    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>>;
}

/// What is measured, and at which link; `None` is measured at flows.
pub(crate) type Placed = (Option<LinkId>, Arc<dyn Measure>);

/// What an instrument is placed on.
pub(crate) struct Placing<'a> {
    /// Where its table is written: `probes.window`.
    pub(crate) path: &'a str,
    pub(crate) watched: (Instant, Instant),
    /// Those named, or the core.
    pub(crate) links: &'a [LinkId],
    pub(crate) has_named_links: bool,
    pub(crate) flows: &'a [NamedFlow<'a>],
    /// The mean propagation round-trip time of the flows over a link, if there are any.
    pub(crate) round_trip: &'a dyn Fn(LinkId) -> Option<Span>,
}

impl Placing<'_> {
    /// The same on each link.
    pub(crate) fn on_links(&self, measure: impl Measure + 'static) -> Vec<Placed> {
        let measure: Arc<dyn Measure> = Arc::new(measure);
        self.links.iter().map(|link| (Some(*link), Arc::clone(&measure))).collect()
    }
}

/// One for all flows.
pub(crate) fn at_flows(measure: impl Measure + 'static) -> Vec<Placed> {
    vec![(None, Arc::new(measure))]
}

/// A measurement over part of a run. Times of packets are their own: a packet may pass a link ahead of simulated time.
#[derive(Debug, Clone)]
pub struct Instrument {
    /// Its key in `[probes]`.
    pub key: &'static str,
    /// At which link; `None` is measured at flows.
    pub link: Option<LinkId>,
    /// From when.
    pub from: Instant,
    /// Until when.
    pub to: Instant,
    pub(crate) what: Arc<dyn Measure>,
}

impl Instrument {
    /// Which flows it reads by name, and how often: see [`Measure::sampling`].
    pub fn sampling(&self) -> (Vec<FlowId>, Option<Span>) {
        self.what.sampling()
    }
}

/// What an instrument measures, with every name found and every default filled in.
pub(crate) trait Measure: Debug + Send + Sync {
    /// What its observers see.
    fn view(&self) -> View;

    /// One of them, which watches from a time to another.
    fn observer(&self, watched: (Instant, Instant)) -> Box<dyn Observer>;

    /// How many points it keeps at most, over so many seconds; a flow sends so many packets. 0 are counters.
    fn points(&self, _seconds: f64, _packets: &dyn Fn(FlowId) -> f64) -> f64 {
        0.0
    }

    /// Which flows it reads by name, and how often, where it does that at regular times.
    fn sampling(&self) -> (Vec<FlowId>, Option<Span>) {
        (Vec::new(), None)
    }
}

/// What an observer sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum View {
    /// Packets that pass the link, within the time watched.
    Link(Passing),
    /// Packets on the wire of the link, those included that were on it as the time watched began.
    Wire,
    /// Packets that the link drops.
    Drops,
    /// The senders of these flows, an observer each.
    Senders(Vec<FlowId>),
    /// Deliveries to flows of these classes.
    Deliveries(Classes),
    /// Payload that these flows have had delivered, at regular times.
    Samples { flows: Vec<FlowId>, every: Span },
    /// The flows' results.
    Results,
}

/// When a packet counts at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// As it reaches the link, whether it is dropped there or not.
    Arrival,
    /// As its serialisation begins.
    Departure,
}

impl Passing {
    const ALL: [(&'static str, Passing); 2] =
        [("arrival", Passing::Arrival), ("departure", Passing::Departure)];
    pub(crate) const AT: Key = key(
        "at",
        Kind::Word(|| words(&Passing::ALL)),
        "a packet counts at its arrival, dropped or not, or as its serialisation begins; departure unless given",
    );

    /// The key `at`.
    pub(crate) fn read(table: &Table<'_>) -> Result<Passing> {
        let at = table.optional(Passing::AT.name, |field| field.choice(&Passing::ALL))?;
        Ok(at.unwrap_or(Passing::Departure))
    }
}

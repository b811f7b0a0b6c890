//! The tables of `[probes]` that switch instruments on: which time each watches, and where it stands.

use super::super::names::{NameList, Names};
use crate::input::{Field, Result};
use crate::instrument::classes::NamedFlow;
use crate::instrument::{Chosen, Instrument, Placing, Row, interval};
use crate::network::LinkId;
use paceline_core::{Instant, Span};

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChosenInstrument {
    /// Where it is written: `probes.window`.
    path: String,
    watched: (Instant, Instant),
    /// `None` is the core.
    links: Option<NameList>,
    what: Chosen,
}

impl ChosenInstrument {
    /// Reads the table of one kind.
    pub(super) fn read(row: &Row, field: &Field<'_>, warmup: Span, duration: Span) -> Result<Self> {
        let own = field.open()?;
        own.only(row.keys)?;
        // What happens over time is shown from the start; distributions begin where the statistics do.
        let start = if row.is_over_time { Span::ZERO } else { warmup };
        let watched = interval(&own, start, duration)?;
        let links = own.optional("links", NameList::read)?;
        let what = (row.read)(&own, watched)?;
        Ok(ChosenInstrument { path: own.path().to_owned(), watched, links, what })
    }

    /// One for each link, or one for all flows.
    pub(super) fn place(
        &self,
        (names, core): (&Names<'_>, LinkId),
        flows: &[NamedFlow<'_>],
        round_trip: &dyn Fn(LinkId) -> Option<Span>,
    ) -> Result<Vec<Instrument>> {
        let links = self.links.as_ref().map_or_else(|| Ok(vec![core]), |named| names.links(named))?;
        self.what.place(&Placing {
            path: &self.path,
            watched: self.watched,
            links: &links,
            has_named_links: self.links.is_some(),
            flows,
            round_trip,
        })
    }
}

//! A link's table: rate, delay, buffers.

use paceline_core::queue::{Counts, Limit, QueueSpec, Ties};
use paceline_core::{Rate, Span};

use crate::compile::input::{BufferSize, Field, Range, Result, Table};

/// Keys of every link's table.
const KEYS: [&str; 8] =
    ["rate", "delay", "buffer", "counts", "ties", "drop", "pacer_buffer", "reverse_buffer"];

/// What `[network]` sets for all its links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Defaults {
    /// What buffers count.
    pub(crate) counts: Counts,
    /// Who goes first where a packet arrives as another leaves; where it is not given, that depends on what the buffer counts.
    pub(crate) ties: Option<Ties>,
}

impl Defaults {
    /// Reads them from `[network]`.
    pub(crate) fn read(network: &Table<'_>) -> Result<Self> {
        let counts = network.optional("counts", |field| field.choice(Counts::ALL))?;
        let ties = network.optional("ties", |field| field.choice(Ties::ALL))?;
        Ok(Defaults { counts: counts.unwrap_or_default(), ties })
    }
}

/// A link as a scenario describes it; ranges are drawn once for each link.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkPlan {
    /// Where it is written: `network.core`.
    pub(crate) path: String,
    /// Serialisation rate.
    pub(crate) rate: Range<Rate>,
    /// Propagation delay.
    pub(crate) delay: Range<Span>,
    /// The forward direction's buffer; `None` is unlimited.
    pub(crate) buffer: Option<BufferSize>,
    /// The other direction's buffer; `None` is unlimited.
    pub(crate) reverse_buffer: Option<BufferSize>,
    /// What a pacer in front of it may hold; `None` is unlimited.
    pub(crate) pacer_buffer: Option<BufferSize>,
    /// What the limits count.
    pub(crate) counts: Counts,
    /// Who goes first where a packet arrives as another leaves.
    pub(crate) ties: Ties,
    /// Drop what has waited longest, not what arrives.
    pub(crate) drop_front: bool,
}

impl LinkPlan {
    /// Reads a link's table, which may also have the keys in `more`.
    pub(crate) fn read<'a>(
        field: &Field<'a>,
        more: &[&str],
        defaults: &Defaults,
    ) -> Result<(Table<'a>, LinkPlan)> {
        let table = field.table(&[&KEYS, more].concat())?;
        let plan = LinkPlan::from_table(field, &table, defaults)?;
        Ok((table, plan))
    }

    /// Reads the table of a way back, which has none itself.
    pub(crate) fn read_way_back(field: &Field<'_>, defaults: &Defaults) -> Result<LinkPlan> {
        let keys: Vec<&str> = KEYS.into_iter().filter(|key| *key != "reverse_buffer").collect();
        LinkPlan::from_table(field, &field.table(&keys)?, defaults)
    }

    fn from_table(field: &Field<'_>, table: &Table<'_>, defaults: &Defaults) -> Result<LinkPlan> {
        let counts = table.optional("counts", |field| field.choice(Counts::ALL))?.unwrap_or(defaults.counts);
        let ties = table.optional("ties", |field| field.choice(Ties::ALL))?.or(defaults.ties);
        let rate = table.needs("rate", "\"100 Mbit/s\"", Field::rates);
        let delay = table.needs("delay", "\"10 ms\"", Field::spans);
        Ok(LinkPlan {
            path: field.path().to_owned(),
            buffer: table.optional("buffer", Field::buffer)?,
            reverse_buffer: table.optional("reverse_buffer", Field::buffer)?,
            pacer_buffer: table.optional("pacer_buffer", Field::buffer)?,
            counts,
            ties: ties.unwrap_or(if counts == Counts::Ns2 { Ties::Ns2 } else { Ties::Random }),
            drop_front: table
                .optional("drop", |field| field.choice(&[("tail", false), ("front", true)]))?
                .unwrap_or(false),
            rate: rate?,
            delay: delay?,
        })
    }

    /// One of its buffers, once sizes are known; `bdp` returns one bandwidth-delay product, in bytes.
    pub(crate) fn queue(
        &self,
        size: Option<BufferSize>,
        bdp: impl FnOnce() -> Result<u64>,
    ) -> Result<QueueSpec> {
        let limit = match size {
            None => None,
            Some(BufferSize::Bytes(bytes)) => Some(Limit::Bytes(bytes.count())),
            Some(BufferSize::Packets(packets)) => Some(Limit::Packets(packets)),
            Some(BufferSize::Bdp(multiple)) => Some(Limit::Bytes((multiple * bdp()? as f64) as u64)),
        };
        Ok(QueueSpec { limit, counts: self.counts, drop_front: self.drop_front, ties: self.ties })
    }
}

//! How much a queue may hold, what that counts, and the one rule of admission.
//!
//! *References.* ns-2 2.35, `queue/drop-tail.cc`, for [`Counts::Ns2`].

use std::fmt;

use super::discipline::Discipline;
use super::ties::Ties;
use crate::units::Bytes;
use crate::units::parse::BufferSize;

/// How much a queue may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// So many bytes.
    Bytes(u64),
    /// So many packets of any size.
    Packets(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Limit::Bytes(bytes) => BufferSize::Bytes(Bytes::new(bytes)).fmt(f),
            Limit::Packets(packets) => BufferSize::Packets(packets).fmt(f),
        }
    }
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Counts {
    /// What waits, the arrival included, but not what is on the wire. An idle link takes any packet.
    #[default]
    Waiting,
    /// What waits and what is on the wire, the arrival included, on an idle link too.
    WaitingAndService,
    /// What waits, the arrival included, must stay *below* the limit, on an idle link too.
    Ns2,
}

impl Counts {
    /// Every rule and its name in a scenario.
    pub const ALL: &'static [(&'static str, Counts)] =
        &[("waiting", Counts::Waiting), ("waiting+service", Counts::WaitingAndService), ("ns2", Counts::Ns2)];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Counts::Waiting => "waiting",
            Counts::WaitingAndService => "waiting+service",
            Counts::Ns2 => "ns2",
        }
    }

    /// The rule of that name.
    ///
    /// ```
    /// # use paceline_core::queue::Counts;
    /// assert_eq!(Counts::named("ns2"), Some(Counts::Ns2));
    /// assert_eq!(Counts::Waiting.name(), "waiting");
    /// ```
    pub fn named(name: &str) -> Option<Counts> {
        Counts::ALL.iter().find(|(listed, _)| *listed == name).map(|(_, counts)| *counts)
    }
}

/// A buffer as a network configures it; unlimited by default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueueSpec {
    /// How much it may hold; `None` is unlimited.
    pub limit: Option<Limit>,
    /// What the limit counts.
    pub counts: Counts,
    /// Which packet is served next, and which is dropped.
    pub discipline: Discipline,
    /// Who goes first where a packet arrives as another leaves; a queue that drops from its front lets departures go first.
    pub ties: Ties,
}

/// The admission rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// An arrival with which there would be so much is dropped.
    dropped_from: u64,
    pub(super) is_limited: bool,
    by_packets: bool,
    /// What is on the wire counts.
    with_service: bool,
    /// An idle link accepts any packet.
    spares_idle: bool,
}

/// What an arrival finds.
pub(super) struct Found {
    pub(super) waiting_bytes: u64,
    pub(super) waiting_packets: u64,
    /// Size of the packet on the wire; `None` on an idle link.
    pub(super) in_service: Option<u32>,
}

impl Rule {
    pub(super) fn new(spec: &QueueSpec) -> Self {
        let (most, by_packets) = match spec.limit {
            Some(Limit::Bytes(most)) => (most, false),
            Some(Limit::Packets(most)) => (most, true),
            None => (u64::MAX, false),
        };
        Rule {
            dropped_from: most.saturating_add(u64::from(spec.counts != Counts::Ns2)),
            is_limited: spec.limit.is_some(),
            by_packets,
            with_service: spec.counts == Counts::WaitingAndService,
            spares_idle: spec.counts == Counts::Waiting,
        }
    }

    /// Whether a packet of `bytes` must be dropped.
    #[inline(always)]
    pub(super) fn drops(&self, bytes: u32, found: &Found) -> bool {
        let Found { waiting_bytes, waiting_packets, in_service } = *found;
        let (waiting, this, served) = match self.by_packets {
            false => (waiting_bytes, u64::from(bytes), in_service.map_or(0, u64::from)),
            true => (waiting_packets, 1, u64::from(in_service.is_some())),
        };
        let all = waiting + this + if self.with_service { served } else { 0 };
        all >= self.dropped_from && !(self.spares_idle && in_service.is_none()) && self.is_limited
    }

    /// While the wire is busy, none of `bytes` is taken where more wait than this before it, all of that size. An idle one takes
    /// it, as it has taken one before.
    #[inline(always)]
    pub(super) fn most_waiting(&self, bytes: u32) -> u64 {
        let unit = if self.by_packets { 1 } else { u64::from(bytes.max(1)) };
        self.dropped_from.div_ceil(unit).saturating_sub(1 + u64::from(self.with_service))
    }
}

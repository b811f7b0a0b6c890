//! Instruments: what a table of `[probes]` measures while the network runs, one file a kind.
//!
//! *Idea.* A kind of instrument reads its own table ([`Described`]), and is placed at the links or flows that this names. So placed it is a
//! [`Measure`]: it says where its observers stand ([`View`]), makes them, and knows how much they keep. An [`Observer`] sees packets at a
//! link, or what a flow does, as it happens, and keeps counts and sums, never the packets: its memory is bounded by what is asked of
//! it. It knows neither engine nor network; `observe/instruments.rs` brings it what it sees.
//!
//! A kind of instrument is a file and a line in `instruments!`. Results stand in the order of that list.

mod auto_covariance;
mod bursts;
pub(crate) mod classes;
mod cumulative;
mod delay;
mod departures;
mod described;
mod distribution;
mod drop_events;
mod drops;
mod fairness;
mod intervals;
mod observer;
mod rate_variation;
mod rows;
mod sampling;
mod sojourn;
mod succession;
mod throughput;
mod transfers;
mod window;

use crate::input::keys::Key;
use crate::input::{Result, Table};
use paceline_core::Instant;

pub(crate) use self::departures::Departures;
pub use self::described::Instrument;
pub(crate) use self::described::{Described, Passing, Placing, View};
pub(crate) use self::observer::Observer;
pub use self::rows::{Curve, FlowRow, Point, SeriesKind, SeriesRow};
pub(crate) use self::sampling::{EVERY, FROM, TO, every, interval, next_of, sampling};

macro_rules! instruments {
    ($($name:literal => $Variant:ident($Described:ty): $summary:literal;)+) => {
        /// An instrument as its table describes it.
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) enum Chosen {
            $(#[doc = $summary] $Variant($Described),)+
        }

        /// The keys of the tables, in the order of the results.
        pub(crate) const INSTRUMENTS: &[Row] = &[$(Row {
            name: $name,
            summary: $summary,
            keys: <$Described as Described>::KEYS,
            is_over_time: <$Described as Described>::IS_OVER_TIME,
            read: |table, watched| <$Described as Described>::read(table, watched).map(Chosen::$Variant),
        },)+];

        impl Chosen {
            /// Its key in `[probes]`.
            fn name(&self) -> &'static str {
                match self {
                    $(Chosen::$Variant(_) => $name,)+
                }
            }

            /// The instrument at each link, or at flows.
            pub(crate) fn place(&self, placing: &Placing<'_>) -> Result<Vec<Instrument>> {
                let placed = match self {
                    $(Chosen::$Variant(described) => described.place(placing)?,)+
                };
                let (from, to) = placing.watched;
                let at = |(link, what)| Instrument { key: self.name(), link, from, to, what };
                Ok(placed.into_iter().map(at).collect())
            }
        }
    };
}

instruments! {
    "window" => Window(window::Windows): "cwnd, ssthresh and srtt of TCP flows";
    "rate_variation" => RateVariation(rate_variation::Scales): "coefficient of variation of a link's rate at dyadic scales";
    "auto_covariance" => AutoCovariance(auto_covariance::Lags): "auto-covariance of a link's rate";
    "succession" => Succession(succession::Successions): "how likely a packet of one class is followed by one of another on a link";
    "bursts" => Bursts(bursts::BurstRule): "sizes of bursts on a link";
    "drop_events" => DropEvents(drop_events::EventRule): "flows hit by each drop event of a link";
    "drops" => Drops(drops::DropsOf): "packets that links have dropped so far, by cause";
    "delay" => Delay(delay::DelaysOf): "delays from a packet's first transmission to its in-order delivery, or to its own first arrival";
    "sojourn" => Sojourn(sojourn::SojournsOf): "how long packets wait at a link before they are on the wire";
    "transfers" => Transfers(transfers::TransfersOf): "completion times of transfers";
    "fairness" => Fairness(fairness::SlidingWindow): "Jain's index of what flows got over a sliding window";
    "throughput" => Throughput(throughput::Throughput): "bytes that links have carried, and flows delivered, so far";
}

/// A kind of instrument as a scenario names it.
pub(crate) struct Row {
    /// Its key in `[probes]`.
    pub(crate) name: &'static str,
    /// What it measures, in a line.
    pub(crate) summary: &'static str,
    /// The keys of its table.
    pub(crate) keys: &'static [Key],
    /// See [`Described::IS_OVER_TIME`].
    pub(crate) is_over_time: bool,
    /// Reads a table.
    pub(crate) read: fn(&Table<'_>, (Instant, Instant)) -> Result<Chosen>,
}

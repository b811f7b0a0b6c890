//! How a link's rate varies: what a table at its `rate` describes, one file a kind.
//!
//! *Idea.* A kind reads its own table and says what its rate is on average and at most ([`RateModel`]). On one link it is at work as a [`Transmit`]:
//! the queue works step by step, and each time it lets a packet go the transmitter says until when it is busy. A rate that is constant for a
//! while at a time has only to say what comes next; [`pieces`] integrates it.
//!
//! A kind is a file and a line in `rate_models!`. The first of its keys tells it from the others.

mod markov;
mod pieces;
mod rate_model;
mod steps;
mod trace;

use self::rate_model::RateModel;
pub(crate) use self::rate_model::Transmit;
use crate::input::keys::{Key, Kind, Way, merged, names};
use crate::input::{Field, Result};
use crate::kernel::chance::Stream;
use paceline_core::{Instant, Rate, Span};

macro_rules! rate_models {
    ($($name:literal => $Variant:ident($Model:ty): $summary:literal;)+) => {
        /// What a link sends at, where that is not always the same.
        #[derive(Debug, Clone, PartialEq)]
        pub enum VaryingRate {
            $(#[doc = $summary] $Variant($Model),)+
        }

        /// What each kind's table is read by.
        const RATE_MODELS: &[Row] = &[$(Row {
            keys: <$Model as RateModel>::KEYS,
            example: <$Model as RateModel>::EXAMPLE,
            read: |field, keys| <$Model as RateModel>::read(&field.table(keys)?).map(VaryingRate::$Variant),
        },)+];

        impl VaryingRate {
            /// Its name where a scenario is laid open.
            pub fn name(&self) -> &'static str {
                match self {
                    $(VaryingRate::$Variant(_) => $name,)+
                }
            }

            /// Over so long a run; of what repeats, over a round, of what is drawn, over any time.
            pub fn mean(&self, duration: Span) -> Rate {
                let bps = match self {
                    $(VaryingRate::$Variant(model) => model.mean_bps(duration),)+
                };
                Rate::from_bits_per_second(u64::try_from(bps).unwrap_or(u64::MAX).max(1))
            }

            /// The highest, bit/s; [`u64::MAX`] where packets may leave at once.
            pub fn fastest(&self) -> u64 {
                match self {
                    $(VaryingRate::$Variant(model) => model.most_bps().max(1),)+
                }
            }

            /// A packet that comes to an idle link may have to wait.
            pub fn waits_when_idle(&self) -> bool {
                match self {
                    $(VaryingRate::$Variant(_) => <$Model as RateModel>::WAITS_WHEN_IDLE,)+
                }
            }

            /// At work on a link of this name.
            pub(crate) fn transmitter(&self, seed: u64, link: &str) -> Transmitter {
                let draws = Stream::of(seed, link, "rate");
                match self {
                    $(VaryingRate::$Variant(model) => Transmitter::$Variant(model.transmitter(draws)),)+
                }
            }
        }

        /// A varying rate at work on one link.
        #[derive(Debug)]
        pub(crate) enum Transmitter {
            $($Variant(<$Model as RateModel>::Transmitter),)+
        }

        impl Transmit for Transmitter {
            fn opens(&mut self, now: Instant) -> Instant {
                match self {
                    $(Transmitter::$Variant(transmitter) => transmitter.opens(now),)+
                }
            }

            fn send(&mut self, bytes: u16, start: Instant) -> (Instant, Instant) {
                match self {
                    $(Transmitter::$Variant(transmitter) => transmitter.send(bytes, start),)+
                }
            }

            fn bits_between(&mut self, from: Instant, to: Instant) -> f64 {
                match self {
                    $(Transmitter::$Variant(transmitter) => transmitter.bits_between(from, to),)+
                }
            }
        }
    };
}

rate_models! {
    "steps" => Steps(steps::Steps): "By a list.";
    "markov" => Markov(markov::Markov): "By a Markov chain in continuous time.";
    "trace" => Trace(trace::Trace): "By a trace as mahimahi has them.";
}

/// A kind as a scenario describes it.
struct Row {
    keys: &'static [Key],
    example: &'static str,
    read: fn(&Field<'_>, &[Key]) -> Result<VaryingRate>,
}

/// A table, one way a kind.
pub(crate) const VARYING: Kind =
    Kind::Ways("varying-rate", || RATE_MODELS.iter().map(|row| Way::of(row.keys.to_vec())).collect());

impl VaryingRate {
    /// Reads a table: the kind whose first key it has.
    pub(crate) fn read(field: &Field<'_>) -> Result<VaryingRate> {
        let keys = merged(RATE_MODELS.iter().flat_map(|row| row.keys.iter().copied()), Kind::Any);
        let table = field.table(&keys)?;
        let mut named = RATE_MODELS.iter().filter(|row| table.get(row.keys[0].name).is_some());
        let (Some(row), None) = (named.next(), named.next()) else {
            let mut ways = String::new();
            for (number, row) in RATE_MODELS.iter().enumerate() {
                let is_last = number + 1 == RATE_MODELS.len();
                ways += if number == 0 {
                    ""
                } else if is_last {
                    ", or "
                } else {
                    ", "
                };
                ways += row.example;
            }
            return Err(field.wrong(format!("does not say in one way how the rate varies; write {ways}")));
        };
        let own = names(row.keys);
        if let Some(other) =
            names(&keys).into_iter().filter(|key| !own.contains(key)).find_map(|key| table.get(key))
        {
            return Err(other.wrong(format!("has no meaning beside {}; leave it out", own[0])));
        }
        (row.read)(field, &keys)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod tests;

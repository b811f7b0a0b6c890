//! Rates that vary over time.

use paceline_core::units::NANOS_PER_SECOND;
use paceline_core::{Rate, Span};
use std::sync::Arc;

/// What a link sends at, where that is not always the same.
#[derive(Debug, Clone, PartialEq)]
pub enum VaryingRate {
    /// By a list.
    Steps {
        /// From when on, from the start or that of a round, and bit/s; zero is an outage. The first is at zero.
        steps: Arc<[(Span, u64)]>,
        /// The list begins again after so long.
        every: Option<Span>,
    },
    /// By a Markov chain in continuous time: bit/s of each state, and the mean of the exponential time in it. Each of the others is as likely next.
    Markov(Arc<[(u64, Span)]>),
    /// By a trace as mahimahi has them: at each of these milliseconds a packet of 1500 B may leave; the last is when it begins again.
    Trace(Arc<[u64]>),
}

impl VaryingRate {
    /// Bytes that a delivery opportunity of a trace carries, and those of a packet beside its own: mahimahi's `PACKET_SIZE`, and the header of
    /// its tun device.
    pub const OPPORTUNITY: u32 = 1504;
    /// See [`VaryingRate::OPPORTUNITY`].
    pub const TUN_HEADER: u32 = 4;

    /// Over so long a run; of what repeats, over a round, of what is drawn, over any time.
    pub fn mean(&self, duration: Span) -> Rate {
        let bps = match self {
            VaryingRate::Steps { steps, every } => {
                let all = every.unwrap_or(duration).as_nanos().max(1);
                let ends = steps.iter().skip(1).map(|(from, _)| from.as_nanos()).chain([all]);
                let sent = steps.iter().zip(ends).map(|((from, bps), end)| {
                    u128::from(*bps) * u128::from(end.min(all).saturating_sub(from.as_nanos()))
                });
                sent.sum::<u128>() / u128::from(all)
            }
            VaryingRate::Markov(states) => {
                let sent = states.iter().map(|(bps, hold)| u128::from(*bps) * u128::from(hold.as_nanos()));
                let all: u128 = states.iter().map(|(_, hold)| u128::from(hold.as_nanos())).sum();
                sent.sum::<u128>() / all.max(1)
            }
            VaryingRate::Trace(times) => {
                let packet = 8 * u128::from(Self::OPPORTUNITY - Self::TUN_HEADER);
                let last = times.last().copied().unwrap_or(1).max(1);
                times.len() as u128 * packet * u128::from(NANOS_PER_SECOND / 1_000_000) / u128::from(last)
            }
        };
        Rate::from_bits_per_second(u64::try_from(bps).unwrap_or(u64::MAX).max(1))
    }

    /// The highest, bit/s; by a trace packets may leave at once.
    pub fn fastest(&self) -> u64 {
        let most = |rates: &mut dyn Iterator<Item = u64>| rates.max().unwrap_or(1).max(1);
        match self {
            VaryingRate::Steps { steps, .. } => most(&mut steps.iter().map(|(_, bps)| *bps)),
            VaryingRate::Markov(states) => most(&mut states.iter().map(|(bps, _)| *bps)),
            VaryingRate::Trace(_) => u64::MAX,
        }
    }

    /// Its name where a scenario is laid open.
    pub fn name(&self) -> &'static str {
        match self {
            VaryingRate::Steps { .. } => "steps",
            VaryingRate::Markov(_) => "markov",
            VaryingRate::Trace(_) => "trace",
        }
    }
}

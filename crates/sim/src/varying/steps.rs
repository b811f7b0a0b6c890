//! A rate by a list of steps, which may begin again.

use super::pieces::{Pieces, Succession};
use super::rate_model::{RateModel, SHORTEST};
use crate::input::keys::{Key, Kind, key, needed};
use crate::input::{Field, Result, Table};
use crate::kernel::chance::Stream;
use paceline_core::{Instant, Span};
use std::sync::Arc;

/// The list.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// From when on, from the start or that of a round, and bit/s; zero is an outage. The first is at zero.
    steps: Arc<[(Span, u64)]>,
    /// The list begins again after so long.
    every: Option<Span>,
}

#[cfg(test)]
impl super::VaryingRate {
    pub(crate) fn of_steps(steps: impl Iterator<Item = (Span, u64)>, every: Option<Span>) -> Self {
        super::VaryingRate::Steps(Steps { steps: steps.collect(), every })
    }
}

impl RateModel for Steps {
    const KEYS: &'static [Key] = &[
        needed(
            "steps",
            Kind::List(&Kind::Tuple(&[Kind::Time, Kind::Rate])),
            "from each time on, this rate; 0 bit/s is an outage",
        ),
        key("every", Kind::Time, "the list begins again; the last rate stays unless given"),
    ];
    const EXAMPLE: &'static str = "steps = [[\"0 s\", \"10 Mbit/s\"], …]";

    fn read(table: &Table<'_>) -> Result<Self> {
        let every = table.optional("every", Field::positive_span)?;
        read_steps(&table.required("steps", "[[\"0 s\", \"10 Mbit/s\"]]")?, every)
    }

    fn mean_bps(&self, duration: Span) -> u128 {
        let all = self.every.unwrap_or(duration).as_nanos().max(1);
        let ends = self.steps.iter().skip(1).map(|(from, _)| from.as_nanos()).chain([all]);
        let sent = self.steps.iter().zip(ends).map(|((from, bps), end)| {
            u128::from(*bps) * u128::from(end.min(all).saturating_sub(from.as_nanos()))
        });
        sent.sum::<u128>() / u128::from(all)
    }

    fn most_bps(&self) -> u64 {
        self.steps.iter().map(|(_, bps)| *bps).max().unwrap_or(0)
    }

    type Transmitter = Pieces<Rounds>;

    fn transmitter(&self, _: Stream) -> Self::Transmitter {
        Pieces::new(Rounds { steps: self.clone(), next: 0, round: Instant::ZERO })
    }
}

/// The list, round after round.
#[derive(Debug)]
pub(crate) struct Rounds {
    steps: Steps,
    /// Position in the list.
    next: usize,
    /// When its round began.
    round: Instant,
}

impl Succession for Rounds {
    fn next(&mut self, now: Instant) -> (u64, Instant) {
        if self.next == 0 {
            self.round = now;
        }
        let Steps { steps, every } = &self.steps;
        let (_, bps) = steps[self.next];
        let until = steps.get(self.next + 1).map(|(from, _)| *from).or(*every);
        self.next = (self.next + 1) % steps.len();
        (bps, until.map_or(Instant::MAX, |until| self.round + until))
    }
}

fn read_steps(field: &Field<'_>, every: Option<Span>) -> Result<Steps> {
    let mut steps: Vec<(Span, u64)> = Vec::new();
    field.each(|step| {
        let [from, rate] = &step.list()?[..] else {
            return Err(step.refused("is no time and rate; write [\"5 s\", \"1 Mbit/s\"]"));
        };
        let at = from.span()?;
        match steps.last() {
            None if at > Span::ZERO => {
                return Err(from.refused("is after the start, and nothing is said of before; write \"0 s\""));
            }
            Some((before, _)) if at.as_nanos() < before.as_nanos() + SHORTEST.as_nanos() => {
                return Err(
                    from.refused(format!("is not after \"{before}\", the step before; write a later time"))
                );
            }
            _ => {}
        }
        steps.push((at, rate.zero_or_rate()?));
        Ok(())
    })?;
    let Some((last, bps)) = steps.last().copied() else {
        return Err(field.wrong("no steps; write [[\"0 s\", \"10 Mbit/s\"], [\"5 s\", \"1 Mbit/s\"]]"));
    };
    match every {
        Some(every) if every.as_nanos() < last.as_nanos() + SHORTEST.as_nanos() => {
            return Err(field.wrong(format!(
                "the last step is at \"{last}\", and every ends before; write a later time for it"
            )));
        }
        Some(_) if steps.iter().all(|(_, bps)| *bps == 0) => {
            return Err(field.wrong("sends nothing at all; write a rate above zero in one of the steps"));
        }
        None if bps == 0 => {
            return Err(
                field.wrong("sends nothing from its last step on; write a rate above zero there, or every")
            );
        }
        _ => {}
    }
    Ok(Steps { steps: steps.into(), every })
}

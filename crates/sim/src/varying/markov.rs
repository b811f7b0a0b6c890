//! A rate by a Markov chain in continuous time: exponential times in each state, each of the others as likely next.

use super::pieces::{Pieces, Succession};
use super::rate_model::{RateModel, SHORTEST};
use crate::input::keys::{Key, Kind, needed};
use crate::input::{Field, Result, Table};
use crate::kernel::chance::Stream;
use paceline_core::{Instant, Span};
use std::sync::Arc;

/// The states.
#[derive(Debug, Clone, PartialEq)]
pub struct Markov {
    /// Bit/s of each, and the mean of the time in it.
    states: Arc<[(u64, Span)]>,
}

#[cfg(test)]
impl super::VaryingRate {
    pub(crate) fn of_states(states: impl Iterator<Item = (u64, Span)>) -> Self {
        super::VaryingRate::Markov(Markov { states: states.collect() })
    }
}

impl RateModel for Markov {
    const KEYS: &'static [Key] = &[
        needed("states", Kind::List(&Kind::Rate), "rates, two at least; 0 bit/s is an outage"),
        needed("hold", Kind::List(&Kind::Time), "mean of the exponential time in each"),
    ];
    const EXAMPLE: &'static str = "states = [\"10 Mbit/s\", …] with hold";

    fn read(table: &Table<'_>) -> Result<Self> {
        let states = table.required("states", "[\"10 Mbit/s\", \"1 Mbit/s\"]")?;
        read_states(&states, &table.required("hold", "[\"2 s\", \"500 ms\"]")?)
    }

    fn mean_bps(&self, _: Span) -> u128 {
        let sent = self.states.iter().map(|(bps, hold)| u128::from(*bps) * u128::from(hold.as_nanos()));
        let all: u128 = self.states.iter().map(|(_, hold)| u128::from(hold.as_nanos())).sum();
        sent.sum::<u128>() / all.max(1)
    }

    fn most_bps(&self) -> u64 {
        self.states.iter().map(|(bps, _)| *bps).max().unwrap_or(0)
    }

    type Transmitter = Pieces<Chain>;

    fn transmitter(&self, draws: Stream) -> Self::Transmitter {
        Pieces::new(Chain { states: Arc::clone(&self.states), draws, place: None })
    }
}

/// The chain at work.
#[derive(Debug)]
pub(crate) struct Chain {
    states: Arc<[(u64, Span)]>,
    draws: Stream,
    /// The state that it is in; `None` before it begins.
    place: Option<usize>,
}

impl Chain {
    /// A state as that of a chain that has run for long.
    fn first(&mut self) -> usize {
        let all: u64 = self.states.iter().map(|(_, hold)| hold.as_nanos()).sum();
        let mut within = self.draws.between(0, all.saturating_sub(1));
        let mut place = 0;
        while place + 1 < self.states.len() && within >= self.states[place].1.as_nanos() {
            within -= self.states[place].1.as_nanos();
            place += 1;
        }
        place
    }

    /// One of the others.
    fn after(&mut self, place: usize) -> usize {
        let other = self.draws.between(0, self.states.len() as u64 - 2) as usize;
        other + usize::from(other >= place)
    }
}

impl Succession for Chain {
    fn next(&mut self, now: Instant) -> (u64, Instant) {
        let place = match self.place {
            None => self.first(),
            Some(place) => self.after(place),
        };
        self.place = Some(place);
        let (bps, hold) = self.states[place];
        let nanos = (self.draws.exponential() * hold.as_nanos() as f64 + 0.5) as u64;
        (bps, now + Span::from_nanos(nanos.max(1)))
    }
}

fn read_states(states: &Field<'_>, hold: &Field<'_>) -> Result<Markov> {
    let rates = states.each(Field::zero_or_rate)?;
    let holds = hold.each(|hold| match hold.positive_span()? {
        span if span < SHORTEST => Err(hold.refused(format!("is too short; write \"{SHORTEST}\" at least"))),
        span => Ok(span),
    })?;
    if rates.len() < 2 {
        return Err(states.wrong("fewer than two states; write [\"10 Mbit/s\", \"1 Mbit/s\"]"));
    }
    if rates.len() != holds.len() {
        let (states, holds) = (rates.len(), holds.len());
        return Err(hold.wrong(format!("{holds} times for {states} states; write one for each")));
    }
    if rates.iter().all(|bps| *bps == 0) {
        return Err(states.wrong("sends nothing in any state; write a rate above zero in one"));
    }
    Ok(Markov { states: rates.into_iter().zip(holds).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a chain of three states: means of the times in each, and who follows whom, within 3.29 standard deviations, which chance breaks once in
    /// a thousand.
    #[test]
    fn states_are_held_for_exponential_times_and_follow_each_other() {
        let asked = [200.0, 100.0, 300.0];
        let states = [(12, 200), (3, 100), (1, 300)];
        let states = states.map(|(bps, ms)| (bps, Span::from_millis(ms))).into_iter().collect();
        let mut pieces = Markov { states }.transmitter(Stream::new(1, "link:rate"));
        let place_of = |pieces: &Pieces<Chain>| pieces.succession.place.unwrap_or_default();
        let (mut holds, mut nexts) = ([const { Vec::new() }; 3], [[0.0; 3]; 3]);
        for _ in 0..60_000 {
            let (place, begins) = (place_of(&pieces), pieces.end);
            pieces.advance();
            holds[place_of(&pieces)].push(pieces.end.since(begins).as_seconds() * 1e3);
            nexts[place][place_of(&pieces)] += 1.0;
        }
        for (holds, asked) in holds.iter().zip(asked) {
            let n = holds.len() as f64;
            let mean = holds.iter().sum::<f64>() / n;
            assert!((mean - asked).abs() < 3.29 * asked / n.sqrt(), "{mean} ms, not {asked}");
            // of exponential times a share of 1/e is longer than the mean
            let longer = holds.iter().filter(|hold| **hold > asked).count() as f64 / n;
            let share = libm::exp(-1.0);
            assert!((longer - share).abs() < 3.29 * (share * (1.0 - share) / n).sqrt(), "{longer}");
        }
        for (from, nexts) in nexts.iter().enumerate() {
            let all: f64 = nexts.iter().sum();
            for (to, count) in nexts.iter().enumerate().filter(|(to, _)| *to != from) {
                assert!(
                    (count - all / 2.0).abs() < 3.29 * (all / 4.0).sqrt(),
                    "{from} to {to}: {count} of {all}"
                );
            }
            assert_eq!(nexts[from], 0.0);
        }
    }
}

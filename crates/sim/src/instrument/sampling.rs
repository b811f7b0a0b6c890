//! Regular samples over a time, both ends included, and the keys that say when: `from`, `to` and `every`.

use crate::input::keys::{Key, Kind, key};
use crate::input::{Field, Result, ScenarioError, Table};
use paceline_core::{Instant, Span};

/// Keys of the tables.
pub(crate) const FROM: Key = key("from", Kind::Time, "it watches from here");
pub(crate) const TO: Key = key("to", Kind::Time, "it watches until here; to the end unless given");
pub(crate) const EVERY: Key = key(
    "every",
    Kind::Time,
    "interval of the samples; a two-thousandth of the time watched, 1 ms at least, unless given",
);

/// A series of more samples than this would fill a disk, not a plot.
pub(super) const MOST_SAMPLES: u64 = 10_000_000;

/// The time of a sample after the one at `at`: the last is at `to`, however long that is after the one before.
pub(crate) fn next_of(at: Instant, every: Span, to: Instant) -> Option<Instant> {
    (at < to).then(|| (at + every).min(to))
}

/// Two thousand samples, but none closer than a millisecond.
pub(crate) fn sampling(over: Span) -> Span {
    Span::from_nanos(over.as_nanos() / 2000).max(Span::from_millis(1))
}

/// `every`: how often to sample.
pub(crate) fn every(table: &Table<'_>, (from, to): (Instant, Instant)) -> Result<Span> {
    let Some(field) = table.get("every") else { return Ok(sampling(to.since(from))) };
    let every = field.positive_span()?;
    let samples = to.since(from).as_nanos() / every.as_nanos();
    if samples > MOST_SAMPLES {
        return Err(field.refused(format!("makes {samples} samples; write a longer interval")));
    }
    Ok(every)
}

/// `from` and `to`: from `start` to the end unless they say otherwise.
pub(crate) fn interval(table: &Table<'_>, start: Span, duration: Span) -> Result<(Instant, Instant)> {
    let from = table.optional("from", Field::span)?.unwrap_or(start);
    let to = table.optional("to", |field| match field.span()? {
        to if to > duration => {
            Err(field.refused(format!("is after the end; write the duration, \"{duration}\", at most")))
        }
        to if to <= from => Err(field.refused(format!("is not after from; write more than \"{from}\""))),
        to => Ok(to),
    })?;
    if to.is_none() && from >= duration {
        let problem = format!("{from} is not before the end; write less than the duration, \"{duration}\"");
        return Err(ScenarioError::at(&table.path_of("from"), problem));
    }
    Ok((Instant::ZERO + from, Instant::ZERO + to.unwrap_or(duration)))
}

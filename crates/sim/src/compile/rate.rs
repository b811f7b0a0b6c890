//! `rate` of a link: a rate, a range, or a table of how it varies.

use std::sync::Arc;

use paceline_core::{Rate, Span};
use serde_json::Value;

use crate::input::{Field, Range, Result, file};
use crate::network::VaryingRate;

/// Steps and states are at least so long: as many changes as packets.
const SHORTEST: Span = Span::from_nanos(1_000);

/// A rate or a range of rates; or how it varies in a run of this duration, and its mean.
pub(crate) fn read(field: &Field<'_>, duration: Span) -> Result<(Range<Rate>, Option<VaryingRate>)> {
    if !matches!(field.value(), Value::Object(_)) {
        return Ok((field.rates()?, None));
    }
    let table = field.table(&["steps", "every", "states", "hold", "trace"])?;
    let varying = match ["steps", "states", "trace"].map(|key| table.get(key)) {
        [Some(steps), None, None] => {
            if let Some(hold) = table.get("hold") {
                return Err(hold.wrong("belongs to states; write every for how long the steps take"));
            }
            let every = table.optional("every", Field::positive_span)?;
            read_steps(&steps, every)?
        }
        [None, Some(states), None] => {
            if let Some(every) = table.get("every") {
                return Err(every.wrong("belongs to steps; write hold for the mean time in each state"));
            }
            read_states(&states, &table.required("hold", "[\"2 s\", \"500 ms\"]")?)?
        }
        [None, None, Some(trace)] => {
            if let Some(other) = table.get("every").or_else(|| table.get("hold")) {
                return Err(other.wrong("has no meaning beside trace; leave it out"));
            }
            read_trace(&trace)?
        }
        _ => {
            let ways = "steps = [[\"0 s\", \"10 Mbit/s\"], …], states = [\"10 Mbit/s\", …] with hold, or trace = \"cell.up\"";
            return Err(field.wrong(format!("does not say in one way how the rate varies; write {ways}")));
        }
    };
    let mean = varying.mean(duration);
    Ok((Range { low: mean, high: mean }, Some(varying)))
}

fn read_steps(field: &Field<'_>, every: Option<Span>) -> Result<VaryingRate> {
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
    Ok(VaryingRate::Steps { steps: steps.into(), every })
}

fn read_states(states: &Field<'_>, hold: &Field<'_>) -> Result<VaryingRate> {
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
    Ok(VaryingRate::Markov(rates.into_iter().zip(holds).collect()))
}

/// A file of mahimahi: on each line a millisecond, none before the one above.
fn read_trace(field: &Field<'_>) -> Result<VaryingRate> {
    let path = file::path(field)?;
    let text = std::fs::read_to_string(path)
        .map_err(|error| file::wrong(field, path, format!("cannot be read: {error}")))?;
    let mut times: Vec<u64> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |what: &str| Err(file::wrong(field, path, format!("line {}: {what}", number + 1)));
        let Ok(time) = line.parse::<u64>() else {
            return wrong("is no whole number of milliseconds");
        };
        if times.last().is_some_and(|before| time < *before) {
            return wrong("is before the line above; milliseconds never fall");
        }
        if time > 1_000_000_000_000 {
            return wrong("is more than thirty years");
        }
        times.push(time);
    }
    match times.last() {
        None => Err(file::wrong(field, path, "is empty; write a line for each packet that may leave")),
        Some(0) => Err(file::wrong(field, path, "ends at 0 ms; a trace takes some time")),
        Some(_) => Ok(VaryingRate::Trace(Arc::from(times))),
    }
}

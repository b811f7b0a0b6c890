//! Time cut into intervals of equal length: how much falls into each.

use crate::input::{Field, Result, ScenarioError, Table};
use paceline_core::{Instant, Span};

/// More intervals than this, and sums of squares would need more than 128 bits.
pub(super) const MOST_INTERVALS: u64 = 100_000_000;

/// The length of the intervals that a rate is taken over; a millisecond unless given.
pub(super) fn length(own: &Table<'_>, key: &str, from: Instant, to: Instant) -> Result<Span> {
    let length = own.optional(key, Field::positive_span)?.unwrap_or(Span::from_millis(1));
    let watched = to.since(from);
    let intervals = watched.as_nanos() / length.as_nanos();
    let wrong = |problem: String| Err(ScenarioError::at(&own.path_of(key), problem));
    if intervals > MOST_INTERVALS {
        return wrong(format!(
            "\"{length}\" makes {intervals} intervals of \"{watched}\"; write a longer one"
        ));
    }
    if intervals < 2 {
        let most = Span::from_nanos(watched.as_nanos() / 2);
        return wrong(format!(
            "\"{length}\" makes fewer than two intervals of \"{watched}\"; write \"{most}\" or less"
        ));
    }
    Ok(length)
}

/// Whole intervals from a start on; what falls after the last of them does not count.
#[derive(Debug)]
pub(crate) struct Intervals {
    from: Instant,
    /// Nanoseconds.
    length: u64,
    /// How many.
    count: u64,
    /// The one under way.
    index: u64,
    /// What has fallen into it.
    amount: u64,
}

impl Intervals {
    /// As many as end by `to`.
    pub(crate) fn new(from: Instant, to: Instant, length: Span) -> Self {
        let length = length.as_nanos().max(1);
        Intervals { from, length, count: to.since(from).as_nanos() / length, index: 0, amount: 0 }
    }

    /// Length of each.
    pub(crate) fn length(&self) -> Span {
        Span::from_nanos(self.length)
    }

    /// Something happens; times do not go back. Calls `closed` with the amount of each interval that is over.
    pub(crate) fn add(&mut self, at: Instant, amount: u32, closed: impl FnMut(u64)) {
        self.close_before(at.since(self.from).as_nanos() / self.length, closed);
        self.amount += u64::from(amount);
    }

    /// Nothing more happens.
    pub(crate) fn finish(&mut self, closed: impl FnMut(u64)) {
        self.close_before(u64::MAX, closed);
    }

    fn close_before(&mut self, index: u64, mut closed: impl FnMut(u64)) {
        while self.index < index.min(self.count) {
            closed(std::mem::take(&mut self.amount));
            self.index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_intervals_are_intervals_and_a_part_of_one_is_none() {
        let at = Instant::from_nanos;
        let mut intervals = Intervals::new(at(100), at(145), Span::from_nanos(10));
        let mut found = Vec::new();
        for time in [100, 109, 110, 135, 139, 141] {
            intervals.add(at(time), 1, |amount| found.push(amount));
        }
        intervals.finish(|amount| found.push(amount));
        assert_eq!(found, [2, 1, 0, 2]);
    }
}

//! The table `drops`: packets that a link has dropped so far, by cause.
//!
//! *Idea.* A count a cause, read at regular times: a slope is a loss rate, and which curve rises says who drops: the queue
//! that signals, the full buffer, the policer, or the scenario.
//! *Parameters.* `every`, a sample each, and one where the time watched ends; links.
//! *Where it breaks.* A slope is only as fine as the samples. A cause for which nothing was dropped has no curve.
//! *References.* RFC 7567, section 2, tells drops that signal congestion from those of a full buffer.

use super::classes::LINKS;
use super::described::{Described, Measure, Placed, Placing, View};
use super::observer::Observer;
use super::rows::{Curve, FlowRow, Point};
use super::sampling::{EVERY, FROM, TO, every, next_of};
use crate::input::keys::Key;
use crate::input::{Result, Table};
use crate::kernel::cause::Cause;
use crate::kernel::ids::FlowId;
use paceline_core::{Instant, Span};

/// Packets, by discriminant of their cause.
type Counts = [u64; Cause::ALL.len()];

/// As the table has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DropsOf {
    every: Span,
}

impl Described for DropsOf {
    const KEYS: &'static [Key] = &[LINKS, EVERY, FROM, TO];
    const IS_OVER_TIME: bool = true;

    fn read(table: &Table<'_>, watched: (Instant, Instant)) -> Result<Self> {
        Ok(DropsOf { every: every(table, watched)? })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        Ok(placing.on_links(self.clone()))
    }
}

impl Measure for DropsOf {
    fn view(&self) -> View {
        View::Drops
    }

    fn observer(&self, (from, to): (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Drops::new(from, to, self.every))
    }

    fn points(&self, seconds: f64, _: &dyn Fn(FlowId) -> f64) -> f64 {
        Cause::ALL.len() as f64 * seconds / self.every.as_seconds().max(1e-9)
    }
}

/// At work on one link.
#[derive(Debug)]
struct Drops {
    from: Instant,
    to: Instant,
    every: Span,
    next: Option<Instant>,
    /// So far, by cause.
    counts: Counts,
    samples: Vec<(Instant, Counts)>,
}

impl Drops {
    fn new(from: Instant, to: Instant, every: Span) -> Self {
        Drops { from, to, every, next: Some(from), counts: Counts::default(), samples: Vec::new() }
    }

    /// What is dropped at the time of a sample counts in it.
    fn sample_before(&mut self, time: Instant) {
        while let Some(at) = self.next.filter(|next| *next < time) {
            self.samples.push((at, self.counts));
            self.next = next_of(at, self.every, self.to);
        }
    }
}

impl Observer for Drops {
    fn on_drop(&mut self, _: u32, cause: Cause, now: Instant) {
        if now < self.from || now >= self.to {
            return;
        }
        self.sample_before(now);
        self.counts[cause as usize] += 1;
    }

    fn curves(mut self: Box<Self>, link: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        self.sample_before(Instant::MAX);
        for (cause, name) in Cause::NAMES.into_iter().enumerate().filter(|(cause, _)| self.counts[*cause] > 0)
        {
            let point = |(at, counts): &(Instant, Counts)| Point {
                x: at.as_seconds(),
                y: counts[cause] as f64,
                count: 1,
            };
            let points = self.samples.iter().map(point).collect();
            let curve = Curve::at_link("drops", link, ("s", "packets"), points);
            curves.push(Curve { flow: name.to_owned(), ..curve });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::observer::found;
    use super::*;

    #[test]
    fn each_cause_has_a_curve_of_its_own() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let mut drops = Drops::new(at(10), at(35), Span::from_millis(10));
        let seen = [(9, Cause::Early), (10, Cause::Policer), (20, Cause::Early), (21, Cause::Early)];
        let late = [(34, Cause::Policer), (35, Cause::Memory)];
        seen.into_iter().chain(late).for_each(|(millis, cause)| drops.on_drop(0, cause, at(millis)));
        let of = |curve: &Curve| {
            let points = curve.points.iter().map(|point| ((point.x * 1e3).round() as u64, point.y as u64));
            (curve.flow.clone(), points.collect::<Vec<_>>())
        };
        let expected = [
            ("early".to_owned(), vec![(10, 0), (20, 1), (30, 2), (35, 2)]),
            ("policer".to_owned(), vec![(10, 1), (20, 1), (30, 1), (35, 2)]),
        ];
        assert_eq!(found(drops).iter().map(of).collect::<Vec<_>>(), expected);
    }
}

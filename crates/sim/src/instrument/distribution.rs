//! Distributions as curves: the share of all that is no larger than x.

use super::rows::Point;
use hdrhistogram::Histogram;
use paceline_core::Span;

/// Nineteen hours, nanoseconds: longer durations count as that.
const LONGEST: u64 = 1 << 46;

/// Any number of durations in the same memory: a histogram of three significant digits, and the largest exactly.
#[derive(Debug)]
pub(crate) struct Durations {
    histogram: Histogram<u64>,
    /// Nanoseconds.
    largest: u64,
}

impl Durations {
    /// Adds one; the first makes the histogram.
    pub(crate) fn add(all: &mut Option<Durations>, duration: Span) {
        if all.is_none() {
            let histogram = Histogram::new_with_bounds(1, LONGEST, 3).ok();
            *all = histogram.map(|histogram| Durations { histogram, largest: 0 });
        }
        if let Some(all) = all {
            all.histogram.saturating_record(duration.as_nanos());
            all.largest = all.largest.max(duration.as_nanos());
        }
    }

    /// The share of them that is no longer than x, seconds: a bin's upper edge, but never beyond the largest.
    pub(crate) fn points(&self) -> Vec<Point> {
        let bins = self.histogram.iter_recorded().map(|bin| {
            let upper = self.histogram.highest_equivalent(bin.value_iterated_to()).min(self.largest);
            (upper as f64 / 1e9, bin.count_since_last_iteration())
        });
        let bins: Vec<(f64, u64)> = bins.collect();
        cumulative(bins.into_iter())
    }
}

/// Points of a curve of shares from values in ascending order, each with how often it came.
pub(crate) fn cumulative(values: impl Iterator<Item = (f64, u64)> + Clone) -> Vec<Point> {
    let all: u64 = values.clone().map(|(_, count)| count).sum();
    let mut so_far = 0;
    values
        .map(|(x, count)| {
            so_far += count;
            Point { x, y: so_far as f64 / all as f64, count: so_far }
        })
        .collect()
}

/// The same from sorted values, at most `most` points: of more values, evenly spaced ones, the least and the largest among
/// them. Each point is exact.
pub(crate) fn of_sorted(values: &[f64], most: usize) -> Vec<Point> {
    let all = values.len();
    let at = |position: usize| Point {
        x: values[position],
        y: (position + 1) as f64 / all as f64,
        count: position as u64 + 1,
    };
    let mut points: Vec<Point> = if all <= most {
        (0..all).map(at).collect()
    } else {
        (0..most).map(|step| at(step * (all - 1) / (most - 1))).collect()
    };
    points.dedup_by(|later, kept| {
        let same = later.x == kept.x;
        if same {
            *kept = *later;
        }
        same
    });
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_values_counts() {
        let shares = |values: &[f64], most| -> Vec<(f64, f64)> {
            of_sorted(values, most).iter().map(|p| (p.x, p.y)).collect()
        };
        assert_eq!(shares(&[1.0, 1.0, 2.0, 5.0], 10), [(1.0, 0.5), (2.0, 0.75), (5.0, 1.0)]);
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(shares(&many, 4), [(0.0, 0.001), (333.0, 0.334), (666.0, 0.667), (999.0, 1.0)]);
        assert_eq!(shares(&[], 4), []);
    }
}

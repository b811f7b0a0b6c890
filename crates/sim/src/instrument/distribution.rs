//! Distributions as curves: the share of all that is no larger than x.

use super::rows::Point;

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

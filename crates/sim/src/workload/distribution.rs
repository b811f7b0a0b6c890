//! Sizes and times that are drawn: one distribution, named by what a scenario writes.
//!
//! *Parameters.* In bytes or in seconds, as the place asks. A Pareto distribution has P(X > x) = (m / x)^shape above its
//! minimum m = mean (shape - 1) / shape.
//! *Where it breaks.* A Pareto distribution of shape 2 or less has no variance: means of samples converge slowly (error
//! falls as n^(1/shape - 1)), and below 1 there is no mean at all, which is why a shape of 1 or less is refused.
//! *References.* M. Crovella and A. Bestavros, "Self-similarity in World Wide Web traffic" (1997).

use crate::kernel::chance::Stream;
use paceline_core::Span;

/// How sizes (bytes) or times (seconds) are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Fixed(f64),
    /// Each value between the two as likely.
    Uniform {
        /// The least value.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Pareto, of the first kind.
    Pareto {
        /// The least value, m.
        minimum: f64,
        /// The tail's exponent; the mean is finite above 1.
        shape: f64,
    },
}

impl Distribution {
    /// Pareto with this mean; `shape` is above 1.
    pub fn pareto(mean: f64, shape: f64) -> Self {
        Distribution::Pareto { minimum: mean * (shape - 1.0) / shape, shape }
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Distribution::Fixed(value) => value,
            Distribution::Uniform { low, high } => (low + high) / 2.0,
            Distribution::Exponential { mean } => mean,
            Distribution::Pareto { shape, .. } if shape <= 1.0 => f64::INFINITY,
            Distribution::Pareto { minimum, shape } => minimum * shape / (shape - 1.0),
        }
    }

    /// The next value.
    pub fn draw(&self, draws: &mut Stream) -> f64 {
        match *self {
            Distribution::Fixed(value) => value,
            Distribution::Uniform { low, high } => low + (high - low) * draws.unit(),
            Distribution::Exponential { mean } => mean * draws.exponential(),
            Distribution::Pareto { minimum, shape } => minimum * libm::pow(1.0 - draws.unit(), -1.0 / shape),
        }
    }

    /// The next size, in whole bytes, at least one.
    pub(crate) fn draw_bytes(&self, draws: &mut Stream) -> u64 {
        (self.draw(draws) + 0.5).clamp(1.0, MOST_BYTES) as u64
    }

    /// The next time, to the nanosecond.
    pub(crate) fn draw_span(&self, draws: &mut Stream) -> Span {
        Span::from_nanos((self.draw(draws) * 1e9 + 0.5).clamp(0.0, MOST_NANOS) as u64)
    }
}

/// A transfer of more would not end within any run: a Pareto draw has no bound of its own.
pub(crate) const MOST_BYTES: f64 = 1e12;
/// A century, for the same reason.
const MOST_NANOS: f64 = 3.2e18;

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 1_000_000;

    fn sample(distribution: Distribution) -> Vec<f64> {
        let mut draws = Stream::new(3, "distribution");
        (0..DRAWS).map(|_| distribution.draw(&mut draws)).collect()
    }

    fn mean_of(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Greatest distance between the sample's distribution and `cdf`: Kolmogorov and Smirnov's statistic.
    fn distance(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let at = |(i, value): (usize, &f64)| (cdf(*value) - (i as f64 + 0.5) / n).abs();
        values.iter().enumerate().map(at).fold(0.0, f64::max)
    }

    /// One in a thousand samples of this size lies farther from its own distribution.
    fn critical() -> f64 {
        1.95 / (DRAWS as f64).sqrt()
    }

    #[test]
    fn exponential_times_have_their_mean_their_deviation_and_their_distribution() {
        let values = sample(Distribution::Exponential { mean: 0.25 });
        let mean = mean_of(&values);
        let variance =
            mean_of(&values.iter().map(|value| (value - mean) * (value - mean)).collect::<Vec<_>>());
        let n = (DRAWS as f64).sqrt();
        assert!((mean - 0.25).abs() < 4.0 * 0.25 / n, "{mean}");
        assert!((variance.sqrt() - 0.25).abs() < 4.0 * 2f64.sqrt() * 0.25 / n, "{}", variance.sqrt());
        assert!(distance(values, |x| 1.0 - libm::exp(-x / 0.25)) < critical());
    }

    #[test]
    fn pareto_sizes_have_their_mean_their_minimum_and_their_distribution() {
        // Shape 2.5: the variance is finite, so the mean of a sample means something.
        let distribution = Distribution::pareto(100e3, 2.5);
        let values = sample(distribution);
        let (minimum, shape) = (60e3_f64, 2.5_f64);
        assert!((distribution.mean() - 100e3).abs() < 1e-6);
        assert!(values.iter().all(|value| *value >= minimum * (1.0 - 1e-12)));
        let deviation = minimum * (shape / ((shape - 1.0) * (shape - 1.0) * (shape - 2.0))).sqrt();
        let mean = mean_of(&values);
        assert!((mean - 100e3).abs() < 4.0 * deviation / (DRAWS as f64).sqrt(), "{mean}");
        assert!(distance(values, |x| 1.0 - libm::pow(minimum / x, shape)) < critical());
    }

    #[test]
    fn hills_estimator_finds_the_tail_index() {
        for shape in [1.1, 1.2, 1.5, 2.0, 3.0] {
            let mut values = sample(Distribution::pareto(1.0, shape));
            values.sort_by(|a, b| b.total_cmp(a));
            // B. M. Hill (1975): k over the sum of log(X_i / X_k+1) of the k greatest; its deviation is shape / sqrt(k).
            let k = 10_000;
            let sum: f64 = values[..k].iter().map(|value| libm::log(value / values[k])).sum();
            let index = k as f64 / sum;
            assert!((index - shape).abs() < 4.0 * shape / (k as f64).sqrt(), "{shape}: {index}");
        }
    }

    #[test]
    fn uniform_values_have_their_bounds_and_their_distribution() {
        let values = sample(Distribution::Uniform { low: 2.0, high: 5.0 });
        assert!(values.iter().all(|value| (2.0..5.0).contains(value)));
        assert!(distance(values, |x| (x - 2.0) / 3.0) < critical());
    }

    #[test]
    fn sizes_are_whole_bytes_and_at_least_one() {
        let mut draws = Stream::new(1, "sizes");
        assert_eq!(Distribution::Fixed(1000.0).draw_bytes(&mut draws), 1000);
        assert!((0..1000).all(|_| Distribution::Exponential { mean: 0.1 }.draw_bytes(&mut draws) >= 1));
        assert_eq!(Distribution::Fixed(0.25).draw_span(&mut draws), Span::from_millis(250));
    }
}

//! Sizes and pauses that are drawn.

use rand_core::RngCore;
use rand_pcg::Pcg32;
use serde::Deserialize;

/// A distribution, in bytes or in ns.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Draw {
    /// Always the same.
    Fixed(f64),
    /// Of this mean.
    Exponential(f64),
    /// From this least value on, with this shape.
    Pareto(f64, f64),
    /// Between these, each as likely.
    Uniform(f64, f64),
}

impl Draw {
    /// The next value, rounded to a whole number.
    pub(crate) fn next(self, draws: &mut Pcg32) -> u64 {
        // In (0, 1): no logarithm of zero, no division by it.
        let unit = (f64::from(draws.next_u32()) + 0.5) / 4_294_967_296.0;
        let value = match self {
            Draw::Fixed(value) => value,
            Draw::Exponential(mean) => -mean * libm::log(unit),
            Draw::Pareto(least, shape) => least * libm::pow(unit, -1.0 / shape),
            Draw::Uniform(low, high) => low + (high - low) * unit,
        };
        value.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn mean(draw: Draw) -> f64 {
        let mut draws = Pcg32::seed_from_u64(1);
        (0..200_000).map(|_| draw.next(&mut draws) as f64).sum::<f64>() / 200_000.0
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        assert_eq!(mean(Draw::Fixed(7.0)), 7.0);
        assert!((mean(Draw::Exponential(1e6)) / 1e6 - 1.0).abs() < 0.01);
        assert!((mean(Draw::Uniform(1e6, 3e6)) / 2e6 - 1.0).abs() < 0.01);
        // Mean of a Pareto distribution: least shape / (shape - 1); of shape 3, so that it settles.
        assert!((mean(Draw::Pareto(1e6, 3.0)) / 1.5e6 - 1.0).abs() < 0.01);
    }
}

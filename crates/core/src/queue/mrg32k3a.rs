//! ns-2's default generator: MRG32k3a, seeded with 1.
//!
//! *Idea.* Two recurrences of order three, modulo two primes below 2^32; the difference of their last terms, scaled into (0, 1). ns-2 begins
//! both with ones.
//! *Where it breaks.* It is there to draw what a run of ns-2 draws. All that draws there shares one generator, so that who draws what is the
//! order of events.
//! *References.* P. L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators", Operations
//! Research 47(1), 1999; ns-2 2.35, `tools/rng.cc`.

use super::signal::Draws;

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
/// 1 / (`M1` + 1) to 16 digits.
const NORM: f64 = 2.328_306_549_295_728e-10;

/// The last three terms of both recurrences, the oldest first.
#[derive(Debug, Clone)]
pub(super) struct Mrg32k3a {
    first: [u64; 3],
    second: [u64; 3],
}

impl Mrg32k3a {
    /// After so many draws.
    pub(super) fn after(draws: u64) -> Self {
        let mut generator = Mrg32k3a { first: [1; 3], second: [1; 3] };
        (0..draws).for_each(|_| {
            generator.unit();
        });
        generator
    }

    /// The next number in (0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        let [a, b, c] = self.first;
        let first = (1_403_580 * b + (M1 - a) * 810_728) % M1;
        self.first = [b, c, first];
        let [a, b, c] = self.second;
        let second = (527_612 * c + (M2 - a) * 1_370_589) % M2;
        self.second = [b, c, second];
        let difference = if first > second { first - second } else { first + M1 - second };
        difference as f64 * NORM
    }
}

/// Where a discipline's draws come from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Own(Draws),
    Ns2(Mrg32k3a),
}

impl Source {
    /// ns-2's generator after so many draws, or one of its own.
    pub(super) fn of(ns2_draws: Option<u64>) -> Self {
        ns2_draws.map_or(Source::Own(Draws::new(0)), |draws| Source::Ns2(Mrg32k3a::after(draws)))
    }

    /// Where draws are its own, they are made from this.
    pub(super) fn seed(&mut self, seed: u64) {
        if let Source::Own(draws) = self {
            *draws = Draws::new(seed);
        }
    }

    /// The next number between 0 and 1.
    pub(super) fn unit(&mut self) -> f64 {
        match self {
            Source::Own(draws) => draws.unit(),
            Source::Ns2(generator) => generator.unit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `puts [$defaultRNG uniform 0 1]` prints in `ns` 2.35, four times.
    #[test]
    fn begins_as_ns2_does() {
        let mut generator = Mrg32k3a::after(0);
        let draws: Vec<String> = (0..4).map(|_| format!("{:.6}", generator.unit())).collect();
        assert_eq!(draws, ["0.000340", "0.555881", "0.014205", "0.088123"]);
        assert_eq!(Mrg32k3a::after(4).unit().to_bits(), generator.unit().to_bits());
    }

    /// Where the two terms are equal the number is m1 / (m1 + 1), and not 0 (L'Ecuyer 1999, figure I).
    #[test]
    fn it_draws_no_zero() {
        let mut generator = Mrg32k3a { first: [0, 0, 1], second: [0, 1, 0] };
        assert!((generator.unit() - M1 as f64 / (M1 + 1) as f64).abs() < 1e-15);
        assert_eq!((generator.first[2], generator.second[2]), (0, 0));
    }
}

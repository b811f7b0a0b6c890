//! Random numbers: one PCG stream per named entity, so that adding a flow does not reshuffle the others.
//!
//! Seed k and a name give the same draws under every setting of a sweep, so differences between settings are paired.
//! Draws use integers and the `libm` crate only: the same on every platform.

use paceline_core::queue::mix;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The stream of one named entity.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream that `name` has under `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        Stream::hashed(seed, name.bytes())
    }

    /// The stream of `entity:what`, a name that need not be written down: there are several for each of many hosts.
    pub fn of(seed: u64, entity: &str, what: &str) -> Self {
        Stream::hashed(seed, entity.bytes().chain([b':']).chain(what.bytes()))
    }

    fn hashed(seed: u64, name: impl Iterator<Item = u8>) -> Self {
        // FNV-1a of the name (Fowler, Noll, Vo), then SplitMix64's finaliser over both.
        let hash = name.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Stream(Pcg64Mcg::seed_from_u64(mix(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
    }

    /// A whole number from `low` to `high`, both included, each as likely (to within 2^-64).
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let width = u128::from(high.saturating_sub(low)) + 1;
        low + ((u128::from(self.0.next_u64()) * width) >> 64) as u64
    }

    /// A number from 0 (included) to 1 (not).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Two independent normal numbers of mean 0 and variance 1 (Box and Muller).
    pub fn gaussians(&mut self) -> (f64, f64) {
        let radius = (2.0 * self.exponential()).sqrt();
        let (sin, cos) = libm::sincos(2.0 * core::f64::consts::PI * self.unit());
        (radius * cos, radius * sin)
    }

    /// An exponential number of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

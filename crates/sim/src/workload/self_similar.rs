//! Self-similar source: a rate that follows fractional Gaussian noise.
//!
//! *Idea.* Time is cut into slots; a slot's rate is location + deviation times the next value of fractional Gaussian noise
//! ([`super::noise`]), but within the bounds. The location is set so that the mean is what was asked for with the bounds at
//! work. Within a slot packets leave at equal gaps.
//! *Parameters.* `mean`, `minimum`, `maximum` (bit/s), `deviation` (bit/s, of a slot's rate before the bounds; a third of
//! the way from the mean to the nearer bound, so that three slots of a thousand meet a bound), `hurst` (0 to 1; above 1/2 is
//! long-range dependence), `slot` (seconds).
//! *Where it breaks.* Bounds that bind often flatten the noise: H stays, but the variance falls. A slot should hold several
//! packets, else their grain covers the small scales.
//! *References.* W. Leland et al., "On the self-similar nature of Ethernet traffic" (1994); I. Norros (1995).

use super::noise::fractional_gaussian_noise;
use crate::kernel::chance::Stream;
use paceline_core::{Rate, Span};

/// The longest sample of noise that is made at once.
pub(crate) const MOST_SLOTS: u64 = 1 << 22;

/// What the rate is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfSimilar {
    /// Of a slot's rate on the wire.
    pub mean: Rate,
    /// The least rate, bit/s.
    pub minimum_bps: u64,
    /// The greatest.
    pub maximum: Rate,
    /// Standard deviation before the bounds, bit/s.
    pub deviation_bps: u64,
    /// Hurst exponent, between 0 and 1.
    pub hurst: f64,
    /// Length of a slot.
    pub slot: Span,
}

/// Slots, one after the other.
#[derive(Debug)]
pub(crate) struct Slots {
    slot: Span,
    /// Rates to come, bit/s.
    rates: std::vec::IntoIter<u64>,
}

impl Slots {
    pub(crate) fn new(spec: &SelfSimilar, slots: usize, mut draws: Stream) -> Self {
        let (low, high) = (spec.minimum_bps as f64, spec.maximum.bits_per_second() as f64);
        let deviation = spec.deviation_bps as f64;
        let location = location(spec.mean.bits_per_second() as f64, deviation, low, high);
        let noise = fractional_gaussian_noise(spec.hurst, slots, &mut draws);
        let rates = noise.into_iter().map(|z| ((location + deviation * z).clamp(low, high) + 0.5) as u64);
        Slots { slot: spec.slot, rates: rates.collect::<Vec<u64>>().into_iter() }
    }

    /// Rate, bit/s, and length; `None` after the last.
    pub(crate) fn next(&mut self) -> Option<(u64, Span)> {
        self.rates.next().map(|rate| (rate, self.slot))
    }
}

/// Where a normal variable of this deviation has to lie for its mean within the bounds to be `mean`: by bisection, for
/// the mean grows with the location.
fn location(mean: f64, deviation: f64, low: f64, high: f64) -> f64 {
    if deviation == 0.0 {
        return mean;
    }
    let reach = 40.0 * deviation + (high - low);
    let (mut below, mut above) = (low - reach, high + reach);
    for _ in 0..200 {
        let middle = (below + above) / 2.0;
        if mean_within(middle, deviation, low, high) < mean { below = middle } else { above = middle }
    }
    (below + above) / 2.0
}

/// Mean of a normal variable that is moved to the bound where it lies beyond.
fn mean_within(location: f64, deviation: f64, low: f64, high: f64) -> f64 {
    let (a, b) = ((low - location) / deviation, (high - location) / deviation);
    let below = |z: f64| 0.5 * libm::erfc(-z / core::f64::consts::SQRT_2);
    let density = |z: f64| libm::exp(-z * z / 2.0) / (2.0 * core::f64::consts::PI).sqrt();
    let inside = location * (below(b) - below(a)) + deviation * (density(a) - density(b));
    low * below(a) + high * below(-b) + inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_holds_with_the_bounds_at_work() {
        let mbit = |rate: f64| (rate * 1e6) as u64;
        for (mean, low, high, deviation) in [
            (16.0, 10.0, 35.0, 2.0),
            (16.0, 10.0, 35.0, 8.0),
            (16.0, 0.0, 17.0, 30.0),
            (1.0, 0.0, 100.0, 20.0),
        ] {
            let spec = SelfSimilar {
                mean: Rate::from_bits_per_second(mbit(mean)),
                minimum_bps: mbit(low),
                maximum: Rate::from_bits_per_second(mbit(high)),
                deviation_bps: mbit(deviation),
                hurst: 0.5, // independent slots: the mean of a sample means something
                slot: Span::from_millis(10),
            };
            let slots = Slots::new(&spec, 1 << 18, Stream::new(5, "slots"));
            let rates: Vec<f64> = slots.rates.map(|rate| rate as f64 / 1e6).collect();
            let average = rates.iter().sum::<f64>() / rates.len() as f64;
            let error = deviation.min(high - low) / (rates.len() as f64).sqrt();
            assert!((average - mean).abs() < 4.0 * error, "{average} for {mean}");
            assert!(rates.iter().all(|rate| (low..=high).contains(rate)));
        }
    }
}

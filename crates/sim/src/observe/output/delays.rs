//! How long packets took.
//!
//! *Idea.* Delays are counted by the three leading digits of their microseconds, in the very bins of [`Histogram`], which a count a
//! packet would be too slow for; it is filled at the end, and asked.

use hdrhistogram::Histogram;
use paceline_core::Span;

/// Delays of delivered packets: only their distribution; sums are kept by flow.
#[derive(Debug)]
pub(crate) struct Delays {
    /// By bin: 2048 of one microsecond, then 1024 for each further power of two.
    bins: Vec<u64>,
}

/// log2 of the bins that have the width of one unit.
const FINE: u32 = 11;
/// log2 of what is more than any number of microseconds that are nanoseconds in 64 bits.
const ANY: usize = 55;
/// Delays from here on (19 hours) count as this one.
const LONGEST_US: u64 = (1 << 36) - 1;

impl Delays {
    pub(crate) fn new() -> Self {
        Delays { bins: vec![0; ((ANY - FINE as usize) << (FINE - 1)) + (1 << FINE)] }
    }

    /// Counts what another has counted.
    pub(crate) fn add(&mut self, other: &Delays) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(sum, count)| *sum += count);
    }

    /// So many packets, one or none, have taken so long.
    #[inline(always)]
    pub(crate) fn record(&mut self, packets: u64, delay: Span) {
        let micros = delay.as_nanos() / 1000;
        let width = (micros | 1 << (FINE - 1)).ilog2() - (FINE - 1); // log2
        self.bins[((width as usize) << (FINE - 1)) + (micros >> width) as usize] += packets;
    }

    fn histogram(of: &[&Delays]) -> Option<Histogram<u64>> {
        let mut histogram = Histogram::new_with_bounds(1, LONGEST_US + 1, 3).ok()?;
        for (bin, count) in
            of.iter().flat_map(|delays| delays.bins.iter().enumerate()).filter(|(_, count)| **count > 0)
        {
            let width = (bin >> (FINE - 1)).saturating_sub(1);
            let micros = ((bin - (width << (FINE - 1))) as u64) << width;
            histogram.record_n(micros.min(LONGEST_US), *count).ok()?;
        }
        Some(histogram)
    }

    pub(super) fn p99_s(of: &[&Delays]) -> Option<f64> {
        let all = Delays::histogram(of)?;
        (!all.is_empty()).then(|| all.lowest_equivalent(all.value_at_quantile(0.99)) as f64 * 1e-6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_fall_into_the_bins_of_the_histogram() {
        let (mut delays, mut histogram) =
            (Delays::new(), Histogram::<u64>::new_with_bounds(1, 1 << 36, 3).unwrap());
        let mut micros = 0_u64;
        while micros <= LONGEST_US {
            delays.record(1, Span::from_nanos(micros * 1000 + 999));
            histogram.record(micros).unwrap();
            micros += 1 + micros / 700;
        }
        let counted = Delays::histogram(&[&delays]).unwrap();
        let bins = |histogram: &Histogram<u64>| {
            histogram
                .iter_recorded()
                .map(|bin| (histogram.lowest_equivalent(bin.value_iterated_to()), bin.count_at_value()))
                .collect::<Vec<_>>()
        };
        assert_eq!(bins(&counted), bins(&histogram));
    }
}

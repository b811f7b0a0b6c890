//! Burstiness against time scale: the coefficient of variation of the rate, over intervals of 1 us, 2 us, 5 us, 10 us, …
//!
//! *Idea.* Time from the first packet on is cut into intervals of 1 us. As one ends, its bytes are added to the longer ones around
//! it, of which it is a whole part: those of 2 us and of 5 us, then from 5 us to 10 us, and so on upwards; each level keeps
//! the sum and the sum of squares of its ended intervals.
//! A packet costs O(1) amortised where packets are dense, memory is a few numbers a level. Sums are whole numbers, so that
//! a constant rate has a coefficient of 0, not nearly 0.
//! *Parameters.* The shortest interval, 1 us. Only whole intervals count, and a level needs eight of them.
//! *Where it breaks.* Over intervals shorter than a packet's gap the rate is all packets' own: for packets of one size and
//! rate lambda, the coefficient of any traffic tends to 1 / sqrt(lambda T). A rate that drifts is burstiness too.
//! *References.* Coefficient of variation of the rate as Y. Cai, T. Wolf, W. Gong, "Delaying transmissions in data
//! communication networks to improve transport-layer performance", IEEE JSAC 29(5), 2011, use it; for Poisson packets it is
//! 1 / sqrt(lambda T).

/// The shortest interval, nanoseconds.
pub const SHORTEST_NS: u64 = 1000;
/// A level is reported from so many whole intervals on.
const FEWEST: u64 = 8;

/// The shortest intervals in one of a level: 1, 2, 5, 10, 20, …
fn parts(number: usize) -> u64 {
    let decade = 10u64.saturating_pow((number / 3) as u32);
    decade.saturating_mul([1, 2, 5][number % 3])
}

/// Levels whose intervals are made of a level's, each with how many it takes.
fn above(number: usize) -> &'static [(usize, u64)] {
    match number % 3 {
        0 => &[(1, 2), (2, 5)],
        1 => &[],
        _ => &[(1, 2)],
    }
}

/// Sums over the intervals of every length.
#[derive(Debug, Clone, Default)]
pub(super) struct Scales {
    levels: Vec<Level>,
    /// The last packet's interval of the shortest length.
    last: u64,
}

/// Intervals of one length.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// The interval that is open: its number from 0, and its bytes so far.
    open: u64,
    bytes: u64,
    /// Over the intervals before it.
    sum: u64,
    squares: u128,
    most: u64,
}

/// The rate over intervals of one length.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Scale {
    /// Length of an interval, seconds.
    pub scale_s: f64,
    /// How many there are.
    pub intervals: u64,
    /// Standard deviation of the rate over its mean; `None` where no interval has a packet.
    pub cv: Option<f64>,
    /// The highest rate, bit/s.
    pub peak_bps: f64,
}

impl Scales {
    /// A packet so long after the first.
    #[inline]
    pub(super) fn add(&mut self, since_ns: u64, bytes: u64) {
        let interval = since_ns / SHORTEST_NS;
        self.last = interval;
        match self.levels.first_mut() {
            Some(level) if level.open == interval => level.bytes += bytes,
            Some(_) => {
                self.close(0, interval);
                if let Some(level) = self.levels.first_mut() {
                    level.bytes = bytes;
                }
            }
            None => self.levels.push(Level { open: interval, bytes, ..Level::default() }),
        }
    }

    /// Ends the open interval of a level, `next` is open from now on; and those around it that end with it.
    fn close(&mut self, number: usize, next: u64) {
        let (interval, bytes) = self.levels[number].end(next);
        for (steps, parts) in above(number) {
            self.add_to(number + steps, interval / parts, bytes);
        }
    }

    /// Bytes of an ended interval belong to one of a level above.
    fn add_to(&mut self, number: usize, interval: u64, bytes: u64) {
        match self.levels.get_mut(number) {
            Some(level) if level.open == interval => level.bytes += bytes,
            Some(_) => {
                self.close(number, interval);
                self.levels[number].bytes = bytes;
            }
            None => self.levels.push(Level { open: interval, bytes, ..Level::default() }),
        }
    }

    /// One row a level, from the shortest intervals up.
    pub(super) fn finish(mut self) -> Vec<Scale> {
        let mut rows = Vec::new();
        let mut number = 0;
        while number < self.levels.len() {
            let whole = self.last / parts(number);
            if self.levels[number].open < whole {
                self.close(number, whole);
            }
            if whole < FEWEST {
                break;
            }
            rows.push(self.levels[number].row(number, whole));
            number += 1;
        }
        rows
    }
}

impl Level {
    /// The number of the interval that ends, and its bytes.
    #[inline]
    fn end(&mut self, next: u64) -> (u64, u64) {
        let (interval, bytes) = (self.open, self.bytes);
        self.sum += bytes;
        self.squares += u128::from(bytes) * u128::from(bytes);
        self.most = self.most.max(bytes);
        (self.open, self.bytes) = (next, 0);
        (interval, bytes)
    }

    fn row(&self, number: usize, intervals: u64) -> Scale {
        let scale_ns = SHORTEST_NS as f64 * parts(number) as f64;
        // n times the sum of squares less the square of the sum: n^2 times the variance, exact in whole numbers
        let sum = u128::from(self.sum);
        let spread = match (self.squares.checked_mul(u128::from(intervals)), sum.checked_mul(sum)) {
            (Some(squares), Some(square)) => squares.saturating_sub(square) as f64,
            _ => (self.squares as f64 * intervals as f64 - self.sum as f64 * self.sum as f64).max(0.0),
        };
        Scale {
            scale_s: scale_ns / 1e9,
            intervals,
            cv: (self.sum > 0).then(|| spread.sqrt() / self.sum as f64),
            peak_bps: self.most as f64 * 8e9 / scale_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the definition: all bytes of each whole interval.
    fn slow(packets: &[(u64, u64)], number: usize) -> Option<(u64, f64, u64)> {
        let length = SHORTEST_NS * parts(number);
        let whole = packets.last()?.0 / length;
        let mut sums = vec![0u64; usize::try_from(whole).ok()?];
        for (time, bytes) in packets {
            if let Some(sum) = sums.get_mut((time / length) as usize) {
                *sum += bytes;
            }
        }
        let mean = sums.iter().sum::<u64>() as f64 / whole as f64;
        let variance = sums.iter().map(|sum| (*sum as f64 - mean) * (*sum as f64 - mean)).sum::<f64>();
        Some((whole, (variance / whole as f64).sqrt() / mean, *sums.iter().max()?))
    }

    proptest::proptest! {
        #[test]
        fn as_the_definition_says(
            gaps in proptest::collection::vec((0..60_000u64, 40..1500u64, 0..20u32), 2..400),
        ) {
            let mut time = 0;
            let mut packets = vec![(0, 500)];
            for (gap, bytes, shift) in gaps {
                time += gap << (shift / 4);
                packets.push((time, bytes));
            }
            let mut scales = Scales::default();
            for (time, bytes) in &packets {
                scales.add(*time, *bytes);
            }
            let rows = scales.finish();
            for (number, row) in rows.iter().enumerate() {
                let (whole, cv, most) = slow(&packets, number).unwrap();
                proptest::prop_assert_eq!(row.intervals, whole);
                proptest::prop_assert!((row.cv.unwrap_or(f64::NAN) - cv).abs() < 1e-9 * cv.max(1.0), "{:?} {}", row, cv);
                let peak = most as f64 * 8.0 / row.scale_s;
                proptest::prop_assert!((row.peak_bps - peak).abs() < 1e-9 * peak.max(1.0));
            }
            let next = slow(&packets, rows.len());
            proptest::prop_assert!(next.is_none_or(|(whole, ..)| whole < FEWEST));
        }
    }

    #[test]
    fn a_constant_rate_has_none() {
        let mut scales = Scales::default();
        for number in 0..100_000 {
            scales.add(number * 10_000, 1250); // a packet each 10 us
        }
        let rows = scales.finish();
        assert!(rows.len() > 15);
        assert!(rows.iter().skip(3).all(|row| row.cv == Some(0.0) && row.peak_bps == 1e9));
        assert!((rows[0].cv.unwrap() - 9f64.sqrt()).abs() < 1e-4);
    }
}

//! The greatest value of a window of time, from three values (K. Nichols' windowed filter).
//!
//! *Idea.* Kept are the greatest value, the greatest since, and the greatest since that one. As the window moves on, the next best takes
//! the place of one that is too old, so that no values need be stored.
//! *References.* Linux lib/win_minmax.c.

/// A value, and the time of the window's clock at which it was measured.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    at: u32,
    value: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WindowedMax([Measured; 3]);

impl WindowedMax {
    /// The greatest value.
    pub(crate) fn get(&self) -> u64 {
        self.0[0].value
    }

    /// A new value at time `at`, in a window of this length; at a quarter and at half of it without a greater one, it becomes the second and
    /// the third best.
    pub(crate) fn add(&mut self, window: u32, at: u32, value: u64) {
        let new = Measured { at, value };
        let best = &mut self.0;
        if value >= best[0].value || at.wrapping_sub(best[2].at) > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].value {
            (best[1], best[2]) = (new, new);
        } else if value >= best[2].value {
            best[2] = new;
        }
        let age = at.wrapping_sub(best[0].at);
        if age > window {
            *best = [best[1], best[2], new];
            if at.wrapping_sub(best[0].at) > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].at == best[0].at && age > window / 4 {
            (best[1], best[2]) = (new, new);
        } else if best[2].at == best[1].at && age > window / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Never more than the greatest value of the window, and never less than the newest; a rising or steady series is exact.
        #[test]
        fn it_lies_between_the_newest_value_and_the_greatest(values in prop::collection::vec((0_u32..4, 0_u64..50), 1..200)) {
            let mut max = WindowedMax::default();
            let mut at = 0;
            let mut all = Vec::new();
            for (pause, value) in values {
                at += pause;
                max.add(10, at, value);
                all.push((at, value));
                let greatest = all.iter().filter(|(then, _)| at - then <= 10).map(|(_, value)| *value).max();
                prop_assert!(max.get() >= value && Some(max.get()) <= greatest);
            }
        }
    }

    #[test]
    fn a_maximum_is_forgotten_after_its_window() {
        let mut max = WindowedMax::default();
        max.add(10, 0, 100);
        let seen: Vec<_> = (1..14)
            .map(|at| {
                max.add(10, at, 50);
                max.get()
            })
            .collect();
        assert_eq!(seen, [vec![100; 10], vec![50; 3]].concat());
    }

    /// A value a round, each less than the one before, in a window of ten. By hand: the second best is that of round 3,
    /// the first beyond a quarter, and the third of round 6, beyond a half; as each is too old the next takes its
    /// place, and the newest becomes the third.
    #[test]
    fn a_falling_series_is_followed_at_a_quarter_and_a_half_of_the_window() {
        let mut max = WindowedMax::default();
        let seen: Vec<_> = (0..28)
            .map(|at| {
                max.add(10, at, u64::from(100 - at));
                max.get()
            })
            .collect();
        let by_hand =
            [vec![100; 11], vec![97; 3], vec![94; 3], vec![89; 5], vec![86; 3], vec![83; 3]].concat();
        assert_eq!(seen, by_hand);
        // In one of eight the second best is that of round 3 too, beyond two, and the third that of round 5.
        let mut max = WindowedMax::default();
        let seen: Vec<_> = (0..14)
            .map(|at| {
                max.add(8, at, u64::from(100 - at));
                max.get()
            })
            .collect();
        assert_eq!(seen, [vec![100; 9], vec![97; 3], vec![95; 2]].concat());
    }

    /// Rounds without values: those that are still within ten are the candidates.
    #[test]
    fn after_a_pause_the_greatest_of_what_is_young_enough_is_left() {
        for (values, expected) in [
            (&[(0, 100), (10, 50)][..], 100),
            (&[(0, 100), (11, 50)], 50),
            (&[(0, 100), (25, 50)], 50),
            (&[(0, 100), (3, 90), (6, 80), (13, 70)], 90),
            (&[(0, 100), (3, 90), (6, 80), (14, 70)], 80),
            (&[(0, 100), (3, 90), (6, 80), (16, 70)], 80),
            (&[(0, 100), (3, 90), (6, 80), (17, 70)], 70),
            (&[(0, 100), (3, 90), (4, 95), (11, 60)], 95), // greater than the second best
            (&[(0, 100), (3, 90), (6, 80), (7, 85), (14, 60)], 85), // greater than the third
        ] {
            let mut max = WindowedMax::default();
            values.iter().for_each(|(at, value)| max.add(10, *at, *value));
            assert_eq!(max.get(), expected, "{values:?}");
        }
    }
}

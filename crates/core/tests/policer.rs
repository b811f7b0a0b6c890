//! The policer against the token bucket by its definition: what has conformed in any window is no more than burst plus rate times window, and
//! a packet is dropped only where it would break that.

use paceline_core::policer::{Policer, PolicerSpec};
use paceline_core::{Bytes, Instant, Rate};
use proptest::prelude::*;

/// Bit-nanoseconds per second in a byte.
const BYTE: i128 = 8_000_000_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// *Oracle.* A packet conforms iff for every earlier conforming packet i: bytes from i to this one <= burst + rate (t - t_i), and the
    /// same from the start. Nothing is kept from packet to packet but what has passed.
    #[test]
    fn a_packet_passes_where_no_window_has_more_than_burst_and_rate(
        rate in prop_oneof![Just(8_000_000_u64), 1_u64..2_000_000_000, Just(3)],
        burst in 1_u64..20_000,
        packets in prop::collection::vec((prop_oneof![Just(0_u64), 0_u64..3_000_000], 1_u32..2_000), 1..120),
    ) {
        let mut policer = Policer::new(&PolicerSpec {
            rate: Rate::from_bits_per_second(rate),
            burst: Bytes::new(burst),
        });
        let mut passed: Vec<(u64, u32)> = Vec::new();
        let mut now = 0;
        for (gap, bytes) in packets {
            now += gap;
            let mut sum = i128::from(bytes);
            let mut fits = sum <= i128::from(burst);
            for (at, earlier) in passed.iter().rev() {
                sum += i128::from(*earlier);
                fits &= sum * BYTE <= i128::from(burst) * BYTE + i128::from(rate) * i128::from(now - at);
            }
            prop_assert_eq!(policer.conforms(bytes, Instant::from_nanos(now)), fits, "at {}", now);
            if fits {
                passed.push((now, bytes));
            }
        }
    }

    /// The end of time, and the largest of everything.
    #[test]
    fn nothing_overflows(rate in any::<u64>(), burst in any::<u64>(), at in any::<u64>(), bytes in any::<u32>()) {
        let spec = PolicerSpec { rate: Rate::from_bits_per_second(rate.max(1)), burst: Bytes::new(burst) };
        let mut policer = Policer::new(&spec);
        let mut late = Policer::new(&spec);
        prop_assert_eq!(policer.conforms(bytes, Instant::ZERO), late.conforms(bytes, Instant::from_nanos(at)));
        policer.conforms(bytes, Instant::MAX);
    }
}

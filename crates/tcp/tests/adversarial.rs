//! Adversarial acknowledgements and arrivals, in their quick form; `fuzz/` has the same for hours.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

mod adversary;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_sender_keeps_to_its_window_and_ends(story in prop::collection::vec(any::<u8>(), 0..600)) {
        adversary::torment_sender(&story);
    }

    #[test]
    fn a_receiver_claims_what_it_has(story in prop::collection::vec(any::<u8>(), 0..600)) {
        adversary::torment_receiver(&story);
    }
}

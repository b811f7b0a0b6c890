//! Adversarial acknowledgements and arrivals, in their quick form; `fuzz/` has the same for hours.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use crate::adversary;
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

/// What fuzzing has found: SACK blocks before the handshake ends, with a SYN sent again, had it sent once more after data.
#[test]
fn what_was_found_stays_mended() {
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (target, torment) in
        [("sender", adversary::torment_sender as fn(&[u8])), ("receiver", adversary::torment_receiver)]
    {
        for file in std::fs::read_dir(kept.join(target)).unwrap() {
            torment(&std::fs::read(file.unwrap().path()).unwrap());
        }
    }
}

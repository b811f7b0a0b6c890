//! Whatever acknowledgements a sender gets, of every variant and profile: it keeps to the receiver's window, and once the
//! path is clean it delivers all that it was given.

#![no_main]

#[allow(dead_code, reason = "the receiver's part is another target")]
#[path = "../../crates/tcp/tests/adversary/mod.rs"]
mod adversary;

libfuzzer_sys::fuzz_target!(|story: &[u8]| adversary::torment_sender(story));

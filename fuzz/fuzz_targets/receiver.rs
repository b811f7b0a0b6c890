//! Whatever arrives at a receiver: it delivers each packet once, in order, and acknowledges only what it has.

#![no_main]

#[allow(dead_code, reason = "the sender's part is another target")]
#[path = "../../crates/tcp/tests/adversary/mod.rs"]
mod adversary;

libfuzzer_sys::fuzz_target!(|story: &[u8]| adversary::torment_receiver(story));

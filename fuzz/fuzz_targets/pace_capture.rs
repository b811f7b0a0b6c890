//! Whatever capture is replayed by whatever settings: what is read leaves in order, or is counted.

#![no_main]

#[allow(dead_code, reason = "the rest is other targets")]
#[path = "../../crates/dataplane/tests/odd/mod.rs"]
mod odd;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| odd::capture(bytes));

//! Whatever an offload is said to have joined is cut into frames that fit and are all of it, or refused.

#![no_main]

#[allow(dead_code, reason = "the rest is other targets")]
#[path = "../../crates/dataplane/tests/odd/mod.rs"]
mod odd;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| odd::joined(bytes));

//! Whatever a pacer is told, however late it is called: each frame leaves once, in order, and not before it came.

#![no_main]

#[allow(dead_code, reason = "the rest is other targets")]
#[path = "../../crates/dataplane/tests/odd/mod.rs"]
mod odd;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| odd::story(bytes));

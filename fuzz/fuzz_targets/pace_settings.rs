//! No flags and no file make the pacer's settings panic; what is refused is explained in one line; what is accepted can be
//! paced by.

#![no_main]

#[allow(dead_code, reason = "the rest is other targets")]
#[path = "../../crates/dataplane/tests/odd/mod.rs"]
mod odd;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = odd::settings(text);
});

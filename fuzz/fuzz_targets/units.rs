//! No text makes the parser panic; what it accepts displays as a text that parses back to the same value; what it refuses
//! is explained in one line.

#![no_main]

use std::fmt::Display;

use libfuzzer_sys::fuzz_target;
use paceline_core::units::parse::{self, BufferSize, QuantityError, Range};
use paceline_core::{Bytes, Rate, Span};

fuzz_target!(|text: &str| {
    check(text, parse::rate);
    check(text, parse::span);
    check(text, parse::bytes);
    check(text, parse::buffer);
    check::<Range<Rate>>(text, parse::range);
    check::<Range<Span>>(text, parse::range);
    check::<Range<Bytes>>(text, parse::range);
    check::<Range<BufferSize>>(text, parse::range);
});

fn check<T: Display + PartialEq + std::fmt::Debug>(text: &str, parse: fn(&str) -> Result<T, QuantityError>) {
    match parse(text) {
        Ok(value) => assert_eq!(parse(&value.to_string()), Ok(value)),
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
    }
}

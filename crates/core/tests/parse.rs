//! The parser of quantities: exact, reversible, and clear about what is wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::units::parse::{self, BufferSize, QuantityError, Range, Usual};
use paceline_core::{Bytes, Rate, Span};
use proptest::prelude::*;

#[test]
fn numbers_are_exact() {
    let rate = |text| parse::rate(text).map(Rate::bits_per_second);
    assert_eq!(rate("0.1 Gbit/s"), Ok(100_000_000));
    assert_eq!(rate("100Mbit/s"), Ok(100_000_000));
    assert_eq!(rate("  2.3 kbit/s "), Ok(2_300));
    assert_eq!(rate("1e3 bit/s"), Ok(1_000));
    assert_eq!(rate("100 Tbit/s"), Ok(100_000_000_000_000));
    assert_eq!(rate("33.333333333333336 Mbit/s"), Ok(33_333_333));
    assert_eq!(rate("18446744073709551615 bit/s"), Ok(u64::MAX));
    assert_eq!(rate("18446744.073709551615 Tbit/s"), Ok(u64::MAX));

    let span = |text: &str| parse::span(text).map(Span::as_nanos);
    assert_eq!(span("1.5 ms"), Ok(1_500_000));
    assert_eq!(span("2 min"), Ok(120_000_000_000));
    assert_eq!(span("0.7 \u{b5}s"), Ok(700));
    assert_eq!(span("0.7 \u{3bc}s"), Ok(700));
    assert_eq!(span("0.0000000005 s"), Ok(1)); // half a nanosecond is rounded up
    assert_eq!(span("0.00000000049999999999999999999999999999999999 s"), Ok(0));
    assert_eq!(span("0 s"), Ok(0));
    assert_eq!(span("1e-99999999999 s"), Ok(0));
    assert_eq!(span(&format!("0.{}1 s", "0".repeat(500))), Ok(0));
    assert_eq!(span(&format!("{}7 s", "0".repeat(500))), Ok(7_000_000_000));

    let bytes = |text: &str| parse::bytes(text).map(Bytes::count);
    assert_eq!(bytes("5 KB"), Ok(5_000));
    assert_eq!(bytes("1.5 KiB"), Ok(1_536));
    assert_eq!(bytes("0.0009765625 MiB"), Ok(1_024));
    assert_eq!(bytes("1 GiB"), Ok(1_073_741_824));
    for (text, count) in [("1E+3 B", 1_000), ("12e-1 KB", 1_200), ("1.25e3B", 1_250)] {
        assert_eq!(bytes(text), Ok(count), "{text}");
    }
    // Digits beyond the 25th say only whether it is whole.
    let digits = |last| format!("5{}{last}e-30 B", "0".repeat(29));
    assert_eq!(bytes(&digits('0')), Ok(5));
    assert!(bytes(&digits('1')).is_err());
    // An exponent of more digits than an integer has.
    assert_eq!(span("1e-99999999999999999999 s"), Ok(0));
    for text in ["1e99999999999999999999 s", "1e40 s", "1e9999 s"] {
        assert!(span(text).is_err(), "{text}");
    }

    assert_eq!(parse::buffer("5 packets"), Ok(BufferSize::Packets(5)));
    assert_eq!(parse::buffer("1 packet"), Ok(BufferSize::Packets(1)));
    assert_eq!(parse::buffer("0.1 BDP"), Ok(BufferSize::Bdp(0.1)));
    assert_eq!(parse::buffer("10 KB"), Ok(BufferSize::Bytes(Bytes::new(10_000))));
    assert_eq!(parse::buffer("0 packets"), Ok(BufferSize::Packets(0)));
}

#[test]
fn ranges() {
    let low_high =
        |text| parse::range::<Span>(text).map(|range| (range.low.as_nanos(), range.high.as_nanos()));
    assert_eq!(low_high("5 ms .. 15 ms"), Ok((5_000_000, 15_000_000)));
    assert_eq!(low_high("1.5us..2ms"), Ok((1_500, 2_000_000)));
    assert_eq!(low_high("10 ms"), Ok((10_000_000, 10_000_000)));
    let error = |text| parse::range::<BufferSize>(text).expect_err("refused").to_string();
    let order = "is not a range; write the lesser value first, both in units of one kind";
    assert_eq!(error("2 packets .. 1 packet"), format!("\"2 packets .. 1 packet\" {order}"));
    assert_eq!(error("1 packet .. 2 KB"), format!("\"1 packet .. 2 KB\" {order}"));
    let half = "has a unit at one end only; write for example";
    assert_eq!(error("1 .. 2 KB"), format!("\"1 .. 2 KB\" {half} \"1 KB .. 2 KB\""));
    assert_eq!(error("1 KB..2"), format!("\"1 KB..2\" {half} \"1 KB .. 2 KB\""));
}

#[test]
fn ends_of_a_range_are_compared_as_like_with_like() {
    for (text, is_one) in [
        ("1 KB .. 2 KB", true),
        ("2 KB .. 1 KB", false),
        ("1 packet .. 2 packets", true),
        ("2 packets .. 1 packet", false),
        ("0.5 BDP .. 1 BDP", true),
        ("1 BDP .. 0.5 BDP", false),
        ("1 B .. 1 BDP", false),
        ("1 packet .. 1 KB", false),
    ] {
        assert_eq!(parse::range::<BufferSize>(text).is_ok(), is_one, "{text}");
    }
    // Where one end is no number at all, its own error says so.
    let error = |text| parse::range::<Span>(text).expect_err("refused").to_string();
    for text in ["1 .. x", "x .. 1"] {
        let expected =
            if text.starts_with('1') { "\"1\" has no unit" } else { "does not begin with a number" };
        assert!(error(text).contains(expected), "{}", error(text));
    }
}

#[test]
fn a_number_ends_where_its_digits_do() {
    for text in ["5. KB", "5.KB", ".5 KB", "5e KB", "5e+ KB", "5e", "5e-", "5.", "5e3.2 KB"] {
        assert!(parse::bytes(text).is_err(), "{text}");
    }
}

#[test]
fn a_letter_behind_a_number_is_an_exponent_only_with_digits() {
    for (text, unit) in [("5e KB", "e KB"), ("5e+ KB", "e+ KB"), ("5.KB", ".KB")] {
        let message = parse::bytes(text).expect_err("refused").to_string();
        assert!(message.contains(&format!("has an unknown unit {unit:?}")), "{message}");
    }
}

#[test]
fn errors_say_what_to_write() {
    fn message<T: std::fmt::Debug>(parsed: Result<T, QuantityError>) -> String {
        parsed.expect_err("refused").to_string()
    }
    assert_eq!(message(parse::buffer("5")), "\"5\" has no unit; write for example \"5 KB\" or \"5 packets\"");
    assert_eq!(
        message(parse::rate("10 ms")),
        "\"10 ms\" is a time, not a rate; write for example \"100 Mbit/s\""
    );
    assert_eq!(
        message(parse::bytes("5 packets")),
        "\"5 packets\" is a number of packets, not an amount of data; write for example \"5 KB\""
    );
    assert_eq!(
        message(parse::rate("100 Mbps")),
        "\"100 Mbps\" has an unknown unit \"Mbps\"; did you mean \"Mbit/s\"?"
    );
    assert_eq!(message(parse::bytes("5 kB")), "\"5 kB\" has an unknown unit \"kB\"; did you mean \"KB\"?");
    assert_eq!(
        message(parse::span("5 fortnights")),
        "\"5 fortnights\" has an unknown unit \"fortnights\"; write for example \"10 ms\""
    );
    for (text, instead) in [
        ("10,5 ms", "\"10.5 ms\""),
        ("1,500 ms", "\"1500 ms\" or \"1.500 ms\""),
        ("12,000,000 ns", "\"12000000 ns\""),
        ("1,000 s", "\"1000 s\""),
        ("1,000.5 s", "\"1000.5 s\""),
    ] {
        assert_eq!(message(parse::span(text)), format!("{text:?} has a comma; write {instead}"));
    }
    assert_eq!(
        message(parse::buffer("2,5 packets")),
        "\"2,5 packets\" has an unknown unit \",5 packets\"; write for \
         example \"5 KB\" or \"5 packets\""
    );
    assert_eq!(
        message(parse::buffer("1,000 packets")),
        "\"1,000 packets\" has a comma; write \"1000 packets\""
    );
    assert_eq!(
        message(parse::span("10.5,3 ms")),
        "\"10.5,3 ms\" has an unknown unit \",3 ms\"; write for example \"10 ms\"",
        "what would be written instead is the same: it is not looked at again, and again"
    );
    assert_eq!(message(parse::span("1,1\nus")), "\"1,1\\nus\" has a comma; write \"1.1 us\"");
    let hours = message(parse::span("1.5 hours"));
    assert_eq!(
        hours,
        format!("\"1.5 hours\" has an unknown unit \"hours\"; write \"{}\"", Span::from_millis(5_400_000))
    );
    assert_eq!(message(parse::span("-5 ms")), "\"-5 ms\" is negative; write a number that is not below 0");
    assert_eq!(
        message(parse::rate("0 Mbit/s")),
        "\"0 Mbit/s\" is no rate at all; write at least \"1 bit/s\""
    );
    assert_eq!(
        message(parse::rate("nan Mbit/s")),
        "\"nan Mbit/s\" does not begin with a number; write for example \"100 Mbit/s\""
    );
    assert_eq!(message(parse::span("")), "\"\" does not begin with a number; write for example \"10 ms\"");
    let too_large = "is too large: it does not fit in 64 bits of the smallest unit";
    assert_eq!(message(parse::rate("1e30 bit/s")), format!("\"1e30 bit/s\" {too_large}"));
    assert_eq!(
        message(parse::rate("18446744073709551615.5 bit/s")),
        format!("\"18446744073709551615.5 bit/s\" {too_large}")
    );
    assert_eq!(message(parse::buffer("1e999 BDP")), format!("\"1e999 BDP\" {too_large}"));
    assert_eq!(message(parse::bytes("0.5 B")), "\"0.5 B\" is not a whole number of bytes; write one that is");
    assert_eq!(
        message(parse::buffer("2.5 packets")),
        "\"2.5 packets\" is not a whole number of packets; write one that is"
    );
}

/// The advice for a bare number, by what is read there.
fn advice<T: std::fmt::Debug>(parsed: Result<T, QuantityError>) -> String {
    let message = parsed.expect_err("refused").to_string();
    message
        .split_once("write ")
        .map(|(_, advice)| advice.trim_start_matches("for example ").to_owned())
        .unwrap()
}

#[test]
fn a_bare_number_keeps_its_magnitude_in_the_unit_that_is_meant() {
    let rate = |text| advice(parse::rate(text));
    assert_eq!(rate("100"), "\"100 Mbit/s\"");
    assert_eq!(rate("1.5"), "\"1.5 Mbit/s\"");
    assert_eq!(rate("1e7"), "\"10 Mbit/s\"");
    assert_eq!(rate("10000000"), "\"10 Mbit/s\"");
    assert_eq!(rate("1000000000"), "\"1 Gbit/s\"");
    assert_eq!(rate("64000"), "\"64 kbit/s\"");
    assert_eq!(rate("1000"), "\"1 kbit/s\"");
    assert_eq!(advice(parse::range::<Rate>("8000000 .. 12000000")), "\"8 Mbit/s .. 12 Mbit/s\"");
    assert_eq!(advice(parse::range::<Rate>("800 .. 12000")), "\"800 bit/s .. 12 kbit/s\"");

    assert_eq!(advice(parse::span("10")), "\"10 ms\"");
    assert_eq!(advice(parse::span("0.01")), "\"10 ms\"");
    assert_eq!(advice(parse::span("0")), "\"0 ms\"");
    assert_eq!(advice(parse::span("1")), "\"1 ms\"");
    let seconds = |text| advice(parse::span(text).map_err(|error| error.with_usual(Usual::Seconds)));
    assert_eq!(seconds("60"), "\"60 s\"");
    assert_eq!(seconds("0.5"), "\"0.5 s\"");

    assert_eq!(advice(parse::bytes("5")), "\"5 KB\"");
    assert_eq!(advice(parse::bytes("15000")), "\"15 KB\"");
    assert_eq!(advice(parse::bytes("1500.5")), "\"5 KB\""); // no whole number of bytes: an example
    let packet = |text| advice(parse::bytes(text).map_err(|error| error.with_usual(Usual::PacketBytes)));
    assert_eq!(packet("1000"), "\"1000 B\"");

    assert_eq!(advice(parse::buffer("10000")), "\"10 KB\" or \"10000 packets\"");
    assert_eq!(advice(parse::buffer("1")), "\"1 KB\" or \"1 packet\"");
    assert_eq!(advice(parse::buffer("0.1")), "\"0.1 BDP\"");
    let window = |text| advice(parse::buffer(text).map_err(|error| error.with_usual(Usual::Packets)));
    assert_eq!(window("64"), "\"64 packets\"");
    assert_eq!(window("9999"), "\"9999 packets\"");
    assert_eq!(window("10000"), "\"10 KB\" or \"10000 packets\"");
    assert_eq!(advice(parse::buffer("2.5")), "\"2.5 KB\" or \"2.5 BDP\"");
    assert_eq!(advice(parse::buffer("0")), "\"0 KB\" or \"0 packets\"");
    assert_eq!(window("65536"), "\"65.536 KB\" or \"65536 packets\"");
}

#[test]
fn a_byte_is_eight_bits() {
    assert_eq!(
        parse::rate("10 MB/s").expect_err("refused").to_string(),
        "\"10 MB/s\" is in bytes, and rates are in bits, eight to a byte; write \"80 Mbit/s\""
    );
    assert!(parse::rate("0 MB/s").expect_err("refused").to_string().ends_with("did you mean \"Mbit/s\"?"));
    for (text, rate) in [("1 KiB/s", "8.192 kbit/s"), ("1 GiB/s", "8.589934592 Gbit/s")] {
        assert_eq!(advice(parse::rate(text)), format!("\"{rate}\""));
    }
    for (text, bits) in [("1.25 MBps", "10 Mbit/s"), ("1 kB/s", "8 kbit/s"), ("1 MiB/s", "8.388608 Mbit/s")] {
        assert_eq!(advice(parse::rate(text)), format!("\"{bits}\""));
    }
    for text in ["10 Mb/s", "10 mb/s", "10 Mb", "10 Mbit", "10 MBPS"] {
        assert!(
            parse::rate(text).expect_err("refused").to_string().ends_with("did you mean \"Mbit/s\"?"),
            "{text}"
        );
    }
    assert_eq!(
        parse::buffer("64 Kb").expect_err("refused").to_string(),
        "\"64 Kb\" is in bits, and sizes are in bytes, of eight bits each; write \"8 KB\""
    );
    assert!(parse::bytes("5 kb").expect_err("refused").to_string().ends_with("did you mean \"KB\"?"));
    // the unit of another kind is no advice
    assert!(!parse::span("10 mbit").expect_err("refused").to_string().contains("Mbit/s"));
}

/// Every character there is, between number and unit and behind: it is read, or refused in a line.
#[test]
fn no_character_of_unicode_panics() {
    for c in '\0'..=char::MAX {
        if let Err(error) = parse::range::<Span>(&format!("1{c} s ..2{c}")) {
            assert_eq!(error.to_string().lines().count(), 1, "{c:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_displayed_parses_back(number in any::<u64>(), shift in 0u32..64, multiple in 0.0..1e6f64) {
        let number = number >> shift;
        let rate = Rate::from_bits_per_second(number);
        prop_assert_eq!(parse::rate(&rate.to_string()), Ok(rate));
        let span = Span::from_nanos(number);
        prop_assert_eq!(parse::span(&span.to_string()), Ok(span));
        let bytes = Bytes::new(number);
        prop_assert_eq!(parse::bytes(&bytes.to_string()), Ok(bytes));
        for buffer in [BufferSize::Bytes(bytes), BufferSize::Packets(number), BufferSize::Bdp(multiple)] {
            prop_assert_eq!(parse::buffer(&buffer.to_string()), Ok(buffer));
        }
        let range = Range { low: span, high: Span::from_nanos(number.saturating_add(number / 3)) };
        prop_assert_eq!(parse::range(&range.to_string()), Ok(range));
    }

    #[test]
    fn whole_and_thousandths_agree(thousandths in 0u64..10_000_000_000) {
        let text = format!("{}.{:03} Mbit/s", thousandths / 1_000, thousandths % 1_000);
        let whole = format!("{thousandths} kbit/s");
        prop_assert_eq!(parse::rate(&text).ok(), parse::rate(&whole).ok());
    }

    #[test]
    fn what_is_advised_for_a_bare_number_is_taken(digits in "(0|[1-9][0-9]{0,12})(\\.[0-9]{1,3})?(e[0-9])?", usual in 0usize..4) {
        let usual = [None, Some(Usual::Seconds), Some(Usual::PacketBytes), Some(Usual::Packets)][usual];
        let place = |error: QuantityError| match usual {
            Some(usual) => error.with_usual(usual),
            None => error,
        };
        let first = |advice: String| advice.split('"').nth(1).unwrap_or_default().to_owned();
        prop_assert!(parse::rate(&first(advice(parse::rate(&digits).map_err(place)))).is_ok());
        prop_assert!(parse::span(&first(advice(parse::span(&digits).map_err(place)))).is_ok());
        prop_assert!(parse::bytes(&first(advice(parse::bytes(&digits).map_err(place)))).is_ok());
        prop_assert!(parse::buffer(&first(advice(parse::buffer(&digits).map_err(place)))).is_ok());
    }

    #[test]
    fn no_text_panics(text in prop_oneof![any::<String>(), "[0-9.eE+ -]{0,6}\\PC{0,30}"]) {
        let _ = (parse::rate(&text), parse::span(&text), parse::bytes(&text), parse::buffer(&text));
        let _ = (parse::range::<Rate>(&text), parse::range::<BufferSize>(&text));
    }

    #[test]
    fn no_near_quantity_panics(text in "[-+0-9.eE ]{0,12} ?(bit/s|Tbit/s|ms|min|s|KB|GiB|packets|BDP|\\.\\.)?[0-9a-z ]{0,3}") {
        for error in [parse::rate(&text).err(), parse::span(&text).err(), parse::buffer(&text).err()] {
            prop_assert!(error.is_none_or(|error| error.to_string().lines().count() == 1));
        }
    }
}

#[test]
fn the_advice_for_a_bare_number_has_no_needless_decimals() {
    for (number, instead) in [("60.0", "\"60 ms\""), ("2.5", "\"2.5 ms\""), ("10.0", "\"10 ms\"")] {
        let message = parse::span(number).expect_err("refused").to_string();
        assert_eq!(message, format!("{number:?} has no unit; write for example {instead}"));
    }
}

#[test]
fn a_prefix_alone_is_a_unit_half_written() {
    for (text, meant) in [("10 M", "Mbit/s"), ("10 G", "Gbit/s"), ("10 k", "kbit/s")] {
        let message = parse::rate(text).expect_err("refused").to_string();
        assert!(message.ends_with(&format!("did you mean \"{meant}\"?")), "{message}");
    }
    let message = parse::bytes("10 KBytes").expect_err("refused").to_string();
    assert!(message.ends_with("did you mean \"KB\"?"), "{message}");
}

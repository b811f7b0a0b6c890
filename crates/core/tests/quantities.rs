//! The arithmetic of times, sizes and rates: exact, and saturating at both ends of time.

use paceline_core::queue::{Counts, Limit, QueueSpec, Ties};
use paceline_core::{Bytes, Gap, Instant, Rate, Span};

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(nanos)
}

#[test]
fn times_add_and_subtract() {
    assert_eq!(at(7).since(at(3)), span(4));
    assert_eq!(at(3).since(at(7)), Span::ZERO);
    assert_eq!(at(7).after(at(3)), span(4));
    assert_eq!(at(7).earlier_by(span(3)), at(4));
    assert_eq!(at(7).later_by(span(3)), at(10));
    assert_eq!(at(7) - span(3), at(4));
    assert_eq!(at(3) - span(7), Instant::ZERO);
    assert_eq!(at(7) + span(3), at(10));
    assert_eq!(Instant::MAX + span(1), Instant::MAX);
    assert_eq!(span(7) + span(3), span(10));
    assert_eq!(Span::MAX + span(1), Span::MAX);
    assert_eq!(Bytes::new(7) + Bytes::new(3), Bytes::new(10));
    let mut now = at(7);
    now += span(3);
    assert_eq!(now, at(10));
}

#[test]
fn seconds_are_ten_to_the_nine_nanoseconds() {
    assert_eq!(at(2_500_000_000).as_seconds(), 2.5);
    assert_eq!(span(2_500_000_000).as_seconds(), 2.5);
    for (seconds, nanos) in [(2.5, 2_500_000_000), (3.6e-9, 4), (3.4e-9, 3), (-1.0, 0), (f64::NAN, 0)] {
        assert_eq!(Span::from_seconds(seconds), span(nanos), "{seconds} s");
    }
    assert_eq!(Span::from_millis(3), span(3_000_000));
    assert_eq!(at(1_500_000_000).to_string(), "1.5 s");
}

#[test]
fn a_gap_says_what_was_set() {
    let mut gap = Gap::default();
    gap.set_gap(span(7));
    assert_eq!(gap.gap(), span(7));
}

#[test]
fn a_rate_is_never_zero_and_a_packet_has_left_after_whole_nanoseconds() {
    assert_eq!(Rate::from_bits_per_second(0), Rate::from_bits_per_second(1));
    // 8000 bit at 3 Gbit/s take 2666.67 ns.
    assert_eq!(Rate::from_bits_per_second(3_000_000_000).time_to_send(1_000), span(2_667));
}

#[test]
fn rules_have_the_names_by_which_they_are_listed() {
    for (name, counts) in Counts::ALL {
        assert_eq!((counts.name(), Counts::named(name)), (*name, Some(*counts)));
    }
    assert_eq!(Counts::named("served"), None);
    for (name, ties) in Ties::ALL {
        assert_eq!(ties.name(), *name);
    }
    assert_eq!(Limit::Bytes(5_000).to_string(), "5 KB");
    assert_eq!(Limit::Packets(1).to_string(), "1 packet");
    assert_eq!(QueueSpec::default().limit, None);
}

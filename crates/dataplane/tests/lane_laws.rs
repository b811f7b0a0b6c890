//! Laws of a direction, over random traffic, callers that are late, and parameters that change.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use std::collections::VecDeque;

use paceline_core::pacer::{self, parameters::Value};
use paceline_core::queue::Limit;
use paceline_core::{Instant, Rate, Span};
use paceline_dataplane::lane::{Admission, Frame, Lane, LaneSpec, Overload};
use proptest::prelude::*;

const LINE: Rate = Rate::from_bits_per_second(100_000_000);

fn spec(index: usize, limit: u64, overload: Overload) -> LaneSpec {
    let cases: [(&str, &[(&str, &str)]); 5] = [
        ("none", &[]),
        ("edge", &[("delay", "2 ms")]),
        ("edge", &[("delay", "5 ms"), ("release", "finish")]),
        ("qlbp", &[("mu_min", "5 Mbit/s"), ("mu_max", "50 Mbit/s"), ("q_max", "20 packets")]),
        ("token-bucket", &[("rate", "10 Mbit/s"), ("burst", "3000 B")]),
    ];
    let (method, parameters) = cases[index % cases.len()];
    let mut value = |key: &str| {
        parameters.iter().find(|(name, _)| *name == key).map(|(_, text)| Value::Text((*text).to_owned()))
    };
    let mut pacer = pacer::parse(method, &mut value, LINE).unwrap();
    pacer.limit = Some(Limit::Packets(limit));
    LaneSpec { pacer, line_rate: LINE, overload }
}

/// What happens next: a frame after so long, a caller that comes so late, new parameters.
#[derive(Debug, Clone)]
enum Event {
    Frame { after_us: u64, bytes: u32 },
    Round { after_us: u64 },
    Change { to: usize },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        6 => (0u64..800, 60u32..1515).prop_map(|(after_us, bytes)| Event::Frame { after_us, bytes }),
        4 => prop_oneof![4 => 0u64..400, 1 => 0u64..20_000].prop_map(|after_us| Event::Round { after_us }),
        1 => (0usize..5).prop_map(|to| Event::Change { to }),
    ];
    prop::collection::vec(event, 1..300)
}

proptest! {
    #[test]
    fn nothing_is_lost_or_overtaken(
        first in 0usize..5, limit in 1u64..60, flush: bool, changes: bool, events in events()
    ) {
        let overload = if flush { Overload::Flush } else { Overload::Drop };
        let mut lane = Lane::new(spec(first, limit, overload));
        let mut ready = VecDeque::new();
        let (mut now, mut came, mut refused, mut flushed) = (Instant::ZERO, 0u64, Vec::new(), 0);
        let mut left: Vec<(u64, Instant, Instant, Instant)> = Vec::new();
        let mut numbers = Vec::new();
        for event in events {
            match event {
                Event::Frame { after_us, bytes } => {
                    now += Span::from_nanos(1000 * after_us);
                    match lane.arrive(Frame::new(came, bytes, now), &mut ready) {
                        Admission::Taken => {}
                        Admission::Flushed(count) => flushed += count,
                        Admission::Refused(frame) => refused.push(frame.handle),
                    }
                    came += 1;
                }
                Event::Round { after_us } => now += Span::from_nanos(1000 * after_us),
                Event::Change { to } if changes => lane.change(spec(to, limit, overload), now, &mut ready),
                Event::Change { .. } => {}
            }
            lane.release(now, &mut ready);
            prop_assert!(lane.next_wakeup().is_none_or(|wakeup| wakeup > now));
            prop_assert_eq!(lane.next_wakeup().is_some(), lane.held_packets() > 0);
            numbers.extend(ready.iter().map(|frame| frame.number));
            left.extend(ready.drain(..).map(|frame| (frame.handle, frame.arrived, frame.due, now)));
        }
        let held = lane.take_back();
        numbers.extend(held.iter().map(|frame| frame.number));
        // what is admitted is counted from 1
        prop_assert!(numbers.iter().copied().eq(1..=came - refused.len() as u64));
        let held: Vec<u64> = held.into_iter().map(|frame| frame.handle).collect();
        // each frame once, in order, wherever it went
        let mut all: Vec<u64> = left.iter().map(|(number, ..)| *number).chain(held.iter().copied()).collect();
        prop_assert!(all.is_sorted());
        all.extend(&refused);
        all.sort_unstable();
        prop_assert_eq!(all, (0..came).collect::<Vec<_>>());
        prop_assert!(!flush || refused.is_empty());
        prop_assert!(flush || flushed == 0);
        for (_, arrived, due, at) in left {
            prop_assert!(arrived <= due && due <= at);
        }
    }

    #[test]
    fn no_frame_is_held_longer_than_the_bound_and_the_lateness(finish: bool, events in events()) {
        let (case, bound) = if finish { (2, Span::from_millis(5)) } else { (1, Span::from_millis(2)) };
        let mut lane = Lane::new(spec(case, 10_000, Overload::Drop));
        let mut ready = VecDeque::new();
        let (mut now, mut seen) = (Instant::ZERO, Instant::ZERO);
        let mut waiting = Vec::new();
        for event in events {
            match event {
                // the caller does not come round for every arrival
                Event::Frame { after_us, bytes } => {
                    now += Span::from_nanos(1000 * after_us);
                    waiting.push(Frame::new((), bytes, now));
                }
                Event::Round { after_us } => {
                    now += Span::from_nanos(1000 * after_us);
                    lane.release(now, &mut ready);
                    for frame in waiting.drain(..) {
                        prop_assert!(matches!(lane.arrive(frame, &mut ready), Admission::Taken));
                    }
                    lane.release(now, &mut ready);
                    seen = seen.max(now);
                    for frame in ready.drain(..) {
                        prop_assert!(now.since(frame.arrived) <= bound + frame.lateness(now));
                    }
                }
                Event::Change { .. } => {}
            }
        }
    }

    #[test]
    fn a_late_caller_does_not_end_in_a_burst(stall_ms in 2u64..200, packets in 50u64..300) {
        // 10 Mbit/s, 3000 B: what leaves after a stall is the burst, and what 1 ms of lateness makes up for
        let mut lane = Lane::new(spec(4, 10_000, Overload::Drop));
        let mut ready = VecDeque::new();
        for number in 0..packets {
            let _ = lane.arrive(Frame::new(number, 1000, Instant::ZERO), &mut ready);
        }
        ready.clear();
        let mut now = Instant::ZERO + Span::from_millis(stall_ms);
        lane.release(now, &mut ready);
        let at_once: u64 = ready.drain(..).map(|frame| u64::from(frame.bytes)).sum();
        prop_assert!(at_once <= 3000 + 1250 + 1000, "{}", at_once);
        // and from there on it is the rate
        let mut bytes = 0;
        for _ in 0..100 {
            now += Span::from_nanos(100_000);
            lane.release(now, &mut ready);
            bytes += ready.drain(..).map(|frame| u64::from(frame.bytes)).sum::<u64>();
        }
        prop_assert!(bytes <= 12_500 + 1000, "{}", bytes);
    }

    #[test]
    fn the_rate_falls_short_by_what_is_forgiven_and_no_more(
        rounds in prop::collection::vec(prop_oneof![8 => 1u64..400, 1 => 900u64..30_000], 20..200)
    ) {
        // 10 Mbit/s in frames of one burst: 2.4 ms each, and there are always some
        let mut lane = Lane::new(spec(4, 10_000, Overload::Drop));
        let mut ready = VecDeque::new();
        for number in 0..5000 {
            let _ = lane.arrive(Frame::new(number, 3000, Instant::ZERO), &mut ready);
        }
        let mut now = Instant::ZERO;
        for after_us in rounds {
            now += Span::from_nanos(1000 * after_us);
            lane.release(now, &mut ready);
        }
        prop_assert!(lane.held_packets() > 0);
        let paced = now.since(Instant::ZERO).as_seconds() - lane.forgiven().as_seconds();
        let frames = 1.0 + paced * 10e6 / 8.0 / 3000.0; // the first leaves at once
        prop_assert!((ready.len() as f64 - frames).abs() <= 1.0, "{} {}", ready.len(), frames);
    }
}

#[test]
fn a_lower_limit_is_for_what_comes() {
    let mut lane = Lane::new(spec(4, 20, Overload::Drop));
    let mut ready = VecDeque::new();
    let mut arrive = |lane: &mut Lane<u64>, number| {
        matches!(lane.arrive(Frame::new(number, 1500, Instant::ZERO), &mut ready), Admission::Taken)
    };
    assert!((0..12).all(|number| arrive(&mut lane, number)));
    // two of 1500 B are the burst, and leave
    assert_eq!((lane.held_packets(), lane.held_bytes()), (10, 15_000));
    lane.change(spec(4, 3, Overload::Drop), Instant::ZERO, &mut VecDeque::new());
    // so they do again, since a bucket begins full; none is lost
    assert_eq!((lane.held_packets(), lane.take_back().len()), (8, 8));
    lane.change(spec(4, 3, Overload::Drop), Instant::ZERO, &mut VecDeque::new());
    assert_eq!((0..9).filter(|number| arrive(&mut lane, *number)).count(), 5);
}

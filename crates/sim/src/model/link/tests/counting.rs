//! What counts, and what of it: by the window's definition.

use super::super::bounded::is_recorded;
use super::super::counters::LinkCounters;
use super::super::losses::Loss;
use super::cases::{Case, Draws, Kind, forced};
use crate::kernel::cause::Cause;
use crate::network::DropRule;
use paceline_core::Instant;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn from_100_to_200() -> LinkCounters {
    LinkCounters::over((at(100), at(200)))
}

#[test]
fn a_window_has_its_beginning_and_not_its_end() {
    for (now, inside) in [(99, 0), (100, 1), (199, 1), (200, 0)] {
        let mut counters = from_100_to_200();
        counters.drops_arrival(Cause::Overflow, at(now));
        assert_eq!(
            (counters.arrived, counters.dropped(), counters.dropped_ever),
            (inside, inside, 1),
            "{now}"
        );
        counters.were_tied(at(now), 5, 3);
        counters.were_tied(at(now), 2, 1);
        assert_eq!(counters.tied, [7 * inside, 4 * inside], "{now}");
    }
}

/// Two packets of each cause, which together are all that it drops.
#[test]
fn each_cause_is_counted_in_the_window() {
    for (now, inside) in [(99, 0), (100, 2), (199, 2), (200, 0)] {
        let mut counters = from_100_to_200();
        for _ in 0..2 {
            Cause::ALL.into_iter().for_each(|cause| counters.drops(cause, at(now)));
            counters.marks(at(now));
        }
        assert_eq!(Cause::ALL.map(|cause| counters.dropped_for(cause)), [inside; 6], "{now}");
        let all = (counters.dropped(), counters.dropped_ever, counters.marked);
        assert_eq!(all, (6 * inside, 12, inside), "{now}");
    }
}

/// 1000 B on the wire from one time to another: how many of them are counted.
#[test]
fn bytes_count_by_the_part_of_their_time_within() {
    for (start, finish, bytes) in [
        (0, 99, 0.0),
        (0, 100, 0.0), // the last bit leaves as the window begins
        (0, 200, 500.0),
        (90, 110, 500.0),
        (100, 110, 1000.0),
        (120, 200, 1000.0),
        (120, 201, 1000.0 * 80.0 / 81.0),
        (190, 210, 500.0),
        (50, 250, 500.0),
        (200, 210, 0.0),
        (150, 150, 1000.0), // less than a nanosecond
        (100, 100, 1000.0),
        (200, 200, 0.0),
        (99, 99, 0.0),
    ] {
        for is_ack in [false, true] {
            let [mut passes, mut leaves] = [from_100_to_200(); 2];
            passes.passes(1000, is_ack, at(start), at(start), at(finish));
            leaves.leaves(1000, is_ack, at(start), at(finish));
            let data = u64::from(!is_ack && finish < 200);
            for counters in [passes, leaves] {
                assert!(
                    (counters.left_bytes() - bytes).abs() < 1e-9,
                    "{start} {finish}: {}",
                    counters.left_bytes()
                );
                assert_eq!(counters.data_ever, data, "{start} {finish}");
            }
            assert_eq!(passes.arrived, u64::from((100..200).contains(&start)), "{start} {finish}");
            assert_eq!(leaves.arrived, 0);
        }
    }
}

#[test]
fn a_packet_may_come_in_the_window_and_leave_after_it_or_come_before_and_leave_in_it() {
    let mut counters = from_100_to_200();
    counters.passes(1000, false, at(199), at(300), at(400));
    assert_eq!((counters.arrived, counters.data_ever, counters.left_bytes()), (1, 0, 0.0));
    counters.passes(1000, false, at(50), at(120), at(130));
    assert_eq!((counters.arrived, counters.data_ever, counters.left_bytes()), (1, 1, 1000.0));
}

#[test]
fn departures_are_recorded_from_a_time_until_another() {
    for (start, is_within) in [(99, false), (100, true), (199, true), (200, false)] {
        assert_eq!(is_recorded(Some((at(100), at(200))), at(start)), is_within, "{start}");
        assert!(!is_recorded(None, at(start)));
    }
}

#[test]
fn chance_takes_its_share_of_the_flow_that_is_named() {
    let spec = Case::draw(Kind::Limited, 1).spec;
    let lost = |flow, probability| {
        let mut loss = Loss::new(forced(flow, DropRule::Probability(probability)), 0, &spec, 1, 2);
        let lost: Vec<u32> = (0..20_000).filter(|packet| loss.takes(packet % 2)).collect();
        [0, 1].map(|flow| lost.iter().filter(|packet| **packet % 2 == flow).count())
    };
    assert_eq!((lost(None, 0.0), lost(None, 1.0), lost(Some(1), 1.0)), ([0, 0], [10_000; 2], [0, 10_000]));
    // five standard deviations of 46
    for share in lost(None, 0.3) {
        assert!(share.abs_diff(3_000) < 230, "{share}");
    }
}

#[test]
fn what_counts_alike_is_what_is_wholly_before_or_within() {
    for (first, latest, alike) in [
        (0, 99, true),
        (0, 100, false),
        (99, 150, false),
        (100, 150, true),
        (100, 199, true),
        (100, 200, false),
        (200, 210, false),
    ] {
        assert_eq!(from_100_to_200().count_alike(at(first), at(latest)), alike, "{first} {latest}");
    }
}

#[test]
fn together_they_count_as_one_by_one() {
    for seed in 0..300 {
        let case = Case::draw(Kind::Limited, seed);
        let mut draws = Draws::of(seed);
        let [mut one_by_one, mut together] = [LinkCounters::over(case.window); 2];
        case.line.iter().for_each(|event| one_by_one.arrives(event.at));
        together.all_arrive(&case.line);
        assert_eq!(one_by_one.arrived, together.arrived, "{seed}");
        let from = draws.below(case.line.len() as u64) as usize;
        let some = &case.line[from..from + draws.below((case.line.len() - from) as u64) as usize];
        let [Some(first), Some(last)] = [some.first(), some.last()] else { continue };
        let latest = last.at + case.spec.delay;
        if !one_by_one.count_alike(first.at, latest) {
            continue;
        }
        let [mut one_by_one, mut together] = [LinkCounters::over(case.window); 2];
        for event in some {
            one_by_one.passes(event.bytes, event.is_ack(), event.at, event.at, event.at + case.spec.delay);
        }
        let data = some.iter().filter(|event| !event.is_ack()).count() as u64;
        let bytes = some.iter().map(|event| u64::from(event.bytes)).sum();
        together.passes_all(first.at, (some.len() as u64, bytes, data));
        let counted = |of: &LinkCounters| (of.arrived, of.left_bytes(), of.data_ever);
        assert_eq!(counted(&one_by_one), counted(&together), "{seed}");
    }
}

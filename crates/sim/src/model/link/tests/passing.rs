//! Packets that pass a lossless link: many at once, as one by one.

use super::cases::{Case, Draws, Kind};
use super::*;

/// What a link has come to.
fn state(link: &mut Link, at: Instant) -> String {
    let (free_at, owes) = (link.free_at(), link.owes());
    let counted = link.bounded_mut().map(|bounded| {
        let counters = bounded.counters;
        let level = bounded.meter_at(at).map(|meter| meter.level(at));
        (counters.arrived, counters.left_bytes(), counters.data_ever, level)
    });
    format!("{free_at:?} {owes} {counted:?}")
}

fn mean(link: &mut Link) -> Option<(f64, f64)> {
    link.bounded_mut()
        .and_then(|bounded| bounded.meter.as_mut())
        .map(crate::model::link::meter::Meter::finish)
}

/// Serves a case's packets in batches, each by `together` where that serves it, and one by one. Returns how many batches it served.
fn compare(kind: Kind, seed: u64, together: fn(&mut Link, &[Event]) -> Option<Vec<Instant>>) -> usize {
    let mut case = Case::draw(kind, seed);
    case.record = None;
    let mut draws = Draws::of(seed);
    let [mut one, mut other] = [case.link(), case.link()];
    let (mut line, mut count) = (&case.line[..], 0);
    while !line.is_empty() {
        let (now, later) = line.split_at(1 + draws.below(line.len().min(40) as u64) as usize);
        line = later;
        let one_by_one = |link: &mut Link| -> Vec<Instant> {
            now.iter().map(|event| link.pass(event.bytes, event.is_ack(), event.at).arrival).collect()
        };
        let expected = one_by_one(&mut one);
        let found = match together(&mut other, now) {
            Some(found) => {
                count += 1;
                found
            }
            None => one_by_one(&mut other),
        };
        assert_eq!(found, expected, "{kind:?}, seed {seed}");
        let at = now.last().unwrap().at;
        assert_eq!(state(&mut other, at), state(&mut one, at), "{kind:?}, seed {seed}");
    }
    assert_eq!(mean(&mut other), mean(&mut one), "{kind:?}, seed {seed}");
    count
}

#[test]
fn a_wire_at_hand_serves_as_the_link_does() {
    for kind in [Kind::Compact, Kind::Bare, Kind::Watched, Kind::Recorded] {
        let count: usize = (0..60)
            .map(|seed| {
                compare(kind, seed, |link, now| {
                    let (first, last) = (now[0].at, now[now.len() - 1].at);
                    let mut service = link.begin_batch(now.len(), (first, last))?;
                    let mut arrivals = Vec::new();
                    for event in now {
                        let (start, arrival) = service.pass(event, event.at);
                        if start > event.at {
                            link.makes_wait(event, event.at, start);
                        }
                        arrivals.push(arrival);
                    }
                    link.end_batch(&service, first, now.len() as u64);
                    Some(arrivals)
                })
            })
            .sum();
        assert_eq!(count > 50, kind != Kind::Compact, "{kind:?}: {count}");
    }
}

#[test]
fn a_wire_for_packets_that_are_alike_serves_as_the_link_does() {
    for kind in [Kind::Compact, Kind::Bare, Kind::Watched, Kind::Recorded] {
        let count: usize = (0..150)
            .map(|seed| {
                compare(kind, seed, |link, now| {
                    let window = (now[0].at, now[now.len() - 1].at);
                    if !Event::all_are_like(&now[0], now) {
                        return None;
                    }
                    let mut service = link.begin_alike_batch(now.len(), &now[0], window)?;
                    let arrivals = now.iter().map(|event| service.pass(event.at)).collect();
                    link.end_alike_batch(&mut service, window, now.len() as u64);
                    Some(arrivals)
                })
            })
            .sum();
        assert_eq!(count > 50, kind != Kind::Compact, "{kind:?}: {count}");
    }
}

#[test]
fn who_asks_for_the_arrival_alone_is_told_it() {
    for kind in [Kind::Compact, Kind::Bare, Kind::Watched] {
        for seed in 0..30 {
            compare(kind, seed, |link, now| {
                Some(now.iter().map(|event| link.carry(event.bytes, event.is_ack(), event.at)).collect())
            });
        }
    }
}

/// 1000 B at 3 Mbit/s take 2,666,666 ns and two thirds.
#[test]
fn fractions_of_a_nanosecond_are_owed_until_they_are_whole() {
    for kind in [Kind::Compact, Kind::Watched] {
        let mut case = Case::draw(kind, 1);
        case.spec.rate = paceline_core::Rate::from_bits_per_second(3_000_000);
        let mut link = case.link();
        for (free_at, owes) in [(2_666_666, true), (5_333_333, true), (8_000_000, false), (10_666_666, true)]
        {
            link.pass(1000, false, Instant::ZERO);
            assert_eq!((link.free_at().as_nanos(), link.owes()), (free_at, owes), "{kind:?}");
        }
    }
}

/// So many packets wait that to look at them takes longer than to pass; or time ends before the far end.
#[test]
fn a_wire_is_not_taken_in_hand_where_it_does_not_pay_or_has_no_end() {
    let mut case = Case::draw(Kind::Bare, 1);
    case.spec.rate = paceline_core::Rate::from_bits_per_second(100_000);
    case.spec.delay = Span::from_millis(1);
    let one = &case.line[0];
    let service = u64::from(one.bytes) * 8 * 10_000;
    for (before, packets, is_taken) in [(65, 1, true), (66, 1, false), (66, 65, true), (67, 65, false)] {
        let mut link = case.link();
        let now = (Instant::ZERO, Instant::ZERO);
        let mut service = link.begin_alike_batch(before, one, now).unwrap();
        for _ in 0..before {
            service.pass(Instant::ZERO);
        }
        link.end_alike_batch(&mut service, now, before as u64);
        assert_eq!(link.begin_alike_batch(packets, one, now).is_some(), is_taken, "{before} {packets}");
    }
    for (before_the_end, is_taken) in [(service + 900_000, false), (service + 1_100_000, true)] {
        let last = Instant::from_nanos(u64::MAX - before_the_end);
        assert_eq!(
            case.link().begin_alike_batch(1, one, (last, last)).is_some(),
            is_taken,
            "{before_the_end}"
        );
    }
}

#[test]
fn what_has_passed_elsewhere_is_counted() {
    let mut case = Case::draw(Kind::Watched, 1);
    case.window = (Instant::from_nanos(100), Instant::from_nanos(200));
    let mut link = case.link();
    link.count(Instant::from_nanos(100), (3, 4000, 2));
    link.count(Instant::from_nanos(99), (3, 4000, 2));
    let counters = link.bounded().unwrap().counters;
    assert_eq!((counters.arrived, counters.left_bytes(), counters.data_ever), (3, 4000.0, 4));
    let at = Instant::from_nanos;
    assert!(link.count_alike(at(100), at(199)) && !link.count_alike(at(100), at(200)));
    let mut bare = Case::draw(Kind::Bare, 1).link();
    bare.count(at(0), (1, 1, 1));
    assert!(bare.count_alike(at(0), at(u64::MAX)));
}

/// What stands for a link takes a nanosecond a byte, and nothing on the way.
#[test]
fn a_stand_in_is_a_link() {
    let mut link = Link::stand_in();
    let passage = link.pass(1500, false, Instant::from_nanos(10));
    assert_eq!((passage.start.as_nanos(), passage.arrival.as_nanos(), passage.recorded), (10, 1510, false));
    assert_eq!((link.free_at().as_nanos(), link.owes(), link.held_packets()), (1510, false, 0));
}

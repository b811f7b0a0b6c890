//! Packets that pass a link that refuses nothing: many at once, as one by one.

use super::cases::{Case, Draws, Kind};
use super::*;

/// What a link has come to.
fn state(link: &mut Link, at: Instant) -> String {
    let (free_at, owes) = (link.free_at(), link.owes());
    let counted = link.fitted_mut().map(|fitted| {
        let counters = fitted.counters;
        let level = fitted.meter_at(at).map(|meter| meter.level(at));
        (counters.arrived, counters.left_bytes(), counters.data_ever, level)
    });
    format!("{free_at:?} {owes} {counted:?}")
}

fn mean(link: &mut Link) -> Option<(f64, f64)> {
    link.fitted_mut().and_then(|fitted| fitted.meter.as_mut()).map(crate::meter::Meter::finish)
}

/// Serves a case's line piece by piece, each `together` if that says so, and one by one; how many pieces were.
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
    for kind in [Kind::Slim, Kind::Bare, Kind::Watched, Kind::Recorded] {
        let count: usize = (0..60)
            .map(|seed| {
                compare(kind, seed, |link, now| {
                    let (first, last) = (now[0].at, now[now.len() - 1].at);
                    let mut running = link.run(now.len(), (first, last))?;
                    let mut arrivals = Vec::new();
                    for event in now {
                        let (start, arrival) = running.pass(event, event.at);
                        if start > event.at {
                            link.makes_wait(event, event.at, start);
                        }
                        arrivals.push(arrival);
                    }
                    link.has_run(&running, first, now.len() as u64);
                    Some(arrivals)
                })
            })
            .sum();
        assert_eq!(count > 50, kind != Kind::Slim, "{kind:?}: {count}");
    }
}

#[test]
fn a_wire_for_packets_that_are_alike_serves_as_the_link_does() {
    for kind in [Kind::Slim, Kind::Bare, Kind::Watched, Kind::Recorded] {
        let count: usize = (0..150)
            .map(|seed| {
                compare(kind, seed, |link, now| {
                    let window = (now[0].at, now[now.len() - 1].at);
                    if !Event::all_are_like(&now[0], now) {
                        return None;
                    }
                    let mut running = link.run_alike(now.len(), &now[0], window)?;
                    let arrivals = now.iter().map(|event| running.pass(event.at)).collect();
                    link.has_run_alike(&mut running, window, now.len() as u64);
                    Some(arrivals)
                })
            })
            .sum();
        assert_eq!(count > 50, kind != Kind::Slim, "{kind:?}: {count}");
    }
}

#[test]
fn what_has_passed_elsewhere_is_counted() {
    let mut case = Case::draw(Kind::Watched, 1);
    case.window = (Instant::from_nanos(100), Instant::from_nanos(200));
    let mut link = case.link();
    link.count(Instant::from_nanos(100), (3, 4000, 2));
    link.count(Instant::from_nanos(99), (3, 4000, 2));
    let counters = link.fitted().unwrap().counters;
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

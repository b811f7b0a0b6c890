//! Links that share a memory, that mark, and that tell classes apart: a few packets each, worked by hand.

use super::cases::{forced, network};
use super::*;
use crate::kernel::signals::Signals;
use crate::network::{DropRule, ForcedDrop, JitterShape, JitterSpec, LinkSpec};
use crate::varying::VaryingRate;
use paceline_core::Ecn;
use paceline_core::pacer::{self, parameters::Value};
use paceline_core::queue;

/// RED that marks what finds three packets or more.
const MARKS_FROM_THREE: [(&str, &str); 7] = [
    ("unit", "packets"),
    ("mean_packet", "1000 B"),
    ("thresh", "3 packets"),
    ("maxthresh", "3 packets"),
    ("q_weight", "1"),
    ("max_p", "1"),
    ("ecn", "always"),
];

/// 8 Mbit/s: a byte takes a microsecond. The discipline by its name, with these parameters.
fn link(
    name: &str,
    parameters: &[(&str, &str)],
    losses: Vec<ForcedDrop>,
    change: impl Fn(&mut LinkSpec),
) -> Link {
    let mut spec = Case::draw(Kind::Limited, 1).spec;
    spec.rate = Rate::from_bits_per_second(8_000_000);
    let mut values = |key: &str| {
        let given = parameters.iter().find(|(name, _)| *name == key);
        given.map(|(_, text)| Value::Text((*text).to_owned()))
    };
    let fitting = std::sync::Arc::make_mut(&mut spec.fitting);
    let buffer = std::sync::Arc::make_mut(&mut fitting.buffer);
    (buffer.limit, buffer.counts) = (None, Default::default());
    buffer.discipline = queue::parse(name, &mut values, spec.rate).unwrap();
    change(&mut spec);
    let window = (Instant::ZERO, Instant::MAX);
    let watched = (true, false, true); // a meter, and a shared memory, so that it works step by step
    Link::new(&spec, losses, watched, window, (network(), 0), &mut TieOrders::default())
}

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

/// A data packet of 1000 B of the first flow.
fn packet(seq: u32, us: u64, ecn: Ecn) -> Event {
    let packet = crate::kernel::packet::Packet {
        sent: Instant::ZERO,
        flow: 0,
        seq,
        bytes: 1000,
        hop: 0,
        is_ack: false,
        signals: Signals::of(ecn),
    };
    Event::of_packet(at(us), 0, packet)
}

#[test]
fn a_memory_decides_what_a_link_takes_and_counts_what_it_holds() {
    let mut link = link("drop-tail", &[], Vec::new(), |_| {});
    let bounded = link.bounded_mut().unwrap();
    assert!(bounded.is_idle(at(0)));
    assert!(matches!(bounded.offer_if(&packet(0, 0, Ecn::NotEct), true), Fate::Held));
    assert_eq!((bounded.holds(), bounded.is_idle(at(0))), ((1000, 1), false));
    assert!(link.pump(at(0)).is_some());
    let bounded = link.bounded_mut().unwrap();
    assert_eq!((bounded.holds(), bounded.is_idle(at(0)), bounded.is_idle(at(1000))), ((0, 0), false, true));
    assert!(matches!(bounded.offer_if(&packet(1, 1, Ecn::NotEct), false), Fate::Dropped(Cause::Memory)));
    assert!(matches!(bounded.offer_if(&packet(2, 1, Ecn::NotEct), true), Fate::Held));
    let counters = bounded.counters;
    assert_eq!((counters.arrived, counters.dropped(), counters.dropped_for(Cause::Memory)), (3, 1, 1));
    assert_eq!(bounded.holds(), (1000, 1));
}

/// With a pacer both hold something, and no packet goes on the wire at once.
#[test]
fn a_pacer_holds_beside_the_queue() {
    let mut link = link("drop-tail", &[], Vec::new(), |spec| {
        let parameters = [("rate", "80 Mbit/s"), ("burst", "1000 B")];
        let mut value =
            |key: &str| parameters.iter().find(|one| one.0 == key).map(|one| Value::Text(one.1.to_owned()));
        let pacer = pacer::parse("token-bucket", &mut value, spec.rate).unwrap();
        std::sync::Arc::make_mut(&mut spec.fitting).pacer = Some(Box::new(pacer));
    });
    assert!(!link.bounded().unwrap().is_idle(at(0)));
    for seq in 0..4 {
        link.bounded_mut().unwrap().offer_if(&packet(seq, 0, Ecn::NotEct), true);
    }
    assert_eq!(link.bounded().unwrap().holds(), (4000, 4));
    // The first goes on the wire at 0, the second into the queue 100 us later, the others wait in the pacer.
    let mut out = 0;
    for us in [0, 100] {
        while link.pump(at(us)).is_some() {
            out += 1;
        }
    }
    assert_eq!((out, link.bounded().unwrap().holds()), (1, (3000, 3)));
}

/// A rule marks what understands marks and is not marked already; the queue holds all of them.
#[test]
fn a_rule_marks_a_packet_once() {
    let rule = ForcedDrop { marks: true, ..forced(None, DropRule::Arrivals((0..9).collect())) };
    let mut link = link("drop-tail", &[], vec![rule], |_| {});
    let bounded = link.bounded_mut().unwrap();
    let fates = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(|ecn| {
        let fate = bounded.offer(&packet(0, 0, ecn), Span::ZERO);
        (matches!(fate, Fate::Held), matches!(fate, Fate::Marked(Cause::Forced)))
    });
    assert_eq!(fates, [(true, false), (false, true), (false, true), (true, false)]);
    assert_eq!((bounded.counters.marked, bounded.holds()), (2, (4000, 4)));
}

/// A memory that has room leaves the rules to mark.
#[test]
fn a_rule_marks_where_a_memory_is_shared() {
    let rule = ForcedDrop { marks: true, ..forced(None, DropRule::Arrivals(vec![0])) };
    let mut link = link("red", &[], vec![rule], |_| {});
    let bounded = link.bounded_mut().unwrap();
    let mut fates = [0, 1].map(|seq| bounded.offer_if(&packet(seq, 0, Ecn::Ect0), true)).into_iter();
    assert!(matches!(fates.next(), Some(Fate::Marked(Cause::Forced))));
    assert!(matches!(fates.next(), Some(Fate::Held)));
    assert_eq!(bounded.counters.marked, 1);
}

/// A pacer that holds what comes feeds a queue that marks what finds three packets or more: told as they come to the queue.
#[test]
fn a_queue_behind_a_pacer_tells_its_marks() {
    let mut link = link("red", &MARKS_FROM_THREE, Vec::new(), |spec| {
        let mut value = |key: &str| match key {
            "rate" => Some(Value::Text("80 Mbit/s".to_owned())),
            "burst" => Some(Value::Text("1000 B".to_owned())),
            _ => None,
        };
        let pacer = pacer::parse("token-bucket", &mut value, spec.rate).unwrap();
        std::sync::Arc::make_mut(&mut spec.fitting).pacer = Some(Box::new(pacer));
    });
    let bounded = link.bounded_mut().unwrap();
    for seq in 0..10 {
        assert!(matches!(bounded.offer(&packet(seq, 0, Ecn::Ect0), Span::ZERO), Fate::Held));
    }
    let (mut marked, mut now) = (Vec::new(), at(0));
    while let Some(next) = link.bounded().unwrap().next_wakeup() {
        now = now.max(next);
        while let Some((event, release)) = link.pump(now) {
            match release {
                Release::Marked => marked.push((event.seq, event.at)),
                other => assert!(matches!(other, Release::Leaves(_)), "{other:?}"),
            }
        }
    }
    // 1000 B take a tenth of a millisecond at the pacer's rate: the queue fills while the first is on the wire.
    let first = marked.first().map_or(10, |(seq, _)| *seq);
    let expected: Vec<_> = (first..10).map(|seq| (seq, at(100 * u64::from(seq)))).collect();
    assert_eq!(marked, expected);
    assert!((3..7).contains(&first), "{first}");
    assert_eq!(link.bounded().unwrap().counters.marked, marked.len() as u64);
}

/// RED with an average that is the queue and a threshold of three packets marks every packet that finds as many.
#[test]
fn a_queue_marks_as_a_packet_comes() {
    let mut link = link("red", &MARKS_FROM_THREE, Vec::new(), |_| {});
    let bounded = link.bounded_mut().unwrap();
    let marked: Vec<bool> = (0..8)
        .map(|seq| {
            matches!(bounded.offer(&packet(seq, 0, Ecn::Ect0), Span::ZERO), Fate::Marked(Cause::Early))
        })
        .collect();
    assert!(!marked[..3].contains(&true) && !marked[5..].contains(&false), "{marked:?}");
    let count = marked.iter().filter(|marked| **marked).count() as u64;
    assert_eq!(bounded.counters.marked, count);
    // Those that cannot be marked are dropped, early; a full buffer drops for another cause.
    for seq in 8..11 {
        assert!(matches!(
            bounded.offer(&packet(seq, 0, Ecn::NotEct), Span::ZERO),
            Fate::Dropped(Cause::Early)
        ));
    }
    assert_eq!((bounded.counters.dropped(), bounded.counters.dropped_for(Cause::Early)), (3, 3));
    let mut full = self::link("red", &MARKS_FROM_THREE, Vec::new(), |spec| {
        let fitting = std::sync::Arc::make_mut(&mut spec.fitting);
        std::sync::Arc::make_mut(&mut fitting.buffer).limit = Some(Limit::Packets(1));
    });
    let bounded = full.bounded_mut().unwrap();
    bounded.offer(&packet(0, 0, Ecn::NotEct), Span::ZERO);
    assert!(full.pump(at(0)).is_some());
    let bounded = full.bounded_mut().unwrap();
    for seq in 1..4 {
        bounded.offer(&packet(seq, 0, Ecn::NotEct), Span::ZERO);
    }
    assert_eq!((bounded.counters.dropped(), bounded.counters.dropped_for(Cause::Early)), (2, 0));
}

/// DualPI2 marks L4S packets as they leave, where they have waited and another waits behind: each of the second, third and
/// fourth counts for one, and more than one is a mark.
#[test]
fn a_queue_marks_as_a_packet_leaves() {
    let mut link = link("dualpi2", &[("step", "0 ms")], Vec::new(), |_| {});
    for seq in 0..5 {
        assert!(matches!(
            link.bounded_mut().unwrap().offer(&packet(seq, 0, Ecn::Ect1), Span::ZERO),
            Fate::Held
        ));
    }
    let marked = [0, 1000, 2000, 3000, 4000].map(|us| match link.pump(at(us)).unwrap().1 {
        Release::Leaves(passage) => passage.marked,
        other => panic!("{other:?}"),
    });
    assert_eq!(marked, [false, false, true, true, false]);
    assert_eq!(link.bounded().unwrap().counters.marked, 2);
}

#[test]
fn what_a_link_has_is_found() {
    let mut plain = link("drop-tail", &[], Vec::new(), |_| {});
    let mut fitted = link("priority", &[], Vec::new(), |spec| {
        let (mean, spread) = (Span::from_millis(2), Span::from_millis(1));
        let jitter = JitterSpec { mean, spread, shape: JitterShape::Uniform, reorder: false };
        std::sync::Arc::make_mut(&mut spec.fitting).jitter = Some(jitter);
    });
    assert!(plain.jitter_mut().is_none() && fitted.jitter_mut().is_some());
    assert!(plain.bounded_mut().unwrap().by_class().is_none());
    assert!(fitted.bounded_mut().unwrap().by_class().is_some());
    plain.record((at(5), at(7)));
    plain.record((at(6), at(9)));
    assert_eq!(plain.bounded().unwrap().record, Some((at(5), at(9))));
}

/// By a trace the first packet waits for an opportunity: no packet finds the link idle. By steps it is, until something comes.
#[test]
fn a_link_by_a_trace_serves_nothing_at_once() {
    for (rate, is_idle) in [
        (VaryingRate::of_trace([1, 2].into_iter()), false),
        (VaryingRate::of_steps([(Span::ZERO, 8_000_000)].into_iter(), None), true),
    ] {
        let link = link("drop-tail", &[], Vec::new(), |spec| {
            std::sync::Arc::make_mut(&mut spec.fitting).varying = Some(rate.clone());
        });
        assert_eq!(link.bounded().unwrap().is_idle(at(0)), is_idle, "{rate:?}");
    }
}

/// Of four packets of one class a full buffer refuses two; one leaves.
#[test]
fn a_class_has_what_comes_and_what_is_refused() {
    let mut link = link("priority", &[], Vec::new(), |spec| {
        let fitting = std::sync::Arc::make_mut(&mut spec.fitting);
        std::sync::Arc::make_mut(&mut fitting.buffer).limit = Some(Limit::Packets(1));
    });
    link.bounded_mut().unwrap().offer(&packet(0, 0, Ecn::NotEct), Span::ZERO);
    assert!(link.pump(at(0)).is_some());
    let bounded = link.bounded_mut().unwrap();
    for seq in 1..4 {
        bounded.offer(&packet(seq, 10, Ecn::NotEct), Span::ZERO);
    }
    let counts = bounded.by_class().unwrap().finish().next().unwrap().0;
    assert_eq!((counts.arrived, counts.dropped), (4, 2));
}

/// CoDel with a target and an interval of a nanosecond drops the second packet as the third is to leave: what is dropped comes out
/// first, and the other at once.
#[test]
fn what_leaves_comes_out_after_what_is_dropped_before_it() {
    let parameters = [("target", "1 ns"), ("interval", "1 ns"), ("mtu", "0 B")];
    let mut link = link("codel", &parameters, Vec::new(), |_| {});
    for seq in 0..5 {
        link.bounded_mut().unwrap().offer(&packet(seq, 0, Ecn::NotEct), Span::ZERO);
    }
    let mut out = Vec::new();
    let mut now = at(0);
    while let Some((event, release)) = link.pump(now) {
        let leaves = matches!(release, Release::Leaves(_));
        out.push((event.seq, leaves));
        let next = link.bounded().unwrap().next_wakeup();
        now = now.max(next.unwrap_or(now));
        assert_eq!(next == Some(Instant::ZERO), !leaves, "{out:?}");
    }
    assert!(out.starts_with(&[(0, true), (1, true), (2, false), (3, true)]), "{out:?}");
}

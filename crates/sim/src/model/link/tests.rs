//! A link against its definition, packet by packet; and every way to serve it against that.

mod cases;
mod chance;
mod classes;
mod counting;
mod leads;
mod passing;
mod slow;
mod varying;
mod whole;

use super::batch::{Note, Service};
use super::*;
use cases::{Case, KINDS, Kind};
use paceline_core::Rate;
use paceline_core::queue::{Discipline, Limit};
use slow::Told;
use std::fmt::Debug;

/// How often the queue is looked at, nanoseconds.
const LOOKS: u64 = 700_000;

/// Takes samples as the engine does: those before a time; when the next is due.
struct Looks {
    next: Instant,
    levels: Vec<u64>,
}

impl Looks {
    fn new() -> Self {
        Looks { next: Instant::from_nanos(LOOKS), levels: Vec::new() }
    }

    fn look(&mut self, link: &mut BoundedLink, before: Instant) -> Instant {
        while self.next < before {
            self.levels.extend(link.meter_at(self.next).map(|meter| meter.level(self.next)));
            self.next += Span::from_nanos(LOOKS);
        }
        self.next
    }
}

/// A link of a case, and what it is by the definition.
fn both(kind: Kind, seed: u64) -> (Case, Link, Told) {
    let case = Case::draw(kind, seed);
    let link = case.link();
    let told = slow::serve(&case);
    (case, link, told)
}

/// Lists are long: where they differ first.
fn equal<T: PartialEq + Debug>(name: &str, found: &[T], expected: &[T]) {
    let first = found.iter().zip(expected).position(|(one, other)| one != other);
    let first = first.unwrap_or(found.len().min(expected.len()));
    assert_eq!(found.get(first), expected.get(first), "{name}: number {first}");
}

/// What came out of a link, in the terms of the definition.
fn same(case: &Case, mut link: Link, out: &[Event], notes: &[(Event, Note)], looks: &Looks, told: &Told) {
    let name = format!("{:?}, seed {}", case.kind, case.seed);
    let left: Vec<_> = out.iter().map(|event| (event.seq, event.at, event.hop())).collect();
    let expected: Vec<_> =
        told.left.iter().map(|way| (way.event.seq, way.finish + case.spec.delay, 1)).collect();
    equal(&format!("{name}: leave"), &left, &expected);
    let noted = |is: fn(&Note) -> bool| -> Vec<(u32, Instant)> {
        notes.iter().filter(|(_, note)| is(note)).map(|(event, _)| (event.seq, event.at)).collect()
    };
    let at = |ways: &[Event]| -> Vec<_> { ways.iter().map(|event| (event.seq, event.at)).collect() };
    let lost = |why: fn(&Note) -> Option<Cause>| -> Vec<(u32, Instant, Cause)> {
        let noted = notes.iter().filter_map(|(event, note)| why(note).map(|cause| (event, cause)));
        noted.map(|(event, cause)| (event.seq, event.at, cause)).collect()
    };
    let expected = |lost: &[(Event, Cause)]| -> Vec<_> {
        lost.iter().map(|(event, cause)| (event.seq, event.at, *cause)).collect()
    };
    let refused = lost(|note| if let Note::Dropped(cause) = note { Some(*cause) } else { None });
    equal(&format!("{name}: refused"), &refused, &expected(&told.refused));
    let dropped = lost(|note| if let Note::DroppedWaiting(cause) = note { Some(*cause) } else { None });
    equal(&format!("{name}: dropped"), &dropped, &expected(&told.dropped));
    let passages = notes.iter().filter_map(|(event, note)| match note {
        Note::Passes(passage) if !case.kind.holds() => {
            Some((event.seq, event.at, passage.start, passage.arrival))
        }
        Note::Leaves(passage) if case.kind.holds() => {
            Some((event.seq, event.at, passage.start, passage.arrival))
        }
        Note::Passes(_) | Note::Leaves(_) => panic!("{name}: {note:?}"),
        _ => None,
    });
    let recorded = told
        .left
        .iter()
        .filter(|way| case.is_recorded(way.start))
        .map(|way| (way.event.seq, way.event.at, way.start, way.finish + case.spec.delay));
    equal(&format!("{name}: recorded"), &passages.collect::<Vec<_>>(), &recorded.collect::<Vec<_>>());
    let told_to_arrive = case.kind.holds() && case.record.is_some();
    let arrives = if told_to_arrive { told.taken.clone() } else { Vec::new() };
    equal(&format!("{name}: arrive"), &noted(|note| matches!(note, Note::Arrives)), &at(&arrives));
    if case.metered {
        equal(&format!("{name}: looks"), &looks.levels, &told.levels(LOOKS, looks.levels.len() as u64));
        assert!(looks.levels.len() > 20 || case.service() == Service::All, "{name}");
    }
    counted(&name, case, &mut link, told);
}

/// What a link has counted is what the definition counts.
fn counted(name: &str, case: &Case, link: &mut Link, told: &Told) {
    let Some(bounded) = link.bounded_mut() else { return };
    let counters = bounded.counters;
    let arrived = case.line.iter().filter(|event| case.counts(event.at)).count() as u64;
    assert_eq!(counters.arrived, arrived, "{name}: arrived");
    for cause in Cause::ALL {
        let lost = told.refused.iter().chain(&told.dropped);
        let count = lost.filter(|(event, why)| *why == cause && case.counts(event.at)).count() as u64;
        assert_eq!(counters.dropped_for(cause), count, "{name}: {cause:?}");
    }
    assert_eq!(counters.dropped_ever, (told.refused.len() + told.dropped.len()) as u64, "{name}: ever");
    let data = told.left.iter().filter(|way| !way.event.is_ack() && way.finish < case.window.1).count();
    assert_eq!(counters.data_ever, data as u64, "{name}: data");
    let bytes: f64 = told.left.iter().map(|way| case.share_of_window(way) * f64::from(way.event.bytes)).sum();
    assert!((counters.left_bytes() - bytes).abs() < 1e-6, "{name}: {} {bytes}", counters.left_bytes());
    if let Some(meter) = &mut bounded.meter {
        let (mean, _) = meter.finish();
        let expected = told.mean_level(case.window);
        assert!((mean - expected).abs() <= 1e-9 * expected, "{name}: {mean} {expected}");
    }
}

/// As the engine that goes from event to event has it.
fn by_steps(case: &Case, link: &mut Link, told: &Told) -> (Vec<Event>, Vec<(Event, Note)>, Looks) {
    let (mut out, mut notes, mut looks) = (Vec::new(), Vec::new(), Looks::new());
    let pump = |link: &mut Link, now, out: &mut Vec<Event>, notes: &mut Vec<_>| {
        while let Some((event, release)) = link.pump(now) {
            assert!(matches!(release, Release::Leaves(_)) || event.at == now);
            match release {
                Release::Marked => notes.push((event, Note::Marked(Cause::Early))),
                Release::Dropped(cause) => notes.push((event, Note::DroppedWaiting(cause))),
                Release::Leaves(passage) => {
                    if passage.recorded {
                        notes.push((event, Note::Leaves(passage)));
                    }
                    event.goes_on(passage.arrival, out);
                }
            }
        }
        if let Some(bounded) = link.bounded_mut() {
            let (known, next) = (bounded.wakeup_at, bounded.next_wakeup());
            let set = bounded.set_wakeup(now);
            let sooner = next.map(|at| at.max(now)).filter(|at| known.is_none_or(|known| *at < known));
            assert_eq!(set, sooner);
        }
    };
    let ends = std::iter::once(None);
    for event in case.line.iter().map(Some).chain(ends) {
        let until = event.map_or(case.end, |event| event.at);
        while let Some(at) = link.bounded().and_then(|bounded| bounded.wakeup_at).filter(|at| *at <= until) {
            link.bounded_mut().into_iter().for_each(|bounded| {
                looks.look(bounded, at);
                bounded.wakeup_at = None;
            });
            pump(link, at, &mut out, &mut notes);
        }
        link.bounded_mut().into_iter().for_each(|bounded| {
            looks.look(bounded, until);
        });
        let Some(event) = event else { break };
        let leaves = |passage: Passage, out: &mut Vec<Event>, notes: &mut Vec<_>| {
            if passage.recorded {
                notes.push((*event, Note::Passes(passage)));
            }
            event.goes_on(passage.arrival, out);
        };
        if link.is_lossless() {
            leaves(link.pass(event.bytes, event.is_ack(), event.at), &mut out, &mut notes);
            continue;
        }
        match link.offer(event) {
            Fate::Leaves(passage) => leaves(passage, &mut out, &mut notes),
            Fate::Dropped(cause) => notes.push((*event, Note::Dropped(cause))),
            Fate::Held | Fate::Marked(_) | Fate::Displaced(_) if !case.kind.holds() => {
                panic!("it holds nothing")
            }
            fate => {
                if let Fate::Displaced(older) = fate {
                    notes.push((older, Note::DroppedWaiting(Cause::Overflow)));
                }
                if case.record.is_some() {
                    notes.push((*event, Note::Arrives));
                }
                pump(link, event.at, &mut out, &mut notes);
                let held = told.held[event.seq as usize];
                assert_eq!(link.held_packets(), held, "{:?}, seed {}", case.kind, case.seed);
            }
        }
    }
    (out, notes, looks)
}

/// In epochs, each in one loop.
fn in_batches(case: &Case, link: &mut Link, _: &Told) -> (Vec<Event>, Vec<(Event, Note)>, Looks) {
    let (mut out, mut notes, mut looks) = (Vec::new(), Vec::new(), Looks::new());
    let mut line = &case.line[..];
    for end in &case.cuts {
        let (now, later) = line.split_at(line.partition_point(|event| event.at < *end));
        link.serve(case.service(), now, *end, &mut out, &mut notes, |bounded, before| {
            looks.look(bounded, before)
        });
        line = later;
    }
    assert!(line.is_empty());
    (out, notes, looks)
}

#[test]
fn a_link_does_what_its_definition_says_step_by_step_and_in_batches() {
    for kind in KINDS {
        let (mut refused, mut dropped, mut left, mut all_tied) = (0, 0, 0, 0);
        for seed in 0..40 {
            let mut tied = Vec::new();
            for ways in [by_steps, in_batches] {
                let (case, mut link, told) = both(kind, seed);
                assert_eq!(link.holds(), kind.holds(), "{kind:?}");
                assert_eq!(link.is_lossless(), kind.is_lossless(), "{kind:?}");
                assert_eq!(link.has_only_a_limit(), kind == Kind::Bounded, "{kind:?}");
                assert_eq!(link.is_unwatched(), matches!(kind, Kind::Compact | Kind::Bare), "{kind:?}");
                let (out, notes, looks) = ways(&case, &mut link, &told);
                tied.push(link.bounded().map(|bounded| bounded.counters.tied));
                assert_eq!(link.held_packets(), 0, "{kind:?}");
                (refused, dropped) = (refused + told.refused.len(), dropped + told.dropped.len());
                left += told.left.len();
                same(&case, link, &out, &notes, &looks, &told);
            }
            assert_eq!(tied[0], tied[1], "{kind:?}, seed {seed}");
            all_tied += tied[0].map_or(0, |[packets, _]| packets);
        }
        // it has done something
        assert!(!matches!(kind, Kind::Bounded | Kind::Limited) || all_tied > 20, "{kind:?}: {all_tied}");
        assert!(left > 1000, "{kind:?}: {left}");
        assert!(kind.is_lossless() || refused > 50, "{kind:?}: {refused}");
        assert!(
            !matches!(kind, Kind::PacedFront | Kind::Front | Kind::Paced) || dropped > 50,
            "{kind:?}: {dropped}"
        );
    }
}

#[test]
fn a_slim_link_is_half_a_cache_line() {
    assert_eq!(size_of::<Option<Link>>(), 32);
}

/// What happens after a window's end belongs to the next one, whose packets may come before it.
#[test]
fn a_window_ends_before_what_comes_a_nanosecond_later() {
    let mut case = Case::draw(Kind::Front, 1);
    let buffer = QueueSpec {
        limit: Some(Limit::Packets(1)),
        discipline: Discipline::DropFront(Default::default()),
        ..QueueSpec::default()
    };
    case.spec.rate = Rate::from_bits_per_second(8_000_000);
    case.spec.fitting = Fitting { buffer: buffer.into(), ..(*case.spec.fitting).clone() }.into();
    case.record = None;
    case.line.truncate(3);
    // 1000 B take a millisecond: the last comes as the second is about to be served
    let last = Instant::from_nanos(999_999);
    for (event, at) in case.line.iter_mut().zip([Instant::ZERO, Instant::ZERO, last]) {
        (event.at, event.bytes) = (at, 1000);
    }
    for cut in [None, Some(last)] {
        case.cuts = cut.into_iter().chain([case.end]).collect();
        let mut link = case.link();
        let (out, notes, _) = in_batches(&case, &mut link, &Told::default());
        assert_eq!(out.iter().map(|event| event.seq).collect::<Vec<_>>(), [0, 2], "{cut:?}");
        assert!(
            matches!(notes[..], [(Event { seq: 1, .. }, Note::DroppedWaiting(Cause::Overflow))]),
            "{cut:?}"
        );
    }
}

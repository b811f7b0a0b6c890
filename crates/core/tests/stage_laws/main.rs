//! The laws that every stage obeys, over random inputs: every pacer and every queue discipline of the lists, with parameters drawn from
//! what they say of them. One that joins its list is tested here without another line.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

mod drawn;
mod drive;

use drawn::{Drawn, arrivals, drawn, extreme, extreme_arrivals, lateness, limit};
use drive::{Law, Promise, drive, laws};
use paceline_core::Rate;
use paceline_core::pacer::{Backlog, Envelope, METHODS, Pacer, PacerSpec, Row, parse};
use paceline_core::queue::{self, Counts, DISCIPLINES, Limit, Queue, QueueSpec, Ties};
use proptest::prelude::*;
use std::sync::Arc;

fn pacer_laws(
    drawn: &Drawn,
    row: &Row,
    arrivals: &[(u64, u32)],
    lateness: &[u64],
    limit: Option<Limit>,
) -> Law {
    let spec = PacerSpec { limit, ..drawn.spec(row) };
    let largest = arrivals.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let promise = Promise {
        delay: &|backlog| spec.method.delay_bound(drawn.link_rate, Backlog { largest, ..backlog }),
        envelope: spec.method.envelope(drawn.link_rate, largest),
        keeps_order: true,
        refuses: &|held, bytes| {
            let exceeded = match limit {
                None => false,
                Some(Limit::Bytes(most)) => held.bytes + u64::from(bytes) > most,
                Some(Limit::Packets(most)) => held.packets + 1 > most,
            };
            Some(exceeded && held.packets > 0) // an empty pacer takes any packet
        },
    };
    laws(|| Pacer::new(&spec, drawn.link_rate), arrivals, lateness, &promise, limit.is_some())
        .map_err(|error| TestCaseError::fail(format!("{} (limit {limit:?}): {error}", spec.method)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pacer(drawn in drawn(), arrivals in arrivals(), lateness in lateness(), limit in limit()) {
        for row in METHODS {
            pacer_laws(&drawn, row, &arrivals, &lateness, None)?;
            pacer_laws(&drawn, row, &arrivals, &lateness, Some(limit))?;
        }
    }

    #[test]
    fn every_queue(drawn in drawn(), arrivals in arrivals(), lateness in lateness(), limit in limit()) {
        let rate = drawn.link_rate;
        let largest = arrivals.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        let classes = Arc::from([2, 0, 1]);
        for row in DISCIPLINES {
            let discipline = drawn.legal(row.parameters, |values, rate| queue::parse(row.name, values, rate));
            for (_, counts) in Counts::ALL {
                for limit in [None, Some(limit)] {
                    let discipline = discipline.clone();
                    let spec = QueueSpec { limit, counts: *counts, discipline, ties: Ties::Departure };
                    let may_drop = limit.is_some() || row.acts_early || row.has_classes; // which have limits of their own
                    let ahead = |backlog: Backlog| backlog.bytes + u64::from(largest);
                    let promise = Promise {
                        delay: &|backlog| row.keeps_order.then(|| rate.time_to_send(ahead(backlog))),
                        envelope: Some(Envelope { rate, burst: u64::from(largest) }),
                        keeps_order: row.keeps_order,
                        refuses: &|_, _| (!may_drop).then_some(false),
                    };
                    let make = || Queue::new(&spec, rate).with_seed(drawn.seed).with_classes(&classes);
                    laws(make, &arrivals, &lateness, &promise, may_drop)
                        .map_err(|error| TestCaseError::fail(format!("{spec:?} at {rate}: {error}")))?;
                }
            }
        }
    }
}

#[test]
fn nothing_overflows() {
    let arrivals = extreme_arrivals();
    let mut built = vec![0; METHODS.len()];
    for link_rate in [1, 100_000_000_000_000, u64::MAX].map(Rate::from_bits_per_second) {
        for (index, row) in METHODS.iter().enumerate() {
            for seed in 0..4_000 {
                let mut values = |name: &str| extreme(row.parameters, name, seed);
                let Ok(spec) = parse(row.name, &mut values, link_rate) else { continue };
                built[index] += 1;
                let mut pacer = Pacer::new(&spec, link_rate);
                // A pacer may hold as little as 2 GiB.
                let refuses =
                    |held: Backlog, bytes: u32| (held.bytes + u64::from(bytes) <= 1 << 31).then_some(false);
                let nothing =
                    Promise { delay: &|_| None, envelope: None, keeps_order: true, refuses: &refuses };
                drive(&mut pacer, &arrivals, &[0, u64::MAX / 3, 7], &nothing)
                    .expect("the laws hold at the extremes");
            }
        }
    }
    assert!(built.iter().all(|built| *built > 100), "{built:?}");
}

#[test]
fn no_queue_overflows() {
    let arrivals = extreme_arrivals();
    let limits =
        [None, Some(Limit::Packets(0)), Some(Limit::Bytes(u64::MAX)), Some(Limit::Packets(u64::MAX))];
    let mut built = vec![0; DISCIPLINES.len()];
    for link_rate in [1, 100_000_000_000_000, u64::MAX].map(Rate::from_bits_per_second) {
        for (index, row) in DISCIPLINES.iter().enumerate() {
            for seed in 0..60 {
                let mut values = |name: &str| extreme(row.parameters, name, seed);
                let Ok(discipline) = queue::parse(row.name, &mut values, link_rate) else { continue };
                built[index] += 1;
                let limit = limits[seed as usize % limits.len()];
                let spec = QueueSpec { limit, discipline, ..QueueSpec::default() };
                let mut queue = Queue::new(&spec, link_rate).with_seed(seed);
                let nothing = Promise {
                    delay: &|_| None,
                    envelope: None,
                    keeps_order: row.keeps_order,
                    refuses: &|_, _| None,
                };
                drive(&mut queue, &arrivals, &[0, u64::MAX / 3, 7], &nothing)
                    .unwrap_or_else(|error| panic!("{spec:?} at {link_rate}: {error}"));
            }
        }
    }
    assert!(built.iter().all(|built| *built > 10), "{built:?}");
}

//! Gates at the loopback of a network namespace of the test's own, which takes root, and Linux 6.6.

#![allow(unsafe_code, reason = "a system call")]

use super::*;
use crate::bpf::{Map, Program};
use crate::sys::clock;
use paceline_core::Instant;

const PATIENCE: Span = Span::from_millis(150);

/// Runs where a gate may be put and taken away, at an interface made for it.
fn in_a_namespace(test: fn(&Interface, Bypass)) {
    let run = move || {
        // SAFETY: no pointers; this thread alone changes its namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return eprintln!("no namespace of its own: {}", std::io::Error::last_os_error());
        }
        let loopback = Interface::named("lo").unwrap();
        match Bypass::install(&loopback, &loopback, PATIENCE) {
            Ok(bypass) => test(&loopback, bypass),
            Err(why) if why.contains("not permitted") || why.contains("no place") => eprintln!("{why}"),
            Err(why) => panic!("{why}"),
        }
    };
    std::thread::spawn(run).join().unwrap();
}

fn only(interface: &Interface) -> Leftover {
    let mut found = Leftover::on(interface);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn what_one_has_left_another_finds() {
    in_a_namespace(|loopback, bypass| {
        let state = bypass.shared().state();
        assert!(bypass.shared().is_tripped()); // it is not at work yet
        assert_eq!(state.patience_ns.load(Ordering::Relaxed), PATIENCE.as_nanos());
        // a program that is no gate is none of its
        let other = programs::gate(bypass.state.number(), bypass.noted.number(), loopback.index);
        let other = Program::load(ProgramKind::Ingress, "another", &other).unwrap();
        other.attach_ingress(loopback.index).unwrap();
        // nor is one that shares something else, of the same size
        let map = Map::new(MapKind::Shared, "another", state::BYTES, 1).unwrap();
        let gate = programs::gate(map.number(), bypass.noted.number(), loopback.index);
        let gate = Program::load(ProgramKind::Ingress, GATE, &gate).unwrap();
        gate.attach_ingress(loopback.index).unwrap();
        let left = only(loopback);
        assert_eq!(left.process(), u64::from(std::process::id()));
        for (taken, settled, lost) in [(10, 4, 6), (10, 10, 0), (10, 11, 0), (5, 0, 5)] {
            state.taken.store(taken, Ordering::Relaxed);
            state.settled.store(settled, Ordering::Relaxed);
            assert_eq!(left.lost(), lost, "{taken} {settled}");
        }
        state.bypassed.store(21, Ordering::Relaxed);
        state.dropped.store(22, Ordering::Relaxed);
        bypass.shared().note_changed(Changed(5));
        assert_eq!((left.bypassed(), left.dropped(), left.changed()), (21, 22, Changed(5)));
        // the kernel takes what stands at a socket and at a driver
        assert!(bypass.tap().is_ok() && bypass.driver().is_ok());
        left.remove(loopback).unwrap();
        assert!(Leftover::on(loopback).is_empty());
        assert!(left.remove(loopback).is_err());
    });
}

#[test]
fn an_end_takes_the_gate_away_and_a_death_leaves_it() {
    in_a_namespace(|loopback, bypass| {
        drop(bypass);
        only(loopback).remove(loopback).unwrap();
        let bypass = Bypass::install(loopback, loopback, PATIENCE).unwrap();
        only(loopback);
        assert!(!bypass.keep()); // it is there
        bypass.remove();
        assert!(Leftover::on(loopback).is_empty());
        assert!(bypass.keep());
        only(loopback);
    });
}

#[test]
fn a_pacer_lives_whose_heart_beats() {
    in_a_namespace(|loopback, bypass| {
        let left = only(loopback);
        let asked = || {
            let (began, worked) = (clock::now(), clock::processor_time_ns());
            let alive = left.is_alive(&Linux);
            let (took, worked) = (clock::now().since(began), clock::processor_time_ns() - worked);
            assert!(worked < 10_000_000, "it does not sleep: {worked} ns");
            (alive, took)
        };
        // it has beaten long ago, or never
        for beat in [Instant::ZERO, clock::now() - Span::from_millis(900)] {
            bypass.shared().beat(beat);
            let (alive, took) = asked();
            assert!(!alive && took < Span::from_millis(100), "{took}");
        }
        // just now, and not again
        bypass.shared().beat(clock::now());
        let (alive, took) = asked();
        assert!(!alive && took > Span::from_millis(140), "{took}");
        // it goes on beating
        let shared = Arc::clone(bypass.shared());
        bypass.shared().beat(clock::now());
        let heart = std::thread::spawn(move || {
            for _ in 0..20 {
                clock::sleep_until(clock::now() + Span::from_millis(5));
                shared.beat(clock::now());
            }
        });
        let (alive, took) = asked();
        assert!(alive && took < PATIENCE, "{took}");
        heart.join().unwrap();
    });
}

#[test]
fn what_is_at_a_driver_is_replaced_and_taken_away_by_whose_it_is() {
    in_a_namespace(|_, bypass| {
        let veth = ["link", "add", "one", "type", "veth", "peer", "name", "other"];
        if !std::process::Command::new("ip").args(veth).status().is_ok_and(|status| status.success()) {
            return eprintln!("no veth pair");
        }
        let one = Interface::named("one").unwrap();
        let refused = |done: std::io::Result<()>| done.unwrap_err().raw_os_error().unwrap();
        let attach =
            |program: &Program, replaces: Option<&Program>| Linux.attach_xdp(one.index, program, replaces);
        let detach = |program: &Program| Linux.detach_xdp(one.index, program);
        let is_there = || Linux.attached_xdp(one.index).unwrap().map(|found| found.name);
        assert!(is_there().is_none() && left_at_driver(&one).is_none());

        let (ours, _) = bypass.driver().unwrap();
        let (next, _) = bypass.driver().unwrap();
        // another's has the same code, and neither the name nor, under that name, the state
        let alien = Map::new(MapKind::Shared, "another", state::BYTES, 1).unwrap();
        let sockets = Map::new(MapKind::Sockets, "another", 4, 64).unwrap();
        for (name, state) in [("another", &bypass.state), (DRIVER, &alien)] {
            let code = programs::driver(state.number(), sockets.number());
            let other = Program::load(ProgramKind::Xdp, name, &code).unwrap();
            attach(&other, None).unwrap();
            assert_eq!(is_there().as_deref(), Some(name));
            assert!(left_at_driver(&one).is_none());
            assert_eq!(refused(attach(&ours, None)), libc::EBUSY);
            assert_eq!(refused(attach(&ours, Some(&next))), libc::EEXIST);
            assert_eq!(refused(detach(&ours)), libc::EEXIST);
            detach(&other).unwrap();
        }

        attach(&ours, None).unwrap();
        let left = left_at_driver(&one).unwrap();
        attach(&next, Some(&left)).unwrap();
        assert_eq!(refused(detach(&left)), libc::EEXIST);
        detach(&next).unwrap();
        assert!(is_there().is_none() && left_at_driver(&one).is_none());
        assert_eq!(refused(detach(&next)), libc::EEXIST);
    });
}

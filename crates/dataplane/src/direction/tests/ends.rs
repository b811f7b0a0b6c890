//! Traffic has bypassed it, it comes to its end, gives up, or panics.

use super::*;

#[test]
fn what_it_held_while_traffic_bypassed_must_not_follow() {
    let mut coming = frames(0, 5);
    coming.extend(frames(600 * US, 100));
    coming.push((600 * US, Coming::Refused(Refusal::Lost)));
    coming.push((600 * US, Coming::Frames(3, 1250)));
    let mut setup = setup(slow(), coming);
    setup.run_until(500 * US);
    assert_eq!(setup.account(), (1, 0, 4));
    setup.shared.state().latch.store(1, Relaxed);
    setup.clock.pass(200 * US);
    setup.direction.port.overflow = 7;
    let began = setup.clock.ns();
    assert!(setup.direction.step());
    // nothing leaves; all is counted, what came in meanwhile too
    assert_eq!((setup.dropped(), setup.account()), ([0, 1 + 7, 0, 0, 4 + 103, 0], (1, 107, 0)));
    assert_eq!(setup.meter(|meters| &meters.received.packets), 5 + 103);
    assert_eq!(setup.meter(|meters| &meters.received.bytes), (5 + 103) * 1250);
    assert_eq!(setup.meter(|meters| &meters.cut), 2);
    assert_eq!(setup.meter(|meters| &meters.held_packets), 0);
    assert!(!setup.shared.is_tripped());
    let beat = setup.shared.state().heartbeat_ns.load(Relaxed);
    assert!(beat > began + 200); // after what it has thrown away
    assert_eq!(setup.shared.state().settled.load(Relaxed), setup.direction.meters.settled());
}

#[test]
fn what_the_kernel_would_not_take_back_is_thrown_away_with_the_rest() {
    let mut setup = setup(unpaced(), frames(0, 10));
    setup.direction.port.keeps_pending = true;
    setup.direction.port.answers = [Answer::Takes(4)].into();
    setup.clock.pass(US);
    assert!(setup.direction.step());
    assert_eq!(setup.direction.port.pending.len(), 6);
    setup.shared.state().latch.store(1, Relaxed);
    assert!(setup.direction.step());
    assert_eq!((setup.dropped(), setup.account()), ([0, 0, 0, 0, 6, 0], (4, 6, 0)));
}

#[test]
fn without_a_bypass_what_comes_for_ever_ends_no_recovery() {
    // more than any ring holds, all there
    let mut setup = setup(slow(), frames(0, 70_000));
    setup.clock.pass(US);
    setup.direction.orders.abandon();
    setup.run_to_end();
    assert_eq!((setup.dropped()[4], setup.direction.port.coming.len()), (65_536, 70_000 - 65_536));
}

#[test]
fn without_a_bypass_what_comes_for_ever_ends_no_drain() {
    let mut setup = setup(unpaced(), frames(0, 70_000));
    setup.clock.pass(US);
    setup.direction.orders.stop();
    setup.run_to_end();
    assert_eq!((setup.left().len(), setup.direction.port.coming.len()), (65_536, 70_000 - 65_536));
    assert_eq!((setup.dropped(), setup.account()), ([0; 6], (65_536, 0, 0)));
}

#[test]
fn a_pacer_that_gives_up_lets_all_pass() {
    let mut setup = setup(slow(), frames(0, 5));
    setup.run_until(500 * US);
    setup.direction.orders.abandon();
    setup.run_to_end();
    assert_eq!((setup.dropped(), setup.account()), ([0, 0, 0, 0, 4, 0], (1, 4, 0)));
    assert!(setup.shared.is_tripped() && !setup.shared.is_closed());
    assert_eq!(setup.meter(|meters| &meters.held_packets), 0);
}

#[test]
fn a_pacer_that_stops_lets_what_it_holds_leave_on_its_time() {
    let mut coming = frames(0, 5);
    coming.extend(frames(600 * US, 3)); // in the ring when it is told; the gate is closed behind them
    let mut setup = setup(slow(), coming);
    setup.run_until(500 * US);
    setup.shared.state().turned_away.store(9, Relaxed);
    setup.direction.orders.stop();
    setup.clock.pass(200 * US);
    setup.run_to_end();
    let due: Vec<u64> = (0..8).map(|number| number * MS).collect();
    leave_at(&setup, &due, 25 * US);
    assert_eq!((setup.dropped(), setup.account()), ([0, 0, 0, 0, 0, 9], (8, 0, 0)));
    assert!(setup.shared.is_tripped() && setup.shared.is_closed());
    assert_eq!(setup.meter(|meters| &meters.flushed), 0);
    assert_eq!(setup.meter(|meters| &meters.held_packets), 0);
    // its heart has beaten all the time
    let slept = setup.clock.slept.borrow();
    assert!(slept.iter().all(|slept| slept.asked <= HEARTBEAT.as_nanos()), "{slept:?}");
    assert!(setup.clock.ns() < BEGINNING + 8 * MS, "{}", setup.clock.ns());
}

#[test]
fn what_would_take_too_long_to_leave_does_at_once() {
    let slower = spec("token-bucket", &[("rate", "10 kbit/s"), ("burst", "1250 B")], 100, Overload::Drop);
    let mut setup = setup(slower, frames(0, 5));
    setup.run_until(500 * US);
    let ends = setup.clock.ns() - BEGINNING + 2_000 * MS;
    setup.direction.orders.stop();
    setup.run_to_end();
    // one a second: after two seconds, two more have left, and the rest does
    leave_at(&setup, &[0, 1_000 * MS, 2_000 * MS, ends, ends], 6 * MS);
    assert_eq!((setup.meter(|meters| &meters.flushed), setup.dropped()), (2, [0; 6]));
    let slept = setup.clock.slept.borrow();
    assert!(slept.iter().all(|slept| slept.asked <= HEARTBEAT.as_nanos()));
    assert!(slept.len() < 410, "{}", slept.len());
}

#[test]
fn a_pacer_that_stops_behind_a_full_interface_tries_again_and_counts_what_is_left() {
    for keeps_pending in [false, true] {
        let mut setup = setup(unpaced(), frames(0, 5));
        setup.direction.port.keeps_pending = keeps_pending;
        setup.direction.port.answers = [2, 0, 1].map(Answer::Takes).into();
        setup.clock.pass(US);
        setup.direction.orders.stop();
        setup.run_to_end();
        leave_at(&setup, &[0, 0, 20 * US, 40 * US, 40 * US], 4 * US);
        // and one that stays full
        let mut setup = self::setup(unpaced(), frames(0, 5));
        setup.direction.port.keeps_pending = keeps_pending;
        setup.direction.port.answers = vec![Answer::Takes(0); 200_000].into();
        setup.clock.pass(US);
        setup.direction.orders.stop();
        setup.run_to_end();
        assert_eq!((setup.dropped()[3], setup.account().0), (5, 0));
        let took = setup.clock.ns() - BEGINNING;
        assert!((2_000 * MS..2_001 * MS).contains(&took), "{took}");
    }
}

#[test]
fn a_pacer_that_is_told_to_stop_while_traffic_bypasses_sends_nothing_older() {
    let mut setup = setup(slow(), frames(0, 5));
    setup.run_until(500 * US);
    setup.shared.state().latch.store(1, Relaxed);
    setup.direction.orders.stop();
    setup.run_to_end();
    assert_eq!((setup.dropped(), setup.account()), ([0, 0, 0, 0, 4, 0], (1, 4, 0)));
    assert!(setup.shared.is_closed());
}

#[test]
fn a_pacer_whose_gate_opens_while_it_drains_sends_nothing_older() {
    let mut setup = setup(slow(), frames(0, 5));
    setup.run_until(500 * US);
    setup.direction.drains = true;
    assert!(setup.direction.is_bypassed()); // it has closed nothing yet
    setup.shared.close(Instant::from_nanos(setup.clock.ns()));
    assert!(!setup.direction.is_bypassed());
    setup.direction.drains = false;
    assert!(setup.direction.is_bypassed());
    setup.shared.reset(Instant::from_nanos(setup.clock.ns()));
    assert!(!setup.direction.is_bypassed());
}

#[cfg(debug_assertions)] // it can be told to only there
#[test]
fn a_direction_that_panics_opens_its_gate() {
    let setup = setup(slow(), frames(0, 3));
    setup.shared.state().closed.store(1, Relaxed);
    setup.direction.orders.panic();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| setup.direction.run(false)));
    let ended = ended.unwrap_err();
    let text = ended.downcast_ref::<&str>().copied(); // what a compiler makes of a message that is known to it
    let said = text.or_else(|| ended.downcast_ref::<String>().map(String::as_str)).unwrap();
    assert!(said.contains("as a test has asked for"), "{said}");
    assert!(setup.shared.is_tripped() && !setup.shared.is_closed());
}

#[test]
fn only_a_panic_opens_a_gate() {
    for panics in [false, true] {
        let shared = Arc::new(Shared::alone());
        shared.close(Instant::ZERO);
        let inner = Arc::clone(&shared);
        let ended = std::thread::spawn(move || {
            let _open = open_on_panic(Some(inner));
            if panics {
                std::panic::resume_unwind(Box::new(()));
            }
        });
        assert_eq!(ended.join().is_err(), panics);
        assert_eq!(shared.is_closed(), !panics);
    }
}

#[test]
fn orders_are_heard_in_their_rank() {
    // of several, the most urgent: giving up, then stopping, then new parameters
    let mut setup = setup(slow(), frames(0, 5));
    setup.run_until(500 * US);
    setup.direction.orders.change(unpaced());
    setup.direction.orders.stop();
    setup.direction.orders.abandon();
    assert!(!setup.direction.step());
    assert_eq!(setup.account(), (1, 4, 0));
}

#[test]
fn new_parameters_that_are_taken_take_no_other_order_with_them() {
    let setup = setup(slow(), Vec::new());
    let orders = &setup.direction.orders;
    orders.change(unpaced());
    orders.stop();
    assert!(orders.taken().is_some() && orders.taken().is_none());
    assert_eq!(orders.word.load(Relaxed), STOP);
}

#[test]
fn a_run_ends_when_it_is_told_to() {
    let setup = setup(slow(), frames(0, 3));
    let (meters, shared) = (Arc::clone(&setup.direction.meters), Arc::clone(&setup.shared));
    setup.direction.orders.stop();
    setup.clock.pass(US);
    setup.direction.run(false);
    assert_eq!(meters.sent.packets.load(Relaxed), 3);
    assert!(shared.is_closed());
}

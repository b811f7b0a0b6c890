//! A direction over a port of the test's own: what leaves when, how long it sleeps, what is counted, and what comes of trouble.

mod ends;
mod toy;

use std::sync::atomic::Ordering::Relaxed;

use paceline_core::Rate;
use paceline_core::pacer::{self, parameters::Value};
use paceline_core::queue::Limit;

use super::*;
use crate::lane::Overload;
use toy::{Answer, BEGINNING, Clock, Coming, Toy};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;
/// A line on which 1250 B take 100 us.
const LINE: Rate = Rate::from_bits_per_second(100 * 1_000_000);

fn spec(method: &str, parameters: &[(&str, &str)], limit: u64, overload: Overload) -> LaneSpec {
    let mut value = |key: &str| {
        parameters.iter().find(|(name, _)| *name == key).map(|(_, text)| Value::Text((*text).to_owned()))
    };
    let mut pacer = pacer::parse(method, &mut value, LINE).unwrap();
    pacer.limit = Some(Limit::Packets(limit));
    LaneSpec { pacer, line_rate: LINE, overload }
}

/// One at a time at 10 Mbit/s: 1250 B take 1 ms.
fn slow() -> LaneSpec {
    spec("token-bucket", &[("rate", "10 Mbit/s"), ("burst", "1250 B")], 100, Overload::Drop)
}

fn unpaced() -> LaneSpec {
    spec("none", &[], 100, Overload::Drop)
}

/// So many frames of 1250 B at once.
fn frames(at: u64, count: u32) -> Vec<(u64, Coming)> {
    (0..count).map(|_| (at, Coming::Frames(1, 1250))).collect()
}

struct Setup {
    clock: Clock,
    direction: Direction<Toy>,
    shared: Arc<Shared>,
}

fn with_spin(spec: LaneSpec, coming: Vec<(u64, Coming)>, spin: u64) -> Setup {
    let clock = Clock::new();
    let shared = Arc::new(Shared::alone());
    shared.state().latch.store(1, Relaxed);
    let port = Toy::new(&clock, coming);
    let bypass = Some(Arc::clone(&shared));
    let spin = Span::from_nanos(spin);
    let mut direction = Direction::new(port, spec, bypass, Arc::default(), Arc::default(), spin);
    direction.begin(false);
    assert!(!shared.is_tripped());
    Setup { clock, direction, shared }
}

fn setup(spec: LaneSpec, coming: Vec<(u64, Coming)>) -> Setup {
    with_spin(spec, coming, 10 * US)
}

impl Setup {
    fn run_until(&mut self, ns: u64) {
        while self.clock.ns() < BEGINNING + ns {
            assert!(self.direction.step());
        }
    }

    /// Runs until it says that it has ended.
    fn run_to_end(&mut self) {
        assert!((0..10).any(|_| !self.direction.step()));
    }

    /// Those that left, and after how many nanoseconds.
    fn left(&self) -> Vec<(u32, u64)> {
        self.direction.port.left.iter().map(|(number, at, _)| (*number, at - BEGINNING)).collect()
    }

    fn dropped(&self) -> [u64; 6] {
        Cause::ALL.map(|(cause, _)| self.direction.meters.dropped(cause))
    }

    fn meter(&self, of: fn(&Meters) -> &std::sync::atomic::AtomicU64) -> u64 {
        of(&self.direction.meters).load(Relaxed)
    }

    /// Every frame that came has left, or has been discarded, or is held; how many.
    fn account(&self) -> (usize, usize, usize) {
        let port = &self.direction.port;
        (port.left.len(), port.discarded.len(), port.kept.len())
    }
}

/// They leave in order, each at this time or at most so much later.
fn leave_at(setup: &Setup, expected: &[u64], late: u64) {
    let left = setup.left();
    assert_eq!(left.len(), expected.len(), "{left:?}");
    for (number, ((frame, at), due)) in left.iter().zip(expected).enumerate() {
        assert_eq!(*frame, number as u32);
        assert!((*due..=due + late).contains(at), "frame {frame} leaves at {at}, not {due}");
    }
}

#[test]
fn frames_leave_when_they_are_due() {
    for spin in [0, 10 * US, 80 * US] {
        let mut setup = with_spin(slow(), frames(500 * US, 5), spin);
        setup.run_until(20 * MS);
        let due: Vec<u64> = (0..5).map(|number| 500 * US + number * MS).collect();
        leave_at(&setup, &due, 2 * US);
        assert_eq!(setup.meter(|meters| &meters.sent.packets), 5);
        assert_eq!(setup.meter(|meters| &meters.sent.bytes), 5 * 1250);
        assert_eq!(setup.meter(|meters| &meters.received.packets), 5);
        assert_eq!(setup.meter(|meters| &meters.received.bytes), 5 * 1250);
        assert_eq!((setup.dropped(), setup.account()), ([0; 6], (5, 0, 0)));
        let delays = &setup.direction.meters.delay;
        let mean = delays.sum() as f64 / delays.count() as f64;
        assert!((mean - 2.0 * MS as f64).abs() < 2_000.0, "{mean}");
        assert!(setup.direction.meters.lateness.sum() <= 5 * 2 * US);
    }
}

#[test]
fn it_sleeps_until_shortly_before_a_departure_and_spins_from_there() {
    let mut setup = with_spin(slow(), frames(0, 3), 80 * US);
    setup.run_until(MS);
    let slept = setup.clock.slept.borrow().clone();
    let waits: Vec<_> = slept.iter().filter(|slept| slept.is_wait).collect();
    // one until 80 us before the second frame is due, and none while it spins
    assert_eq!(slept.len(), 1, "{slept:?}");
    assert!((915 * US..=920 * US).contains(&waits[0].asked), "{slept:?}");
    assert!(setup.direction.port.rounds <= 4, "{}", setup.direction.port.rounds);
}

#[test]
fn it_sleeps_no_longer_than_its_heart_may_stand_still_and_not_for_less_than_a_call_is_worth() {
    let mut setup = setup(slow(), Vec::new());
    setup.run_until(50 * MS);
    let slept = setup.clock.slept.borrow().clone();
    assert_eq!(slept.len(), 10);
    assert!(slept.iter().all(|slept| slept.is_wait && slept.asked == HEARTBEAT.as_nanos()), "{slept:?}");
    let beat = setup.shared.state().heartbeat_ns.load(Relaxed);
    assert!(setup.clock.ns() - beat <= HEARTBEAT.as_nanos() + US);
    // time goes in steps of 100 ns
    let sleeps: Vec<u64> = (9_900..9_990)
        .flat_map(|spin| {
            let mut setup = with_spin(slow(), frames(0, 2), 100 * spin);
            setup.run_until(900 * US);
            setup.clock.slept.take().into_iter().map(|slept| slept.asked)
        })
        .collect();
    assert_eq!(sleeps.iter().min(), Some(&(SHORTEST.as_nanos() + 100)));
}

#[test]
fn a_real_time_thread_naps_and_rests() {
    let clock_at_end = |realtime| {
        let mut setup = with_spin(slow(), frames(0, 30), 2 * MS);
        setup.direction.begin(realtime);
        setup.run_until(25 * MS);
        let slept = setup.clock.slept.borrow();
        slept.iter().map(|slept| slept.asked).sum::<u64>()
    };
    // it spins all the time, and owes a fifteenth
    assert_eq!(clock_at_end(false), 0);
    let asleep = clock_at_end(true);
    assert!((25 * MS / 20..25 * MS / 10).contains(&asleep), "{asleep}");
}

#[test]
fn a_busy_real_time_thread_rests_though_frames_come() {
    let coming = (0..4000).map(|number| (number * US, Coming::Frames(1, 1250))).collect();
    let mut setup = setup(unpaced(), coming);
    setup.direction.port.takes = 2 * US;
    setup.direction.begin(true);
    setup.run_until(4 * MS);
    let slept = setup.clock.slept.borrow();
    let rests: Vec<u64> = slept.iter().filter(|slept| !slept.is_wait).map(|slept| slept.asked).collect();
    assert!(rests.len() >= 2 && rests.iter().all(|asked| (109 * US..=112 * US).contains(asked)), "{slept:?}");
}

#[test]
fn a_round_takes_few_frames_so_that_departures_do_not_wait() {
    let mut setup = setup(unpaced(), frames(0, 200));
    setup.clock.pass(US);
    for taken in [64, 128, 192, 200] {
        assert!(setup.direction.step());
        assert_eq!(setup.account().0, taken);
    }
}

#[test]
fn what_does_not_fit_is_refused_or_makes_the_rest_leave() {
    let limited = |overload| spec("token-bucket", &[("rate", "10 Mbit/s"), ("burst", "1250 B")], 3, overload);
    // one leaves at once, three are held
    let mut setup = setup(limited(Overload::Drop), frames(0, 6));
    setup.run_until(10 * MS);
    assert_eq!((setup.dropped(), setup.account()), ([2, 0, 0, 0, 0, 0], (4, 2, 0)));
    assert_eq!(setup.meter(|meters| &meters.flushed), 0);
    let mut setup = self::setup(limited(Overload::Flush), frames(0, 6));
    setup.run_until(50 * US);
    // the fifth makes the three before it leave
    assert_eq!((setup.dropped(), setup.meter(|meters| &meters.flushed)), ([0; 6], 3));
    assert!(setup.account().0 >= 4);
    setup.run_until(10 * MS);
    assert_eq!((setup.meter(|meters| &meters.reordered), setup.account()), (0, (6, 0, 0)));
}

#[test]
fn a_port_without_room_takes_no_more() {
    let mut setup = setup(slow(), frames(0, 6));
    setup.direction.port.room = 2;
    setup.run_until(100 * US);
    assert_eq!((setup.dropped(), setup.account()), ([3, 0, 0, 0, 0, 0], (1, 3, 2)));
    assert_eq!(setup.meter(|meters| &meters.held_packets), 2);
    assert_eq!(setup.meter(|meters| &meters.held_bytes), 2 * 1250);
    let settled = setup.shared.state().settled.load(Relaxed);
    assert_eq!((settled, setup.shared.state().dropped.load(Relaxed)), (4, 3));
}

#[test]
fn what_cannot_be_taken_is_counted_under_its_cause_and_what_is_cut_by_its_parts() {
    let coming = vec![
        (0, Coming::Refused(Refusal::TooLarge)),
        (0, Coming::Refused(Refusal::Lost)),
        (0, Coming::Refused(Refusal::Lost)),
        (0, Coming::Frames(5, 1250)),
    ];
    let mut setup = setup(unpaced(), coming);
    setup.direction.port.overflow = 40;
    setup.run_until(10 * MS);
    assert_eq!((setup.dropped(), setup.account()), ([0, 2, 1, 0, 0, 0], (5, 0, 0)));
    // four things came in, of which eight came
    assert_eq!(setup.meter(|meters| &meters.cut), 4);
    assert_eq!(setup.direction.meters.settled(), 4);
    // it was last asked as it began, 100 ns after the beginning
    setup.clock.pass(BEGINNING + 100 * MS - setup.clock.ns());
    assert!(setup.direction.step());
    assert_eq!((setup.dropped()[1], setup.meter(|meters| &meters.socket_errors)), (2, 0));
    assert!(setup.direction.step());
    assert_eq!((setup.dropped()[1], setup.meter(|meters| &meters.socket_errors)), (42, 3));
    assert_eq!(setup.meter(|meters| &meters.processor_ns), 77);
}

#[test]
fn a_full_interface_is_tried_again_soon_and_what_it_has_no_room_for_stays() {
    for keeps_pending in [false, true] {
        let mut setup = setup(unpaced(), frames(0, 10));
        setup.direction.port.keeps_pending = keeps_pending;
        setup.direction.port.answers = [3, 0, 4].map(Answer::Takes).into();
        setup.clock.pass(US);
        assert!(setup.direction.step());
        assert_eq!((setup.account(), setup.meter(|meters| &meters.blocked)), ((3, 0, 7), 1));
        let held = if keeps_pending { 0 } else { 7 };
        assert_eq!(setup.meter(|meters| &meters.held_packets), held);
        assert_eq!(setup.meter(|meters| &meters.held_bytes), held * 1250);
        setup.run_until(MS);
        let retries = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2].map(|times| times * RETRY.as_nanos());
        leave_at(&setup, &retries, 8 * US);
        assert_eq!((setup.dropped(), setup.account()), ([0; 6], (10, 0, 0)));
        assert_eq!(setup.meter(|meters| &meters.blocked), 3);
        let slept = setup.clock.slept.borrow();
        assert!(
            slept.iter().take(2).all(|slept| !slept.is_wait && slept.asked.abs_diff(RETRY.as_nanos()) < US),
            "{slept:?}"
        );
    }
}

#[test]
fn a_full_interface_and_a_full_pool_lose_the_rest() {
    let mut setup = setup(unpaced(), frames(0, 10));
    setup.direction.port.room = 2;
    setup.direction.port.answers = [Answer::Takes(3)].into();
    setup.run_until(MS);
    assert_eq!((setup.dropped(), setup.account()), ([5, 0, 0, 0, 0, 0], (5, 5, 0)));
}

#[test]
fn what_the_interface_does_not_send_is_counted_and_the_rest_goes_on() {
    let mut setup = setup(unpaced(), frames(0, 10));
    setup.direction.port.answers = [Answer::Rejects, Answer::Rejects].into();
    setup.run_until(MS);
    assert_eq!((setup.dropped(), setup.account()), ([0, 0, 0, 2, 0, 0], (8, 2, 0)));
}

#[test]
fn what_leaves_after_one_that_came_later_is_counted() {
    let mut setup = setup(unpaced(), frames(0, 3));
    setup.direction.port.answers = [Answer::Reverses].into();
    setup.run_until(MS);
    assert_eq!((setup.meter(|meters| &meters.reordered), setup.account()), (2, (3, 0, 0)));
}

#[test]
fn misses_of_a_bound_are_counted_and_explained_by_lateness() {
    let edge = || spec("edge", &[("delay", "2 ms"), ("release", "finish")], 100, Overload::Drop);
    let run = |late, takes| {
        let mut setup = setup(edge(), frames(0, 5));
        setup.clock.late.set(late);
        setup.direction.port.takes = takes;
        setup.run_until(20 * MS);
        assert_eq!(setup.account(), (5, 0, 0));
        let misses = setup.meter(|meters| &meters.deadline_misses);
        (misses, setup.meter(|meters| &meters.unexplained_misses), setup)
    };
    let (misses, unexplained, setup) = run(0, 0);
    assert_eq!((misses, unexplained), (1, 0), "{:?}", setup.left()); // the last is due at the bound, and time passes
    let (misses, unexplained, _) = run(5 * MS, 0);
    assert!(misses >= 4 && unexplained == 0, "{misses}");
    let mut setup = self::setup(edge(), frames(0, 5));
    setup.direction.port.is_punctual = true;
    setup.run_until(20 * MS);
    assert_eq!((setup.meter(|meters| &meters.deadline_misses), setup.account().0), (0, 5));
    let mut setup = self::setup(slow(), frames(0, 5));
    setup.clock.late.set(5 * MS);
    setup.run_until(50 * MS);
    assert_eq!(setup.meter(|meters| &meters.deadline_misses), 0); // it promises none
}

#[test]
fn lateness_that_is_not_made_up_for_is_told() {
    let mut setup = setup(slow(), frames(0, 50));
    setup.clock.late.set(4 * MS);
    setup.run_until(MS);
    // a millisecond's sleep less 10 us, four late, of which one is made up for
    let forgiven = setup.meter(|meters| &meters.forgiven_ns);
    assert_eq!(forgiven, 0);
    assert!(setup.direction.step());
    let forgiven = setup.meter(|meters| &meters.forgiven_ns);
    assert!((2_950 * US..=3_000 * US).contains(&forgiven), "{forgiven}");
}

#[test]
fn new_parameters_hold_from_the_next_round_on() {
    let mut setup = setup(slow(), frames(0, 5));
    setup.run_until(500 * US);
    assert_eq!(setup.account().0, 1);
    setup.direction.orders.change(unpaced());
    assert!(setup.direction.step());
    assert_eq!(setup.account(), (5, 0, 0));
    let edge = spec("edge", &[("delay", "2 ms"), ("release", "finish")], 100, Overload::Drop);
    setup.direction.orders.change(edge);
    assert!(setup.direction.step());
    setup.direction.port.coming.push_back((BEGINNING + 20 * MS, Coming::Frames(1, 1250)));
    setup.run_until(30 * MS);
    assert!(setup.left().last().is_some_and(|(_, at)| (22 * MS..22 * MS + 2 * US).contains(at)));
    // it is told once
    assert!(setup.direction.orders.taken().is_none());
}

#[test]
fn what_waits_for_a_full_interface_is_judged_by_the_bound_that_it_was_let_go_by() {
    let edge = |delay| spec("edge", &[("delay", delay), ("release", "finish")], 100, Overload::Drop);
    // due every 2 ms until 10; the interface is full until all but the last are due, or all, and the bound is 2 ms by then
    for (full, keeps_pending, missed) in
        [(9 * MS, false, 1), (9 * MS, true, 1), (14 * MS, false, 5), (14 * MS, true, 5)]
    {
        let mut setup = setup(edge("10 ms"), frames(0, 5));
        setup.direction.port.keeps_pending = keeps_pending;
        setup.direction.port.answers = [Answer::Takes(0)].repeat(1000).into();
        setup.run_until(full);
        assert_eq!(setup.account().0, 0);
        setup.direction.orders.change(edge("2 ms"));
        setup.direction.port.answers.clear();
        assert!(setup.direction.step());
        assert_eq!(setup.account(), (5, 0, 0));
        let misses = setup.meter(|meters| &meters.deadline_misses);
        assert_eq!((misses, setup.meter(|meters| &meters.unexplained_misses)), (missed, 0));
    }
}

//! One rule at a time, worked by hand against the functions of Linux 6.18 named in the code. `tests/kernel_receiver.rs` has whole
//! connections of a kernel.

use super::*;
use crate::config::{Profile, Variant};

fn at(us: u64) -> Instant {
    Instant::from_nanos(1_000 * us)
}

/// Acknowledgements wait 40 ms for a second packet; every other rule is off.
fn plain() -> Config {
    Config { delayed_ack: Some(Span::from_millis(40)), ..Config::new(Profile::Ns2) }
}

fn linux() -> Config {
    Config { variant: Variant::Rfc6675, tick_phase: Some(Span::ZERO), ..Config::new(Profile::Linux) }
}

fn delay(config: &Config) -> DelayedAck {
    DelayedAck::of(config, 7).unwrap_or_else(|| unreachable!("the settings have a delay"))
}

/// Packet `seq` arrives in order.
fn in_order(seq: u32, us: u64) -> Arrival {
    Arrival { seq, packets: 1, before: seq, next: seq + 1, held: 0, reach: 0, selective: true, now: at(us) }
}

/// Packet `seq` arrives beyond `next`, which is missing.
fn beyond(seq: u32, next: u32, us: u64) -> Arrival {
    let reach = seq + 1 - next;
    Arrival { seq, packets: 1, before: next, next, held: reach - 1, reach, selective: true, now: at(us) }
}

/// `tcp_incr_quickack`: 16, but no more than half of the window, and no less than two.
#[test]
fn a_small_window_has_fewer_quick_acknowledgements() {
    for (max_window, packets) in [(10_000, 16), (33, 16), (31, 15), (10, 5), (3, 2)] {
        assert_eq!(delay(&Config { max_window, ..linux() }).quick.most, packets, "{max_window}");
    }
}

#[test]
fn the_settings_apply_from_the_first_packet_on() {
    assert_eq!(delay(&linux()).push_at, 11);
    assert_eq!(delay(&plain()).push_at, u32::MAX);
    assert_eq!(delay(&plain()).urgent, 1); // the SYN
    assert_eq!(delay(&Config { syn: None, ..plain() }).urgent, 0);
    assert_eq!(delay(&Config { delayed_syn_ack: true, ..plain() }).urgent, 0);
}

/// `tcp_event_data_recv`: a gap of half the least delay, 20 ms, changes the delay; as ticks count it, one may be a tick of 4 ms less.
#[test]
fn packets_are_soon_after_one_another_where_that_changes_no_delay() {
    let soon = |quick_acks, adaptive_delay| {
        delay(&Config { quick_acks, adaptive_delay, timer_tick: Span::from_millis(4), ..plain() }).soon
    };
    assert_eq!(soon(0, false), Span::MAX);
    let least = Span::from_millis(16);
    assert_eq!([soon(1, false), soon(0, true), soon(16, true)], [least; 3]);
}

/// Every second packet, or 40 ms. The fast path gives the same result, and changes nothing where it does not apply.
#[test]
fn the_fast_path_is_for_the_next_packet_in_order_soon_after_the_last() {
    let mut steady = delay(&Config { push: 9, ..plain() });
    assert!(!steady.delays(in_order(0, 0)));
    assert!(steady.delays(in_order(1, 1_000)));
    steady.reached = 2;
    assert_eq!(steady.delays_steadily(4, at(2_000)), None, "two at once");
    assert_eq!(steady.delays_steadily(2, at(2_000)), None, "none");
    assert_eq!(steady.delays_steadily(3, at(2_000)), Some(false));
    assert_eq!(steady.delays_steadily(4, at(3_000)), Some(true));
    assert_eq!(steady.due, Some(at(43_000)));
    for next in 5..=9 {
        assert!(steady.delays_steadily(next, at(4_000)).is_some());
    }
    assert_eq!(steady.delays_steadily(10, at(4_000)), None, "packet 9 carries PSH");
    steady.push_at = u32::MAX;
    (steady.soon, steady.received_at) = (Span::from_millis(16), at(4_000));
    assert_eq!(steady.delays_steadily(10, at(20_000)), None, "16 ms later");
    assert!(steady.delays_steadily(10, at(19_999)).is_some());
}

/// Not steady: quick acknowledgements, a delay that has grown.
#[test]
fn nothing_is_steady_while_a_packet_in_order_changes_more_than_whose_turn_it_is() {
    let after = |change: fn(&mut DelayedAck)| {
        let mut delay = delay(&plain());
        change(&mut delay);
        delay.delays(in_order(1, 0));
        delay.steady_until
    };
    assert_eq!(after(|_| ()), Instant::MAX);
    assert_eq!(after(|delay| delay.quick.left = 1), Instant::ZERO);
    assert_eq!(after(|delay| delay.quick.pushed = true), Instant::ZERO);
    assert_eq!(after(|delay| delay.reading.begun = true), Instant::MAX);
    assert_eq!(after(|delay| delay.wait = Span::from_millis(80)), Instant::ZERO);
    // A delay that does not adapt stays steady.
    let mut late = delay(&plain());
    late.delays(in_order(1, 0));
    late.delays(in_order(2, 30_000));
    assert_eq!(late.steady_until, Instant::MAX);
    assert!(!delay(&Config { quick_acks: 16, ..plain() }).delays(in_order(1, 0)), "but a quick one goes");
    // Without a delay of reading a missing packet changes nothing.
    let mut gap = delay(&plain());
    gap.delays(beyond(2, 1, 0));
    assert_eq!(gap.delays(in_order(3, 1)).then_some(gap.steady_until), Some(Instant::MAX));
}

/// `tcp_rcv_space_adjust` looks once in a round trip whether more was read.
#[test]
fn where_the_offered_window_is_whole_it_is_steady_until_a_round_trip_is_over() {
    let mut delay = delay(&Config { quick_acks: 0, max_window: 10, timer_tick: Span::ZERO, ..linux() });
    delay.delays(in_order(0, 0));
    delay.delays(in_order(1, 30_000));
    delay.delays(in_order(2, 31_000));
    assert_eq!(delay.steady_until, at(60_000));
}

/// The last of a write is acknowledged when the application has read it (`__tcp_cleanup_rbuf`): within 20 us, or a thousandth of a
/// round trip if that is less; not twice at the same time after its arrival.
#[test]
fn the_last_of_a_write_waits_to_be_read() {
    for (round_trip, most) in [(10, 10_000), (100, 20_000)] {
        let mut waits = Vec::new();
        let mut delay = delay(&linux());
        for seq in 1..=32 {
            delay.reading.begun = true;
            (delay.quick.pushed, delay.round_trip) = (true, Some(Span::from_millis(round_trip)));
            assert!(delay.waits_for_reading(seq, at(0)));
            waits.extend(delay.due.map(|due| due.as_nanos()));
            delay.on_acknowledged();
        }
        waits.sort_unstable();
        waits.dedup();
        assert!(waits.len() > 16 && waits[0] >= 1, "{waits:?}");
        assert!((most / 2..=most).contains(&waits[waits.len() - 1]), "{waits:?}");
    }
    let mut delay = delay(&Config { adaptive_delay: false, ..linux() });
    (delay.reading.begun, delay.quick.pushed) = (true, true);
    (delay.round_trip, delay.received_at) = (Some(Span::from_millis(100)), at(0));
    assert!(delay.apply_rules(in_order(5, 1)), "nothing is left of the quick ones");
}

/// The sender fills its buffer when a third of it is empty: PSH comes with every eleventh packet, then once in two thirds of a window
/// that is more than three times as much.
#[test]
fn a_push_comes_once_in_a_write() {
    // `read` packets are read in the first round trip of 100 ms; fifty more arrive in the next.
    let stories = [
        (20, vec![11, 22, 33, 44, 55, 66]),
        (33, vec![11, 22, 33, 44, 55, 66, 77]),
        (61, vec![11, 22, 33, 44, 55, 66, 106]),
    ];
    for (read, expected) in stories {
        let mut delay = delay(&Config { timer_tick: Span::ZERO, ..linux() });
        delay.delays(in_order(0, 0));
        let mut pushes = Vec::new();
        for seq in 1..=read + 50 {
            let ms = if seq < read { 99 + seq } else { 200 + seq - read };
            let before = delay.push_at;
            delay.delays(in_order(seq, 1_000 * u64::from(ms)));
            if delay.push_at != before {
                pushes.push(before);
            }
        }
        assert_eq!(pushes, expected, "{read} packets in a round trip");
    }
}

/// The packet with PSH was held beyond a gap, and the next in order is several writes further.
#[test]
fn a_push_that_was_held_is_not_waited_for() {
    for (filled_to, push_at) in [(12, 22), (33, 44), (41, 44), (44, 55)] {
        let mut delay = delay(&linux());
        delay.delays(in_order(9, 0));
        delay.delays(Arrival { next: filled_to, ..in_order(10, 1) });
        delay.delays(in_order(filled_to, 2));
        assert_eq!(delay.push_at, push_at, "{filled_to}");
    }
}

/// `__tcp_ack_snd_check`: three duplicates at once. Those that follow, at most 44, are acknowledged together, a twentieth of the round
/// trip or 1 ms later, and the timer's slack of 0.1 ms. Without SACK every packet is acknowledged.
#[test]
fn beyond_a_gap_the_fourth_waits() {
    for (round_trip, wait) in [(10, 600), (100, 1_100)] {
        let mut delay = delay(&Config { quick_acks: 0, ..linux() });
        delay.round_trip = Some(Span::from_millis(round_trip));
        let waits: Vec<bool> = (2..=6).map(|seq| delay.delays(beyond(seq, 1, 500))).collect();
        assert_eq!(waits, [false, false, false, true, true]);
        assert_eq!(delay.due, Some(at(500 + wait)));
        let waits = (7..=60).take_while(|seq| delay.delays(beyond(*seq, 1, 0))).count();
        assert_eq!(2 + waits, 44);
    }
    let mut delay = delay(&Config { quick_acks: 0, ..linux() });
    assert!(!(2..=9).any(|seq| delay.delays(Arrival { selective: false, ..beyond(seq, 1, 0) })));
}

/// `tcp_event_data_sent`: pingpong mode begins when the host sends data within the delay after it received some.
#[test]
fn an_answer_comes_within_the_delay() {
    for (us, answers) in [(39_999, true), (40_000, false)] {
        let mut delay = delay(&linux());
        delay.received_at = at(0);
        assert!(delay.on_sent(at(us)));
        assert_eq!(delay.quick.answers, answers, "{us}");
    }
    let mut never = delay(&linux());
    assert!(never.on_sent(at(1)) && !never.quick.answers, "nothing was received");
    let mut plain = delay(&plain());
    plain.received_at = at(0);
    assert!(!plain.on_sent(at(1)) && !plain.quick.answers);
}

/// `tcp_event_ack_sent`: with the last of the quick acknowledgements the delay is the least again; not with those before it.
#[test]
fn the_last_quick_acknowledgement_ends_a_longer_delay() {
    let mut delay = delay(&linux());
    (delay.quick.left, delay.wait) = (2, Span::from_millis(80));
    delay.on_acknowledged();
    assert_eq!(delay.wait, Span::from_millis(80));
    delay.on_acknowledged();
    assert_eq!((delay.wait, delay.quick.left), (Span::from_millis(40), 0));
}

/// After the first gap too, where the application's reading decides when every second packet is acknowledged.
#[test]
fn the_fast_path_agrees_over_random_arrivals_after_a_gap() {
    let (mut state, mut taken) = (1_u64, 0);
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..200 {
        let mut with = delay(&Config { max_window: 10, ..linux() }); // offered whole from the start
        with.reading.begun = draw(4) > 0;
        let mut without = with.clone();
        let (mut us, mut seq) = (0, 0);
        for _ in 0..300 {
            us += if draw(30) == 0 { 30_000 } else { [1, 5, 100, 1_500][draw(4) as usize] };
            while let Some(due) = with.due.filter(|due| *due < at(us)) {
                assert_eq!(without.due, Some(due), "packet {seq}");
                for delay in [&mut with, &mut without] {
                    delay.on_missed();
                    delay.on_acknowledged();
                }
            }
            let (next, now) = (seq + 1, at(us));
            let by_rules = |delay: &mut DelayedAck| {
                delay.reached = next;
                let waits = delay.delays(in_order(seq, us));
                if !waits {
                    delay.on_acknowledged();
                }
                waits
            };
            let steadily = if draw(3) > 0 { with.delays_steadily(next, now) } else { None };
            taken += u32::from(steadily.is_some());
            let found = steadily.unwrap_or_else(|| by_rules(&mut with));
            assert_eq!(found, by_rules(&mut without), "packet {seq}");
            assert_eq!((with.due, with.reading.now), (without.due, without.reading.now), "packet {seq}");
            assert_eq!((with.wait, with.quick.left), (without.wait, without.quick.left), "packet {seq}");
            seq += 1;
        }
    }
    assert!(taken > 10_000, "{taken}");
}

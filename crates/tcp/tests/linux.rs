//! The Linux profile as Linux 6.18 was seen to act (docs/emulate.md): growth by packets, probes before timeouts, lost
//! retransmissions, windows that decrease in proportion. Over a pipe with a round trip of 100 ms that loses chosen packets.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use crate::conversation::converse;
use paceline_core::{Instant, Span};
use paceline_tcp::{Config, Profile, Receiver, Reply, Variant};

/// Its timers are exact here, where the kernel's wait for the next tick.
fn linux() -> Config {
    Config { variant: Variant::Rfc6675, timer_tick: Span::ZERO, ..Config::new(Profile::Linux) }
}

#[test]
fn slow_start_doubles_though_acknowledgements_are_delayed() {
    let talk = converse(linux(), 400, |_| false);
    let flight = |ms: u64| talk.sent.iter().filter(|(at, _)| (ms..ms + 60).contains(at)).count();
    // The kernel's windows: 10, 20, 40, 80 (an odd last packet waits 40 ms for its acknowledgement).
    assert_eq!([100, 200, 300, 400].map(flight), [10, 20, 40, 80]);
    let by_acknowledgements =
        converse(Config { count_packets: false, quick_acks: 0, ..linux() }, 400, |_| false);
    let flight =
        |ms: u64| by_acknowledgements.sent.iter().filter(|(at, _)| (ms..ms + 60).contains(at)).count();
    assert_eq!([100, 200, 300].map(flight), [10, 15, 23]); // half as many again
}

#[test]
fn the_last_packet_of_a_flight_is_probed_for() {
    // Ten packets and a SYN; the last is lost. Two round trips after the flight, a probe: no timeout, and one more cut.
    let talk = converse(linux(), 10, |transmission| transmission == 10);
    let counters = talk.sender.counters();
    assert_eq!((counters.timeouts, counters.retransmits), (0, 1));
    let (at, seq) = *talk.sent.last().unwrap();
    assert_eq!(seq, 10);
    // The acknowledgement of packet 9 comes at 200 ms or, delayed, at 240; then 2 srtt and 200 ms for one packet.
    assert!((500..700).contains(&at), "{at}");
    let waited = converse(Config { rack: false, ..linux() }, 10, |transmission| transmission == 10);
    assert_eq!(waited.sender.counters().timeouts, 1);
}

#[test]
fn one_packet_held_is_enough_after_a_quarter_of_a_round_trip() {
    // Three packets; the second is lost: one report, and no third duplicate ever.
    let config = Config { initial_window: 3, limited_transmit: false, ..linux() };
    let talk = converse(config.clone(), 3, |transmission| transmission == 2);
    assert_eq!(talk.sender.counters().timeouts, 0);
    let (at, seq) = *talk.sent.last().unwrap();
    assert_eq!(seq, 2);
    assert!((227..=228).contains(&at), "reported at 200 ms, and 2 ms more: sent again at {at}");
    let without = converse(Config { rack: false, ..config }, 3, |transmission| transmission == 2);
    assert_eq!(without.sender.counters().timeouts, 1);
}

#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    // Packet 41 and its first retransmission are lost.
    let mut seen = 0;
    let lose = |talk: Config| {
        let mut transmissions = Vec::new();
        let first = converse(talk.clone(), 300, |transmission| transmission == 41);
        for (number, (_, seq)) in first.sent.iter().enumerate() {
            if *seq == 41 {
                transmissions.push(number);
            }
        }
        converse(talk, 300, |transmission| transmissions.contains(&transmission))
    };
    let talk = lose(linux());
    seen += talk.sent.iter().filter(|(_, seq)| *seq == 41).count();
    assert_eq!(seen, 3);
    assert_eq!(talk.sender.counters().timeouts, 0);
    assert_eq!(talk.sender.counters().window_cuts, 1);
    assert!(lose(Config { rack: false, ..linux() }).sender.counters().timeouts > 0);
}

#[test]
fn the_window_comes_down_in_proportion() {
    // Of a window of 80, one packet is lost: in the round trip that follows, about half as much is sent as arrives.
    let config = Config { max_window: 80, initial_window: 80, delayed_ack: None, ..linux() };
    let talk = converse(config, 400, |transmission| transmission == 100);
    let (lost_at, _) = *talk.sent.iter().find(|(_, seq)| *seq == 100).unwrap();
    let sent = |from: u64| talk.sent.iter().filter(|(at, _)| (from..from + 99).contains(at)).count();
    assert_eq!(talk.sender.counters().window_cuts, 1);
    assert_eq!(sent(lost_at + 200), 40); // after the recovery
}

#[test]
fn the_least_timeout_is_beyond_the_round_trip() {
    // All is lost from the third flight on: the probe, then a timeout 200 ms and a round trip later.
    let talk = converse(linux(), 40, |transmission| transmission > 30 && transmission < 60);
    assert!(talk.sender.counters().timeouts > 0);
    assert!(talk.finished_at.is_some());
    let config = linux();
    assert!(config.min_rto_beyond_srtt);
    assert_eq!(config.min_rto, Span::from_millis(200));
}

/// Packets in order, `gap` ms apart. Returns which are acknowledged at once. The last of each `message` has PSH; with `answer` the host
/// sends data after each message, that many ms later.
fn acknowledged(count: u32, gap: u64, message: u32, answer: Option<u64>) -> Vec<u32> {
    let config = Config { push: 0, ..linux() };
    let (mut receiver, mut at_once) = (Receiver::with(&config, 0), Vec::new());
    receiver.on_data(0);
    assert!(matches!(receiver.reply(0, Instant::ZERO, Instant::ZERO), Reply::Now(_)));
    for seq in 1..=count {
        let now = Instant::ZERO + Span::from_millis(50 + gap * u64::from(seq - 1));
        receiver.on_data(seq);
        if seq % message == 0 {
            receiver.on_push();
        }
        if let Reply::Now(_) = receiver.reply(seq, now, now) {
            at_once.push(seq);
        }
        if seq % message == 0
            && let Some(later) = answer
        {
            receiver.on_data_sent(now + Span::from_millis(later));
            assert_eq!(receiver.due(), None);
        }
    }
    at_once
}

#[test]
fn the_first_packets_are_acknowledged_at_once_then_every_second_and_the_last_of_a_message() {
    let every = |packets: std::ops::RangeInclusive<u32>| packets.collect::<Vec<_>>();
    // Six while the offered window grows from 45 packets to 56, 16 more (tcp_grow_window, TCP_MAX_QUICKACKS).
    assert_eq!(acknowledged(22, 1, 1000, None), every(1..=22));
    assert_eq!(acknowledged(28, 1, 1000, None)[22..], [24, 26, 28]);
    assert_eq!(acknowledged(32, 1, 9, None)[22..], [24, 26, 27, 29, 31]);
    assert_eq!(acknowledged(40, 300, 1000, None), every(1..=40)); // each after an idle period
}

#[test]
fn one_that_answers_lets_acknowledgements_go_along() {
    // The first is acknowledged before the answer; after it, each waits for its own.
    assert_eq!(acknowledged(5, 60, 1, Some(10)), [1]);
    // An answer later than the delay is none.
    assert_eq!(acknowledged(5, 60, 1, Some(41)), [1, 2, 3, 4, 5]);
}

#[test]
fn an_answer_takes_along_what_waits_and_nothing_else() {
    let now = Instant::ZERO + Span::from_millis(1);
    let fixed = Config { delayed_ack: Some(Span::from_millis(40)), syn: None, ..Config::new(Profile::Ns2) };
    // Linux's goes along; of a delay that knows no answers nothing does.
    for (config, goes) in [(Config { quick_acks: 0, ..fixed.clone() }, false), (linux(), true)] {
        let mut receiver = Receiver::with(&config, 0);
        assert_eq!(receiver.on_data_sent(now), None, "nothing has come");
        let mut seq = 0;
        while receiver.due().is_none() {
            receiver.on_data(seq);
            receiver.reply(seq, now, now);
            seq += 1;
        }
        assert_eq!(receiver.on_data_sent(now).is_some(), goes);
        assert_eq!(receiver.due().is_none(), goes);
        assert_eq!(receiver.on_data_sent(now), None, "twice");
    }
}

/// Packets from a time on, that many ms apart. Returns how long the acknowledgement of each waits, `None` where it is sent at once.
fn waits(receiver: &mut Receiver, packets: &[u32], (first_at, gap): (u64, u64)) -> Vec<Option<u64>> {
    let mut waits = Vec::new();
    for (place, &seq) in packets.iter().enumerate() {
        let now = Instant::ZERO + Span::from_millis(first_at + gap * place as u64);
        if receiver.due().is_some_and(|due| due <= now) {
            receiver.on_delayed_ack_timer();
        }
        receiver.on_data(seq);
        let reply = receiver.reply(seq, now, now);
        let due = receiver.due().map(|due| due.since(now).as_nanos());
        waits.push(if matches!(reply, Reply::Now(_)) { None } else { due });
    }
    waits
}

#[test]
fn once_a_packet_was_missed_acknowledgements_wait_for_the_application_to_read() {
    let config = Config { push: 0, ..linux() };
    let mut receiver = Receiver::with(&config, 7);
    assert_eq!(waits(&mut receiver, &[0], (0, 1)), [None]);
    // Ten packets a round trip: the offered window does not grow any more.
    let before = waits(&mut receiver, &(1..=50).collect::<Vec<_>>(), (50, 5));
    assert!(before[22..].chunks(2).all(|two| *two == [Some(40_000_000), None]), "{before:?}");
    let gap = waits(&mut receiver, &[52, 53, 54, 55, 56, 57], (300, 1));
    assert_eq!(gap[..3], [None; 3]);
    // The fourth waits for 1 ms (net.ipv4.tcp_comp_sack_delay_ns) and the timer's slack, and the fifth with it.
    assert_eq!(gap[3..5], [Some(1_100_000), Some(100_000)]);
    assert_eq!(waits(&mut receiver, &[51], (307, 1)), [None]);
    let after = waits(&mut receiver, &(58..=97).collect::<Vec<_>>(), (312, 5));
    // Once the offered window grows by a little, and two are sent at once.
    let read: Vec<u64> = after.iter().flatten().copied().filter(|wait| *wait != 40_000_000).collect();
    assert_eq!(read.len(), 19);
    assert!(read.iter().all(|wait| (1..=20_000).contains(wait)), "{read:?}");
    assert!(read.windows(2).all(|two| two[0] != two[1]), "{read:?}");
}

#[test]
fn the_delay_follows_the_time_between_packets() {
    let config = Config { push: 0, timer_tick: Span::ZERO, quick_acks: 0, read_delay: Span::ZERO, ..linux() };
    let mut receiver = Receiver::with(&config, 0);
    waits(&mut receiver, &[0], (0, 1));
    // A round trip of 60 ms; then a packet every 30 ms, in pairs: the delay is half of itself and the gap (tcp_event_data_recv).
    let mut each = Vec::new();
    for seq in 1..=12 {
        each.extend(waits(&mut receiver, &[seq], (30 + 30 * u64::from(seq), 1)));
    }
    let ms = |place: usize| each[place].map(|wait| wait as f64 / 1e6);
    assert_eq!(ms(0), Some(40.0));
    assert!((1..12).step_by(2).all(|place| each[place].is_none()));
    // 40, 50, 55, 57.5 ... towards 60 ms, which is the round trip.
    for (place, wait) in [(2, 55.0), (4, 58.75), (6, 59.6875)] {
        assert_eq!(ms(place), Some(wait), "{each:?}");
    }
}

//! The Linux profile as Linux 6.18 was seen to act (docs/emulate.md): growth by packets, probes before timeouts, lost
//! retransmissions, windows that come down in proportion. Over a pipe of 100 ms there and back that loses what it is told to.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

mod conversation;

use conversation::converse;
use paceline_core::Span;
use paceline_tcp::{Config, Profile, Variant};

fn linux() -> Config {
    Config { variant: Variant::Rfc6675, ..Config::new(Profile::Linux) }
}

#[test]
fn slow_start_doubles_though_acknowledgements_are_delayed() {
    let talk = converse(linux(), 400, |_| false);
    let flight = |ms: u64| talk.sent.iter().filter(|(at, _)| (ms..ms + 60).contains(at)).count();
    // The kernel's windows: 10, 20, 40, 80 (an odd last packet waits 40 ms for its acknowledgement).
    assert_eq!([100, 200, 300, 400].map(flight), [10, 20, 40, 80]);
    let by_acknowledgements = converse(Config { count_packets: false, ..linux() }, 400, |_| false);
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
    assert!((225..=226).contains(&at), "reported at 200 ms, sent again at {at}");
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
    // Of a window of 80, one packet is lost: in the round trip that follows, about half as much goes out as arrives.
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

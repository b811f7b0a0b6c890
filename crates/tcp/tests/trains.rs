//! Trains of a whole connection over a pipe, worked by hand.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

#[allow(dead_code, reason = "other tests use more of it")]
mod conversation;

use conversation::{Conversation, converse_over};
use paceline_core::Span;
use paceline_tcp::{Config, HostPacing, PacingRule, Profile, Variant};

/// Slow start without end, a packet of 1000 B acknowledged by itself.
fn config() -> Config {
    Config {
        variant: Variant::Rfc6675,
        payload: 1000,
        max_window: 1000,
        syn: None,
        initial_window: 16,
        gso: Some(10),
        ..Config::new(Profile::Rfc)
    }
}

fn sizes(talk: &Conversation) -> Vec<usize> {
    talk.sent.chunk_by(|one, other| one.0 == other.0).map(<[_]>::len).collect()
}

/// The acknowledgements of a window all come at one instant over a pipe. The first lets two packets out, by slow start, and so does each
/// that follows: none waits, since the last packets left a round trip before.
#[test]
fn what_left_long_ago_is_followed_at_once() {
    let talk = converse_over(10, config(), 200, |_| false);
    assert_eq!(sizes(&talk), [16, 32, 64, 88]);
    assert_eq!(talk.sender.counters().retransmits, 0);
}

/// A paced connection releases a train at a time, and what follows waits for as long as the train takes at the rate: with a round trip of
/// 40 ms and ten packets the ideal rule sends 250 packets a second, 256 B in 1.024 ms, so trains have two packets.
#[test]
fn a_paced_train_waits_as_long_as_it_is() {
    let pacing = Some(HostPacing { rule: PacingRule::Ideal, gain: 1.0, jitter: 0.0, quantum: None });
    let times = |gso| {
        let config = Config { pacing, gso, max_window: 10, initial_window: 10, ..config() };
        let talk = converse_over(20, config, 60, |_| false);
        let later: Vec<(u64, usize)> = talk
            .sent
            .chunk_by(|one, other| one.0 == other.0)
            .map(|train| (train[0].0, train.len()))
            .filter(|(at, _)| *at > 40)
            .collect();
        later
    };
    let single = times(None);
    assert!(single.iter().all(|(_, packets)| *packets == 1), "{single:?}");
    assert!(single.windows(2).all(|two| two[1].0 - two[0].0 == 4), "{single:?}");
    let pairs = times(Some(10));
    assert!(pairs.iter().all(|(_, packets)| *packets <= 2), "{pairs:?}");
    assert!(pairs.iter().filter(|(_, packets)| *packets == 2).count() > 15, "{pairs:?}");
    assert!(pairs.windows(2).all(|two| two[1].0 - two[0].0 == 4 * two[0].1 as u64), "{pairs:?}");
}

/// A receiver that joins packets answers a window that came at one instant once, a millisecond later, however long it is up to 64 KB.
#[test]
fn a_window_that_comes_at_once_is_answered_once() {
    let joins = Config { gro: Some(Span::from_millis(1)), ..config() };
    let talk = converse_over(10, joins, 200, |_| false);
    // 16 packets, one acknowledgement: the window grows by one packet, for an acknowledgement, to 17.
    assert_eq!(sizes(&talk)[..3], [16, 17, 18]);
    let times: Vec<u64> = talk.sent.chunk_by(|one, other| one.0 == other.0).map(|train| train[0].0).collect();
    assert_eq!(times[..3], [0, 21, 42]);
}

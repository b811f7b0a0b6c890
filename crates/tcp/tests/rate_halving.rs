//! BIC and CUBIC as ns-2's TCP-Linux runs them, beside RFC 6675's recovery. Packet by packet: tests/test_oracle_ns2.py.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use crate::conversation::converse;
use paceline_tcp::{Config, Counters, Profile, Recovery, Variant};

fn tcp_linux() -> Config {
    Config { max_window: 1000, data_with_syn: true, ..Config::of_variant(Profile::Ns2, Variant::Bic) }
}

/// What the sender counts where packet 41 and its first retransmission are lost.
fn lose_twice(config: Config) -> Counters {
    let first = converse(config.clone(), 400, |transmission| transmission == 41);
    let again = first.sent.iter().rposition(|(_, seq)| *seq == 41).unwrap();
    let talk = converse(config, 400, |transmission| [41, again].contains(&transmission));
    assert!(talk.finished_at.is_some());
    talk.sender.counters()
}

#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    let counters = lose_twice(tcp_linux());
    assert_eq!((counters.timeouts, counters.window_cuts, counters.retransmits), (0, 1, 2));
    assert!(lose_twice(Config { recovery: Recovery::Rfc6675, ..tcp_linux() }).timeouts > 0);
}

#[test]
fn the_syn_counts_in_the_first_window() {
    let flight = |config| converse(config, 10, |_| false).sent.iter().filter(|(at, _)| *at == 0).count();
    assert_eq!(flight(tcp_linux()), 2);
    assert_eq!(flight(Config { data_with_syn: false, ..tcp_linux() }), 1);
}

//! A SYN that is lost, or late: when it is retransmitted, and the window and timeout that data begin with. Linux's numbers are what
//! Linux 6.18 did over a wire that dropped the same packets; RFC 6298's are the text's.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use crate::conversation::{Conversation, converse, converse_over};
use paceline_core::Span;
use paceline_tcp::{Config, Profile, Variant};

/// Its timers are exact here, where the kernel's wait for the next tick.
fn linux() -> Config {
    Config { variant: Variant::Cubic, timer_tick: Span::ZERO, ..Config::new(Profile::Linux) }
}

/// When packet 0, the SYN, was sent, ms.
fn syns(talk: &Conversation) -> Vec<u64> {
    talk.sent.iter().filter(|(_, seq)| *seq == 0).map(|(at, _)| *at).collect()
}

/// How many packets were sent within 10 ms of each time, ms, from the first data on.
fn flights(talk: &Conversation) -> Vec<(u64, usize)> {
    let mut flights: Vec<(u64, usize)> = Vec::new();
    for (at, _) in talk.sent.iter().filter(|(_, seq)| *seq > 0) {
        match flights.last_mut() {
            Some((start, count)) if at - *start < 10 => *count += 1,
            _ => flights.push((*at, 1)),
        }
    }
    flights
}

#[test]
fn linux_sends_five_syns_at_equal_distances_before_it_doubles() {
    let talk = converse(linux(), 1, |transmission| transmission < 8);
    assert_eq!(syns(&talk), [0, 1000, 2000, 3000, 4000, 5000, 7000, 11_000, 19_000]);
    let doubling = converse(Config { linear_syn_timeouts: 0, ..linux() }, 1, |transmission| transmission < 4);
    assert_eq!(syns(&doubling), [0, 1000, 3000, 7000, 15_000]);
}

#[test]
fn linux_forgives_one_lost_syn_and_not_two() {
    let one = converse(linux(), 30, |transmission| transmission == 0);
    assert_eq!(flights(&one), [(1100, 10), (1200, 20)]);
    let two = converse(linux(), 30, |transmission| transmission < 2);
    assert_eq!(flights(&two)[..4], [(2100, 1), (2200, 2), (2300, 4), (2400, 8)]); // still in slow start: ssthresh is not cut
    assert_eq!((two.sender.counters().timeouts, two.sender.counters().window_cuts), (2, 0));
}

#[test]
fn linux_forgives_a_late_syn_however_often_it_was_sent() {
    // 1.2 s there and back: the kernel sent 10, 20, 40, 30 and was through after 6 s.
    let late = converse_over(600, linux(), 100, |_| false);
    assert_eq!(syns(&late), [0, 1000]);
    assert_eq!(flights(&late), [(1200, 10), (2400, 20), (3600, 40), (4800, 30)]);
    let seconds = late.finished_at.map(|at| at.as_nanos() / 1_000_000);
    assert_eq!(seconds, Some(6000));
    // 2.5 s: two needless SYNs, which the echo of the first reveals, where there are timestamps.
    let later = converse_over(1250, linux(), 30, |_| false);
    assert_eq!((syns(&later).len(), flights(&later)[0]), (3, (2500, 10)));
    let unstamped = converse_over(1250, Config { timestamps: false, ..linux() }, 30, |_| false);
    assert_eq!(flights(&unstamped)[0], (2500, 1));
}

#[test]
fn data_after_a_lost_syn_begin_with_three_seconds() {
    // RFC 6298 section 5.7. The SYN is retransmitted at 1 s; the first data packet, at 1.1 s, is lost.
    let rfc = converse(Config::new(Profile::Rfc), 5, |transmission| transmission == 0 || transmission == 2);
    assert_eq!(rfc.sent[2..4], [(1100, 1), (4100, 1)]);
    // It backs off from there, and a sample ends it.
    let twice = converse(Config::new(Profile::Rfc), 5, |transmission| [0, 2, 3].contains(&transmission));
    assert_eq!(twice.sent[2..5], [(1100, 1), (4100, 1), (10_100, 1)]);
    // Without a lost SYN, its own round trip counts.
    let fine = converse(Config::new(Profile::Rfc), 1, |transmission| transmission == 1);
    assert_eq!(fine.sent[1..3], [(100, 1), (1100, 1)]);
    // ns-2 knows no such rule: the SYN's timeout, 3 s, has doubled.
    let ns2 = converse(Config::new(Profile::Ns2), 5, |transmission| transmission == 0 || transmission == 2);
    assert_eq!(ns2.sent[2..4], [(3100, 1), (9100, 1)]);
}

#[test]
fn linux_without_timestamps_falls_back_to_three_seconds() {
    // The kernel: data at 1.05 s, a probe a second after them (TCP_TIMEOUT_INIT, as there is no round trip), the timeout 3 s
    // after the probe.
    let lost = |transmission: usize| transmission == 0 || (2..=12).contains(&transmission);
    let talk = converse(Config { timestamps: false, ..linux() }, 20, lost);
    let from = talk.sent.iter().position(|(_, seq)| *seq == 10).unwrap_or_default();
    assert_eq!(talk.sent[from..from + 3], [(1100, 10), (2100, 11), (5100, 1)]);
    // A timestamp is a sample, whichever SYN it is of.
    let stamped = converse(linux(), 1, |transmission| transmission == 0 || transmission == 2);
    assert_eq!(stamped.sent[3], (1400, 1)); // three round trips; the probe of one packet would come later
    assert_eq!(Config::new(Profile::Linux).rto_after_lost_syn, Some(Span::from_millis(3000)));
}

#[test]
fn rfc_6928_counts_bytes() {
    for (payload, packets) in [(536, 10), (1460, 10), (2000, 7), (4380, 3), (8960, 2)] {
        assert_eq!(Config::window_of_rfc_6928(payload), packets, "{payload} B");
    }
}

//! A kept connection that was silent: what is left of its window, by each rule, worked by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::{Instant, Span};
use paceline_tcp::config::IdleRestart;
use paceline_tcp::{Config, Output, Profile, Segment, Sender, Variant};
use std::sync::Arc;

#[derive(Default)]
struct Wire(Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// A round trip, and the time after which the connection below times out: its srtt and deviation are steady, so that the
/// least timeout rules.
const ROUND_TRIP: u64 = 100_000_000;
const TIMEOUT: u64 = 1_000_000_000;

/// Writes 1000 packets, acknowledged a round trip after each was sent; then, this long after the last was sent,
/// 500 more: the window before, and how many packets leave at once.
fn silence(config: Config, nanos: u64) -> (f64, usize, Sender) {
    let mut sender = Sender::new(Arc::new(config), Some(1000), Span::ZERO, 1);
    let mut wire = Wire::default();
    let mut now = 0;
    sender.start(Instant::ZERO, &mut wire);
    while !sender.is_finished() {
        now += ROUND_TRIP;
        for segment in std::mem::take(&mut wire.0) {
            sender.on_ack(segment.seq + 1, Instant::from_nanos(now), &mut wire);
        }
    }
    let before = sender.cwnd();
    sender.write(500 * u64::from(sender.config().payload));
    sender.start(Instant::from_nanos(now - ROUND_TRIP + nanos), &mut wire);
    (before, wire.0.len(), sender)
}

fn config(idle_restart: IdleRestart) -> Config {
    let minimum = Span::from_nanos(TIMEOUT);
    Config { idle_restart, min_rto: minimum, max_window: 64, initial_window: 4, ..Config::new(Profile::Rfc) }
}

#[test]
fn a_pause_shorter_than_the_timeout_keeps_the_window() {
    for (_, rule) in IdleRestart::ALL {
        let (before, sent, sender) = silence(config(rule), TIMEOUT);
        assert!(before >= 64.0);
        assert_eq!((sender.cwnd(), sent), (before, 64), "{rule:?}");
        assert_eq!(sender.counters().window_cuts, 0, "{rule:?}");
    }
}

#[test]
fn a_longer_one_leaves_the_window_of_the_rule() {
    // Since the last packet was sent; ns-2's timer starts with its acknowledgement, a round trip later. The receiver's window
    // is 64 packets, the initial one 4.
    type Left = fn(f64) -> f64;
    let cases: [(IdleRestart, u64, Left); 11] = [
        (IdleRestart::Keep, 100 * TIMEOUT, |cwnd| cwnd),
        (IdleRestart::One, ROUND_TRIP + TIMEOUT - 1, |cwnd| cwnd),
        (IdleRestart::One, ROUND_TRIP + TIMEOUT, |_| 1.0),
        (IdleRestart::One, 100 * TIMEOUT, |_| 1.0),
        (IdleRestart::Initial, TIMEOUT + 1, |_| 4.0),
        (IdleRestart::Initial, 100 * TIMEOUT, |_| 4.0),
        (IdleRestart::Decay, TIMEOUT + 1, |cwnd| cwnd / 2.0),
        (IdleRestart::Decay, 2 * TIMEOUT, |cwnd| cwnd / 2.0),
        (IdleRestart::Decay, 2 * TIMEOUT + 1, |cwnd| cwnd / 4.0),
        (IdleRestart::Decay, 3 * TIMEOUT + 1, |cwnd| cwnd / 8.0),
        (IdleRestart::Decay, 100 * TIMEOUT, |_| 4.0),
    ];
    for (rule, silent, left) in cases {
        let (before, at_once, sender) = silence(config(rule), silent);
        assert_eq!(sender.cwnd(), left(before), "{rule:?} after {silent} ns");
        assert_eq!(at_once, left(before).min(64.0) as usize, "{rule:?} after {silent} ns");
        assert_eq!(
            sender.counters().window_cuts,
            u64::from(left(before) < before),
            "{rule:?} after {silent} ns"
        );
        assert_eq!(sender.counters().timeouts, 0);
        // Slow start leads back to about where the window was.
        let least = if rule == IdleRestart::Decay { (0.75 * before) as u32 } else { 64 };
        assert!(sender.ssthresh() >= least.max(64), "{rule:?}: {}", sender.ssthresh());
    }
}

#[test]
fn ns2_s_fack_begins_again_with_its_initial_window() {
    // tcp-fack.cc `timeout`: CLOSE_CWND_INIT, where the other agents have CLOSE_CWND_ONE.
    for (variant, left) in [(Variant::Fack, 2), (Variant::Reno, 1), (Variant::Sack1, 1)] {
        let config = Config {
            variant,
            min_rto: Span::from_nanos(TIMEOUT),
            max_window: 64,
            ..Config::new(Profile::Ns2)
        };
        let (_, at_once, sender) = silence(config, 100 * TIMEOUT);
        assert_eq!((sender.cwnd(), at_once), (f64::from(left), left as usize), "{variant:?}");
    }
}

#[test]
fn cubic_s_curve_does_not_run_on_in_silence() {
    // After ten minutes without data the cubic would be beyond any window.
    let config = Config {
        variant: Variant::Cubic,
        initial_ssthresh: Some(32),
        max_window: 10_000,
        ..config(IdleRestart::Keep)
    };
    let (before, at_once, mut sender) = silence(config, 600 * TIMEOUT);
    assert_eq!(at_once, before as usize);
    let now = Instant::from_nanos(601 * TIMEOUT + 100 * ROUND_TRIP);
    sender.on_ack_with(sender.una() + 1, now, &[], now, &mut Wire::default());
    assert!(sender.cwnd() < before + 2.0, "{} {before}", sender.cwnd());
}

#[test]
fn a_paced_restart_spreads_three_quarters_until_an_acknowledgement_comes() {
    let (before, at_once, mut sender) = silence(config(IdleRestart::Paced), 100 * TIMEOUT);
    let window = (0.75 * before).round();
    assert_eq!((sender.cwnd(), at_once), (window, 1));
    let (mut wire, mut due) = (Wire::default(), sender.pacing_at().unwrap());
    for sent in 1..=3 {
        sender.on_pacing_timer(due, &mut wire);
        assert_eq!(wire.0.len(), sent);
        let next = sender.pacing_at().unwrap();
        assert!((next.since(due).as_nanos() as f64 - ROUND_TRIP as f64 / window).abs() < 1.0, "{next:?}");
        due = next;
    }
    // Four are in flight: that is the window, and slow start adds one for the acknowledgement of the first.
    sender.on_ack(sender.una() + 1, due, &mut wire);
    assert_eq!((sender.cwnd(), wire.0.len(), sender.pacing_at()), (5.0, 5, None));
}

#[test]
fn a_small_window_leaves_two_packets_and_a_lost_restart_one() {
    let small = Config { max_window: 2, initial_window: 1, ..config(IdleRestart::Paced) };
    let (_, at_once, mut sender) = silence(small, 100 * TIMEOUT);
    assert_eq!((sender.cwnd(), at_once), (2.0, 1));
    let mut wire = Wire::default();
    let due = sender.pacing_at().unwrap();
    sender.on_pacing_timer(due, &mut wire);
    assert_eq!((wire.0.len(), sender.pacing_at().is_some()), (1, true));
    sender.on_pacing_timer(sender.pacing_at().unwrap(), &mut wire); // the window is full
    assert_eq!((wire.0.len(), sender.pacing_at()), (1, None));
    sender.on_retransmission_timer(sender.retransmission_at().unwrap(), &mut wire);
    assert_eq!((sender.cwnd(), wire.0.len(), sender.counters().timeouts), (1.0, 2, 1));
}

//! A sender and a receiver over a pipe of fixed delay that loses what it is told to: whole conversations, worked by hand,
//! and arbitrary ones, which must always end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::{Instant, Span};
use paceline_tcp::{Config, HostPacing, Output, PacingRule, Profile, Receiver, Segment, Sender, Variant};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// One way, nanoseconds.
const ONE_WAY: u64 = 50_000_000;

#[derive(Default)]
struct Wire(Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// What happened to one connection.
struct Conversation {
    /// Time in ms and number of each packet sent.
    sent: Vec<(u64, u32)>,
    sender: Sender,
    finished_at: Option<Instant>,
}

/// Runs a connection of `packets` over the pipe; `lost` says of the n-th transmission, from 0, whether it is lost.
fn converse(config: Config, packets: u64, mut lost: impl FnMut(usize) -> bool) -> Conversation {
    let mut sender = Sender::new(Arc::new(config), Some(packets), Span::ZERO, 1);
    let mut receiver = Receiver::new();
    let mut wire = Wire::default();
    let mut data: VecDeque<(u64, u32)> = VecDeque::new();
    let mut acks: VecDeque<(u64, u32)> = VecDeque::new();
    let mut sent = Vec::new();
    let mut transmissions = 0;
    let mut now = 0;
    sender.start(Instant::ZERO, &mut wire);
    for _ in 0..1_000_000 {
        for segment in wire.0.drain(..) {
            sent.push((now / 1_000_000, segment.seq));
            if !lost(transmissions) {
                data.push_back((now + ONE_WAY, segment.seq));
            }
            transmissions += 1;
        }
        if sender.is_finished() {
            return Conversation { sent, sender, finished_at: Some(Instant::from_nanos(now)) };
        }
        let nanos = |at: Option<Instant>| at.map_or(u64::MAX, Instant::as_nanos);
        let arrival = data.front().map_or(u64::MAX, |(at, _)| *at);
        let ack = acks.front().map_or(u64::MAX, |(at, _)| *at);
        let (rto, pace) = (nanos(sender.retransmission_at()), nanos(sender.pacing_at()));
        now = arrival.min(ack).min(rto).min(pace);
        let instant = Instant::from_nanos(now);
        if now == u64::MAX {
            break; // nothing will ever happen again
        } else if arrival == now {
            let (_, seq) = data.pop_front().unwrap();
            receiver.on_data(seq);
            acks.push_back((now + ONE_WAY, receiver.next()));
        } else if ack == now {
            let (_, next) = acks.pop_front().unwrap();
            sender.on_ack(next, instant, &mut wire);
        } else if rto == now {
            sender.on_retransmission_timer(instant, &mut wire);
        } else {
            sender.on_pacing_timer(instant, &mut wire);
        }
    }
    Conversation { sent, sender, finished_at: None }
}

fn ns2(variant: Variant) -> Config {
    Config { variant, max_window: 1000, ..Config::new(Profile::Ns2) }
}

#[test]
fn slow_start_after_the_handshake() {
    let talk = converse(ns2(Variant::Reno), 14, |_| false);
    let by_time = |ms| talk.sent.iter().filter(|(at, _)| *at == ms).count();
    // A SYN alone, then the initial window of two, doubled each round trip.
    assert_eq!([0, 100, 200, 300].map(by_time), [1, 2, 4, 8]);
    assert_eq!(talk.sender.counters().retransmits, 0);
    assert_eq!(talk.finished_at, Some(Instant::from_nanos(400_000_000)));
}

#[test]
fn fast_retransmit_repairs_one_loss_without_a_timeout() {
    for variant in [Variant::Reno, Variant::NewReno] {
        let talk = converse(ns2(variant), 60, |transmission| transmission == 9);
        let counters = talk.sender.counters();
        assert_eq!((counters.retransmits, counters.timeouts, counters.window_cuts), (1, 0, 1), "{variant:?}");
        // Packet 9 left at 300 ms with its window; its duplicates come a round trip later, and it goes again with the third.
        let repeats: Vec<u64> = talk.sent.iter().filter(|(_, seq)| *seq == 9).map(|(at, _)| *at).collect();
        assert_eq!(repeats, [300, 400], "{variant:?}");
    }
}

#[test]
fn newreno_repairs_two_losses_of_a_window_without_a_timeout() {
    let lost = |transmission| transmission == 17 || transmission == 20;
    let talk = converse(ns2(Variant::NewReno), 120, lost);
    let counters = talk.sender.counters();
    assert_eq!((counters.retransmits, counters.timeouts, counters.window_cuts), (2, 0, 1));
}

#[test]
fn a_lost_syn_costs_the_initial_timeout_and_the_initial_window() {
    let talk = converse(ns2(Variant::Reno), 3, |transmission| transmission == 0);
    assert_eq!(talk.sent, [(0, 0), (3000, 0), (3100, 1), (3200, 2), (3200, 3)]);
}

#[test]
fn timeouts_back_off_exponentially() {
    let talk = converse(ns2(Variant::Reno), 1, |transmission| (1..5).contains(&transmission));
    let times: Vec<u64> = talk.sent.iter().filter(|(_, seq)| *seq == 1).map(|(at, _)| *at).collect();
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [300, 600, 1200, 2400]); // srtt 100 ms + 4 * 50 ms, doubled
}

#[test]
fn the_ideal_rule_spreads_the_window_over_the_round_trip() {
    let pacing = Some(HostPacing { rule: PacingRule::Ideal, gain: 1.0, jitter: 0.0 });
    let config = Config { pacing, max_window: 10, initial_window: 10, ..ns2(Variant::Reno) };
    let talk = converse(config, 200, |_| false);
    let times: Vec<u64> =
        talk.sent.iter().filter(|(_, seq)| (50..150).contains(seq)).map(|(at, _)| *at).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= 10), "{times:?}");
    let most_at_once = times.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
    assert!(most_at_once <= Some(2), "{times:?}");
}

proptest! {
    /// Whatever is lost, the connection ends, in order, without ever exceeding the receiver's window.
    #[test]
    fn every_connection_ends(
        newreno: bool,
        limited_transmit: bool,
        fractional_halving: bool,
        impatient: bool,
        partial_deflation: bool,
        rule in prop::option::of(0..3_usize),
        jitter in prop_oneof![Just(0.0), 0.0..0.9],
        max_window in 1..50_u32,
        loss in 0.0..0.4,
        seed: u64,
        packets in 1..150_u64,
    ) {
        let variant = if newreno { Variant::NewReno } else { Variant::Reno };
        let pacing = rule.map(|rule| HostPacing { rule: PacingRule::ALL[rule].1, gain: 1.0, jitter });
        let config = Config {
            variant, limited_transmit, fractional_halving, impatient, partial_deflation, pacing, max_window,
            ..Config::new(Profile::Ns2)
        };
        let mut state = seed;
        let lost = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as f64 / 2_147_483_648.0) < loss
        };
        let talk = converse(config, packets, lost);
        prop_assert!(talk.finished_at.is_some(), "stuck after {} transmissions", talk.sent.len());
        prop_assert_eq!(talk.sender.una(), packets as u32 + 1);
        let counters = talk.sender.counters();
        prop_assert_eq!(counters.sent, talk.sent.len() as u64);
        prop_assert_eq!(counters.sent - counters.retransmits, packets + 1);
    }

    /// Adversarial acknowledgements and timers, in any order: no panic, nothing outside the receiver's window.
    #[test]
    fn nothing_leaves_outside_the_window(
        newreno: bool,
        rule in prop::option::of(0..3_usize),
        max_window in 1..40_u32,
        steps in prop::collection::vec((0..4_u8, 0..60_u32, 0..500_000_000_u64), 1..300),
    ) {
        let variant = if newreno { Variant::NewReno } else { Variant::Reno };
        let pacing = rule.map(|rule| HostPacing { rule: PacingRule::ALL[rule].1, gain: 1.0, jitter: 0.1 });
        let config = Config { variant, pacing, max_window, ..Config::new(Profile::Ns2) };
        let mut sender = Sender::new(Arc::new(config), None, Span::ZERO, 3);
        let mut wire = Wire::default();
        let mut now = Instant::ZERO;
        sender.start(now, &mut wire);
        for (what, number, nanos) in steps {
            now += Span::from_nanos(nanos);
            match what {
                0 => sender.on_ack(sender.una().wrapping_add(number), now, &mut wire), // ahead, perhaps beyond what was sent
                1 => sender.on_ack(sender.una().saturating_sub(number % 3), now, &mut wire), // duplicate or old
                2 => sender.on_retransmission_timer(now, &mut wire),
                _ => sender.on_pacing_timer(now, &mut wire),
            }
            prop_assert!(sender.una() <= sender.end());
            prop_assert!(sender.end() - sender.una() <= max_window);
            prop_assert!(sender.cwnd() >= 0.5 && sender.cwnd().is_finite());
            for segment in wire.0.drain(..) {
                prop_assert!(segment.seq < sender.end());
            }
        }
    }
}

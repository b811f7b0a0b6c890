//! A sender and a receiver over a pipe of fixed delay that loses chosen packets: whole connections, worked by hand,
//! and arbitrary ones, which must always end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use crate::conversation::{Wire, converse};
use paceline_core::{Instant, Span};
use paceline_tcp::{Block, Config, Feedback, HostPacing, PacingRule, Profile, Sender, Variant};
use proptest::prelude::*;
use std::sync::Arc;

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
    for (_, variant) in Variant::ALL {
        let talk = converse(ns2(variant), 60, |transmission| transmission == 9);
        let counters = talk.sender.counters();
        // Tahoe retransmits everything that was sent after the lost packet, since it restarts from there.
        let retransmits = if variant == Variant::Tahoe { counters.retransmits } else { 1 };
        assert_eq!(
            (counters.retransmits, counters.timeouts, counters.window_cuts),
            (retransmits, 0, 1),
            "{variant:?}"
        );
        // Packet 9 left at 300 ms with its window; its duplicates come a round trip later, and it is retransmitted with the third.
        let repeats: Vec<u64> = talk.sent.iter().filter(|(_, seq)| *seq == 9).map(|(at, _)| *at).collect();
        // A control by rate paces retransmissions too.
        let latest = if variant.is_by_rate() { 420 } else { 400 };
        assert!(
            repeats.len() == 2 && repeats[0] == 300 && (400..=latest).contains(&repeats[1]),
            "{variant:?}"
        );
    }
}

#[test]
fn two_losses_of_a_window_need_no_timeout() {
    for variant in [Variant::NewReno, Variant::Sack1, Variant::Rfc6675, Variant::Fack] {
        let lost = |transmission| transmission == 17 || transmission == 20;
        let talk = converse(ns2(variant), 120, lost);
        let counters = talk.sender.counters();
        assert_eq!((counters.retransmits, counters.timeouts, counters.window_cuts), (2, 0, 1), "{variant:?}");
    }
}

#[test]
fn selective_acknowledgements_repair_a_window_in_one_round_trip() {
    // Packets 17, 20 and 23 of a window of 16 are lost. NewReno repairs one a round trip, the others all of them in one.
    let lost = |transmission: usize| [17, 20, 23].contains(&transmission);
    let span = |variant| {
        let talk = converse(ns2(variant), 120, lost);
        assert_eq!(talk.sender.counters().timeouts, 0, "{variant:?}");
        let again = |seq: u32| talk.sent.iter().filter(|(_, sent)| *sent == seq).nth(1).unwrap().0;
        again(23) - again(17)
    };
    assert_eq!(span(Variant::NewReno), 200);
    assert!(span(Variant::Sack1) <= 100 && span(Variant::Rfc6675) <= 100 && span(Variant::Fack) <= 100);
}

#[test]
fn a_packet_lost_twice_needs_a_timeout() {
    // The second transmission of packet 17 is lost too. FACK stops at once; the others continue for a while.
    for variant in [Variant::Sack1, Variant::Rfc6675, Variant::Fack] {
        let again = converse(ns2(variant), 60, |transmission| transmission == 17);
        let second = again.sent.iter().rposition(|(_, seq)| *seq == 17).unwrap();
        let talk = converse(ns2(variant), 60, |transmission| transmission == 17 || transmission == second);
        assert_eq!(talk.sender.counters().timeouts, 1, "{variant:?}");
        assert!(talk.finished_at.is_some(), "{variant:?}");
    }
}

#[test]
fn rfc_6675_keeps_what_was_reported_through_a_timeout() {
    let config =
        Config { syn: None, initial_window: 10, min_rto: Span::from_millis(300), ..ns2(Variant::Rfc6675) };
    // Of ten packets the first is lost, and its retransmission too.
    let talk = converse(config, 12, |transmission| transmission == 0 || transmission == 12);
    let counters = talk.sender.counters();
    assert_eq!(counters.timeouts, 1);
    assert!(talk.sent.iter().filter(|(_, seq)| *seq > 0).count() == 11, "{:?}", talk.sent); // the others once each
}

#[test]
fn the_last_packet_of_a_window_is_rescued() {
    // Of the packets 0 to 9 the first, the second and the last are lost, and there are no more: nothing would report the
    // last one missing (RFC 6675, NextSeg (4)).
    let config = Config { syn: None, initial_window: 10, ..ns2(Variant::Rfc6675) };
    let talk = converse(config, 10, |transmission| [0, 1, 9].contains(&transmission));
    let counters = talk.sender.counters();
    assert_eq!((counters.timeouts, counters.retransmits), (0, 3), "{:?}", talk.sent);
}

#[test]
fn a_delayed_acknowledgement_comes_for_every_second_packet_or_after_the_delay() {
    let config = Config { delayed_ack: Some(Span::from_millis(40)), ..ns2(Variant::Reno) };
    let talk = converse(config, 5, |_| false);
    // The SYN is acknowledged at once; packets 1 and 2 with one acknowledgement, which opens the window to three; of 3, 4
    // and 5 the last waits.
    assert_eq!(talk.sent, [(0, 0), (100, 1), (100, 2), (200, 3), (200, 4), (200, 5)]);
    assert_eq!(talk.finished_at, Some(Instant::from_nanos(340_000_000)));
}

#[test]
fn a_timestamp_times_what_was_sent_again() {
    // Karn's rule leaves a connection whose first packet is lost with the timeout backed off; an echo ends that.
    let finish = |timestamps| {
        let config = Config { timestamps, timestamps_end_back_off: timestamps, ..ns2(Variant::Reno) };
        // The SYN is lost, and so is packet 1: its timeout starts from the backed-off value without an echo.
        converse(config, 1, |transmission| transmission == 0 || transmission == 2).finished_at.unwrap()
    };
    assert_eq!(finish(false), Instant::from_nanos(3_100_000_000 + 6_000_000_000 + 100_000_000));
    assert_eq!(finish(true), Instant::from_nanos(3_100_000_000 + 300_000_000 + 100_000_000));
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
    let pacing = Some(HostPacing { rule: PacingRule::Ideal, gain: 1.0, jitter: 0.0, quantum: None });
    let config = Config { pacing, max_window: 10, initial_window: 10, ..ns2(Variant::Reno) };
    let talk = converse(config, 200, |_| false);
    let times: Vec<u64> =
        talk.sent.iter().filter(|(_, seq)| (50..150).contains(seq)).map(|(at, _)| *at).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= 10), "{times:?}");
    let most_at_once = times.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
    assert!(most_at_once <= Some(2), "{times:?}");
}

fn any_config() -> impl Strategy<Value = Config> {
    let rules = (any::<[bool; 8]>(), prop::option::of(0..3_usize), prop_oneof![Just(0.0), 0.0..0.9]);
    let sizes = (
        0..Variant::ALL.len(),
        0..3_usize,
        1..50_u32,
        1..5_u32,
        1..5_u32,
        prop_oneof![Just(u32::MAX), 1..5_u32],
    );
    (rules, sizes).prop_map(
        |((flags, rule, jitter), (variant, halving, window, blocks, threshold, burst))| {
            let [
                limited_transmit,
                fractional_halving,
                impatient,
                partial_deflation,
                careful,
                fix,
                partial_ack,
                delay,
            ] = flags;
            Config {
                variant: Variant::ALL[variant].1,
                limited_transmit,
                fractional_halving,
                impatient,
                partial_deflation,
                careful,
                first_packet_fix: fix,
                timestamps: fix != careful,
                count_packets: impatient != careful,
                rack: impatient != fix,
                recovery: paceline_tcp::Recovery::ALL[usize::from(fix != delay)].1,
                data_with_syn: impatient != delay,
                min_rto_beyond_srtt: fix,
                partial_ack,
                halving: paceline_tcp::Halving::ALL[halving].1,
                delayed_ack: delay.then(|| Span::from_millis(40)),
                pacing: rule.map(|rule| HostPacing {
                    rule: PacingRule::ALL[rule].1,
                    gain: 1.0,
                    jitter,
                    quantum: None,
                }),
                max_window: window,
                sack_blocks: blocks,
                gso: (impatient != partial_ack).then_some(blocks + 1),
                tsq: (fix != partial_ack).then_some(blocks * 2000),
                gro: (careful != partial_ack).then(|| Span::from_millis(1)),
                ack_every: blocks + 1,
                duplicate_threshold: threshold,
                max_burst: burst,
                overhead: Span::from_millis(if careful != delay { 3 } else { 0 }),
                ..Config::new(Profile::Ns2)
            }
        },
    )
}

proptest! {
    /// Whatever is lost, the connection ends, in order, without ever exceeding the receiver's window.
    #[test]
    fn every_connection_ends(
        config in any_config(),
        loss in 0.0..0.4,
        seed: u64,
        packets in 1..150_u64,
    ) {
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
        config in any_config(),
        steps in prop::collection::vec((0..5_u8, 0..60_u32, 0..20_u32, 0..500_000_000_u64), 1..300),
    ) {
        let max_window = if config.halves_rate() { u32::MAX } else { config.max_window };
        let mut sender = Sender::new(Arc::new(config), None, Span::ZERO, 3);
        let mut wire = Wire::default();
        let mut now = Instant::ZERO;
        let mut feedback = Feedback::default();
        sender.start(now, &mut wire);
        for (what, number, more, nanos) in steps {
            now += Span::from_nanos(nanos);
            let una = sender.una();
            match what {
                // Ahead, perhaps beyond what was sent; a duplicate or old one.
                0 => sender.on_ack_with(una.wrapping_add(number), feedback.echo, feedback.blocks(), now, &mut wire),
                1 => {
                    let old = una.saturating_sub(number % 3);
                    sender.on_ack_with(old, feedback.echo, feedback.blocks(), now, &mut wire);
                }
                2 => sender.on_retransmission_timer(now, &mut wire),
                3 => sender.on_pacing_timer(now, &mut wire),
                _ => {
                    // A block anywhere, upside down too, joins those that the next acknowledgements carry.
                    let end = (una + number).saturating_sub(more);
                    feedback.push(Block { start: una + number / 2, end });
                    if more % 4 == 0 {
                        feedback = Feedback::new(now);
                    }
                }
            }
            prop_assert!(sender.una() <= sender.end());
            prop_assert!(sender.end() - sender.una() <= max_window);
            prop_assert!(sender.cwnd() >= 0.0 && sender.cwnd().is_finite());
            for segment in wire.0.drain(..) {
                prop_assert!(segment.seq < sender.end());
            }
        }
    }
}

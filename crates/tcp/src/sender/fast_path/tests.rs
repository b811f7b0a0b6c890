use super::*;
use crate::config::{Config, HostPacing, PacingRule, Profile};
use crate::feedback::Block;
use paceline_core::Span;
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Debug, Default, PartialEq)]
struct Sent(Vec<Segment>);

impl Output for Sent {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// The sender and what it has sent after each event, with the fast path or without it.
fn run(config: &Config, given: Option<u64>, events: &[u8], has_fast_path: bool) -> Vec<String> {
    let mut sender = Sender::new(Arc::new(config.clone()), given, Span::from_millis(3), 1);
    let (mut out, mut now, mut shown) = (Sent::default(), Instant::ZERO, Vec::new());
    if given.is_some() {
        sender.write(2500); // two full packets, and a short one
    }
    sender.start(now, &mut out);
    for &act in events {
        let then = now + Span::from_millis(u64::from(act % 16) * 7 + 1);
        while sender.pacing_due() < then {
            now = sender.pacing_due();
            if has_fast_path {
                sender.on_pacing_timer(now, &mut out);
            } else {
                sender.on_pacing_timer_slow(now, &mut out);
            }
        }
        now = then;
        let next = sender.una() + u32::from(act / 16 % 4);
        match act / 64 {
            0 if given.is_some() && act % 4 == 0 => {
                sender.write(3500); // after an idle period, or during a transfer
                sender.start(now, &mut out);
            }
            0 => sender.on_retransmission_timer(now, &mut out),
            1 if config.variant.is_selective() && act % 2 == 0 => {
                let start = next + 1 + u32::from(act / 2 % 4);
                let block = Block { start, end: start + 1 + u32::from(act / 8 % 2) };
                let blocks = if block.end <= sender.end() { vec![block] } else { Vec::new() };
                sender.on_ack_with(next, now, &blocks, now, &mut out);
            }
            _ if has_fast_path && sender.on_ack_fast(next, now, &mut out) => {}
            _ => sender.on_ack(next, now, &mut out),
        }
        shown.push(format!("{:?} {sender:?}", std::mem::take(&mut out)));
    }
    shown
}

fn pacing() -> impl Strategy<Value = HostPacing> {
    let rules = PacingRule::ALL.map(|(_, rule)| rule).to_vec();
    let parts = (prop::sample::select(rules), prop::sample::select(vec![0.0, 0.3]), 0.5..2.0);
    parts.prop_map(|(rule, jitter, gain)| HostPacing { rule, gain, jitter, quantum: None })
}

/// Reno and NewReno with limited transmit have the fast path, and so do recoveries that read selective acknowledgements, unless a setting
/// adds work to each acknowledgement or transmission. With pacing, the pacing timer has it while data are in flight.
#[test]
fn settings_that_add_work_exclude_the_fast_path() {
    let plain = Config { variant: Variant::NewReno, ..Config::new(Profile::Ns2) };
    let pacing = Some(HostPacing { rule: PacingRule::Ideal, gain: 1.0, jitter: 0.0, quantum: None });
    let who = [
        (plain.clone(), true),
        (Config { variant: Variant::Reno, ..plain.clone() }, true),
        (Config { variant: Variant::Tahoe, ..plain.clone() }, false),
        (Config { variant: Variant::Sack1, ..plain.clone() }, true),
        (Config { variant: Variant::Cubic, ..plain.clone() }, true),
        (Config { limited_transmit: false, ..plain.clone() }, false),
        (Config { variant: Variant::Sack1, limited_transmit: false, ..plain.clone() }, true),
        (Config { timestamps: true, ..plain.clone() }, false),
        (Config { rack: true, ..plain.clone() }, false),
        (Config { count_packets: true, ..plain.clone() }, false),
        (Config { overhead: Span::from_millis(1), ..plain.clone() }, false),
        (Config { max_burst: 4, ..plain.clone() }, false),
        (Config { timer_tick: Span::from_millis(4), ..plain.clone() }, false),
    ];
    for ((config, expected), pacing) in who.iter().flat_map(|one| [(one, None), (one, pacing)]) {
        let config = Arc::new(Config { pacing, ..config.clone() });
        for (given, keeps) in [(None, false), (None, true), (Some(90), false)] {
            let (mut sender, mut out) = (Sender::new(config.clone(), given, Span::ZERO, 1), Sent::default());
            if keeps {
                sender.keep_round_trips();
            }
            sender.start(Instant::ZERO, &mut out);
            assert!(!sender.state.has_fast_pacing_timer());
            let first = sender.end();
            let mut now = Instant::ZERO + Span::from_millis(100);
            assert!(!sender.on_ack_fast(first, now, &mut out), "the handshake, if there is one");
            sender.on_ack(first, now, &mut out);
            now += Span::from_millis(100);
            while sender.pacing_due() <= now {
                sender.on_pacing_timer(sender.pacing_due(), &mut out);
            }
            assert_eq!(sender.state.has_fast_pacing_timer(), *expected && pacing.is_some(), "{config:?}");
            let una = sender.una();
            assert_eq!(sender.on_ack_fast(una + 1, now, &mut out), *expected, "{config:?}");
            assert_eq!(sender.una(), una + u32::from(*expected)); // or nothing has happened
            // Once more: a duplicate, which a recovery that reads selective acknowledgements processes on the slow path.
            let takes = *expected && !config.variant.is_selective();
            assert_eq!(sender.on_ack_fast(sender.una(), now, &mut out), takes, "{config:?}");
        }
    }
}

/// Reno leaves its recovery with the first acknowledgement of new data; NewReno looks whether all is repaired.
#[test]
fn the_fast_path_ends_a_recovery_of_reno() {
    for (variant, expected) in [(Variant::Reno, true), (Variant::NewReno, false)] {
        let config = Config { variant, syn: None, initial_window: 10, ..Config::new(Profile::Ns2) };
        let (mut sender, mut out) = (Sender::new(Arc::new(config), None, Span::ZERO, 1), Sent::default());
        let now = Instant::ZERO + Span::from_millis(100);
        sender.start(Instant::ZERO, &mut out);
        assert!(!sender.on_ack_fast(1, now, &mut out), "the first");
        sender.on_ack(1, now, &mut out);
        for taken in [true, true, false, true] {
            assert_eq!(sender.on_ack_fast(1, now, &mut out), taken, "the third means a loss");
            if !taken {
                sender.on_ack(1, now, &mut out);
            }
        }
        assert_eq!(sender.on_ack_fast(5, now, &mut out), expected, "{variant:?}");
    }
}

proptest! {
    #[test]
    fn the_fast_path_gives_the_result_of_the_slow_path(
        variant in prop::sample::select(Variant::ALL.iter().map(|(_, variant)| *variant).collect::<Vec<_>>()),
        pacing in prop::option::of(pacing()),
        given in prop::option::of(0..100_u64),
        profile in prop::sample::select(Profile::ALL.iter().map(|(_, profile)| *profile).collect::<Vec<_>>()),
        (careful, first_packet_fix) in (prop::bool::ANY, prop::bool::ANY),
        timer_tick in prop::sample::select(vec![Span::ZERO, Span::from_millis(4), Span::from_millis(10)]),
        (duplicate_threshold, max_window) in (1..7_u32, prop_oneof![2..20_u32, Just(10_000)]),
        events in prop::collection::vec(prop_oneof![1 => 0..=255_u8, 9 => 64..=255_u8], 0..300),
    ) {
        let settings = Config { duplicate_threshold, max_window, careful, first_packet_fix, timer_tick, ..Config::new(profile) };
        let config = Config { variant, pacing, timestamps: false, rack: false, ..settings };
        prop_assert_eq!(run(&config, given, &events, true), run(&config, given, &events, false));
    }
}

//! What a sender reports, and how it starts.

use paceline_core::{Instant, Span};
use paceline_tcp::{
    Block, Config, Halving, HostPacing, IdleRestart, Output, PacingRule, Profile, Segment, Sender, Variant,
};
use std::sync::Arc;

#[derive(Default)]
struct Sent(Vec<u32>);

impl Output for Sent {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment.seq);
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn sender(config: Config, packets: Option<u64>) -> Sender {
    Sender::new(Arc::new(config), packets, Span::ZERO, 1)
}

/// The rate of a window of 1040 B packets over the smoothed round trip (RFC 6298 (2.2), (2.3)), where it is kept.
#[test]
fn the_rate_is_the_usable_window_over_the_smoothed_round_trip() {
    let config = Config { syn: None, initial_window: 10, max_window: 12, ..Config::new(Profile::Ns2) };
    for keeps in [false, true] {
        let (mut sender, mut wire) = (sender(config.clone(), None), Sent::default());
        assert_eq!(sender.limit(), u32::MAX);
        if keeps {
            sender.keep_round_trips();
        }
        sender.start(Instant::ZERO, &mut wire);
        assert_eq!((sender.srtt_s(), sender.rate_bps()), (None, 0));
        sender.on_ack(1, at(100), &mut wire); // a window of 11
        if keeps {
            assert_eq!(sender.srtt_s(), Some(0.1));
            assert_eq!(sender.rate_bps(), 11 * 1040 * 8 * 10);
        } else {
            assert_eq!((sender.srtt_s(), sender.rate_bps()), (None, 0));
        }
        sender.on_ack(10, at(200), &mut wire);
        sender.on_ack(12, at(300), &mut wire); // above the receiver's window of 12; the packet sent at 100 ms took 200
        assert!(sender.cwnd() > 12.0);
        sender.on_ack(15, at(300), &mut wire);
        assert_eq!(
            sender.rate_bps(),
            if keeps { (12.0 * 8320.0 / sender.srtt_s().unwrap_or(1.0)) as u64 } else { 0 }
        );
    }
}

#[test]
fn an_application_that_writes_too_much_writes_what_can_be_numbered() {
    let mut sender = sender(Config::new(Profile::Ns2), Some(0));
    assert_eq!((sender.limit(), sender.write(2_500)), (1, 4));
    assert_eq!(sender.limit(), 4);
    assert_eq!(sender.write(u64::MAX), u32::MAX - 1);
    assert_eq!(sender.write(1), u32::MAX - 1);
}

/// The start is no restart after an idle period, whenever it is.
#[test]
fn the_first_data_leave_with_the_initial_window_however_late() {
    for (_, idle_restart) in IdleRestart::ALL {
        let config = Config { idle_restart, syn: None, initial_window: 4, ..Config::new(Profile::Ns2) };
        let (mut sender, mut wire) = (sender(config, Some(100)), Sent::default());
        sender.start(at(100_000), &mut wire);
        assert_eq!(wire.0, [0, 1, 2, 3], "{idle_restart:?}");
        assert_eq!(sender.counters().window_cuts, 0);
    }
}

/// Linux `tcp_try_undo_spurious_syn`: an echo of the first SYN means that the others were needless; one of a later SYN, that they were not.
#[test]
fn an_echo_of_the_first_syn_forgives_all_others() {
    for (echo, window) in [(5_000, 10), (6_000, 1)] {
        let config =
            Config { variant: Variant::Rfc6675, timer_tick: Span::ZERO, ..Config::new(Profile::Linux) };
        let (mut sender, mut wire) = (sender(config, None), Sent::default());
        sender.start(at(5_000), &mut wire);
        for due in [6_000, 7_000] {
            assert_eq!(sender.retransmission_at(), Some(at(due)));
            sender.on_retransmission_timer(at(due), &mut wire);
        }
        assert_eq!(wire.0, [0, 0, 0]);
        sender.on_ack_with(1, at(echo), &[], at(7_500), &mut wire);
        assert_eq!(wire.0.len() - 3, window, "an echo of {echo} ms");
    }
}

/// D. X. Wei's patch to ns-2 halves what is in flight and one more (`t_seqno_ - highest_ack_`), not the window.
#[test]
fn a_loss_halves_what_is_in_flight_and_one_more() {
    for (halving, left) in [(Halving::InFlight, 5.5), (Halving::Window, 5.0)] {
        let config = Config {
            variant: Variant::NewReno,
            halving,
            syn: None,
            initial_window: 11,
            initial_ssthresh: Some(2),
            max_window: 10,
            limited_transmit: false,
            grow_unused: false,
            ..Config::new(Profile::Ns2)
        };
        let (mut sender, mut wire) = (sender(config, None), Sent::default());
        sender.start(Instant::ZERO, &mut wire);
        sender.on_ack(3, at(100), &mut wire); // 3 to 12 are in flight
        wire.0.clear();
        for _ in 0..3 {
            sender.on_ack(3, at(101), &mut wire);
        }
        assert_eq!((&wire.0[..], sender.cwnd()), (&[3][..], left), "{halving:?}");
    }
}

/// RFC 5681, section 3.1: "ssthresh is held constant" where the timer sends a packet once more; Linux `tcp_enter_loss`, and ns-2 cuts again.
/// What is lost after something new was acknowledged is another loss.
#[test]
fn a_packet_that_times_out_again_leaves_the_threshold() {
    let ns2_bic = Config::of_variant(Profile::Ns2, Variant::Bic);
    let linux = Config { rack: false, ..Config::of_variant(Profile::Linux, Variant::NewReno) };
    for (config, once, twice) in [
        (Config::of_variant(Profile::Rfc, Variant::NewReno), 10, 10),
        (Config::of_variant(Profile::Rfc, Variant::Rfc6675), 10, 10),
        (Config::of_variant(Profile::Rfc, Variant::Bic), 15, 15),
        (linux, 10, 10),
        (Config::of_variant(Profile::Ns2, Variant::NewReno), 10, 2),
        (ns2_bic, 15, 2),
    ] {
        let case = format!("{:?} of {:?}", config.variant, config.halving);
        let config = Config { syn: None, initial_window: 20, ..config };
        let (mut sender, mut wire) = (sender(config, None), Sent::default());
        sender.start(Instant::ZERO, &mut wire);
        let time_out = |sender: &mut Sender, wire: &mut Sent| {
            let due = sender.retransmission_at().expect("packets are in flight");
            sender.on_retransmission_timer(due, wire);
            (sender.ssthresh(), due)
        };
        assert_eq!(time_out(&mut sender, &mut wire).0, once, "{case}");
        let (ssthresh, due) = time_out(&mut sender, &mut wire);
        assert_eq!((ssthresh, sender.cwnd()), (twice, 1.0), "{case}");
        sender.on_ack(1, due + Span::from_millis(50), &mut wire);
        assert_eq!(time_out(&mut sender, &mut wire).0, 2, "{case}: another packet");
    }
}

/// The patch changes ns-2's `slowdown`, which TCP-Linux does not call (ns-2.35 tcp/tcp-linux.cc `tcp_fastretrans_alert`, `enter_loss`): BIC,
/// CUBIC and the other controls leave a part of their own window, as unpaced, however many packets are held beyond the lost one.
#[test]
fn a_control_leaves_a_part_of_its_own_window_however_it_is_paced() {
    let wei = HostPacing { rule: PacingRule::Wei, gain: 1.0, jitter: 0.0, quantum: None };
    for profile in [Profile::Ns2, Profile::Rfc] {
        for variant in [Variant::Bic, Variant::Cubic, Variant::Dctcp, Variant::Prague] {
            for (pacing, halving) in [(None, Halving::InFlight), (Some(wei), Halving::Window)] {
                let config = Config {
                    syn: None,
                    initial_window: 20,
                    initial_ssthresh: Some(20),
                    max_window: 1000,
                    pacing,
                    halving,
                    ..Config::of_variant(profile, variant)
                };
                let (mut sender, mut wire) = (sender(config, None), Sent::default());
                sender.start(Instant::ZERO, &mut wire);
                sender.on_ack(1, at(100), &mut wire);
                for ms in 101..1500 {
                    // Packet 1 is lost again and again, and the receiver holds all that was sent after it.
                    let blocks = [Block { start: 2, end: sender.end() }];
                    sender.on_ack_with(1, at(ms - 100), &blocks, at(ms), &mut wire);
                    while let Some(due) = sender.pacing_at().filter(|due| *due <= at(ms)) {
                        sender.on_pacing_timer(due, &mut wire);
                    }
                }
                let case = format!("{profile:?} {variant:?} {pacing:?}");
                assert!(sender.end() > 50, "{case}: {} packets for windows of 20", sender.end());
                let timer = sender.retransmission_at().unwrap_or(at(1500)).max(at(1500));
                sender.on_retransmission_timer(timer, &mut wire);
                assert!(sender.ssthresh() <= 20, "{case}: {}", sender.ssthresh());
            }
        }
    }
}

/// The fast path of a bare connection: the same packets, or false and nothing has changed.
#[test]
fn a_bare_sender_has_a_fast_path_of_its_own() {
    let config = Config { max_window: 100, ..Config::new(Profile::Ns2) };
    let mut plain = sender(config.clone(), None);
    assert!(plain.is_bare() && !sender(config.clone(), Some(9)).is_bare());
    assert!(!sender(Config { timestamps: true, ..config.clone() }, None).is_bare());
    assert!(!sender(Config { variant: Variant::Sack1, ..config }, None).is_bare());
    let (mut wire, mut other) = (Sent::default(), Sent::default());
    plain.start(Instant::ZERO, &mut wire);
    assert!(!plain.on_ack_fast_bare(1, at(100), &mut wire)); // the handshake is none
    assert_eq!(wire.0, [0]);
    plain.on_ack(1, at(100), &mut wire);
    let mut slow = plain.clone();
    for next in [2, 3, 3, 5] {
        assert!(plain.on_ack_fast_bare(next, at(200), &mut wire), "{next}");
        slow.on_ack(next, at(200), &mut other);
    }
    assert_eq!((&wire.0[3..], plain.cwnd()), (&other.0[..], slow.cwnd()));
    assert!(!plain.on_ack_fast_bare(99, at(200), &mut wire)); // never sent
    plain.keep_round_trips();
    assert!(!plain.is_bare());
}

/// ns-2 before 2001 (`timerfix_` false): an acknowledgement sets the timer by the timeout of before its sample. With a
/// round trip of 100 ms the timeout falls from its initial value to the least one.
#[test]
fn an_old_timer_is_set_before_the_sample_is_taken() {
    for timer_fix in [true, false] {
        let config = Config {
            timer_fix,
            syn: None,
            initial_window: 4,
            initial_rto: Span::from_millis(6_000),
            min_rto: Span::from_millis(1_000),
            ..Config::new(Profile::Rfc)
        };
        let (mut sender, mut wire) = (sender(config, None), Sent::default());
        sender.start(at(0), &mut wire);
        let ms = |sender: &Sender| sender.retransmission_at().map(|due| due.as_nanos() / 1_000_000);
        assert_eq!(ms(&sender), Some(6_000));
        sender.on_ack(1, at(100), &mut wire);
        assert_eq!(ms(&sender), Some(100 + if timer_fix { 1_000 } else { 6_000 }));
        sender.on_ack(1, at(150), &mut wire); // a duplicate leaves it
        assert_eq!(ms(&sender), Some(100 + if timer_fix { 1_000 } else { 6_000 }));
        sender.on_ack(2, at(200), &mut wire);
        assert_eq!(ms(&sender), Some(1_200));
    }
}

//! Connections over a path that marks packets instead of dropping them: RFC 3168 and RFC 8257, step by step.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_core::{Instant, Span};
use paceline_tcp::{Config, EcnMode, Output, Profile, Receiver, Reply, Segment, Sender, Variant};
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Default)]
struct Wire(Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// A round trip of 100 ms at the beginning of which all leaves that may.
struct Path {
    sender: Sender,
    receiver: Receiver,
    wire: Wire,
    /// What is under way, and whether it says that the window was reduced.
    sent: Vec<(Segment, bool)>,
    now: Instant,
    /// Packets to mark, and to lose the first time.
    marked: BTreeSet<u32>,
    lost: BTreeSet<u32>,
    /// First packets that said that the window was reduced.
    reduced: Vec<u32>,
    /// Packets whose acknowledgement echoed a mark.
    echoed: Vec<u32>,
}

impl Path {
    fn new(config: Config, packets: u32, marked: &[u32], lost: &[u32]) -> Self {
        let config = Arc::new(Config { syn: None, delayed_ack: None, push: 0, ..config });
        let mut path = Path {
            receiver: Receiver::with(&config, 1),
            sender: Sender::new(config, Some(packets.into()), Span::ZERO, 1),
            wire: Wire::default(),
            sent: Vec::new(),
            now: Instant::ZERO,
            marked: marked.iter().copied().collect(),
            lost: lost.iter().copied().collect(),
            reduced: Vec::new(),
            echoed: Vec::new(),
        };
        path.sender.start(path.now, &mut path.wire);
        path.send();
        path
    }

    /// What has just been sent is under way.
    fn send(&mut self) {
        let segments = self.wire.0.drain(..);
        self.sent.extend(segments.map(|segment| (segment, self.sender.carries_reduced(segment))));
    }

    fn time_out(&mut self) {
        self.now = self.now.max(self.sender.retransmission_at().unwrap());
        self.sender.on_retransmission_timer(self.now, &mut self.wire);
        self.send();
    }

    /// One round trip. The windows before and after.
    fn round(&mut self) -> (f64, f64) {
        let before = self.sender.cwnd();
        self.now += Span::from_millis(100);
        let config = self.sender.config();
        let marks_again = matches!(config.ecn, EcnMode::Dctcp | EcnMode::Accurate) || config.has_ns2_marks();
        for (segment, is_reduced) in std::mem::take(&mut self.sent) {
            let seq = segment.seq;
            if !segment.retransmission && self.lost.contains(&seq) {
                continue;
            }
            self.reduced.extend(is_reduced.then_some(seq));
            let is_capable = !segment.retransmission || marks_again;
            self.receiver.on_ecn(is_capable && self.marked.contains(&seq), is_reduced);
            self.receiver.on_data(seq);
            let Reply::Now(feedback) = self.receiver.reply(seq, self.now, self.now) else { continue };
            let is_marked = self.receiver.echoes_mark();
            self.echoed.extend(is_marked.then_some(seq));
            let next = self.receiver.next();
            match self.sender.config().ecn {
                EcnMode::Accurate => self.sender.on_ace(next, self.receiver.ace()),
                _ => self.sender.on_ecn_echo(next, is_marked),
            }
            self.sender.on_ack_with(next, feedback.echo, feedback.blocks(), self.now, &mut self.wire);
            self.send();
        }
        (before, self.sender.cwnd())
    }

    fn finish(&mut self) {
        while !self.sender.is_finished() {
            if self.sent.is_empty() {
                self.time_out();
            }
            self.round();
        }
    }
}

fn reno(ecn: EcnMode) -> Config {
    Config {
        ecn,
        initial_ssthresh: Some(10),
        initial_window: 10,
        ..Config::of_variant(Profile::Rfc, Variant::NewReno)
    }
}

#[test]
fn a_mark_halves_the_window_once_and_is_echoed_until_the_window_is_said_to_be_reduced() {
    // Packets 0..10 leave, 2 and 5 are marked: the acknowledgements of 2 to 9 echo, and the window is cut at the first of them.
    let mut path = Path::new(reno(EcnMode::Rfc3168), 200, &[2, 5], &[]);
    let (before, after) = path.round();
    assert_eq!(before, 10.0);
    assert_eq!(path.sender.counters().window_cuts, 1);
    assert!((5.0..5.5).contains(&after), "half, and no growth by acknowledgements that echo: {after}");
    assert_eq!(path.echoed, (2..10).collect::<Vec<_>>());
    // 10 and 11 had left when the cut came; so the packet after them says so, and ends the echo.
    path.round();
    assert_eq!(path.reduced, [12]);
    assert_eq!(path.echoed, (2..12).collect::<Vec<_>>());
    path.finish();
    let counters = path.sender.counters();
    assert_eq!(
        (counters.window_cuts, counters.retransmits, counters.timeouts, counters.sent),
        (1, 0, 0, 200)
    );
}

#[test]
fn a_mark_in_each_window_cuts_each() {
    let every_tenth: Vec<u32> = (0..200).step_by(10).collect();
    let mut path = Path::new(reno(EcnMode::Rfc3168), 200, &every_tenth, &[]);
    path.finish();
    let counters = path.sender.counters();
    assert!(counters.window_cuts >= 10 && counters.retransmits == 0, "{counters:?}");
    assert!(path.sender.cwnd() >= 1.0);
}

#[test]
fn a_mark_and_a_loss_in_one_window_are_one_reduction() {
    let mut path = Path::new(reno(EcnMode::Rfc3168), 200, &[2], &[4]);
    let (before, _) = path.round();
    path.finish();
    let counters = path.sender.counters();
    assert_eq!((before, counters.retransmits, counters.timeouts), (10.0, 1, 0));
    // RFC 3168 section 6.1.2: the threshold is not cut again.
    let mut alone = Path::new(reno(EcnMode::Rfc3168), 200, &[2], &[]);
    alone.round();
    assert_eq!(path.sender.ssthresh(), alone.sender.ssthresh());
}

#[test]
fn one_packet_is_the_least_window() {
    let all: Vec<u32> = (0..60).collect();
    for profile in [Profile::Rfc, Profile::Ns2, Profile::Linux] {
        for variant in [
            Variant::Reno,
            Variant::NewReno,
            Variant::Rfc6675,
            Variant::Cubic,
            Variant::Dctcp,
            Variant::Prague,
        ] {
            for mode in [EcnMode::Rfc3168, EcnMode::Dctcp, EcnMode::Accurate] {
                let config = Config { ecn: mode, ..Config::of_variant(profile, variant) };
                let mut path = Path::new(config, 60, &all, &[]);
                path.finish();
                let least = if path.sender.config().has_ns2_marks() { 0.5 } else { 1.0 };
                assert!(path.sender.cwnd() >= least, "{profile:?} {variant:?} {mode:?}");
                assert_eq!(path.sender.counters().retransmits, 0, "{profile:?} {variant:?} {mode:?}");
            }
        }
    }
}

/// RFC 3168 section 6.1.2: a reduction of any kind is said with the first new packet after it.
#[test]
fn a_loss_is_said_too() {
    let mut path = Path::new(reno(EcnMode::Rfc3168), 200, &[], &[4]);
    path.finish();
    let counters = path.sender.counters();
    assert_eq!((counters.window_cuts, counters.retransmits, counters.timeouts), (1, 1, 0));
    assert_eq!(path.reduced.len(), 1, "{:?}", path.reduced);
}

/// A whole window with a mark in it is lost but for its first packets: what is sent again goes without marks and says nothing of the
/// reduction, so each acknowledgement echoes until all is repaired; the window grows nevertheless.
#[test]
fn an_echo_does_not_hold_a_window_after_a_timeout() {
    for (profile, variant) in
        [(Profile::Ns2, Variant::Reno), (Profile::Rfc, Variant::NewReno), (Profile::Linux, Variant::Cubic)]
    {
        let lost: Vec<u32> = (32..51).collect();
        let config = Config {
            ecn: EcnMode::Rfc3168,
            initial_window: 32,
            initial_ssthresh: Some(1000),
            max_window: 20,
            ..Config::of_variant(profile, variant)
        };
        let mut path = Path::new(config, 400, &[31], &lost);
        let mut rounds = 0;
        while path.sender.una() < 51 {
            if path.sent.is_empty() {
                path.time_out();
            }
            path.round();
            rounds += 1;
        }
        assert!(rounds <= 10, "{profile:?} {variant:?}: {rounds} round trips");
    }
}

#[test]
fn without_ecn_nothing_is_marked_or_echoed() {
    let mut path = Path::new(reno(EcnMode::Off), 60, &[3], &[]);
    path.finish();
    assert!(path.echoed.is_empty() && path.reduced.is_empty());
    assert_eq!(path.sender.counters().window_cuts, 0);
}

/// RFC 8257 section 3.3, written out: of a window of W packets, of which a share is marked, W alpha / 2 is cut.
#[test]
fn dctcp_cuts_by_the_share_of_marks() {
    let config = Config {
        initial_window: 20,
        initial_ssthresh: Some(20),
        ..Config::of_variant(Profile::Rfc, Variant::Dctcp)
    };
    let every_fourth: Vec<u32> = (0..20_000).step_by(4).collect();
    let mut path = Path::new(config, 20_000, &every_fourth, &[]);
    for _ in 0..400 {
        path.round();
    }
    // A window with a share F of marks loses F / 2 of itself, and gains one packet for the other 1 - F acknowledgements: W = 2 (1 - F) / F
    // where it balances; whole packets, and the cut before the growth, leave it within a packet.
    let windows: Vec<f64> = (0..50).map(|_| path.round().0).collect();
    let mean = windows.iter().sum::<f64>() / 50.0;
    let share = path.echoed.len() as f64 / f64::from(path.sender.una());
    assert!((share - 0.25).abs() < 0.01, "{share}");
    assert!((mean - 2.0 * (1.0 - share) / share).abs() < 1.5, "{mean}");
}

#[test]
fn accurate_marks_cut_once_a_window_without_saying_so() {
    let mut path = Path::new(reno(EcnMode::Accurate), 200, &[2, 5], &[]);
    let (before, after) = path.round();
    assert_eq!(before, 10.0);
    // Ten acknowledgements, of which two tell of a mark; the eight others let the window grow.
    assert!((5.0..6.9).contains(&after), "{after}");
    path.finish();
    let counters = path.sender.counters();
    assert_eq!((counters.window_cuts, counters.retransmits, path.reduced.len()), (1, 0, 0));
}

/// An acknowledgement of what was never sent says nothing, whatever it echoes.
#[test]
fn an_echo_of_what_was_never_sent_is_ignored() {
    for ecn in [EcnMode::Rfc3168, EcnMode::Accurate] {
        let mut path = Path::new(reno(ecn), 200, &[], &[]);
        let end = path.sender.end();
        for next in [end + 1, u32::MAX] {
            path.sender.on_ecn_echo(next, true);
            path.sender.on_ace(next, 7);
        }
        assert_eq!((path.sender.cwnd(), path.sender.counters().window_cuts), (10.0, 0), "{ecn:?}");
        path.sender.on_ecn_echo(1, true);
        assert_eq!(path.sender.counters().window_cuts, 1, "{ecn:?}");
    }
}

/// Packet 4 is lost, and known to be by the acknowledgement of 7. Until then 16 packets have left: a window of ten
/// beyond 4, and two more by limited transmit (RFC 3042). A mark on one of those is of the window that the loss has cut
/// (RFC 3168 section 6.1.2), a mark on the next cuts again.
#[test]
fn a_mark_after_the_window_of_a_loss_cuts_again() {
    for marked in 8..30 {
        let mut path = Path::new(reno(EcnMode::Accurate), 200, &[marked], &[4]);
        path.finish();
        let counters = path.sender.counters();
        assert_eq!((counters.retransmits, counters.timeouts), (1, 0));
        assert_eq!(counters.window_cuts, if marked < 16 { 1 } else { 2 }, "{marked}");
    }
}

/// Half of 25 packets: whole packets are left unless fractions are kept.
#[test]
fn a_control_s_cut_leaves_whole_packets_unless_fractions_are_kept() {
    for (fractional_halving, left) in [(false, 12.0), (true, 12.5)] {
        let config = Config {
            fractional_halving,
            initial_window: 25,
            initial_ssthresh: Some(25),
            ..Config::of_variant(Profile::Rfc, Variant::Dctcp)
        };
        let mut path = Path::new(config, 200, &[], &[]);
        path.sender.on_ecn_echo(1, true); // alpha is one before the first window is over
        assert_eq!((path.sender.cwnd(), path.sender.ssthresh()), (left, 12));
    }
}

//! ns-2's `ecn`, `newack` and `dupack_action`, written out, beside a sender whose acknowledgements echo at random.

use super::*;
use crate::config::{Config, EcnMode, Profile};
use crate::sender::Sender;
use paceline_core::Span;
use std::sync::Arc;

#[derive(Default)]
struct Wire(Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

fn sender(variant: Variant, initial_window: u32) -> Sender {
    let config = Config {
        ecn: EcnMode::Rfc3168,
        syn: None,
        initial_window,
        initial_ssthresh: Some(20),
        max_window: 40,
        ..Config::of_variant(Profile::Ns2, variant)
    };
    assert!(config.has_ns2_marks());
    Sender::new(Arc::new(config), None, Span::ZERO, 1)
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// The variables of `TcpAgent` that an echo changes; numbers are one more than ns-2's.
struct Agent {
    cwnd: f64,
    ssthresh: u32,
    recover: u32,
    timed_out: bool,
    ecn_backoff: bool,
}

impl Agent {
    /// `recv`, `ecn`: whether the timer is backed off.
    fn ecn(&mut self, seqno: u32, maxseq: u32) -> bool {
        if seqno <= self.recover && !self.timed_out {
            return false;
        }
        (self.recover, self.timed_out) = (maxseq, false);
        let backs_off = self.cwnd <= 1.0 && self.ecn_backoff;
        self.ecn_backoff = self.cwnd <= 1.0;
        self.cwnd /= 2.0; // slowdown(CLOSE_CWND_HALF | CLOSE_SSTHRESH_HALF)
        self.ssthresh = (self.cwnd as u32).max(2);
        backs_off
    }

    fn opencwnd(&mut self) {
        self.cwnd += if self.cwnd < f64::from(self.ssthresh) { 1.0 } else { 1.0 / self.cwnd };
    }
}

#[test]
fn echoes_cut_and_back_off_as_in_ns2() {
    let (mut cuts, mut backed_off, mut held) = (0, 0, 0);
    for seed in 0..40_u64 {
        let mut state = seed;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (mut sender, mut wire) = (sender(Variant::Reno, 1 + below(4) as u32), Wire::default());
        let mut ms = 0;
        sender.start(at(ms), &mut wire);
        let mut agent = Agent {
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh(),
            recover: 1, // ns-2's 0
            timed_out: false,
            ecn_backoff: false,
        };
        let share = [20, 2, 1][below(3) as usize]; // one in so many is marked
        let mut base = None;
        for step in 0..300 {
            let what = format!("seed {seed}, step {step}");
            if sender.state.una == sender.end() {
                // Half a packet may be sent: the timer runs out, which is not looked at here.
                ms = ms.max(sender.retransmission_at().map_or(ms, |due| due.as_nanos().div_ceil(1_000_000)));
                sender.on_retransmission_timer(at(ms), &mut wire);
                (agent.cwnd, agent.ssthresh) = (sender.cwnd(), sender.ssthresh());
                agent.timed_out = sender.state.last_cut == LastCut::Timeout;
                agent.recover = sender.state.recover;
                assert!(sender.state.una < sender.end(), "{what}");
                continue;
            }
            ms += 100;
            let (next, is_marked) = (sender.state.una + 1, below(share) == 0);
            let agrees = next == 1;
            let before = sender.state.rtt.timeout();
            let backs_off = (is_marked || agrees) && agent.ecn(next, sender.end());
            sender.on_ecn_echo(next, is_marked);
            assert_eq!((sender.cwnd(), sender.ssthresh()), (agent.cwnd, agent.ssthresh), "{what}");
            let doubled = Span::from_nanos(before.as_nanos() * if backs_off { 2 } else { 1 });
            let after = sender.state.rtt.timeout();
            assert_eq!(after, doubled.min(sender.config().max_rto.max(before)), "{what}");
            let is_echoed = is_marked && !agrees;
            let holds = is_echoed && agent.ecn_backoff;
            if !is_echoed {
                agent.ecn_backoff = false;
                agent.opencwnd();
            }
            sender.on_ack(next, at(ms), &mut wire);
            assert!((sender.cwnd() - agent.cwnd).abs() < 1e-9, "{what}: {} {}", sender.cwnd(), agent.cwnd);
            agent.cwnd = sender.cwnd();
            assert_eq!(sender.state.cold.ecn.backs_off, agent.ecn_backoff, "{what}");
            // Round trips are all of 100 ms: without a back-off the timeout is the least one.
            let base = *base.get_or_insert(sender.state.rtt.timeout());
            if holds && after > base {
                held += 1;
                // without a back-off it would be half of it at most; the estimate itself moves a little
                let kept = sender.state.rtt.timeout().as_nanos() as f64 / after.as_nanos() as f64;
                assert!(kept > 0.7, "{what}: the back-off stays: {kept}");
            }
            cuts += u32::from(is_marked && sender.state.last_cut == LastCut::Mark);
            backed_off += u32::from(backs_off);
        }
    }
    assert!(cuts > 500 && backed_off > 20 && held > 20, "{cuts} {backed_off} {held}");
}

/// A window of ten, of which the second acknowledgement echoes: `dupack_action` then repairs without another cut,
/// Tahoe's begins at one.
#[test]
fn a_loss_in_a_window_that_a_mark_has_cut_is_only_repaired() {
    for (variant, cwnd, cuts) in [
        (Variant::Reno, None, 1),
        (Variant::NewReno, None, 1),
        (Variant::Sack1, None, 1),
        (Variant::Tahoe, Some(1.0), 2),
    ] {
        let (mut sender, mut wire) = (sender(variant, 10), Wire::default());
        sender.start(at(0), &mut wire);
        for (next, is_marked) in [(1, false), (2, true)] {
            sender.on_ecn_echo(next, is_marked);
            sender.on_ack(next, at(100), &mut wire);
        }
        let (ssthresh, before) = (sender.ssthresh(), sender.cwnd());
        assert_eq!(sender.counters().window_cuts, 1, "{variant:?}");
        wire.0.clear();
        for more in 0..3 {
            sender.on_ecn_echo(2, false);
            let blocks = [crate::feedback::Block { start: 3, end: 4 + more }];
            let blocks = if variant == Variant::Sack1 { &blocks[..] } else { &[] };
            sender.on_ack_with(2, at(0), blocks, at(101), &mut wire);
        }
        let again: Vec<u32> = wire.0.iter().filter(|one| one.retransmission).map(|one| one.seq).collect();
        assert_eq!(again, [2], "{variant:?}");
        assert_eq!((sender.ssthresh(), sender.counters().window_cuts), (ssthresh, cuts), "{variant:?}");
        assert_eq!(sender.cwnd(), cwnd.unwrap_or(before), "{variant:?}");
    }
}

/// `NewRenoTcpAgent::dupack_action`: with `bugFix_` and `lessCareful_` the packet at which a window ends that a mark has cut is repaired with
/// a cut of its own, in all other cases without.
#[test]
fn a_loss_where_a_marked_window_ends_is_less_careful_if_told_to() {
    for (careful, less_careful, at_end) in (0..8).map(|bits| (bits & 1 == 1, bits & 2 == 2, bits & 4 == 4)) {
        let config = Config { careful, less_careful, ..sender(Variant::NewReno, 10).config().clone() };
        let (mut sender, mut wire) = (Sender::new(Arc::new(config), None, Span::ZERO, 1), Wire::default());
        sender.start(at(0), &mut wire);
        let mut acknowledge = |sender: &mut Sender, next, is_marked| {
            sender.on_ecn_echo(next, is_marked);
            sender.on_ack(next, at(100), &mut wire);
        };
        acknowledge(&mut sender, 1, false);
        acknowledge(&mut sender, 2, true);
        let last = if at_end { sender.state.recover } else { sender.state.recover - 1 };
        (3..=last).for_each(|next| acknowledge(&mut sender, next, false));
        assert!(sender.end() > last + 2 && sender.counters().window_cuts == 1);
        (0..3).for_each(|_| acknowledge(&mut sender, last, false));
        let again: Vec<u32> = wire.0.iter().filter(|one| one.retransmission).map(|one| one.seq).collect();
        let cuts = 1 + u64::from(careful && less_careful && at_end);
        let what = format!("{careful} {less_careful} {at_end}");
        assert_eq!((again, sender.counters().window_cuts), (vec![last], cuts), "{what}");
    }
}

/// `recv_newack_helper` and `newack`: an acknowledgement without an echo ends the back-off by marks where it lets the window grow, or gives a
/// sample. A partial one of a recovery does neither; the last of Sack1's lets nothing grow.
#[test]
fn the_back_off_by_marks_ends_with_growth_or_a_sample() {
    for (variant, in_recovery, next, is_timed, ends) in [
        (Variant::Reno, true, 5, false, true),
        (Variant::NewReno, false, 5, false, true),
        (Variant::NewReno, true, 5, true, false), // partial
        (Variant::NewReno, true, 9, true, false),
        (Variant::NewReno, true, 10, false, true),
        (Variant::Sack1, false, 5, false, true),
        (Variant::Sack1, true, 9, true, false),
        (Variant::Sack1, true, 10, true, true),
        (Variant::Sack1, true, 10, false, false),
    ] {
        let (mut sender, mut wire) = (sender(variant, 10), Wire::default());
        sender.start(at(0), &mut wire);
        let state = &mut sender.state;
        (state.una, state.recover, state.cold.ecn.backs_off) = (3, 10, true);
        if in_recovery {
            state.last_cut = LastCut::DuplicateAcks;
            state.cold.sack.recovering = variant == Variant::Sack1;
        }
        if !is_timed {
            state.restart_timer_and_stop_timing(at(1));
        }
        sender.on_ecn_echo(next, false);
        let what = format!("{variant:?} {in_recovery} {next} {is_timed}");
        assert_eq!(sender.state.cold.ecn.backs_off, !ends, "{what}");
    }
}

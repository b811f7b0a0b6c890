//! Sequences of one flight, worked by hand after RFC 8985 (RACK, tail loss probes), RFC 5682 (F-RTO), and the functions of Linux 6.18
//! that the code names.

mod reordering;
mod twice;
mod undo;

use super::*;
use crate::config::{Config, Halving, Profile, Variant};
use crate::feedback::Block;
use crate::segment::Segment;
use crate::sender::Sender;
use std::sync::Arc;

#[derive(Default)]
struct Sent(Vec<u32>);

impl Output for Sent {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment.seq);
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn linux() -> Config {
    let linux = Config::new(Profile::Linux);
    Config { variant: Variant::Rfc6675, timer_tick: Span::ZERO, timestamps: false, ..linux }
}

struct Story {
    sender: Sender,
    sent: Sent,
}

impl Story {
    /// The SYN takes 100 ms. At 100 ms the first flight is sent: ten packets, 1 to 10, unless the settings allow fewer. The timeout is 300 ms,
    /// the round trip and 200 ms (`tcp_rtt_estimator`); a probe is due at 302 ms, two round trips and 2 ms later.
    fn begin(config: Config, packets: Option<u64>) -> Self {
        let sender = Sender::new(Arc::new(config), packets, Span::ZERO, 1);
        let mut story = Story { sender, sent: Sent::default() };
        story.sender.start(Instant::ZERO, &mut story.sent);
        assert_eq!(story.taken(), [0]);
        story.ack_with_echo(100, (1, 0), &[]);
        story
    }

    fn taken(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.sent.0)
    }

    /// An acknowledgement of all before `next` and of these blocks, each from its first packet to its last. Returns what is sent.
    fn ack(&mut self, ms: u64, next: u32, blocks: &[(u32, u32)]) -> Vec<u32> {
        self.ack_with_echo(ms, (next, ms), blocks)
    }

    fn ack_with_echo(&mut self, ms: u64, (next, echo): (u32, u64), blocks: &[(u32, u32)]) -> Vec<u32> {
        let blocks: Vec<_> = blocks.iter().map(|&(start, last)| Block { start, end: last + 1 }).collect();
        self.sender.on_ack_with(next, at(echo), &blocks, at(ms), &mut self.sent);
        self.taken()
    }

    /// The timer runs out, and must be due then. Returns what is sent.
    fn timer(&mut self, ms: u64) -> Vec<u32> {
        assert_eq!(self.sender.retransmission_at(), Some(at(ms)));
        self.sender.on_retransmission_timer(at(ms), &mut self.sent);
        self.taken()
    }

    fn write(&mut self, packets: u64, ms: u64) -> Vec<u32> {
        self.sender.write(packets * u64::from(self.sender.config().payload));
        self.sender.start(at(ms), &mut self.sent);
        self.taken()
    }

    /// No acknowledgement arrives: the probe, then the timeout, then packet 1 again.
    fn timed_out() -> Self {
        let mut story = Story::begin(linux(), None);
        assert_eq!(story.timer(302), [11]);
        assert_eq!(story.timer(602), [1]);
        assert_eq!((story.sender.cwnd(), story.sender.ssthresh()), (1.0, 5));
        story
    }
}

/// RFC 5682 section 3.1, with SACK: (2.b) new data are sent; (3.b) a packet that was not retransmitted arrives: the timeout was needless.
#[test]
fn what_was_sent_once_and_arrives_undoes_the_timeout() {
    type Step<'a> = (u32, &'a [(u32, u32)]);
    let told_by: [&[Step<'_>]; 4] = [
        &[(1, &[(5, 5)])],           // at once, beyond a hole
        &[(1, &[]), (1, &[(5, 5)])], // a duplicate that reports nothing decides nothing
        &[(7, &[])],                 // at once, in order
        &[(2, &[]), (5, &[])],       // after the new data
    ];
    for steps in told_by {
        let mut story = Story::timed_out();
        for (place, (next, blocks)) in steps.iter().enumerate() {
            assert!(story.sender.cwnd() < 10.0);
            story.ack(702 + place as u64, *next, blocks);
        }
        assert!(story.sender.cwnd() >= 10.0, "{steps:?}: {}", story.sender.cwnd());
    }
}

/// (3.a) A duplicate after the new data, with a block or without, means that the loss was real, whatever arrives later.
#[test]
fn a_duplicate_after_the_new_data_means_that_the_timeout_was_needed() {
    for (blocks, again) in [(&[(12, 12)][..], vec![2]), (&[], vec![])] {
        let mut story = Story::timed_out();
        assert_eq!(story.ack(702, 2, &[]), [12, 13], "(2.b) two new packets");
        assert_eq!(story.ack(803, 2, blocks), again);
        story.ack(804, 2, &[(5, 5), (12, 12)]);
        assert!(story.sender.cwnd() < 10.0, "{blocks:?}: {}", story.sender.cwnd());
    }
}

/// Without new data, lost packets are sent, as after any timeout (RFC 5682, end of (2.b)); one new packet is enough.
#[test]
fn without_new_data_lost_packets_are_sent() {
    for (max_window, packets, sent) in [(10_000, Some(10), [2, 3].as_slice()), (10, None, &[11])] {
        let mut story = Story::begin(Config { max_window, ..linux() }, packets);
        assert_eq!(story.timer(302), [10]);
        assert_eq!(story.timer(602), [1]);
        assert_eq!(story.ack(702, 2, &[]), sent);
    }
}

/// `tcp_timeout_mark_lost`: packets sent within the last round trip are not lost, here the probe at 302 ms; the first packet always is.
#[test]
fn a_timeout_loses_what_is_older_than_a_round_trip() {
    for (ms, expected) in [(150, 1), (350, 9), (401, 9), (402, 10), (602, 10)] {
        let mut story = Story::begin(Config { max_window: 10, ..linux() }, None);
        if ms > 302 {
            assert_eq!(story.timer(302), [10]);
        }
        enter_loss(&mut story.sender.state, at(ms));
        assert_eq!(lost(&story.sender.state), expected, "at {ms} ms");
        assert_eq!(story.sender.cwnd(), f64::from(10 - expected + 1));
    }
}

/// `tcp_timeout_mark_lost` of retransmissions.
#[test]
fn a_timeout_loses_the_first_packet_again_but_none_sent_again_within_a_round_trip() {
    let mut story = Story::begin(linux(), None);
    assert_eq!(story.ack(200, 1, &[(3, 5)]), [1]);
    assert_eq!(story.ack(201, 1, &[(3, 7)]), [2]);
    enter_loss(&mut story.sender.state, at(250));
    let again: Vec<_> =
        story.sender.state.cold.sack.rack.resent.iter().map(|one| (one.seq, one.lost)).collect();
    assert_eq!(again, [(1, true), (2, false)]);
}

/// `tcp_enter_loss`: a timeout in a recovery sets the window to what is in flight, but the threshold has been cut already.
#[test]
fn the_threshold_comes_down_once_for_each_window_of_data() {
    let mut story = Story::begin(linux(), None);
    assert_eq!(story.ack(200, 1, &[(2, 4)])[..1], [1]);
    assert_eq!(story.sender.ssthresh(), 5);
    enter_loss(&mut story.sender.state, at(600));
    assert_eq!((story.sender.ssthresh(), story.sender.counters().window_cuts), (5, 2));
    let mut story = Story::timed_out();
    assert_eq!(story.timer(1202), [1]); // twice the timeout of 300 ms; no progress since
    assert_eq!(story.sender.ssthresh(), 5);
    story.ack(1302, 2, &[]);
    enter_loss(&mut story.sender.state, at(2600)); // after progress
    assert_eq!(story.sender.ssthresh(), 2);
}

/// `tcp_process_tlp_ack`: packet 3 is the last that fits, and is retransmitted as a probe. If both arrive, all before 4 is acknowledged
/// twice; if only the probe does, a packet was lost.
#[test]
fn a_probe_that_was_needed_is_a_loss() {
    type Step<'a> = (u64, u32, &'a [(u32, u32)]);
    let stories: [(&[Step<'_>], u64); 4] = [
        (&[(450, 5, &[])], 1),
        (&[(360, 4, &[]), (450, 5, &[])], 0), // nothing is missing, and packet 3 arrived twice
        (&[(360, 4, &[(6, 6)]), (361, 7, &[])], 1), // a duplicate with a block is not the second acknowledgement of 3
        (&[(360, 4, &[(6, 6)]), (361, 4, &[]), (362, 7, &[])], 0),
    ];
    for (steps, cuts) in stories {
        let mut story = Story::begin(Config { max_window: 3, ..linux() }, None);
        assert_eq!(story.timer(302), [3]);
        assert_eq!(story.ack(350, 4, &[]), [4, 5, 6]);
        for (ms, next, blocks) in steps {
            story.ack(*ms, *next, blocks);
        }
        assert_eq!(story.sender.counters().window_cuts, cuts, "{steps:?}");
    }
}

/// FlightSize is what was outstanding when the first duplicate arrived (RFC 5681 (4)): an acknowledgement that reports a new packet beyond
/// a hole and acknowledges nothing (RFC 6675 section 2).
#[test]
fn flight_size_is_that_of_the_first_duplicate_with_a_new_block() {
    type Step<'a> = (u32, &'a [(u32, u32)]);
    let stories: [(&[Step<'_>], &[Step<'_>], u32); 2] = [
        (&[(1, &[(2, 2)])], &[(1, &[(2, 3)]), (1, &[(2, 4)])], 5), // packets 1 to 10, and half of that
        (&[(2, &[(3, 4)]), (2, &[])], &[(2, &[(3, 5)])], 5),       // 2 to 12
    ];
    for (before, after, ssthresh) in stories {
        let config = Config { halving: Halving::FlightSize, initial_window: 20, ..linux() };
        let mut story = Story::begin(config, Some(10));
        for (next, blocks) in before {
            assert_eq!(story.ack(200, *next, blocks), []);
        }
        assert_eq!(story.write(2, 201), [11, 12]);
        for (next, blocks) in after {
            story.ack(202, *next, blocks);
        }
        assert_eq!(story.sender.ssthresh(), ssthresh, "{before:?}");
    }
}

/// RFC 8985 section 6.2, step 2: an echo of the first transmission means that the second has not arrived, so that packets sent before the
/// second are not lost.
#[test]
fn an_echo_identifies_the_transmission_that_has_arrived() {
    for (echo, expected) in [(100, 0), (200, 6)] {
        let mut story = Story::begin(Config { timestamps: true, ..linux() }, None);
        assert_eq!(story.ack_with_echo(200, (1, 100), &[(2, 4)])[..1], [1]);
        story.ack_with_echo(300, (5, echo), &[]);
        assert_eq!(lost(&story.sender.state), expected, "an echo of {echo} ms");
    }
}

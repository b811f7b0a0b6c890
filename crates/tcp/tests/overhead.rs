//! `overhead`, by ns-2's rule (tcp.cc `send_much`): what waits for the host, for how long, and what does not.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use paceline_core::{Instant, Span};
use paceline_tcp::{Config, HostPacing, Output, PacingRule, Profile, Segment, Sender, Variant};
use std::sync::Arc;

#[derive(Default)]
struct Wire(Vec<u32>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment.seq);
    }
}

const MOST: u64 = 1_000_000;

/// A sender, what it sends, and the time.
struct Story {
    sender: Sender,
    wire: Wire,
    now: u64,
}

impl Story {
    fn of(config: Config, seed: u64) -> Self {
        let config = Config { overhead: Span::from_nanos(MOST), ..config };
        let sender = Sender::new(Arc::new(config), None, Span::ZERO, seed);
        Story { sender, wire: Wire::default(), now: 0 }
    }

    /// It has sent the SYN and the first two packets, and the test begins at 1 s.
    fn after_two(variant: Variant) -> Self {
        let mut story = Story::of(Config { variant, ..Config::new(Profile::Ns2) }, 1);
        story.sender.start(Instant::ZERO, &mut story.wire);
        story.wait();
        story.ack(1);
        story.wait();
        assert_eq!(story.take(), [0, 1, 2]);
        story.now = 1_000_000_000;
        story
    }

    fn ack(&mut self, next: u32) {
        self.sender.on_ack(next, Instant::from_nanos(self.now), &mut self.wire);
    }

    /// The wait ends: how long it was.
    fn wait(&mut self) -> u64 {
        let due = self.sender.pacing_at().unwrap();
        let waited = due.as_nanos() - self.now;
        self.now = due.as_nanos();
        self.sender.on_pacing_timer(due, &mut self.wire);
        waited
    }

    fn take(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.wire.0)
    }
}

#[test]
fn one_wait_serves_all_that_may_leave_when_it_ends() {
    let mut story = Story::after_two(Variant::Reno);
    story.ack(2);
    let due = story.sender.pacing_at();
    assert!(story.take().is_empty() && due.is_some());
    story.now += 1; // the second comes while the first waits
    story.ack(3);
    assert_eq!(story.sender.pacing_at(), due);
    story.wait();
    assert_eq!(story.take(), [3, 4, 5, 6]);
    assert_eq!(story.sender.pacing_at(), None);
}

#[test]
fn a_wait_is_uniform_up_to_the_overhead() {
    let mut waits: Vec<u64> = (0..10_000)
        .map(|seed| {
            let mut story = Story::of(Config::new(Profile::Ns2), seed);
            story.sender.start(Instant::ZERO, &mut story.wire);
            story.wait()
        })
        .collect();
    waits.sort_unstable();
    assert!((1..=MOST).contains(&waits[0]) && waits[9_999] <= MOST);
    for (place, wait) in waits.iter().enumerate() {
        let expected = place as f64 / 10_000.0 * MOST as f64; // Kolmogorov and Smirnov, 0.1 %: 1.95 / sqrt(10,000)
        assert!((*wait as f64 - expected).abs() < 0.0195 * MOST as f64, "{place}: {wait}");
    }
}

#[test]
fn limited_transmit_and_fast_retransmit_go_at_once() {
    for variant in [Variant::Reno, Variant::NewReno] {
        let mut story = Story::after_two(variant);
        story.ack(2);
        story.ack(3);
        story.wait();
        assert_eq!(story.take(), [3, 4, 5, 6]);
        let mut sent = Vec::new();
        for _ in 0..3 {
            story.ack(3);
            sent.extend(story.take());
        }
        assert_eq!(sent, [7, 8, 3], "{variant:?}");
    }
}

#[test]
fn after_a_timeout_the_packet_waits_too() {
    let mut story = Story::after_two(Variant::Reno);
    story.now = story.sender.retransmission_at().unwrap().as_nanos();
    story.sender.on_retransmission_timer(Instant::from_nanos(story.now), &mut story.wire);
    assert!(story.take().is_empty());
    story.wait();
    assert_eq!(story.take(), [1]);
}

#[test]
fn tahoe_sends_again_as_anything_else() {
    let mut story = Story::after_two(Variant::Tahoe);
    story.ack(2);
    story.ack(3);
    story.wait();
    story.take();
    (0..3).for_each(|_| story.ack(3));
    assert_eq!(story.take(), [7, 8]); // limited transmit
    story.wait();
    assert_eq!(story.take(), [3]);
}

#[test]
fn what_a_pacing_timer_lets_go_does_not_wait() {
    let pacing = Some(HostPacing { rule: PacingRule::Ideal, gain: 1.0, jitter: 0.0, quantum: None });
    let mut story = Story::of(Config { pacing, initial_window: 4, ..Config::new(Profile::Ns2) }, 1);
    story.sender.start(Instant::ZERO, &mut story.wire);
    story.wait();
    story.now = 100_000_000;
    story.ack(1);
    assert!(story.wait() <= MOST);
    assert_eq!(story.take(), [0, 1]);
    assert!(story.wait() > MOST); // a quarter of the round trip
    assert_eq!(story.take(), [2]);
}

#[test]
fn without_overhead_nothing_waits() {
    let mut sender = Sender::new(Arc::new(Config::new(Profile::Ns2)), None, Span::ZERO, 1);
    let mut wire = Wire::default();
    sender.start(Instant::ZERO, &mut wire);
    assert_eq!((wire.0.as_slice(), sender.pacing_at()), (&[0][..], None));
}

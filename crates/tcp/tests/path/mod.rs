//! One sender over one link, acknowledgements included: what its window does between losses.

use paceline_core::{Instant, Span};
use paceline_tcp::{Config, Output, Receiver, Reply, Segment, Sender};
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet's time on the link, and the rest of its round trip, nanoseconds: a link with a queue
/// that never runs empty, and one without a queue.
pub(crate) const SLOW: (u64, u64) = (1_000_000, 20_000_000);
pub(crate) const FAST: (u64, u64) = (1_000, 100_000_000);

/// The window, packets, after an acknowledgement, at this time, seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) time: f64,
    pub(crate) cwnd: f64,
}

/// From one loss to the next; the first from the initial ssthresh on, or from the start where that is not given.
#[derive(Debug)]
pub(crate) struct Epoch {
    /// Window at the loss that it begins with; 0 is none.
    pub(crate) w_max: f64,
    /// The window that it begins with.
    pub(crate) left: f64,
    /// From the acknowledgement that ends recovery, or slow start, on.
    pub(crate) points: Vec<Point>,
}

#[derive(Default)]
struct Wire(Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// Runs until `until`, seconds; `lost` returns whether the n-th transmission, from 0, made at this time, seconds, is lost.
pub(crate) fn epochs(
    config: Config,
    (service, delay): (u64, u64),
    mut lost: impl FnMut(usize, f64) -> bool,
    until: f64,
) -> Vec<Epoch> {
    let ssthresh = f64::from(config.initial_ssthresh.unwrap_or(0));
    let data_bytes = u64::from(config.data_bytes());
    let mut sender = Sender::new(Arc::new(config), None, Span::ZERO, 1);
    let mut receiver = Receiver::with(sender.config(), 0);
    let mut wire = Wire::default();
    let mut data: VecDeque<(u64, u32, Instant)> = VecDeque::new();
    let (mut now, mut free, mut transmissions) = (0, 0, 0);
    let mut epochs = vec![Epoch { w_max: 0.0, left: ssthresh, points: Vec::new() }];
    sender.start(Instant::ZERO, &mut wire);
    while (now as f64) < until * 1e9 {
        for segment in wire.0.drain(..) {
            // The SYN is shorter.
            free = now.max(free) + service * u64::from(segment.bytes) / data_bytes;
            if !lost(transmissions, now as f64 / 1e9) {
                data.push_back((free + delay, segment.seq, Instant::from_nanos(now)));
            }
            transmissions += 1;
        }
        let nanos = |at: Option<Instant>| at.map_or(u64::MAX, Instant::as_nanos);
        let (pace, due) = (nanos(sender.pacing_at()), nanos(receiver.due()));
        let arrival = data.front().map_or(u64::MAX, |(at, ..)| *at);
        now = arrival.min(pace).min(due);
        let at = Instant::from_nanos(now);
        if pace < arrival {
            sender.on_pacing_timer(at, &mut wire);
            continue;
        }
        let feedback = if due < arrival {
            receiver.on_delayed_ack_timer()
        } else {
            let Some((_, seq, sent)) = data.pop_front() else { panic!("nothing will ever happen again") };
            receiver.on_data(seq);
            let Reply::Now(feedback) = receiver.reply(seq, sent, at) else { continue };
            feedback
        };
        let (before, cuts) = (sender.cwnd(), sender.counters().window_cuts);
        sender.on_ack_with(receiver.next(), feedback.echo, feedback.blocks(), at, &mut wire);
        assert_eq!(sender.counters().timeouts, 0);
        if sender.counters().window_cuts > cuts {
            epochs.push(Epoch { w_max: before, left: sender.cwnd(), points: Vec::new() });
        } else if let Some(epoch) = epochs.last_mut()
            && sender.cwnd() > epoch.left
        {
            epoch.points.push(Point { time: now as f64 / 1e9, cwnd: sender.cwnd() });
        }
    }
    epochs
}

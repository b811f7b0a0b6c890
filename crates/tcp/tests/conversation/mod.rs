//! A sender and a receiver over a pipe of fixed delay that loses chosen packets.

use paceline_core::{Instant, Span};
use paceline_tcp::{Config, Feedback, Output, Receiver, Reply, Segment, Sender};
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Wire(pub(crate) Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// What happened to one connection.
pub(crate) struct Conversation {
    /// Time in ms and number of each packet sent.
    pub(crate) sent: Vec<(u64, u32)>,
    pub(crate) sender: Sender,
    pub(crate) finished_at: Option<Instant>,
}

/// Runs a connection of `packets` over the pipe, 50 ms long; `lost` returns whether the n-th transmission, from 0, is lost.
pub(crate) fn converse(config: Config, packets: u64, lost: impl FnMut(usize) -> bool) -> Conversation {
    converse_over(50, config, packets, lost)
}

/// [`converse`] over a pipe of that many milliseconds one way.
pub(crate) fn converse_over(
    one_way_ms: u64,
    config: Config,
    packets: u64,
    mut lost: impl FnMut(usize) -> bool,
) -> Conversation {
    let one_way = one_way_ms * 1_000_000;
    let mut receiver = Receiver::with(&config, 0);
    let max_window = if config.halves_rate() { u32::MAX / 2 } else { config.max_window };
    let mut sender = Sender::new(Arc::new(config), Some(packets), Span::ZERO, 1);
    let mut wire = Wire::default();
    let mut data: VecDeque<(u64, u32, Instant)> = VecDeque::new();
    let mut acks: VecDeque<(u64, u32, Feedback)> = VecDeque::new();
    let mut sent = Vec::new();
    let mut transmissions = 0;
    let (mut now, mut left) = (0, 0);
    sender.start(Instant::ZERO, &mut wire);
    for _ in 0..1_000_000 {
        for segment in wire.0.drain(..) {
            assert!(
                (sender.una()..sender.una() + max_window).contains(&segment.seq),
                "outside of the window"
            );
            sent.push((now / 1_000_000, segment.seq));
            // Of a host that sends a packet a millisecond.
            left = now.max(left) + 1_000_000;
            sender.leaves_host(Instant::from_nanos(left));
            if !lost(transmissions) {
                data.push_back((now + one_way, segment.seq, Instant::from_nanos(now)));
            }
            transmissions += 1;
        }
        if sender.is_finished() {
            return Conversation { sent, sender, finished_at: Some(Instant::from_nanos(now)) };
        }
        let nanos = |at: Option<Instant>| at.map_or(u64::MAX, Instant::as_nanos);
        let arrival = data.front().map_or(u64::MAX, |(at, ..)| *at);
        let ack = acks.front().map_or(u64::MAX, |(at, ..)| *at);
        let (rto, pace) = (nanos(sender.retransmission_at()), nanos(sender.pacing_at()));
        let delayed = nanos(receiver.due());
        now = arrival.min(ack).min(rto).min(pace).min(delayed);
        let instant = Instant::from_nanos(now);
        if now == u64::MAX {
            break; // nothing will ever happen again
        } else if arrival == now {
            let (_, seq, at) = data.pop_front().unwrap();
            if let Some(feedback) = receiver.on_joinable(seq, at, 0, instant) {
                acks.push_back((now + one_way, receiver.next(), feedback));
            }
            receiver.on_data(seq);
            if let Reply::Now(feedback) = receiver.reply(seq, at, instant) {
                acks.push_back((now + one_way, receiver.next(), feedback));
            }
        } else if ack == now {
            let (_, next, feedback) = acks.pop_front().unwrap();
            sender.on_ack_with(next, feedback.echo, feedback.blocks(), instant, &mut wire);
        } else if rto == now {
            sender.on_retransmission_timer(instant, &mut wire);
        } else if pace == now {
            sender.on_pacing_timer(instant, &mut wire);
        } else {
            let Some(feedback) = receiver.on_timer(instant) else { continue };
            acks.push_back((now + one_way, receiver.next(), feedback));
        }
    }
    Conversation { sent, sender, finished_at: None }
}

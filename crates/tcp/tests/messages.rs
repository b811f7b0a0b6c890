//! An application that writes its data message by message: sizes of packets, idle periods, connections that follow.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::{Instant, Span};
use paceline_tcp::{Block, Config, Output, Profile, Segment, Sender, Variant};
use std::sync::Arc;

#[derive(Default)]
struct Wire(Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// What a sender has put on the wire since the last call: numbers and sizes.
fn sent(wire: &mut Wire) -> Vec<(u32, u32)> {
    wire.0.drain(..).map(|segment| (segment.seq, segment.bytes)).collect()
}

/// No handshake, packets of 1000 + 40 B.
fn sender() -> Sender {
    let config = Config { payload: 1000, syn: None, ..Config::new(Profile::Rfc) };
    Sender::new(Arc::new(config), Some(0), Span::ZERO, 1)
}

#[test]
fn the_last_packet_of_each_message_is_as_short_as_it_is_and_stays_so_when_sent_again() {
    let (mut sender, mut wire) = (sender(), Wire::default());
    assert_eq!([sender.write(2001), sender.write(1000), sender.write(1)], [3, 4, 5]);
    sender.start(at(0), &mut wire);
    let first = [(0, 1040), (1, 1040), (2, 41), (3, 1040), (4, 41)];
    assert_eq!(sent(&mut wire), first);
    // All are lost: after the timeout they are retransmitted, each in its size.
    sender.on_retransmission_timer(at(1000), &mut wire);
    (1..=5).for_each(|next| sender.on_ack(next, at(1100 + u64::from(next)), &mut wire));
    assert_eq!(sent(&mut wire), first);
    assert!(sender.is_finished());
}

#[test]
fn more_data_after_silence_go_out_by_the_window_as_it_stands() {
    let (mut sender, mut wire) = (sender(), Wire::default());
    sender.write(10_000);
    sender.start(at(0), &mut wire);
    (1..=10).for_each(|next| sender.on_ack(next, at(100), &mut wire));
    assert_eq!((sent(&mut wire).len(), sender.cwnd(), sender.retransmission_at()), (10, 20.0, None));
    // Late duplicates mean nothing while nothing is outstanding.
    (0..5).for_each(|_| sender.on_ack(10, at(200), &mut wire));
    assert_eq!((sent(&mut wire).len(), sender.counters().window_cuts), (0, 0));
    sender.write(30_000);
    sender.start(at(300), &mut wire);
    assert_eq!(sent(&mut wire).len(), 20);
    assert!(sender.retransmission_at().is_some());
}

#[test]
fn the_next_connection_begins_anew_and_counts_on() {
    let (mut sender, mut wire) = (sender(), Wire::default());
    sender.write(3500);
    sender.start(at(0), &mut wire);
    (1..=4).for_each(|next| sender.on_ack(next, at(100), &mut wire));
    let mut next = sender.reopened(Span::ZERO, 2);
    assert_eq!((next.una(), next.end(), next.cwnd(), next.counters().sent), (0, 0, 10.0, 4));
    wire.0.clear();
    next.write(500);
    next.start(at(200), &mut wire);
    assert_eq!(sent(&mut wire), [(0, 540)]);
    assert_eq!(next.counters().sent, 5);
}

/// ns-2's FACK (tcp-fack.cc `retran_data_`): a hole that is filled before recovery begins, and again as it does.
#[test]
fn a_packet_that_fack_retransmits_twice_is_counted_in_flight_twice_and_taken_off_once() {
    let config = Config { payload: 1000, initial_window: 4, ..Config::new(Profile::Ns2) };
    let config = Config { variant: Variant::Fack, syn: None, ..config };
    let (mut sender, mut wire) = (Sender::new(Arc::new(config), Some(4), Span::ZERO, 1), Wire::default());
    sender.start(at(0), &mut wire);
    let numbers = |wire: &mut Wire| sent(wire).into_iter().map(|(seq, _)| seq).collect::<Vec<_>>();
    assert_eq!(numbers(&mut wire), [0, 1, 2, 3]);
    // Packet 1 is lost: the acknowledgement of 0 tells that 2 has come, which leaves too few beyond the hole for a recovery.
    sender.on_ack_with(1, at(0), &[Block { start: 2, end: 3 }], at(100), &mut wire);
    assert_eq!(numbers(&mut wire), []);
    sender.write(3000);
    sender.start(at(110), &mut wire);
    assert_eq!(numbers(&mut wire), [1, 4, 5]);
    for end in 4..=5 {
        sender.on_ack_with(1, at(0), &[Block { start: 2, end }], at(120), &mut wire);
    }
    assert_eq!((numbers(&mut wire), sender.cwnd()), (vec![1], 1.0));
    // Packet 5 is in flight, and one of packet 1 is believed to be: of a window of two nothing leaves.
    sender.on_ack_with(5, at(110), &[], at(210), &mut wire);
    assert_eq!((numbers(&mut wire), sender.cwnd()), (vec![], 2.0));
}

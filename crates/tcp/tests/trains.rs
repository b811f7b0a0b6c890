//! Trains of a whole connection over a pipe, worked by hand.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use crate::conversation::{Conversation, Wire, converse_over};
use crate::write_xmit::{Kernel, Known};
use paceline_core::{Instant, Span};
use paceline_tcp::{Config, HostPacing, PacingRule, Profile, Receiver, Reply, Sender, Variant};
use std::sync::Arc;

/// Slow start without end, a packet of 1000 B acknowledged by itself.
fn config() -> Config {
    Config {
        variant: Variant::Rfc6675,
        payload: 1000,
        max_window: 1000,
        syn: None,
        initial_window: 16,
        gso: Some(10),
        ..Config::new(Profile::Rfc)
    }
}

fn sizes(talk: &Conversation) -> Vec<usize> {
    talk.sent.chunk_by(|one, other| one.0 == other.0).map(<[_]>::len).collect()
}

/// The acknowledgements of a window all come at one instant over a pipe. The first lets two packets out, by slow start, and so does each
/// that follows: none waits, since the last packets left a round trip before.
#[test]
fn what_left_long_ago_is_followed_at_once() {
    let talk = converse_over(10, config(), 200, |_| false);
    assert_eq!(sizes(&talk), [16, 32, 64, 88]);
    assert_eq!(talk.sender.counters().retransmits, 0);
}

/// A paced connection releases a train at a time, and what follows waits for as long as the train takes at the rate: with a round trip of
/// 40 ms and ten packets the ideal rule sends 250 packets a second, 256 B in 1.024 ms, so trains have two packets.
#[test]
fn a_paced_train_waits_as_long_as_it_is() {
    let pacing = Some(HostPacing { rule: PacingRule::Ideal, gain: 1.0, jitter: 0.0, quantum: None });
    let times = |gso| {
        let config = Config { pacing, gso, max_window: 10, initial_window: 10, ..config() };
        let talk = converse_over(20, config, 60, |_| false);
        let later: Vec<(u64, usize)> = talk
            .sent
            .chunk_by(|one, other| one.0 == other.0)
            .map(|train| (train[0].0, train.len()))
            .filter(|(at, _)| *at > 40)
            .collect();
        later
    };
    let single = times(None);
    assert!(single.iter().all(|(_, packets)| *packets == 1), "{single:?}");
    assert!(single.windows(2).all(|two| two[1].0 - two[0].0 == 4), "{single:?}");
    let pairs = times(Some(10));
    assert!(pairs.iter().all(|(_, packets)| *packets <= 2), "{pairs:?}");
    assert!(pairs.iter().filter(|(_, packets)| *packets == 2).count() > 15, "{pairs:?}");
    assert!(pairs.windows(2).all(|two| two[1].0 - two[0].0 == 4 * two[0].1 as u64), "{pairs:?}");
}

/// A receiver that joins packets answers a window that came at one instant once, a millisecond later, however long it is up to 64 KB.
#[test]
fn a_window_that_comes_at_once_is_answered_once() {
    let joins = Config { gro: Some(Span::from_millis(1)), ..config() };
    let talk = converse_over(10, joins, 200, |_| false);
    // 16 packets, one acknowledgement: the window grows by one packet, for an acknowledgement, to 17.
    assert_eq!(sizes(&talk)[..3], [16, 17, 18]);
    let times: Vec<u64> = talk.sent.chunk_by(|one, other| one.0 == other.0).map(|train| train[0].0).collect();
    assert_eq!(times[..3], [0, 21, 42]);
}

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

/// Packets arrive at a receiver that joins for a millisecond: number, sent and arrival in us. What it answers: when, up
/// to which packet, and what it echoes.
fn answers(config: &Config, packets: &[(u32, u64, u64)]) -> Vec<(u64, u32, u64)> {
    let mut receiver = Receiver::with(config, 0);
    let mut answers = Vec::new();
    for (seq, sent, now) in packets.iter().copied().chain([(u32::MAX, 0, 1_000_000)]) {
        while let Some(due) = receiver.due().filter(|due| *due < at(now)) {
            let feedback = receiver.on_timer(due);
            answers.extend(feedback.map(|feedback| (due, receiver.next(), feedback.echo)));
        }
        if seq == u32::MAX {
            break;
        }
        let before = receiver.on_joinable(seq, at(sent), 0, at(now));
        answers.extend(before.map(|feedback| (at(now), receiver.next(), feedback.echo)));
        receiver.on_data(seq);
        if let Reply::Now(feedback) = receiver.reply(seq, at(sent), at(now)) {
            answers.push((at(now), receiver.next(), feedback.echo));
        }
    }
    answers.iter().map(|(now, next, echo)| (now.as_nanos() / 1_000, *next, echo.as_nanos() / 1_000)).collect()
}

fn joins(delayed_ack: Option<Span>) -> Config {
    Config {
        gro: Some(Span::from_millis(1)),
        delayed_ack,
        quick_acks: 0,
        push: 0,
        timestamps: false,
        ..config()
    }
}

/// Packets 1 to 3 come within the wait and are answered at its end; 6 does not continue 4, which is answered before it.
/// Each answer echoes the earliest packet not yet acknowledged (RFC 7323 section 4.3).
#[test]
fn what_does_not_continue_a_train_sends_its_answer_first() {
    let packets = [
        (0, 1, 2),
        (1, 5, 2_100),
        (2, 6, 2_600),
        (3, 7, 3_500),
        (4, 8, 4_600),
        (6, 9, 4_700),
        (7, 10, 4_800),
    ];
    let found = answers(&joins(None), &packets);
    assert_eq!(found, [(1_002, 1, 1), (4_500, 4, 5), (4_700, 5, 8), (5_800, 5, 8)]);
}

/// With a delayed acknowledgement every second packet is answered, trains of two or more at once, and a single one
/// after 200 ms (RFC 5681 section 4.2).
#[test]
fn trains_are_answered_at_once_and_single_packets_in_pairs() {
    let ms = |ms: u64| ms * 1_000;
    // A first packet, singles 10 ms apart, a train of three, a single.
    let mut packets = vec![(0, 0, 100)];
    packets
        .extend((1..=6).map(|seq| (seq, ms(300 + 10 * u64::from(seq)), ms(300 + 10 * u64::from(seq)) + 100)));
    packets.extend((7..10).map(|seq| (seq, ms(370), ms(370) + 100)));
    packets.push((10, ms(380), ms(380) + 100));
    let found = answers(&joins(Some(Span::from_millis(200))), &packets);
    let expected = [(201, 1, 0), (321, 3, 310), (341, 5, 330), (361, 7, 350), (371, 10, 370), (581, 11, 380)];
    assert_eq!(found, expected.map(|(at, next, echo)| (ms(at) + 100, next, ms(echo))));
}

/// A train of 64 KB goes on at once, and so does one whose last packet carries PSH; the next begins a wait of its own.
#[test]
fn a_full_train_and_the_end_of_a_write_wait_for_nothing() {
    let large = Config { payload: 30_000, ..joins(None) };
    let packets = [(0, 0, 10), (1, 1, 2_100), (2, 2, 2_200), (3, 3, 2_300)];
    assert_eq!(answers(&large, &packets), [(1_010, 1, 0), (2_200, 3, 1), (3_300, 4, 3)]);
    let mut receiver = Receiver::with(&joins(None), 0);
    for (seq, pushes) in [(0, false), (1, true), (2, false)] {
        assert_eq!(receiver.on_joinable(seq, at(1), 0, at(100)), None);
        if pushes {
            receiver.on_push();
        }
        receiver.on_data(seq);
        assert_eq!(receiver.reply(seq, at(1), at(100)) != Reply::Later, pushes, "{seq}");
    }
    // A timer that comes late answers what waits, too.
    let late = receiver.on_timer(at(5_000)).unwrap();
    assert_eq!((late.echo, receiver.due()), (at(1), None));
}

/// Linux's rate of a connection that is not paced is 1.2 windows a round trip once the window is half of ssthresh
/// (`tcp_update_pacing_rate`); its trains are 1/1024 s of that, and 65,215 B / 2^(rtt / 512 us) more. The last packet
/// of a train of several carries PSH.
#[test]
fn trains_of_an_unpaced_connection_follow_its_rate() {
    for (round_trip_us, window, expected) in
        [(40_000_u64, 400, 11), (40_000, 200, 5), (3_000, 40, 17), (40_000, 40, 2)]
    {
        let config = Config {
            payload: 1448,
            initial_window: window,
            initial_ssthresh: Some(window),
            max_window: 1000,
            gso: Some(45),
            ..config()
        };
        // 1448 B * window * 1.2 / rtt / 1024, and the addition
        let rate = 1448.0 * f64::from(window) * 1.2 / (round_trip_us as f64 * 1e-6);
        let bytes =
            rate / 1024.0 + f64::from(65_215_u32.checked_shr((round_trip_us >> 9) as u32).unwrap_or(0));
        assert_eq!(((bytes / 1448.0) as u32).max(2), expected, "by hand");
        let (mut sender, mut wire) = (Sender::new(Arc::new(config), None, Span::ZERO, 1), Wire::default());
        sender.start(Instant::ZERO, &mut wire);
        // All but a few are acknowledged at once, and the window leaves together, but for what waits for a longer
        // train.
        wire.0.clear();
        sender.on_ack(sender.end() - 1, at(round_trip_us), &mut wire);
        let sent: Vec<u32> = wire.0.iter().map(|segment| segment.seq).collect();
        let ends: Vec<u32> = sent.iter().copied().filter(|seq| sender.ends_train(*seq)).collect();
        let trains: Vec<u32> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // No train is longer; the quota is half of the window where that is less, and buffers end at multiples of 45.
        let most = expected.min(window / 2);
        assert_eq!(trains.iter().max().copied().unwrap_or(ends[0] + 1 - sent[0]), most, "{window}: {ends:?}");
    }
}

/// Draws from 0 to `below`: a linear congruential generator of Knuth's.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// A connection of so many packets against `tcp_write_xmit` at each acknowledgement. These cover one packet, up to `covers`, and come a round
/// trip after the last of them or up to `late` later, us. Returns how many trains left, and how often a window was not used up.
fn every_train(
    seed: u64,
    config: &Config,
    packets: u32,
    (round_trip, late, covers): (u64, u64, u64),
) -> [u32; 2] {
    let mut kernel = Kernel::new(packets, config.payload.into(), config.gso.unwrap(), config.max_window);
    let (mut sender, mut wire) =
        (Sender::new(Arc::new(config.clone()), Some(packets.into()), Span::ZERO, 1), Wire::default());
    let (mut random, mut now, mut min_rtt) = (seed, 1_000, None::<u64>);
    let mut found = [0, 0];
    sender.start(at(now), &mut wire);
    loop {
        let known = Known {
            snd_cwnd: sender.cwnd() as u32,
            snd_ssthresh: sender.ssthresh(),
            srtt: Span::from_seconds(sender.srtt_s().unwrap_or(0.0)).as_nanos(),
            min_rtt,
        };
        let before = kernel.snd_nxt;
        let trains = kernel.tcp_write_xmit(known, now * 1_000);
        let sent: Vec<u32> = wire.0.drain(..).map(|segment| segment.seq).collect();
        let told = format!("seed {seed}, at {now} us, {known:?}, {} in flight", before - kernel.snd_una);
        assert_eq!(sent, (before..kernel.snd_nxt).collect::<Vec<_>>(), "{told}");
        // The last packet of several has PSH (`__tcp_transmit_skb`).
        let pushed: Vec<u32> = sent.into_iter().filter(|seq| sender.ends_train(*seq)).collect();
        let ends = trains.iter().scan(before, |end, train| {
            *end += train;
            Some((*end - 1, *train))
        });
        assert_eq!(
            pushed,
            ends.filter(|(_, train)| *train > 1).map(|(end, _)| end).collect::<Vec<_>>(),
            "{told}"
        );
        let in_flight = kernel.snd_nxt - kernel.snd_una;
        found[0] += trains.len() as u32;
        found[1] += u32::from(!kernel.queue.is_empty() && in_flight < known.snd_cwnd.min(kernel.snd_wnd));
        if in_flight == 0 {
            return found;
        }
        let covered = 1 + draw(&mut random, covers.min(in_flight.into())) as u32;
        let (first, last) = (kernel.snd_una, kernel.snd_una + covered - 1);
        now = now.max(kernel.tstamp[last as usize] / 1_000 + round_trip) + draw(&mut random, late + 1);
        let echo = Instant::from_nanos(kernel.tstamp[first as usize]);
        let sample = now - echo.as_nanos() / 1_000;
        min_rtt = Some(min_rtt.map_or(sample, |least| least.min(sample)));
        kernel.snd_una += covered;
        sender.on_ack_with(kernel.snd_una, echo, &[], at(now), &mut wire);
    }
}

/// Every train of 400 connections is the kernel's, from the first window to the last packet.
#[test]
fn every_train_is_that_of_tcp_write_xmit() {
    let mut found = [0, 0];
    for seed in 0..400 {
        let mut random = seed;
        let mut one_of = |choices: &[u32]| choices[draw(&mut random, choices.len() as u64) as usize];
        let config = Config {
            payload: one_of(&[536, 1448, 8948]),
            initial_window: one_of(&[4, 10, 30, 120]),
            initial_ssthresh: Some(one_of(&[2, 40, 2_000])),
            max_window: 5_000,
            gso: Some(one_of(&[2, 7, 22, 45])),
            timestamps: true,
            ..config()
        };
        let packets = one_of(&[3, 40, 41, 500]);
        let path = (one_of(&[150, 900, 3_000, 40_000]), one_of(&[0, 40, 900, 2_500]), one_of(&[1, 2, 12]));
        let [trains, waits] =
            every_train(seed, &config, packets, (path.0.into(), path.1.into(), path.2.into()));
        found = [found[0] + trains, found[1] + waits];
    }
    assert!(found[0] > 20_000 && found[1] > 4_000, "{found:?}");
}

/// `tcp_cwnd_test` halves the congestion window; of a smaller window of the receiver nothing is halved.
#[test]
fn a_train_has_half_of_the_congestion_window_at_most() {
    for (window, offered, expected) in [
        (30, 1_000, &[14, 29][..]), // two of 15
        (120, 20, &[19]),
    ] {
        let config = Config { initial_window: window, max_window: offered, gso: Some(45), ..config() };
        let (mut sender, mut wire) = (Sender::new(Arc::new(config), None, Span::ZERO, 1), Wire::default());
        sender.start(at(0), &mut wire);
        let ends: Vec<u32> = (0..sender.end()).filter(|seq| sender.ends_train(*seq)).collect();
        assert_eq!(ends, expected, "{window} {offered}");
    }
}

/// What is sent again is no part of a train of new data: that the last packet of one carries PSH stays so.
#[test]
fn a_retransmission_leaves_trains_as_they_are() {
    let config = Config { gso: Some(4), initial_window: 8, ..config() };
    let (mut sender, mut wire) = (Sender::new(Arc::new(config), Some(8), Span::ZERO, 1), Wire::default());
    sender.start(at(0), &mut wire);
    let ends = |sender: &Sender| (0..8).filter(|seq| sender.ends_train(*seq)).collect::<Vec<_>>();
    assert_eq!(ends(&sender), [3, 7]);
    wire.0.clear();
    sender.on_retransmission_timer(sender.retransmission_at().unwrap(), &mut wire);
    assert_eq!(wire.0.iter().map(|segment| segment.seq).collect::<Vec<_>>(), [0]);
    assert_eq!(ends(&sender), [3, 7]);
}

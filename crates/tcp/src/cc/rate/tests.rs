//! One connection over one bottleneck, and samples of the delivery rate worked by hand.

use super::*;
use crate::config::{Profile, Variant};
use crate::feedback::Block;
use crate::receiver::{Receiver, Reply};
use crate::segment::{Output, Segment};
use crate::sender::Sender;
use paceline_core::Span;
use std::collections::VecDeque;
use std::sync::Arc;

mod by_packet;
mod hooks;

pub(crate) const MS: u64 = 1_000_000;

#[derive(Default)]
struct Wire(Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// A sender, a queue in front of a link, a delay, a receiver that acknowledges each packet, and the way back. Times in nanoseconds.
pub(crate) struct Bottleneck {
    pub(crate) sender: Sender,
    receiver: Receiver,
    wire: Wire,
    pub(crate) now: u64,
    /// bit/s
    pub(crate) rate: u64,
    /// Of both directions.
    pub(crate) delay: u64,
    /// Packets that wait or are served at most.
    pub(crate) buffer: usize,
    /// A token bucket that drops instead of a queue: burst, and what is left of it, bytes.
    pub(crate) policer: Option<(f64, f64)>,
    policed_at: u64,
    /// Acknowledgements arrive at multiples of this only; 0 is at once.
    pub(crate) bunch: u64,
    /// Loses the packet that is sent with this number at this time.
    pub(crate) loses: Box<dyn FnMut(u32, u64) -> bool>,
    /// The application writes so many packets so often, beginning then.
    pub(crate) writes: Option<(u64, u64)>,
    next_write: u64,
    departures: VecDeque<u64>,
    data: VecDeque<(u64, u32, u64)>,
    acks: VecDeque<(u64, u32, Instant, Vec<Block>)>,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    pub(crate) arrived: u64,
}

impl Bottleneck {
    /// `megabits` a second, a round trip of `ms`, a buffer of so many packets; `packets` to send, or without end.
    pub(crate) fn new(variant: Variant, megabits: u64, ms: u64, buffer: usize, packets: Option<u64>) -> Self {
        let config =
            Config { delayed_ack: None, quick_acks: 0, ..Config::of_variant(Profile::Linux, variant) };
        let mut path = Bottleneck {
            receiver: Receiver::with(&config, 0),
            sender: Sender::new(Arc::new(config), packets, Span::ZERO, 7),
            wire: Wire::default(),
            now: 0,
            rate: megabits * 1_000_000,
            delay: ms * MS,
            buffer,
            policer: None,
            policed_at: 0,
            bunch: 0,
            loses: Box::new(|_, _| false),
            writes: None,
            next_write: u64::MAX,
            departures: VecDeque::new(),
            data: VecDeque::new(),
            acks: VecDeque::new(),
            sent: 0,
            lost: 0,
            arrived: 0,
        };
        path.sender.start(Instant::ZERO, &mut path.wire);
        path.transmit();
        path
    }

    /// BDP, packets.
    pub(crate) fn bdp(&self) -> f64 {
        self.rate as f64 * self.delay as f64 / 1e9 / 12_000.0
    }

    fn transmit(&mut self) {
        for segment in std::mem::take(&mut self.wire.0) {
            self.sent += 1;
            while self.departures.front().is_some_and(|at| *at <= self.now) {
                self.departures.pop_front();
            }
            let bits = u64::from(segment.bytes) * 8;
            if let Some((burst, tokens)) = &mut self.policer {
                let earned = (self.now - self.policed_at) as f64 / 1e9 * self.rate as f64 / 8.0;
                self.policed_at = self.now;
                *tokens = (*tokens + earned).min(*burst);
                if *tokens < f64::from(segment.bytes) {
                    self.lost += 1;
                    continue;
                }
                *tokens -= f64::from(segment.bytes);
            } else if self.departures.len() >= self.buffer {
                self.lost += 1;
                continue;
            }
            if (self.loses)(segment.seq, self.now) {
                self.lost += 1;
                continue;
            }
            let start = self.departures.back().map_or(self.now, |last| self.now.max(*last));
            let end =
                if self.policer.is_some() { self.now } else { start + bits * 1_000_000_000 / self.rate };
            if self.policer.is_none() {
                self.departures.push_back(end);
            }
            self.data.push_back((end + self.delay / 2, segment.seq, self.now));
        }
    }

    /// The next event. Returns whether there is one.
    pub(crate) fn step(&mut self) -> bool {
        let nanos = |at: Option<Instant>| at.map_or(u64::MAX, Instant::as_nanos);
        if let Some((_, every)) = self.writes
            && self.next_write == u64::MAX
        {
            self.next_write = self.now.next_multiple_of(every);
        }
        let data = self.data.front().map_or(u64::MAX, |(at, ..)| *at);
        let ack = self.acks.front().map_or(u64::MAX, |(at, ..)| *at);
        let (pace, timer) = (nanos(self.sender.pacing_at()), nanos(self.sender.retransmission_at()));
        let next = data.min(ack).min(pace).min(timer).min(self.next_write);
        if next == u64::MAX {
            return false;
        }
        self.now = self.now.max(next);
        let now = Instant::from_nanos(self.now);
        if next == data {
            let Some((_, seq, sent)) = self.data.pop_front() else { return false };
            self.arrived += 1;
            self.receiver.on_data(seq);
            if let Reply::Now(reply) = self.receiver.reply(seq, Instant::from_nanos(sent), now) {
                let at = self.now + self.delay - self.delay / 2;
                let at = if self.bunch > 0 { at.next_multiple_of(self.bunch) } else { at };
                self.acks.push_back((at, self.receiver.next(), reply.echo, reply.blocks().to_vec()));
            }
        } else if next == ack {
            let Some((_, next, echo, blocks)) = self.acks.pop_front() else { return false };
            self.sender.on_ack_with(next, echo, &blocks, now, &mut self.wire);
        } else if next == self.next_write {
            let (packets, every) = self.writes.unwrap_or((0, u64::MAX / 2));
            self.next_write = if packets > 0 { self.now + every } else { u64::MAX };
            if packets > 0 {
                self.sender.write(packets * u64::from(self.sender.config().payload));
                self.sender.start(now, &mut self.wire);
            }
        } else if next == pace {
            self.sender.on_pacing_timer(now, &mut self.wire);
        } else {
            self.sender.on_retransmission_timer(now, &mut self.wire);
        }
        self.transmit();
        true
    }

    /// Runs until something is true, at most for so long. Returns whether it became true.
    pub(crate) fn until(&mut self, ms: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now + ms * MS;
        loop {
            if done(self) {
                return true;
            }
            if self.now >= end || !self.step() {
                return false;
            }
        }
    }

    pub(crate) fn run(&mut self, ms: u64) {
        let end = self.now + ms * MS;
        self.until(ms, |path| path.now >= end);
    }

    /// Packets that wait or are served now.
    pub(crate) fn queue(&self) -> usize {
        self.departures.iter().filter(|at| **at > self.now).count()
    }

    /// The share of the link that data took from now on, for so long.
    pub(crate) fn utilisation(&mut self, ms: u64) -> f64 {
        let before = self.arrived;
        self.run(ms);
        (self.arrived - before) as f64 * 12_000.0 / (self.rate as f64 * ms as f64 / 1000.0)
    }
}

impl<M> ByRate<M> {
    pub(crate) fn model(&self) -> &M {
        &self.0.model
    }

    pub(crate) fn rates(&self) -> &Sampler {
        &self.0.rates
    }
}

fn ack(ms: u64, (next, delivered): (u32, u32), in_flight: u32) -> RateAck {
    RateAck {
        now: Instant::from_nanos(ms * MS),
        next,
        echo: None,
        delivered,
        lost: 0,
        prior_in_flight: in_flight + delivered,
        in_flight,
        ca_state: CaState::Open,
        srtt: 0.1,
        paced_until: Instant::MAX,
    }
}

/// Packets 0 to 9 are sent a millisecond apart; acknowledgements come 100 ms later, two together.
#[test]
fn a_sample_takes_the_longer_interval() {
    let mut rates = Sampler::default();
    for seq in 0..10 {
        rates.send(seq, Instant::from_nanos(u64::from(seq) * MS));
    }
    // Packets 0 and 1 arrive. They were sent before anything was delivered: nothing shows an interval but the time since the start.
    rates.arrive(0, 2, false);
    let first = rates.sample(&ack(102, (2, 2), 8));
    assert_eq!((first.delivered, first.interval_us, first.rtt_us), (Some(2), Some(102_000), Some(101_000)));
    // Packet 10 leaves now, and arrives at 210 ms with all others: nine packets since 102 ms. Packet 1 was sent at 1 ms.
    rates.send(10, Instant::from_nanos(102 * MS));
    rates.arrive(2, 11, false);
    let second = rates.sample(&ack(210, (11, 9), 0));
    assert_eq!((second.prior_delivered, second.delivered, second.interval_us), (2, Some(9), Some(108_000)));
}

/// Acknowledgements that were bunched on their way arrive faster than packets were sent: the sending interval counts.
#[test]
fn bunched_acknowledgements_do_not_raise_the_rate() {
    let mut rates = Sampler::default();
    for seq in 0..3 {
        rates.send(seq, Instant::from_nanos(u64::from(seq) * 200 * MS));
        rates.arrive(seq, seq + 1, false);
        rates.sample(&ack(u64::from(seq) * 200 + 100, (seq + 1, 1), 0));
    }
    rates.send(3, Instant::from_nanos(600 * MS));
    rates.send(4, Instant::from_nanos(900 * MS));
    rates.arrive(3, 4, false);
    rates.sample(&ack(1000, (4, 1), 1));
    rates.arrive(4, 5, false);
    let sample = rates.sample(&ack(1001, (5, 1), 0));
    // Both were sent when 3 packets had been delivered: 2 in the 300 ms from 600 to 900 ms, or since the start of the flight at 600 ms.
    assert_eq!((sample.delivered, sample.interval_us), (Some(2), Some(401_000)));
}

/// The retransmission was sent last: it is the one that counts, and shows no round trip without timestamps.
#[test]
fn a_retransmission_counts_from_when_it_was_sent() {
    let mut rates = Sampler::default();
    (0..4).for_each(|seq| _ = rates.send(seq, Instant::from_nanos(0)));
    rates.arrive(1, 4, true);
    let sample = rates.sample(&ack(100, (0, 3), 1));
    assert_eq!((sample.delivered, sample.rtt_us), (Some(3), Some(100_000)));
    rates.lose();
    let lost = rates.last(0).expect("it was sent");
    assert_eq!((lost.seq(), lost.in_flight, rates.lost), (0, 1, 1));
    rates.resend(0, Instant::from_nanos(101 * MS));
    rates.arrive(0, 1, false);
    let sample = rates.sample(&ack(201, (4, 1), 0));
    assert_eq!((sample.prior_delivered, sample.delivered, sample.interval_us), (3, Some(1), Some(101_000)));
    assert_eq!((sample.rtt_us, sample.lost_since), (None, 0));
    let echo = Some(Instant::from_nanos(100_900_000));
    (4..6).for_each(|seq| _ = rates.send(seq, Instant::from_nanos(202 * MS)));
    rates.resend(4, Instant::from_nanos(300 * MS));
    rates.arrive(4, 5, false);
    let by_echo = rates.sample(&RateAck { echo, ..ack(305, (5, 1), 1) });
    assert_eq!(by_echo.rtt_us, Some(205_000), "in whole milliseconds");
}

/// What was sent while the application had too little is marked, until that has arrived.
#[test]
fn samples_are_limited_by_the_application_until_the_gap_has_passed() {
    let mut rates = Sampler::default();
    rates.send(0, Instant::from_nanos(0));
    rates.limit(1);
    rates.send(1, Instant::from_nanos(MS));
    rates.arrive(0, 1, false);
    assert!(!rates.sample(&ack(100, (1, 1), 1)).is_app_limited);
    assert!(rates.is_limited(), "no more than one is delivered");
    rates.arrive(1, 2, false);
    assert!(rates.sample(&ack(101, (2, 1), 0)).is_app_limited);
    assert!(!rates.is_limited());
}

/// Laws of whole connections over random paths: every packet is delivered once, and no sample exceeds the link.
mod laws {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn a_transfer_ends_at_no_more_than_the_rate_of_the_link(
            variant in prop::sample::select(vec![Variant::Bbr, Variant::Bbr3]),
            megabits in 1_u64..40, ms in 1_u64..80, buffer in 1_usize..200, every in 0_u32..60, packets in 1_u64..3000,
        ) {
            let mut path = Bottleneck::new(variant, megabits, ms, buffer, Some(packets));
            let mut count = 0;
            path.loses = Box::new(move |_, _| {
                count += 1;
                every > 2 && count % every == 0
            });
            prop_assert!(path.until(4_000_000, |path| path.sender.is_finished()));
            let least = packets as f64 * 12_000.0 / path.rate as f64 + path.delay as f64 / 1e9;
            prop_assert!(path.now as f64 / 1e9 >= least);
            prop_assert!(path.sender.counters().sent <= path.sent);
        }
    }
}

//! The receiver against a set of what has arrived: what it delivers, and what its acknowledgements report (RFC 2018 section 4).

use paceline_core::Instant;
use paceline_tcp::{Block, Config, Feedback, Profile, Receiver, Reply, Variant};
use std::collections::BTreeSet;

/// A deterministic draw, uniform in 0..below.
struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 32)) % below
    }
}

/// The rules in words.
#[derive(Default)]
struct Model {
    next: u32,
    beyond: BTreeSet<u32>,
    /// Blocks reported, the latest first.
    reported: Vec<Block>,
}

impl Model {
    fn on_data(&mut self, seq: u32) -> u32 {
        let before = self.next;
        if seq >= self.next {
            self.beyond.insert(seq);
        }
        while self.beyond.remove(&self.next) {
            self.next += 1;
        }
        self.next - before
    }

    fn run(&self, seq: u32) -> Block {
        let (mut start, mut end) = (seq, seq + 1);
        while start > 0 && self.beyond.contains(&(start - 1)) {
            start -= 1;
        }
        while self.beyond.contains(&end) {
            end += 1;
        }
        Block { start, end }
    }

    /// First the block of what has just arrived, unless that is acknowledged; then those reported last that are no part of it.
    fn report(&mut self, seq: u32) -> Vec<Block> {
        if self.beyond.is_empty() {
            self.reported.clear();
            return Vec::new();
        }
        let is_news = seq >= self.next;
        let latest = if is_news { self.run(seq) } else { Block { start: 0, end: self.next } };
        let is_other = |block: &Block| block.start < latest.start || block.end > latest.end;
        let others = self.reported.iter().copied().filter(is_other);
        let blocks: Vec<Block> = is_news.then_some(latest).into_iter().chain(others).take(3).collect();
        self.reported.clone_from(&blocks);
        blocks
    }
}

fn config(variant: Variant) -> Config {
    Config { variant, ..Config::new(Profile::Ns2) }
}

fn reports(reply: Reply) -> Feedback {
    match reply {
        Reply::Now(feedback) => feedback,
        _ => unreachable!("nothing is delayed"),
    }
}

#[test]
fn it_delivers_and_reports_as_a_set_does() {
    for (seed, reach) in [(1, 8), (2, 40), (3, 63), (4, 150), (5, 1_500)] {
        let (mut receiver, mut model) = (Receiver::with(&config(Variant::Sack1), 0), Model::default());
        let mut draws = Draws(seed);
        for step in 0..4_000 {
            // Mostly in order; else ahead, or again.
            let ahead = match draws.below(4) {
                0 => draws.below(reach) as u32,
                1 => draws.below(4) as u32,
                _ => 0,
            };
            let seq = (receiver.next() + ahead).saturating_sub(u32::from(draws.below(50) == 0));
            let is_near = ahead > 0 && seq > receiver.next() && draws.below(2) == 0;
            let delivered = if is_near {
                receiver.hold(seq); // what comes after the one waited for may be held without asking
                0
            } else {
                receiver.on_data(seq)
            };
            assert_eq!(delivered, model.on_data(seq), "step {step}, packet {seq}");
            assert_eq!(receiver.next(), model.next);
            let feedback = reports(receiver.reply(seq, Instant::ZERO, Instant::ZERO));
            assert_eq!(feedback.blocks(), model.report(seq), "step {step}, packet {seq}, reach {reach}");
        }
    }
}

/// A packet near the one waited for may be taken in without a guess which it is; where more is held than a word has bits for, not.
#[test]
fn what_is_near_is_taken_in_without_a_guess() {
    let (mut receiver, mut model) = (Receiver::new(), Model::default());
    for seq in [0, 2, 1, 3, 66, 5, 4] {
        let delivered = receiver.on_near(seq);
        assert_eq!(delivered, Some(model.on_data(seq)), "{seq}");
    }
    receiver.on_data(500);
    assert_eq!(receiver.on_near(7), None);
    assert_eq!((receiver.next(), receiver.on_data(6)), (6, 1));
}

#[test]
fn a_plain_receiver_has_nothing_to_say_but_a_number() {
    let with = |variant, timestamps| Receiver::with(&Config { timestamps, ..config(variant) }, 0);
    assert!(Receiver::new().is_cumulative() && with(Variant::Reno, false).is_cumulative());
    assert!(!with(Variant::Reno, true).is_cumulative() && !with(Variant::Sack1, false).is_cumulative());
}

/// RFC 7323 section 4.3: the time of the earliest packet that is not acknowledged is echoed; [`Receiver::echo`] is the fast path.
#[test]
fn the_echo_is_that_of_the_earliest_packet_not_acknowledged() {
    let settings = Config { timestamps: true, ..config(Variant::Sack1) };
    let (mut short, mut long) = (Receiver::with(&settings, 0), Receiver::with(&settings, 0));
    let at = |seq: u32| Instant::from_nanos(1_000 + u64::from(seq));
    for seq in [0, 1, 2, 5, 3, 6, 4, 7, 8] {
        short.on_data(seq);
        long.on_data(seq);
        let all = reports(long.reply(seq, at(seq), Instant::ZERO));
        let alone = short.echo(seq, at(seq));
        // 5 waits for 3 and 4: the echo stays that of 2, then 3; the reports are read.
        assert_eq!(alone.is_some(), [0, 1, 2, 4, 7, 8].contains(&seq), "{seq}");
        let echo = alone.unwrap_or_else(|| reports(short.reply(seq, at(seq), Instant::ZERO)).echo);
        assert_eq!(echo, all.echo, "{seq}");
        let expected = match seq {
            5 => at(2),
            6 => at(3),
            _ => at(seq),
        };
        assert_eq!(echo, expected, "{seq}");
    }
    assert_eq!(Receiver::new().echo(0, at(0)), None);
}

/// `tcp_dsack_set`: below the acknowledgement, and within a block, which follows; of a sender without RACK nothing reads it.
#[test]
fn a_packet_that_comes_twice_is_reported_first() {
    let linux = Config { variant: Variant::Rfc6675, delayed_ack: None, ..Config::new(Profile::Linux) };
    let steps: [(u32, &[(u32, u32)]); 9] = [
        (0, &[]),
        (1, &[]),
        (1, &[(1, 2)]),
        (2, &[]),
        (4, &[(4, 5)]),
        (6, &[(6, 7), (4, 5)]),
        (4, &[(4, 5), (4, 5), (6, 7)]),
        (1, &[(1, 2), (4, 5), (6, 7)]),
        (3, &[(6, 7)]),
    ];
    for rack in [true, false] {
        let mut receiver = Receiver::with(&Config { rack, ..linux.clone() }, 1);
        for (place, (seq, expected)) in steps.into_iter().enumerate() {
            let now = Instant::from_nanos(1_000_000 * place as u64);
            receiver.on_data(seq);
            let blocks = match receiver.echo(seq, now) {
                Some(_) => vec![],
                None => match receiver.reply(seq, now, now) {
                    Reply::Now(feedback) => feedback.blocks().to_vec(),
                    Reply::Later => panic!("it is not delayed"),
                },
            };
            let blocks: Vec<_> = blocks.iter().map(|block| (block.start, block.end)).collect();
            let is_twice = [2, 6, 7].contains(&place);
            assert_eq!(
                blocks,
                if is_twice && !rack { &expected[1..] } else { expected },
                "{rack}: packet {seq}, step {place}"
            );
        }
    }
}

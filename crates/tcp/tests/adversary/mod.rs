//! A path that treats a sender, and a receiver, as bytes determine, which a fuzzer or a property test generates.

use paceline_core::{Instant, Span};
use paceline_tcp::config::{EcnMode, EcnRule, Halving, HyStartMode, IdleRestart, Recovery};
use paceline_tcp::{
    Block, Config, Constants, Feedback, HostPacing, Output, PacingRule, Profile, Receiver, Reply, Segment,
    Sender, Variant,
};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// One way over the clean path, nanoseconds.
const ONE_WAY: u64 = 50_000_000;

/// The bytes, read one after another; zeros after the last.
struct Story<'a>(&'a [u8]);

impl Story<'_> {
    fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// From 0 to `most`.
    fn below(&mut self, most: u32) -> u32 {
        u32::from(u16::from_le_bytes([self.byte(), self.byte()])) % (most + 1)
    }

    fn one_of<T: Copy>(&mut self, all: &[(&str, T)]) -> T {
        all[usize::from(self.byte()) % all.len()].1
    }

    fn config(&mut self) -> Config {
        let mut config = Config::new(self.one_of(&Profile::ALL));
        config.variant = self.one_of(&Variant::ALL);
        config.max_window = 1 + self.below(80);
        config.initial_window = 1 + self.below(20);
        if self.flag() {
            config.initial_ssthresh = Some(1 + self.below(80));
        }
        if self.flag() {
            let rule = self.one_of(&PacingRule::ALL);
            let jitter = if self.flag() { 0.3 } else { 0.0 };
            config.pacing = Some(HostPacing { rule, gain: 1.0, jitter, quantum: None });
        }
        if self.flag() {
            return config; // as the profile has it
        }
        config.syn = self.flag().then_some(40);
        config.delayed_syn_ack = self.flag();
        config.delayed_ack = self.flag().then_some(Span::from_millis(100));
        config.sack_blocks = 1 + self.below(3);
        config.timestamps = self.flag();
        config.timestamps_end_back_off = self.flag();
        config.duplicate_threshold = 1 + self.below(4);
        config.limited_transmit = self.flag();
        config.count_packets = self.flag();
        config.rack = self.flag();
        config.recovery = self.one_of(&Recovery::ALL);
        config.data_with_syn = self.flag();
        config.min_rto_beyond_srtt = self.flag();
        config.max_burst = if self.flag() { 1 + self.below(5) } else { u32::MAX };
        config.overhead = if self.flag() { Span::from_millis(1) } else { Span::ZERO };
        config.min_rto_backs_off = self.flag();
        config.halving = self.one_of(&Halving::ALL);
        config.fractional_halving = self.flag();
        config.careful = self.flag();
        config.less_careful = self.flag();
        config.first_packet_fix = self.flag();
        config.impatient = self.flag();
        config.partial_deflation = self.flag();
        config.full_ack_deflation = self.flag();
        config.partial_ack = self.flag();
        config.constants = self.one_of(&Constants::ALL);
        config.hystart = self.one_of(&HyStartMode::ALL);
        config.idle_restart = self.one_of(&IdleRestart::ALL);
        // One byte for both: kept stories stay what they are but for this.
        (config.ecn, config.ecn_rule) = self.one_of(&[
            ("off", (EcnMode::Off, EcnRule::Rfc3168)),
            ("rfc3168", (EcnMode::Rfc3168, EcnRule::Rfc3168)),
            ("dctcp", (EcnMode::Dctcp, EcnRule::Rfc3168)),
            ("ns2", (EcnMode::Rfc3168, EcnRule::Ns2)),
            ("accecn", (EcnMode::Accurate, EcnRule::Rfc3168)),
        ]);
        config.gso = self.flag().then(|| 2 + self.below(43));
        config.gro = self.flag().then(|| Span::from_nanos(300_000));
        config.ack_every = 2 + self.below(3);
        // By the byte before: kept stories stay what they are but for this.
        config.tsq = (config.ack_every == 3).then_some(9_000);
        config.cut_once = config.ack_every == 4;
        config
    }
}

#[derive(Default)]
struct Wire(Vec<Segment>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// A sender with arbitrary acknowledgements at arbitrary times: it sends nothing outside the receiver's window and nothing that was
/// not written. Afterwards the path is clean, and the receiver holds what it has claimed, or (reneging, as RFC 2018 allows) nothing
/// beyond what it acknowledged: the connection ends.
pub(crate) fn torment_sender(story: &[u8]) {
    let mut story = Story(story);
    let config = story.config();
    let packets = 1 + story.below(300);
    let mut limit = packets + u32::from(config.syn.is_some());
    let reneges = story.flag();
    let mut sender = Sender::new(Arc::new(config), Some(u64::from(packets)), Span::ZERO, 3);
    let mut wire = Wire::default();
    let mut claimed = BTreeSet::new();
    let mut now = Instant::ZERO;
    sender.start(now, &mut wire);
    check(&mut sender, &mut wire, (limit, now));
    while !story.is_over() {
        now += Span::from_nanos(u64::from(story.below(u32::MAX >> 16)) * 8_000);
        let number = story.below(120);
        let echoes = sender.config().ecn != EcnMode::Off && number % 3 == 0;
        match story.byte() % 7 {
            0 => {
                let (next, feedback) =
                    (sender.una() + number, claims(&mut story, &sender, now, &mut claimed));
                sender.on_ecn_echo(next, echoes);
                sender.on_ack_with(next, feedback.echo, feedback.blocks(), now, &mut wire); // perhaps beyond what was sent
            }
            1 => {
                let next = (sender.una() + number % 3).min(sender.end());
                let feedback = claims(&mut story, &sender, now, &mut claimed);
                sender.on_ecn_echo(next, echoes);
                sender.on_ack_with(next, feedback.echo, feedback.blocks(), now, &mut wire);
            }
            2 => {
                let next = sender.una().saturating_sub(number % 4); // a duplicate, or an old one
                let feedback = claims(&mut story, &sender, now, &mut claimed);
                sender.on_ecn_echo(next, echoes);
                sender.on_ack_with(next, feedback.echo, feedback.blocks(), now, &mut wire);
            }
            3 => sender.on_ack(sender.una().wrapping_sub(u32::from(story.flag())), now, &mut wire),
            4 => sender.on_retransmission_timer(now, &mut wire),
            5 => {
                limit = sender.write(u64::from(number) * 100);
                sender.start(now, &mut wire);
            }
            _ => sender.on_pacing_timer(now, &mut wire),
        }
        check(&mut sender, &mut wire, (limit, now));
    }
    let held = if reneges { BTreeSet::new() } else { claimed };
    end_over_a_clean_path(sender, &held, now, limit);
}

/// Blocks about the window, some of packets that were never sent, and an echo of some time.
fn claims(story: &mut Story<'_>, sender: &Sender, now: Instant, claimed: &mut BTreeSet<u32>) -> Feedback {
    let ago = u64::from(story.byte()) * 1_000_000;
    let mut feedback = Feedback::new(Instant::from_nanos(now.as_nanos().saturating_sub(ago)));
    for _ in 0..story.byte() % 4 {
        let start = (sender.una() + story.below(90)).saturating_sub(5);
        let block = Block { start, end: start + story.below(12) };
        feedback.push(block);
        if block.end <= sender.end() {
            claimed.extend(block.start..block.end);
        }
    }
    feedback
}

/// What is sent is out of the host within two milliseconds.
fn check(sender: &mut Sender, wire: &mut Wire, (limit, now): (u32, Instant)) {
    let (una, end) = (sender.una(), sender.end());
    assert!(una <= end && end <= limit);
    let window = if sender.config().halves_rate() { u32::MAX - una } else { sender.config().max_window };
    assert!(end - una <= window);
    assert!(sender.cwnd() >= 0.0 && sender.cwnd().is_finite(), "{}", sender.cwnd());
    assert!(sender.ssthresh() >= 1);
    for segment in wire.0.drain(..) {
        assert!((una..una + window).contains(&segment.seq), "{segment:?}, una {una}");
        assert!(segment.seq < limit);
        sender.leaves_host(now + Span::from_millis(u64::from(segment.seq % 3)));
    }
    let waits = sender.retransmission_at().is_some() || sender.pacing_at().is_some();
    assert!(
        sender.is_finished() || waits,
        "nothing will ever be sent again: cwnd {}, {:?}",
        sender.cwnd(),
        sender.config()
    );
}

fn end_over_a_clean_path(mut sender: Sender, held: &BTreeSet<u32>, now: Instant, limit: u32) {
    let mut receiver = Receiver::with(sender.config(), 0);
    (0..sender.una()).chain(held.iter().copied()).for_each(|seq| {
        receiver.on_data(seq);
    });
    let mut wire = Wire::default();
    let mut now = now.as_nanos();
    let mut data: VecDeque<(u64, u64, u32)> = VecDeque::new();
    let mut acks: VecDeque<(u64, u32, Feedback)> = VecDeque::new();
    for _ in 0..100_000 {
        if sender.is_finished() {
            return;
        }
        let nanos = |at: Option<Instant>| at.map_or(u64::MAX, Instant::as_nanos);
        let arrival = data.front().map_or(u64::MAX, |(at, ..)| *at);
        let ack = acks.front().map_or(u64::MAX, |(at, ..)| *at);
        let (rto, pace) = (nanos(sender.retransmission_at()), nanos(sender.pacing_at()));
        let due = nanos(receiver.due());
        now = now.max(arrival.min(ack).min(rto).min(pace).min(due));
        let at = Instant::from_nanos(now);
        if arrival <= now {
            let Some((_, sent, seq)) = data.pop_front() else { return };
            if let Some(feedback) = receiver.on_joinable(seq, Instant::from_nanos(sent), 0, at) {
                acks.push_back((now + ONE_WAY, receiver.next(), feedback));
            }
            receiver.on_data(seq);
            if let Reply::Now(feedback) = receiver.reply(seq, Instant::from_nanos(sent), at) {
                acks.push_back((now + ONE_WAY, receiver.next(), feedback));
            }
        } else if due <= now {
            if let Some(feedback) = receiver.on_timer(at) {
                acks.push_back((now + ONE_WAY, receiver.next(), feedback));
            }
        } else if ack <= now {
            let Some((_, next, feedback)) = acks.pop_front() else { return };
            sender.on_ack_with(next, feedback.echo, feedback.blocks(), at, &mut wire);
        } else if rto <= now {
            sender.on_retransmission_timer(at, &mut wire);
        } else {
            sender.on_pacing_timer(at, &mut wire);
        }
        data.extend(wire.0.iter().map(|segment| (now + ONE_WAY, now, segment.seq)));
        check(&mut sender, &mut wire, (limit, at));
    }
    panic!("stuck: una {} of {limit}, cwnd {}, {:?}", sender.una(), sender.cwnd(), sender.config());
}

/// How much later compressed acknowledgements may be (Linux `tcp_comp_sack_slack_ns`).
const SLACK: Span = Span::from_nanos(100_000);

/// A receiver under whatever arrivals: it delivers each packet once, in order, and claims only what it has.
pub(crate) fn torment_receiver(story: &[u8]) {
    let mut story = Story(story);
    let config = story.config();
    let mut receiver = Receiver::with(&config, 0);
    let mut seen = BTreeSet::new();
    let mut next = 0;
    let mut now = Instant::ZERO;
    let mut unacknowledged = 0;
    while !story.is_over() {
        now += Span::from_nanos(u64::from(story.byte()) * 1_000_000);
        while receiver.due().is_some_and(|due| due <= now) {
            if let Some(feedback) = receiver.on_timer(now) {
                says_what_it_has(&feedback, next, &seen);
                unacknowledged = 0;
            }
        }
        let far = if story.flag() { 4 } else { 2000 };
        let seq = (next + story.below(far)).saturating_sub(2);
        if let Some(feedback) = receiver.on_joinable(seq, now, 0, now) {
            says_what_it_has(&feedback, next, &seen);
            unacknowledged = 0;
        }
        seen.insert(seq);
        let before = next;
        while seen.contains(&next) {
            next += 1;
        }
        assert_eq!(receiver.on_data(seq), next - before);
        assert_eq!(receiver.next(), next);
        if let Some(echo) = receiver.echo(seq, now) {
            assert!(
                echo <= now && next >= before && (next..=seq).is_empty(),
                "nothing to say but the number"
            );
            unacknowledged = 0;
            continue;
        }
        match receiver.reply(seq, now, now) {
            Reply::Now(feedback) => {
                says_what_it_has(&feedback, next, &seen);
                unacknowledged = 0;
                let waits = receiver.due().is_some();
                assert!(!waits || seq > next && config.sack_compression.is_some(), "nothing is left to say");
            }
            Reply::Later => {
                unacknowledged += 1;
                let due = receiver.due().unwrap();
                let is_read = config.read_delay > Span::ZERO && due <= now + config.read_delay;
                let is_compressed = config.sack_compression.is_some_and(|most| due <= now + most + SLACK);
                if let Some(wait) = config.gro {
                    // The end of a write, and a SYN, go on at once, and their acknowledgement may be delayed.
                    assert!(
                        due <= now + wait || config.push > 0 || seq == 0,
                        "what may be joined waits little"
                    );
                } else if seq + 1 == next {
                    let is_few = unacknowledged < config.ack_every;
                    assert!(
                        is_few || is_read,
                        "only every second packet in order may wait, or each but one in so many"
                    );
                } else {
                    assert!(is_compressed && unacknowledged <= 44, "what is out of order waits little");
                }
                assert!(due > now && due <= now + Span::from_millis(210), "{due} at {now}");
            }
        }
    }
}

fn says_what_it_has(feedback: &Feedback, next: u32, seen: &BTreeSet<u32>) {
    let mut blocks = feedback.blocks();
    // The first may be of a packet that came twice (RFC 2883): acknowledged, or within the second.
    if let Some((first, others)) = blocks.split_first() {
        let is_within = |second: &Block| second.start <= first.start && first.end <= second.end;
        if first.end <= next || others.first().is_some_and(is_within) {
            assert!(
                first.start < first.end && (first.start..first.end).all(|seq| seen.contains(&seq)),
                "{first:?}"
            );
            blocks = others;
        }
    }
    for block in blocks {
        assert!(next < block.start && block.start < block.end, "{block:?} beside {next}");
        assert!((block.start..block.end).all(|seq| seen.contains(&seq)), "{block:?}");
    }
}

//! Digests of what senders do over a lossy path, for every profile and every unusual setting: a change of one packet, of one nanosecond
//! or of the last bit of a window shows.
//!
//! A digest does not show what is right. The oracles do: ns-2's traces (`ns2_traces.rs`), what Linux 6.18 sent (`kernel_sequence.rs`),
//! closed forms (`growth.rs`). After a deliberate change `PACELINE_WRITE=1 cargo test -p paceline-tcp --test all digests` writes the digests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::{Instant, Span};
use paceline_tcp::{
    Block, Config, HostPacing, HyStartMode, IdleRestart, Output, PacingRule, Profile, Recovery, Segment,
    Sender, Variant,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests.txt");
const MS: u64 = 1_000_000;

/// A deterministic draw, uniform in 0..below.
struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 32)) % below
    }
}

/// FNV-1a over 64-bit words.
struct Digest(u64);

impl Digest {
    fn add(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[derive(Default)]
struct Sent(Vec<Segment>);

impl Output for Sent {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// The path, and what is sent over it.
#[derive(Debug, Clone, Copy)]
struct Path {
    name: &'static str,
    /// A data packet on the wire, and the way there and back, microseconds.
    service_us: u64,
    round_trip_us: u64,
    /// Packets that may wait for the wire.
    buffer: usize,
    /// Random losses of a thousand data packets, and of a thousand acknowledgements.
    lost: u64,
    lost_acks: u64,
    /// Of a thousand data packets, how many are delayed and reordered, and by how many microseconds.
    late: (u64, u64),
    /// Bytes of each message, and the pause before the next, milliseconds; none sends without end.
    messages: Option<(u64, u64)>,
    /// The receiver answers every second packet in order, or after 40 ms.
    delays: bool,
    /// While this lasts, from and to so many milliseconds of each two seconds, data are lost; or they come after it, with a timeout in
    /// between that was needless.
    outage: Option<(u64, u64, Outage)>,
    until_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outage {
    Loses,
    Holds,
}

/// Nothing is lost, overtaken or delayed, and there is always more to send.
const CLEAN: Path = Path {
    name: "",
    service_us: 500,
    round_trip_us: 40_000,
    buffer: 60,
    lost: 0,
    lost_acks: 0,
    late: (0, 0),
    messages: None,
    delays: false,
    outage: None,
    until_ms: 8_000,
};

const PATHS: [Path; 9] = [
    Path {
        name: "buffer",
        service_us: 1_000,
        round_trip_us: 40_000,
        buffer: 12,
        lost: 0,
        lost_acks: 0,
        late: (0, 0),
        messages: None,
        delays: false,
        outage: None,
        until_ms: 2_500,
    },
    Path {
        name: "losses",
        service_us: 400,
        round_trip_us: 60_000,
        buffer: 1_000,
        lost: 30,
        lost_acks: 20,
        late: (0, 0),
        messages: None,
        delays: true,
        outage: None,
        until_ms: 8_000,
    },
    Path {
        name: "overtaken",
        service_us: 300,
        round_trip_us: 30_000,
        buffer: 1_000,
        lost: 8,
        lost_acks: 0,
        late: (25, 9_000),
        messages: None,
        delays: false,
        outage: None,
        until_ms: 4_000,
    },
    Path {
        name: "messages",
        service_us: 500,
        round_trip_us: 50_000,
        buffer: 40,
        lost: 40,
        lost_acks: 30,
        late: (5, 20_000),
        messages: Some((23_456, 700)),
        delays: true,
        outage: None,
        until_ms: 30_000,
    },
    Path {
        name: "bad",
        service_us: 2_000,
        round_trip_us: 150_000,
        buffer: 5,
        lost: 200,
        lost_acks: 100,
        late: (0, 0),
        messages: Some((60_000, 2_500)),
        delays: false,
        outage: None,
        until_ms: 100_000,
    },
    Path {
        name: "long",
        service_us: 400,
        round_trip_us: 100_000,
        buffer: 120,
        lost: 0,
        lost_acks: 2,
        late: (0, 0),
        messages: None,
        delays: false,
        outage: None,
        until_ms: 2_500,
    },
    Path { name: "outages", outage: Some((900, 1_500, Outage::Loses)), until_ms: 4_500, ..CLEAN },
    Path { name: "stalls", outage: Some((700, 1_200, Outage::Holds)), service_us: 2_000, lost: 3, ..CLEAN },
    Path {
        name: "tails",
        messages: Some((9_000, 150)),
        outage: Some((800, 1_150, Outage::Holds)),
        lost: 60,
        lost_acks: 60,
        until_ms: 20_000,
        ..CLEAN
    },
];

fn settings() -> Vec<(&'static str, Config)> {
    let of = Config::of_variant;
    let paced = |rule, gain, jitter| Some(HostPacing { rule, gain, jitter, quantum: None });
    let linux = of(Profile::Linux, Variant::Cubic);
    let rfc = |variant| of(Profile::Rfc, variant);
    let ns2 = |variant| Config { max_window: 200, ..of(Profile::Ns2, variant) };
    vec![
        ("linux cubic", linux.clone()),
        ("linux reno", of(Profile::Linux, Variant::Rfc6675)),
        ("linux bic", of(Profile::Linux, Variant::Bic)),
        ("linux paced", Config { pacing: paced(PacingRule::Linux, 1.0, 0.0), ..linux.clone() }),
        ("linux jitter", Config { pacing: paced(PacingRule::Linux, 0.8, 0.2), ..linux.clone() }),
        ("linux window", Config { max_window: 30, limited_transmit: false, ..linux.clone() }),
        ("linux exact", Config { timer_tick: Span::ZERO, hystart: HyStartMode::Off, ..linux.clone() }),
        ("linux without rack", Config { rack: false, ..linux }),
        ("rfc newreno", rfc(Variant::NewReno)),
        ("rfc 6675", rfc(Variant::Rfc6675)),
        ("rfc cubic", rfc(Variant::Cubic)),
        ("rfc rack", Config { rack: true, ..rfc(Variant::Rfc6675) }),
        ("rfc cubic hystart", Config { hystart: HyStartMode::Linux, ..rfc(Variant::Cubic) }),
        ("rfc bic halving", Config { recovery: Recovery::RateHalving, ..rfc(Variant::Bic) }),
        ("rfc ideal", Config { pacing: paced(PacingRule::Ideal, 1.2, 0.0), ..rfc(Variant::Rfc6675) }),
        ("rfc fack", rfc(Variant::Fack)),
        ("rfc sack1", Config { partial_ack: true, ..rfc(Variant::Sack1) }),
        ("ns2 reno", ns2(Variant::Reno)),
        ("ns2 wei", Config { pacing: paced(PacingRule::Wei, 1.0, 0.0), ..ns2(Variant::Reno) }),
        ("ns2 wei sack1", Config { pacing: paced(PacingRule::Wei, 1.0, 0.1), ..ns2(Variant::Sack1) }),
        ("ns2 overhead", Config { overhead: Span::from_millis(3), ..ns2(Variant::NewReno) }),
        ("ns2 burst", Config { max_burst: 3, full_ack_deflation: true, ..ns2(Variant::NewReno) }),
        ("ns2 cubic", ns2(Variant::Cubic)),
        ("ns2 bic", Config { idle_restart: IdleRestart::Keep, ..ns2(Variant::Bic) }),
        ("2005 tahoe", Config { max_window: 60, ..of(Profile::Ns2Of2005, Variant::Tahoe) }),
        ("2005 reno", Config { max_window: 60, ..of(Profile::Ns2Of2005, Variant::Reno) }),
        ("validation fack", Config { max_window: 60, ..of(Profile::Ns2Validation, Variant::Fack) }),
        ("validation newreno", Config { less_careful: true, ..of(Profile::Ns2Validation, Variant::NewReno) }),
    ]
}

/// What the receiver has.
#[derive(Default)]
struct Held {
    next: u32,
    /// What it holds beyond that: the block that grew last first.
    blocks: Vec<Block>,
}

impl Held {
    /// A packet arrives. Returns whether it is in order, with nothing held beyond.
    fn arrives(&mut self, seq: u32) -> bool {
        let in_order = seq == self.next && self.blocks.is_empty();
        let mut all = Block { start: seq, end: seq + 1 };
        if seq >= self.next {
            self.blocks.retain(|block| {
                let touches = block.start <= all.end && all.start <= block.end;
                if touches {
                    all = Block { start: all.start.min(block.start), end: all.end.max(block.end) };
                }
                !touches
            });
            if all.start == self.next {
                self.next = all.end;
            } else {
                self.blocks.insert(0, all);
            }
        }
        in_order
    }

    /// What fits into an acknowledgement.
    fn reports(&self) -> Vec<Block> {
        self.blocks.iter().take(3).copied().collect()
    }
}

/// What arrives at an end of the connection.
enum Event {
    Data(u32, Instant),
    Ack(u32, Instant, Vec<Block>),
    Message,
    DelayedAck(u64),
}

fn run(config: &Config, path: &Path) -> String {
    let mut sender = Sender::new(Arc::new(config.clone()), path.messages.map(|_| 0), Span::from_millis(3), 5);
    let (mut draws, mut digest, mut wire) =
        (Draws(path.service_us), Digest(0xcbf2_9ce4_8422_2325), Sent::default());
    let mut events: BTreeMap<(u64, u64), Event> = BTreeMap::new();
    let (mut held, mut waiting): (Held, Option<Instant>) = (Held::default(), None);
    let (mut now, mut free, mut number, mut answers) = (0, 0, 1, 0_u64);
    if path.messages.is_some() {
        events.insert((0, 0), Event::Message);
    } else {
        sender.start(Instant::ZERO, &mut wire);
    }
    loop {
        let at = Instant::from_nanos(now);
        for Segment { seq, bytes, retransmission } in wire.0.drain(..) {
            for word in [now, seq.into(), bytes.into(), retransmission.into(), sender.cwnd().to_bits()] {
                digest.add(word);
            }
            let service = path.service_us * 1_000 * u64::from(bytes) / u64::from(config.data_bytes());
            let cycle = now / MS % 2_000;
            let outage = path.outage.filter(|(from, to, _)| (*from..*to).contains(&cycle));
            let is_full = free > now + path.buffer as u64 * path.service_us * 1_000;
            let is_cut = outage.is_some_and(|(.., kind)| kind == Outage::Loses);
            if is_full || is_cut || draws.below(1_000) < path.lost {
                continue;
            }
            free = free.max(now) + service;
            let held_back = outage.map_or(0, |(_, to, _)| (to - cycle) * MS);
            let late = if draws.below(1_000) < path.late.0 { path.late.1 * 1_000 } else { 0 };
            number += 1;
            events.insert((free + path.round_trip_us * 500 + late + held_back, number), Event::Data(seq, at));
        }
        let event = events.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
        let timer = sender.retransmission_due().as_nanos();
        let pace = sender.pacing_due().as_nanos();
        now = event.min(timer).min(pace);
        if now > path.until_ms * MS {
            break;
        }
        let at = Instant::from_nanos(now);
        let mut answer = None;
        if event == now {
            match events.pop_first().unwrap().1 {
                Event::Message => {
                    sender.write(path.messages.unwrap().0);
                    sender.start(at, &mut wire);
                }
                Event::Ack(next, echo, blocks) => {
                    if !blocks.is_empty() || config.needs_echo() || !sender.on_ack_fast(next, at, &mut wire) {
                        sender.on_ack_with(next, echo, &blocks, at, &mut wire);
                    }
                    digest.add(sender.ssthresh().into());
                    if let Some((_, silence)) = path.messages.filter(|_| sender.is_finished()) {
                        number += 1;
                        events.insert((now + silence * MS * (1 + number % 3), number), Event::Message);
                    }
                }
                Event::Data(seq, sent) => {
                    let waits = path.delays && held.arrives(seq) && seq > 20 && waiting.is_none();
                    if !path.delays {
                        held.arrives(seq);
                    }
                    if waits {
                        (waiting, number) = (Some(sent), number + 1);
                        events.insert((now + 40 * MS, number), Event::DelayedAck(answers));
                    } else {
                        answer = Some(waiting.take().unwrap_or(sent));
                    }
                }
                Event::DelayedAck(count) => answer = waiting.filter(|_| count == answers),
            }
        } else if timer == now {
            sender.on_retransmission_timer(at, &mut wire);
        } else {
            sender.on_pacing_timer(at, &mut wire);
        }
        if let Some(echo) = answer {
            answers += 1;
            waiting = None;
            if draws.below(1_000) >= path.lost_acks {
                number += 1;
                let blocks = if config.variant.is_selective() { held.reports() } else { Vec::new() };
                events.insert((now + path.round_trip_us * 500, number), Event::Ack(held.next, echo, blocks));
            }
        }
    }
    let counters = sender.counters();
    format!(
        "{:>6} sent {:>4} again {:>3} timeouts {:>3} cuts  {:016x}",
        counters.sent, counters.retransmits, counters.timeouts, counters.window_cuts, digest.0
    )
}

/// A line for each of the settings and paths.
fn lines(paths: &[Path]) -> Vec<String> {
    let all =
        paths.iter().flat_map(|path| settings().into_iter().map(move |(name, config)| (name, config, path)));
    all.map(|(name, config, path)| format!("{name:<20} {:<10} {}", path.name, run(&config, path))).collect()
}

fn check(paths: &[Path]) {
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    let is_of_these = |line: &&str| paths.iter().any(|path| line[20..].trim_start().starts_with(path.name));
    let written: Vec<&str> = written.lines().filter(is_of_these).collect();
    let found = lines(paths);
    assert_eq!(written.len(), found.len());
    let differ = written.iter().zip(&found).filter(|(was, is)| was != is);
    let differences: String = differ.map(|(was, is)| format!("was {was}\nis  {is}\n")).collect();
    assert!(differences.is_empty(), "{differences}");
}

macro_rules! paths {
    ($($name:ident: $number:literal),+) => {$(
        #[test]
        fn $name() {
            if std::env::var_os("PACELINE_WRITE").is_none() {
                check(&PATHS[$number..=$number]);
            }
        }
    )+};
}

paths!(a_small_buffer: 0, random_losses: 1, packets_overtaken: 2, messages: 3, a_bad_path: 4, a_long_path: 5,
    outages: 6, stalls: 7, tails: 8);

#[test]
fn written_where_asked_for() {
    if std::env::var_os("PACELINE_WRITE").is_some() {
        std::fs::write(FILE, lines(&PATHS).join("\n") + "\n").unwrap();
    }
}

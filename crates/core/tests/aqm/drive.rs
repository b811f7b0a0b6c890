//! A discipline of the crate and an oracle before equal wires, fed with the same arrivals.

use std::collections::VecDeque;

use paceline_core::parameters::Value;
use paceline_core::queue::{self, Limit, Queue, QueueSpec, mix};
use paceline_core::{Cause, Ecn, Instant, Packet, Rate, Stage, Verdict};

/// A byte takes so long on the wire, nanoseconds.
pub(crate) const A_BYTE: u64 = 1_000;
/// The same, bit/s.
pub(crate) const RATE: u64 = 8_000_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parcel {
    pub(crate) number: usize,
    pub(crate) bytes: u32,
    pub(crate) flow: u32,
    pub(crate) ecn: Ecn,
    /// When it came, for oracles.
    pub(crate) came: u64,
}

impl Packet for Parcel {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }

    fn flow(&self) -> u32 {
        self.flow
    }
}

/// What becomes of packets: number and time.
#[derive(Debug, Default, PartialEq, Clone)]
pub(crate) struct Log {
    pub(crate) left: Vec<(usize, u64)>,
    /// Those that left with CE.
    pub(crate) marked: Vec<usize>,
    pub(crate) early: Vec<(usize, u64)>,
    pub(crate) overflow: Vec<(usize, u64)>,
}

impl Log {
    fn leaves(&mut self, parcel: &Parcel, now: u64) {
        self.left.push((parcel.number, now));
        if parcel.ecn == Ecn::Ce {
            self.marked.push(parcel.number);
        }
    }

    fn drops(&mut self, parcel: &Parcel, cause: Cause, now: u64) {
        let log = if cause == Cause::Early { &mut self.early } else { &mut self.overflow };
        log.push((parcel.number, now));
    }
}

/// A discipline as an RFC has it: a queue without a wire.
pub(crate) trait Oracle {
    /// A packet comes, to an idle wire or a busy one: what is dropped because of that.
    fn enqueue(&mut self, parcel: Parcel, now: u64, is_idle: bool, dropped: &mut Vec<(Parcel, Cause)>);
    /// The wire is free.
    fn dequeue(&mut self, now: u64, dropped: &mut Vec<(Parcel, Cause)>) -> Option<Parcel>;
}

/// The discipline of that name with these parameters.
pub(crate) fn discipline(
    name: &str,
    parameters: &[(&str, &str)],
    limit: Option<Limit>,
    seed: u64,
) -> Queue<Parcel> {
    discipline_at(name, parameters, limit, seed, RATE)
}

/// The same before a wire of that rate, bit/s.
pub(crate) fn discipline_at(
    name: &str,
    parameters: &[(&str, &str)],
    limit: Option<Limit>,
    seed: u64,
    rate: u64,
) -> Queue<Parcel> {
    let rate = Rate::from_bits_per_second(rate);
    let mut values = |key: &str| {
        let given = parameters.iter().find(|(name, _)| *name == key);
        let one = |text: &str| Value::Text(text.to_owned());
        given.map(|(_, text)| match text.contains(", ") {
            true => Value::List(text.split(", ").map(one).collect()),
            false => one(text),
        })
    };
    let discipline = queue::parse(name, &mut values, rate).unwrap();
    Queue::new(&QueueSpec { limit, discipline, ..QueueSpec::default() }, rate).with_seed(seed)
}

/// A discipline of the crate takes these; each is at its wake-ups in time. What it holds and has marked is what its
/// verdicts come to.
pub(crate) fn ours(mut queue: Queue<Parcel>, arrivals: &[Parcel]) -> Log {
    let mut log = Log::default();
    let at = Instant::from_nanos;
    // Packets and bytes that it holds.
    let mut held = (0, 0);
    let goes =
        |held: &mut (u64, u64), parcel: &Parcel| *held = (held.0 - 1, held.1 - u64::from(parcel.bytes));
    let drain = |queue: &mut Queue<Parcel>, held: &mut (u64, u64), now: u64, log: &mut Log| {
        loop {
            let has_dropped = queue.has_dropped();
            let dropped = queue.take_dropped();
            assert_eq!(has_dropped, dropped.is_some());
            let Some((parcel, cause)) = dropped else { break };
            goes(held, &parcel);
            log.drops(&parcel, cause, now);
        }
        assert_eq!((queue.held_packets(), queue.held_bytes()), *held);
    };
    for next in arrivals.iter().map(Some).chain([None]) {
        while let Some(due) = queue.next_wakeup().map(Instant::as_nanos)
            && next.is_none_or(|next| due <= next.came)
        {
            let parcel = queue.dequeue(at(due)).unwrap();
            assert!(queue.dequeue(at(due)).is_none(), "the wire is busy");
            goes(&mut held, &parcel);
            drain(&mut queue, &mut held, due, &mut log);
            log.leaves(&parcel, due);
        }
        let Some(&next) = next else { break };
        // Every other packet may go on an idle wire without being held.
        if next.number % 2 == 0 && queue.passes(&next, at(next.came)) {
            log.leaves(&next, next.came);
            drain(&mut queue, &mut held, next.came, &mut log);
            continue;
        }
        held = (held.0 + 1, held.1 + u64::from(next.bytes));
        match queue.enqueue(next, at(next.came)) {
            Verdict::Queued => {}
            Verdict::Refused(parcel) => {
                goes(&mut held, &parcel);
                log.drops(&parcel, queue.why_refused(), next.came);
            }
            Verdict::Displaced(parcel) => {
                goes(&mut held, &parcel);
                log.drops(&parcel, Cause::Overflow, next.came);
            }
        }
        drain(&mut queue, &mut held, next.came, &mut log);
    }
    assert_eq!(queue.marks(), log.marked.len() as u64, "none that is marked is dropped after");
    log
}

/// The same of an oracle.
pub(crate) fn theirs(oracle: &mut impl Oracle, arrivals: &[Parcel]) -> Log {
    let (mut log, mut dropped) = (Log::default(), Vec::new());
    // When the wire is free; nothing waits while it is.
    let mut free = None;
    for next in arrivals.iter().map(Some).chain([None]) {
        while let Some(now) = free
            && next.is_none_or(|next| now <= next.came)
        {
            let parcel = oracle.dequeue(now, &mut dropped);
            dropped.drain(..).for_each(|(parcel, cause)| log.drops(&parcel, cause, now));
            free = parcel.map(|parcel| now + u64::from(parcel.bytes) * A_BYTE);
            parcel.iter().for_each(|parcel| log.leaves(parcel, now));
        }
        let Some(&next) = next else { break };
        oracle.enqueue(next, next.came, free.is_none(), &mut dropped);
        dropped.drain(..).for_each(|(parcel, cause)| log.drops(&parcel, cause, next.came));
        if free.is_none() {
            let parcel = oracle.dequeue(next.came, &mut dropped);
            free = parcel.map(|parcel| next.came + u64::from(parcel.bytes) * A_BYTE);
            parcel.iter().for_each(|parcel| log.leaves(parcel, next.came));
        }
    }
    log
}

/// A deterministic draw, uniform in 0..below.
pub(crate) struct Draws(pub u64);

impl Draws {
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 32)) % below
    }
}

/// Random arrivals of several flows, over phases of light and heavy load.
pub(crate) fn arrivals(seed: u64, packets: usize) -> Vec<Parcel> {
    let mut draws = Draws(seed ^ 0x5eed);
    let (mut now, mut load, mut flows) = (1_000_000_000, 100, 1);
    let sizes = [1500, 1500, 1500, 40, 576, 1000];
    (0..packets)
        .map(|number| {
            if draws.below(200) == 0 {
                load = [20, 60, 90, 110, 150, 300, 1_000][draws.below(7) as usize];
                flows = 1 + draws.below(12);
            }
            let bytes = sizes[draws.below(6) as usize];
            // about a packet's time, from back to back to three times that
            let gap =
                draws.below(2 * bytes * A_BYTE * 100 / load + 1) * [0, 1, 1, 1][draws.below(4) as usize];
            now += gap;
            let flow = draws.below(flows) as u32;
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct][flow as usize % 4];
            Parcel { number, bytes: bytes as u32, flow, ecn, came: now }
        })
        .collect()
}

/// Packets of one size, which come at whole packets' times: waits and bounds are often equal, to the nanosecond.
pub(crate) fn whole_packets(seed: u64, packets: usize) -> Vec<Parcel> {
    let mut draws = Draws(seed ^ 0xe0a1);
    let mut now = 1_000_000_000;
    (0..packets)
        .map(|number| {
            let load = number / 200 % 3;
            now += 1_000_000 * [draws.below(2), draws.below(3), draws.below(4)][load];
            let flow = draws.below(4) as u32;
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct][flow as usize];
            Parcel { number, bytes: 1000, flow, ecn, came: now }
        })
        .collect()
}

/// One after another at equal gaps of `gap` ns, all alike.
pub(crate) fn steady(packets: usize, bytes: u32, gap: u64, ecn: Ecn) -> Vec<Parcel> {
    let came = |number: usize| 1_000_000_000 + number as u64 * gap;
    (0..packets).map(|number| Parcel { number, bytes, flow: 0, ecn, came: came(number) }).collect()
}

/// What the oracles hold: packets in their order, and their bytes.
#[derive(Debug, Default, Clone)]
pub(crate) struct Fifo {
    pub(crate) packets: VecDeque<Parcel>,
    pub(crate) bytes: u64,
}

impl Fifo {
    pub(crate) fn push(&mut self, parcel: Parcel) {
        self.bytes += u64::from(parcel.bytes);
        self.packets.push_back(parcel);
    }

    pub(crate) fn pop(&mut self) -> Option<Parcel> {
        let parcel = self.packets.pop_front()?;
        self.bytes -= u64::from(parcel.bytes);
        Some(parcel)
    }
}

/// Equal logs, or where they first differ.
pub(crate) fn assert_equal(name: &str, ours: &Log, theirs: &Log) {
    for (what, one, other) in [
        ("early", &ours.early, &theirs.early),
        ("overflow", &ours.overflow, &theirs.overflow),
        ("left", &ours.left, &theirs.left),
    ] {
        let first = one.iter().zip(other).position(|(one, other)| one != other);
        let first = first.unwrap_or(one.len().min(other.len()));
        assert_eq!(one.get(first), other.get(first), "{name}, {what}: number {first}");
    }
    assert_eq!(ours.marked, theirs.marked, "{name}, marked");
}

/// The draws of a discipline with this seed: SplitMix64, whose finaliser is [`mix`].
pub(crate) struct Uniform(u64);

impl Uniform {
    pub(crate) fn new(seed: u64) -> Self {
        Uniform(seed)
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) >> 11) as f64 / 2f64.powi(53)
    }
}

//! Nanoseconds per packet of each pacer and of the queue: `cargo bench -p paceline-core`.
//!
//! One packet is one arrival and one departure, at times drawn beforehand; the clock of the benchmark is that of the
//! packets. `edge/burst` and the like differ only in what arrives.

#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use paceline_core::pacer::parameters::Value;
use paceline_core::pacer::{Pacer, PacerSpec, parse};
use paceline_core::queue::{Arrival, ClosedDropTail, Counts, DropTail, Limit, QueueSpec, Ties};
use paceline_core::{Instant, Packet, Rate, Stage, Verdict};

/// As large as the simulator's: a few words.
#[derive(Debug, Clone, Copy)]
struct Parcel {
    bytes: u32,
    _rest: [u32; 3],
}

impl Packet for Parcel {
    fn bytes(&self) -> u32 {
        self.bytes
    }
}

type Values = &'static [(&'static str, &'static str)];

const LINK: Rate = Rate::from_bits_per_second(100_000_000);
const PACKETS: usize = 100_000;

/// Arrivals at 80 % load on average: geometric gaps, or bursts of 16.
fn arrivals(burst: u64) -> Vec<(Instant, u32)> {
    let mut state = 1u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let mean = 1040 * 8 * 10 * 10 / 8; // ns between packets of 1040 B at 80 Mbit/s
    let mut now = 0;
    let arrival = |index: usize| {
        if (index as u64).is_multiple_of(burst) {
            now += draw() % (2 * mean * burst);
        }
        (Instant::from_nanos(now), if index.is_multiple_of(7) { 40 } else { 1200 })
    };
    (0..PACKETS).map(arrival).collect()
}

/// Lets all packets through, each departure on time.
fn run<S: Stage<Parcel>>(stage: &mut S, arrivals: &[(Instant, u32)]) -> u64 {
    let mut left = 0;
    for &(now, bytes) in arrivals {
        while let Some(wakeup) = stage.next_wakeup().filter(|wakeup| *wakeup <= now) {
            left += u64::from(stage.dequeue(wakeup).is_some());
        }
        let verdict = stage.enqueue(Parcel { bytes, _rest: [0; 3] }, now);
        left += u64::from(!matches!(verdict, Verdict::Queued));
    }
    while let Some(wakeup) = stage.next_wakeup() {
        left += u64::from(stage.dequeue(wakeup).is_some());
    }
    left
}

fn pacers(criterion: &mut Criterion) {
    let methods: [(&str, &str, Values); 6] = [
        ("none", "none", &[]),
        ("edge 10 ms", "edge", &[("delay", "10 ms")]),
        ("edge 10 ms finish", "edge", &[("delay", "10 ms"), ("release", "finish")]),
        (
            "qlbp packets",
            "qlbp",
            &[("mu_min", "10 Mbit/s"), ("mu_max", "90 Mbit/s"), ("q_max", "40 packets")],
        ),
        ("qlbp bytes", "qlbp", &[("mu_min", "10 Mbit/s"), ("mu_max", "90 Mbit/s"), ("q_max", "40 KB")]),
        ("token-bucket", "token-bucket", &[("rate", "90 Mbit/s"), ("burst", "5 KB")]),
    ];
    for (traffic, burst) in [("single", 1), ("bursts", 16)] {
        let arrivals = arrivals(burst);
        let mut group = criterion.benchmark_group(traffic);
        group
            .throughput(Throughput::Elements(PACKETS as u64))
            .sample_size(20)
            .warm_up_time(Duration::from_secs(1))
            .measurement_time(Duration::from_secs(2));
        for (name, method, values) in methods {
            let mut value = |wanted: &str| {
                values.iter().find(|(key, _)| *key == wanted).map(|(_, text)| Value::Text((*text).to_owned()))
            };
            let spec: PacerSpec = parse(method, &mut value, LINK).expect("a legal pacer");
            let mut pacer = Pacer::new(&spec, LINK);
            run(&mut pacer, &arrivals); // its buffers have grown
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                bencher.iter(|| run(&mut Pacer::new(&spec, LINK), black_box(&arrivals)));
            });
        }
        group.finish();
    }
}

fn queues(criterion: &mut Criterion) {
    let arrivals = arrivals(4);
    let mut group = criterion.benchmark_group("queue");
    group
        .throughput(Throughput::Elements(PACKETS as u64))
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(2));
    let limited = QueueSpec {
        limit: Some(Limit::Bytes(5_000)),
        counts: Counts::Ns2,
        discipline: Default::default(),
        ties: Ties::Departure,
    };
    for (name, spec) in [("unlimited", QueueSpec::default()), ("5 KB", limited)] {
        group.bench_function(BenchmarkId::new("closed form", name), |bencher| {
            bencher.iter(|| {
                let mut queue = ClosedDropTail::new(&spec, LINK).expect("not drop-front");
                let admit = |&(now, bytes): &(Instant, u32)| {
                    queue.admit(Arrival::new(bytes, now)).departure.map(|departure| departure.finish)
                };
                black_box(&arrivals).iter().filter_map(admit).max()
            });
        });
        group.bench_function(BenchmarkId::new("step by step", name), |bencher| {
            bencher.iter(|| run(&mut DropTail::new(&spec, LINK), black_box(&arrivals)));
        });
    }
    group.finish();
}

criterion_group!(benches, pacers, queues);
criterion_main!(benches);

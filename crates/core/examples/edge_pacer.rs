//! Packets through one edge pacer, for a profiler to count what each takes: `benches/pacer_cost.py`.
//!
//! `cargo run --release -p paceline-core --example edge_pacer -- PACKETS DELAY_NS BURST`
//!
//! Packets of 1000 B at 10 Mbit/s in the mean, alone or in bursts of BURST, at times drawn as they come.

use paceline_core::pacer::edge::{Edge, Parameters, Release};
use paceline_core::{Instant, Packet, Rate, Span, Stage, Verdict};

struct Parcel;

impl Packet for Parcel {
    fn bytes(&self) -> u32 {
        1000
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut next = || numbers.next().ok_or("usage: edge_pacer PACKETS DELAY_NS BURST");
    let (packets, delay, burst) = (next()??, next()??, next()??.max(1));
    let parameters = Parameters { delay: Span::from_nanos(delay), release: Release::Start };
    let mut pacer = Edge::new(&parameters, Rate::from_bits_per_second(10_000_000));
    let (mut state, mut now, mut left, mut held) = (1_u64, 0_u64, 0_u64, 0_u64);
    for index in 0..packets {
        if index.is_multiple_of(burst) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            now += (state >> 11) % (2 * 800_000 * burst);
        }
        let at = Instant::from_nanos(now);
        while pacer.next_wakeup().is_some_and(|wakeup| wakeup <= at) {
            left += u64::from(pacer.dequeue(at).is_some());
        }
        if matches!(pacer.enqueue(Parcel, at), Verdict::Refused(_)) {
            return Err("the pacer is full".into());
        }
        held += index + 1 - left;
    }
    println!("held {:.1} pops {:.4}", held as f64 / packets as f64, pacer.pops() as f64 / packets as f64);
    Ok(())
}

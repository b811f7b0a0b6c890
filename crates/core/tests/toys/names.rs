//! What follows from the lines of the toys in the two lists.

use paceline_core::pacer::{self, METHODS, Pacer};
use paceline_core::parameters::Value;
use paceline_core::queue::{self, DISCIPLINES, Queue, QueueSpec};
use paceline_core::{Instant, Packet, Rate, Stage};

struct Numbered(u32);

impl Packet for Numbered {
    fn bytes(&self) -> u32 {
        1000
    }
}

/// In which order four packets of one instant leave, and when the last does, nanoseconds.
fn order(mut stage: impl Stage<Numbered>) -> (Vec<u32>, u64) {
    for number in 0..4 {
        let _ = stage.enqueue(Numbered(number), Instant::ZERO);
    }
    let (mut left, mut last) = (Vec::new(), Instant::ZERO);
    while let Some(due) = stage.next_wakeup() {
        left.extend(stage.dequeue(due).map(|packet| packet.0));
        last = due;
    }
    (left, last.as_nanos())
}

#[test]
fn both_are_known_by_name_documented_and_run() {
    let rate = Rate::from_bits_per_second(8_000_000); // 1000 B in 1 ms
    assert!(METHODS.iter().any(|row| row.name == "toy"));
    assert!(pacer::table().contains("`gap` | the least time between two packets | time |"));
    let mut gap = |name: &str| (name == "gap").then(|| Value::Text("3 ms".into()));
    let spec = pacer::parse("toy", &mut gap, rate).expect("legal");
    assert_eq!(spec.method.to_string(), "toy gap = 3 ms");
    assert_eq!(order(Pacer::new(&spec, rate)), (vec![0, 1, 2, 3], 9_000_000));

    assert!(DISCIPLINES.iter().any(|row| row.name == "newest" && !row.keeps_order));
    assert!(queue::table().contains("| `newest` | | the newest packet first |"));
    let discipline = queue::parse("newest", &mut |_| None, rate).expect("legal");
    let spec = QueueSpec { discipline, ..QueueSpec::default() };
    assert_eq!(order(Queue::new(&spec, rate)), (vec![3, 2, 1, 0], 3_000_000));
}

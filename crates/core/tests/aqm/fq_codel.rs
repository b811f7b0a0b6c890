//! FQ-CoDel: RFC 8290 section 4, over the CoDel of RFC 8289.

use super::codel::CodelQueue;
use super::drive::{Oracle, Parcel, arrivals, assert_equal, discipline, ours, steady, theirs};
use paceline_core::queue::{Limit, mix};
use paceline_core::{Cause, Ecn};

/// The scheduler: lists of new and old queues, by their numbers.
struct FqCodel {
    queues: Vec<CodelQueue>,
    credits: Vec<i64>,
    new: Vec<usize>,
    old: Vec<usize>,
    quantum: i64,
    limit: Limit,
    seed: u64,
}

impl FqCodel {
    fn new(quantum: i64, limit: Limit, seed: u64) -> Self {
        let codel = CodelQueue {
            target: 5_000_000,
            interval: 100_000_000,
            maxpacket: 1500,
            ecn: true,
            ..CodelQueue::default()
        };
        let (queues, credits) = (vec![codel; 1024], vec![0; 1024]);
        FqCodel { queues, credits, new: Vec::new(), old: Vec::new(), quantum, limit, seed }
    }
}

impl Oracle for FqCodel {
    fn enqueue(&mut self, parcel: Parcel, _: u64, is_idle: bool, dropped: &mut Vec<(Parcel, Cause)>) {
        let number = (mix(self.seed ^ u64::from(parcel.flow)) >> 54) as usize; // the highest ten bits
        self.queues[number].queue.push(parcel);
        if !self.new.contains(&number) && !self.old.contains(&number) {
            self.new.push(number);
            self.credits[number] = self.quantum;
        }
        let is_over = |lists: &FqCodel| match lists.limit {
            Limit::Packets(most) => {
                lists.queues.iter().map(|queue| queue.queue.packets.len()).sum::<usize>() as u64 > most
            }
            Limit::Bytes(most) => lists.queues.iter().map(|queue| queue.queue.bytes).sum::<u64>() > most,
        };
        while !is_idle && is_over(self) {
            let most = self.queues.iter().map(|queue| queue.queue.bytes).max().unwrap();
            let longest = self.queues.iter_mut().find(|queue| queue.queue.bytes == most).unwrap();
            dropped.extend(longest.queue.pop().map(|parcel| (parcel, Cause::Overflow)));
        }
    }

    fn dequeue(&mut self, now: u64, dropped: &mut Vec<(Parcel, Cause)>) -> Option<Parcel> {
        loop {
            let (number, is_new) = match (self.new.first(), self.old.first()) {
                (Some(&number), _) => (number, true),
                (None, Some(&number)) => (number, false),
                (None, None) => return None,
            };
            let unlist = |lists: &mut FqCodel| {
                if is_new { lists.new.remove(0) } else { lists.old.remove(0) }
            };
            if self.credits[number] <= 0 {
                self.credits[number] += self.quantum;
                unlist(self);
                self.old.push(number);
                continue;
            }
            match self.queues[number].dequeue(now, dropped) {
                Some(parcel) => {
                    self.credits[number] -= i64::from(parcel.bytes);
                    return Some(parcel);
                }
                None => {
                    unlist(self);
                    if is_new {
                        self.old.push(number);
                    }
                }
            }
        }
    }
}

#[test]
fn every_packet_fares_as_in_the_rfc() {
    let (mut early, mut overflow, mut marks) = (0, 0, 0);
    for seed in 0..40 {
        let quantum = [1514, 300, 1514, 6000][seed as usize % 4];
        let packets = [10_240, 40, 100, 7].map(Limit::Packets);
        let limit =
            [packets, [20_000, 4_000, 9_999, 1_600].map(Limit::Bytes)].concat()[seed as usize / 4 % 8];
        let text = format!("{quantum} B");
        let arrivals = arrivals(seed, 3_000);
        let limited = (limit != Limit::Packets(10_240)).then_some(limit);
        let ce_threshold = [0, 2][seed as usize % 3 / 2];
        let step = format!("{ce_threshold} ms");
        let parameters = [("quantum", &*text), ("ce_threshold", &*step)];
        let ours = ours(discipline("fq-codel", &parameters, limited, seed), &arrivals);
        let mut oracle = FqCodel::new(quantum, limit, seed);
        oracle.queues.iter_mut().for_each(|queue| queue.ce_threshold = ce_threshold * 1_000_000);
        let theirs = theirs(&mut oracle, &arrivals);
        assert_equal(&format!("seed {seed}"), &ours, &theirs);
        early += ours.early.len();
        overflow += ours.overflow.len();
        marks += ours.marked.len();
    }
    assert!(early > 300 && overflow > 1_000 && marks > 200, "{early} {overflow} {marks}");
}

/// A flow that sends all the time beside one that sends little: the second waits for what is on the wire, a packet of the first at most,
/// once the first has had its turn as a new flow.
#[test]
fn a_flow_below_its_share_does_not_wait() {
    let mut packets = steady(4_000, 1000, 500_000, Ecn::NotEct); // twice the wire's rate
    for (number, packet) in steady(200, 100, 10_000_000, Ecn::NotEct).into_iter().enumerate() {
        packets.push(Parcel { number: 4_000 + number, flow: 1, ..packet });
    }
    packets.sort_by_key(|packet| packet.came);
    packets.iter_mut().enumerate().for_each(|(number, packet)| packet.number = number);
    let log = ours(discipline("fq-codel", &[], None, 3), &packets);
    let waits = log.left.iter().filter(|(number, _)| packets[*number].flow == 1);
    let waits: Vec<u64> = waits.map(|(number, at)| at - packets[*number].came).collect();
    assert!(waits.len() == 200 && waits[1..].iter().all(|wait| *wait <= 1_000_000), "{waits:?}");
}

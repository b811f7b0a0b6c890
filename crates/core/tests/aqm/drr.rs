//! Deficit round robin: the pseudo-code of its paper, ns-2's order, its fairness, and that it keeps the wire as busy as a FIFO.

use super::drive::{A_BYTE, Fifo, Log, Oracle, Parcel, arrivals, assert_equal, discipline, ours, theirs};
use super::priority::classes;
use paceline_core::queue::Limit;
use paceline_core::{Cause, Ecn};

/// Figure 2 of Shreedhar and Varghese, in its names. `Send` returns to the loop where it was left.
struct Drr {
    queue: Vec<Fifo>,
    quantum: Vec<u64>,
    deficit_counter: Vec<u64>,
    active_list: Vec<usize>,
    /// The flow in the inner loop.
    in_service: Option<usize>,
    most_bytes: u64,
}

impl Drr {
    fn new(quanta: &[u64], most_bytes: u64) -> Self {
        let quantum = (0..8).map(|flow| quanta[flow.min(quanta.len() - 1)]).collect();
        let (queue, deficit_counter) = (vec![Fifo::default(); 8], vec![0; 8]);
        Drr { queue, quantum, deficit_counter, active_list: Vec::new(), in_service: None, most_bytes }
    }
}

impl Oracle for Drr {
    /// The enqueuing module. It frees buffers after the packet is in: by dropping the newest of the longest queue.
    fn enqueue(&mut self, parcel: Parcel, _: u64, is_idle: bool, dropped: &mut Vec<(Parcel, Cause)>) {
        let i = parcel.flow as usize % 8;
        self.queue[i].push(parcel);
        while !is_idle && self.queue.iter().map(|queue| queue.bytes).sum::<u64>() > self.most_bytes {
            let most = self.queue.iter().map(|queue| queue.bytes).max().unwrap();
            let longest = self.queue.iter_mut().find(|queue| queue.bytes == most).unwrap();
            let newest = longest.packets.pop_back().unwrap();
            longest.bytes -= u64::from(newest.bytes);
            dropped.push((newest, Cause::Overflow));
        }
        let exists_in_active_list = self.active_list.contains(&i) || self.in_service == Some(i);
        if !exists_in_active_list && !self.queue[i].packets.is_empty() {
            self.active_list.push(i);
            self.deficit_counter[i] = 0;
        }
    }

    /// The dequeuing module, up to the next `Send`.
    fn dequeue(&mut self, _: u64, _: &mut Vec<(Parcel, Cause)>) -> Option<Parcel> {
        loop {
            let i = match self.in_service {
                Some(i) => i,
                None if self.active_list.is_empty() => return None,
                None => {
                    let i = self.active_list.remove(0);
                    self.deficit_counter[i] += self.quantum[i];
                    i
                }
            };
            self.in_service = Some(i);
            let head = self.queue[i].packets.front().map(|head| u64::from(head.bytes));
            if let Some(packet_size) = head.filter(|size| *size <= self.deficit_counter[i]) {
                self.deficit_counter[i] -= packet_size;
                let sent = self.queue[i].pop();
                if self.queue[i].packets.is_empty() {
                    self.deficit_counter[i] = 0;
                    self.in_service = None;
                }
                return sent;
            }
            if head.is_some() {
                self.active_list.push(i);
            } else {
                self.deficit_counter[i] = 0;
            }
            self.in_service = None;
        }
    }
}

#[test]
fn every_packet_fares_as_in_the_paper() {
    let (mut drops, mut overtakes) = (0, 0);
    for seed in 0..60 {
        let quanta: &[u64] = [&[1514][..], &[300, 6000], &[1500, 500, 4500], &[256]][seed as usize % 4];
        let most = [u64::MAX, 20_000, 4_000][seed as usize % 3];
        let text = quanta.iter().map(|quantum| format!("{quantum} B")).collect::<Vec<_>>().join(", ");
        let arrivals = arrivals(seed, 3_000);
        let limit = (most < u64::MAX).then_some(Limit::Bytes(most));
        let queue = discipline("drr", &[("quanta", &text)], limit, seed).with_classes(&classes());
        let ours = ours(queue, &arrivals);
        let theirs = theirs(&mut Drr::new(quanta, most), &arrivals);
        assert_equal(&format!("seed {seed}"), &ours, &theirs);
        drops += ours.overflow.len();
        overtakes += ours.left.windows(2).filter(|pair| pair[0].0 > pair[1].0).count();
    }
    assert!(drops > 10_000 && overtakes > 1_000, "{drops} drops, {overtakes} overtakes");
}

/// `benches/peers/drr.py` has run these arrivals through ns-2 2.35, without a limit.
#[test]
fn ns2_serves_packets_in_the_same_order() {
    let lines: Vec<&str> = include_str!("drr-ns2.txt").lines().collect();
    for (seed, lines) in (0..).zip(lines.chunks(2)) {
        let quantum = format!("{} B", lines[0]);
        let queue = discipline("drr", &[("quanta", &quantum)], None, 1).with_classes(&classes());
        let ours: Vec<String> =
            ours(queue, &arrivals(seed, 1_000)).left.iter().map(|(number, _)| number.to_string()).collect();
        let theirs: Vec<&str> = lines[1].split(' ').collect();
        let differs = ours.iter().zip(&theirs).position(|(one, other)| one != other);
        assert_eq!((differs, ours.len()), (None, theirs.len()), "quantum {quantum}");
    }
    assert_eq!(lines.len(), 8);
}

/// Classes 0, 1, … of these packets, each of which sends as much as the wire carries.
fn greedy(sizes: &[u32], packets: usize) -> Vec<Parcel> {
    let mut all = Vec::new();
    for (class, &bytes) in sizes.iter().enumerate() {
        for k in 0..packets as u64 {
            let came = 1_000_000_000 + k * u64::from(bytes) * A_BYTE;
            all.push(Parcel { number: 0, bytes, flow: class as u32, ecn: Ecn::NotEct, came });
        }
    }
    all.sort_by_key(|parcel| parcel.came);
    all.iter_mut().enumerate().for_each(|(number, parcel)| parcel.number = number);
    all
}

/// While all wait, what each class has sent over its quantum differs by no more than one turn and one packet from any other's (the paper's
/// lemma 2: k quanta less a deficit below the largest packet, after k turns): with a buffer of any size too, as it is shared by stealing.
#[test]
fn shares_are_those_of_the_quanta() {
    for quanta in [[1514, 1514, 1514], [1500, 3000, 4500], [300, 300, 900]] {
        for limit in [None, Some(Limit::Bytes(60_000))] {
            let sizes = [1500, 300, 40];
            let parcels = greedy(&sizes, 5_000);
            let text = quanta.map(|quantum| format!("{quantum} B")).join(", ");
            let queue = discipline("drr", &[("quanta", &text)], limit, 1).with_classes(&classes());
            let log = ours(queue, &parcels);
            let mut sent = [0.0_f64; 3];
            let last = 1_000_000_000 + 5_000 * 40 * A_BYTE; // the smallest packets have all come
            let mut turns = 0.0_f64;
            for (number, at) in log.left.iter().filter(|(_, at)| (1_100_000_000..last).contains(at)) {
                let Parcel { flow: class, bytes, .. } = parcels[*number];
                sent[class as usize] += f64::from(bytes);
                turns = sent[0] / quanta[0] as f64;
                for other in 0..3 {
                    let behind = turns - sent[other] / quanta[other] as f64;
                    let packets = f64::from(sizes[0]) / quanta[0] as f64
                        + f64::from(sizes[other]) / quanta[other] as f64;
                    assert!(behind.abs() <= 1.0 + packets, "{quanta:?} at {at}: {sent:?}");
                }
            }
            assert!(turns > 10.0, "{turns}");
        }
    }
}

/// When the wire is busy: the beginnings and ends of its busy times.
fn busy(log: &Log, parcels: &[Parcel]) -> Vec<(u64, u64)> {
    let mut busy: Vec<(u64, u64)> = Vec::new();
    for (number, at) in &log.left {
        let end = at + u64::from(parcels[*number].bytes) * A_BYTE;
        match busy.last_mut().filter(|(_, before)| before == at) {
            Some((_, before)) => *before = end,
            None => busy.push((*at, end)),
        }
    }
    busy
}

#[test]
fn the_wire_is_as_busy_as_with_a_fifo() {
    let mut periods = 0;
    for seed in 0..20 {
        let arrivals = arrivals(seed, 3_000);
        let [fifo, drr, priority] = ["drop-tail", "drr", "priority"].map(|name| {
            let queue = discipline(name, &[], None, seed).with_classes(&classes());
            busy(&ours(queue, &arrivals), &arrivals)
        });
        assert!(fifo == drr && fifo == priority, "seed {seed}");
        periods += fifo.len();
    }
    assert!(periods > 1_000, "{periods}");
}

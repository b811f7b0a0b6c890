//! DualPI2: RFC 9332 appendix A, with Linux's scheduler, and the two laws of the coupling.

use super::drive::{
    Fifo, Log, Oracle, Parcel, arrivals, assert_equal, discipline, ours, steady, theirs, whole_packets,
};
use paceline_core::queue::Limit;
use paceline_core::{Cause, Ecn};

/// The parameters, times in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Settings {
    target: u64,
    max_rtt: u64,
    step: u64,
    mtu: u64,
}

const DEFAULTS: Settings = Settings { target: 15_000_000, max_rtt: 100_000_000, step: 1_000_000, mtu: 1500 };

impl Settings {
    /// `Tupdate`: the lesser of the target and a third of the longest round trip; not below a millisecond.
    fn update(self) -> u64 {
        self.target.min(self.max_rtt / 3).max(1_000_000)
    }

    /// The credit with which L4S begins: a packet of the largest size at both weights.
    fn credit(self) -> i64 {
        self.mtu as i64 * (10 - 90)
    }
}

/// The variables of appendix A, their names kept.
struct DualPi2 {
    lq: Fifo,
    cq: Fifo,
    l_count: f64,
    c_count: f64,
    limit: u64,
    settings: Settings,
    base_p: f64,
    prevq: f64,
    next_update: u64,
    c_protection_credit: i64,
}

impl DualPi2 {
    fn new(limit: u64, settings: Settings) -> Self {
        DualPi2 {
            lq: Fifo::default(),
            cq: Fifo::default(),
            l_count: 0.0,
            c_count: 0.0,
            limit,
            settings,
            base_p: 0.0,
            prevq: 0.0,
            next_update: settings.update(),
            c_protection_credit: settings.credit(),
        }
    }

    fn update(&mut self, now: u64) {
        while self.next_update <= now {
            let time = |queue: &Fifo| queue.packets.front().map_or(0, |head| self.next_update - head.came);
            let curq = u64::max(time(&self.lq), time(&self.cq)) as f64 * 1e-9;
            let seconds = |nanos: u64| nanos as f64 * 1e-9;
            let (max_rtt, every) = (seconds(self.settings.max_rtt), seconds(self.settings.update()));
            let (alpha, beta) = (0.1 * every / (max_rtt * max_rtt), 0.3 / max_rtt);
            self.base_p += alpha * (curq - seconds(self.settings.target)) + beta * (curq - self.prevq);
            self.base_p = self.base_p.clamp(0.0, 1.0);
            self.prevq = curq;
            self.next_update += self.settings.update();
        }
    }
}

fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

fn mark(parcel: &mut Parcel) {
    parcel.ecn = Ecn::Ce;
}

impl Oracle for DualPi2 {
    fn enqueue(&mut self, parcel: Parcel, now: u64, is_idle: bool, dropped: &mut Vec<(Parcel, Cause)>) {
        self.update(now);
        if !is_idle && self.lq.bytes + self.cq.bytes + u64::from(parcel.bytes) > self.limit {
            return dropped.push((parcel, Cause::Overflow));
        }
        match parcel.ecn {
            Ecn::Ect1 | Ecn::Ce => self.lq.push(parcel),
            Ecn::NotEct | Ecn::Ect0 => self.cq.push(parcel),
        }
    }

    fn dequeue(&mut self, now: u64, dropped: &mut Vec<(Parcel, Cause)>) -> Option<Parcel> {
        self.update(now);
        let (p_cl, p_c) = (2.0 * self.base_p, f64::min(self.base_p * self.base_p, 0.25));
        loop {
            let (l_len, c_len) = (self.lq.packets.len(), self.cq.packets.len());
            let from_l = l_len > 0 && (c_len == 0 || self.c_protection_credit <= 0);
            let mut parcel = if from_l { self.lq.pop() } else { self.cq.pop() }?;
            let spares = self.lq.bytes + self.cq.bytes <= self.settings.mtu;
            if from_l && p_cl < 1.0 {
                let laqm = if now - parcel.came > self.settings.step && l_len > 1 { 1.0 } else { 0.0 };
                if recur(&mut self.l_count, f64::max(laqm, p_cl)) {
                    mark(&mut parcel);
                }
            } else if from_l {
                if !spares && recur(&mut self.l_count, p_c) {
                    dropped.push((parcel, Cause::Early));
                    continue;
                }
                mark(&mut parcel);
            } else if !spares && recur(&mut self.c_count, p_c) {
                if parcel.ecn == Ecn::NotEct || p_c >= 0.25 {
                    dropped.push((parcel, Cause::Early));
                    continue;
                }
                mark(&mut parcel);
            }
            let size = i64::from(parcel.bytes);
            match (l_len > 0 && c_len > 0, from_l) {
                (true, true) => self.c_protection_credit += 10 * size,
                (true, false) => self.c_protection_credit -= 90 * size,
                (false, _) => self.c_protection_credit = self.settings.credit(),
            }
            return Some(parcel);
        }
    }
}

#[test]
fn every_packet_fares_as_in_the_rfc() {
    let (mut early, mut overflow, mut marks) = (0, 0, 0);
    for seed in 0..60 {
        let limit = [250_000, 60_000, 20_000][seed as usize % 3]; // without one it is 250 ms
        let arrivals = arrivals(seed, 4_000);
        let limited = (seed % 3 > 0).then_some(Limit::Bytes(limit));
        let ours = ours(discipline("dualpi2", &[], limited, seed), &arrivals);
        assert_equal(&format!("seed {seed}"), &ours, &theirs(&mut DualPi2::new(limit, DEFAULTS), &arrivals));
        early += ours.early.len();
        overflow += ours.overflow.len();
        marks += ours.marked.len();
    }
    assert!(early > 1_000 && overflow > 1_000 && marks > 5_000, "{early} {overflow} {marks}");
}

#[test]
fn every_packet_fares_as_in_the_rfc_with_other_parameters() {
    // An update of a third of the round trip, of the target, of the least; and a step of whole packets' times, met to
    // the nanosecond.
    for (seed, target, max_rtt, step, mtu) in
        [(1, 20, 45, 3, 3000), (2, 5, 200, 0, 0), (3, 1, 2, 2, 1000), (4, 0, 60, 1, 9000)]
    {
        let settings = Settings {
            target: target * 1_000_000,
            max_rtt: max_rtt * 1_000_000,
            step: step * 1_000_000,
            mtu,
        };
        let texts = [("target", target), ("max_rtt", max_rtt), ("step", step)]
            .map(|(name, ms)| (name, format!("{ms} ms")));
        let mtu = format!("{mtu} B");
        let mut parameters: Vec<_> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        parameters.push(("mtu", &mtu));
        for arrivals in [arrivals(seed, 3_000), whole_packets(seed, 3_000)] {
            let ours = ours(discipline("dualpi2", &parameters, Some(Limit::Bytes(60_000)), seed), &arrivals);
            assert_equal(
                &format!("{settings:?}"),
                &ours,
                &theirs(&mut DualPi2::new(60_000, settings), &arrivals),
            );
            assert!(ours.marked.len() > 100, "{}", ours.marked.len());
        }
    }
}

/// Of packets from `rest` on: shares of each kind that are marked or dropped.
fn shares(log: &Log, packets: &[Parcel], rest: usize) -> [f64; 2] {
    [Ecn::NotEct, Ecn::Ect1].map(|ecn| {
        let of = |number: &usize| *number >= rest && packets[*number].ecn == ecn;
        let all = (rest..packets.len()).filter(|number| packets[*number].ecn == ecn).count();
        let dropped = log.early.iter().filter(|(number, _)| of(number)).count();
        let marked = log.marked.iter().filter(|number| of(number)).count();
        (dropped + marked) as f64 / all as f64
    })
}

/// Classic packets above the link's rate, a few of L4S beside: the classic ones' share p_C of drops is what is too much, and L4S's share of
/// marks is 2·√p_C.
#[test]
fn l4s_is_marked_with_twice_the_root_of_what_classic_is_dropped_with() {
    let mut packets = steady(60_000, 1000, 950_000, Ecn::NotEct);
    for packet in steady(6_000, 100, 9_500_000, Ecn::Ect1) {
        packets.push(Parcel { flow: 1, came: packet.came + 1_234, ..packet });
    }
    packets.sort_by_key(|packet| packet.came);
    packets.iter_mut().enumerate().for_each(|(number, packet)| packet.number = number);
    let log = ours(discipline("dualpi2", &[], None, 1), &packets);
    let [classic, l4s] = shares(&log, &packets, 30_000);
    // 1000 B in 0.95 ms and 100 B in 9.5 ms on a wire that takes a byte in 1 us
    let excess = 1.0 - (1.0 - 100.0 / 9_500.0) / (1_000.0 / 950.0);
    assert!((classic - excess).abs() < 0.002, "{classic} {excess}");
    assert!((l4s / (2.0 * classic.sqrt()) - 1.0).abs() < 0.03, "{l4s} {classic}");
    let classic_wait = log.left.iter().filter(|(number, _)| *number > 30_000 && packets[*number].flow == 0);
    let waits: Vec<u64> = classic_wait.map(|(number, at)| at - packets[*number].came).collect();
    let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64 * 1e-6;
    assert!((mean - 15.0).abs() < 1.0, "{mean} ms");
}

/// L4S packets alone, twice what the link carries: they are marked all, and in overload dropped.
#[test]
fn what_does_not_slow_down_is_dropped_in_overload() {
    let packets = steady(20_000, 1000, 500_000, Ecn::Ect1);
    let log = ours(discipline("dualpi2", &[], None, 1), &packets);
    let late = |number: &usize| *number > 10_000;
    let dropped = log.early.iter().filter(|(number, _)| late(number)).count();
    let left = log.left.iter().filter(|(number, _)| late(number)).count();
    let marked = log.marked.iter().filter(|number| late(number)).count();
    assert_eq!(marked, left);
    assert!(dropped > 1_000 && !log.overflow.is_empty(), "{dropped}");
}

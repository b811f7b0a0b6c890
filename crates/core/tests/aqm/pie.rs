//! PIE: RFC 8033 appendix A with sections 5.1, 5.4 and 5.5, and where the controller comes to rest.

use super::drive::{
    Fifo, Oracle, Parcel, Uniform, arrivals, assert_equal, discipline, ours, steady, theirs, whole_packets,
};
use paceline_core::queue::Limit;
use paceline_core::{Cause, Ecn};

const T_UPDATE: u64 = 15_000_000;
const BURST: i64 = 150_000_000;

/// The variables of appendix A, their names kept; times in nanoseconds.
struct Pie {
    queue: Fifo,
    limit: Option<u64>,
    ecn: bool,
    derandomises: bool,
    qdelay_ref: u64,
    t_update: u64,
    max_burst: i64,
    mean_pktsize: u64,
    drop_prob: f64,
    accu_prob: f64,
    current_qdelay: u64,
    qdelay_old: u64,
    burst_allowance: i64,
    next_update: u64,
    random: Uniform,
}

impl Pie {
    fn new(seed: u64) -> Self {
        Pie {
            queue: Fifo::default(),
            limit: None,
            ecn: true,
            derandomises: false,
            qdelay_ref: 15_000_000,
            t_update: T_UPDATE,
            max_burst: BURST,
            mean_pktsize: 1500,
            drop_prob: 0.0,
            accu_prob: 0.0,
            current_qdelay: 0,
            qdelay_old: 0,
            burst_allowance: 0,
            next_update: T_UPDATE,
            random: Uniform::new(seed),
        }
    }

    fn advance(&mut self, now: u64) {
        while self.next_update <= now {
            self.calculate_drop_prob();
            self.next_update += self.t_update;
        }
    }

    fn calculate_drop_prob(&mut self) {
        let seconds = |nanos: u64| nanos as f64 * 1e-9;
        let (current, old) = (seconds(self.current_qdelay), seconds(self.qdelay_old));
        let mut p = 0.125 * (current - seconds(self.qdelay_ref)) + 1.25 * (current - old);
        if self.drop_prob < 0.000_001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.000_01 {
            p /= 512.0;
        } else if self.drop_prob < 0.000_1 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        } else if p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0 && self.qdelay_old == 0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = (self.burst_allowance - self.t_update as i64).max(0);
    }

    fn drop_early(&mut self) -> bool {
        if (2 * self.qdelay_old < self.qdelay_ref && self.drop_prob < 0.2)
            || self.queue.bytes <= 2 * self.mean_pktsize
        {
            return false;
        }
        if self.derandomises {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                self.accu_prob = 0.0;
                return true;
            }
        }
        let drops = self.random.unit() < self.drop_prob;
        if drops {
            self.accu_prob = 0.0;
        }
        drops
    }
}

impl Oracle for Pie {
    fn enqueue(&mut self, mut parcel: Parcel, now: u64, is_idle: bool, dropped: &mut Vec<(Parcel, Cause)>) {
        self.advance(now);
        if !is_idle && self.limit.is_some_and(|limit| self.queue.packets.len() as u64 >= limit) {
            self.accu_prob = 0.0; // as in sch_pie.c and ns-3
            return dropped.push((parcel, Cause::Overflow));
        }
        if self.drop_prob == 0.0
            && 2 * self.current_qdelay < self.qdelay_ref
            && 2 * self.qdelay_old < self.qdelay_ref
        {
            self.burst_allowance = self.max_burst;
        }
        if self.burst_allowance == 0 && self.drop_early() {
            if self.ecn && parcel.ecn != Ecn::NotEct && self.drop_prob < 0.1 {
                parcel.ecn = Ecn::Ce;
            } else {
                return dropped.push((parcel, Cause::Early));
            }
        }
        self.queue.push(parcel);
    }

    fn dequeue(&mut self, now: u64, _: &mut Vec<(Parcel, Cause)>) -> Option<Parcel> {
        let parcel = self.queue.pop()?;
        self.advance(now);
        self.current_qdelay = if self.queue.packets.is_empty() { 0 } else { now - parcel.came };
        Some(parcel)
    }
}

#[test]
fn every_packet_fares_as_in_the_rfc() {
    let (mut early, mut overflow, mut marks) = (0, 0, 0);
    for seed in 0..60 {
        let (ecn, derandomises) = (seed % 3 > 0, seed % 2 == 1);
        let limit = (seed % 5 == 0).then_some(80);
        let parameters = [
            ("ecn", if ecn { "mark" } else { "drop" }),
            ("derandomise", if derandomises { "on" } else { "off" }),
        ];
        let arrivals = arrivals(seed, 4_000);
        let ours = ours(discipline("pie", &parameters, limit.map(Limit::Packets), seed), &arrivals);
        let mut oracle = Pie { limit, ecn, derandomises, ..Pie::new(seed) };
        assert_equal(&format!("seed {seed}"), &ours, &theirs(&mut oracle, &arrivals));
        early += ours.early.len();
        overflow += ours.overflow.len();
        marks += ours.marked.len();
    }
    assert!(early > 2_000 && overflow > 100 && marks > 200, "{early} {overflow} {marks}");
}

#[test]
fn every_packet_fares_as_in_the_rfc_with_other_parameters() {
    for (seed, target, update, burst, mtu) in
        [(1, 5, 20, 60, 500), (2, 20, 1, 0, 1000), (3, 2, 15, 45, 1500), (4, 0, 4, 20, 0)]
    {
        let texts = [("target", target), ("update", update), ("burst", burst)]
            .map(|(name, ms)| (name, format!("{ms} ms")));
        let mtu_text = format!("{mtu} B");
        let mut parameters: Vec<_> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        parameters
            .extend([("mtu", mtu_text.as_str()), ("derandomise", if seed % 2 == 0 { "on" } else { "off" })]);
        for arrivals in [arrivals(seed, 3_000), whole_packets(seed, 3_000)] {
            let ours = ours(discipline("pie", &parameters, None, seed), &arrivals);
            let (t_update, max_burst) = (update * 1_000_000, burst as i64 * 1_000_000);
            let mut oracle = Pie {
                qdelay_ref: target * 1_000_000,
                t_update,
                max_burst,
                mean_pktsize: mtu,
                next_update: t_update,
                derandomises: seed % 2 == 0,
                ..Pie::new(seed)
            };
            assert_equal(&format!("{parameters:?}"), &ours, &theirs(&mut oracle, &arrivals));
            assert!(
                ours.early.len() + ours.marked.len() > 50,
                "{parameters:?} {} {}",
                ours.early.len(),
                ours.marked.len()
            );
        }
    }
}

/// A burst passes only after a delay below half of the target, and at half of it no longer: what comes after 300 ms at half of the target is
/// dropped within 150 ms. Once a packet waits for less then, but not at two updates (RFC 8033 section 4.4).
#[test]
fn a_delay_of_half_of_the_target_lets_no_burst_pass() {
    const MS: u64 = 1_000_000;
    let update = 1_305; // ms, at which the delay is below half of the target
    // Packets take a millisecond. Three come first, and one each millisecond: each waits for two, but those of the milliseconds before the update.
    let steady = (1_001..update + 1).map(|ms| match ms {
        ms if ms == update - 3 => (ms, 0),
        ms if ms == update - 2 => (ms, 2),
        ms => (ms, 1),
    });
    let mut arrivals = Vec::new();
    for (ms, packets) in
        [(1_000, 3)].into_iter().chain(steady).chain((update + 1..update + 150).map(|ms| (ms, 4)))
    {
        arrivals.extend((0..packets).map(|_| Parcel {
            number: 0,
            bytes: 1000,
            flow: 0,
            ecn: Ecn::NotEct,
            came: ms * MS,
        }));
    }
    arrivals.iter_mut().enumerate().for_each(|(number, parcel)| parcel.number = number);
    let ours = ours(discipline("pie", &[("target", "4 ms")], None, 1), &arrivals);
    let mut oracle = Pie { qdelay_ref: 4 * MS, ..Pie::new(1) };
    assert_equal("half of the target", &ours, &theirs(&mut oracle, &arrivals));
    assert!(ours.early.iter().any(|(_, at)| *at < (update + 150) * MS), "{:?}", ours.early);
}

/// Under a load of 125 % that does not slow down, the controller rests where a fifth is dropped and the delay is the target.
#[test]
fn it_rests_where_the_excess_is_dropped_at_the_target_delay() {
    let packets = steady(200_000, 1000, 800_000, Ecn::NotEct);
    let rest = 100_000;
    for derandomise in ["off", "on"] {
        let mut drops = 0.0;
        let mut wait = 0.0;
        for seed in 0..4 {
            let log = ours(discipline("pie", &[("derandomise", derandomise)], None, seed), &packets);
            drops += log.early.iter().filter(|(number, _)| *number >= rest).count() as f64;
            let waits = log.left.iter().filter(|(number, _)| *number >= rest);
            let waits: Vec<u64> = waits.map(|(number, at)| at - packets[*number].came).collect();
            wait += waits.iter().sum::<u64>() as f64 / waits.len() as f64;
        }
        let (share, wait) = (drops / 4.0 / 100_000.0, wait / 4.0 * 1e-6);
        assert!((share - 0.2).abs() < 0.002, "{derandomise}: {share}");
        assert!((wait - 15.0).abs() < 0.45, "{derandomise}: {wait} ms");
    }
}

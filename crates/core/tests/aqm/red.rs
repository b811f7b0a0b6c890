//! RED: ns-2 2.35's `REDQueue`, written out here; that and the crate's against ns-2 itself with ns-2's draws (`red-ns2.txt`, by
//! `benches/peers/red.py`), and the crate's against that with its own.

use super::drive::{
    Fifo, Log, Oracle, Parcel, RATE, Uniform, arrivals, assert_equal, discipline, ours, theirs,
};
use paceline_core::queue::Limit;
use paceline_core::{Cause, Ecn};

/// ns-2's parameters and variables, its names kept (`queue/red.h`, `edp` and `edv`).
struct RedQueue<U> {
    queue: Fifo,
    qib: bool,
    th_min: f64,
    th_max: f64,
    q_w: f64,
    max_p_inv: f64,
    mean_pktsize: u64,
    gentle: bool,
    wait: bool,
    adaptive: bool,
    setbit: bool,
    mark_p: f64,
    use_mark_p: bool,
    limit: Option<u64>,
    v_ave: f64,
    cur_max_p: f64,
    lastset: f64,
    count: u64,
    count_bytes: u64,
    old: bool,
    idle: bool,
    idletime: f64,
    uniform: U,
    /// The average after each arrival.
    averages: Vec<f64>,
}

impl<U> RedQueue<U> {
    /// As `Queue/RED` is by default, but for the thresholds in packets, where they are given.
    fn new(uniform: U, mean_pktsize: u64, thresholds: Option<(f64, f64)>) -> Self {
        let ptc = RATE as f64 / (8.0 * mean_pktsize as f64);
        let (th_min, th_max) = thresholds.unwrap_or_else(|| {
            let th_min = f64::max(5.0, 0.005 * ptc / 2.0);
            (th_min, 3.0 * th_min)
        });
        let unit = mean_pktsize as f64;
        RedQueue {
            queue: Fifo::default(),
            qib: true,
            th_min: th_min * unit,
            th_max: th_max * unit,
            q_w: 1.0 - (-1.0 / (10.0 * 0.1 * ptc)).exp(),
            max_p_inv: 10.0,
            mean_pktsize,
            gentle: true,
            wait: true,
            adaptive: false,
            setbit: false,
            mark_p: 0.1,
            use_mark_p: true,
            limit: None,
            v_ave: 0.0,
            cur_max_p: 0.1,
            lastset: 0.0,
            count: 0,
            count_bytes: 0,
            old: false,
            idle: true,
            idletime: 0.0,
            uniform,
            averages: Vec::new(),
        }
    }

    /// `bytes_` and `queue_in_bytes_` false.
    fn by_packets(mut self) -> Self {
        self.th_min /= self.mean_pktsize as f64;
        self.th_max /= self.mean_pktsize as f64;
        self.qib = false;
        self
    }

    fn estimator(&mut self, nqueued: u64, m: u64, now: f64) {
        let mut new_ave = self.v_ave;
        for _ in 0..m {
            new_ave *= 1.0 - self.q_w;
        }
        new_ave += self.q_w * nqueued as f64;
        if self.adaptive && now > self.lastset + 0.5 {
            let part = 0.4 * (self.th_max - self.th_min);
            let bottom = f64::min(0.01, 80_000.0 / RATE as f64);
            if new_ave < self.th_min + part && self.cur_max_p > bottom {
                self.cur_max_p *= 0.9;
                self.lastset = now;
            } else if new_ave > self.th_max - part && self.cur_max_p < 0.5 {
                self.cur_max_p += f64::min(0.01, 0.25 * self.cur_max_p);
                self.lastset = now;
            }
        }
        self.v_ave = new_ave;
    }

    fn calculate_p_new(&self) -> f64 {
        let th_diff = if self.th_max == self.th_min { 1.0 } else { self.th_max - self.th_min };
        let (v_a, v_b) = (1.0 / th_diff, -self.th_min / th_diff);
        let first = 1.0 / self.max_p_inv;
        let (v_c, v_d) = ((1.0 - first) / self.th_max, 2.0 * first - 1.0);
        let p = match self.v_ave >= self.th_max {
            true if self.gentle => v_c * self.v_ave + v_d,
            true => 1.0,
            false => (v_a * self.v_ave + v_b) * self.cur_max_p,
        };
        p.min(1.0)
    }

    fn modify_p(&self, mut p: f64, size: u32) -> f64 {
        let count1 = if self.qib { self.count_bytes / self.mean_pktsize } else { self.count } as f64;
        if self.wait {
            if count1 * p < 1.0 {
                p = 0.0;
            } else if count1 * p < 2.0 {
                p /= 2.0 - count1 * p;
            } else {
                p = 1.0;
            }
        } else if count1 * p < 1.0 {
            p /= 1.0 - count1 * p;
        } else {
            p = 1.0;
        }
        if self.qib && p < 1.0 {
            p = p * f64::from(size) / self.mean_pktsize as f64;
        }
        p.min(1.0)
    }
}

impl<U: FnMut() -> f64> Oracle for RedQueue<U> {
    fn enqueue(&mut self, mut pkt: Parcel, now_ns: u64, is_idle: bool, dropped: &mut Vec<(Parcel, Cause)>) {
        let now = now_ns as f64 / 1e9;
        let mut m = 0;
        assert_eq!(self.idle, is_idle);
        if self.idle {
            self.idle = false;
            m = (RATE as f64 / (8.0 * self.mean_pktsize as f64) * (now - self.idletime)) as u64;
        }
        let qlen = if self.qib { self.queue.bytes } else { self.queue.packets.len() as u64 };
        self.estimator(qlen, m + 1, now);
        self.averages.push(self.v_ave);
        self.count += 1;
        self.count_bytes += u64::from(pkt.bytes);
        let (mut unforced, mut forced) = (false, false);
        if self.v_ave >= self.th_min && qlen > 1 {
            let most = if self.gentle { 2.0 * self.th_max } else { self.th_max };
            if !self.use_mark_p && self.v_ave >= most {
                forced = true;
            } else if !self.old {
                (self.count, self.count_bytes, self.old) = (1, pkt.bytes.into(), true);
            } else {
                let v_prob1 = self.calculate_p_new();
                if (self.uniform)() <= self.modify_p(v_prob1, pkt.bytes) {
                    (self.count, self.count_bytes) = (0, 0);
                    if self.setbit && pkt.ecn != Ecn::NotEct && (!self.use_mark_p || v_prob1 < self.mark_p) {
                        pkt.ecn = Ecn::Ce;
                    } else {
                        unforced = true;
                    }
                }
            }
        } else {
            self.old = false;
        }
        // the limit by the rule of links
        if !is_idle && self.limit.is_some_and(|limit| self.queue.packets.len() as u64 >= limit) {
            (self.count, self.count_bytes) = (0, 0);
            dropped.push((pkt, Cause::Overflow));
        } else if forced {
            (self.count, self.count_bytes) = (0, 0);
            dropped.push((pkt, Cause::Early));
        } else if unforced {
            dropped.push((pkt, Cause::Early));
        } else {
            self.queue.push(pkt);
        }
    }

    fn dequeue(&mut self, now: u64, _: &mut Vec<(Parcel, Cause)>) -> Option<Parcel> {
        let packet = self.queue.pop();
        self.idle = packet.is_none();
        if self.idle {
            self.idletime = now as f64 / 1e9;
        }
        packet
    }
}

/// L'Ecuyer's MRG32k3a, which is ns-2's, seeded as ns-2's default.
fn mrg32k3a() -> impl FnMut() -> f64 {
    const M1: i64 = 4_294_967_087;
    const M2: i64 = 4_294_944_443;
    let (mut one, mut two) = ([1_i64; 3], [1_i64; 3]);
    move || {
        let p1 = (1_403_580 * one[1] - 810_728 * one[0]).rem_euclid(M1);
        one = [one[1], one[2], p1];
        let p2 = (527_612 * two[2] - 1_370_589 * two[0]).rem_euclid(M2);
        two = [two[1], two[2], p2];
        let difference = if p1 > p2 { p1 - p2 } else { p1 - p2 + M1 };
        difference as f64 * 2.328_306_549_295_728e-10
    }
}

/// A setting of `benches/peers/red.py`, with these draws; the parameters of the crate's discipline that are the same.
fn setting<U>(name: &str, uniform: U) -> (RedQueue<U>, Vec<(&'static str, &'static str)>) {
    let new = |mean, thresholds| RedQueue::new(uniform, mean, thresholds);
    match name {
        "defaults" => (new(500, None), vec![]),
        "packets" => (
            new(1000, Some((4.0, 12.0))).by_packets(),
            vec![
                ("unit", "packets"),
                ("mean_packet", "1000 B"),
                ("thresh", "4 packets"),
                ("maxthresh", "12 packets"),
            ],
        ),
        "no-wait" => (
            RedQueue { wait: false, q_w: 0.01, ..new(1000, None) },
            vec![("wait", "no"), ("mean_packet", "1000 B"), ("q_weight", "0.01")],
        ),
        "not-gentle" => (
            RedQueue {
                gentle: false,
                q_w: 0.02,
                max_p_inv: 20.0,
                cur_max_p: 0.05,
                ..new(500, Some((10.0, 20.0)))
            },
            vec![
                ("gentle", "no"),
                ("thresh", "10 packets"),
                ("maxthresh", "20 packets"),
                ("max_p", "0.05"),
                ("q_weight", "0.02"),
            ],
        ),
        "adaptive" => (
            RedQueue { adaptive: true, ..new(1000, Some((5.0, 15.0))) },
            vec![
                ("adaptive", "yes"),
                ("mean_packet", "1000 B"),
                ("thresh", "5 packets"),
                ("maxthresh", "15 packets"),
            ],
        ),
        _ => panic!("{name}"),
    }
}

const NAMES: [&str; 5] = ["defaults", "packets", "no-wait", "not-gentle", "adaptive"];

#[test]
fn ns2_drops_the_same_packets_with_the_same_draws() {
    let lines: Vec<&str> = include_str!("red-ns2.txt").lines().collect();
    let mut settings = 0;
    for (seed, lines) in (0..).zip(lines.chunks(3)) {
        let [name, dropped, averages] = lines else { panic!("{lines:?}") };
        let (mut oracle, mut parameters) = setting(name, mrg32k3a());
        let arrivals = arrivals(seed, 4_000);
        let log = theirs(&mut oracle, &arrivals);
        let dropped: Vec<usize> = dropped.split(' ').map(|number| number.parse().unwrap()).collect();
        parameters.extend([("ns2_draws", "0"), ("ecn", "drop")]);
        let ours = ours(discipline("red", &parameters, None, seed), &arrivals);
        for early in [&log.early, &ours.early] {
            let early: Vec<usize> = early.iter().map(|(number, _)| *number).collect();
            assert!(early == dropped, "{name}: {} and {}", early.len(), dropped.len());
        }
        for (average, written) in oracle.averages.iter().skip(99).step_by(100).zip(averages.split(' ')) {
            let written: f64 = written.parse().unwrap(); // to six digits
            assert!((average - written).abs() <= 1e-5 * written, "{name}: {average} {written}");
        }
        settings += 1;
    }
    assert_eq!(settings, NAMES.len());
}

#[test]
fn every_packet_fares_as_in_ns2() {
    let (mut early, mut overflow, mut marks) = (0, 0, 0);
    for seed in 0..50 {
        let mut draws = Uniform::new(seed);
        let (mut oracle, mut parameters) = setting(NAMES[seed as usize % 5], || draws.unit());
        (oracle.setbit, oracle.limit) = (seed % 3 > 0, (seed % 4 == 0).then_some(30));
        oracle.use_mark_p = seed % 7 > 1;
        parameters.push(("use_mark_p", if oracle.use_mark_p { "yes" } else { "no" }));
        parameters.push(("ecn", if oracle.setbit { "mark" } else { "drop" }));
        let limit = oracle.limit.map(Limit::Packets);
        let arrivals = arrivals(seed, 4_000);
        let ours: Log = ours(discipline("red", &parameters, limit, seed), &arrivals);
        assert_equal(&format!("seed {seed}"), &ours, &theirs(&mut oracle, &arrivals));
        early += ours.early.len();
        overflow += ours.overflow.len();
        marks += ours.marked.len();
    }
    assert!(early > 5_000 && overflow > 500 && marks > 300, "{early} {overflow} {marks}");
}

/// After a pause of a thousand packets and more the average is computed by squares; ns-2 multiplies.
#[test]
fn a_long_pause_lowers_the_average_as_in_ns2() {
    let mut early = 0;
    for (seed, name) in (0..).zip(NAMES) {
        let mut draws = Uniform::new(seed);
        let (mut oracle, mut parameters) = setting(name, || draws.unit());
        parameters.push(("ecn", "drop"));
        let mut arrivals = arrivals(seed, 4_000);
        // of 512 ms, a packet less, and a second and more; 500 B take half a millisecond
        let mut pauses = 0;
        for (number, parcel) in arrivals.iter_mut().enumerate() {
            if number % 250 == 249 {
                pauses += [511_900_000, 512_600_000, 1_234_567_890, 300_000_000][number / 250 % 4];
            }
            parcel.came += pauses;
        }
        let ours = ours(discipline("red", &parameters, None, seed), &arrivals);
        assert_equal(name, &ours, &theirs(&mut oracle, &arrivals));
        early += ours.early.len();
    }
    assert!(early > 200, "{early}");
}

/// A light load for ten seconds lowers `max_p` far below 0.04; the overload after it raises it by a quarter of itself,
/// then by a hundredth.
#[test]
fn max_p_follows_the_load_as_in_ns2() {
    let mut draws = Uniform::new(1);
    let (mut oracle, mut parameters) = setting("adaptive", || draws.unit());
    parameters.push(("ecn", "drop"));
    let mut arrivals = super::drive::steady(1_000, 1000, 10_000_000, Ecn::NotEct);
    let last = arrivals[arrivals.len() - 1].came;
    arrivals.extend(super::drive::steady(20_000, 1000, 850_000, Ecn::NotEct));
    arrivals.iter_mut().enumerate().skip(1_000).for_each(|(number, parcel)| {
        (parcel.number, parcel.came) = (number, parcel.came - 1_000_000_000 + last + 1_000_000);
    });
    let ours = ours(discipline("red", &parameters, None, 1), &arrivals);
    assert_equal("adaptive", &ours, &theirs(&mut oracle, &arrivals));
    assert!(ours.early.len() > 1_000, "{}", ours.early.len());
}

/// With a weight of 1 the average is the queue's length: it is at the thresholds, and probabilities and counts are at their bounds, exactly.
#[test]
fn every_packet_fares_as_in_ns2_at_the_bounds() {
    // max_p and its inverse; with 0.5 and thresholds 8 apart probabilities are sixteenths
    for (seed, max_p, inverse) in [(1, "0.5", 2.0), (2, "0.5", 2.0), (3, "0.01", 100.0), (4, "0.1", 10.0)] {
        for (thresh, maxthresh, adaptive, packets) in
            [(4, 12, "no", 4_000), (5, 15, "yes", 30_000), (5, 5, "no", 4_000)]
        {
            let (gentle, wait) = (seed % 2 == 0, seed < 3);
            let mut draws = Uniform::new(seed);
            let mut oracle = RedQueue {
                q_w: 1.0,
                max_p_inv: inverse,
                cur_max_p: 1.0 / inverse,
                gentle,
                wait,
                adaptive: adaptive == "yes",
                setbit: true,
                mark_p: 0.25,
                ..RedQueue::new(|| draws.unit(), 1000, Some((thresh.into(), maxthresh.into()))).by_packets()
            };
            let thresholds = [thresh, maxthresh].map(|packets| format!("{packets} packets"));
            let yes = |given| if given { "yes" } else { "no" };
            let parameters = [
                ("unit", "packets"),
                ("mean_packet", "1000 B"),
                ("thresh", &*thresholds[0]),
                ("maxthresh", &*thresholds[1]),
                ("q_weight", "1"),
                ("max_p", max_p),
                ("mark_p", "0.25"),
                ("gentle", yes(gentle)),
                ("wait", yes(wait)),
                ("adaptive", adaptive),
            ];
            let arrivals = arrivals(seed, packets);
            let ours = ours(discipline("red", &parameters, None, seed), &arrivals);
            assert_equal(&format!("{parameters:?}"), &ours, &theirs(&mut oracle, &arrivals));
            assert!(ours.early.len() + ours.marked.len() > 20, "{parameters:?}");
        }
    }
}

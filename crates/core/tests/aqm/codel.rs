//! CoDel: RFC 8289 section 5, and its drop times under a constant overload.

use super::drive::{
    A_BYTE, Fifo, Log, Oracle, Parcel, arrivals, assert_equal, discipline, ours, steady, theirs,
};
use paceline_core::queue::Limit;
use paceline_core::{Cause, Ecn};

/// The queue of RFC 8289 sections 5.3 to 5.6, its names kept. Times are nanoseconds; 0 is no time, as there.
#[derive(Debug, Default, Clone)]
pub(crate) struct CodelQueue {
    pub(crate) queue: Fifo,
    pub(crate) target: u64,
    pub(crate) interval: u64,
    pub(crate) maxpacket: u64,
    pub(crate) ecn: bool,
    pub(crate) limit: Option<u64>,
    pub(crate) first_above_time: u64,
    pub(crate) drop_next: u64,
    pub(crate) count: u32,
    pub(crate) lastcount: u32,
    pub(crate) dropping: bool,
    /// Linux; 0 is none.
    pub(crate) ce_threshold: u64,
}

impl CodelQueue {
    fn control_law(&self, t: u64, count: u32) -> u64 {
        // interval / sqrt(count), the largest whole number d with d² · count <= interval²: by halving.
        let (mut low, mut high) = (0, u128::from(self.interval) + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle * middle * u128::from(count) <= u128::from(self.interval).pow(2) {
                low = middle;
            } else {
                high = middle;
            }
        }
        t + low as u64
    }

    fn dodequeue(&mut self, now: u64) -> (Option<Parcel>, bool) {
        let mut ok_to_drop = false;
        let p = self.queue.pop();
        match p {
            None => self.first_above_time = 0,
            Some(p) => {
                let sojourn_time = now - p.came;
                if sojourn_time < self.target || self.queue.bytes <= self.maxpacket {
                    self.first_above_time = 0;
                } else if self.first_above_time == 0 {
                    self.first_above_time = now + self.interval;
                } else if now >= self.first_above_time {
                    ok_to_drop = true;
                }
            }
        }
        (p, ok_to_drop)
    }

    /// Whether the packet, if there is one, is marked instead of dropped (Linux, `codel_dequeue`).
    fn marks(&self, p: &mut Option<Parcel>) -> bool {
        match p {
            Some(p) if self.ecn && p.ecn != Ecn::NotEct => {
                p.ecn = Ecn::Ce;
                true
            }
            _ => false,
        }
    }

    /// Linux's `codel_dequeue`: the RFC's, and the step of `ce_threshold` at its end.
    pub(crate) fn dequeue(&mut self, now: u64, dropped: &mut Vec<(Parcel, Cause)>) -> Option<Parcel> {
        let mut p = self.rfc_dequeue(now, dropped);
        if p.is_some_and(|p| self.ce_threshold > 0 && now - p.came > self.ce_threshold) {
            self.marks(&mut p);
        }
        p
    }

    fn rfc_dequeue(&mut self, now: u64, dropped: &mut Vec<(Parcel, Cause)>) -> Option<Parcel> {
        let (mut p, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                if self.marks(&mut p) {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    return p;
                }
                dropped.extend(p.map(|p| (p, Cause::Early)));
                (p, ok_to_drop) = self.dodequeue(now);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            if !self.marks(&mut p) {
                dropped.extend(p.map(|p| (p, Cause::Early)));
                (p, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            self.count = 1;
            if delta > 1 && (now as i64 - self.drop_next as i64) < 16 * self.interval as i64 {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        p
    }
}

impl Oracle for CodelQueue {
    fn enqueue(&mut self, parcel: Parcel, _: u64, is_idle: bool, dropped: &mut Vec<(Parcel, Cause)>) {
        if !is_idle && self.limit.is_some_and(|limit| self.queue.packets.len() as u64 + 1 > limit) {
            dropped.push((parcel, Cause::Overflow));
        } else {
            self.queue.push(parcel);
        }
    }

    fn dequeue(&mut self, now: u64, dropped: &mut Vec<(Parcel, Cause)>) -> Option<Parcel> {
        CodelQueue::dequeue(self, now, dropped)
    }
}

#[test]
fn every_packet_fares_as_in_the_rfc() {
    let (mut drops, mut marks) = (0, 0);
    for seed in 0..60 {
        let (target, interval) = [(5, 100), (5, 100), (1, 20), (12, 60)][seed as usize % 4];
        let (ecn, limit) = (seed % 3 > 0, (seed % 5 == 0).then_some(60));
        let texts = [format!("{target} ms"), format!("{interval} ms")];
        let ecn_text = if ecn { "mark" } else { "drop" };
        let ce_threshold = [0, 0, 1, 7][seed as usize / 4 % 4];
        let step = format!("{ce_threshold} ms");
        let parameters =
            [("target", &*texts[0]), ("interval", &*texts[1]), ("ecn", ecn_text), ("ce_threshold", &*step)];
        let arrivals = arrivals(seed, 4_000);
        let ours = ours(discipline("codel", &parameters, limit.map(Limit::Packets), seed), &arrivals);
        let (target, interval) = (target * 1_000_000, interval * 1_000_000);
        let mut oracle =
            CodelQueue { target, interval, maxpacket: 1500, ecn, limit, ..CodelQueue::default() };
        oracle.ce_threshold = ce_threshold * 1_000_000;
        let theirs = theirs(&mut oracle, &arrivals);
        assert_equal(&format!("seed {seed}"), &ours, &theirs);
        drops += ours.early.len();
        marks += ours.marked.len();
    }
    assert!(drops > 2_000 && marks > 500, "{drops} {marks}");
}

/// Gaps of `gap` ns between packets of 1000 B, which take 1 ms: when CoDel drops or marks.
fn overload(gap: u64, ecn: Ecn) -> (Vec<u64>, Log) {
    let arrivals = steady(8_000, 1000, gap, ecn);
    let log = ours(discipline("codel", &[], None, 1), &arrivals);
    let times = match ecn {
        Ecn::NotEct => log.early.iter().map(|(_, at)| *at).collect(),
        _ => {
            let marked = log.left.iter().filter(|(number, _)| log.marked.contains(number));
            marked.map(|(_, at)| *at).collect()
        }
    };
    (times, log)
}

/// The n-th drop follows the one before by interval / √n. Service begins once a packet's time, so each is up to that late, and catches up.
#[test]
fn drops_under_a_constant_overload_come_at_the_interval_over_the_root_of_their_number() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let (times, _) = overload(900_000, ecn);
        assert!(times.len() > 100, "{}", times.len());
        let mut due = times[0] as f64;
        for (number, at) in times.iter().enumerate().take(100) {
            let late = *at as f64 - due;
            assert!((0.0..=1000.0 * A_BYTE as f64 + 100.0).contains(&late), "{number}: {late}");
            due += 100e6 / ((number + 1) as f64).sqrt();
        }
    }
}

/// Packets wait 5 ms or more from the sixth on or so; the first drop is an interval after that.
#[test]
fn the_first_drop_is_an_interval_after_the_target_is_passed() {
    let (times, log) = overload(900_000, Ecn::NotEct);
    let arrivals = steady(8_000, 1000, 900_000, Ecn::NotEct);
    let above = log.left.iter().find(|(number, at)| at - arrivals[*number].came >= 5_000_000).unwrap().1;
    assert!((0..=1_000_000).contains(&(times[0] - above - 100_000_000)), "{} {above}", times[0]);
}

/// Nothing is dropped of a queue that is short, or that drains within an interval.
#[test]
fn bursts_that_drain_pass() {
    let burst: Vec<Parcel> = steady(90, 1000, 10, Ecn::NotEct);
    assert!(ours(discipline("codel", &[], None, 1), &burst).early.is_empty());
    let longer: Vec<Parcel> = steady(110, 1000, 10, Ecn::NotEct);
    assert!(!ours(discipline("codel", &[], None, 1), &longer).early.is_empty());
}

/// Back in the dropping state less than 16 intervals after the next drop would have been due, it goes on from the drops of
/// the last time; after 16, to the nanosecond, it begins anew (RFC 8289 section 5.5).
#[test]
fn a_return_after_sixteen_intervals_begins_anew() {
    const MS: u64 = 1_000_000;
    let interval = 20 * MS;
    let parameters = [("target", "1 ms"), ("interval", "20 ms")];
    // 65 packets at once, a millisecond each: dropped are what leaves at 21, 41 and 56 ms, and the next would be due 20, 14.142135 and
    // 11.547005 ms after the first.
    let mut arrivals = steady(65, 1000, 0, Ecn::NotEct);
    let begin = arrivals[0].came;
    let due = begin + 21 * MS + interval + 14_142_135 + 11_547_005;
    for (before, second) in [(1, 15 * MS), (0, interval)] {
        // As many again, so that what leaves 16 intervals after that, or a nanosecond less, is the first to be dropped.
        arrivals.truncate(65);
        let first = due + 16 * interval - before;
        arrivals.extend(steady(65, 1000, 0, Ecn::NotEct).iter().map(|parcel| Parcel {
            number: parcel.number + 65,
            came: first - 21 * MS,
            ..*parcel
        }));
        let log = ours(discipline("codel", &parameters, None, 1), &arrivals);
        let times: Vec<u64> = log.early.iter().map(|(_, at)| *at).collect();
        assert_eq!(times[..3], [21, 41, 56].map(|ms| begin + ms * MS));
        assert_eq!(times[3..5], [first, first + second]);
        let mut oracle =
            CodelQueue { target: MS, interval, maxpacket: 1500, ecn: true, ..CodelQueue::default() };
        assert_equal("a return", &log, &theirs(&mut oracle, &arrivals));
    }
}

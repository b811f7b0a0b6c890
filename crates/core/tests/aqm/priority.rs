//! Strict priority: a definition of it that looks for the next packet among all that wait; and Cobham's waiting times.

use std::sync::Arc;

use super::drive::{A_BYTE, Draws, Log, Oracle, Parcel, arrivals, assert_equal, discipline, ours, theirs};
use paceline_core::Cause;
use paceline_core::queue::{Limit, Queue};

/// Flow n has class n modulo 8.
pub(crate) fn classes() -> Arc<[u8]> {
    (0..16).map(|flow| flow % 8).collect()
}

/// What waits in the order of arrival; the buffer takes so many packets, and so many of each class.
struct Waiting {
    waiting: Vec<Parcel>,
    most: usize,
    most_of: [usize; 8],
}

fn class(parcel: &Parcel) -> usize {
    parcel.flow as usize % 8
}

impl Oracle for Waiting {
    fn enqueue(&mut self, parcel: Parcel, _: u64, is_idle: bool, dropped: &mut Vec<(Parcel, Cause)>) {
        let alike = self.waiting.iter().filter(|other| class(other) == class(&parcel)).count();
        let has_room = self.waiting.len() < self.most && alike < self.most_of[class(&parcel)];
        if has_room || is_idle {
            self.waiting.push(parcel);
        } else {
            dropped.push((parcel, Cause::Overflow));
        }
    }

    fn dequeue(&mut self, _: u64, _: &mut Vec<(Parcel, Cause)>) -> Option<Parcel> {
        let highest = self.waiting.iter().map(class).max()?;
        let first = self.waiting.iter().position(|parcel| class(parcel) == highest)?;
        Some(self.waiting.remove(first))
    }
}

#[test]
fn every_packet_fares_as_by_definition() {
    let (mut drops, mut overtakes) = (0, 0);
    for seed in 0..40 {
        let most = [usize::MAX, 40, 7, 1][seed as usize % 4];
        let (limits, most_of) = match seed / 4 % 3 {
            0 => (vec![], [usize::MAX; 8]),
            1 => (vec![("limits", "9 packets, 3 packets")], [9, 3, 3, 3, 3, 3, 3, 3]),
            _ => (vec![("limits", "2 packets")], [2; 8]),
        };
        let arrivals = arrivals(seed, 3_000);
        let limit = (most < usize::MAX).then_some(Limit::Packets(most as u64));
        let queue = discipline("priority", &limits, limit, seed).with_classes(&classes());
        let ours = ours(queue, &arrivals);
        let theirs = theirs(&mut Waiting { waiting: Vec::new(), most, most_of }, &arrivals);
        assert_equal(&format!("seed {seed}"), &ours, &theirs);
        drops += ours.overflow.len();
        overtakes += ours.left.windows(2).filter(|pair| pair[0].0 > pair[1].0).count();
    }
    assert!(drops > 10_000 && overtakes > 1_000, "{drops} drops, {overtakes} overtakes");
}

/// Poisson arrivals of these classes: each with a size and a load of the wire, parts of a thousand.
fn poisson(streams: &[(u32, u32, f64)], packets: usize) -> Vec<Parcel> {
    let mut draws = Draws(7);
    let mut unit = || (draws.below(1 << 53) as f64 + 0.5) / (1_u64 << 53) as f64;
    let mut all = Vec::new();
    for &(class, bytes, load) in streams {
        let mean = f64::from(bytes) * A_BYTE as f64 / load;
        let mut now = 1e9;
        while (now as u64) < 1_000_000_000 + packets as u64 * 1_000 * A_BYTE {
            now += -mean * unit().ln();
            let ecn = paceline_core::Ecn::NotEct;
            all.push(Parcel { number: 0, bytes, flow: class, ecn, came: now as u64 });
        }
    }
    all.sort_by_key(|parcel| parcel.came);
    all.iter_mut().enumerate().for_each(|(number, parcel)| parcel.number = number);
    all
}

/// Mean waits by class, ns, each with its standard error from the means of fifty batches.
fn waits(log: &Log, parcels: &[Parcel], class: u32) -> (f64, f64) {
    let mut waits: Vec<(usize, f64)> = (log.left.iter())
        .filter(|(number, _)| parcels[*number].flow == class)
        .map(|(number, at)| (*number, (at - parcels[*number].came) as f64))
        .collect();
    waits.sort_by_key(|(number, _)| *number);
    let means: Vec<f64> = (waits.chunks_exact(waits.len() / 50))
        .map(|batch| batch.iter().map(|(_, wait)| wait).sum::<f64>() / batch.len() as f64)
        .collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// A. Cobham, "Priority assignment in waiting line problems" (Operations Research 1954), eq. 3: a packet of class k waits
/// W0 / ((1 - load of classes above k) (1 - load of classes from k on)), where W0 is what is left of the service under way.
#[test]
fn waits_are_cobhams() {
    for streams in [
        vec![(0, 1000, 0.3), (1, 1000, 0.3), (2, 1000, 0.2)],
        vec![(0, 1500, 0.5), (3, 200, 0.1), (7, 500, 0.2)],
        vec![(0, 1000, 0.6)], // M/D/1
    ] {
        let parcels = poisson(&streams, 400_000);
        let queue: Queue<Parcel> = discipline("priority", &[], None, 1).with_classes(&classes());
        let log = ours(queue, &parcels);
        assert_eq!(log.left.len(), parcels.len());
        let service = |bytes: u32| f64::from(bytes) * A_BYTE as f64;
        let left: f64 = streams.iter().map(|(_, bytes, load)| load * service(*bytes) / 2.0).sum();
        for &(class, ..) in &streams {
            let load = |from: u32| -> f64 {
                streams.iter().filter(|(one, ..)| *one >= from).map(|(.., load)| load).sum()
            };
            let expected = left / ((1.0 - load(class + 1)) * (1.0 - load(class)));
            let (mean, error) = waits(&log, &parcels, class);
            // 3.29 standard errors are exceeded by chance once in a thousand
            assert!(
                (mean - expected).abs() < 3.29 * error,
                "{streams:?}, class {class}: {mean} ns, not {expected}, {error}"
            );
            assert!(error < 0.05 * expected, "{error} of {expected}");
        }
    }
}

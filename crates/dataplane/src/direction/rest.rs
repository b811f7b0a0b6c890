//! How long a thread may stay awake.
//!
//! *Idea.* The kernel leaves a real-time thread 95 % of each second, and stops for up to 50 ms one that wants more, which is
//! longer than traffic waits for a pacer. So time awake is owed for: a fifteenth of it as sleep. Sleep between departures
//! pays; where these are too close, a nap in the middle of a wait does, from which the thread wakes before the next is due;
//! only where there is no such wait does it rest whatever is due meanwhile.
//!
//! *References.* Documentation/scheduler/sched-rt-group.rst (`sched_rt_runtime_us`).

use paceline_core::{Instant, Span};

/// Of so many parts of time awake one is owed: 6.7 %, where the kernel wants 5.
const SHARE: u64 = 15;
/// What going to sleep and waking take, during which a thread is not asleep yet, nanoseconds.
const CALL: u64 = 2_000;
/// The shortest nap. Shorter ones would be mostly calls.
const NAP: u64 = 15_000;
/// What may be owed before a thread rests, and for how long it does.
const MOST_OWED: u64 = 110_000;

/// What a thread owes.
#[derive(Debug)]
pub(super) struct Rest {
    owed_ns: u64,
    awake_since: Instant,
    realtime: bool,
}

impl Rest {
    /// Of a thread that wakes up. One that is not real-time owes nothing.
    pub(super) fn new(now: Instant, realtime: bool) -> Self {
        Rest { owed_ns: 0, awake_since: now, realtime }
    }

    #[inline]
    fn owed_ns(&self, now: Instant) -> u64 {
        self.owed_ns + now.since(self.awake_since).as_nanos() / SHARE
    }

    /// The thread has slept, or has tried to.
    #[inline]
    pub(super) fn slept(&mut self, from: Instant, to: Instant) {
        let paid = to.since(from).as_nanos().saturating_sub(CALL);
        self.owed_ns = self.owed_ns(from).saturating_sub(paid);
        self.awake_since = to;
    }

    /// How long to sleep of a wait that is to be spent awake.
    pub(super) fn nap(&self, now: Instant, wait: Span) -> Option<Span> {
        let nap = (self.owed_ns(now) + CALL).min(wait.as_nanos() / 2);
        (self.realtime && nap >= NAP).then_some(Span::from_nanos(nap))
    }

    /// How long to sleep now, whatever is due.
    #[inline]
    pub(super) fn overdue(&self, now: Instant) -> Option<Span> {
        (self.realtime && self.owed_ns(now) > MOST_OWED).then_some(Span::from_nanos(MOST_OWED + CALL))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what went wrong")]
mod tests {
    use super::*;

    /// Share of a second that a thread sleeps whose waits are all so long, which never sleeps otherwise, and wakes up
    /// `late`; and how many rests it takes.
    fn asleep(wait_ns: u64, late_ns: u64) -> (f64, u32) {
        let mut now = Instant::ZERO;
        let mut rest = Rest::new(now, true);
        let (mut slept, mut rests) = (0, 0);
        while now.as_seconds() < 1.0 {
            let overdue = rest.overdue(now);
            rests += u32::from(overdue.is_some());
            match overdue.or_else(|| rest.nap(now, Span::from_nanos(wait_ns))) {
                Some(sleep) => {
                    let woken = now + sleep + Span::from_nanos(late_ns);
                    rest.slept(now, woken);
                    slept += woken.since(now).as_nanos() - CALL;
                    now = woken;
                }
                None => now += Span::from_nanos(wait_ns),
            }
        }
        (slept as f64 / 1e9, rests)
    }

    #[test]
    fn a_thread_sleeps_for_a_fifteenth_of_the_time_however_short_its_waits_are() {
        for wait_ns in [500, 5_000, 12_000, 20_000, 29_000, 31_000, 40_000, 60_000, 79_000, 200_000] {
            for late_ns in [0, 3_000, 20_000] {
                let (share, _) = asleep(wait_ns, late_ns);
                assert!((0.06..0.17).contains(&share), "{wait_ns} {late_ns}: {share}");
            }
        }
    }

    #[test]
    fn it_rests_in_the_way_of_departures_only_where_no_wait_is_long_enough() {
        assert_eq!(asleep(31_000, 16_000).1, 0);
        assert_eq!(asleep(60_000, 16_000).1, 0);
        assert!(asleep(20_000, 16_000).1 > 300);
    }

    #[test]
    fn a_nap_leaves_half_of_the_wait_awake() {
        let rest = Rest::new(Instant::ZERO, true);
        let later = Instant::ZERO + Span::from_millis(1);
        for wait_ns in [30_000, 60_000, 100_000] {
            let nap = rest.nap(later, Span::from_nanos(wait_ns)).unwrap();
            assert!(nap.as_nanos() <= wait_ns / 2);
        }
        assert_eq!(rest.nap(later, Span::from_nanos(29_000)), None);
        assert_eq!(rest.nap(Instant::ZERO, Span::from_millis(1)), None);
    }

    #[test]
    fn sleep_that_is_cut_short_pays_only_for_what_it_was() {
        let mut rest = Rest::new(Instant::ZERO, true);
        let at = |us: u64| Instant::from_nanos(1000 * us);
        assert!(rest.overdue(at(1600)).is_none());
        rest.slept(at(1600), at(1606));
        assert!(rest.overdue(at(1800)).is_some());
        rest.slept(at(1800), at(1912));
        assert!(rest.overdue(at(1912)).is_none());
    }

    #[test]
    fn a_rest_is_taken_for_more_than_what_may_be_owed() {
        let rest = Rest::new(Instant::ZERO, true);
        let awake = |ns| rest.overdue(Instant::from_nanos(ns));
        assert_eq!(awake(MOST_OWED * SHARE), None);
        assert_eq!(awake(MOST_OWED * SHARE + SHARE), Some(Span::from_nanos(112_000)));
    }

    #[test]
    fn others_owe_nothing() {
        let rest = Rest::new(Instant::ZERO, false);
        let later = Instant::ZERO + Span::from_millis(1000);
        assert_eq!((rest.overdue(later), rest.nap(later, Span::from_millis(1))), (None, None));
    }
}

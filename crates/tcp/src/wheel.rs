//! The timer wheel: when a timer runs out that was set to a number of ticks.
//!
//! *Idea.* Linux counts timeouts in ticks, rounded up, and never lets a timer run out early: it fires at the tick after. What is
//! further off than 63 ticks goes on a coarser wheel, of 8 ticks, then 64, and so on, and waits for the next of these. At 250 ticks
//! a second a timeout of 250 ms so takes 252 to 288 ms, and one of 14 ms 16 to 20 ms.
//! *Parameters.* `timer_tick`; `tick_phase`, or else where a host's ticks stand is drawn for each connection.
//! *References.* Linux kernel/time/timer.c `calc_wheel_index`, `usecs_to_jiffies`.

use crate::config::Config;
use paceline_core::queue::mix;
use paceline_core::{Instant, Span};

/// Ticks that the finest wheel has room for; each next is eight times as coarse.
const ROOM: u64 = 63;
const LEVELS: u32 = 8;

/// A connection's host's.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wheel {
    /// Nanoseconds; 0 is exact.
    tick: u64,
    /// 2^64 / tick, rounded up: to divide by it is to multiply by this, and every acknowledgement does.
    reciprocal: u64,
    /// Where the ticks stand at time zero, nanoseconds.
    phase: u64,
}

impl Wheel {
    pub(crate) const EXACT: Wheel = Wheel { tick: 0, reciprocal: 0, phase: 0 };

    /// A connection's host's; where its ticks stand is drawn by `seed`, unless that is said.
    pub(crate) fn of(config: &Config, seed: u64) -> Self {
        let wheel = Wheel::new(config.timer_tick, seed);
        Wheel { phase: config.tick_phase.map_or(wheel.phase, Span::as_nanos), ..wheel }
    }

    /// Ticks of this length, where they stand drawn by `seed`.
    fn new(tick: Span, seed: u64) -> Self {
        let tick = Some(tick.as_nanos()).filter(|tick| *tick > 1).unwrap_or(0); // the simulator's time has no finer
        let reciprocal = u64::MAX.checked_div(tick).map_or(0, |times| times + 1);
        Wheel { tick, reciprocal, phase: mix(seed ^ 0x7469_6d65_7221) % (tick << 9).max(1) }
    }

    /// Whole ticks in so many nanoseconds.
    #[inline]
    fn ticks(self, nanos: u64) -> u64 {
        let ticks = ((u128::from(nanos) * u128::from(self.reciprocal)) >> 64) as u64;
        ticks - u64::from(ticks * self.tick > nanos)
    }

    /// The ticks that pass from one time to another.
    pub(crate) fn between(self, from: Instant, to: Instant) -> Span {
        let tick = |at: Instant| self.whole(at.as_nanos() + self.phase);
        Span::from_nanos(tick(to) - tick(from))
    }

    /// This rounded down, and up, to whole ticks.
    pub(crate) fn floor(self, span: Span) -> Span {
        Span::from_nanos(self.whole(span.as_nanos()))
    }

    pub(crate) fn ceil(self, span: Span) -> Span {
        Span::from_nanos(self.whole(span.as_nanos() + self.tick.saturating_sub(1)))
    }

    /// Nanoseconds rounded down to whole ticks.
    fn whole(self, nanos: u64) -> u64 {
        if self.tick == 0 { nanos } else { self.ticks(nanos) * self.tick }
    }

    /// When a timer runs out that is set now.
    #[inline]
    pub(crate) fn after(self, now: Instant, wait: Span) -> Instant {
        if self.tick == 0 {
            return now + wait;
        }
        let ticks = self.ticks(wait.as_nanos() + self.tick - 1);
        let expires = self.ticks(now.as_nanos() + self.phase) + ticks;
        let level = (1..=LEVELS).find(|level| ticks < ROOM << (3 * (level - 1))).unwrap_or(LEVELS) - 1;
        let fires = ((expires >> (3 * level)) + 1) << (3 * level);
        Instant::from_nanos((fires * self.tick).saturating_sub(self.phase))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_fires_at_a_tick_and_never_early() {
        let tick = 4_000_000;
        for seed in 0..50 {
            let wheel = Wheel::new(Span::from_nanos(tick), seed);
            for (ms, coarse) in [(1, 1), (14, 1), (247, 1), (252, 8), (2_000, 8), (2_016, 64)] {
                let now = Instant::from_nanos(1_234_567_891 + seed * 777_777);
                let wait = Span::from_millis(ms);
                let late = wheel.after(now, wait).since(now + wait).as_nanos();
                let ceiled = (ms * 1_000_000).div_ceil(tick) * tick - ms * 1_000_000;
                assert!(late > 0 && late <= ceiled + coarse * tick, "{ms} ms: {late}");
                assert_eq!((wheel.after(now, wait).as_nanos() + wheel.phase) % (coarse * tick), 0);
            }
        }
    }

    #[test]
    fn to_multiply_by_the_reciprocal_is_to_divide() {
        for tick in [2_u64, 3, 1_000_000, 3_333_333, 4_000_000, 4_000_000_000] {
            let wheel = Wheel::new(Span::from_nanos(tick), 1);
            for whole in [0, 1, 2, 999, 123_456_789, (1 << 60) / tick] {
                for nanos in [whole * tick, whole * tick + tick - 1, (whole * tick).saturating_sub(1)] {
                    assert_eq!(wheel.ticks(nanos), nanos / tick, "{nanos} / {tick}");
                }
            }
        }
    }

    #[test]
    fn without_ticks_it_is_exact() {
        let now = Instant::from_nanos(17);
        assert_eq!(Wheel::EXACT.after(now, Span::from_nanos(5)), Instant::from_nanos(22));
    }
}

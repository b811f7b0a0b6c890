//! The timer wheel: when a timer runs out that was set to a number of ticks.
//!
//! *Idea.* Linux counts timeouts in ticks, rounded up. A timer never runs out early: it fires at the tick after. A timer that is due in
//! more than 63 ticks is put on a coarser wheel, of 8 ticks, then 64, and so on, and fires at a multiple of these. At 250 ticks a
//! second a timeout of 250 ms thus takes 252 to 288 ms, and one of 14 ms takes 16 to 20 ms. While a timer runs out the wheel is a tick
//! ahead, and timers set then fire a tick earlier: a timeout of 252 ms that is set by a timer of 252 ms takes 256 ms.
//! *Parameters.* `timer_tick`; `tick_phase`, or else the phase of a host's ticks is drawn for each connection.
//! *Where it breaks.* All timers of a processor share a wheel; here other connections' timers do not put it ahead. On a processor that
//! does not count the ticks itself, half of the timers run out a tick later; here none do.
//! *References.* Linux kernel/time/timer.c `calc_wheel_index`, `__run_timers` (`base->clk`), `run_local_timers`, `usecs_to_jiffies`.

use crate::config::Config;
use paceline_core::queue::mix;
use paceline_core::{Instant, Span};

/// Ticks of the finest wheel; each next wheel is eight times as coarse.
const ROOM: u64 = 63;
const LEVELS: u32 = 8;

/// The timer wheel of a connection's host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wheel {
    /// Nanoseconds; 0 is exact.
    tick: u64,
    /// 2^64 / tick, rounded up. A multiplication by it replaces the division by `tick` that every acknowledgement needs.
    reciprocal: u64,
    /// Phase of the ticks at time zero, nanoseconds.
    phase: u64,
    /// The tick at which a timer last ran out; [`Instant::MAX`] before the first.
    ran_out: Instant,
}

impl Wheel {
    pub(crate) const EXACT: Wheel = Wheel { tick: 0, reciprocal: 0, phase: 0, ran_out: Instant::MAX };

    /// The wheel of a connection's host; `seed` draws its phase, unless it is configured.
    pub(crate) fn of(config: &Config, seed: u64) -> Self {
        let wheel = Wheel::new(config.timer_tick, seed);
        Wheel { phase: config.tick_phase.map_or(wheel.phase, Span::as_nanos), ..wheel }
    }

    /// Ticks of this length; `seed` draws their phase.
    fn new(tick: Span, seed: u64) -> Self {
        let tick = Some(tick.as_nanos()).filter(|tick| *tick > 1).unwrap_or(0); // the simulator's time has no finer
        let reciprocal = u64::MAX.checked_div(tick).map_or(0, |times| times + 1);
        let phase = mix(seed ^ 0x7469_6d65_7221) % (tick << 9).max(1);
        Wheel { tick, reciprocal, phase, ran_out: Instant::MAX }
    }

    /// Whole ticks in `nanos` nanoseconds.
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

    /// A timer that was due at this tick runs out.
    pub(crate) fn on_timer(&mut self, due: Instant) {
        self.ran_out = due;
    }

    /// When a timer runs out that is set now.
    #[inline]
    pub(crate) fn after(self, now: Instant, wait: Span) -> Instant {
        if self.tick == 0 {
            return now + wait;
        }
        let ticks = self.ticks(wait.as_nanos() + self.tick - 1);
        let expires = self.ticks(now.as_nanos() + self.phase) + ticks;
        let is_ahead = self.ran_out <= now && now.since(self.ran_out).as_nanos() < self.tick;
        let distance = ticks - u64::from(is_ahead).min(ticks);
        if distance < ROOM {
            return Instant::from_nanos(((expires + 1) * self.tick).saturating_sub(self.phase));
        }
        let level = (2..=LEVELS).find(|level| distance < ROOM << (3 * (level - 1))).unwrap_or(LEVELS) - 1;
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

    /// As recorded: 252 ms and 2016 ms set by a timer took 64 and 505 to 512 ticks; by one that ran out a tick late, 505 to 568.
    #[test]
    fn the_wheel_is_a_tick_ahead_where_a_timer_ran_out() {
        let tick = 4_000_000;
        let mut wheel = Wheel { phase: 0, ..Wheel::new(Span::from_nanos(tick), 1) };
        let now = Instant::from_nanos(1_001 * tick);
        let takes = |wheel: Wheel, late, ticks: u64| {
            let now = now + Span::from_nanos(late);
            let fires = wheel.after(now, Span::from_nanos(ticks * tick)).as_nanos() / tick;
            fires - now.as_nanos() / tick
        };
        assert_eq!([62, 63, 503, 504].map(|ticks| takes(wheel, 0, ticks)), [63, 71, 511, 535]);
        wheel.on_timer(now);
        for late in [0, tick - 1] {
            assert_eq!([62, 63, 504, 505].map(|ticks| takes(wheel, late, ticks)), [63, 64, 511, 535]);
        }
        assert_eq!([62, 63, 504].map(|ticks| takes(wheel, tick, ticks)), [63, 70, 534]);
        assert_eq!(takes(wheel, 0, 0), 1);
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

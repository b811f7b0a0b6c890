//! A rate that is constant for a while at a time, integrated exactly.
//!
//! *Idea.* In bit-nanoseconds per second: what is left of a nanosecond is owed to the next packet of the busy period, as by
//! [`paceline_core::Wire`].

use super::rate_model::Transmit;
use paceline_core::units::NANOS_PER_SECOND;
use paceline_core::{Instant, Span};
use std::fmt::Debug;

/// What comes after one another.
pub(crate) trait Succession: Debug {
    /// The next piece, which begins at `now`: its rate, bit/s, and its end.
    fn next(&mut self, now: Instant) -> (u64, Instant);
}

/// The transmitter.
#[derive(Debug)]
pub(crate) struct Pieces<S> {
    pub(super) succession: S,
    /// Of the piece at work, bit/s.
    bps: u64,
    pub(super) end: Instant,
    free_at: Instant,
    /// Of what has been sent by `free_at`, bit-nanoseconds per second: less than a nanosecond's.
    owed: u128,
}

impl<S: Succession> Pieces<S> {
    pub(super) fn new(mut succession: S) -> Self {
        let (bps, end) = succession.next(Instant::ZERO);
        Pieces { succession, bps, end, free_at: Instant::ZERO, owed: 0 }
    }

    pub(super) fn advance(&mut self) {
        (self.bps, self.end) = self.succession.next(self.end);
    }
}

impl<S: Succession> Transmit for Pieces<S> {
    fn send(&mut self, bytes: u16, start: Instant) -> (Instant, Instant) {
        let mut work = 8 * u128::from(bytes) * u128::from(NANOS_PER_SECOND);
        if start == self.free_at {
            work += self.owed;
        }
        let mut now = start;
        loop {
            while self.end <= now && now < Instant::MAX {
                self.advance();
            }
            let room = u128::from(self.bps) * u128::from(self.end.since(now).as_nanos());
            if now == Instant::MAX || work <= room && self.bps > 0 {
                break;
            }
            work -= room;
            now = self.end;
        }
        let whole = work.checked_div(self.bps.into()).unwrap_or(0);
        self.owed = work - whole * u128::from(self.bps);
        self.free_at = now + Span::from_nanos(u64::try_from(whole).unwrap_or(u64::MAX));
        (self.free_at, self.free_at)
    }

    fn bits_between(&mut self, from: Instant, to: Instant) -> f64 {
        let (mut now, mut sent) = (Instant::ZERO, 0);
        while now < to {
            let within = self.end.min(to).since(now.max(from).min(to)).as_nanos();
            sent += u128::from(self.bps) * u128::from(within);
            now = self.end;
            if now < to {
                self.advance();
            }
        }
        sent as f64 / NANOS_PER_SECOND as f64
    }
}

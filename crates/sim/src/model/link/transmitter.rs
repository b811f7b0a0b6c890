//! The transmitter of a link whose rate varies: when a packet's service may begin, and when its last bit has left.
//!
//! *Idea.* The queue works step by step; each time it lets a packet go, the transmitter says until when it is busy. A rate in pieces is integrated
//! exactly, in bit-nanoseconds per second: what is left of a nanosecond is owed to the next packet of the busy period, as by
//! [`paceline_core::Wire`]. By a trace a packet leaves at the delivery opportunity that carries its last byte: it begins at the first after its
//! arrival, takes what earlier packets have left; an opportunity that finds no packet waiting is lost.
//! *References.* mahimahi, `src/frontend/link_queue.cc` (`LinkQueue::rationalize`): R. Netravali et al., "Mahimahi: accurate record-and-replay for
//! HTTP" (USENIX ATC 2015), section 4.

use crate::kernel::chance::Stream;
use crate::network::VaryingRate;
use paceline_core::units::NANOS_PER_SECOND;
use paceline_core::{Instant, Span};
use std::sync::Arc;

const NANOS_PER_MILLISECOND: u64 = NANOS_PER_SECOND / 1_000;

/// At work on one link.
#[derive(Debug)]
pub(crate) enum Transmitter {
    Pieces(Pieces),
    Opportunities(Opportunities),
}

impl Transmitter {
    pub(crate) fn new(rate: &VaryingRate, seed: u64, link: &str) -> Self {
        match rate {
            VaryingRate::Trace(times) => Transmitter::Opportunities(Opportunities::new(times)),
            _ => Transmitter::Pieces(Pieces::new(rate.clone(), Stream::new(seed, &format!("{link}:rate")))),
        }
    }

    /// A packet comes to the link, which is idle: when its service may begin.
    pub(super) fn opens(&mut self, now: Instant) -> Instant {
        match self {
            Transmitter::Pieces(_) => now,
            Transmitter::Opportunities(trace) => trace.first_after(now),
        }
    }

    /// The service of a packet begins: when its last bit has left, and when that of the next may begin.
    pub(super) fn send(&mut self, bytes: u16, start: Instant) -> (Instant, Instant) {
        match self {
            Transmitter::Pieces(pieces) => {
                let finish = pieces.send(bytes, start);
                (finish, finish)
            }
            Transmitter::Opportunities(trace) => trace.send(bytes, start),
        }
    }

    /// What it could send from one time to another, bits; it has sent nothing yet.
    pub(crate) fn bits_between(mut self, from: Instant, to: Instant) -> f64 {
        match &mut self {
            Transmitter::Pieces(pieces) => pieces.bits_between(from, to),
            Transmitter::Opportunities(trace) => trace.bits_between(from, to),
        }
    }
}

/// A rate that is constant for a while.
#[derive(Debug)]
pub(crate) struct Pieces {
    rate: VaryingRate,
    draws: Stream,
    /// Position of the piece at work in the list; when the round began in which it is.
    place: usize,
    round: Instant,
    /// Its rate, bit/s, and its end.
    bps: u64,
    end: Instant,
    free_at: Instant,
    /// Of what has been sent by `free_at`, bit-nanoseconds per second: less than a nanosecond's.
    owed: u128,
}

impl Pieces {
    fn new(rate: VaryingRate, mut draws: Stream) -> Self {
        let mut place = 0;
        if let VaryingRate::Markov(states) = &rate {
            // as one that has run for long
            let all: u64 = states.iter().map(|(_, hold)| hold.as_nanos()).sum();
            let mut within = draws.between(0, all.saturating_sub(1));
            while place + 1 < states.len() && within >= states[place].1.as_nanos() {
                within -= states[place].1.as_nanos();
                place += 1;
            }
        }
        let (bps, end, owed) = (0, Instant::ZERO, 0);
        let mut pieces =
            Pieces { rate, draws, place, round: Instant::ZERO, bps, end, free_at: Instant::ZERO, owed };
        pieces.begin(Instant::ZERO);
        pieces
    }

    /// The piece at `place` begins then.
    fn begin(&mut self, now: Instant) {
        (self.bps, self.end) = match &self.rate {
            VaryingRate::Steps { steps, every } => {
                let next = steps.get(self.place + 1).map(|(from, _)| *from);
                let end = next.or(*every).map_or(Instant::MAX, |from| self.round + from);
                (steps[self.place].1, end)
            }
            VaryingRate::Markov(states) => {
                let (bps, hold) = states[self.place];
                let nanos = (self.draws.exponential() * hold.as_nanos() as f64 + 0.5) as u64;
                (bps, now + Span::from_nanos(nanos.max(1)))
            }
            VaryingRate::Trace(_) => (1, Instant::MAX), // has a transmitter of its own
        };
    }

    fn advance(&mut self) {
        let now = self.end;
        match &self.rate {
            VaryingRate::Steps { steps, .. } => {
                self.place = (self.place + 1) % steps.len();
                if self.place == 0 {
                    self.round = now;
                }
            }
            VaryingRate::Markov(states) => {
                let other = self.draws.between(0, states.len() as u64 - 2) as usize;
                self.place = other + usize::from(other >= self.place);
            }
            VaryingRate::Trace(_) => {}
        }
        self.begin(now);
    }

    fn send(&mut self, bytes: u16, start: Instant) -> Instant {
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
        self.free_at
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

/// A trace: at these times so many bytes may leave.
#[derive(Debug)]
pub(crate) struct Opportunities {
    /// Milliseconds from the beginning of a round; the last is that of the next.
    times: Arc<[u64]>,
    /// The next unused one, and when its round began, nanoseconds.
    next: usize,
    round: u64,
    /// The one in use, and the bytes that are left of it.
    at: Instant,
    left: u32,
}

impl Opportunities {
    fn new(times: &Arc<[u64]>) -> Self {
        Opportunities { times: Arc::clone(times), next: 0, round: 0, at: Instant::ZERO, left: 0 }
    }

    fn next_at(&self) -> Instant {
        let after = self.times[self.next].saturating_mul(NANOS_PER_MILLISECOND);
        Instant::from_nanos(self.round.saturating_add(after))
    }

    fn last(&self) -> u64 {
        self.times.last().copied().unwrap_or(1).saturating_mul(NANOS_PER_MILLISECOND)
    }

    fn use_one(&mut self) {
        (self.at, self.left) = (self.next_at(), VaryingRate::OPPORTUNITY);
        self.next += 1;
        if self.next == self.times.len() {
            (self.next, self.round) = (0, self.round.saturating_add(self.last()));
        }
    }

    /// The first after this time; those up to it stay unused.
    fn first_after(&mut self, now: Instant) -> Instant {
        let rounds = now.as_nanos().saturating_sub(self.round) / self.last();
        if rounds > 0 {
            (self.next, self.round) = (0, self.round + rounds * self.last());
        }
        while self.next_at() <= now && now < Instant::MAX {
            self.use_one();
        }
        self.left = 0;
        self.next_at()
    }

    /// Begins where something is left, or at the next one.
    fn send(&mut self, bytes: u16, start: Instant) -> (Instant, Instant) {
        let mut missing = u32::from(bytes) + VaryingRate::TUN_HEADER;
        if self.left == 0 {
            self.use_one();
        }
        debug_assert!(self.at == start || start == Instant::MAX, "no packet begins between opportunities");
        while missing > self.left {
            missing -= self.left;
            self.use_one();
        }
        self.left -= missing;
        let next = if self.left > 0 { self.at } else { self.next_at() };
        (self.at, next)
    }

    fn bits_between(&mut self, from: Instant, to: Instant) -> f64 {
        let mut count = 0_u64;
        while self.next_at() < to {
            count += u64::from(self.next_at() >= from);
            self.use_one();
        }
        (count * 8 * u64::from(VaryingRate::OPPORTUNITY - VaryingRate::TUN_HEADER)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a chain of three states: means of the times in each, and who follows whom, within 3.29 standard deviations, which chance breaks once in
    /// a thousand.
    #[test]
    fn states_are_held_for_exponential_times_and_follow_each_other() {
        let asked = [200.0, 100.0, 300.0];
        let states = [(12, 200), (3, 100), (1, 300)];
        let states = states.map(|(bps, ms)| (bps, Span::from_millis(ms))).into_iter().collect();
        let mut pieces = Pieces::new(VaryingRate::Markov(states), Stream::new(1, "link:rate"));
        let (mut holds, mut nexts) = ([const { Vec::new() }; 3], [[0.0; 3]; 3]);
        for _ in 0..60_000 {
            let (place, begins) = (pieces.place, pieces.end);
            pieces.advance();
            holds[pieces.place].push(pieces.end.since(begins).as_seconds() * 1e3);
            nexts[place][pieces.place] += 1.0;
        }
        for (holds, asked) in holds.iter().zip(asked) {
            let n = holds.len() as f64;
            let mean = holds.iter().sum::<f64>() / n;
            assert!((mean - asked).abs() < 3.29 * asked / n.sqrt(), "{mean} ms, not {asked}");
            // of exponential times a share of 1/e is longer than the mean
            let longer = holds.iter().filter(|hold| **hold > asked).count() as f64 / n;
            let share = libm::exp(-1.0);
            assert!((longer - share).abs() < 3.29 * (share * (1.0 - share) / n).sqrt(), "{longer}");
        }
        for (from, nexts) in nexts.iter().enumerate() {
            let all: f64 = nexts.iter().sum();
            for (to, count) in nexts.iter().enumerate().filter(|(to, _)| *to != from) {
                assert!(
                    (count - all / 2.0).abs() < 3.29 * (all / 4.0).sqrt(),
                    "{from} to {to}: {count} of {all}"
                );
            }
            assert_eq!(nexts[from], 0.0);
        }
    }
}

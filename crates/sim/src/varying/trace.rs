//! A rate by a trace as mahimahi has them: at each of its milliseconds a packet of 1500 B may leave.
//!
//! *Idea.* A packet leaves at the delivery opportunity that carries its last byte: it begins at the first after its arrival, takes what earlier
//! packets have left; an opportunity that finds no packet waiting is lost.
//! *References.* mahimahi, `src/frontend/link_queue.cc` (`LinkQueue::rationalize`): R. Netravali et al., "Mahimahi: accurate record-and-replay for
//! HTTP" (USENIX ATC 2015), section 4.

use super::rate_model::{RateModel, Transmit};
use crate::input::keys::{Key, Kind, needed};
use crate::input::{Field, Result, Table, file};
use crate::kernel::chance::Stream;
use paceline_core::units::NANOS_PER_SECOND;
use paceline_core::{Instant, Span};
use std::sync::Arc;

const NANOS_PER_MILLISECOND: u64 = NANOS_PER_SECOND / 1_000;
/// Bytes that a delivery opportunity carries: mahimahi's `PACKET_SIZE`.
const OPPORTUNITY: u32 = 1504;
/// Of these, beside a packet's own: the header of its tun device.
const TUN_HEADER: u32 = 4;

/// The trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Milliseconds from the beginning of a round; the last is that of the next.
    times: Arc<[u64]>,
}

#[cfg(test)]
impl super::VaryingRate {
    pub(crate) fn of_trace(times: impl Iterator<Item = u64>) -> Self {
        super::VaryingRate::Trace(Trace { times: times.collect() })
    }
}

impl RateModel for Trace {
    const KEYS: &'static [Key] =
        &[needed("trace", Kind::Text, "a file of mahimahi, relative to the scenario's own")];
    const EXAMPLE: &'static str = "trace = \"cell.up\"";
    const WAITS_WHEN_IDLE: bool = true;

    fn read(table: &Table<'_>) -> Result<Self> {
        read_trace(&table.required("trace", "\"cell.up\"")?)
    }

    fn mean_bps(&self, _: Span) -> u128 {
        let packet = 8 * u128::from(OPPORTUNITY - TUN_HEADER);
        let last = self.times.last().copied().unwrap_or(1).max(1);
        self.times.len() as u128 * packet * 1_000 / u128::from(last)
    }

    fn most_bps(&self) -> u64 {
        u64::MAX
    }

    type Transmitter = Opportunities;

    fn transmitter(&self, _: Stream) -> Self::Transmitter {
        Opportunities { times: Arc::clone(&self.times), next: 0, round: 0, at: Instant::ZERO, left: 0 }
    }
}

/// At these times so many bytes may leave.
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
    fn next_at(&self) -> Instant {
        let after = self.times[self.next].saturating_mul(NANOS_PER_MILLISECOND);
        Instant::from_nanos(self.round.saturating_add(after))
    }

    fn last(&self) -> u64 {
        self.times.last().copied().unwrap_or(1).saturating_mul(NANOS_PER_MILLISECOND)
    }

    fn use_one(&mut self) {
        (self.at, self.left) = (self.next_at(), OPPORTUNITY);
        self.next += 1;
        if self.next == self.times.len() {
            (self.next, self.round) = (0, self.round.saturating_add(self.last()));
        }
    }
}

impl Transmit for Opportunities {
    /// The first after this time; those up to it stay unused.
    fn opens(&mut self, now: Instant) -> Instant {
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
        let mut missing = u32::from(bytes) + TUN_HEADER;
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
        (count * 8 * u64::from(OPPORTUNITY - TUN_HEADER)) as f64
    }
}

/// A file of mahimahi: on each line a millisecond, none before the one above.
fn read_trace(field: &Field<'_>) -> Result<Trace> {
    let path = file::path(field)?;
    let text = std::fs::read_to_string(path)
        .map_err(|error| file::wrong(field, path, format!("cannot be read: {error}")))?;
    let mut times: Vec<u64> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |what: &str| Err(file::wrong(field, path, format!("line {}: {what}", number + 1)));
        let Ok(time) = line.parse::<u64>() else {
            return wrong("is no whole number of milliseconds");
        };
        if times.last().is_some_and(|before| time < *before) {
            return wrong("is before the line above; milliseconds never fall");
        }
        if time > 1_000_000_000_000 {
            return wrong("is more than thirty years");
        }
        times.push(time);
    }
    match times.last() {
        None => Err(file::wrong(field, path, "is empty; write a line for each packet that may leave")),
        Some(0) => Err(file::wrong(field, path, "ends at 0 ms; a trace takes some time")),
        Some(_) => Ok(Trace { times: Arc::from(times) }),
    }
}

//! Packets of one size at a drop-tail queue.
//!
//! *Idea.* Where all that waits and is on the wire has the size of what arrives, and takes a whole number of nanoseconds T,
//! nothing need be kept of each packet: the service of the last begins T before the wire is free, of the one before it 2 T,
//! and so on. And a limit is one of packets, whatever it counts.

use super::closed_form::{Booking, Clerk, Departure};
use super::rule::Rule;
use crate::units::Instant;
use std::hint::select_unpredictable;

/// A queue and its wire while packets of one size arrive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alike {
    pub(super) bytes: u32,
    /// What one takes, nanoseconds.
    pub(super) nanos: u64,
    /// When the wire is free, nanoseconds.
    pub(super) free_at: u64,
    pub(super) waiting: u64,
}

impl Alike {
    /// So many more of them, the last of which arrives at `now`, have been served before the end of time.
    pub(super) fn are_over_in_time(&self, packets: usize, now: Instant) -> bool {
        let begin = self.free_at.max(now.as_nanos());
        (packets as u64).checked_mul(self.nanos).and_then(|all| begin.checked_add(all)).is_some()
    }

    /// What waits, the oldest first.
    pub(super) fn bookings(self) -> impl Iterator<Item = Booking> {
        let start = move |younger| Instant::from_nanos(self.free_at - younger * self.nanos);
        (1..=self.waiting).rev().map(move |younger| Booking { start: start(younger), bytes: self.bytes })
    }

    /// Packets arrive, all of this size.
    #[inline(always)]
    pub(super) fn admit_all<P, C: Clerk<P>>(
        &mut self,
        rule: &Rule,
        line: &[P],
        arrives_at: impl Fn(&P) -> Instant,
        mut clerk: C,
    ) -> C {
        let room = rule.room_for(self.bytes);
        let (mut free_at, mut waiting) = (self.free_at, self.waiting);
        let mut next_start = free_at - waiting * self.nanos;
        for packet in line {
            let now = arrives_at(packet).as_nanos();
            // As [`super::ClosedDropTail::tell_started`]: no jumps for the first one.
            let has_begun = (next_start <= now) & (waiting > 0);
            clerk.has_begun(Booking {
                start: Instant::from_nanos(select_unpredictable(has_begun, next_start, 0)),
                bytes: select_unpredictable(has_begun, self.bytes, 0),
            });
            waiting -= u64::from(has_begun);
            next_start += select_unpredictable(has_begun, self.nanos, 0);
            while next_start <= now && waiting > 0 {
                clerk.has_begun(Booking { start: Instant::from_nanos(next_start), bytes: self.bytes });
                waiting -= 1;
                next_start += self.nanos;
            }
            let is_idle = free_at <= now;
            if room.is_full(waiting, is_idle) {
                clerk.arrives(packet, None);
                continue;
            }
            let start = free_at.max(now);
            waiting += u64::from(!is_idle);
            next_start = if is_idle { start + self.nanos } else { next_start };
            free_at = start + self.nanos;
            let departure =
                Departure { start: Instant::from_nanos(start), finish: Instant::from_nanos(free_at) };
            clerk.arrives(packet, Some(departure));
        }
        (self.free_at, self.waiting) = (free_at, waiting);
        clerk
    }
}

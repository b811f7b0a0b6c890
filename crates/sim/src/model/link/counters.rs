//! What a link counts.

use crate::kernel::cause::Cause;
use crate::kernel::packet::Event;
use paceline_core::Instant;

/// What a link counts over the window from warm-up to end. A packet may pass ahead of time: its own times decide.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LinkCounters {
    from: Instant,
    to: Instant,
    /// Packets that reached the link.
    pub(crate) arrived: u64,
    /// Packets dropped, by [`Cause`].
    dropped: [u64; Cause::ALL.len()],
    /// Packets that its queue, or a rule, has marked.
    pub(crate) marked: u64,
    /// Dropped since the start.
    pub(crate) dropped_ever: u64,
    /// Packets that arrived at the instant of a departure, so that the order decided, and those of them that were dropped.
    pub(crate) tied: [u64; 2],
    /// Data packets that left the wire from the start to the window's end.
    pub(crate) data_ever: u64,
    /// Bytes that left the wire, of packets that were on it within the window alone.
    left_bytes: u64,
    /// And of those that were on it as the window began or ended: the part within.
    left_bytes_at_edges: f64,
}

impl LinkCounters {
    /// Nothing counted yet, of a window from one time to another.
    pub(super) fn over((from, to): (Instant, Instant)) -> Self {
        LinkCounters { from, to, ..LinkCounters::default() }
    }

    /// Bytes that left the wire within the window.
    pub(crate) fn left_bytes(&self) -> f64 {
        self.left_bytes as f64 + self.left_bytes_at_edges
    }

    #[inline]
    fn counts(&self, now: Instant) -> bool {
        self.from <= now && now < self.to
    }

    #[inline]
    pub(super) fn arrives(&mut self, now: Instant) {
        self.arrived += u64::from(self.counts(now));
    }

    /// The packets of a list arrive, in the order of time.
    pub(super) fn all_arrive(&mut self, line: &[Event]) {
        let before = |time: Instant| line.partition_point(|event| event.at < time);
        self.arrived += before(self.to).saturating_sub(before(self.from)) as u64;
    }

    pub(super) fn drops(&mut self, cause: Cause, now: Instant) {
        self.dropped[cause as usize] += u64::from(self.counts(now));
        self.dropped_ever += 1;
    }

    /// Packets dropped: at arrival, displaced, or by a forced loss.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Of these, those dropped for this cause.
    pub(crate) fn dropped_for(&self, cause: Cause) -> u64 {
        self.dropped[cause as usize]
    }

    /// The queue, or a rule, marks a packet.
    pub(super) fn marks(&mut self, now: Instant) {
        self.marked += u64::from(self.counts(now));
    }

    /// A packet arrives and is dropped.
    #[inline]
    pub(super) fn drops_arrival(&mut self, cause: Cause, now: Instant) {
        self.arrives(now);
        self.drops(cause, now);
    }

    /// So many packets, of which so many were dropped, arrived at the instant of a departure: at `now`, or in a time that counts alike.
    pub(super) fn were_tied(&mut self, now: Instant, packets: u64, refused: u64) {
        if self.counts(now) {
            self.tied = [self.tied[0] + packets, self.tied[1] + refused];
        }
    }

    /// Whether what arrives from `first` on and has left by `latest` counts all alike.
    pub(super) fn count_alike(&self, first: Instant, latest: Instant) -> bool {
        latest < self.from || self.from <= first && latest < self.to
    }

    /// So many packets with so many bytes, so many of them data, pass that count alike. The first arrives then.
    pub(super) fn passes_all(&mut self, first: Instant, (packets, bytes, data): (u64, u64, u64)) {
        if self.from <= first {
            self.arrived += packets;
            self.left_bytes += bytes;
        }
        self.data_ever += data;
    }

    /// A packet arrives and is put on the wire.
    #[inline(always)]
    pub(super) fn passes(&mut self, bytes: u16, is_ack: bool, at: Instant, start: Instant, finish: Instant) {
        if self.from <= at && finish < self.to {
            self.arrived += 1;
            self.left_bytes += u64::from(bytes);
            self.data_ever += u64::from(!is_ack);
        } else {
            self.arrives(at);
            self.leaves_outside(u32::from(bytes), is_ack, start, finish);
        }
    }

    /// A packet that has arrived is put on the wire.
    #[inline(always)]
    pub(super) fn leaves(&mut self, bytes: u16, is_ack: bool, start: Instant, finish: Instant) {
        if self.from <= start && finish < self.to {
            self.left_bytes += u64::from(bytes);
            self.data_ever += u64::from(!is_ack);
        } else {
            self.leaves_outside(u32::from(bytes), is_ack, start, finish);
        }
    }

    /// The same, where not all of it falls into the window.
    #[inline(never)]
    fn leaves_outside(&mut self, bytes: u32, is_ack: bool, start: Instant, finish: Instant) {
        self.data_ever += u64::from(!is_ack && finish < self.to);
        // One that takes less than a nanosecond may begin as the window ends: it is not in it.
        if self.from <= start && finish <= self.to && start < self.to {
            self.left_bytes += u64::from(bytes);
        } else if finish > self.from && start < self.to {
            let within = finish.min(self.to).since(start.max(self.from)).as_seconds();
            let whole = finish.since(start).as_seconds();
            self.left_bytes_at_edges += f64::from(bytes) * within / whole;
        }
    }
}

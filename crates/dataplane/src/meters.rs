//! What is measured of a direction: written by the thread that paces, read by whoever wants to know.

use std::sync::atomic::{AtomicU64, Ordering};

use paceline_core::{Instant, Span};

use crate::histogram::{Histogram, bump};

/// Why a frame did not leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The pacer's own queue was full.
    Queue,
    /// The ring that the kernel fills was full, or what it says of a frame is not so: the thread was away, or too slow.
    Ring,
    /// It is larger than the outgoing interface can send, and cannot be cut.
    TooLarge,
    /// The outgoing interface does not send it: it is malformed, or the interface is down.
    Rejected,
    /// The pacer had been away so long that traffic went past it: what it still held was thrown away.
    Outage,
    /// It came while the pacer was coming to its end.
    Stopping,
}

impl Cause {
    /// Each and its name in metrics and summaries.
    pub const ALL: [(Cause, &'static str); 6] = [
        (Cause::Queue, "queue"),
        (Cause::Ring, "ring"),
        (Cause::TooLarge, "too_large"),
        (Cause::Rejected, "rejected"),
        (Cause::Outage, "outage"),
        (Cause::Stopping, "stopping"),
    ];
}

/// Frames and bytes.
#[derive(Debug, Default)]
pub struct Flow {
    /// Frames.
    pub packets: AtomicU64,
    /// Bytes, as the stage counts them.
    pub bytes: AtomicU64,
    /// In the last whole second, bit/s.
    pub rate_bps: AtomicU64,
    /// Standard deviation over mean of what came in each millisecond of the last whole second, in millionths.
    pub burstiness_ppm: AtomicU64,
}

/// One direction's numbers.
///
/// ```
/// use paceline_dataplane::meters::{Cause, Meters};
///
/// let meters = Meters::default();
/// assert_eq!((meters.dropped(Cause::Queue), meters.dropped_in_all(), meters.settled()), (0, 0, 0));
/// ```
#[derive(Debug, Default)]
pub struct Meters {
    /// What came in.
    pub received: Flow,
    /// What went out.
    pub sent: Flow,
    dropped: [AtomicU64; Cause::ALL.len()],
    /// Frames more than came in, since what an offload had joined was cut.
    pub cut: AtomicU64,
    /// Frames that left before their time because the queue was full.
    pub flushed: AtomicU64,
    /// Frames held.
    pub held_packets: AtomicU64,
    /// Bytes held.
    pub held_bytes: AtomicU64,
    /// From arrival to leaving, nanoseconds.
    pub delay: Histogram,
    /// What of that the stage did not ask for, nanoseconds.
    pub lateness: Histogram,
    /// Lateness beyond what is made up for, nanoseconds: see [`crate::lane::Lane::forgiven`].
    pub forgiven_ns: AtomicU64,
    /// Frames that left after the method's bound on their delay.
    pub deadline_misses: AtomicU64,
    /// Of these, those that lateness does not explain.
    pub unexplained_misses: AtomicU64,
    /// Frames that left after one that came later.
    pub reordered: AtomicU64,
    /// Errors of the socket that receives: its interface was down.
    pub socket_errors: AtomicU64,
    /// How often the interface had no room.
    pub blocked: AtomicU64,
    /// Processor time that the thread has taken, nanoseconds.
    pub processor_ns: AtomicU64,
}

impl Meters {
    /// Frames that did not leave for that cause.
    pub fn dropped(&self, cause: Cause) -> u64 {
        self.dropped.get(cause as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Frames that did not leave.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Frames that have left or been counted as lost, as they came in: those that were cut from one are one.
    pub fn settled(&self) -> u64 {
        let sent = self.sent.packets.load(Ordering::Relaxed);
        (sent + self.dropped_in_all()).wrapping_sub(self.cut.load(Ordering::Relaxed))
    }

    /// Counts frames that do not leave. Only the thread that paces may.
    pub(crate) fn drop_for(&self, cause: Cause, count: u64) {
        if let Some(counter) = self.dropped.get(cause as usize) {
            bump(counter, count);
        }
    }
}

/// What the thread that paces keeps to itself about a side: milliseconds of the present second.
#[derive(Debug)]
pub(crate) struct Second {
    start: Instant,
    bin: u64,
    bin_bytes: u64,
    bytes: u64,
    squares: u128,
}

const BIN: Span = Span::from_millis(1);
const BINS: u64 = 1000;

impl Second {
    pub(crate) fn new(start: Instant) -> Self {
        Second { start, bin: 0, bin_bytes: 0, bytes: 0, squares: 0 }
    }

    /// Counts a frame.
    #[inline]
    pub(crate) fn count(&mut self, flow: &Flow, bytes: u32, at: Instant) {
        bump(&flow.packets, 1);
        bump(&flow.bytes, u64::from(bytes));
        self.advance(flow, at);
        self.bin_bytes += u64::from(bytes);
    }

    /// Time goes on, with or without frames.
    #[inline]
    pub(crate) fn advance(&mut self, flow: &Flow, now: Instant) {
        let bin = now.since(self.start).as_nanos() / BIN.as_nanos();
        if bin > self.bin {
            self.end_bin(flow, bin);
        }
    }

    #[cold]
    fn end_bin(&mut self, flow: &Flow, bin: u64) {
        self.bytes += self.bin_bytes;
        self.squares += u128::from(self.bin_bytes) * u128::from(self.bin_bytes);
        (self.bin, self.bin_bytes) = (bin, 0);
        if bin < BINS {
            return;
        }
        let mean = self.bytes as f64 / BINS as f64;
        let variance = (self.squares as f64 / BINS as f64 - mean * mean).max(0.0);
        let burstiness = if mean > 0.0 { variance.sqrt() / mean } else { 0.0 };
        // a longer gap than a second leaves seconds without anything
        let seconds = bin / BINS;
        let rate = if seconds == 1 { self.bytes * 8 } else { 0 };
        flow.rate_bps.store(rate, Ordering::Relaxed);
        flow.burstiness_ppm.store((burstiness * 1e6) as u64, Ordering::Relaxed);
        self.start += Span::from_millis(1000 * seconds);
        (self.bin, self.bytes, self.squares) = (bin % BINS, 0, 0);
    }
}

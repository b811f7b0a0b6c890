//! The back end without a network: a capture's frames go through a lane in the time of the capture.
//!
//! *Idea.* The lane is the one that paces real frames; the clock is the capture's, so that nothing is ever late. The wire
//! behind it, which is real elsewhere, is `core`'s closed form here. Departure times are those of the simulator's link.

use std::collections::VecDeque;

use paceline_capture::order::Order;
use paceline_capture::write::Writer;
use paceline_capture::{Capture, Record};
use paceline_core::queue::{Arrival, ClosedDropTail, QueueSpec};
use paceline_core::{Instant, Rate};

use crate::lane::{Admission, Frame, Lane, LaneSpec};

/// What became of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Its first bit leaves then.
    Leaves(Instant),
    /// The pacer's queue was full.
    Refused,
    /// The queue before the wire was full.
    Overflowed,
}

/// A lane and the wire behind it.
///
/// ```
/// use paceline_core::pacer::PacerSpec;
/// use paceline_core::queue::QueueSpec;
/// use paceline_core::{Instant, Rate};
/// use paceline_dataplane::lane::{Frame, LaneSpec, Overload};
/// use paceline_dataplane::replay::{Fate, Replay};
///
/// // Unpaced, before a line of 12 Mbit/s: the second frame of a burst leaves 1 ms after the first.
/// let line_rate = Rate::from_bits_per_second(12_000_000);
/// let spec = LaneSpec { pacer: PacerSpec::default(), line_rate, overload: Overload::Drop };
/// let mut replay = Replay::new(spec, Some((line_rate, QueueSpec::default())));
/// let mut fates = Vec::new();
/// let mut tell = |frame: Frame<u32>, fate| fates.push((frame.handle, fate));
/// for number in [1, 2] {
///     replay.arrive(Frame::new(number, 1500, Instant::ZERO), &mut tell);
/// }
/// replay.finish(&mut tell);
/// let leaves = |nanos| Fate::Leaves(Instant::from_nanos(nanos));
/// assert_eq!(fates, [(1, leaves(0)), (2, leaves(1_000_000))]);
/// ```
#[derive(Debug)]
pub struct Replay<H> {
    lane: Lane<H>,
    wire: Option<ClosedDropTail>,
    ready: VecDeque<Frame<H>>,
    /// Frames that left before their time because the queue was full.
    pub flushed: u64,
}

impl<H> Replay<H> {
    /// `wire` is the rate of the line behind the pacer and the queue before it; without, what the pacer lets go has left.
    pub fn new(spec: LaneSpec, wire: Option<(Rate, QueueSpec)>) -> Self {
        Replay {
            lane: Lane::new(spec),
            wire: wire.and_then(|(rate, queue)| ClosedDropTail::new(&queue, rate)),
            ready: VecDeque::new(),
            flushed: 0,
        }
    }

    /// A frame arrives, not before any that has; `tell` hears of all whose fate is decided by that.
    pub fn arrive(&mut self, frame: Frame<H>, tell: &mut impl FnMut(Frame<H>, Fate)) {
        match self.lane.arrive(frame, &mut self.ready) {
            Admission::Taken => {}
            Admission::Flushed(count) => self.flushed += count,
            Admission::Refused(frame) => {
                self.leave(tell);
                tell(frame, Fate::Refused);
            }
        }
        self.leave(tell);
    }

    /// All that is held leaves, whenever that is.
    pub fn finish(&mut self, tell: &mut impl FnMut(Frame<H>, Fate)) {
        self.lane.until(Instant::MAX, &mut self.ready);
        self.leave(tell);
    }

    fn leave(&mut self, tell: &mut impl FnMut(Frame<H>, Fate)) {
        for frame in self.ready.drain(..) {
            let start = match &mut self.wire {
                None => Some(frame.due),
                Some(wire) => wire
                    .admit(Arrival::new(frame.bytes, frame.due))
                    .departure
                    .map(|departure| departure.start),
            };
            let fate = start.map_or(Fate::Overflowed, Fate::Leaves);
            tell(frame, fate);
        }
    }
}

/// Counts of a replay.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Frames and bytes that arrived, as the stage counts them.
    pub received: (u64, u64),
    /// Frames and bytes that left.
    pub sent: (u64, u64),
    /// Frames that found the queue full.
    pub dropped: u64,
    /// Frames that left early because the queue was full.
    pub flushed: u64,
    /// Frames that the capture has no time for, or none that can be: they did not arrive.
    pub untimed: u64,
    /// Longest time that a frame was held, nanoseconds.
    pub delay_max_ns: u64,
    /// Sum of the times that frames were held, nanoseconds.
    pub delay_sum_ns: u128,
}

/// A frame of a capture, kept while the lane holds it.
struct Kept {
    bytes: u32,
    interface: u32,
    captured: Vec<u8>,
}

impl Kept {
    fn of(record: &Record<'_>) -> Self {
        Kept { bytes: record.bytes, interface: record.interface, captured: record.frame.to_vec() }
    }
}

/// Puts a capture through a lane, whatever the interface, and writes what leaves. What is wrong with either is said in one line.
pub fn capture(
    mut input: Capture,
    mut output: Option<Writer<'_>>,
    spec: LaneSpec,
    wire: Option<Rate>,
    uncounted: u32,
) -> Result<Outcome, String> {
    let mut replay = Replay::new(spec, wire.map(|rate| (rate, QueueSpec::default())));
    let mut outcome = Outcome::default();
    let mut failure = None;
    let mut order = Order::default();
    let mut tell = |frame: Frame<Kept>, fate: Fate, interfaces: &_| match fate {
        Fate::Leaves(at) => {
            outcome.sent = (outcome.sent.0 + 1, outcome.sent.1 + u64::from(frame.bytes));
            let held = at.since(frame.arrived).as_nanos();
            outcome.delay_max_ns = outcome.delay_max_ns.max(held);
            outcome.delay_sum_ns += u128::from(held);
            if let Some(writer) = &mut output {
                let Kept { bytes, interface, captured } = &frame.handle;
                let done = writer.write(at.as_nanos(), *bytes, *interface, captured, interfaces);
                failure = failure.take().or(done.err());
            }
        }
        Fate::Refused | Fate::Overflowed => outcome.dropped += 1,
    };
    let mut received = (0, 0);
    while let Some((record, interfaces)) = input.read_beside().map_err(|error| error.to_string())? {
        let bytes = record.bytes.saturating_sub(uncounted);
        let at = Instant::from_nanos(order.hold(record.time_ns));
        received = (received.0 + 1, received.1 + u64::from(bytes));
        replay.arrive(Frame::new(Kept::of(&record), bytes, at), &mut |frame, fate| {
            tell(frame, fate, interfaces)
        });
    }
    replay.finish(&mut |frame, fate| tell(frame, fate, input.interfaces()));
    if let Some(problem) = failure {
        return Err(problem);
    }
    (outcome.received, outcome.flushed, outcome.untimed) =
        (received, replay.flushed, input.untimed() + input.mistimed());
    if let Some(writer) = output {
        writer.finish(input.interfaces())?;
    }
    Ok(outcome)
}

//! The back end without a network: a capture's frames go through a lane in the time of the capture.
//!
//! *Idea.* The lane is the one that paces real frames; the clock is the capture's, so that nothing is ever late. The wire
//! behind it, which is real elsewhere, is `core`'s closed form here. Departure times are those of the simulator's link.

use std::collections::VecDeque;
use std::io::{Read, Write};

use paceline_core::queue::{ClosedDropTail, QueueSpec};
use paceline_core::{Instant, Rate};

use crate::lane::{Admission, Frame, Lane, LaneSpec};
use crate::pcap;

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
                Some(wire) => wire.admit(frame.bytes, frame.due).map(|departure| departure.start),
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
    /// Longest time that a frame was held, nanoseconds.
    pub delay_max_ns: u64,
    /// Sum of the times that frames were held, nanoseconds.
    pub delay_sum_ns: u128,
}

/// Puts a capture through a lane and writes what leaves. What is wrong with either is said in one line.
pub fn capture(
    input: impl Read,
    output: Option<&mut dyn Write>,
    spec: LaneSpec,
    wire: Option<Rate>,
    uncounted: u32,
) -> Result<Outcome, String> {
    let mut reader = pcap::Reader::begin(input)?;
    let mut writer = match output {
        Some(output) => Some(pcap::Writer::begin(output, reader.link_type())?),
        None => None,
    };
    let mut replay = Replay::new(spec, wire.map(|rate| (rate, QueueSpec::default())));
    let mut outcome = Outcome::default();
    let mut failure = None;
    let mut latest = Instant::ZERO;
    let mut tell = |frame: Frame<pcap::Record>, fate: Fate| match fate {
        Fate::Leaves(at) => {
            outcome.sent = (outcome.sent.0 + 1, outcome.sent.1 + u64::from(frame.bytes));
            let held = at.since(frame.arrived).as_nanos();
            outcome.delay_max_ns = outcome.delay_max_ns.max(held);
            outcome.delay_sum_ns += u128::from(held);
            if let Some(writer) = &mut writer {
                failure = failure.take().or(writer.write(at, &frame.handle).err());
            }
        }
        Fate::Refused | Fate::Overflowed => outcome.dropped += 1,
    };
    let mut received = (0, 0);
    while let Some(record) = reader.next()? {
        let bytes = record.bytes.saturating_sub(uncounted);
        latest = latest.max(record.time); // a capture's clock may run backwards: then time stands still
        received = (received.0 + 1, received.1 + u64::from(bytes));
        replay.arrive(Frame::new(record, bytes, latest), &mut tell);
    }
    replay.finish(&mut tell);
    if let Some(problem) = failure {
        return Err(problem);
    }
    outcome.received = received;
    outcome.flushed = replay.flushed;
    if let Some(writer) = writer {
        writer.finish()?;
    }
    Ok(outcome)
}

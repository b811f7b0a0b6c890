//! A pacer at work on an interface's packets: the very stage that a simulated link has.
//!
//! *Idea.* Before a packet arrives, whatever may leave until then leaves, at its own time; a departure at the instant of an
//! arrival precedes it. What the pacer releases waits for the output link, whose closed form returns when its first bit leaves.

use std::collections::VecDeque;

use paceline_core::pacer::{Pacer, PacerSpec};
use paceline_core::queue::{Arrival, ClosedDropTail, QueueSpec};
use paceline_core::{Instant, Packet, Rate, Stage, Verdict};

use super::flows::FlowId;
use super::shaper::{MOST_HELD, Shaper};

/// A packet on its way through a lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    /// Its time in the capture, nanoseconds.
    pub(super) time_ns: u64,
    pub(super) bytes: u32,
    pub(super) flow: Option<FlowId>,
}

impl Packet for Held {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes
    }
}

/// What became of a packet.
#[derive(Debug)]
pub(super) enum Fate<'a> {
    /// Its first bit leaves then, nanoseconds; its frame, where frames are kept.
    Leaves(u64, &'a [u8]),
    /// The pacer, or the buffer behind it, was full.
    Dropped,
}

/// One pacer on one interface.
#[derive(Debug)]
pub(super) struct Lane {
    pacer: Pacer<Held>,
    link: Option<ClosedDropTail>,
    now: Instant,
    /// Frames of what the pacer holds, oldest first, and spent ones to fill again; where frames are kept.
    frames: Option<Frames>,
}

#[derive(Debug, Default)]
struct Frames {
    held: VecDeque<Vec<u8>>,
    spent: Vec<Vec<u8>>,
}

impl Lane {
    pub(super) fn new(shaper: &Shaper, keep_frames: bool) -> Lane {
        let rate = shaper.link.unwrap_or(Rate::from_bits_per_second(u64::MAX));
        let pacer = PacerSpec { limit: shaper.pacer.limit.or(Some(MOST_HELD)), ..shaper.pacer.clone() };
        let buffer = QueueSpec { limit: shaper.buffer.limit.or(Some(MOST_HELD)), ..shaper.buffer.clone() };
        Lane {
            pacer: Pacer::new(&pacer, rate),
            link: shaper.link.and_then(|rate| ClosedDropTail::new(&buffer, rate)),
            now: Instant::ZERO,
            frames: keep_frames.then(Frames::default),
        }
    }

    /// A packet arrives, not before any that has. `tell` is called with every packet whose fate is decided.
    #[inline]
    pub(super) fn arrive(&mut self, packet: Held, frame: &[u8], tell: &mut dyn FnMut(&Held, Fate<'_>)) {
        let at = Instant::from_nanos(packet.time_ns).max(self.now);
        self.until(at, tell);
        self.now = at;
        match self.pacer.enqueue(packet, at) {
            Verdict::Queued => {
                if let Some(frames) = &mut self.frames {
                    let mut kept = frames.spent.pop().unwrap_or_default();
                    kept.clear();
                    kept.extend_from_slice(frame);
                    frames.held.push_back(kept);
                }
            }
            // no pacer takes one packet at the cost of another
            Verdict::Refused(packet) | Verdict::Displaced(packet) => tell(&packet, Fate::Dropped),
        }
        self.leave(tell);
    }

    /// All that leaves until then.
    #[inline]
    pub(super) fn until(&mut self, at: Instant, tell: &mut dyn FnMut(&Held, Fate<'_>)) {
        while let Some(wakeup) = self.pacer.next_wakeup().filter(|wakeup| *wakeup <= at) {
            self.now = self.now.max(wakeup);
            if self.leave(tell) == 0 {
                break;
            }
        }
    }

    /// All that is held leaves, whenever that is.
    pub(super) fn finish(&mut self, tell: &mut dyn FnMut(&Held, Fate<'_>)) {
        self.until(Instant::MAX, tell);
    }

    /// All that leaves now; how many there were.
    #[inline]
    fn leave(&mut self, tell: &mut dyn FnMut(&Held, Fate<'_>)) -> usize {
        let mut count = 0;
        while let Some(packet) = self.pacer.dequeue(self.now) {
            count += 1;
            let frame = self.frames.as_mut().and_then(|frames| frames.held.pop_front());
            let start = match &mut self.link {
                None => Some(self.now),
                Some(link) => link
                    .admit(Arrival::new(packet.bytes, self.now))
                    .departure
                    .map(|departure| departure.start),
            };
            match start {
                Some(start) => {
                    tell(&packet, Fate::Leaves(start.as_nanos(), frame.as_deref().unwrap_or_default()))
                }
                None => tell(&packet, Fate::Dropped),
            }
            if let (Some(frames), Some(frame)) = (&mut self.frames, frame) {
                frames.spent.push(frame);
            }
        }
        count
    }
}

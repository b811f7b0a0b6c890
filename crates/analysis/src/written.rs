//! What a pacer lets go, on its way into a file: in the order of time, over all interfaces.
//!
//! *Idea.* A packet that waits for its link is known to leave before it does, and interfaces are not exactly in step: packets
//! wait in a heap until nothing earlier can come. Of several interfaces, one may be [`SLACK_NS`] behind another.
//! *Where it breaks.* An interface that is further behind is written out of order; readers take that.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_capture::Interface;
use paceline_capture::write::Writer;

/// How far interfaces may be apart, nanoseconds.
const SLACK_NS: u64 = 100_000_000;

/// Packets to be written.
#[derive(Debug)]
pub(super) struct Written<'a> {
    writer: Writer<'a>,
    waiting: BinaryHeap<Reverse<Packet>>,
    number: u64,
    latest_ns: u64,
}

/// Ordered by time, then by the order in which they were let go.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    time_ns: u64,
    number: u64,
    bytes: u32,
    interface: u32,
    frame: Vec<u8>,
}

impl<'a> Written<'a> {
    pub(super) fn new(writer: Writer<'a>) -> Self {
        Written { writer, waiting: BinaryHeap::new(), number: 0, latest_ns: 0 }
    }

    /// A packet will leave then.
    pub(super) fn take(&mut self, time_ns: u64, bytes: u32, interface: u32, frame: &[u8]) {
        self.number += 1;
        let frame = frame.to_vec();
        self.waiting.push(Reverse(Packet { time_ns, number: self.number, bytes, interface, frame }));
    }

    /// Now that a packet has arrived, when nothing more can leave any more.
    pub(super) fn settled(&mut self, arrived_ns: u64, interfaces: usize) -> u64 {
        self.latest_ns = self.latest_ns.max(arrived_ns);
        if interfaces > 1 { self.latest_ns.saturating_sub(SLACK_NS) } else { self.latest_ns }
    }

    /// Writes what leaves before then.
    pub(super) fn release(&mut self, settled_ns: u64, interfaces: &[Interface]) -> Result<(), String> {
        while self.waiting.peek().is_some_and(|Reverse(packet)| packet.time_ns <= settled_ns) {
            let Some(Reverse(packet)) = self.waiting.pop() else { break };
            self.writer.write(packet.time_ns, packet.bytes, packet.interface, &packet.frame, interfaces)?;
        }
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(mut self, interfaces: &[Interface]) -> Result<(), String> {
        self.release(u64::MAX, interfaces)?;
        self.writer.finish(interfaces)
    }
}

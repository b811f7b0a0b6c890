//! The trace: one row a packet event, in the total order.
//!
//! *Idea.* A row is written when its event is handled, except that a packet's departure from a queue is known at its
//! arrival: that row waits in a heap until its time. Rows of one instant: departures of waiting packets first, then what
//! each event causes, in the order of [`crate::packet`]; what follows from an event at its own instant follows it.

use crate::packet::Packet;
use paceline_core::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happened to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TraceEvent {
    /// The sender decides to send it; the place is its host.
    Send,
    /// It arrived at a link and was accepted.
    Enqueue,
    /// It arrived at a link and was refused, was displaced there, or its loss was forced.
    Drop,
    /// Its serialisation begins.
    Dequeue,
    /// Its last bit is at the destination host.
    Receive,
}

impl TraceEvent {
    /// Names in a trace file, by discriminant.
    pub const NAMES: [&'static str; 5] = ["send", "enqueue", "drop", "dequeue", "receive"];
}

/// One row of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceRow {
    /// When, nanoseconds.
    pub time_ns: u64,
    /// What.
    pub event: TraceEvent,
    /// Where: a link's number, or the number of links plus a host's.
    pub place: u32,
    /// Which flow.
    pub flow: u32,
    /// An acknowledgement, not data.
    pub is_ack: bool,
    /// Data: the packet's number from 0. Acknowledgement: the highest packet received in order, -1 for none.
    pub seq: i64,
    /// On the wire.
    pub bytes: u32,
    /// The sender's congestion window, packets, in rows of the sending host; NaN elsewhere.
    pub cwnd: f64,
}

/// Where rows go.
pub trait TraceSink: Send {
    /// Takes the next row; `false` ends the run (the file cannot be written, say).
    fn row(&mut self, row: &TraceRow) -> bool;
}

impl TraceSink for Vec<TraceRow> {
    fn row(&mut self, row: &TraceRow) -> bool {
        self.push(*row);
        true
    }
}

/// Rows whose time is yet to come, and those that are due.
pub(crate) struct Tracer<'a> {
    sink: &'a mut dyn TraceSink,
    /// Departures to come, by time, link, flow, then order of admission.
    waiting: BinaryHeap<Reverse<Waiting>>,
    admitted: u64,
    /// The sink has refused a row.
    pub(crate) broken: bool,
}

#[derive(Debug)]
struct Waiting {
    key: (u64, u32, u32, u64),
    row: TraceRow,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<'a> Tracer<'a> {
    pub(crate) fn new(sink: &'a mut dyn TraceSink) -> Self {
        Tracer { sink, waiting: BinaryHeap::new(), admitted: 0, broken: false }
    }

    /// Writes what departs up to and at `now`: called before any event of that instant is handled.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some(Reverse(first)) = self.waiting.peek()
            && first.key.0 <= now.as_nanos()
        {
            if let Some(Reverse(first)) = self.waiting.pop() {
                self.write(&first.row);
            }
        }
    }

    /// Writes a row of the present instant.
    pub(crate) fn now(&mut self, event: TraceEvent, place: u32, packet: &Packet, cwnd: f64, now: Instant) {
        let row = row_of(event, place, packet, cwnd, now);
        self.write(&row);
    }

    /// Serialisation begins at `start`: now, or later.
    pub(crate) fn dequeue(&mut self, link: u32, packet: &Packet, start: Instant, now: Instant) {
        let row = row_of(TraceEvent::Dequeue, link, packet, f64::NAN, start);
        if start <= now {
            self.write(&row);
        } else {
            self.admitted += 1;
            let key = (start.as_nanos(), link, packet.flow, self.admitted);
            self.waiting.push(Reverse(Waiting { key, row }));
        }
    }

    fn write(&mut self, row: &TraceRow) {
        if !self.broken {
            self.broken = !self.sink.row(row);
        }
    }
}

fn row_of(event: TraceEvent, place: u32, packet: &Packet, cwnd: f64, at: Instant) -> TraceRow {
    let seq = i64::from(packet.seq) - i64::from(packet.is_ack);
    TraceRow {
        time_ns: at.as_nanos(),
        event,
        place,
        flow: packet.flow,
        is_ack: packet.is_ack,
        seq,
        bytes: u32::from(packet.bytes),
        cwnd,
    }
}

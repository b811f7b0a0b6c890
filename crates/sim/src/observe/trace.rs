//! The trace: one row a packet event, in one order, whichever engine makes the rows.
//!
//! *Idea.* Links and hosts are not at the same time: a departure from a queue is known at the packet's arrival, a
//! packet may pass a link ahead of time, links run in epochs. So rows are gathered, and those of a time that is over
//! are put in order and written; memory holds what is to come, and as many rows again.
//!
//! *The order.* Time. Within an instant: what hosts receive; what they send; what happens at links: so a packet is
//! received, then what answers it is sent, enqueued and dequeued. Rows of receiving and of sending stand by place,
//! then by flow; those at links by link. Rows that agree in all that stand in the order in which their host or their
//! link made them: at a link, what has waited leaves first, then arrivals are taken in the total order of
//! [`crate::kernel::packet`], each followed by its own departure if it need not wait. A link acts in that order under both
//! engines, as does each end of a flow.
//!
//! *Where it breaks.* A hop that takes less than a nanosecond, delay and all (under the reference engine alone): the
//! rows of its packet's instant stand by place, not by the packet's way.

mod connection;
mod frames;
mod numbers;
mod packets;

use super::error::RunError;
use crate::kernel::packet::Packet;
use crate::kernel::signals::Signals;
use paceline_core::{Ecn, Instant};
use paceline_tcp::Feedback;
use std::cmp::Ordering;

pub use crate::kernel::cause::Cause;
pub use packets::PacketTrace;

/// What happened to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TraceEvent {
    /// The sender decides to send it; the place is its host.
    Send,
    /// It arrived at a link and was accepted.
    Enqueue,
    /// It arrived at a link and was dropped, was displaced there, or its loss was forced.
    Drop,
    /// Its serialisation begins.
    Dequeue,
    /// Its last bit is at the destination host.
    Receive,
    /// A queue sets its congestion-experienced bits.
    Mark,
}

impl TraceEvent {
    /// Names in a trace file, by discriminant.
    pub const NAMES: [&'static str; 6] = ["send", "enqueue", "drop", "dequeue", "receive", "mark"];
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
    /// Why it was dropped or marked, in rows of that.
    pub cause: Option<Cause>,
    /// What packets say beside.
    pub detail: Detail,
}

/// What a table of rows leaves out, and [`PacketTrace`] needs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Detail {
    /// Data at its sender: the number of the first packet of its connection.
    pub first: u32,
    /// The same: nothing follows it on its connection.
    pub closes: bool,
    /// Acknowledgements at hosts: the echoed time, where that is asked for, and the blocks that are reported, in numbers of data.
    pub feedback: Feedback,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// TCP's flag ECE: the packet echoes a mark.
    pub echoes_mark: bool,
    /// TCP's flag CWR: the sender's window is reduced. With accurate ECN these two and the next are a counter of marks.
    pub is_reduced: bool,
    /// TCP's flag AE.
    pub is_accurate: bool,
}

impl TraceRow {
    /// Which of two comes first; equal ones stay as they were made.
    fn order(&self, other: &TraceRow) -> Ordering {
        self.time_ns
            .cmp(&other.time_ns)
            .then_with(|| self.within_an_instant().cmp(&other.within_an_instant()))
    }

    fn within_an_instant(&self) -> (u8, u32, u32) {
        match self.event {
            TraceEvent::Receive => (0, self.place, self.flow),
            TraceEvent::Send => (1, self.place, self.flow),
            TraceEvent::Enqueue | TraceEvent::Drop | TraceEvent::Dequeue | TraceEvent::Mark => {
                (2, self.place, 0)
            }
        }
    }
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

/// Rows fewer than this are not worth putting in order. In tests nearly any are.
const FEW: usize = if cfg!(debug_assertions) { 1 << 3 } else { 1 << 12 };

/// Rows of hosts, or of links, as they are made.
#[derive(Debug, Default)]
pub(crate) struct TraceRows(Vec<TraceRow>);

impl TraceRows {
    /// Something happens to a packet on its way.
    pub(crate) fn add(&mut self, event: TraceEvent, at: Instant, place: u32, packet: &Packet) {
        self.add_at_host(event, at, place, packet, f64::NAN, Detail::default());
    }

    /// A link drops a packet, or marks it.
    pub(crate) fn add_with_cause(
        &mut self,
        event: TraceEvent,
        at: Instant,
        place: u32,
        packet: &Packet,
        cause: Cause,
    ) {
        self.add(event, at, place, packet);
        self.0.iter_mut().last().into_iter().for_each(|row| row.cause = Some(cause));
    }

    /// Something happens to a packet at a host.
    pub(crate) fn add_at_host(
        &mut self,
        event: TraceEvent,
        at: Instant,
        place: u32,
        packet: &Packet,
        cwnd: f64,
        detail: Detail,
    ) {
        let signals = packet.signals;
        let detail = Detail {
            ecn: signals.ecn(),
            echoes_mark: signals.has(Signals::ECE),
            is_reduced: signals.has(Signals::CWR),
            is_accurate: signals.has(Signals::AE),
            ..detail
        };
        self.0.push(TraceRow {
            time_ns: at.as_nanos(),
            event,
            place,
            flow: packet.flow,
            is_ack: packet.is_ack,
            seq: i64::from(packet.seq) - i64::from(packet.is_ack),
            bytes: u32::from(packet.bytes),
            cwnd,
            cause: None,
            detail,
        });
    }
}

/// Rows that are not written yet.
pub(crate) struct Tracer<'a> {
    sink: &'a mut dyn TraceSink,
    rows: Vec<TraceRow>,
    /// So many are worth putting in order.
    enough: usize,
}

impl<'a> Tracer<'a> {
    pub(crate) fn new(sink: &'a mut dyn TraceSink) -> Self {
        Tracer { sink, rows: Vec::new(), enough: FEW }
    }

    /// These have been made since: those of hosts and of links have no order among each other but by time and event.
    pub(crate) fn take(&mut self, made: &mut TraceRows) {
        self.rows.append(&mut made.0);
    }

    /// No row of a time before `until` will come any more: writes those that have, if they are many.
    pub(crate) fn advance(&mut self, until: Instant) -> Result<(), RunError> {
        if self.rows.len() < self.enough {
            return Ok(());
        }
        self.write_before(until)?;
        self.enough = FEW + 2 * self.rows.len();
        Ok(())
    }

    /// The same, however few.
    pub(crate) fn write_before(&mut self, until: Instant) -> Result<(), RunError> {
        self.rows.sort_by(TraceRow::order);
        let due = self.rows.partition_point(|row| row.time_ns < until.as_nanos());
        let is_written = self.rows.drain(..due).all(|row| self.sink.row(&row));
        if is_written { Ok(()) } else { Err(RunError::TraceRefused) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

    use super::*;
    use TraceEvent::{Dequeue, Drop, Enqueue, Receive, Send};

    fn add(tracer: &mut Tracer<'_>, event: TraceEvent, at: u64, place: u32, flow: u32, seq: u32) {
        let sent = Instant::ZERO;
        let packet = Packet { sent, flow, seq, bytes: 1000, hop: 0, is_ack: false, signals: Signals::NONE };
        let mut made = TraceRows::default();
        made.add(event, Instant::from_nanos(at), place, &packet);
        tracer.take(&mut made);
    }

    #[test]
    fn rows_stand_in_their_order_however_far_links_and_hosts_are() {
        let mut rows: Vec<TraceRow> = Vec::new();
        let mut tracer = Tracer::new(&mut rows);
        // Links 0 and 1, hosts 2 and 3. Link 1 has come to 30; then hosts and link 0 come to 20.
        add(&mut tracer, Enqueue, 20, 1, 7, 0);
        add(&mut tracer, Dequeue, 30, 1, 7, 0);
        add(&mut tracer, Drop, 30, 1, 5, 0);
        add(&mut tracer, Send, 20, 3, 4, 9);
        add(&mut tracer, Enqueue, 20, 0, 4, 9);
        add(&mut tracer, Dequeue, 20, 0, 4, 9);
        add(&mut tracer, Receive, 20, 3, 4, 8);
        add(&mut tracer, Receive, 20, 2, 6, 3);
        tracer.write_before(Instant::from_nanos(30)).unwrap();
        add(&mut tracer, Receive, 30, 2, 6, 4);
        tracer.write_before(Instant::from_nanos(31)).unwrap();
        let written = rows.iter().map(|row| (row.time_ns, row.event, row.place, row.flow));
        assert_eq!(
            written.collect::<Vec<_>>(),
            [
                (20, Receive, 2, 6),
                (20, Receive, 3, 4),
                (20, Send, 3, 4),
                (20, Enqueue, 0, 4),
                (20, Dequeue, 0, 4),
                (20, Enqueue, 1, 7),
                (30, Receive, 2, 6),
                (30, Dequeue, 1, 7),
                (30, Drop, 1, 5),
            ]
        );
    }

    #[test]
    fn memory_holds_what_is_to_come_and_little_more() {
        let mut rows: Vec<TraceRow> = Vec::new();
        let mut tracer = Tracer::new(&mut rows);
        let ahead = 3 * FEW as u64;
        for now in 0..10 * ahead {
            add(&mut tracer, Dequeue, now + ahead, 0, 0, 0);
            tracer.advance(Instant::from_nanos(now)).unwrap();
            assert!(tracer.rows.len() <= 2 * ahead as usize + FEW + 1, "{}", tracer.rows.len());
        }
        tracer.write_before(Instant::MAX).unwrap();
        assert!(rows.len() as u64 == 10 * ahead && rows.is_sorted_by_key(|row| row.time_ns));
    }
}

//! A trace as packets: what tcpdump sees of each flow at the host that sends its data.
//!
//! *Idea.* Data leave when their sender lets them go (rows `send`), acknowledgements come back (rows `receive` there). Each
//! connection of a flow has ports of its own, and its sequence numbers count bytes from 0. What the simulator does not have
//! is added where TCP cannot be without it, at the instant of what brings it about: the acknowledgement of the other side's
//! SYN and of its FIN, and a handshake where the scenario has none. A FIN goes with the last packet where the application
//! is known to have no more, the other side's with the acknowledgement of that.
//! *Lengths.* A packet is as long on the wire as it is simulated, or as its headers ask for if that is more: ns-2's SYN and
//! its SACK blocks are smaller than real ones. Headers alone are kept.
//! *Where it breaks.* One file has all hosts. The two ways of an RPC are two connections, as they are in the simulator.
//! *References.* RFC 9293; RFC 2018; RFC 7323.

use std::collections::HashMap;

use paceline_capture::Interface;
use paceline_capture::link_type::LinkType;
use paceline_capture::write::Writer;
use paceline_core::Ecn;

use super::connection::{Flow, timestamp};
use super::frames::{self, Host, Segment, Way};
use super::{Detail, TraceEvent, TraceRow, TraceSink};
use crate::network::Network;

/// Linux's `ip_local_port_range`: what the connections between two hosts get, one after the other.
const FIRST_PORT: u16 = 32768;
const PORTS: u32 = 28232;
/// The server's (iperf's); the next one, where those are used up.
const SERVER_PORT: u16 = 5001;

/// Frames are of one interface.
const INTERFACES: [Interface; 1] = [Interface { link_type: LinkType::ETHERNET, name: None }];

/// Writes a trace as a capture.
pub struct PacketTrace<'a> {
    flows: Vec<Flow>,
    frames: Frames<'a>,
    failure: Option<String>,
}

impl std::fmt::Debug for PacketTrace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PacketTrace").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl<'a> PacketTrace<'a> {
    /// Of a run of this network.
    pub fn new(writer: Writer<'a>, network: &Network) -> Self {
        let flows = network.flows.iter().map(|spec| {
            let routers = spec.reverse.len().saturating_sub(1) as u8;
            Flow::new((Host(spec.source), Host(spec.sink)), routers, spec.kind.shared_tcp().cloned())
        });
        let frames = Frames { writer, pairs: HashMap::new(), frame: Vec::new() };
        PacketTrace { flows: flows.collect(), frames, failure: None }
    }

    /// Ends the file. An error is one line.
    pub fn finish(self) -> Result<(), String> {
        self.failure.map_or(Ok(()), Err)?;
        self.frames.writer.finish(&INTERFACES)
    }
}

impl TraceSink for PacketTrace<'_> {
    fn row(&mut self, row: &TraceRow) -> bool {
        let Some(flow) = self.flows.get_mut(row.flow as usize) else { return true };
        let frames = &mut self.frames;
        let done = match (row.event, row.is_ack) {
            (TraceEvent::Send, false) if flow.tcp.is_none() => frames.datagram(flow, row),
            (TraceEvent::Send, false) => frames.data(flow, row),
            (TraceEvent::Receive, true) => frames.acknowledgement(flow, row),
            (TraceEvent::Send, true) => {
                flow.acknowledgement_sent(row.seq, row.detail.feedback, row.time_ns);
                Ok(())
            }
            _ => Ok(()),
        };
        self.failure = done.err();
        self.failure.is_none()
    }
}

/// Frames on their way into the file.
struct Frames<'a> {
    writer: Writer<'a>,
    /// Connections so far of each pair of hosts.
    pairs: HashMap<(Host, Host), u32>,
    frame: Vec<u8>,
}

impl Frames<'_> {
    /// A packet of an open-loop source leaves.
    fn datagram(&mut self, flow: &mut Flow, row: &TraceRow) -> Result<(), String> {
        if !flow.has_begun(0) {
            flow.begin(0, self.next_ports(flow.hosts));
        }
        let Some(ports) = flow.connection().map(|connection| connection.ports) else { return Ok(()) };
        let length = frames::udp(&flow.way(ports, false, row.detail.ecn), row.bytes, &mut self.frame);
        self.put(row.time_ns, length)
    }

    /// Data leave their sender.
    fn data(&mut self, flow: &mut Flow, row: &TraceRow) -> Result<(), String> {
        let Some(tcp) = flow.tcp.clone() else { return Ok(()) };
        let first = row.detail.first;
        if !flow.has_begun(first) {
            flow.begin(first, self.next_ports(flow.hosts));
            if tcp.syn.is_none() {
                self.syn(flow, row.time_ns, 0)?;
                self.syn_answer(flow, first, (row.time_ns, row.time_ns), timestamp(row.time_ns), 0)?;
            }
        }
        let common = flow.segment(row.time_ns, flow.echo());
        let Some(connection) = flow.connection() else { return Ok(()) };
        let number = connection.number(row.seq as u32);
        if number == 0 && tcp.syn.is_some() {
            connection.numbers.send(0, 0, false);
            return self.syn(flow, row.time_ns, row.bytes);
        }
        let payload = row.bytes.saturating_sub(tcp.header);
        connection.numbers.send(number, payload, row.detail.closes);
        let fin = connection.numbers.is_last(number);
        let (seq, ack) = (connection.numbers.seq(number), Some(connection.reverse_seq()));
        let psh = fin || payload < tcp.payload;
        let cwr = row.detail.is_reduced;
        let (ports, segment) = (connection.ports, Segment { seq, ack, fin, psh, payload, cwr, ..common });
        self.segment(flow.way(ports, false, row.detail.ecn), &segment, row.time_ns, row.bytes)
    }

    /// An acknowledgement is back at the sender of data. The first is the SYN's; with that of all there is, the other side closes.
    fn acknowledgement(&mut self, flow: &mut Flow, row: &TraceRow) -> Result<(), String> {
        let feedback = &row.detail.feedback;
        let sent_ns = flow.acknowledgement_came(row.seq, feedback);
        let next = (row.seq + 1) as u32;
        let echoed = timestamp(feedback.echo.as_nanos());
        let (common, confirmed) = (flow.segment(sent_ns, echoed), flow.segment(row.time_ns, flow.echo()));
        let Some(connection) = flow.connection_of(next) else { return Ok(()) };
        if !connection.is_open {
            return self.syn_answer(flow, next, (sent_ns, row.time_ns), echoed, row.bytes);
        }
        let number = connection.number(next);
        connection.numbers.acknowledge(number);
        let seq_of = |packet: u32| connection.numbers.seq(connection.number(packet));
        let blocks = std::array::from_fn(|place| {
            feedback.blocks().get(place).map(|block| (seq_of(block.start), seq_of(block.end)))
        });
        let fin = connection.numbers.is_all(number) && !connection.is_closed;
        let (seq, ack) = (connection.reverse_seq(), connection.numbers.seq(number));
        connection.is_closed |= fin;
        let (ports, reverse_seq) = (connection.ports, connection.reverse_seq());
        let Detail { echoes_mark: ece, is_reduced: cwr, is_accurate: ae, .. } = row.detail;
        let segment = Segment { seq, ack: Some(ack), fin, ece, cwr, ae, blocks, ..common };
        self.segment(flow.way(ports, true, row.detail.ecn), &segment, row.time_ns, row.bytes)?;
        if fin {
            let last = Segment { seq: ack, ack: Some(reverse_seq), ..confirmed };
            self.segment(flow.way(ports, false, Ecn::NotEct), &last, row.time_ns, 0)?;
        }
        Ok(())
    }

    /// A SYN leaves, perhaps again.
    fn syn(&mut self, flow: &mut Flow, time_ns: u64, bytes: u32) -> Result<(), String> {
        let Some(ports) = flow.connection().map(|connection| connection.ports) else { return Ok(()) };
        let segment = flow.syn(time_ns, 0, None);
        self.segment(flow.way(ports, false, Ecn::NotEct), &segment, time_ns, bytes)
    }

    /// The answer to a SYN comes, which was sent and is received then, and is acknowledged at once.
    fn syn_answer(
        &mut self,
        flow: &mut Flow,
        next: u32,
        (sent_ns, time_ns): (u64, u64),
        echoed: u32,
        bytes: u32,
    ) -> Result<(), String> {
        let Some(connection) = flow.connection_of(next) else { return Ok(()) };
        connection.is_open = true;
        let ports = connection.ports;
        let answer = flow.syn(sent_ns, echoed, Some(1));
        self.segment(flow.way(ports, true, Ecn::NotEct), &answer, time_ns, bytes)?;
        let confirmed = Segment { seq: 1, ack: Some(1), ..flow.segment(time_ns, timestamp(sent_ns)) };
        self.segment(flow.way(ports, false, Ecn::NotEct), &confirmed, time_ns, 0)
    }

    fn segment(&mut self, way: Way, segment: &Segment, time_ns: u64, bytes: u32) -> Result<(), String> {
        let length = frames::tcp(&way, segment, bytes, &mut self.frame);
        self.put(time_ns, length)
    }

    fn put(&mut self, time_ns: u64, length: u32) -> Result<(), String> {
        self.writer.write(time_ns, length, 0, &self.frame, &INTERFACES)
    }

    /// Those of the next connection between two hosts.
    fn next_ports(&mut self, hosts: (Host, Host)) -> (u16, u16) {
        let count = self.pairs.entry(hosts).or_default();
        let (turn, place) = (*count / PORTS, *count % PORTS);
        *count = count.wrapping_add(1);
        (FIRST_PORT + place as u16, SERVER_PORT.wrapping_add(turn as u16))
    }
}

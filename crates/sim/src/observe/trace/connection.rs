//! A flow's connections, one after the other, as whoever captures its sender's packets can tell them.

use std::collections::VecDeque;
use std::sync::Arc;

use paceline_core::Ecn;
use paceline_tcp::{Config, EcnMode, Feedback};

use super::frames::{Host, Opening, Segment, Way};
use super::numbers::Numbers;

/// Windows are scaled by this at most (RFC 7323 section 2.3).
const MOST_SCALE: u8 = 14;
/// Of a timestamp's clock, nanoseconds: microseconds, as Linux's `tcp_usec_ts`.
const TICK_NS: u64 = 1000;

/// One flow.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) hosts: (Host, Host),
    /// On the way back.
    routers: u8,
    /// `None` is UDP.
    pub(super) tcp: Option<Arc<Config>>,
    /// The connection at work, and the one before it, of which acknowledgements may be under way.
    connections: [Option<Connection>; 2],
    /// The other side's last timestamp.
    echo: u32,
    /// Acknowledgements under way, where they have timestamps: number, what else they say, and when they were sent.
    under_way: VecDeque<(i64, Feedback, u64)>,
    /// Packets so far, there and back.
    packets: [u16; 2],
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// The simulator's number of its first packet.
    first: u32,
    pub(super) ports: (u16, u16),
    pub(super) numbers: Numbers,
    /// The other side's SYN has come, and its FIN.
    pub(super) is_open: bool,
    pub(super) is_closed: bool,
}

impl Connection {
    /// The number of a packet within it.
    pub(super) fn number(&self, of_the_flow: u32) -> u32 {
        of_the_flow.wrapping_sub(self.first)
    }

    /// The next sequence number of the other side, which sends a SYN, and at the end a FIN.
    pub(super) fn reverse_seq(&self) -> u32 {
        u32::from(self.is_open) + u32::from(self.is_closed)
    }
}

impl Flow {
    /// Between these hosts; so many routers are on the way back.
    pub(super) fn new(hosts: (Host, Host), routers: u8, tcp: Option<Arc<Config>>) -> Self {
        Flow { hosts, routers, tcp, ..Flow::default() }
    }

    /// Whether the connection at work is the one that begins with this packet.
    pub(super) fn has_begun(&self, first: u32) -> bool {
        self.connections[0].as_ref().is_some_and(|connection| connection.first == first)
    }

    /// A connection begins with this packet, and takes the place of the one before.
    pub(super) fn begin(&mut self, first: u32, ports: (u16, u16)) {
        let numbers = match &self.tcp {
            Some(tcp) => Numbers::new(tcp.payload, tcp.syn.is_some().into()),
            None => Numbers::default(),
        };
        let connection = Connection { first, ports, numbers, is_open: false, is_closed: false };
        self.connections.swap(0, 1);
        self.connections[0] = Some(connection);
    }

    /// The connection at work.
    pub(super) fn connection(&mut self) -> Option<&mut Connection> {
        self.connections[0].as_mut()
    }

    /// The connection that an acknowledgement of all before a packet is of: the one at work or the one before; `None` if it has long been over.
    pub(super) fn connection_of(&mut self, next: u32) -> Option<&mut Connection> {
        let is_of = |connection: &&mut Connection| connection.number(next) <= i32::MAX as u32;
        self.connections.iter_mut().flatten().find(is_of)
    }

    /// From the sender of data to their receiver, or back, for the next packet and its ECN field.
    pub(super) fn way(&mut self, ports: (u16, u16), is_back: bool, ecn: Ecn) -> Way {
        let (here, there) = ((self.hosts.0, ports.0), (self.hosts.1, ports.1));
        let count = &mut self.packets[usize::from(is_back)];
        *count = count.wrapping_add(1);
        let identification = *count;
        match is_back {
            false => Way { from: here, to: there, routers: 0, identification, ecn },
            true => Way { from: there, to: here, routers: self.routers, identification, ecn },
        }
    }

    /// The fields of every segment of either side that is sent then.
    pub(super) fn segment(&self, time_ns: u64, echo: u32) -> Segment {
        let Some(tcp) = &self.tcp else { return Segment::default() };
        let timestamps = tcp.timestamps.then(|| (timestamp(time_ns), echo));
        Segment { window: scaled(tcp).1, timestamps, ..Segment::default() }
    }

    /// The same of a SYN, or of the answer to one: both ask for ECN if the scenario has it, the answer by ECE alone (RFC 3168 section 6.1.1),
    /// or for accurate ECN, the answer by CWR: the SYN was not ECN-capable (RFC 9768 section 3.1.2).
    pub(super) fn syn(&self, time_ns: u64, echo: u32, ack: Option<u32>) -> Segment {
        let Some(tcp) = &self.tcp else { return Segment::default() };
        // the options of every packet count to it (RFC 6691)
        let size = tcp.payload + if tcp.timestamps { 12 } else { 0 };
        let is_accurate = tcp.ecn == EcnMode::Accurate;
        Segment {
            syn: true,
            ack,
            ece: tcp.ecn != EcnMode::Off && !(is_accurate && ack.is_some()),
            cwr: tcp.ecn != EcnMode::Off && (is_accurate || ack.is_none()),
            ae: is_accurate && ack.is_none(),
            window: u16::try_from(window(tcp)).unwrap_or(u16::MAX),
            opening: Some(Opening {
                segment: u16::try_from(size).unwrap_or(u16::MAX),
                scale: scaled(tcp).0,
                is_selective: tcp.variant.is_selective(),
            }),
            ..self.segment(time_ns, echo)
        }
    }

    /// The other side's last timestamp.
    pub(super) fn echo(&self) -> u32 {
        self.echo
    }

    /// An acknowledgement sets out.
    pub(super) fn acknowledgement_sent(&mut self, seq: i64, feedback: Feedback, time_ns: u64) {
        if self.tcp.as_ref().is_some_and(|tcp| tcp.timestamps) {
            self.under_way.push_back((seq, feedback, time_ns));
        }
    }

    /// It has come: when it set out. What set out before it will not come any more, as acknowledgements keep their order.
    pub(super) fn acknowledgement_came(&mut self, seq: i64, feedback: &Feedback) -> u64 {
        let place = self.under_way.iter().position(|(number, said, _)| *number == seq && said == feedback);
        let Some((.., sent_ns)) = place.and_then(|place| self.under_way.drain(..=place).next_back()) else {
            return 0;
        };
        self.echo = timestamp(sent_ns);
        sent_ns
    }
}

/// The time as a timestamp option has it.
pub(super) fn timestamp(time_ns: u64) -> u32 {
    (time_ns / TICK_NS) as u32
}

/// The receiver's window, bytes.
fn window(tcp: &Config) -> u64 {
    u64::from(tcp.max_window) * u64::from(tcp.payload)
}

/// By how many bits it is scaled, and what remains of it, rounded up.
fn scaled(tcp: &Config) -> (u8, u16) {
    let window = window(tcp);
    let remains = |scale: u8| window.div_ceil(1 << scale);
    let scale = (0..MOST_SCALE).find(|scale| remains(*scale) <= u64::from(u16::MAX)).unwrap_or(MOST_SCALE);
    (scale, u16::try_from(remains(scale)).unwrap_or(u16::MAX))
}

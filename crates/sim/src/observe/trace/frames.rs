//! Frames as a host's network card sees them, of headers alone: Ethernet, IPv4, then TCP or UDP.
//!
//! *Idea.* The library builds headers and checksums; payload is zeros, which add nothing to a checksum, and is not kept.

use etherparse::{
    EtherType, Ethernet2Header, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader,
};
use paceline_core::Ecn;

/// The longest payload of an IPv4 packet.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// Bytes of the Ethernet header, which a scenario's sizes do not count.
const ETHERNET: u32 = 14;
/// Of IPv4 without options, bytes.
const IPV4: u32 = 20;
/// Bytes of TCP's options at most (RFC 9293 section 3.1).
const MOST_OPTIONS: usize = 40;

/// A host, by its number.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Host(pub(super) u32);

impl Host {
    /// 10.0.0.1, and on.
    fn address(self) -> [u8; 4] {
        0x0a00_0001u32.wrapping_add(self.0).to_be_bytes()
    }

    /// 02:00 (locally administered) and the number.
    fn mac(self) -> [u8; 6] {
        let [a, b, c, d] = self.0.to_be_bytes();
        [2, 0, a, b, c, d]
    }
}

/// One way of a connection, from socket to socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) from: (Host, u16),
    pub(super) to: (Host, u16),
    /// Routers between them have counted the packet's time to live down by one each.
    pub(super) routers: u8,
    /// IP's number of the packet.
    pub(super) identification: u16,
    /// IP's field for explicit congestion notification.
    pub(super) ecn: Ecn,
}

/// What a SYN agrees on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening {
    /// The longest segment, bytes.
    pub(super) segment: u16,
    /// Windows count in units of 2 to the power of this, bytes.
    pub(super) scale: u8,
    /// Blocks may be reported.
    pub(super) is_selective: bool,
}

/// The fields of a segment's header.
#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    pub(super) seq: u32,
    /// `None` in the first SYN alone.
    pub(super) ack: Option<u32>,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) psh: bool,
    /// A mark is echoed; of a SYN, the host is ECN-capable (RFC 3168 section 6.1.1).
    pub(super) ece: bool,
    /// The window is reduced.
    pub(super) cwr: bool,
    /// Accurate ECN (RFC 9768): a counter of marks together with the two others.
    pub(super) ae: bool,
    /// As it stands in the header: scaled, but for a SYN's.
    pub(super) window: u16,
    /// The further fields of a SYN.
    pub(super) opening: Option<Opening>,
    /// Value and echo.
    pub(super) timestamps: Option<(u32, u32)>,
    /// Blocks that are held, the latest first.
    pub(super) blocks: [Option<(u32, u32)>; 4],
    pub(super) payload: u32,
}

/// A TCP segment's frame goes to `frame`. Returns its length on the wire: that of the packet as it is `simulated` (from the IP
/// header on), or what its headers and payload take, if that is more.
pub(super) fn tcp(way: &Way, segment: &Segment, simulated: u32, frame: &mut Vec<u8>) -> u32 {
    let mut header = TcpHeader::new(way.from.1, way.to.1, segment.seq, segment.window);
    header.acknowledgment_number = segment.ack.unwrap_or(0);
    (header.syn, header.fin, header.psh) = (segment.syn, segment.fin, segment.psh);
    header.ack = segment.ack.is_some();
    // AE is what was NS
    (header.ece, header.cwr, header.ns) = (segment.ece, segment.cwr, segment.ae);
    let mut options = Vec::with_capacity(8);
    options_of(segment, &mut options);
    let _ = header.set_options(&options); // they fit: see `options_of`
    let payload = ZEROS.get(..segment.payload as usize).unwrap_or(&ZEROS);
    let (source, destination) = (way.from.0.address(), way.to.0.address());
    header.checksum = header.calc_checksum_ipv4_raw(source, destination, payload).unwrap_or(0);
    let length = u32::from(header.header_len_u16()) + segment.payload;
    let length = network(way, IpNumber::TCP, length, frame);
    frame.extend_from_slice(&header.to_bytes());
    ETHERNET + length.max(simulated)
}

/// A UDP packet of so many bytes, from the IP header on, the same way.
pub(super) fn udp(way: &Way, simulated: u32, frame: &mut Vec<u8>) -> u32 {
    let length = simulated.saturating_sub(IPV4).max(8);
    let header = UdpHeader {
        source_port: way.from.1,
        destination_port: way.to.1,
        length: u16::try_from(length).unwrap_or(0),
        checksum: 0, // none (RFC 768)
    };
    let length = network(way, IpNumber::UDP, length, frame);
    frame.extend_from_slice(&header.to_bytes());
    ETHERNET + length
}

/// In Linux's order and with its padding (`tcp_options_write`).
fn options_of(segment: &Segment, options: &mut Vec<TcpOptionElement>) {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
        WindowScale,
    };
    let mut room = MOST_OPTIONS;
    let times = segment.timestamps.map(|(value, echo)| Timestamp(value, echo));
    if let Some(opening) = segment.opening {
        options.push(MaximumSegmentSize(opening.segment));
        match (opening.is_selective, times) {
            (true, Some(times)) => options.extend([SelectiveAcknowledgementPermitted, times]),
            (true, None) => options.extend([Noop, Noop, SelectiveAcknowledgementPermitted]),
            (false, Some(times)) => options.extend([Noop, Noop, times]),
            (false, None) => {}
        }
        options.extend([Noop, WindowScale(opening.scale)]);
        return;
    }
    if let Some(times) = times {
        options.extend([Noop, Noop, times]);
        room -= 12;
    }
    // three blocks beside timestamps, else four (RFC 2018 section 3)
    let [first, mut others @ ..] = segment.blocks;
    if let Some(first) = first {
        others.iter_mut().skip((room - 4) / 8 - 1).for_each(|block| *block = None);
        options.extend([Noop, Noop, SelectiveAcknowledgement(first, others)]);
    }
}

/// Ethernet's and IP's header for so many bytes; how many there are from the IP header on.
fn network(way: &Way, protocol: IpNumber, bytes: u32, frame: &mut Vec<u8>) -> u32 {
    frame.clear();
    let ethernet = Ethernet2Header {
        source: way.from.0.mac(),
        destination: way.to.0.mac(),
        ether_type: EtherType::IPV4,
    };
    frame.extend_from_slice(&ethernet.to_bytes());
    let ttl = 64 - way.routers.min(63);
    let (source, destination) = (way.from.0.address(), way.to.0.address());
    let mut header = Ipv4Header { protocol, time_to_live: ttl, source, destination, ..Ipv4Header::default() };
    // 0 is longer than the field holds, as for what a card cuts into packets
    header.total_len = u16::try_from(IPV4 + bytes).unwrap_or(0);
    (header.dont_fragment, header.identification) = (true, way.identification);
    header.ecn = match way.ecn {
        Ecn::NotEct => IpEcn::NotEct,
        Ecn::Ect1 => IpEcn::Ect1,
        Ecn::Ect0 => IpEcn::Ect0,
        Ecn::Ce => IpEcn::CongestionExperienced,
    };
    header.header_checksum = header.calc_header_checksum();
    frame.extend_from_slice(&header.to_bytes());
    IPV4 + bytes
}

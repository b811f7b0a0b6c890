//! A TCP segment as connections are told by it: endpoints, numbers, flags, and what its options say.
//!
//! *Idea.* What a link puts before the packet is taken off as for a flow's key; `etherparse` reads IP and TCP. Lengths are the headers', so that
//! a capture of headers alone tells as much.
//! *Where it breaks.* A fragment is no segment. Frames that were merged or not yet cut by offloads are one segment, as long as they are.

use std::net::{IpAddr, SocketAddr};

use etherparse::{LaxIpSlice, TcpHeaderSlice, TcpOptionElement};

use super::flow_key::{Contents, TCP, UnknownLink, contents};
use paceline_capture::link_type::LinkType;

/// One segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) sequence: u32,
    /// Where it acknowledges.
    pub(super) acknowledged: Option<u32>,
    pub(super) syn: bool,
    /// FIN or RST.
    pub(super) ends: bool,
    /// Bytes of data.
    pub(super) payload: u32,
    /// Bytes of IP packet, headers included.
    pub(super) bytes: u32,
    /// The most that its sender takes in one segment, where a SYN says so.
    pub(super) most: Option<u16>,
    /// Its own, and the one it echoes (RFC 7323).
    pub(super) timestamps: Option<(u32, u32)>,
}

impl Segment {
    /// The segment in a frame; `None` if it carries none, or is cut off before the ports and numbers are over.
    pub(super) fn of(link_type: LinkType, frame: &[u8], bytes: u32) -> Result<Option<Segment>, UnknownLink> {
        Ok(match contents(link_type, frame)? {
            Contents::Ip(at) => {
                frame.get(at..).and_then(|packet| read(packet, bytes.saturating_sub(at as u32)))
            }
            Contents::Other(_) | Contents::Cut => None,
        })
    }
}

/// `length` is the packet's where its header has none, as before it was cut by an offload.
fn read(packet: &[u8], length: u32) -> Option<Segment> {
    let (ip, _) = LaxIpSlice::from_slice(packet).ok()?;
    if ip.payload_ip_number().0 != TCP || ip.is_fragmenting_payload() {
        return None;
    }
    let (source, destination): (IpAddr, IpAddr) = (ip.source_addr(), ip.destination_addr());
    let stated = match &ip {
        LaxIpSlice::Ipv4(ip) => u32::from(ip.header().total_len()),
        LaxIpSlice::Ipv6(ip) => match u32::from(ip.header().payload_length()) {
            0 => 0,
            length => length + IPV6_HEADER,
        },
    };
    let bytes = if stated == 0 { length } else { stated };
    let carried = ip.payload().payload;
    let before = carried.as_ptr() as usize - packet.as_ptr() as usize;
    let header = TcpHeaderSlice::from_slice(carried).ok()?;
    let own = u32::from(header.data_offset()) * 4;
    let (mut most, mut timestamps) = (None, None);
    for option in header.options_iterator() {
        match option {
            Ok(TcpOptionElement::MaximumSegmentSize(size)) => most = Some(size),
            Ok(TcpOptionElement::Timestamp(value, echo)) => timestamps = Some((value, echo)),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Some(Segment {
        source: SocketAddr::new(source, header.source_port()),
        destination: SocketAddr::new(destination, header.destination_port()),
        sequence: header.sequence_number(),
        acknowledged: header.ack().then_some(header.acknowledgment_number()),
        syn: header.syn(),
        ends: header.fin() || header.rst(),
        payload: bytes.saturating_sub(before as u32 + own),
        bytes,
        most,
        timestamps,
    })
}

const IPV6_HEADER: u32 = 40;

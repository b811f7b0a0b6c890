//! Which flow a frame belongs to: addresses, protocol and ports, one direction.
//!
//! *Idea.* What the link puts before an IP packet is taken off here (Ethernet with VLAN tags, PPPoE and MPLS; Linux cooked;
//! loopback; nothing), `etherparse` reads the IP header and its extensions, and the ports are the first four bytes of what
//! is left, in every protocol that has ports. A frame may be cut off anywhere.
//! *Where it breaks.* Tunnels are one flow, that of their outer addresses. What is no IP is one flow a type; so is what MPLS
//! carries that begins as neither IP nor an Ethernet frame of a known type does (RFC 4385, RFC 4448).

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use etherparse::{Ipv6ExtensionSlice, LaxIpSlice};

use super::fragments::{Fragments, Packet};
use paceline_capture::link_type::LinkType;

/// A flow: packets one way between two endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowKey {
    /// Packets of IP.
    Ip {
        /// Where they come from.
        source: IpAddr,
        /// Where they go.
        destination: IpAddr,
        /// What they carry, IANA's number: 6 is TCP, 17 UDP.
        protocol: u8,
        /// Source's and destination's, where the protocol has ports and the frame shows them.
        ports: Option<(u16, u16)>,
    },
    /// Frames of another type, by its Ethernet number.
    Other(u16),
    /// Frames that end before they say what they are.
    Cut,
}

/// A frame of a link whose frames cannot be read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownLink;

/// Reads keys, and remembers what fragments need.
#[derive(Debug, Clone, Default)]
pub struct FlowKeys {
    fragments: Fragments,
}

pub(super) const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLANS: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE_SESSION: u16 = 0x8864;
const ARP: u16 = 0x0806;
/// Ethernet types begin here; a smaller number is a length, and what follows is 802.2.
const FIRST_TYPE: u16 = 0x0600;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    /// An IP packet that begins at this byte.
    Ip(usize),
    /// Another type, by its Ethernet number.
    Other(u16),
    /// It ends before it says.
    Cut,
}

impl FlowKeys {
    /// The flow of a frame.
    #[inline]
    pub fn of(&mut self, link_type: LinkType, frame: &[u8]) -> Result<FlowKey, UnknownLink> {
        Ok(match contents(link_type, frame)? {
            Contents::Ip(at) => frame.get(at..).map_or(FlowKey::Cut, |packet| self.internet(packet)),
            Contents::Other(kind) => FlowKey::Other(kind),
            Contents::Cut => FlowKey::Cut,
        })
    }

    /// An IP packet's.
    fn internet(&mut self, packet: &[u8]) -> FlowKey {
        // cut within the addresses, or neither version
        let Ok((ip, _)) = LaxIpSlice::from_slice(packet) else { return FlowKey::Cut };
        let (source, destination) = (ip.source_addr(), ip.destination_addr());
        let protocol = ip.payload_ip_number().0;
        let mut ports = None;
        if matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE) {
            let four = ip.payload().payload.first_chunk::<4>();
            let here = four.map(|p| (u16::from_be_bytes([p[0], p[1]]), u16::from_be_bytes([p[2], p[3]])));
            ports = match fragment(&ip) {
                None => here,
                Some((identification, first)) => {
                    let packet = Packet { source, destination, protocol, identification };
                    if let (true, Some(ports)) = (first, here) {
                        self.fragments.keep(packet, ports);
                    }
                    if first { here } else { self.fragments.find(&packet) }
                }
            };
        }
        FlowKey::Ip { source, destination, protocol, ports }
    }
}

/// What a frame of a link carries, and where.
#[inline]
pub(super) fn contents(link_type: LinkType, frame: &[u8]) -> Result<Contents, UnknownLink> {
    let found = match link_type {
        LinkType::ETHERNET => ether_type(frame, 12),
        LinkType::LINUX_SLL => ether_type(frame, 14),
        LinkType::LINUX_SLL2 => behind(frame, half(frame, 0), 20),
        LinkType::RAW | LinkType(12 | 14) | LinkType::IPV4 | LinkType::IPV6 => internet(frame, 0),
        LinkType::NULL | LinkType::LOOP => internet(frame, 4),
        _ => return Err(UnknownLink),
    };
    Ok(found.unwrap_or(Contents::Cut))
}

/// A frame with an Ethernet type at a byte, and its contents behind that.
#[inline]
fn ether_type(frame: &[u8], mut at: usize) -> Option<Contents> {
    loop {
        let two = frame.get(at..)?.first_chunk::<2>()?;
        let kind = u16::from_be_bytes(*two);
        if !VLANS.contains(&kind) {
            return behind(frame, kind, at + 2);
        }
        at += 4;
    }
}

/// What a type stands for, with its contents from a byte on.
#[inline]
fn behind(frame: &[u8], kind: u16, mut at: usize) -> Option<Contents> {
    match kind {
        IPV4 | IPV6 => internet(frame, at),
        PPPOE_SESSION => match half(frame, at + 6) {
            0x0021 | 0x0057 => internet(frame, at + 8),
            _ => Some(Contents::Other(PPPOE_SESSION)),
        },
        kind if MPLS.contains(&kind) => {
            while frame.get(at + 2)? & 1 == 0 {
                at += 4;
            }
            pseudo_wire(frame, at + 4, kind)
        }
        kind if VLANS.contains(&kind) => ether_type(frame, at + 2),
        kind => Some(Contents::Other(if kind < FIRST_TYPE { 0 } else { kind })),
    }
}

/// What MPLS carries from a byte on: IP by its version, else a pseudo-wire, most often of Ethernet: behind a control word, which
/// begins with four bits of zeros (RFC 4385 section 3), or at once, and an address may begin with such too.
fn pseudo_wire(frame: &[u8], at: usize, mpls: u16) -> Option<Contents> {
    let control_word = match frame.get(at)? >> 4 {
        4 | 6 => return internet(frame, at),
        0 => Some(4),
        _ => None,
    };
    let is_known = |at: &usize| {
        let kind = half(frame, *at);
        matches!(kind, IPV4 | IPV6 | ARP | PPPOE_SESSION) || VLANS.contains(&kind)
    };
    let mut types = control_word.into_iter().chain([0]).map(|word| at + word + 12);
    match types.find(is_known) {
        Some(at) => ether_type(frame, at),
        None => Some(Contents::Other(mpls)),
    }
}

/// An IP packet that begins at a byte, if the frame reaches it.
fn internet(frame: &[u8], at: usize) -> Option<Contents> {
    (at < frame.len()).then_some(Contents::Ip(at))
}

/// The 16-bit number that begins at a byte; 0 beyond the end.
fn half(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(frame.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default())
}

/// Of a fragment, what its packet is known by, and whether it is the first.
fn fragment(ip: &LaxIpSlice<'_>) -> Option<(u32, bool)> {
    if !ip.is_fragmenting_payload() {
        return None;
    }
    match ip {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            Some((u32::from(header.identification()), header.fragments_offset().value() == 0))
        }
        LaxIpSlice::Ipv6(ip) => ip.extensions().clone().into_iter().find_map(|extension| match extension {
            Ipv6ExtensionSlice::Fragment(header) => {
                Some((header.identification(), header.fragment_offset().value() == 0))
            }
            _ => None,
        }),
    }
}

impl fmt::Display for FlowKey {
    /// `10.0.0.1:80 > 10.0.0.2:4000 tcp`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlowKey::Ip { source, destination, protocol, ports } => {
                match ports {
                    Some((from, to)) => {
                        write!(
                            f,
                            "{} > {}",
                            SocketAddr::new(*source, *from),
                            SocketAddr::new(*destination, *to)
                        )?;
                    }
                    None => write!(f, "{source} > {destination}")?,
                }
                match protocol_name(*protocol) {
                    Some(name) => write!(f, " {name}"),
                    None => write!(f, " protocol {protocol}"),
                }
            }
            FlowKey::Other(0) => f.write_str("802.2"),
            FlowKey::Other(0x8847 | 0x8848) => f.write_str("MPLS pseudo-wire"),
            FlowKey::Other(0x0806) => f.write_str("ARP"),
            FlowKey::Other(0x88cc) => f.write_str("LLDP"),
            FlowKey::Other(kind) => write!(f, "Ethernet type 0x{kind:04x}"),
            FlowKey::Cut => f.write_str("cut-off frames"),
        }
    }
}

fn protocol_name(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        1 => "icmp",
        2 => "igmp",
        TCP => "tcp",
        UDP => "udp",
        DCCP => "dccp",
        41 => "ipv6",
        47 => "gre",
        50 => "esp",
        58 => "icmp6",
        SCTP => "sctp",
        UDP_LITE => "udplite",
        _ => return None,
    })
}

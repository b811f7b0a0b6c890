//! What must be known of a packet: its flow, its direction, whether it carries data.

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
/// An Ethernet header between devices that nobody else is on: made-up local addresses, IPv4.
pub(crate) const HEADER: [u8; ETHERNET] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];

/// An IPv4 TCP segment of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Number of the flow, by its listener's port.
    pub(crate) flow: u32,
    /// Towards the listener.
    pub(crate) forward: bool,
    /// Bytes of payload.
    pub(crate) payload: u32,
}

/// Reads an IP packet; `None` for what is no segment of a flow: the first has the port `first_port`, one follows the other.
pub(crate) fn segment(packet: &[u8], first_port: u16, flows: usize) -> Option<Segment> {
    const TCP: u8 = 6;
    let (&first, total) = (packet.first()?, packet.get(2..4)?);
    let header = usize::from(first & 15) * 4;
    let total = usize::from(u16::from_be_bytes([total[0], total[1]]));
    if first >> 4 != 4 || *packet.get(9)? != TCP || header < 20 || total != packet.len() {
        return None;
    }
    let tcp = packet.get(header..)?;
    let port = |at: usize| Some(u16::from_be_bytes([*tcp.get(at)?, *tcp.get(at + 1)?]));
    let number = |port: u16| port.checked_sub(first_port).map(usize::from).filter(|&number| number < flows);
    let (source, destination) = (number(port(0)?), number(port(2)?));
    let data_offset = usize::from(tcp.get(12)? >> 4) * 4;
    let payload = tcp.len().checked_sub(data_offset)? as u32;
    let (flow, forward) = match (source, destination) {
        (_, Some(flow)) => (flow, true),
        (Some(flow), None) => (flow, false),
        (None, None) => return None,
    };
    Some(Segment { flow: flow as u32, forward, payload })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn packet(source: u16, destination: u16, payload: usize) -> Vec<u8> {
        let mut packet = vec![0; 40 + payload];
        packet[0] = 0x45;
        let total = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&total);
        packet[9] = 6;
        packet[20..22].copy_from_slice(&source.to_be_bytes());
        packet[22..24].copy_from_slice(&destination.to_be_bytes());
        packet[32] = 0x50;
        packet
    }

    #[test]
    fn the_listener_s_port_names_flow_and_direction() {
        let read = |source, destination| segment(&packet(source, destination, 7), 20_000, 3);
        assert_eq!(read(1024, 20_002), Some(Segment { flow: 2, forward: true, payload: 7 }));
        assert_eq!(read(20_001, 1024), Some(Segment { flow: 1, forward: false, payload: 7 }));
        assert_eq!(read(1024, 20_003), None);
        assert_eq!(read(1024, 19_999), None);
    }

    #[test]
    fn what_is_no_segment_is_nothing() {
        assert_eq!(segment(&[], 20_000, 1), None);
        let whole = packet(1024, 20_000, 0);
        for cut in 0..whole.len() {
            assert_eq!(segment(&whole[..cut], 20_000, 1), None);
        }
        let mut version_6 = whole.clone();
        version_6[0] = 0x65;
        assert_eq!(segment(&version_6, 20_000, 1), None);
        let mut beyond = whole;
        beyond[32] = 0xf0;
        assert_eq!(segment(&beyond, 20_000, 1), None);
    }
}

//! Cutting apart what an offload has joined: a TCP or UDP frame of up to 64 KiB becomes the frames that the wire would carry.
//!
//! *Idea.* The header before the frame (`virtio_net_hdr`) says how many payload bytes each had, and where the transport
//! header begins. Each frame gets a copy of the headers with its own length, number and flags. Transport checksums are left
//! to the outgoing interface, as they were: in their place stands the sum over the pseudo-header.
//!
//! *Where it breaks.* Joined IP fragments (UFO), tunnels and IPv6 extension headers before the transport header other than
//! those that the sender's offload copies: they are not cut but refused, and counted. Frames of up to 64 KiB are known here;
//! BIG TCP's are refused.
//!
//! *References.* VIRTIO 1.2, 5.1.6; Linux `tcp_gso_segment`; RFC 3168 for CWR.

use crate::packet::VNET;

const NEEDS_CHECKSUM: u8 = 1;
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP: u8 = 5;
/// The sender uses ECN: only the first frame may say that the window was reduced.
const ECN: u8 = 0x80;

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// Frames, each with its header before it, none longer than `largest`; `None` if it cannot be cut so.
///
/// ```
/// # use paceline_dataplane::segment::cut;
/// assert_eq!(cut(&[0; 80], 1514, 14), None); // nothing that an offload has joined
/// ```
pub fn cut(joined: &[u8], largest: usize, link_header: usize) -> Option<Vec<Box<[u8]>>> {
    let (header, frame) = joined.split_at_checked(VNET)?;
    let kind = *header.get(1)? & !ECN;
    let half = |bytes: &[u8], at: usize| Some(u16::from_ne_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let payload_each = usize::from(half(header, 4)?);
    let transport = usize::from(half(header, 6)?);
    if *header.first()? & NEEDS_CHECKSUM == 0 || payload_each == 0 || !matches!(kind, TCP4 | TCP6 | UDP) {
        return None;
    }
    let network = network_header(frame, link_header)?;
    let version = *frame.get(network)? >> 4;
    let network_length = transport.checked_sub(network)?;
    let fits = match version {
        4 => network_length == usize::from(*frame.get(network)? & 0xf) * 4 && network_length >= 20,
        6 => network_length >= 40,
        _ => false,
    };
    let transport_length = match kind {
        UDP => 8,
        _ => usize::from(*frame.get(transport + 12)? >> 4) * 4,
    };
    let headers = frame.get(..transport + transport_length)?;
    let payload = frame.get(headers.len()..)?;
    let (smallest, checksum) = if kind == UDP { (8, 6) } else { (20, 16) };
    // a checksum elsewhere would be written over the payload
    if !fits
        || usize::from(half(header, 8)?) != checksum
        || transport_length < smallest
        || VNET + headers.len() + payload_each > largest
    {
        return None;
    }
    let count = payload.len().div_ceil(payload_each).max(1);
    let frames = (0..count).map(|index| {
        let from = index * payload_each;
        let part = payload.get(from..payload.len().min(from + payload_each))?;
        let mut made = Vec::with_capacity(VNET + headers.len() + part.len());
        made.extend_from_slice(header);
        made.extend_from_slice(headers);
        made.extend_from_slice(part);
        // no longer joined: kind, header length and payload size
        made.get_mut(1..6)?.fill(0);
        let frame = made.get_mut(VNET..)?;
        network_fields(frame, version, network, transport, index)?;
        match kind {
            UDP => put(frame, transport + 4, (transport_length + part.len()) as u16)?,
            _ => tcp_fields(frame, transport, from as u32, index == 0, index + 1 == count)?,
        }
        let sum = pseudo_header_sum(frame, version, network, transport, kind)?;
        put(frame, transport + checksum, sum)?;
        Some(made.into_boxed_slice())
    });
    frames.collect()
}

/// Where the network header begins: behind the link header, and VLAN tags.
fn network_header(frame: &[u8], link_header: usize) -> Option<usize> {
    let mut at = link_header;
    if link_header == 14 {
        while matches!(frame.get(at - 2..at)?, [0x81, 0x00] | [0x88, 0xa8]) {
            at += 4;
        }
    }
    Some(at)
}

/// The lengths, and for IPv4 the number, which counts up, and the checksum.
fn network_fields(
    frame: &mut [u8],
    version: u8,
    network: usize,
    transport: usize,
    index: usize,
) -> Option<()> {
    let length = frame.len();
    if version == 6 {
        return put(frame, network + 4, (length - network - 40) as u16);
    }
    put(frame, network + 2, (length - network) as u16)?;
    let number = u16::from_be_bytes([*frame.get(network + 4)?, *frame.get(network + 5)?]);
    put(frame, network + 4, number.wrapping_add(index as u16))?;
    put(frame, network + 10, 0)?;
    let sum = !fold(sum(frame.get(network..transport)?));
    put(frame, network + 10, sum)
}

fn tcp_fields(frame: &mut [u8], transport: usize, offset: u32, first: bool, last: bool) -> Option<()> {
    let number = frame.get_mut(transport + 4..transport + 8)?;
    let sequence = u32::from_be_bytes([number[0], number[1], number[2], number[3]]).wrapping_add(offset);
    number.copy_from_slice(&sequence.to_be_bytes());
    let flags = frame.get_mut(transport + 13)?;
    if !first {
        *flags &= !CWR;
    }
    if !last {
        *flags &= !FIN_PSH;
    }
    Some(())
}

/// What stands in a checksum's place until it is computed (RFC 793, RFC 8200): the sum over addresses, length and protocol.
fn pseudo_header_sum(frame: &[u8], version: u8, network: usize, transport: usize, kind: u8) -> Option<u16> {
    let addresses = match version {
        4 => frame.get(network + 12..network + 20)?,
        _ => frame.get(network + 8..network + 40)?,
    };
    let protocol = if kind == UDP { 17 } else { 6 };
    Some(fold(sum(addresses) + (frame.len() - transport) as u64 + protocol))
}

/// The sum of 16-bit words.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|pair| match pair {
        [high, low] => u64::from(u16::from_be_bytes([*high, *low])),
        [high] => u64::from(*high) << 8,
        _ => 0,
    });
    words.sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn put(frame: &mut [u8], at: usize, value: u16) -> Option<()> {
    frame.get_mut(at..at + 2)?.copy_from_slice(&value.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP frame with its header: IPv4 or IPv6, a VLAN tag or not.
    fn joined(v6: bool, tag: bool, payload: &[u8], each: u16) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if tag {
            frame.extend([0x81, 0x00, 0x00, 0x07]);
        }
        let length = 20 + payload.len();
        if v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend(((length) as u16).to_be_bytes());
            frame.extend([6, 64]);
            frame.extend([0xfe; 32]);
        } else {
            frame.extend([0x08, 0x00, 0x45, 0]);
            frame.extend(((20 + length) as u16).to_be_bytes());
            frame.extend([0xff, 0xff, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        let transport = frame.len() as u16;
        frame.extend([
            0x12, 0x34, 0x56, 0x78, 0xff, 0xff, 0xff, 0x00, 0, 0, 0, 1, 0x50, 0x99, 1, 0, 0, 0, 0, 0,
        ]);
        frame.extend(payload);
        let mut all = vec![NEEDS_CHECKSUM, if v6 { TCP6 } else { TCP4 }];
        for field in [0, each, transport, 16] {
            all.extend(field.to_ne_bytes());
        }
        all.extend(frame);
        all
    }

    /// The checksum that a receiver computes over a segment once the interface has filled it in: 0 if it is right.
    fn filled_in(frame: &[u8], v6: bool, network: usize, transport: usize) -> u16 {
        let mut frame = frame.to_vec();
        let filled = !fold(sum(&frame[transport..]));
        put(&mut frame, transport + 16, filled).unwrap();
        let addresses =
            if v6 { &frame[network + 8..network + 40] } else { &frame[network + 12..network + 20] };
        let length = (frame.len() - transport) as u64;
        !fold(sum(addresses) + length + 6 + sum(&frame[transport..]))
    }

    #[test]
    fn frames_are_what_the_wire_would_carry() {
        let payload: Vec<u8> = (0..10_000u32).map(|byte| (byte * 7) as u8).collect();
        for (v6, tag) in [(false, false), (false, true), (true, false), (true, true)] {
            let frames = cut(&joined(v6, tag, &payload, 1428), 1528, 14).unwrap();
            assert_eq!(frames.len(), 8);
            let network = if tag { 18 } else { 14 };
            let transport = network + if v6 { 40 } else { 20 };
            let mut received = Vec::new();
            for (index, frame) in frames.iter().enumerate() {
                let frame = &frame[VNET..];
                assert_eq!(filled_in(frame, v6, network, transport), 0);
                if !v6 {
                    assert_eq!(fold(sum(&frame[network..transport])), 0xffff);
                    let number = u16::from_be_bytes([frame[network + 4], frame[network + 5]]);
                    assert_eq!(number, 0xffffu16.wrapping_add(index as u16));
                }
                let sequence = u32::from_be_bytes(frame[transport + 4..transport + 8].try_into().unwrap());
                assert_eq!(sequence, 0xffff_ff00u32.wrapping_add(received.len() as u32));
                let flags = frame[transport + 13];
                assert_eq!((flags & CWR != 0, flags & FIN_PSH != 0), (index == 0, index == 7));
                received.extend_from_slice(&frame[transport + 20..]);
            }
            assert_eq!(received, payload);
        }
    }

    #[test]
    fn what_cannot_be_cut_is_refused() {
        let good = joined(false, false, &[0; 4000], 1448);
        assert!(cut(&good, 1528, 14).is_some());
        assert!(cut(&good, 1000, 14).is_none()); // each larger than what can leave
        for (at, value) in [(0, 0), (1, 3), (1, 0), (4, 0), (24, 0x4f), (24, 0x75), (6, 13)] {
            let mut bad = good.clone();
            bad[at] = value;
            if at == 4 {
                bad[5] = 0;
            }
            assert!(cut(&bad, 1528, 14).is_none(), "{at} {value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_panic(mut bytes in proptest::collection::vec(0u8.., 0..300), like in 0usize..4) {
            let good = joined(like & 1 == 1, like & 2 == 2, &[0; 200], 100);
            if bytes.len() > 100 {
                bytes.splice(..60, good[..60].iter().copied());
            }
            if let Some(frames) = cut(&bytes, 400, 14) {
                proptest::prop_assert!(frames.iter().all(|frame| frame.len() <= 400));
            }
        }
    }
}

//! Writes captures byte by byte, apart from what reads them.

#![allow(dead_code, reason = "not every test needs every kind")]

/// A packet: time in units of the capture, interface, length on the wire, frame.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    pub(crate) time: u64,
    pub(crate) interface: u32,
    pub(crate) bytes: u32,
    pub(crate) frame: Vec<u8>,
}

pub(crate) fn packet(time: u64, frame: &[u8]) -> Packet {
    Packet { time, interface: 0, bytes: frame.len() as u32, frame: frame.to_vec() }
}

fn u16_of(value: u16, big: bool) -> [u8; 2] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn u32_of(value: u32, big: bool) -> [u8; 4] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

/// A pcap; times are in microseconds, or nanoseconds.
pub(crate) fn pcap(packets: &[Packet], link_type: u32, nanoseconds: bool, big: bool) -> Vec<u8> {
    let per_second = if nanoseconds { 1_000_000_000 } else { 1_000_000 };
    let mut file = u32_of(if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }, big).to_vec();
    file.extend([u16_of(2, big), u16_of(4, big)].concat());
    file.extend([0, 0, 262_144, link_type].map(|word| u32_of(word, big)).concat());
    for packet in packets {
        let (seconds, fraction) = (packet.time / per_second, packet.time % per_second);
        let header = [seconds as u32, fraction as u32, packet.frame.len() as u32, packet.bytes];
        file.extend(header.map(|word| u32_of(word, big)).concat());
        file.extend(&packet.frame);
    }
    file
}

/// A block of a pcapng.
pub(crate) fn block(kind: u32, body: &[u8], big: bool) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = u32_of(padded as u32 + 12, big);
    let mut block = [u32_of(kind, big), length].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

pub(crate) fn section(big: bool) -> Vec<u8> {
    let mut body = u32_of(0x1a2b_3c4d, big).to_vec();
    body.extend([u16_of(1, big), u16_of(0, big)].concat());
    body.extend([0xff; 8]);
    block(0x0a0d_0d0a, &body, big)
}

pub(crate) fn option(code: u16, value: &[u8], big: bool) -> Vec<u8> {
    let mut option = [u16_of(code, big), u16_of(value.len() as u16, big)].concat();
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

pub(crate) fn interface(link_type: u16, options: &[Vec<u8>], big: bool) -> Vec<u8> {
    let mut body = [u16_of(link_type, big), u16_of(0, big)].concat();
    body.extend(u32_of(0, big));
    body.extend(options.concat());
    block(1, &body, big)
}

pub(crate) fn enhanced(packet: &Packet, big: bool) -> Vec<u8> {
    let (high, low) = ((packet.time >> 32) as u32, packet.time as u32);
    let header = [packet.interface, high, low, packet.frame.len() as u32, packet.bytes];
    let mut body = header.map(|word| u32_of(word, big)).concat();
    body.extend(&packet.frame);
    body.resize(body.len().next_multiple_of(4), 0);
    block(6, &body, big)
}

pub(crate) fn simple(frame: &[u8], big: bool) -> Vec<u8> {
    let mut body = u32_of(frame.len() as u32, big).to_vec();
    body.extend(frame);
    block(3, &body, big)
}

/// An Ethernet frame with an IPv4 packet that has these ports.
pub(crate) fn udp(source: u8, destination: u8, ports: (u16, u16), payload: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, destination, 2, 0, 0, 0, 0, source, 8, 0];
    frame.extend(ipv4(17, 0, 0, source, destination, 8 + payload));
    frame.extend(ports.0.to_be_bytes());
    frame.extend(ports.1.to_be_bytes());
    frame.extend(((8 + payload) as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(frame.len() + payload, 0);
    frame
}

/// An IPv4 header; `fragment` is the field of flags and offset.
pub(crate) fn ipv4(
    protocol: u8,
    identification: u16,
    fragment: u16,
    source: u8,
    destination: u8,
    contents: usize,
) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend((20 + contents as u16).to_be_bytes());
    header.extend(identification.to_be_bytes());
    header.extend(fragment.to_be_bytes());
    header.extend([64, protocol, 0, 0, 10, 0, 0, source, 10, 0, 0, destination]);
    header
}

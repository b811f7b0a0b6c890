//! Connections, of captures written byte by byte.

use std::io::Cursor;

use paceline_analysis::AnalysisError;
use paceline_analysis::connections::{Connections, MOST, connections};
use paceline_capture::Capture;
use proptest::prelude::*;

use super::written::{Packet, ipv4};
use super::{EPOCH_NS, nanoseconds, spaced};

const MS: u64 = 1_000_000;
const SYN: u8 = 2;
const FIN: u8 = 1;

/// A segment at a time, ns; from host 1 unless `back`.
#[derive(Clone, Copy, Default)]
struct Sent {
    at: u64,
    back: bool,
    port: u16,
    flags: u8,
    sequence: u32,
    acknowledged: Option<u32>,
    payload: usize,
    times: Option<(u32, u32)>,
}

fn frame(sent: &Sent) -> Packet {
    let mut options = Vec::new();
    if sent.flags & SYN != 0 {
        options.extend([2, 4, 5, 180]); // 1460
    }
    if let Some((value, echo)) = sent.times {
        options.extend([1, 1, 8, 10]);
        options.extend([value.to_be_bytes(), echo.to_be_bytes()].concat());
    }
    let (hosts, ports) = if sent.back { ((2, 1), (80, sent.port)) } else { ((1, 2), (sent.port, 80)) };
    let header = 20 + options.len();
    let mut frame = vec![2, 0, 0, 0, 0, hosts.1, 2, 0, 0, 0, 0, hosts.0, 8, 0];
    frame.extend(ipv4(6, 0, 0, hosts.0, hosts.1, header + sent.payload));
    frame.extend([ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat());
    frame.extend([sent.sequence.to_be_bytes(), sent.acknowledged.unwrap_or(0).to_be_bytes()].concat());
    let flags = sent.flags | if sent.acknowledged.is_some() { 16 } else { 0 };
    frame.extend([(header / 4 * 16) as u8, flags, 1, 0, 0, 0, 0, 0]);
    frame.extend(options);
    // headers alone are kept
    Packet { time: EPOCH_NS + sent.at, interface: 0, bytes: (frame.len() + sent.payload) as u32, frame }
}

fn read(packets: &[Packet]) -> Result<Connections, AnalysisError> {
    let file = nanoseconds(packets);
    let capture = Capture::read_from(Box::new(Cursor::new(file))).map_err(AnalysisError::Capture)?;
    connections(capture, |_| true)
}

#[test]
fn a_connection_is_told_from_both_ways() {
    let from = Sent { port: 4000, ..Sent::default() };
    let back = Sent { back: true, ..from };
    let sent = [
        Sent { flags: SYN, sequence: 99, ..from },
        Sent { at: 30 * MS, flags: SYN, sequence: 499, acknowledged: Some(100), ..back },
        Sent { at: 40 * MS, sequence: 100, acknowledged: Some(500), ..from },
        Sent { at: 40 * MS, sequence: 100, acknowledged: Some(500), payload: 1000, ..from },
        Sent { at: 41 * MS, sequence: 1100, acknowledged: Some(500), payload: 1448, ..from },
        Sent { at: 60 * MS, sequence: 1100, acknowledged: Some(500), payload: 1448, ..from }, // again
        Sent { at: 70 * MS, sequence: 500, acknowledged: Some(2548), ..back },
        // 0.2 s without, and nothing under way: another transfer
        Sent { at: 400 * MS, sequence: 2548, acknowledged: Some(500), payload: 100, ..from },
        // as long, but the last is not acknowledged: the same
        Sent { at: 800 * MS, sequence: 2648, acknowledged: Some(500), payload: 50, flags: FIN, ..from },
    ];
    let packets: Vec<Packet> = sent.iter().map(frame).collect();
    let found = read(&packets).unwrap();
    assert_eq!((found.packets, found.segments, found.duration_s), (9, 9, 0.8));
    let [one] = &found.connections[..] else { panic!("{found:?}") };
    assert_eq!((&one.source[..], &one.destination[..]), ("10.0.0.1:4000", "10.0.0.2:80"));
    assert_eq!((one.opened, one.closed, one.timestamps), (true, true, false));
    assert_eq!((one.data_segments, one.payload, one.largest), (5, 2598, 1448));
    assert_eq!(one.mss, Some(1460));
    assert_eq!((one.handshake_s, one.echo_s), (Some(0.04), None));
    assert_eq!(one.transfers, [(0.04, 0.06, 2448), (0.4, 0.8, 150)]);
}

#[test]
fn timestamps_tell_a_round_trip_without_a_handshake() {
    let from = Sent { port: 4000, payload: 1000, ..Sent::default() };
    let back = Sent { back: true, payload: 0, ..from };
    let sent = [
        Sent { sequence: 1, acknowledged: Some(1), times: Some((10, 3)), ..from },
        Sent { at: 25 * MS, sequence: 1, acknowledged: Some(1001), times: Some((700, 10)), ..back },
        Sent { at: 45 * MS, sequence: 1001, acknowledged: Some(1), times: Some((55, 700)), ..from },
    ];
    let found = read(&sent.map(|one| frame(&one))).unwrap();
    let one = &found.connections[0];
    assert_eq!((one.opened, one.handshake_s, one.echo_s), (false, None, Some(0.045)));
}

#[test]
fn what_is_no_tcp_is_no_connection_and_beyond_the_most_is_counted() {
    let found = read(&spaced(5, 1000, 100)).unwrap();
    assert_eq!((found.packets, found.segments, found.connections.len()), (5, 0, 0));
    let many = |number: usize| Sent { at: number as u64, port: number as u16, flags: SYN, ..Sent::default() };
    let mut packets: Vec<Packet> = (0..MOST).map(|number| frame(&many(number))).collect();
    let other = Sent { back: true, port: 7, at: MOST as u64, ..Sent::default() };
    let mut beyond = frame(&other);
    beyond.frame[14 + 15] = 9; // another host
    packets.push(beyond);
    let found = read(&packets).unwrap();
    assert_eq!((found.connections.len(), found.beyond), (MOST, 1));
}

proptest! {
    /// Whatever is captured, and wherever it is cut off: times and bytes stay within the capture's.
    #[test]
    fn any_frames_are_connections_or_none(
        frames in proptest::collection::vec((any::<u32>(), proptest::collection::vec(any::<u8>(), 0..40), 0..80usize), 0..20),
    ) {
        let mut packets = Vec::new();
        for (at, tail, cut) in frames {
            let sent = Sent { at: u64::from(at), port: 9, sequence: at, acknowledged: Some(at / 2), payload: 40, ..Sent::default() };
            let mut packet = frame(&Sent { times: Some((at, at / 3)), ..sent });
            packet.frame.truncate(cut);
            packet.frame.extend(tail);
            packets.push(packet);
        }
        let found = read(&packets);
        prop_assert!(packets.is_empty() || found.is_ok());
        for one in found.iter().flat_map(|found| &found.connections) {
            prop_assert!(one.start_s <= one.end_s);
            prop_assert!(one.payload <= one.data_bytes);
            prop_assert_eq!(one.transfers.iter().map(|(_, _, bytes)| bytes).sum::<u64>(), one.payload);
        }
    }
}

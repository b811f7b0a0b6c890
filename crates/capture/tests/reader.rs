//! The capture reader: every format gives the same packets; what is cut off or broken gives what comes before.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use std::io::{Cursor, Read, Write};

use paceline_capture::link_type::LinkType;
use paceline_capture::{Capture, CaptureError};
use proptest::prelude::*;

mod written;
use written::{Packet, block, enhanced, interface, option, packet, pcap, section, simple, udp};

type Read3 = (u64, u32, u32, Vec<u8>);

/// Times, lengths, interfaces and frames; and why it ended before its end, if it did.
fn read_all(bytes: &[u8]) -> Result<(Vec<Read3>, Option<CaptureError>), CaptureError> {
    read_from(Box::new(Cursor::new(bytes.to_vec())))
}

fn read_from(input: Box<dyn Read + Send>) -> Result<(Vec<Read3>, Option<CaptureError>), CaptureError> {
    let mut capture = Capture::read_from(input)?;
    let mut records = Vec::new();
    loop {
        match capture.read() {
            Ok(Some(record)) => {
                records.push((record.time_ns, record.bytes, record.interface, record.frame.to_vec()));
            }
            Ok(None) => return Ok((records, None)),
            Err(error) => {
                assert_eq!(capture.read(), Ok(None), "nothing comes after an error");
                return Ok((records, Some(error)));
            }
        }
    }
}

fn three() -> Vec<Packet> {
    let mut cut = packet(1_600_000_000_000_007, &[7; 60]);
    cut.bytes = 1514;
    vec![packet(1_600_000_000_000_001, &udp(1, 2, (5, 6), 30)), cut, packet(1_600_000_001_999_999, &[1])]
}

/// As they are read when a unit has so many nanoseconds.
fn expected(packets: &[Packet], unit_ns: u64) -> Vec<Read3> {
    packets.iter().map(|p| (p.time * unit_ns, p.bytes, p.interface, p.frame.clone())).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_pcap_gives_the_same_packets() {
    for big in [false, true] {
        for nanoseconds in [false, true] {
            let file = pcap(&three(), 1, nanoseconds, big);
            let unit = if nanoseconds { 1 } else { 1000 };
            for bytes in [file.clone(), gzip(&file)] {
                assert_eq!(read_all(&bytes).unwrap(), (expected(&three(), unit), None));
            }
        }
    }
}

#[test]
fn the_longer_packet_header_is_read() {
    let mut file = pcap(&[], 1, false, false);
    file[..4].copy_from_slice(&0xa1b2_cd34u32.to_le_bytes());
    file.extend([3u32, 4, 2, 60, 0, 0].map(u32::to_le_bytes).concat());
    file.extend([8, 9]);
    assert_eq!(read_all(&file).unwrap(), (vec![(3_000_004_000, 60, 0, vec![8, 9])], None));
}

#[test]
fn a_pcapng_has_interfaces_with_clocks_of_their_own() {
    for big in [false, true] {
        let offset = if big { 10i64.to_be_bytes() } else { 10i64.to_le_bytes() };
        let mut file = section(big);
        file.extend(interface(1, &[option(2, b"eth0", big)], big)); // microseconds
        file.extend(interface(1, &[option(9, &[9], big), option(2, b"eth1", big)], big));
        file.extend(interface(101, &[option(9, &[0x80 | 10], big), option(14, &offset, big)], big));
        file.extend(block(5, &[0; 20], big)); // statistics
        file.extend(block(0xbad, b"vendor", big));
        let of = |time, interface| Packet { interface, ..packet(time, b"abc") };
        file.extend(enhanced(&of(7, 0), big));
        file.extend(enhanced(&of(5_000_000_007, 1), big));
        file.extend(simple(b"no time", big));
        file.extend(enhanced(&of(1536, 2), big));
        let mut capture = Capture::read_from(Box::new(Cursor::new(file))).unwrap();
        let mut read = Vec::new();
        while let Some(record) = capture.read().unwrap() {
            read.push((record.time_ns, record.interface, record.frame.to_vec()));
        }
        let abc = || b"abc".to_vec();
        assert_eq!(read, [(7_000, 0, abc()), (5_000_000_007, 1, abc()), (11_500_000_000, 2, abc())]);
        assert_eq!(capture.untimed(), 1);
        let names: Vec<_> = capture.interfaces().iter().map(|i| (i.link_type, i.name.as_deref())).collect();
        let ethernet = LinkType::ETHERNET;
        assert_eq!(names, [(ethernet, Some("eth0")), (ethernet, Some("eth1")), (LinkType::RAW, None)]);
    }
}

#[test]
fn sections_share_interfaces_that_are_the_same() {
    let part = |big: bool, name: &[u8]| {
        let mut part = section(big);
        part.extend(interface(1, &[option(2, name, big)], big));
        part.extend(enhanced(&packet(1, b"x"), big));
        part
    };
    let file = [part(false, b"a"), part(true, b"a"), part(false, b"b")].concat();
    let (read, end) = read_all(&file).unwrap();
    assert_eq!(end, None);
    assert_eq!(read.iter().map(|r| r.2).collect::<Vec<_>>(), [0, 0, 1]);
}

#[test]
fn resolutions_from_seconds_to_beyond_picoseconds() {
    let time_of = |unit: u8, units: u64| {
        let file = [
            section(false),
            interface(1, &[option(9, &[unit], false)], false),
            enhanced(&packet(units, b"x"), false),
        ];
        read_all(&file.concat()).unwrap().0.first().map(|record| record.0)
    };
    assert_eq!(time_of(0, 3), Some(3_000_000_000));
    assert_eq!(time_of(3, 3), Some(3_000_000));
    assert_eq!(time_of(12, 3_999), Some(3));
    assert_eq!(time_of(127, u64::MAX), Some(0));
    assert_eq!(time_of(0x80, 3), Some(3_000_000_000));
    assert_eq!(time_of(0x80 | 32, 1 << 31), Some(500_000_000));
    assert_eq!(time_of(0xff, u64::MAX), Some(0));
    assert_eq!(time_of(0, u64::MAX), None); // after 2554
}

#[test]
fn an_absurd_time_is_left_out_and_the_others_are_read() {
    let second = 1_000_000_000;
    let now = 1_600_000_000 * second;
    let read = |file: Vec<u8>| {
        let mut capture = Capture::read_from(Box::new(Cursor::new(file))).unwrap();
        let mut times = Vec::new();
        while let Some(record) = capture.read().unwrap() {
            times.push(record.time_ns);
        }
        (times, capture.mistimed())
    };
    let packets = |times: &[u64]| times.iter().map(|time| packet(*time, b"abc")).collect::<Vec<_>>();
    // far ahead, alone: at a middle place, at two; and not where time goes on from there
    let far = 4_000_000_000 * second;
    assert_eq!(
        read(pcap(&packets(&[now, far, now + 1, far, now + 2]), 1, true, false)),
        (vec![now, now + 1, now + 2], 2)
    );
    assert_eq!(read(pcap(&packets(&[now, far, far + 1]), 1, true, false)), (vec![now, far, far + 1], 0));
    // several in a row; the first, ahead or behind; the last; a block that is no packet behind it
    let steady: Vec<u64> = (0..6).map(|step| now + step).collect();
    for astray in [&[far, far][..], &[far], &[0]] {
        for place in [0, 3, 6] {
            let mut times = steady.clone();
            times.splice(place..place, astray.iter().copied());
            let (there, left_out) = match (astray, place) {
                ([0], 3 | 6) => (times.iter().map(|time| now.max(*time)).collect(), 0), // it only runs backwards
                (&[_, _], 6) => (times.clone(), 0), // two: time goes on from there
                _ => (steady.clone(), astray.len() as u64),
            };
            let (read_times, mistimed) = read(pcap(&packets(&times), 1, true, false));
            assert_eq!((read_times.len(), mistimed), (there.len(), left_out), "{astray:?} at {place}");
            if left_out > 0 {
                assert_eq!(read_times, there);
            }
        }
    }
    let mut file = [section(false), interface(1, &[option(9, &[9], false)], false)].concat();
    for (number, time) in [now, far, now + 1, now + 2].into_iter().enumerate() {
        file.extend(enhanced(&packet(time, b"abc"), false));
        if number == 1 {
            file.extend(block(0xbad, b"more", false));
        }
    }
    assert_eq!(read(file), (vec![now, now + 1, now + 2], 1));
    // more than a second left of the seconds
    let mut file = pcap(&packets(&[now, now + 5, now + 9]), 1, true, false);
    file[24 + 19 + 4..24 + 19 + 8].copy_from_slice(&2_000_000_000u32.to_le_bytes());
    assert_eq!(read(file), (vec![now, now + 9], 1));
    // what no clock of 64 bits can say in nanoseconds, in seconds; and far ahead, alone
    for big in [false, true] {
        let mut file = [section(big), interface(1, &[option(9, &[0], big)], big)].concat();
        for time in [16, u64::MAX, 17, 4_000_000_000, 18] {
            file.extend(enhanced(&packet(time, b"abc"), big));
        }
        assert_eq!(read(file), (vec![16 * second, 17 * second, 18 * second], 2));
    }
}

#[test]
fn what_is_cut_off_gives_what_came_before() {
    let file = pcap(&three(), 1, false, false);
    let ends = [24, 24 + 16 + 72, 24 + 16 + 72 + 76, file.len()];
    for length in 0..file.len() {
        let whole = ends.iter().filter(|end| **end <= length).count();
        match read_all(&file[..length]) {
            Err(CaptureError::NotACapture { what }) => assert!(length < 4, "{length}: {what}"),
            Err(CaptureError::Broken { packets: 0, at: 0, .. }) => assert!((4..24).contains(&length)),
            Ok((read, end)) => {
                assert_eq!(read, expected(&three()[..whole - 1], 1000));
                match end {
                    None => assert!(ends.contains(&length)),
                    Some(CaptureError::Broken { packets, at, .. }) => {
                        assert_eq!((packets, at), (whole as u64 - 1, ends[whole - 1] as u64));
                    }
                    Some(other) => panic!("{other}"),
                }
            }
            Err(other) => panic!("{length}: {other}"),
        }
    }
}

#[test]
fn a_pcapng_cut_off_gives_what_came_before() {
    let parts = [
        section(false),
        interface(1, &[], false),
        enhanced(&packet(1, &[1; 33]), false),
        block(77, &[0; 40], false),
        enhanced(&packet(2, &[1; 14]), false),
    ];
    let file = parts.concat();
    let first = parts[..3].concat().len();
    for length in 12..file.len() {
        let (read, end) = read_all(&file[..length]).unwrap();
        assert_eq!(read.len(), usize::from(length >= first), "{length}");
        let boundaries: Vec<usize> = (1..5).map(|n| parts[..n].concat().len()).collect();
        assert_eq!(end.is_none(), boundaries.contains(&length), "{length}");
    }
}

#[test]
fn gzip_cut_off_or_corrupt_gives_what_came_before() {
    let packets: Vec<Packet> = (0..20_000).map(|n| packet(n, &n.to_le_bytes().repeat(8))).collect();
    let packed = gzip(&pcap(&packets, 1, false, false));
    let (read, end) = read_all(&packed[..packed.len() / 2]).unwrap();
    assert!(read.len() > 5_000 && read.len() < 15_000, "{}", read.len());
    assert_eq!(read, expected(&packets[..read.len()], 1000));
    let end = end.unwrap().to_string();
    assert!(end.starts_with("the gzip'd data are cut off, at byte "), "{end}");
    assert!(end.ends_with(&format!(" of the uncompressed data, after {} packets", read.len())), "{end}");
    let mut corrupt = packed.clone();
    corrupt[packed.len() / 2] ^= 0x55;
    let (read, end) = read_all(&corrupt).unwrap();
    assert!(read.len() > 1_000);
    assert!(end.unwrap().to_string().contains("gzip'd"));
}

#[test]
fn a_pipe_may_give_a_byte_at_a_time() {
    struct Drip(Cursor<Vec<u8>>);
    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let one = buffer.len().min(1);
            self.0.read(&mut buffer[..one])
        }
    }
    for file in [pcap(&three(), 1, true, true), gzip(&pcap(&three(), 1, true, true))] {
        let drip = Drip(Cursor::new(file));
        assert_eq!(read_from(Box::new(drip)).unwrap(), (expected(&three(), 1), None));
    }
}

#[test]
fn errors_say_what_and_where() {
    let said = |bytes: &[u8]| match read_all(bytes) {
        Ok((_, end)) => end.unwrap().to_string(),
        Err(error) => error.to_string(),
    };
    let mut version = pcap(&[], 1, false, false);
    version[4] = 9;
    assert_eq!(
        said(&version),
        "not a pcap or pcapng capture: it is of pcap version 9.4, and only 2.4 can be read"
    );
    let mut huge = pcap(&three(), 1, false, false);
    huge[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(said(&huge), "a packet claims to have 4294967295 captured bytes, at byte 24, after 0 packets");
    let stranger = Packet { interface: 3, ..packet(1, b"x") };
    let file = [section(true), interface(1, &[], true), enhanced(&stranger, true)].concat();
    assert_eq!(said(&file), "a packet is of interface 3, and the section has 1, at byte 48, after 0 packets");
    assert_eq!(said(b"hello\n"), "not a pcap or pcapng capture: it is text");
}

#[test]
fn a_claim_costs_no_memory() {
    // a block of 4 GB that nobody asks for, in a file of 60 bytes
    let mut file = section(false);
    file.extend([77u32, !3].map(u32::to_le_bytes).concat());
    let (_, end) = read_all(&file).unwrap();
    assert_eq!(
        end.unwrap().to_string(),
        "the capture ends within a block that began at byte 28, at byte 36, after 0 packets"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_loop(bytes in proptest::collection::vec(any::<u8>(), 0..600), begin in 0..5usize) {
        let heads: [&[u8]; 5] =
            [&[], &pcap(&[], 1, false, false), &pcap(&[], 1, true, true), &section(false), &section(true)];
        let _ = read_all(&[heads[begin], &bytes].concat());
    }

    #[test]
    fn no_flipped_bits_make_it_panic_or_loop(flips in proptest::collection::vec((0..10_000usize, 0..8u8), 1..9)) {
        let small = [
            pcap(&three(), 1, false, false),
            gzip(&pcap(&three(), 1, false, false)),
            [
                section(true),
                interface(1, &[option(9, &[9], true), option(2, b"eth1", true)], true),
                enhanced(&packet(5, &[1; 33]), true),
                simple(b"no time", true),
                enhanced(&packet(7, &udp(1, 2, (3, 4), 10)), true),
            ]
            .concat(),
        ];
        for mut file in small {
            for (at, bit) in &flips {
                let at = at % file.len();
                file[at] ^= 1 << bit;
            }
            if let Ok((records, _)) = read_all(&file) {
                prop_assert!(records.len() <= file.len() / 16);
            }
        }
    }
}

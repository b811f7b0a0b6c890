//! What is written is read again, in every form that a name can ask for.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong")]

use std::io::Cursor;
use std::path::Path;

use paceline_capture::link_type::LinkType;
use paceline_capture::write::{Form, Writer};
use paceline_capture::{Capture, Compression, Format, Interface};
use proptest::prelude::*;

type Packet = (u64, u32, u32, Vec<u8>);

fn interfaces() -> Vec<Interface> {
    let named = |link_type, name: &str| Interface { link_type, name: Some(name.to_owned()) };
    vec![named(LinkType::ETHERNET, "eth0"), named(LinkType::ETHERNET, "eth1")]
}

fn written(form: Form, packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(Box::new(&mut file), form).unwrap();
    for (time, bytes, interface, frame) in packets {
        writer.write(*time, *bytes, *interface, frame, &interfaces()).unwrap();
    }
    writer.finish(&interfaces()).unwrap();
    file
}

fn read(file: Vec<u8>) -> (Format, Vec<Packet>, Option<String>) {
    let mut capture = Capture::read_from(Box::new(Cursor::new(file))).unwrap();
    let (mut packets, mut end) = (Vec::new(), None);
    loop {
        match capture.read() {
            Ok(Some(record)) => {
                packets.push((record.time_ns, record.bytes, record.interface, record.frame.to_vec()));
            }
            Ok(None) => break,
            Err(error) => end = Some(error.to_string()),
        }
    }
    (capture.format(), packets, end)
}

#[test]
fn a_name_says_the_form() {
    let form = |format, compression| Some(Form { format, compression });
    for (name, expected) in [
        ("paced.pcap", form(Format::Pcap, Compression::None)),
        ("PACED.PCAPNG", form(Format::Pcapng, Compression::None)),
        ("a.b/x.pcap.gz", form(Format::Pcap, Compression::Gzip)),
        ("x.pcapng.zst", form(Format::Pcapng, Compression::Zstd)),
        ("x.gz", None),
        ("pcap", None),
        ("x.pcap.xz", None),
        ("/", None),
    ] {
        assert_eq!(Form::of_name(Path::new(name)), expected, "{name}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "zstd is in C, which Miri does not interpret")]
fn what_is_compressed_and_cut_off_or_corrupt_gives_what_came_before() {
    let packets: Vec<Packet> = (0..200_000)
        .map(|n: u64| (n, 60, 0, n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().to_vec()))
        .collect();
    for (suffix, name) in [("pcap.gz", "gzip'd"), ("pcap.zst", "zstd")] {
        let file = written(Form::of_name(Path::new(&format!("x.{suffix}"))).unwrap(), &packets);
        let (_, some, end) = read(file[..file.len() / 2].to_vec());
        assert!(some.len() > 50_000 && some.len() < 150_000, "{suffix}: {}", some.len());
        assert_eq!(some, packets[..some.len()]);
        assert!(end.unwrap().starts_with(&format!("the {name} data are cut off, at byte ")), "{suffix}");
        let mut corrupt = file.clone();
        let middle = file.len() / 2;
        corrupt[middle..middle + 40].fill(0x55);
        let (_, _, end) = read(corrupt);
        assert!(end.is_some(), "{suffix}");
    }
}

proptest! {
    #[test]
    fn every_form_gives_back_what_it_was_given(
        packets in prop::collection::vec(
            (0u64..40_000_000_000_000, 0u32..2000, 0u32..2, prop::collection::vec(any::<u8>(), 0..90)),
            0..30,
        ),
    ) {
        for suffix in Form::suffixes() {
            let form = Form::of_name(Path::new(&format!("x{suffix}"))).unwrap();
            if cfg!(miri) && form.compression == Compression::Zstd {
                continue; // in C, which Miri does not interpret
            }
            let (format, read, end) = read(written(form, &packets));
            prop_assert_eq!((format, end), (form.format, None));
            prop_assert_eq!(read.len(), packets.len());
            for (read, (time, bytes, interface, frame)) in read.iter().zip(&packets) {
                prop_assert_eq!((read.0, &read.3), (*time, frame));
                prop_assert_eq!(read.1, (*bytes).max(frame.len() as u32));
                // a pcap has one interface; a pcapng numbers them as they come
                let first = packets[0].2;
                let number = if form.format == Format::Pcap { 0 } else { u32::from(*interface != first) };
                prop_assert_eq!(read.2, number);
            }
        }
    }
}

//! What is said of a capture, against closed forms and against the simulator's own links.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use paceline_capture::write::{Form, Writer};
use paceline_capture::{Capture, CaptureError, Format};

use paceline_analysis::flows::MOST;
use paceline_analysis::shaper::Shaper;
use paceline_analysis::{Analysis, AnalysisError, Options, analyse};

mod connecting;
mod counting;
mod pacing;
#[path = "../../../capture/tests/written/mod.rs"]
mod written;

use written::{Packet, enhanced, interface, option, packet, pcap, section, udp};

/// 2020-09-13, nanoseconds since 1970.
const EPOCH_NS: u64 = 1_600_000_000_000_000_000;

fn options(shapers: &[&str]) -> Options {
    let shapers = shapers.iter().map(|text| Shaper::parse(text).unwrap()).collect();
    Options { shapers, ..Options::default() }
}

fn analysed(file: &[u8], options: &Options) -> Result<Analysis, AnalysisError> {
    let capture = Capture::read_from(Box::new(Cursor::new(file.to_vec()))).map_err(AnalysisError::Capture)?;
    analyse(capture, options, None, |_| true)
}

/// A file in memory.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What the first pacer makes of a capture.
fn paced(file: &[u8], shaper: &str, format: Format) -> Vec<u8> {
    let written = Shared::default();
    let capture = Capture::read_from(Box::new(Cursor::new(file.to_vec()))).unwrap();
    let writer = Writer::new(Box::new(written.clone()), Form::plain(format)).unwrap();
    analyse(capture, &options(&[shaper]), Some(writer), |_| true).unwrap();
    written.0.lock().unwrap().clone()
}

/// Time, interface, length on the wire and frame of every packet.
fn packets_of(file: &[u8]) -> Vec<(u64, u32, u32, Vec<u8>)> {
    let mut capture = Capture::read_from(Box::new(Cursor::new(file.to_vec()))).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = capture.read().unwrap() {
        packets.push((record.time_ns, record.interface, record.bytes, record.frame.to_vec()));
    }
    packets
}

fn spaced(count: u64, gap_ns: u64, bytes: usize) -> Vec<Packet> {
    (0..count).map(|n| packet(EPOCH_NS + n * gap_ns, &vec![0; bytes])).collect()
}

fn nanoseconds(packets: &[Packet]) -> Vec<u8> {
    pcap(packets, 1, true, false)
}

/// Two interfaces whose packets are mixed, the second a little behind.
fn two_interfaces() -> Vec<u8> {
    let named = |name: &[u8]| interface(1, &[option(2, name, false), option(9, &[9], false)], false);
    let mut file = [section(false), named(b"east"), named(b"west")].concat();
    for n in 0..500u64 {
        for (number, late) in [(0, 0), (1, 30_000)] {
            let time = EPOCH_NS + n * 50_000 - late;
            file.extend(enhanced(
                &Packet { interface: number, ..packet(time, &udp(1, 2, (3, 4), 100)) },
                false,
            ));
        }
    }
    file
}

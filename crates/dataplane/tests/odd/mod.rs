//! Odd settings, captures, frames and callers. What is told is text or bytes, so that a fuzzer and a property test can
//! both tell it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::Cursor;

use paceline_capture::write::{Form, Writer};
use paceline_capture::{Capture, Format};
use paceline_core::{Instant, Rate, Span};
use paceline_dataplane::config::{Arguments, Config, ConfigError};
use paceline_dataplane::lane::{Admission, Frame, Lane, LaneSpec};
use paceline_dataplane::packet::VNET;
use paceline_dataplane::{replay, segment};

const LINE: Rate = Rate::from_bits_per_second(100_000_000);

/// What is refused is explained in one line.
fn explained(problem: &str) {
    assert!(!problem.is_empty() && problem.lines().count() == 1, "{problem:?}");
}

/// Flags, a zero, and a file: what is accepted can be paced by.
pub(crate) fn settings(text: &str) -> Option<[LaneSpec; 2]> {
    let (flags, file) = text.split_once('\0').unwrap_or(("", text));
    let flags = flags.split(' ').filter(|word| !word.is_empty()).map(OsString::from);
    let read = || -> Result<_, ConfigError> {
        let config = Config::parse("pace.toml", file, &Arguments::parse(flags)?)?;
        assert!(config.patience >= Span::from_millis(15) && config.spin <= Span::from_millis(1));
        assert!(config.metrics.is_none_or(|address| address.ip().is_loopback()));
        assert!(config.forward.places() <= 1 << 20 && config.reverse.places() <= 1 << 20);
        Ok([config.forward.spec(Some(LINE))?, config.reverse.spec(Some(LINE))?])
    };
    match read() {
        Ok(specs) => Some(specs),
        Err(error) => {
            explained(&error.0);
            None
        }
    }
}

/// Settings, a byte that no text has (ff), and a capture: what is read leaves in order and not before it came, or is counted.
pub(crate) fn capture(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0xff).unwrap_or(bytes.len());
    let (text, rest) = bytes.split_at(end);
    let Some([spec, _]) = std::str::from_utf8(text).ok().and_then(settings) else { return };
    let Some(([_, choice, ..], rest)) = rest.split_at_checked(2) else { return };
    // a fuzzer need not find the header out by itself
    let header: &[u8] = match choice & 3 {
        0 => &[],
        1 => &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0],
        2 => &[0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0],
        _ => &[0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 1],
    };
    let input = [header, rest].concat();
    let wire = (choice & 4 != 0).then_some(LINE);
    let mut written = Vec::new();
    let form = Form::plain(if choice & 8 == 0 { Format::Pcap } else { Format::Pcapng });
    let outcome = Capture::read_from(Box::new(Cursor::new(input)))
        .map_err(|error| error.to_string())
        .and_then(|capture| {
            let writer = Writer::new(Box::new(&mut written), form)?;
            replay::capture(capture, Some(writer), spec, wire, u32::from(choice >> 4))
        });
    match outcome {
        Err(problem) => explained(&problem),
        Ok(outcome) => {
            assert_eq!(outcome.received.0, outcome.sent.0 + outcome.dropped);
            let mut again = Capture::read_from(Box::new(Cursor::new(written))).unwrap();
            let mut times = Vec::new();
            while let Some(record) = again.read().unwrap() {
                times.push(record.time_ns);
            }
            // a last one that is ten years ahead could be, where another was behind it that could not
            assert_eq!(times.len() as u64 + again.mistimed(), outcome.sent.0);
            assert!(times.is_sorted());
        }
    }
}

/// Settings for each direction, ff, and what happens: frames that come, a caller that comes late, parameters that
/// change, an outage. Each frame leaves once, in order, not before it came.
pub(crate) fn story(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0xff).unwrap_or(bytes.len());
    let (text, story) = bytes.split_at(end);
    let Some(specs) = std::str::from_utf8(text).ok().and_then(settings) else { return };
    let mut lane = Lane::new(specs[0].clone());
    let (mut ready, mut now, mut came, mut gone) = (VecDeque::new(), Instant::ZERO, 0u64, Vec::new());
    let mut last = None;
    for event in story.chunks_exact(4) {
        let [kind, exponent, mantissa, size] = *event else { break };
        // from nothing to some 18 minutes
        let after = Span::from_nanos(u64::from(mantissa) << (exponent % 33));
        let forgiven = lane.forgiven();
        match kind % 8 {
            0..4 => {
                let arrived = now;
                now += after;
                let bytes = 60 + 6 * u32::from(size);
                match lane.arrive(Frame::new(came, bytes, arrived), &mut ready) {
                    Admission::Taken | Admission::Flushed(_) => {}
                    Admission::Refused(frame) => gone.push(frame.handle),
                }
                came += 1;
            }
            4 | 5 => now += after,
            6 => lane.change(specs[usize::from(size & 1)].clone(), now, &mut ready),
            _ => gone.extend(lane.take_back().into_iter().map(|frame| frame.handle)),
        }
        lane.release(now, &mut ready);
        assert!(lane.forgiven() >= forgiven);
        assert_eq!(lane.next_wakeup().is_some(), lane.held_packets() > 0);
        assert!(lane.next_wakeup().is_none_or(|wakeup| wakeup > now));
        for frame in ready.drain(..) {
            assert!(frame.arrived <= frame.due && frame.due <= now);
            assert!(last.is_none_or(|last| last < frame.handle));
            last = Some(frame.handle);
            gone.push(frame.handle);
        }
    }
    gone.extend(lane.take_back().into_iter().map(|frame| frame.handle));
    gone.sort_unstable();
    assert_eq!(gone, (0..came).collect::<Vec<_>>());
}

/// What an offload is said to have joined: what comes of it fits, and is all of it.
pub(crate) fn joined(bytes: &[u8]) {
    let Some(([low, high, choice], rest)) = bytes.split_at_checked(3).map(|(a, b)| ([a[0], a[1], a[2]], b))
    else {
        return;
    };
    let largest = usize::from(u16::from_le_bytes([low, high]));
    let link_header = if choice & 1 == 0 { 14 } else { 0 };
    let mut frame = rest.to_vec();
    if choice & 2 != 0 && frame.len() >= GOOD.len() {
        // a good one with some bytes changed: a fuzzer need not find the rest out by itself
        frame.iter_mut().zip(GOOD).for_each(|(byte, good)| *byte = if *byte < 0xf0 { *good } else { !*byte });
    }
    let Some(frames) = segment::cut(&frame, largest, link_header) else { return };
    assert!(!frames.is_empty() && frames.iter().all(|made| made.len() <= largest && made.len() >= VNET));
    // the headers are in each: what is left of all is the payload
    let each = usize::from(u16::from_ne_bytes([frame[4], frame[5]]));
    let headers = match frames.len() {
        1 => return assert_eq!(frames[0].len(), frame.len()),
        _ => frames[0].len() - each,
    };
    let parts: Vec<u8> = frames.iter().flat_map(|made| made[headers..].iter().copied()).collect();
    assert_eq!(parts, frame[headers..]);
}

/// Headers of TCP over IPv4 over Ethernet, joined from payloads of 100 bytes.
const GOOD: &[u8] = &[
    1, 1, 0, 0, 100, 0, 34, 0, 16, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 1, 0, 0xff, 0xff,
    0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x12, 0x34, 0x56, 0x78, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1,
    0x50, 0x99, 1, 0, 0, 0, 0, 0,
];

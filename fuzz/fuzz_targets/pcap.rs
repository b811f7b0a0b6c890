//! No bytes make the capture reader, the flow keys, connections or a pacer behind them panic or loop; what is refused is explained in one
//! line; what is read arrives once behind every pacer, or is dropped.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use paceline_capture::Capture;
use paceline_analysis::connections::connections;
use paceline_analysis::shaper::Shaper;
use paceline_analysis::{Options, analyse};

/// Each pacer once, behind every kind of link.
const SHAPERS: [&str; 4] = [
    "none link = 100 Mbit/s buffer = 5 packets",
    "edge 10 ms",
    "qlbp mu_min = 1 Mbit/s mu_max = 50 Mbit/s q_max = 30 KB link = 1 Gbit/s",
    "token-bucket rate = 10 Mbit/s burst = 3 KB pacer_buffer = 100 KB",
];

// The last byte chooses one pacer, or none, and whether flows are told apart (they cannot be on every link): so a run takes a
// tenth of what all choices take together, and a corpus is of plain captures.
fuzz_target!(|bytes: &[u8]| {
    let choice = usize::from(bytes.last().copied().unwrap_or(0));
    let shaper = SHAPERS.get(choice / 2 % (SHAPERS.len() + 1));
    let shapers: Vec<Shaper> = shaper.iter().filter_map(|text| Shaper::parse(text).ok()).collect();
    assert_eq!(shapers.len(), usize::from(shaper.is_some()));
    let options = Options { by_flow: choice % 2 == 1, shapers, ..Options::default() };
    let read = || Capture::read_from(Box::new(Cursor::new(bytes.to_vec()))).map_err(|error| error.to_string());
    if options.by_flow && let Ok(capture) = read() {
        match connections(capture, |_| true) {
            Err(error) => assert_eq!(error.to_string().lines().count(), 1),
            Ok(found) => assert!(found.segments <= found.packets),
        }
    }
    let capture = read();
    let outcome = capture.and_then(|capture| {
        analyse(capture, &options, None, |_| true).map_err(|error| error.to_string())
    });
    match outcome {
        Err(error) => assert_eq!(error.lines().count(), 1),
        Ok(analysis) => {
            let packets: u64 = analysis.interfaces.iter().map(|group| group.captured.packets).sum();
            assert_eq!(packets, analysis.packets);
            for group in &analysis.interfaces {
                for paced in &group.paced {
                    let all = paced.stream.packets + paced.cost.dropped_packets;
                    assert_eq!(all, group.captured.packets);
                }
            }
        }
    }
});

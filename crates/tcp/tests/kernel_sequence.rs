//! The Linux profile's sender against what Linux 6.18 sent, acknowledgement by acknowledgement.
//!
//! Each file of `kernel/` is one connection over `paceline-wires`, where a host answers at the very time of what it answers to:
//! `a TIME NEXT ECHO BLOCKS : SENT` is an acknowledgement of all before NEXT and the packets that the kernel sent at once,
//! `t TIME : SENT` what it sent by a timer or as its application wrote. Times in us; packet 0 is the SYN.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::{Instant, Span};
use paceline_tcp::{Block, Config, Output, Profile, Segment, Sender, Variant};
use std::path::Path;
use std::sync::Arc;

#[derive(Default)]
struct Wire(Vec<u32>);

impl Output for Wire {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment.seq);
    }
}

fn at(us: &str) -> Instant {
    Instant::from_nanos((us.parse::<f64>().unwrap() * 1e3).round() as u64)
}

/// Where the kernel's ticks stand is not known: a timer may run out so much earlier or later; of more than 252 ms eight ticks, and of
/// more than 2016 ms 64.
fn slack(due: Instant, set: Instant) -> Span {
    Span::from_millis(match due.since(set).as_nanos() / 1_000_000 {
        0..240 => 9,
        240..1_980 => 40,
        _ => 300,
    })
}

/// Says where the sender first does something else, and how many packets it had sent until then.
fn first_difference(text: &str, config: Config) -> (usize, Option<String>) {
    let mut sender = Sender::new(Arc::new(config), None, Span::ZERO, 1);
    let mut wire = Wire::default();
    let (mut sent, mut set) = (0, Instant::ZERO);
    sender.start(Instant::ZERO, &mut wire);
    wire.0.clear();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let (told, expected) = line.split_once(" :").unwrap();
        let expected: Vec<u32> = expected.split_whitespace().map(|seq| seq.parse().unwrap()).collect();
        let told: Vec<&str> = told.split_whitespace().collect();
        let now = at(told[1]);
        let mut due = sender.retransmission_at().unwrap();
        let place = |what: String, cwnd: f64| format!("line {}: {line}\n{what}; cwnd {cwnd}", number + 1);
        while sent > 0 && due + slack(due, set) < now {
            sender.on_retransmission_timer(due, &mut wire); // perhaps there is nothing to do
            if !wire.0.is_empty() {
                return (sent, Some(place(format!("at {due}, timer: sent {:?}", wire.0), sender.cwnd())));
            }
            set = due;
            due = sender.retransmission_at().unwrap();
        }
        if told[0] == "t" && expected == [0] && now == Instant::ZERO {
            continue;
        } else if told[0] == "t" && expected == [0] {
            sender.on_retransmission_timer(now, &mut wire);
        } else if told[0] == "t" {
            if sent > 0 {
                if now + slack(due, set) < due {
                    return (sent, Some(place(format!("no timer before {due}"), sender.cwnd())));
                }
                sender.on_retransmission_timer(now, &mut wire);
            } else {
                sender.on_ack_with(1, Instant::ZERO, &[], now, &mut wire); // the application writes a little later
            }
        } else if told[2] != "1" || sent > 0 {
            let block = |text: &&str| {
                let (start, end) = text.split_once('-').unwrap();
                Block { start: start.parse().unwrap(), end: end.parse().unwrap() }
            };
            let blocks: Vec<Block> = told[4..].iter().map(block).collect();
            sender.on_ack_with(told[2].parse().unwrap(), at(told[3]), &blocks, now, &mut wire);
        }
        if sender.retransmission_at() != Some(due) {
            set = now;
        }
        if wire.0 != expected {
            return (sent, Some(place(format!("sent {:?}", wire.0), sender.cwnd())));
        }
        sent += wire.0.len();
        wire.0.clear();
    }
    (sent, None)
}

#[test]
fn the_sender_sends_what_the_kernel_sent() {
    let mut wrong = Vec::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel");
    let mut files: Vec<_> = Path::new(folder).read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 5);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let config = Config {
            variant: Variant::Rfc6675,
            initial_window: 2,
            delayed_ack: None,
            ..Config::new(Profile::Linux)
        };
        let (sent, difference) = first_difference(&text, config);
        if let Some(difference) = difference {
            wrong.push(format!("{} after {sent} packets, {difference}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! The Linux profile's receiver against what Linux 6.18's acknowledged, packet by packet.
//!
//! Each file of `kernel-receiver/` is the receiving end of one connection over `paceline-wires`: `d TIME SEQ SENT P` is a packet that
//! arrived, P where it carried PSH, and `a TIME NEXT ECHO BLOCKS` an acknowledgement that the kernel sent. Times in us, but for SENT and
//! ECHO, which are the sender's timestamps, in ms. Packet 0 is the SYN, put as long before the first data as the handshake's answer was before
//! its acknowledgement, which the simulator does not send. The first line has the phase of the host's ticks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::{Instant, Span};
use paceline_tcp::{Block, Config, Feedback, Profile, Receiver, Reply, Variant};
use std::path::Path;

/// What the kernel does at once it has done within this, us.
const AT_ONCE: f64 = 400.0;
/// How late a timer of the kernel may be, us; once (a compressed SACK's) twice that, as the machine had other work; or just a tick, where the
/// timer's processor reads the count of ticks before another has counted on (kernel_sequence.rs, `may_run_out`).
const LATE: f64 = 300.0;
const TICK: f64 = 4000.0;

fn at(us: f64) -> Instant {
    Instant::from_nanos((us * 1e3).round() as u64)
}

fn us(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e3
}

#[derive(Debug)]
struct Acknowledgement {
    time: f64,
    next: u32,
    echo: Instant,
    blocks: Vec<Block>,
}

impl Acknowledgement {
    fn read(words: &[&str]) -> Self {
        let block = |text: &&str| {
            let (start, end) = text.split_once('-').unwrap();
            Block { start: start.parse().unwrap(), end: end.parse().unwrap() }
        };
        let next = words[2].parse().unwrap();
        let blocks = words[4..].iter().map(block).collect();
        let echo = at(words[3].parse::<f64>().unwrap() * 1e3);
        Acknowledgement { time: words[1].parse().unwrap(), next, echo, blocks }
    }

    fn matches(&self, next: u32, feedback: &Feedback) -> bool {
        self.next == next && self.echo == feedback.echo && self.blocks == feedback.blocks()
    }
}

/// What the receiver did otherwise than the kernel, and how many acknowledgements were held against it.
fn differences(text: &str) -> (usize, Vec<String>) {
    let phase = text.lines().next().unwrap().rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    let phase = Span::from_nanos(4_000_000_000 - (phase * 1e3) as u64);
    let config = Config {
        variant: Variant::Rfc6675,
        push: 0, // as in the packets
        tick_phase: Some(phase),
        ..Config::new(Profile::Linux)
    };
    let mut receiver = Receiver::with(&config, 0);
    let (mut wrong, mut count, mut arrived) = (Vec::new(), 0, 0.0);
    // What the receiver sends at once, and when.
    let mut said: Option<(f64, u32, Feedback)> = None;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let time: f64 = words[1].parse().unwrap();
        let mut differs = |what: String| wrong.push(format!("line {}: {line}: {what}", number + 1));
        if words[0] == "d" {
            if let Some((_, next, feedback)) = said.take() {
                differs(format!("the kernel said nothing before it; here {next} {:?}", feedback.blocks()));
            }
            if let Some(due) = receiver.due().filter(|due| us(*due) + LATE + TICK < time) {
                differs(format!("here an acknowledgement was due at {}", us(due)));
                receiver.on_delayed_ack_timer();
            }
            let seq: u32 = words[2].parse().unwrap();
            if words.get(4) == Some(&"P") && seq == receiver.next() {
                receiver.on_push();
            }
            arrived = time;
            receiver.on_data(seq);
            let sent = at(words[3].parse::<f64>().unwrap() * 1e3);
            if let Reply::Now(feedback) = receiver.reply(seq, sent, at(time)) {
                said = Some((time, receiver.next(), feedback));
            }
            continue;
        }
        let heard = Acknowledgement::read(&words);
        count += 1;
        if let Some((arrived, next, feedback)) = said.take() {
            if !heard.matches(next, &feedback) || heard.time > arrived + AT_ONCE {
                differs(format!("here at once {next} {:?} {:?}", feedback.echo, feedback.blocks()));
            }
        } else if let Some(due) = receiver.due() {
            let feedback = receiver.on_delayed_ack_timer();
            let next = receiver.next();
            let is_timer = us(due) > arrived + AT_ONCE;
            let late = heard.time - us(due);
            let in_time = match is_timer {
                true => (-LATE..2.0 * LATE).contains(&late) || (late - TICK).abs() < LATE,
                false => (-LATE..AT_ONCE).contains(&late),
            };
            if !heard.matches(next, &feedback) || !in_time {
                differs(format!("here at {} {next} {:?} {:?}", us(due), feedback.echo, feedback.blocks()));
            }
        } else {
            differs("here nothing".to_owned());
        }
    }
    (count, wrong)
}

#[test]
fn the_receiver_acknowledges_what_the_kernel_acknowledged() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel-receiver");
    let mut files: Vec<_> = Path::new(folder).read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 4);
    for path in files {
        let (count, wrong) = differences(&std::fs::read_to_string(&path).unwrap());
        let some = wrong[..wrong.len().min(8)].join("\n");
        assert!(wrong.is_empty(), "{}: {} of {count} differ\n{some}", path.display(), wrong.len());
    }
}

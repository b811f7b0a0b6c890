//! The Linux profile's sender against what Linux 6.18 sent, acknowledgement by acknowledgement.
//!
//! Each file of `kernel/` is one connection over `paceline-wires`, where a host answers at the very time of what it answers to:
//! `a TIME NEXT ECHO BLOCKS : SENT` is an acknowledgement of all before NEXT and the packets that the kernel sent at once,
//! `t TIME : SENT` what it sent by a timer or as its application wrote. Times in us; packet 0 is the SYN. The first line has the phase of the
//! host's ticks stood, of 4 ms; where a timer of more than 63 ticks ran out, in 32 ms (8 ticks), and of more than 504 in 256 ms.

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

const TICK: Span = Span::from_millis(4);

/// So late the kernel is at the tick that it runs a timer at: 20 to 135 us, or up to 690 where 400 connections' timers run out at one.
const LATE: Span = Span::from_nanos(700_000);

/// A timer runs out at its tick, or at the next one. Each processor's tick interrupt runs its own timers, but one processor alone counts
/// the ticks (`tick_sched_do_timer`): where its interrupt comes a microsecond later than another's, that one still reads the old count
/// and leaves its timers to the next tick (`run_local_timers`). Traced on Linux 6.18 with two processors (event timer_expire_entry,
/// any timer), none of 28 was late on the one that counted, and 36 of 78 on the other, all by one tick.
fn may_run_out(due: Instant, now: Instant) -> bool {
    now >= due && (now <= due + LATE || (now >= due + TICK && now <= due + TICK + LATE))
}

/// A timer that an acknowledgement sets for 63 ticks is one of the coarser wheel's, 64 to 71 ticks off; but 64 where the wheel is a tick
/// ahead, because another connection's timer ran out in that tick on that processor, which this sender cannot know.
fn due_if_ahead(set: Instant, due: Instant, phase: Span) -> Option<Instant> {
    let into_tick = (set + phase).as_nanos() % TICK.as_nanos();
    let ahead = set - Span::from_nanos(into_tick) + Span::from_nanos(64 * TICK.as_nanos());
    (due > ahead && due.since(ahead).as_nanos() < 8 * TICK.as_nanos()).then_some(ahead)
}

/// Says where the sender first does something else, and how many packets it had sent until then.
fn first_difference(text: &str, config: Config) -> (usize, Option<String>) {
    let phase = config.tick_phase.unwrap();
    let mut sender = Sender::new(Arc::new(config), None, Span::ZERO, 1);
    let mut wire = Wire::default();
    let (mut sent, mut set_by_ack) = (0, None);
    sender.start(Instant::ZERO, &mut wire);
    wire.0.clear();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let (told, expected) = line.split_once(" :").unwrap();
        let expected: Vec<u32> = expected.split_whitespace().map(|seq| seq.parse().unwrap()).collect();
        let told: Vec<&str> = told.split_whitespace().collect();
        let now = at(told[1]);
        let mut due = sender.retransmission_at().unwrap();
        let place = |what: String, cwnd: f64| format!("line {}: {line}\n{what}; cwnd {cwnd}", number + 1);
        while sent > 0 && due + TICK + LATE < now {
            sender.on_retransmission_timer(due, &mut wire); // perhaps there is nothing to do
            if !wire.0.is_empty() {
                return (sent, Some(place(format!("at {due}, timer: sent {:?}", wire.0), sender.cwnd())));
            }
            set_by_ack = None;
            due = sender.retransmission_at().unwrap();
        }
        if told[0] == "t" && expected == [0] && now == Instant::ZERO {
            continue;
        } else if told[0] == "t" && expected == [0] {
            sender.on_retransmission_timer(now, &mut wire);
        } else if told[0] == "t" {
            if sent > 0 {
                let other = set_by_ack.and_then(|set| due_if_ahead(set, due, phase));
                if !may_run_out(due, now) && !other.is_some_and(|due| may_run_out(due, now)) {
                    return (sent, Some(place(format!("the timer runs out at {due}"), sender.cwnd())));
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
            set_by_ack = (told[0] == "a").then_some(now);
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
    assert_eq!(files.len(), 8);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let ticks = at(text.lines().next().unwrap().rsplit(' ').next().unwrap()).since(Instant::ZERO);
        let config = Config {
            variant: Variant::Rfc6675,
            initial_window: 2,
            delayed_ack: None,
            tick_phase: Some(Span::from_nanos(1024 * TICK.as_nanos() - ticks.as_nanos())), // 1024: a multiple of 64
            ..Config::new(Profile::Linux)
        };
        let (sent, difference) = first_difference(&text, config);
        if let Some(difference) = difference {
            wrong.push(format!("{} after {sent} packets, {difference}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

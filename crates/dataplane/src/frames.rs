//! Numbered frames: sends them as fast as it can or at a rate, or receives them and says what came of them. What
//! `benches/dataplane/run.py` measures with.
//!
//!   paceline-frames send IF --size 64 --seconds 2 [--count N] [--pps N] [--ahead N] [--vlans]
//!   paceline-frames receive IF [--gap-ns N] [--idle N] [--vlans]
//!   paceline-frames chain OUT IN --size 64 --seconds 2
//!
//! `--ahead`: so many frames at once before the rate begins, so that a queue lasts while the sender is away. `--vlans`: three of
//! four frames have a tag, which follows from their number.
//!
//! A sender whose interface is down or gone waits for it, or one of the same name. A receiver counts frames that arrive with
//! another tag than their own, or changed, as `wrong`, and lists what is missing: when the frames before and after it were sent.
//!
//! `chain` sends a batch by OUT, waits until its last frame has come back by IN, and sends the next: with all on one processor,
//! frames a second is what that processor does. A receiver ends `--idle` seconds (1) after the last frame. It prints one line of JSON, as the sender does.

use std::os::fd::AsFd;
use std::process::ExitCode;

use paceline_core::{Instant, Span};
use paceline_dataplane::bpf::assembler::{Assembler, If, R0, R1, R6};
use paceline_dataplane::bpf::{Program, ProgramKind};
use paceline_dataplane::packet::{Arrival, BATCH, Ring, Transmitter, VNET};
use paceline_dataplane::sys::clock;
use paceline_dataplane::sys::interface::Interface;
use serde_json::json;

/// Local experimental EtherType 1.
const KIND: [u8; 2] = [0x88, 0xb5];
/// IEEE 802.1Q.
const VLAN: [u8; 2] = [0x81, 0x00];
/// An interface that has sent nothing for so long is away.
const AWAY: Span = Span::from_millis(3);
/// Gaps in the numbers that are listed.
const MOST_LISTED: usize = 200_000;
/// Frames at once in a chain. A veth pair with a thread of its own holds 256.
const CHAIN: usize = 192;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |flag: &str| -> Option<u64> {
        let at = arguments.iter().position(|word| word == flag)?;
        arguments.get(at + 1)?.parse().ok()
    };
    let result = match arguments.first().map(String::as_str).zip(arguments.get(1)) {
        Some(("send", interface)) => {
            let end = (number("--seconds"), number("--count"));
            let tagged = arguments.iter().any(|word| word == "--vlans");
            send(interface, number("--size"), end, number("--pps"), number("--ahead").unwrap_or(0), tagged)
        }
        Some(("chain", out)) => match arguments.get(2) {
            Some(back) => chain(out, back, number("--size"), number("--seconds")),
            None => Err("say paceline-frames chain OUT IN".to_owned()),
        },
        Some(("receive", interface)) => {
            let idle = Span::from_millis(1000 * number("--idle").unwrap_or(1));
            receive(interface, number("--gap-ns"), idle, arguments.iter().any(|word| word == "--vlans"))
        }
        _ => Err("say send IF, receive IF or chain OUT IN".to_owned()),
    };
    match result {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("paceline-frames: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn send(
    interface: &str,
    size: Option<u64>,
    (seconds, count): (Option<u64>, Option<u64>),
    pps: Option<u64>,
    ahead: u64,
    tagged: bool,
) -> Result<serde_json::Value, String> {
    let mut transmitter = Transmitter::open(&Interface::named(interface)?)?;
    let mut frames = vec![blank(size); BATCH];
    let mut start = clock::now();
    let end = start + Span::from_millis(1000 * seconds.unwrap_or(3600));
    let (mut sent, most) = (0u64, count.unwrap_or(u64::MAX));
    let (mut now, mut pause, mut able) = (start, Span::ZERO, start);
    // at a rate, few at a time: so many that a wait is worth it
    let batch = pps.map_or(BATCH as u64, |pps| (pps / 20_000).clamp(1, BATCH as u64));
    while now < end && sent < most {
        if let Some((pps, paced)) = pps.zip(sent.checked_sub(ahead)) {
            let due = start + Span::from_nanos((u128::from(paced) * 1_000_000_000 / u128::from(pps)) as u64);
            if due.since(now) > Span::from_nanos(60_000) {
                clock::sleep_until(due - Span::from_nanos(50_000));
            }
            while clock::now() < due {
                std::hint::spin_loop();
            }
        }
        let batch = batch.min(most - sent) as usize;
        number(&mut frames, sent, tagged);
        let outcome = transmitter.send(frames.iter().take(batch).map(Vec::as_slice));
        sent += outcome.done as u64;
        if outcome.done > 0 {
            let stuck = clock::now().since(able);
            // what an interface that was away did not send is not made up for
            start += if stuck > AWAY { stuck } else { Span::ZERO };
            able = clock::now();
        } else if clock::now().since(able) > AWAY {
            clock::sleep_until(clock::now() + Span::from_nanos(50_000));
            if let (true, Ok(again)) = (outcome.rejected, Interface::named(interface)) {
                transmitter = Transmitter::open(&again).unwrap_or(transmitter);
            }
        }
        let before = std::mem::replace(&mut now, clock::now());
        pause = pause.max(now.since(before));
    }
    let seconds = clock::now().since(start).as_seconds();
    let pause = pause.as_seconds();
    Ok(json!({ "sent": sent, "seconds": seconds, "pps": sent as f64 / seconds, "longest_pause_s": pause }))
}

/// A frame without a number, its header before it.
fn blank(size: Option<u64>) -> Vec<u8> {
    let mut frame = vec![0; VNET];
    frame.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame.extend(KIND);
    frame.resize(VNET + size.unwrap_or(64).max(40) as usize, 0);
    frame
}

/// Numbers frames from `first`, and says that they are sent now.
fn number(frames: &mut [Vec<u8>], first: u64, tagged: bool) {
    let now = clock::now().as_nanos().to_be_bytes();
    for (frame, number) in frames.iter_mut().zip(first..) {
        if tagged {
            let had = frame[VNET + 12..VNET + 14] == VLAN;
            frame.splice(VNET + 12..if had { VNET + 16 } else { VNET + 12 }, tag(number));
        }
        let at = VNET + 14 + if frame[VNET + 12..VNET + 14] == VLAN { 4 } else { 0 };
        frame[at..at + 8].copy_from_slice(&number.to_be_bytes());
        frame[at + 8..at + 16].copy_from_slice(&now);
    }
}

/// The tag of a frame of that number, if it has one.
fn tag(number: u64) -> Vec<u8> {
    let vlan = (number % 4) as u8;
    if vlan == 0 { Vec::new() } else { [&VLAN[..], &[0, vlan]].concat() }
}

/// Number and time of sending of a frame, and whether it is as it was sent; `None` of others'.
fn read(frame: &[u8], tagged: bool) -> Option<(u64, Instant, bool)> {
    let (tag_, rest) = match frame.get(12..14)? {
        kind if kind == VLAN => (frame.get(12..16)?, frame.get(16..)?),
        _ => (&[][..], frame.get(12..)?),
    };
    let rest = rest.strip_prefix(&KIND)?;
    let eight = |at: usize| rest.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
    let number = eight(0)?;
    let is_whole = rest.get(16..)?.iter().all(|byte| *byte == 0);
    let is_right = is_whole && (!tagged || tag(number) == tag_);
    Some((number, Instant::from_nanos(eight(8)?), is_right))
}

/// Accepts frames whose number ends in 255.
fn lasts() -> Result<Program, String> {
    let mut program = Assembler::new();
    let other = program.label();
    program.copy(R6, R1);
    program.load_packet_byte(21);
    program.jump_if(R0, If::NotEqual, 255, other);
    program.set(R0, -1);
    program.exit();
    program.place(other);
    program.set(R0, 0);
    program.exit();
    Program::load(ProgramKind::SocketFilter, "paceline_last", &program.finish())
        .map_err(|error| error.to_string())
}

fn chain(
    out: &str,
    back: &str,
    size: Option<u64>,
    seconds: Option<u64>,
) -> Result<serde_json::Value, String> {
    let transmitter = Transmitter::open(&Interface::named(out)?)?;
    let mut ring = Ring::open(&Interface::named(back)?, 1518, Some(&lasts()?))?;
    let mut frames = vec![blank(size); BATCH];
    let start = clock::now();
    let end = start + Span::from_millis(1000 * seconds.unwrap_or(2));
    let (mut batches, mut lost) = (0u64, 0u64);
    while clock::now() < end {
        let mut sent = 0;
        while sent < CHAIN {
            let batch = BATCH.min(CHAIN - sent);
            number(&mut frames, batches * 256 + (256 - CHAIN + sent) as u64, false);
            sent += transmitter.send(frames.iter().take(batch).map(Vec::as_slice)).done;
        }
        batches += 1;
        let mut came = false;
        let give_up = clock::now() + Span::from_millis(100);
        while !came && clock::now() < give_up {
            clock::wait_for(ring.socket().as_fd(), Span::from_millis(20));
            let now = clock::now();
            while ring.next(now).is_some() {
                came = true;
            }
            ring.put_back();
        }
        lost += u64::from(!came);
    }
    let seconds = clock::now().since(start).as_seconds();
    Ok(
        json!({ "frames": batches * CHAIN as u64, "lost_batches": lost, "seconds": seconds, "pps": batches as f64 * CHAIN as f64 / seconds }),
    )
}

fn receive(
    interface: &str,
    gap_ns: Option<u64>,
    most_idle: Span,
    tagged: bool,
) -> Result<serde_json::Value, String> {
    let mut ring = Ring::open(&Interface::named(interface)?, 1518, None)?;
    let (mut count, mut reordered, mut next) = (0u64, 0u64, 0u64);
    let (mut bytes, mut first, mut last) = (0u64, None, Instant::ZERO);
    let mut gaps: Vec<u64> = Vec::with_capacity(if gap_ns.is_some() { 1 << 22 } else { 0 });
    let (mut overflowed, mut sent_last) = (0, clock::now());
    let (mut wrong, mut missing) = (0u64, Vec::new());
    eprintln!("listening");
    loop {
        let now = clock::now();
        if first.is_some() && now.since(last) > most_idle {
            break;
        }
        let mut idle = true;
        while let Some(arrival) = ring.next(now) {
            idle = false;
            let Arrival::Frame { at, length, arrived } = arrival else { continue };
            let Some((number, sent_at, is_right)) = read(ring.bytes(at + VNET, length - VNET), tagged) else {
                continue;
            };
            reordered += u64::from(number < next);
            wrong += u64::from(!is_right);
            if number > next && missing.len() < MOST_LISTED {
                missing.push([sent_last.as_nanos(), sent_at.as_nanos(), number - next]);
            }
            sent_last = sent_at;
            next = next.max(number + 1);
            if first.is_some() {
                bytes += (length - VNET) as u64; // from the second on: a rate is of gaps
                if gap_ns.is_some() {
                    gaps.push(arrived.since(last).as_nanos());
                }
            }
            first.get_or_insert(arrived);
            last = arrived;
            count += 1;
        }
        ring.put_back();
        if idle {
            overflowed += ring.overflowed();
            clock::sleep_until(now + Span::from_nanos(50_000));
        }
    }
    overflowed += ring.overflowed();
    let seconds = first.map_or(0.0, |first| last.since(first).as_seconds());
    let mut said = json!({
        "received": count, "highest": next, "missing": next.saturating_sub(count), "reordered": reordered,
        "wrong": wrong, "missing_runs": missing, "overflowed": overflowed, "seconds": seconds, "rate_bps": bytes as f64 * 8.0 / seconds.max(1e-9),
        "pps": count as f64 / seconds.max(1e-9),
    });
    if let (Some(ideal), Some(all)) = (gap_ns, said.as_object_mut()) {
        let mut errors: Vec<u64> = gaps.iter().map(|gap| gap.abs_diff(ideal)).collect();
        errors.sort_unstable();
        let quantile =
            |q: f64| errors.get((errors.len() as f64 * q) as usize).map(|error| *error as f64 / 1e3);
        all.insert("gap_error_p50_us".to_owned(), json!(quantile(0.5)));
        all.insert("gap_error_p99_us".to_owned(), json!(quantile(0.99)));
    }
    Ok(said)
}

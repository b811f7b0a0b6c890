//! Numbered frames: sends them as fast as it can or at a rate, or receives them and says what came of them. What
//! `benches/dataplane/run.py` measures with.
//!
//!   paceline-frames send IF --size 64 --seconds 2 [--count N] [--pps N] [--ahead N]
//!   paceline-frames receive IF [--gap-ns N]
//!   paceline-frames chain OUT IN --size 64 --seconds 2
//!
//! `--ahead`: so many frames at once before the rate begins, so that a queue lasts while the sender is away.
//!
//! `chain` sends a batch by OUT, waits until its last frame has come back by IN, and sends the next: with all on one processor,
//! frames a second is what that processor does. A receiver ends a second after the last frame. It prints one line of JSON, as the sender does.

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
            let ahead = number("--ahead").unwrap_or(0);
            send(interface, number("--size"), number("--seconds"), number("--count"), number("--pps"), ahead)
        }
        Some(("chain", out)) => match arguments.get(2) {
            Some(back) => chain(out, back, number("--size"), number("--seconds")),
            None => Err("say paceline-frames chain OUT IN".to_owned()),
        },
        Some(("receive", interface)) => receive(interface, number("--gap-ns")),
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
    seconds: Option<u64>,
    count: Option<u64>,
    pps: Option<u64>,
    ahead: u64,
) -> Result<serde_json::Value, String> {
    let transmitter = Transmitter::open(&Interface::named(interface)?)?;
    let mut frames = vec![blank(size); BATCH];
    let start = clock::now();
    let end = start + Span::from_millis(1000 * seconds.unwrap_or(3600));
    let (mut sent, most) = (0u64, count.unwrap_or(u64::MAX));
    let (mut now, mut pause) = (start, Span::ZERO);
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
        number(&mut frames, sent);
        let outcome = transmitter.send(frames.iter().take(batch).map(Vec::as_slice));
        sent += outcome.done as u64;
        if outcome.rejected {
            return Err(format!("{interface} does not send"));
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
fn number(frames: &mut [Vec<u8>], first: u64) {
    let now = clock::now().as_nanos().to_be_bytes();
    for (frame, number) in frames.iter_mut().zip(first..) {
        frame[VNET + 14..VNET + 22].copy_from_slice(&number.to_be_bytes());
        frame[VNET + 22..VNET + 30].copy_from_slice(&now);
    }
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
            number(&mut frames, batches * 256 + (256 - CHAIN + sent) as u64);
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
            ring.give_back();
        }
        lost += u64::from(!came);
    }
    let seconds = clock::now().since(start).as_seconds();
    Ok(
        json!({ "frames": batches * CHAIN as u64, "lost_batches": lost, "seconds": seconds, "pps": batches as f64 * CHAIN as f64 / seconds }),
    )
}

fn receive(interface: &str, gap_ns: Option<u64>) -> Result<serde_json::Value, String> {
    let mut ring = Ring::open(&Interface::named(interface)?, 1518, None)?;
    let (mut count, mut reordered, mut next) = (0u64, 0u64, 0u64);
    let (mut bytes, mut first, mut last) = (0u64, None, Instant::ZERO);
    let mut gaps: Vec<u64> = Vec::with_capacity(if gap_ns.is_some() { 1 << 22 } else { 0 });
    let (mut overflowed, mut longest_outage, mut sent_last) = (0, Span::ZERO, Instant::ZERO);
    eprintln!("listening");
    loop {
        let now = clock::now();
        if first.is_some() && now.since(last) > Span::from_millis(1000) {
            break;
        }
        let mut idle = true;
        while let Some(arrival) = ring.next(now) {
            idle = false;
            let Arrival::Frame { at, length, arrived } = arrival else { continue };
            let frame = ring.bytes(at + VNET, length - VNET);
            let (Some(kind), Some(number)) = (frame.get(12..14), frame.get(14..22)) else { continue };
            if kind != KIND {
                continue;
            }
            let number = u64::from_be_bytes(number.try_into().map_err(|_| "eight bytes")?);
            reordered += u64::from(number < next);
            let sent_at =
                frame.get(22..30).and_then(|time| time.try_into().ok()).map_or(0, u64::from_be_bytes);
            let sent_at = Instant::from_nanos(sent_at);
            if number > next {
                longest_outage = longest_outage.max(sent_at.since(sent_last));
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
        ring.give_back();
        if idle {
            overflowed += ring.overflowed();
            clock::sleep_until(now + Span::from_nanos(50_000));
        }
    }
    overflowed += ring.overflowed();
    let seconds = first.map_or(0.0, |first| last.since(first).as_seconds());
    let mut said = json!({
        "received": count, "highest": next, "missing": next.saturating_sub(count), "reordered": reordered,
        "longest_outage_s": longest_outage.as_seconds(), "overflowed": overflowed, "seconds": seconds, "rate_bps": bytes as f64 * 8.0 / seconds.max(1e-9),
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

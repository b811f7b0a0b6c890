//! Numbered frames: sends them as fast as it can or at a rate, or receives them and says what came of them. What
//! `benches/dataplane.py` measures with.
//!
//!   frames send IF --size 64 --seconds 2 [--count N] [--pps N]
//!   frames receive IF [--gap-ns N]
//!
//! A receiver ends a second after the last frame. It prints one line of JSON, as the sender does.

use std::process::ExitCode;

use paceline_core::{Instant, Span};
use paceline_dataplane::packet::{Arrival, BATCH, Ring, Transmitter, VNET};
use paceline_dataplane::sys::clock;
use paceline_dataplane::sys::interface::Interface;
use serde_json::json;

/// Local experimental EtherType 1.
const KIND: [u8; 2] = [0x88, 0xb5];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |flag: &str| -> Option<u64> {
        let at = arguments.iter().position(|word| word == flag)?;
        arguments.get(at + 1)?.parse().ok()
    };
    let result = match arguments.first().map(String::as_str).zip(arguments.get(1)) {
        Some(("send", interface)) => send(interface, number("--size"), number("--seconds"), number("--count"), number("--pps")),
        Some(("receive", interface)) => receive(interface, number("--gap-ns")),
        _ => Err("say frames send IF or frames receive IF".to_owned()),
    };
    match result {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("frames: {problem}");
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
) -> Result<serde_json::Value, String> {
    let transmitter = Transmitter::open(&Interface::named(interface)?)?;
    let size = size.unwrap_or(64).max(40) as usize;
    let mut head = vec![0; VNET];
    head.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    head.extend(KIND);
    head.resize(VNET + size, 0);
    let mut frames = vec![head; BATCH];
    let start = clock::now();
    let end = start + Span::from_millis(1000 * seconds.unwrap_or(3600));
    let (mut sent, most) = (0u64, count.unwrap_or(u64::MAX));
    let mut now = start;
    // at a rate, few at a time: so many that a wait is worth it
    let batch = pps.map_or(BATCH as u64, |pps| (pps / 20_000).clamp(1, BATCH as u64));
    while now < end && sent < most {
        if let Some(pps) = pps {
            let due = start + Span::from_nanos((u128::from(sent) * 1_000_000_000 / u128::from(pps)) as u64);
            if due.since(now) > Span::from_nanos(60_000) {
                clock::sleep_until(due - Span::from_nanos(50_000));
            }
            while clock::now() < due {
                std::hint::spin_loop();
            }
        }
        let batch = batch.min(most - sent) as usize;
        for (index, frame) in frames.iter_mut().take(batch).enumerate() {
            frame[VNET + 14..VNET + 22].copy_from_slice(&(sent + index as u64).to_be_bytes());
        }
        let outcome = transmitter.send(frames.iter().take(batch).map(Vec::as_slice));
        sent += outcome.done as u64;
        if outcome.rejected {
            return Err(format!("{interface} does not send"));
        }
        now = clock::now();
    }
    let seconds = clock::now().since(start).as_seconds();
    Ok(json!({ "sent": sent, "seconds": seconds, "pps": sent as f64 / seconds }))
}

fn receive(interface: &str, gap_ns: Option<u64>) -> Result<serde_json::Value, String> {
    let mut ring = Ring::open(&Interface::named(interface)?, 1518, None)?;
    let (mut count, mut reordered, mut next) = (0u64, 0u64, 0u64);
    let (mut bytes, mut first, mut last) = (0u64, None, Instant::ZERO);
    let mut gaps: Vec<u64> = Vec::with_capacity(if gap_ns.is_some() { 1 << 22 } else { 0 });
    let mut overflowed = 0;
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
        "overflowed": overflowed, "seconds": seconds, "rate_bps": bytes as f64 * 8.0 / seconds.max(1e-9),
        "pps": count as f64 / seconds.max(1e-9),
    });
    if let (Some(ideal), Some(all)) = (gap_ns, said.as_object_mut()) {
        let mut errors: Vec<u64> = gaps.iter().map(|gap| gap.abs_diff(ideal)).collect();
        errors.sort_unstable();
        let quantile = |q: f64| errors.get((errors.len() as f64 * q) as usize).map(|error| *error as f64 / 1e3);
        all.insert("gap_error_p50_us".to_owned(), json!(quantile(0.5)));
        all.insert("gap_error_p99_us".to_owned(), json!(quantile(0.99)));
    }
    Ok(said)
}

//! QLBP against Table II of Y. Cai, T. Wolf, W. Gong, "Delaying transmissions in data communication networks to improve
//! transport-layer performance", IEEE JSAC 29(5), 2011, section IV-B: the steady queue and delay under a constant-rate source.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]

use paceline_core::pacer::parameters::Value;
use paceline_core::pacer::{Pacer, parse};
use paceline_core::{Instant, Packet, Rate, Stage, Verdict};

/// Input rate (Mbit/s), pacing queue (packets), pacing delay (ms), as printed.
const TABLE_II: [(u64, u64, f64); 8] = [
    (1, 0, 0.0),
    (2, 0, 0.0),
    (4, 2, 4.0),
    (6, 4, 5.33),
    (8, 7, 7.0),
    (10, 9, 7.2),
    (12, 10, 6.67),
    (15, 10, 5.3),
];

/// mu_max 10 Mbit/s, mu_min 2 Mbit/s, Q_max 10 packets, packets of 1000 B.
const BYTES: u32 = 1000;

struct Sent {
    at: Instant,
}

impl Packet for Sent {
    fn bytes(&self) -> u32 {
        BYTES
    }
}

/// Queue just before an arrival, and delay, both in the steady state.
fn steady(rate_mbps: u64, link: Rate) -> (u64, f64) {
    let mut values = |name: &str| {
        let text = match name {
            "mu_min" => "2 Mbit/s",
            "mu_max" => "10 Mbit/s",
            "q_max" => "10 packets",
            _ => return None,
        };
        Some(Value::Text(text.to_owned()))
    };
    let spec = parse("qlbp", &mut values, link).expect("legal parameters");
    let mut pacer = Pacer::new(&spec, link);
    let (mut queue, mut delay_ns, mut counted) = (0, 0, 0u64);
    let last = 2_000;
    for index in 0..=last {
        let now = Instant::from_nanos(index * 8_000_000 / rate_mbps);
        while let Some(wakeup) = pacer.next_wakeup().filter(|wakeup| *wakeup <= now) {
            let packet: Sent = pacer.dequeue(wakeup).expect("due at its wake-up");
            if index > last / 2 {
                delay_ns += wakeup.since(packet.at).as_nanos();
                counted += 1;
            }
        }
        queue = pacer.held_packets();
        assert!(matches!(pacer.enqueue(Sent { at: now }, now), Verdict::Queued));
    }
    (queue, delay_ns as f64 / counted as f64 / 1e6)
}

#[test]
fn all_eight_rows() {
    // The paper does not print the rate of the link: any from 15 Mbit/s, the fastest source, gives the table.
    for link_mbps in [15, 100, 1_000] {
        let link = Rate::from_bits_per_second(link_mbps * 1_000_000);
        for (rate, queue, delay) in TABLE_II {
            let (found_queue, found_delay) = steady(rate, link);
            assert_eq!(found_queue, queue, "queue at {rate} Mbit/s, link {link_mbps} Mbit/s");
            assert!(
                (found_delay - delay).abs() < 0.04,
                "delay {found_delay} ms at {rate} Mbit/s, printed {delay}"
            );
        }
    }
}

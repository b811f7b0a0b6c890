//! What a run was, as JSON.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use crate::histogram::Histogram;
use crate::meters::{Cause, Flow, Meters};

/// What a summary says of the bypass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bypassed {
    /// Frames that went past the pacer.
    pub packets: u64,
    /// Their bytes, link header included.
    pub bytes: u64,
    /// How often the pacer had been away too long.
    pub trips: u64,
}

/// One direction; `seconds` is how long it ran.
///
/// ```
/// # use paceline_dataplane::{meters::Meters, summary};
/// let said = summary::direction("edge delay = 10 ms", &Meters::default(), None, 1.0);
/// assert_eq!((said["sent"]["packets"].as_u64(), said["delay"].as_object()), (Some(0), None));
/// ```
pub fn direction(method: &str, meters: &Meters, bypassed: Option<Bypassed>, seconds: f64) -> Value {
    let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
    let flow = |flow: &Flow| {
        json!({
            "packets": read(&flow.packets),
            "bytes": read(&flow.bytes),
            "rate_bps": read(&flow.bytes) as f64 * 8.0 / seconds.max(1e-9),
        })
    };
    let dropped: Map<String, Value> =
        Cause::ALL.iter().map(|(cause, name)| ((*name).to_owned(), meters.dropped(*cause).into())).collect();
    json!({
        "method": method,
        "received": flow(&meters.received),
        "sent": flow(&meters.sent),
        "dropped": dropped,
        "flushed_packets": read(&meters.flushed),
        "bypassed": bypassed.map(|b| json!({ "packets": b.packets, "bytes": b.bytes, "trips": b.trips })),
        "forgiven_s": read(&meters.forgiven_ns) as f64 / 1e9,
        "reordered_packets": read(&meters.reordered),
        "deadline_misses": read(&meters.deadline_misses),
        "unexplained_misses": read(&meters.unexplained_misses),
        "blocked": read(&meters.blocked),
        "socket_errors": read(&meters.socket_errors),
        "cpu_s": read(&meters.processor_ns) as f64 / 1e9,
        "delay": times(&meters.delay),
        "lateness": times(&meters.lateness),
        "burstiness": { "received": burstiness(&meters.received), "sent": burstiness(&meters.sent) },
    })
}

/// Coefficient of variation over the milliseconds of the last whole second.
///
/// ```
/// # use paceline_dataplane::{meters::Flow, summary};
/// let flow = Flow::default();
/// flow.burstiness_ppm.store(1_500_000, std::sync::atomic::Ordering::Relaxed);
/// assert_eq!(summary::burstiness(&flow), 1.5);
/// ```
pub fn burstiness(flow: &Flow) -> f64 {
    flow.burstiness_ppm.load(Ordering::Relaxed) as f64 / 1e6
}

fn times(histogram: &Histogram) -> Value {
    let micros = |nanos: u64| nanos as f64 / 1e3;
    histogram.summary().map_or(Value::Null, |summary| {
        json!({
            "mean_us": summary.mean / 1e3,
            "p50_us": micros(summary.p50),
            "p99_us": micros(summary.p99),
            "max_us": micros(summary.max),
        })
    })
}

//! Metrics for Prometheus, served on loopback.
//!
//! *References.* Prometheus text exposition format 0.0.4.

mod server;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bypass::Shared;
use crate::histogram::Histogram;
use crate::meters::{Cause, Meters};
use crate::summary::burstiness;
pub use server::{Listener, listen};

/// A direction to tell of.
#[derive(Debug, Clone)]
pub struct Told {
    /// `forward` or `reverse`.
    pub name: &'static str,
    /// What is measured.
    pub meters: Arc<Meters>,
    /// What lets traffic go past it.
    pub bypass: Option<Arc<Shared>>,
}

/// Bounds of the histograms' buckets, nanoseconds: 1-2-5 from 1 us to 1 s.
const BOUNDS: [u64; 19] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];

/// Serves them from a thread of its own until the program ends; where.
pub fn serve(listener: Listener, directions: Vec<Told>) -> Result<SocketAddr, String> {
    server::serve(listener, move || text(&directions))
}

/// All metrics.
///
/// ```
/// # use paceline_dataplane::{meters::Meters, metrics::{Told, text}};
/// let forward = Told { name: "forward", meters: Meters::default().into(), bypass: None };
/// assert!(text(&[forward]).contains("received_packets_total"));
/// ```
pub fn text(directions: &[Told]) -> String {
    let mut page = Page { text: String::new(), directions };
    let read = |value: &AtomicU64| value.load(Ordering::Relaxed) as f64;
    page.each("received_packets_total", "counter", "Frames that came in.", |m| read(&m.received.packets));
    page.each("received_bytes_total", "counter", "Bytes that came in.", |m| read(&m.received.bytes));
    page.each("sent_packets_total", "counter", "Frames that left.", |m| read(&m.sent.packets));
    page.each("sent_bytes_total", "counter", "Bytes that left.", |m| read(&m.sent.bytes));
    page.each(
        "flushed_packets_total",
        "counter",
        "Frames that left early because the queue was full.",
        |m| read(&m.flushed),
    );
    page.each("queue_packets", "gauge", "Frames held.", |m| read(&m.held_packets));
    page.each("queue_bytes", "gauge", "Bytes held.", |m| read(&m.held_bytes));
    page.each("deadline_misses_total", "counter", "Frames held longer than the method's bound.", |m| {
        read(&m.deadline_misses)
    });
    page.each(
        "unexplained_misses_total",
        "counter",
        "Of these, those that lateness does not explain.",
        |m| read(&m.unexplained_misses),
    );
    page.each("reordered_packets_total", "counter", "Frames that left after a later one.", |m| {
        read(&m.reordered)
    });
    page.each("socket_errors_total", "counter", "Times that the interface was found down.", |m| {
        read(&m.socket_errors)
    });
    page.each("blocked_total", "counter", "Times that the interface had no room.", |m| read(&m.blocked));
    page.each("forgiven_seconds_total", "counter", "Lateness too long to be made up for.", |m| {
        read(&m.forgiven_ns) / 1e9
    });
    page.each("cpu_seconds_total", "counter", "Processor time of the thread that paces.", |m| {
        read(&m.processor_ns) / 1e9
    });
    page.sides("rate_bits_per_second", "Rate in the last whole second.", |flow| read(&flow.rate_bps));
    let about = "Coefficient of variation over the milliseconds of the last whole second.";
    page.sides("burstiness", about, burstiness);
    page.head("dropped_packets_total", "counter", "Frames that did not leave, by cause.");
    for told in directions {
        for (cause, name) in Cause::ALL {
            let labels = format!("direction=\"{}\",cause=\"{name}\"", told.name);
            page.value("dropped_packets_total", &labels, told.meters.dropped(cause) as f64);
        }
    }
    page.bypass();
    page.histogram("added_delay_seconds", "From arrival to leaving.", |m| &m.delay);
    page.histogram("lateness_seconds", "What of that the method did not ask for.", |m| &m.lateness);
    page.text
}

struct Page<'a> {
    text: String,
    directions: &'a [Told],
}

impl Page<'_> {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP paceline_{name} {help}\n# TYPE paceline_{name} {kind}\n");
    }

    fn value(&mut self, name: &str, labels: &str, value: f64) {
        let _ = writeln!(self.text, "paceline_{name}{{{labels}}} {value}");
    }

    fn each(&mut self, name: &str, kind: &str, help: &str, value: impl Fn(&Meters) -> f64) {
        self.head(name, kind, help);
        for told in self.directions {
            self.value(name, &format!("direction=\"{}\"", told.name), value(&told.meters));
        }
    }

    fn sides(&mut self, name: &str, help: &str, value: impl Fn(&crate::meters::Flow) -> f64) {
        self.head(name, "gauge", help);
        for told in self.directions {
            for (side, flow) in [("in", &told.meters.received), ("out", &told.meters.sent)] {
                self.value(name, &format!("direction=\"{}\",side=\"{side}\"", told.name), value(flow));
            }
        }
    }

    fn bypass(&mut self) {
        type Read = fn(&crate::bypass::State) -> &AtomicU64;
        let values: [(&str, &str, &str, Read); 3] = [
            ("bypass_active", "gauge", "Whether traffic goes past the pacer.", |state| &state.latch),
            ("bypassed_packets_total", "counter", "Frames that went past it.", |state| &state.bypassed),
            ("bypass_trips_total", "counter", "Times that it was away too long.", |state| &state.trips),
        ];
        for (name, kind, help, read) in values {
            self.head(name, kind, help);
            for told in self.directions {
                if let Some(bypass) = &told.bypass {
                    let value = read(bypass.state()).load(Ordering::Relaxed) as f64;
                    self.value(name, &format!("direction=\"{}\"", told.name), value);
                }
            }
        }
    }

    fn histogram(&mut self, name: &str, help: &str, of: impl Fn(&Meters) -> &Histogram) {
        self.head(name, "histogram", help);
        for told in self.directions {
            let histogram = of(&told.meters);
            let direction = told.name;
            for bound in BOUNDS {
                let labels = format!("direction=\"{direction}\",le=\"{}\"", bound as f64 / 1e9);
                self.value(&format!("{name}_bucket"), &labels, histogram.at_most(bound) as f64);
            }
            let labels = format!("direction=\"{direction}\"");
            let count = histogram.at_most(u64::MAX) as f64;
            self.value(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), count);
            self.value(&format!("{name}_sum"), &labels, histogram.sum() as f64 / 1e9);
            self.value(&format!("{name}_count"), &labels, count);
        }
    }
}

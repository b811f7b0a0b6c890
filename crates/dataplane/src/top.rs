//! What goes on, drawn over itself on a terminal; one line a time where there is none.

use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use paceline_core::{Rate, Span};

use crate::meters::{Cause, Meters};
use crate::metrics::Told;
use crate::summary::burstiness;
use crate::sys::clock::is_writable;

/// What is drawn on.
#[derive(Debug)]
pub struct Top {
    terminal: bool,
    /// Lines drawn the last time.
    lines: usize,
}

impl Default for Top {
    fn default() -> Self {
        Top { terminal: std::io::stderr().is_terminal(), lines: 0 }
    }
}

impl Top {
    /// Draws it anew.
    pub fn draw(&mut self, directions: &[Told], methods: &[String]) {
        let lines: Vec<String> = directions
            .iter()
            .zip(methods)
            .flat_map(|(told, method)| match self.terminal {
                true => block(told, method),
                false => vec![format!("{}: {}", told.name, rates(&told.meters))],
            })
            .collect();
        let mut text = String::new();
        if self.terminal && self.lines > 0 {
            text += &format!("\x1b[{}A", self.lines); // up to the first line
        }
        for line in &lines {
            text += line;
            text += if self.terminal { "\x1b[K\n" } else { "\n" };
        }
        // a reader that has stopped reading is not waited for
        if is_writable(std::io::stderr().as_fd(), Span::ZERO) {
            self.lines = lines.len();
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}

fn block(told: &Told, method: &str) -> Vec<String> {
    let meters = &told.meters;
    let read = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
    let times = |histogram: &crate::histogram::Histogram| {
        histogram.summary().map_or("none yet".to_owned(), |s| {
            format!(
                "p50 {:.1} us, p99 {:.1} us, most {:.1} us",
                s.p50 as f64 / 1e3,
                s.p99 as f64 / 1e3,
                s.max as f64 / 1e3
            )
        })
    };
    let dropped: Vec<String> = Cause::ALL
        .iter()
        .map(|(cause, name)| (meters.dropped(*cause), name))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    let state = match &told.bypass {
        None => "no bypass".to_owned(),
        Some(bypass) => {
            let state = bypass.state();
            let word = if read(&state.latch) == 0 { "pacing" } else { "BYPASSED" };
            format!("{word}, {} past it, {} times away", read(&state.bypassed), read(&state.trips))
        }
    };
    vec![
        format!("{:8} {method}", told.name),
        format!("  rate   {}", rates(meters)),
        format!("  queue  {} packets, {} bytes", read(&meters.held_packets), read(&meters.held_bytes)),
        format!("  delay  {}", times(&meters.delay)),
        format!("  late   {}; {} deadlines missed", times(&meters.lateness), read(&meters.deadline_misses)),
        format!("  lost   {}", if dropped.is_empty() { "none".to_owned() } else { dropped.join(", ") }),
        format!("  state  {state}"),
    ]
}

fn rates(meters: &Meters) -> String {
    let side = |flow: &crate::meters::Flow| match flow.rate_bps.load(Ordering::Relaxed) {
        0 => "0 bit/s".to_owned(),
        rate => format!("{:.1} Mbit/s", Rate::from_bits_per_second(rate).bits_per_second() as f64 / 1e6),
    };
    format!(
        "in {} (burstiness {:.2}), out {} (burstiness {:.2})",
        side(&meters.received),
        burstiness(&meters.received),
        side(&meters.sent),
        burstiness(&meters.sent)
    )
}

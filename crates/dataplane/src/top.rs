//! What goes on, drawn over itself on a terminal; one line a time where there is none.

use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use paceline_core::{Rate, Span};

use crate::meters::{Cause, Meters};
use crate::metrics::Told;
use crate::summary::burstiness;
use crate::sys::clock::is_writable;
use crate::sys::terminal::columns;

/// What is drawn on.
#[derive(Debug, Default)]
pub struct Top {
    /// Columns of the terminal, where it is one.
    columns: Option<usize>,
    /// Lines drawn the last time.
    lines: usize,
}

impl Top {
    /// Draws it anew.
    pub fn draw(&mut self, directions: &[Told], methods: &[String]) {
        self.columns = std::io::stderr().is_terminal().then(|| columns(std::io::stderr()));
        let lines: Vec<String> = directions
            .iter()
            .zip(methods)
            .flat_map(|(told, method)| match self.columns {
                Some(columns) => {
                    block(told, method).iter().flat_map(|line| folded(line, columns)).collect::<Vec<_>>()
                }
                None => vec![format!("{}: {}", told.name, rates(&told.meters))],
            })
            .collect();
        let mut text = String::new();
        if self.columns.is_some() && self.lines > 0 {
            text += &format!("\x1b[{}A", self.lines); // up to the first line
        }
        for line in &lines {
            text += line;
            text += if self.columns.is_some() { "\x1b[K\n" } else { "\n" };
        }
        // a reader that has stopped reading is not waited for
        if is_writable(std::io::stderr().as_fd(), Span::ZERO) {
            self.lines = lines.len();
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }
}

/// A line as lines of so many columns, broken between words; what follows the first stands under its text.
fn folded(line: &str, columns: usize) -> Vec<String> {
    const INDENT: &str = "         ";
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        let blank = lines.last().is_none_or(|line| line.trim().is_empty());
        if !blank && last + word.trim_end().chars().count() > columns {
            lines.push(INDENT.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
    }
    lines
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

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn a_line_is_folded_between_words() {
        let line = "  rate   in 100.0 Mbit/s (burstiness 1.00), out 99.9 Mbit/s (burstiness 0.25)";
        for columns in [30, 40, 60, 80, 120] {
            let lines = folded(line, columns);
            assert!(lines.iter().all(|line| line.trim_end().chars().count() <= columns), "{lines:?}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(lines.iter().flat_map(|line| words(line)).collect::<Vec<_>>(), words(line));
        }
    }
}

//! Rows of results: flows, series, curves.

use crate::workload::Transfer;

/// One flow over the window.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowRow {
    /// Payload delivered in order a second, bit/s.
    pub goodput_bps: f64,
    /// A pacing method acts on it.
    pub paced: bool,
    /// It is a TCP connection.
    pub is_tcp: bool,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions of the window.
    pub window_cuts: u64,
    /// Packets delivered in order, and their summed delay from the first transmission, ns.
    pub delivered_packets: u64,
    /// See `delivered_packets`.
    pub delay_sum_ns: u64,
    /// Packets received, and their summed delay from the last transmission, ns.
    pub received_packets: u64,
    /// See `received_packets`.
    pub network_delay_sum_ns: u64,
    /// Its transfers that were complete within the window.
    pub transfers: Vec<Transfer>,
}

/// What a probe recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesRow {
    /// Where.
    pub link: u32,
    /// What.
    pub kind: SeriesKind,
    /// When.
    pub time_ns: u64,
    /// Whose packet; `u32::MAX` for a queue.
    pub flow: u32,
    /// The queue, or the packet on the wire.
    pub bytes: u64,
}

/// The kinds of series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesKind {
    /// Bytes that wait.
    Queue,
    /// A packet whose serialisation begins.
    Departure,
}

/// What an instrument found: y against x.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// `cwnd`, `rate_variation`, …
    pub instrument: &'static str,
    /// The link; empty where there is none.
    pub link: String,
    /// The flow or the class of flows, of drops their cause; empty where it is about none in particular.
    pub flow: String,
    /// Succession: who comes next.
    pub next: String,
    /// Unit of x.
    pub x_unit: &'static str,
    /// Unit of y.
    pub y_unit: &'static str,
    /// In ascending order of x.
    pub points: Vec<Point>,
}

impl Curve {
    pub(crate) fn at_link(
        instrument: &'static str,
        link: &str,
        units: (&'static str, &'static str),
        points: Vec<Point>,
    ) -> Self {
        let (link, (x_unit, y_unit)) = (link.to_owned(), units);
        Curve { instrument, link, flow: String::new(), next: String::new(), x_unit, y_unit, points }
    }

    pub(crate) fn of_flow(
        instrument: &'static str,
        flow: &str,
        units: (&'static str, &'static str),
        points: Vec<Point>,
    ) -> Self {
        Curve { flow: flow.to_owned(), ..Curve::at_link(instrument, "", units, points) }
    }
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Not a number where the instrument has no x.
    pub x: f64,
    /// What was found there.
    pub y: f64,
    /// How many observations stand behind it: 1 for a sample, windows of a scale, packets up to x of a distribution.
    pub count: u64,
}

//! Congestion window, slow-start threshold and smoothed round-trip time of a flow.
//!
//! *Idea.* Look at the sender whenever it has handled an acknowledgement or a timer, at that event's own time. With an
//! interval, the state that stood at each of its multiples is kept, what changed at that very instant included; without one,
//! every change.
//! *Parameters.* `every` (time, or `"change"`), which flows.
//! *Where it breaks.* Samples may miss a window that stands shorter than the interval. Every change of a long run is as many rows
//! as there are acknowledgements. The smoothed round-trip time is without ticks, whatever the clock of the profile.
//! *References.* RFC 5681, RFC 6298; the traced variables `cwnd_`, `ssthresh_`, `srtt_` of ns-2.

use super::classes::{FLOWS, FlowNames};
use super::described::{Described, Measure, Placed, Placing, View, at_flows};
use super::observer::Observer;
use super::rows::{Curve, FlowRow, Point};
use super::sampling::{EVERY, FROM, MOST_SAMPLES, TO, every};
use crate::input::keys::{Key, Kind};
use crate::input::{Result, ScenarioError, Table};
use crate::kernel::ids::FlowId;
use paceline_core::{Instant, Span};
use paceline_tcp::Sender;

/// The table `window`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Windows {
    flows: FlowNames,
    /// `None`: every change.
    every: Option<Span>,
}

/// In the place of an interval: at each change.
const CHANGE: &str = "change";

impl Described for Windows {
    const KEYS: &'static [Key] = &[
        Key { is_needed: true, ..FLOWS },
        Key {
            kind: Kind::Either(&[EVERY.kind, Kind::Word(|| vec![CHANGE])]),
            doc: "interval of the samples, or change for each change",
            ..EVERY
        },
        FROM,
        TO,
    ];
    const IS_OVER_TIME: bool = true;

    fn read(table: &Table<'_>, watched: (Instant, Instant)) -> Result<Self> {
        let flows = FlowNames::read(&table.required("flows", "\"bulk.0\"")?)?;
        let at_changes = table.get("every").is_some_and(|field| field.value().as_str() == Some(CHANGE));
        let every = if at_changes { None } else { Some(every(table, watched)?) };
        Ok(Windows { flows, every })
    }

    fn place(&self, placing: &Placing<'_>) -> Result<Vec<Placed>> {
        let mut flows = self.flows.find(placing.flows)?;
        flows.retain(|flow| placing.flows[*flow as usize].has_window);
        if flows.is_empty() {
            return Err(ScenarioError::at(&self.flows.path, "names no TCP flow; only TCP has a window"));
        }
        if let Some(every) = self.every {
            let (from, to) = placing.watched;
            let samples = to.since(from).as_nanos() / every.as_nanos() * flows.len() as u64;
            if samples > MOST_SAMPLES {
                let problem =
                    format!("{} flows make {samples} samples; write fewer, or a longer every", flows.len());
                return Err(ScenarioError::at(&self.flows.path, problem));
            }
        }
        Ok(at_flows(WindowsOf { flows, every: self.every }))
    }
}

/// Windows of these flows.
#[derive(Debug)]
struct WindowsOf {
    flows: Vec<FlowId>,
    every: Option<Span>,
}

impl Measure for WindowsOf {
    fn view(&self) -> View {
        View::Senders(self.flows.clone())
    }

    fn observer(&self, (from, to): (Instant, Instant)) -> Box<dyn Observer> {
        Box::new(Window::new(from, to, self.every))
    }

    fn points(&self, seconds: f64, packets: &dyn Fn(FlowId) -> f64) -> f64 {
        3.0 * match self.every {
            Some(every) => self.flows.len() as f64 * seconds / every.as_seconds().max(1e-9),
            None => self.flows.iter().map(|flow| packets(*flow)).sum(),
        }
    }

    fn sampling(&self) -> (Vec<FlowId>, Option<Span>) {
        (self.flows.clone(), self.every)
    }
}

/// One flow.
#[derive(Debug)]
struct Window {
    from: Instant,
    to: Instant,
    /// `None`: every change.
    every: Option<Span>,
    /// The next sample, or nothing recorded yet.
    next: Instant,
    state: State,
    states: Vec<(Instant, State)>,
}

/// Windows in packets; seconds, not a number before the first sample.
#[derive(Debug, Clone, Copy)]
struct State {
    cwnd: f64,
    ssthresh: u32,
    srtt_s: f64,
}

impl State {
    const UNKNOWN: State = State { cwnd: f64::NAN, ssthresh: 0, srtt_s: f64::NAN };

    fn of(sender: &Sender) -> Self {
        State {
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh(),
            srtt_s: sender.srtt_s().unwrap_or(f64::NAN),
        }
    }

    fn is(&self, other: &State) -> bool {
        self.cwnd.to_bits() == other.cwnd.to_bits()
            && self.ssthresh == other.ssthresh
            && self.srtt_s.to_bits() == other.srtt_s.to_bits()
    }
}

impl Window {
    fn new(from: Instant, to: Instant, every: Option<Span>) -> Self {
        Window { from, to, every, next: from, state: State::UNKNOWN, states: Vec::new() }
    }

    /// What stood until `now`.
    fn keep_before(&mut self, now: Instant) {
        while self.next < now.min(self.to) {
            self.states.push((self.next, self.state));
            self.next = self.every.map_or(Instant::MAX, |every| self.next + every);
        }
    }
}

impl Observer for Window {
    fn on_start(&mut self, sender: &Sender) {
        self.state = State::of(sender);
    }

    fn on_window(&mut self, sender: &Sender, now: Instant) {
        let state = State::of(sender);
        if state.is(&self.state) {
            return;
        }
        self.keep_before(now);
        self.state = state;
        if self.every.is_none() && self.from < now && now < self.to {
            self.states.pop_if(|(at, _)| *at == now);
            self.states.push((now, state));
        }
    }

    fn curves(mut self: Box<Self>, flow: &str, _: &[FlowRow], curves: &mut Vec<Curve>) {
        self.keep_before(Instant::MAX);
        for (instrument, y_unit) in [("cwnd", "packets"), ("ssthresh", "packets"), ("srtt", "s")] {
            let of = |state: &State| match instrument {
                "cwnd" => state.cwnd,
                "ssthresh" => f64::from(state.ssthresh),
                _ => state.srtt_s,
            };
            let mut points: Vec<Point> = Vec::new();
            for (at, state) in &self.states {
                let point = Point { x: at.as_seconds(), y: of(state), count: 1 };
                let stands = points.last().is_some_and(|last| last.y == point.y);
                if point.y.is_nan() || (self.every.is_none() && stands) {
                    continue;
                }
                points.push(point);
            }
            curves.push(Curve::of_flow(instrument, flow, ("s", y_unit), points));
        }
    }
}

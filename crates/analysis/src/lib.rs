//! What a capture's traffic is like, and what pacers would make of it, in one pass.
//!
//! *Idea.* Each packet is counted with its interface, and with its flow if that is asked for. Every pacer stands before the
//! output of every interface, all flows together, as it would in a router; what it lets go is counted in the same groups.
//! Memory is bounded: by the interfaces, by [`flows::MOST`] flows, and by what pacers hold.
//! *Where it breaks.* Packets keep the times at which they came: those of a closed loop such as TCP would have come otherwise
//! behind a pacer. A capture of both directions is one stream, unless its interfaces or a filter part them.

mod bursts;
pub mod connections;
mod cost;
mod counts;
pub mod flow_key;
pub mod flows;
mod fragments;
mod group;
mod lane;
mod round_trip;
pub mod scales;
mod segment;
mod series;
pub mod shaper;
mod stream;
mod written;

use std::fmt;

use paceline_capture::order::Order;
use paceline_capture::write::Writer;
use paceline_capture::{Capture, CaptureError};
use paceline_core::Instant;

pub use cost::CostReport;
pub use counts::Counts;
use flow_key::FlowKeys;
use flows::{Flows, Rest};
use group::Group;
pub use group::{GroupReport, PacedReport};
use lane::{Fate, Held, Lane};
use scales::SHORTEST_NS;
pub use series::RateSeries;
use shaper::Shaper;
pub use stream::StreamReport;
use written::Written;

/// What to look at.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Flows one by one, beside interfaces.
    pub by_flow: bool,
    /// How many flows to show.
    pub top: usize,
    /// A longer gap ends a burst, nanoseconds.
    pub burst_gap_ns: u64,
    /// What to put the packets through.
    pub shapers: Vec<Shaper>,
}

impl Default for Options {
    fn default() -> Options {
        Options { by_flow: false, top: 10, burst_gap_ns: 100 * SHORTEST_NS, shapers: Vec::new() }
    }
}

/// What there is to say of a capture.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Analysis {
    /// `"pcap"` or `"pcapng"`.
    pub format: &'static str,
    /// How many packets there were.
    pub packets: u64,
    /// Where and why it could not be read further; `None` if it was read whole.
    pub broken: Option<Broken>,
    /// Packets left out because the capture has no time for them.
    pub untimed_packets: u64,
    /// Packets left out because the time that the capture has for them cannot be, see [`Capture::mistimed`].
    pub mistimed_packets: u64,
    /// Packets that were older than the one before them, and counted at its time.
    pub backwards_packets: u64,
    /// The most by which one was, seconds.
    pub backwards_most_s: f64,
    /// A longer gap ends a burst, seconds.
    pub burst_gap_s: f64,
    /// Interfaces that have packets, in the order of the capture.
    pub interfaces: Vec<GroupReport>,
    /// The largest flows, if they were asked for.
    pub flows: Option<Vec<GroupReport>>,
    /// All other flows.
    pub other_flows: Option<Rest>,
    /// What a flow's bytes may lack at most, see [`flows`].
    pub flow_shortfall_bytes: u64,
}

/// Where a capture breaks off.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Broken {
    /// The first byte that could not be read, of the uncompressed data.
    pub byte: u64,
    /// The whole line.
    pub problem: String,
}

/// Why there is no analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnalysisError {
    /// The capture has no packet that could be read, or frames that must be understood and are not.
    Capture(CaptureError),
    /// The paced capture cannot be written.
    Write(String),
    /// It was asked to stop.
    Cancelled,
}

impl fmt::Display for AnalysisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnalysisError::Capture(error) => error.fmt(f),
            AnalysisError::Write(problem) => f.write_str(problem),
            AnalysisError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for AnalysisError {}

/// Between two reports of how far it is, packets.
const REPORT_EVERY: u64 = 1 << 12;
/// Significant digits that are kept of an interface's delays, and of a flow's.
const DIGITS: (u8, u8) = (3, 2);

/// Reads a capture to its end. What the first shaper lets go is written to `writer`. `reached` is called now and then with how many bytes of
/// the file have been read; where it returns false, the analysis is cancelled.
pub fn analyse(
    mut capture: Capture,
    options: &Options,
    writer: Option<Writer<'_>>,
    mut reached: impl FnMut(u64) -> bool,
) -> Result<Analysis, AnalysisError> {
    let mut keys = FlowKeys::default();
    let mut places: Vec<Option<Place>> = Vec::new();
    let mut flows = Flows::default();
    let mut written = writer.map(Written::new);
    let progress = capture.progress();
    let new_flow = || Group::new(options.burst_gap_ns, options.shapers.len(), DIGITS.1);
    let broken = loop {
        if capture.packets().is_multiple_of(REPORT_EVERY) && !reached(progress.bytes()) {
            return Err(AnalysisError::Cancelled);
        }
        let (record, interfaces) = match capture.read_beside() {
            Ok(Some(both)) => both,
            Ok(None) => break None,
            Err(CaptureError::Broken { packets, at, uncompressed, problem }) if packets > 0 => {
                let whole = CaptureError::Broken { packets, at, uncompressed, problem };
                break Some(Broken { byte: at, problem: whole.to_string() });
            }
            Err(error) => return Err(AnalysisError::Capture(error)),
        };
        let number = record.interface as usize;
        if number >= places.len() {
            places.resize_with(number + 1, || None);
        }
        let Some(interface) = interfaces.get(number) else { continue };
        let flow = if options.by_flow {
            let key = keys.of(interface.link_type, record.frame).map_err(|_| {
                let (interface, link_type) = (record.interface, interface.link_type);
                AnalysisError::Capture(CaptureError::UnknownLinkType { interface, link_type })
            })?;
            Some(flows.id_of(record.interface, key, new_flow))
        } else {
            None
        };
        let Some(place) = places.get_mut(number) else { continue };
        let place = place.get_or_insert_with(|| Place::new(options, written.is_some()));
        let time_ns = place.order.hold(record.time_ns);
        place.group.arrives(time_ns, record.bytes);
        if let Some(group) = flow.and_then(|id| flows.get_mut(id)) {
            group.arrives(time_ns, record.bytes);
        }
        let packet = Held { time_ns, bytes: record.bytes, flow };
        place.through(&mut flows, written.as_mut(), record.interface, |lane, tell| {
            lane.arrive(packet, record.frame, tell);
        });
        if let Some(written) = &mut written {
            let settled = written.settled(time_ns, interfaces.len());
            if interfaces.len() > 1 {
                let at = Instant::from_nanos(settled);
                for (number, place) in places.iter_mut().enumerate() {
                    let Some(place) = place else { continue };
                    place.through(&mut flows, Some(written), number as u32, |lane, tell| {
                        lane.until(at, tell);
                    });
                }
            }
            written.release(settled, interfaces).map_err(AnalysisError::Write)?;
        }
    };
    for (number, place) in places.iter_mut().enumerate() {
        let Some(place) = place else { continue };
        place.through(&mut flows, written.as_mut(), number as u32, |lane, tell| lane.finish(tell));
    }
    if let Some(written) = written {
        written.finish(capture.interfaces()).map_err(AnalysisError::Write)?;
    }
    Ok(report(&capture, options, places, flows, broken))
}

/// An interface that has packets.
struct Place {
    order: Order,
    group: Group,
    lanes: Vec<Lane>,
}

impl Place {
    fn new(options: &Options, written: bool) -> Place {
        let shapers = options.shapers.iter().enumerate();
        Place {
            order: Order::default(),
            group: Group::new(options.burst_gap_ns, options.shapers.len(), DIGITS.0),
            lanes: shapers.map(|(number, shaper)| Lane::new(shaper, written && number == 0)).collect(),
        }
    }

    /// Does something with every lane, and counts what leaves and what is dropped.
    #[inline]
    fn through(
        &mut self,
        flows: &mut Flows,
        mut written: Option<&mut Written<'_>>,
        number: u32,
        mut act: impl FnMut(&mut Lane, &mut dyn FnMut(&Held, Fate<'_>)),
    ) {
        for (pacer, lane) in self.lanes.iter_mut().enumerate() {
            let group = &mut self.group;
            act(lane, &mut |packet, fate| {
                let flow = packet.flow.and_then(|id| flows.get_mut(id));
                match fate {
                    Fate::Leaves(start_ns, frame) => {
                        group.leaves(pacer, packet.time_ns, start_ns, packet.bytes);
                        if let Some(flow) = flow {
                            flow.leaves(pacer, packet.time_ns, start_ns, packet.bytes);
                        }
                        if let (0, Some(written)) = (pacer, written.as_deref_mut()) {
                            written.take(start_ns, packet.bytes, number, frame);
                        }
                    }
                    Fate::Dropped => {
                        group.drops(pacer, packet.bytes);
                        if let Some(flow) = flow {
                            flow.drops(pacer, packet.bytes);
                        }
                    }
                }
            });
        }
    }
}

fn report(
    capture: &Capture,
    options: &Options,
    places: Vec<Option<Place>>,
    flows: Flows,
    broken: Option<Broken>,
) -> Analysis {
    let pacers: Vec<String> = options.shapers.iter().map(|shaper| shaper.name.clone()).collect();
    let name_of = |number: u32| {
        let name = capture.interfaces().get(number as usize).and_then(|interface| interface.name.clone());
        name.unwrap_or_else(|| format!("interface {number}"))
    };
    let orders = || places.iter().flatten().map(|place| place.order);
    let (backwards_packets, most) =
        (orders().map(|order| order.backwards).sum(), orders().map(|order| order.most_ns).max());
    let several = places.iter().flatten().count() > 1;
    let shortfall = flows.shortfall_bytes;
    let (shown, rest) = flows.finish(options.top);
    let flows = shown.into_iter().map(|((interface, key), group)| {
        let at = if several { format!(" ({})", name_of(interface)) } else { String::new() };
        group.finish(format!("{key}{at}"), interface, &pacers)
    });
    Analysis {
        format: capture.format().name(),
        packets: capture.packets(),
        broken,
        untimed_packets: capture.untimed(),
        mistimed_packets: capture.mistimed(),
        backwards_packets,
        backwards_most_s: most.unwrap_or(0) as f64 / 1e9,
        burst_gap_s: options.burst_gap_ns as f64 / 1e9,
        flows: options.by_flow.then(|| flows.collect()),
        other_flows: options.by_flow.then_some(rest),
        flow_shortfall_bytes: shortfall,
        interfaces: places
            .into_iter()
            .enumerate()
            .filter_map(|(number, place)| {
                let number = number as u32;
                Some(place?.group.finish(name_of(number), number, &pacers))
            })
            .collect(),
    }
}

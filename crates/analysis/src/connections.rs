//! TCP connections of a capture: who sent how much, when, over which round trip.
//!
//! *Idea.* Both ways of a connection are one entry. What a side sends is parted into transfers: data that follow when all before them was
//! acknowledged, and [`PAUSE_NS`] have passed, are a new one. [`MOST`] connections and [`MOST_TRANSFERS`] transfers are held; later ones are
//! counted.
//! *Where it breaks.* Two packets captured of one, on two interfaces, are of two connections. Acknowledgements that were not captured part no
//! transfers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::net::SocketAddr;

use paceline_capture::order::Order;
use paceline_capture::{Capture, CaptureError};

use super::round_trip::RoundTrip;
use super::segment::Segment;
use super::{AnalysisError, Broken, REPORT_EVERY};

/// Connections held.
pub const MOST: usize = 1 << 16;
/// Transfers held, of all connections.
pub const MOST_TRANSFERS: usize = 1 << 20;
/// Data after so long without any are another transfer, if nothing was under way. Linux's least retransmission timeout is as long.
pub const PAUSE_NS: u64 = 200_000_000;

/// The connections of a capture.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Connections {
    /// Packets that were read.
    pub packets: u64,
    /// Of these, segments of TCP.
    pub segments: u64,
    /// Where the capture could not be read further.
    pub broken: Option<Broken>,
    /// From the first segment to the last, seconds.
    pub duration_s: f64,
    /// In the order of their first segments.
    pub connections: Vec<Connection>,
    /// Segments of connections beyond [`MOST`].
    pub beyond: u64,
}

/// One connection. Times are seconds from the capture's first segment.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Connection {
    /// The side that sent more data, as `10.0.0.1:5001`.
    pub source: String,
    /// The other.
    pub destination: String,
    /// Where it was captured.
    pub interface: u32,
    /// Its first segment.
    pub start_s: f64,
    /// Its last.
    pub end_s: f64,
    /// Whether a SYN was seen.
    pub opened: bool,
    /// Whether a FIN or RST was.
    pub closed: bool,
    /// Segments with data of the source.
    pub data_segments: u64,
    /// IP bytes of these.
    pub data_bytes: u64,
    /// What of their data was new.
    pub payload: u64,
    /// The most data in one, bytes.
    pub largest: u32,
    /// The most data that both sides take in a segment, as their SYNs say.
    pub mss: Option<u16>,
    /// Whether segments have timestamps.
    pub timestamps: bool,
    /// Round trip by the handshake, what waits in queues included.
    pub handshake_s: Option<f64>,
    /// Round trip by timestamps, the least seen.
    pub echo_s: Option<f64>,
    /// Of the source: start, end and bytes of each.
    pub transfers: Vec<(f64, f64, u64)>,
}

/// A connection is known by where it was captured, and its ends, the lesser first.
type Key = (u32, SocketAddr, SocketAddr);

#[derive(Debug, Default)]
struct Side {
    data_segments: u64,
    data_bytes: u64,
    payload: u64,
    largest: u32,
    most: Option<u16>,
    /// The sequence number behind the last byte sent, and the last one that was acknowledged.
    sent: Option<u32>,
    acknowledged: Option<u32>,
    last_data_ns: u64,
    transfers: Vec<(u64, u64, u64)>,
}

#[derive(Debug, Default)]
struct State {
    start_ns: u64,
    end_ns: u64,
    opened: bool,
    closed: bool,
    timestamps: bool,
    trip: RoundTrip,
    sides: [Side; 2],
}

/// Reads a capture to its end, as [`super::analyse`] does.
pub fn connections(
    mut capture: Capture,
    mut reached: impl FnMut(u64) -> bool,
) -> Result<Connections, AnalysisError> {
    let mut states: HashMap<Key, State, BuildHasherDefault<DefaultHasher>> = HashMap::default();
    let mut keys: Vec<Key> = Vec::new();
    let mut found = Connections::default();
    let mut order = Order::default();
    let mut transfers = 0;
    let progress = capture.progress();
    loop {
        if capture.packets().is_multiple_of(REPORT_EVERY) && !reached(progress.bytes()) {
            return Err(AnalysisError::Cancelled);
        }
        let (record, interfaces) = match capture.read_beside() {
            Ok(Some(both)) => both,
            Ok(None) => break,
            Err(error @ CaptureError::Broken { packets, at, .. }) if packets > 0 => {
                found.broken = Some(Broken { byte: at, problem: error.to_string() });
                break;
            }
            Err(error) => return Err(AnalysisError::Capture(error)),
        };
        let Some(interface) = interfaces.get(record.interface as usize) else { continue };
        let link_type = interface.link_type;
        let segment = Segment::of(link_type, record.frame, record.bytes).map_err(|_| {
            AnalysisError::Capture(CaptureError::UnknownLinkType { interface: record.interface, link_type })
        })?;
        let Some(segment) = segment else { continue };
        found.segments += 1;
        let now_ns = order.hold(record.time_ns);
        let side = usize::from(segment.source > segment.destination);
        let ends = if side == 0 {
            (segment.source, segment.destination)
        } else {
            (segment.destination, segment.source)
        };
        let key = (record.interface, ends.0, ends.1);
        let held = keys.len();
        let state = match states.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if held >= MOST => {
                found.beyond += 1;
                continue;
            }
            Entry::Vacant(entry) => {
                keys.push(key);
                entry.insert(State { start_ns: now_ns, ..State::default() })
            }
        };
        state.segment(side, &segment, now_ns, &mut transfers);
    }
    found.packets = capture.packets();
    let begin_ns =
        keys.iter().filter_map(|key| states.get(key)).map(|state| state.start_ns).min().unwrap_or(0);
    let end_ns = states.values().map(|state| state.end_ns).max().unwrap_or(0);
    found.duration_s = seconds(end_ns.saturating_sub(begin_ns));
    for key in keys {
        if let Some(state) = states.remove(&key) {
            found.connections.push(state.finish(key, begin_ns));
        }
    }
    Ok(found)
}

impl State {
    fn segment(&mut self, side: usize, segment: &Segment, now_ns: u64, transfers: &mut usize) {
        self.end_ns = now_ns;
        self.opened |= segment.syn;
        self.closed |= segment.ends;
        self.timestamps |= segment.timestamps.is_some();
        if segment.syn {
            self.trip.syn(side, segment.acknowledged.is_some(), now_ns);
        } else if segment.acknowledged.is_some() {
            self.trip.acknowledges(side, now_ns);
        }
        if let Some((value, echo)) = segment.timestamps {
            self.trip.timestamps(side, value, echo, now_ns);
        }
        let [first, second] = &mut self.sides;
        let (own, other) = if side == 0 { (first, second) } else { (second, first) };
        if let Some(number) = segment.acknowledged {
            advance(&mut other.acknowledged, number);
        }
        if segment.syn {
            own.most = segment.most;
        }
        if segment.payload > 0 {
            own.data(segment, now_ns, transfers);
        }
    }

    fn finish(self, (interface, low, high): Key, begin_ns: u64) -> Connection {
        let [first, second] = self.sides;
        let mss = first.most.zip(second.most).map(|(one, other)| one.min(other));
        let (side, source, destination) =
            if second.payload > first.payload { (second, high, low) } else { (first, low, high) };
        let since = |time_ns: u64| seconds(time_ns.saturating_sub(begin_ns));
        Connection {
            source: source.to_string(),
            destination: destination.to_string(),
            interface,
            start_s: since(self.start_ns),
            end_s: since(self.end_ns),
            opened: self.opened,
            closed: self.closed,
            data_segments: side.data_segments,
            data_bytes: side.data_bytes,
            payload: side.payload,
            largest: side.largest,
            mss,
            timestamps: self.timestamps,
            handshake_s: self.trip.of_handshake().map(seconds),
            echo_s: self.trip.of_timestamps().map(seconds),
            transfers: side
                .transfers
                .into_iter()
                .map(|(start, end, bytes)| (since(start), since(end), bytes))
                .collect(),
        }
    }
}

impl Side {
    fn data(&mut self, segment: &Segment, now_ns: u64, transfers: &mut usize) {
        self.data_segments += 1;
        self.data_bytes += u64::from(segment.bytes);
        self.largest = self.largest.max(segment.payload);
        let is_idle = self.sent.is_none() || self.sent == self.acknowledged;
        let end = segment.sequence.wrapping_add(segment.payload);
        let before = self.sent;
        advance(&mut self.sent, end);
        let new = before.map_or(segment.payload, |before| end.wrapping_sub(before).min(segment.payload));
        let new = if before.is_some_and(|before| !is_after(end, before)) { 0 } else { new };
        self.payload += u64::from(new);
        let is_next = is_idle && now_ns.saturating_sub(self.last_data_ns) > PAUSE_NS;
        match self.transfers.last_mut() {
            Some((_, last, bytes)) if !is_next || *transfers >= MOST_TRANSFERS => {
                *last = now_ns;
                *bytes += u64::from(new);
            }
            _ => {
                *transfers += 1;
                self.transfers.push((now_ns, now_ns, u64::from(new)));
            }
        }
        self.last_data_ns = now_ns;
    }
}

/// To a later sequence number.
fn advance(reached: &mut Option<u32>, number: u32) {
    if reached.is_none_or(|reached| is_after(number, reached)) {
        *reached = Some(number);
    }
}

fn is_after(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) > 0
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

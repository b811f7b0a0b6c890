//! What a run of a network may take at most: memory and events, before anything runs.
//!
//! *Idea.* Memory is the network's own, and a place for each packet that can wait, be on a wire or be sent at once, for each row
//! that is recorded and for each slot of noise made beforehand. How many packets that is follows from windows, buffers, rates and
//! the duration. One pass over flows and links.
//! *Parameters.* Bytes of each, measured on whole processes (`tests/test_bounds.py` compares the bound with them). A list that grows
//! by doubling is there twice while it is copied.
//! *Where it breaks.* It is a bound, not a forecast: windows need not grow to `max_window`, and who is limited by an application
//! sends less. A source's bursts above its mean rate are taken to fit in what else is counted.

use paceline_core::Span;
use paceline_core::queue::Limit;
use std::cell::OnceCell;

use super::{FlowId, FlowKind, FlowSpec, LinkSpec, Network, Part, ProbeKind};
use crate::workload::open_loop::Timing;

/// Of a flow with both its ends and its routes, a link, and a host, bytes.
const FLOW: f64 = 1000.0;
const LINK: f64 = 250.0;
const HOST: f64 = 80.0;
/// Of a packet that waits or is on its way, bytes: its event, and room in lists that grow by doubling.
const PACKET: f64 = 96.0;
/// Of a packet that is sent at once with others: in the sender's list, and in the link's.
const BURST: f64 = 224.0;
/// Of a row of a series or a point of a curve, as columns of Python too.
const ROW: f64 = 192.0;
/// Of a transfer that has ended.
const TRANSFER: f64 = 96.0;
/// Of a slot of noise for as long as it is made, and afterwards.
const SLOT_MADE: f64 = 72.0;
const SLOT: f64 = 8.0;

/// What a run may take at most.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Of memory, the process itself not counted.
    pub memory_bytes: u64,
    /// Packets that reach a link or a host, acknowledgements too: what there is to do.
    pub events: u64,
    /// What takes the most of the memory, in words.
    pub mostly: String,
}

/// Packets of all flows at a link.
#[derive(Debug, Clone, Copy, Default)]
struct Passing {
    /// What comes of sources without feedback, bit/s: from sources whose first link it is.
    fresh_bps: f64,
    /// And from other links, as far as these can carry it.
    carried_bps: f64,
    /// Packets of TCP that may be under way, and of these, what may be sent before anything is acknowledged.
    window: f64,
    at_once: f64,
    /// Packets that may come in the whole run.
    packets: f64,
    /// The smallest, bytes.
    smallest: f64,
}

impl Network {
    /// What a run may take at most.
    pub fn estimate(&self) -> Estimate {
        let seconds = self.duration.as_seconds();
        let mut passing = vec![Passing { smallest: f64::INFINITY, ..Passing::default() }; self.links.len()];
        let mut parts = Parts::default();
        let own =
            FLOW * self.flows.len() as f64 + LINK * self.links.len() as f64 + HOST * self.hosts.len() as f64;
        parts.add(own, || format!("{} flows and {} links", self.flows.len(), self.links.len()));
        let shares = Shares::of(self);
        // what windows may grow by at each link, as flows' acknowledgements let them, and as `max_window` does
        let mut growth = vec![0.0; self.links.len()];
        let (mut at_once, mut transfers, mut slots, mut most_slots) = (0.0, 0.0, 0.0, 0.0_f64);
        let mut events = 0.0;
        for flow in &self.flows {
            let sent = Sent::by(flow, self, &shares);
            at_once += sent.at_once;
            transfers += sent.transfers;
            slots += sent.slots;
            most_slots = most_slots.max(sent.slots);
            growth[shares.narrowest(flow) as usize] += sent.window - sent.at_once;
            events += 2.0 * sent.packets;
            let mut before: Option<&LinkSpec> = None;
            for &link in &flow.forward {
                let at = &mut passing[link as usize];
                match before {
                    None => at.fresh_bps += sent.open_bps,
                    Some(before) => at.carried_bps += sent.open_bps.min(before.rate.bits_per_second() as f64),
                }
                at.window += sent.window;
                at.at_once += sent.at_once;
                at.packets += sent.packets;
                at.smallest = at.smallest.min(sent.bytes);
                before = Some(&self.links[link as usize]);
            }
            events += sent.packets * flow.reverse.len() as f64;
        }
        parts.add(BURST * at_once, || format!("first windows of {at_once:.2e} packets"));
        parts.add(TRANSFER * transfers, || format!("{transfers:.2e} transfers"));
        parts.add(SLOT * slots + SLOT_MADE * most_slots, || format!("{slots:.2e} slots of noise"));

        let (mut windows, mut waiting_tcp) = (at_once, 0.0);
        for (link_at, (link, at)) in self.links.iter().zip(&passing).enumerate() {
            if at.packets == 0.0 {
                continue;
            }
            let bits = 8.0 * at.smallest;
            let rate = link.rate.bits_per_second() as f64;
            let carried = (rate * seconds / bits).min(at.packets);
            let longest = link.delay + link.fitting.jitter.map_or(Span::ZERO, |jitter| jitter.most());
            let on_wire = (rate * longest.as_seconds() / bits).min(carried) + 1.0;
            let excess = (at.fresh_bps + at.carried_bps - rate).max(0.0) * seconds / bits;
            let memory = self.memory_of(link_at as u32).map(|memory| memory.size);
            let places = places(link, at.smallest).min(most(memory, at.smallest));
            let open = if at.fresh_bps + at.carried_bps > 0.0 { excess.min(places) + on_wire } else { 0.0 };
            parts.add(PACKET * open, || format!("{open:.2e} packets that wait at {}", link.name));
            // each acknowledgement lets a window grow by a packet at most
            waiting_tcp += at.window.min(at.at_once + carried).min(places + on_wire);
            windows += growth[link_at].min(carried);
            events += at.packets.min(places + carried + at.at_once);
        }
        let tcp = windows.min(waiting_tcp);
        parts.add(PACKET * tcp, || format!("{tcp:.2e} packets in windows"));
        self.add_records(&passing, &mut parts);
        let whole = |number: f64| number as u64; // saturates
        Estimate { memory_bytes: whole(parts.sum), events: whole(events), mostly: parts.mostly }
    }

    /// What is recorded.
    fn add_records(&self, passing: &[Passing], parts: &mut Parts) {
        for probe in &self.probes {
            let (name, over) =
                (&self.links[probe.link as usize].name, probe.to.since(probe.from).as_seconds());
            let rows = match probe.what {
                ProbeKind::Queue { every } => over / every.as_seconds().max(1e-9),
                ProbeKind::Departures => self.departures(probe.link, over, passing),
            };
            parts.add(ROW * rows, || format!("{rows:.2e} rows of a series of {name}"));
        }
        let shares = OnceCell::new();
        let packets = |flow: FlowId| {
            let shares = shares.get_or_init(|| Shares::of(self));
            Sent::by(&self.flows[flow as usize], self, shares).packets
        };
        for instrument in &self.instruments {
            let over = instrument.to.since(instrument.from).as_seconds();
            let points = instrument.what.points(over, &packets);
            parts.add(ROW * points, || format!("{points:.2e} points of an instrument"));
        }
    }

    /// Packets that may leave a link in so many seconds.
    fn departures(&self, link: u32, seconds: f64, passing: &[Passing]) -> f64 {
        let at = &passing[link as usize];
        if at.packets == 0.0 {
            return 0.0;
        }
        let rate = self.links[link as usize].rate.bits_per_second() as f64;
        (rate * seconds / (8.0 * at.smallest)).min(at.packets)
    }
}

/// The sum, and who has the greatest share of it.
#[derive(Debug, Default)]
struct Parts {
    sum: f64,
    largest: f64,
    mostly: String,
}

impl Parts {
    fn add(&mut self, bytes: f64, name: impl FnOnce() -> String) {
        self.sum += bytes;
        if bytes > self.largest {
            self.largest = bytes;
            self.mostly = name();
        }
    }
}

/// What a flow may send.
#[derive(Debug, Default)]
struct Sent {
    /// A packet, bytes on the wire.
    bytes: f64,
    /// In the whole run.
    packets: f64,
    /// TCP: under way, and before anything is acknowledged.
    window: f64,
    at_once: f64,
    /// Without feedback, bit/s.
    open_bps: f64,
    transfers: f64,
    slots: f64,
}

impl Sent {
    fn by(flow: &FlowSpec, network: &Network, shares: &Shares) -> Sent {
        let seconds = (network.duration.as_seconds() - flow.start.as_seconds()).max(0.0);
        let bytes = f64::from(flow.packet_bytes().max(1));
        let carried = shares.bps[shares.narrowest(flow) as usize] * seconds / (8.0 * bytes);
        match &flow.kind {
            FlowKind::OpenLoop { timing, .. } => {
                let open_bps = timing.mean_bps() as f64;
                let packets = match &**timing {
                    Timing::Replay(schedule) => schedule.packets.len() as f64,
                    _ => open_bps * seconds / (8.0 * bytes),
                };
                Sent { bytes, packets, open_bps, slots: slots_of(flow, seconds), ..Sent::default() }
            }
            FlowKind::Bulk { tcp, packets } => {
                let most = packets.map_or(f64::INFINITY, |packets| packets as f64);
                let window = f64::from(tcp.max_window).min(most);
                let at_once = f64::from(tcp.initial_window).min(window);
                // what is lost is sent again
                Sent {
                    bytes,
                    packets: (2.0 * (carried + at_once)).min(2.0 * most),
                    window,
                    at_once,
                    ..Sent::default()
                }
            }
            FlowKind::Dialogue { tcp, part } => {
                let window = f64::from(tcp.max_window);
                let at_once = f64::from(tcp.initial_window).min(window);
                let back = flow.reverse.iter().chain(&flow.forward);
                let round_trip: f64 = back.map(|&link| network.links[link as usize].delay.as_seconds()).sum();
                let packets = 2.0 * (carried + at_once);
                // messages may be of a byte
                let small = packets * bytes / (f64::from(tcp.header) + 1.0);
                let transfers = match part {
                    Part::Opens(_) => (seconds / round_trip.max(1e-9)).min(small),
                    Part::Answers => 0.0,
                };
                Sent { bytes, packets, window, at_once, transfers, ..Sent::default() }
            }
        }
    }
}

/// What each link has for each of its flows, bit/s: summed over a link's flows no more than it carries.
#[derive(Debug)]
struct Shares {
    bps: Vec<f64>,
}

impl Shares {
    fn of(network: &Network) -> Shares {
        let mut flows = vec![0_u32; network.links.len()];
        for flow in &network.flows {
            flow.forward.iter().for_each(|&link| flows[link as usize] += 1);
        }
        let share =
            |(link, flows): (&LinkSpec, u32)| link.rate.bits_per_second() as f64 / f64::from(flows.max(1));
        Shares { bps: network.links.iter().zip(flows).map(share).collect() }
    }

    /// The link of a flow's way with the least for it.
    fn narrowest(&self, flow: &FlowSpec) -> u32 {
        let bps = |link: u32| self.bps[link as usize];
        flow.forward.iter().copied().min_by(|a, b| bps(*a).total_cmp(&bps(*b))).unwrap_or(0)
    }
}

/// Slots of noise that are made for a flow before it starts.
fn slots_of(flow: &FlowSpec, seconds: f64) -> f64 {
    match &flow.kind {
        FlowKind::OpenLoop { timing, .. } => match &**timing {
            Timing::SelfSimilar(spec) => seconds / spec.slot.as_seconds().max(1e-9),
            _ => 0.0,
        },
        _ => 0.0,
    }
}

/// How many packets of this size can wait at a link, its pacer's included.
fn places(link: &LinkSpec, bytes: f64) -> f64 {
    let pacer = link.fitting.pacer.as_ref().map_or(0.0, |pacer| most(pacer.limit, bytes));
    most(link.fitting.buffer.limit, bytes) + pacer
}

/// How many packets of this size a limit lets wait.
fn most(limit: Option<Limit>, bytes: f64) -> f64 {
    match limit {
        None => f64::INFINITY,
        Some(Limit::Packets(packets)) => packets as f64,
        Some(Limit::Bytes(limit)) => limit as f64 / bytes + 1.0,
    }
}

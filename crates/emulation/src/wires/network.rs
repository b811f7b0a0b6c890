//! Packets on their ways over links, in virtual time. Reads no clock: time is an argument.

use super::frame::{self, ETHERNET, Segment};
use super::link::{Admitted, Link, LinkFound};
use super::plan::{FlowPlan, Plan};
use paceline_core::{Instant, Span};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A packet under way, of which only what links need is copied about: its number and its size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parcel {
    pub(crate) id: u32,
    pub(crate) bytes: u32,
}

impl paceline_core::Packet for Parcel {
    fn bytes(&self) -> u32 {
        self.bytes
    }
}

/// A packet as it came, with room for an Ethernet header before it.
#[derive(Debug, Default)]
struct Travelling {
    frame: Vec<u8>,
    flow: u32,
    forward: bool,
    payload: u32,
    /// Links behind it.
    hop: usize,
    /// When its host sent it.
    sent: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet reaches the next link of its way, or its end.
    Arrive(u32),
    /// A pacer wants to be asked.
    Wake(u32),
}

/// A packet for a device, now.
#[derive(Debug)]
pub struct Delivery<'a> {
    /// The device, by number.
    pub port: usize,
    /// As the device takes it.
    pub frame: &'a [u8],
    /// When it ought to be there.
    pub due: Instant,
}

/// The links, and what is on its way over them.
#[derive(Debug)]
pub struct Network {
    first_port: u16,
    ethernet: Vec<bool>,
    links: Vec<Link>,
    core: usize,
    flows: Vec<FlowPlan>,
    /// The link that a packet from this device comes to after its pacer; `None` for a device of hosts.
    paced_link: Vec<Option<usize>>,
    packets: Vec<Travelling>,
    free: Vec<u32>,
    calendar: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    events: u64,
    from: Instant,
    to: Instant,
    start: Instant,
    found: Vec<FlowFound>,
    core_packets: u64,
    strays: u64,
}

/// What was found of a flow's data in the statistics' window; the first loss in the whole run.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct FlowFound {
    /// Data packets that reached the listener's device, and the sum of their times on the way, ns.
    forward_packets: u64,
    forward_delay_ns: u64,
    /// The same of those that reached the caller's.
    reverse_packets: u64,
    reverse_delay_ns: u64,
    dropped_packets: u64,
    first_drop_ns: Option<u64>,
}

/// Everything that was found.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    links: Vec<LinkFound>,
    flows: Vec<FlowFound>,
    core_packets: u64,
    /// Frames that belong to no flow, left aside.
    strays: u64,
}

impl Network {
    /// The network of a plan, with time zero at `start`.
    ///
    /// # Errors
    /// A line for people: the plan asks for what cannot be.
    pub fn new(plan: &Plan, start: Instant) -> Result<Self, String> {
        let (from, to) =
            (start + Span::from_nanos(plan.warmup_ns), start + Span::from_nanos(plan.duration_ns));
        let links = plan.links.iter().enumerate();
        let links = links.map(|(number, link)| {
            Link::new(link, start, from, to).map_err(|what| format!("links[{number}]: {what}"))
        });
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let mut paced_link = vec![None; plan.ports.len()];
        for (number, link) in plan.links.iter().enumerate() {
            let Some(detour) = link.detour else { continue };
            if detour.to.max(detour.from) >= plan.ports.len() {
                return Err(format!("links[{number}].detour: no such port"));
            }
            paced_link[detour.from] = Some(number);
        }
        for (number, flow) in plan.flows.iter().enumerate() {
            let known = flow.forward.iter().chain(&flow.reverse).all(|&link| link < links.len());
            if !known || flow.caller.max(flow.listener) >= plan.ports.len() {
                return Err(format!("flows[{number}]: no such link or port"));
            }
        }
        if plan.core >= links.len() {
            return Err("core: no such link".to_owned());
        }
        Ok(Network {
            first_port: plan.first_port,
            ethernet: plan.ports.iter().map(|port| port.ethernet).collect(),
            links,
            core: plan.core,
            flows: plan.flows.clone(),
            paced_link,
            packets: Vec::new(),
            free: Vec::new(),
            calendar: BinaryHeap::new(),
            events: 0,
            from,
            to,
            start,
            found: vec![FlowFound::default(); plan.flows.len()],
            core_packets: 0,
            strays: 0,
        })
    }

    /// Makes room for so many packets under way of so many bytes, and touches it: no page is missing later.
    pub fn make_room(&mut self, packets: u32, bytes: usize) {
        for _ in 0..packets {
            let id = self.packets.len() as u32;
            self.packets.push(Travelling { frame: vec![1; bytes], ..Travelling::default() });
            self.free.push(id);
        }
    }

    /// When something is next to happen.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.calendar.peek().map(|Reverse((at, ..))| *at)
    }

    /// A frame comes out of a device at `now`; everything due before must have happened.
    pub fn enter(&mut self, port: usize, frame: &[u8], now: Instant) {
        let skipped = if self.ethernet.get(port) == Some(&true) { ETHERNET } else { 0 };
        let Some(packet) = frame.get(skipped..) else {
            self.strays += 1;
            return;
        };
        let Some(segment) = frame::segment(packet, self.first_port, self.flows.len()) else {
            self.strays += 1;
            return;
        };
        match self.paced_link[port] {
            None => {
                let id = self.store(packet, segment, now);
                self.arrive(id, now);
            }
            Some(link) => self.come_back(link, packet, segment, now),
        }
    }

    /// Lets happen what is due by `now`, up to the next packet for a device.
    pub fn advance(&mut self, now: Instant) -> Option<Delivery<'_>> {
        let (id, port, due) = self.next_for_a_device(now)?;
        let skipped = if self.ethernet[port] { 0 } else { ETHERNET };
        Some(Delivery { port, frame: &self.packets[id as usize].frame[skipped..], due })
    }

    fn next_for_a_device(&mut self, now: Instant) -> Option<(u32, usize, Instant)> {
        while let Some(&Reverse((at, _, event))) = self.calendar.peek()
            && at <= now
        {
            self.calendar.pop();
            match event {
                Event::Wake(link) => self.pump(link as usize, at),
                Event::Arrive(id) => match self.next_link(id) {
                    None => return Some((id, self.finish(id, at), at)),
                    Some(link) => match self.links[link].detour {
                        None => self.arrive(id, at),
                        Some(detour) => {
                            let bytes = self.parcel(id).bytes;
                            self.links[link].lend(id, bytes, at);
                            return Some((id, detour.to, at));
                        }
                    },
                },
            }
        }
        None
    }

    /// What was found, at the end.
    pub(crate) fn found(mut self) -> Found {
        Found {
            links: self.links.iter_mut().map(Link::found).collect(),
            flows: self.found,
            core_packets: self.core_packets,
            strays: self.strays,
        }
    }

    fn store(&mut self, packet: &[u8], segment: Segment, sent: Instant) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Travelling::default());
            self.packets.len() as u32 - 1
        });
        let travelling = &mut self.packets[id as usize];
        travelling.frame.clear();
        travelling.frame.extend_from_slice(&frame::HEADER);
        travelling.frame.extend_from_slice(packet);
        travelling.flow = segment.flow;
        travelling.forward = segment.forward;
        travelling.payload = segment.payload;
        travelling.hop = 0;
        travelling.sent = sent;
        id
    }

    fn way(&self, flow: u32, forward: bool) -> &[usize] {
        let flow = &self.flows[flow as usize];
        if forward { &flow.forward } else { &flow.reverse }
    }

    fn next_link(&self, id: u32) -> Option<usize> {
        let packet = &self.packets[id as usize];
        self.way(packet.flow, packet.forward).get(packet.hop).copied()
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.events += 1;
        self.calendar.push(Reverse((at, self.events, event)));
    }

    /// A packet reaches its next link, or the end of a way without links: then it is delivered when next asked.
    fn arrive(&mut self, id: u32, now: Instant) {
        let Some(link) = self.next_link(id) else { return self.schedule(now, Event::Arrive(id)) };
        if self.links[link].detour.is_some() {
            return self.schedule(now, Event::Arrive(id)); // handed to the device when next asked
        }
        let parcel = self.parcel(id);
        match self.links[link].arrive(parcel, now) {
            Admitted::Refused(parcel) => self.lose(parcel.id, now),
            Admitted::Held => self.pump(link, now),
        }
    }

    fn parcel(&self, id: u32) -> Parcel {
        Parcel { id, bytes: (self.packets[id as usize].frame.len() - ETHERNET) as u32 }
    }

    /// Takes out of a link's pacer what may leave it now, and notes when to ask again.
    fn pump(&mut self, link: usize, now: Instant) {
        while let Some(parcel) = self.links[link].release(now) {
            self.serve(link, parcel, now);
        }
        if let Some(at) = self.links[link].wake_up(now) {
            self.schedule(at, Event::Wake(link as u32));
        }
    }

    /// A packet has passed a link's pacer.
    fn serve(&mut self, link: usize, parcel: Parcel, now: Instant) {
        let (flow, data) =
            (self.packets[parcel.id as usize].flow, self.packets[parcel.id as usize].payload > 0);
        match self.links[link].serve(parcel, flow, now) {
            Some(arrival) => {
                self.core_packets += u64::from(link == self.core && data);
                self.packets[parcel.id as usize].hop += 1;
                self.schedule(arrival, Event::Arrive(parcel.id));
            }
            None => self.lose(parcel.id, now),
        }
    }

    /// A packet comes back from a pacer beside this process: all lent before it that have not come are lost.
    fn come_back(&mut self, link: usize, packet: &[u8], segment: Segment, now: Instant) {
        loop {
            let Some((id, bytes)) = self.links[link].take_back() else {
                self.strays += 1; // twice the same packet, or one that was given up
                return;
            };
            let lent = &self.packets[id as usize];
            if lent.flow == segment.flow && lent.frame[ETHERNET..] == *packet {
                return self.serve(link, Parcel { id, bytes }, now);
            }
            self.links[link].lost_by_pacer(bytes, now);
            self.lose(id, now);
        }
    }

    fn lose(&mut self, id: u32, now: Instant) {
        let packet = &self.packets[id as usize];
        if packet.payload > 0 {
            let found = &mut self.found[packet.flow as usize];
            found.dropped_packets += u64::from((self.from..self.to).contains(&now));
            found.first_drop_ns.get_or_insert(now.since(self.start).as_nanos());
        }
        self.free.push(id);
    }

    /// A packet has come to its end: the device there. Its frame stays as it is until another packet enters.
    fn finish(&mut self, id: u32, at: Instant) -> usize {
        let packet = &self.packets[id as usize];
        let flow = &self.flows[packet.flow as usize];
        let port = if packet.forward { flow.listener } else { flow.caller };
        if packet.payload > 0 && (self.from..self.to).contains(&at) {
            let (found, delay) = (&mut self.found[packet.flow as usize], at.since(packet.sent).as_nanos());
            let (packets, sum) = match packet.forward {
                true => (&mut found.forward_packets, &mut found.forward_delay_ns),
                false => (&mut found.reverse_packets, &mut found.reverse_delay_ns),
            };
            *packets += 1;
            *sum += delay;
        }
        self.free.push(id);
        port
    }
}

//! FQ-CoDel: a queue for each flow, served in turn by bytes, each under CoDel.
//!
//! *Idea.* Flows are hashed into 1024 queues, which deficit round robin serves by a `quantum` of bytes each. A queue in which nothing
//! waited is new and goes first, for one quantum: flows that send less than their share have next to no delay. What is over the limit
//! is dropped from the head of the queue that holds most bytes.
//!
//! *Parameters.* `quantum` 1514 bytes; `target`, `interval`, `mtu` and `ecn` are CoDel's. The limit is the link's buffer; without one
//! 10240 packets (RFC 8290 section 5.2).
//!
//! *Choices.* CoDel's "bytes behind" are those of the flow's own queue, as in RFC 8289; Linux takes those of all queues. At the limit one
//! packet is dropped for one that comes; Linux drops up to 64, half of the longest queue at most (section 4.1). The hash is drawn anew
//! for each link and seed, so flows may share a queue, as they may there.
//!
//! *Where it breaks.* Flows share a queue with probability about n/1024. A flow that opens many connections gets as many shares.
//!
//! *References.* T. Hoeiland-Joergensen et al., "The Flow Queue CoDel Packet Scheduler and Active Queue Management Algorithm", RFC 8290,
//! 2018, sections 4 and 5; M. Shreedhar, G. Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::codel::{self, Control};
use super::discipline::{Queueing, Tuned};
use super::held::Held;
use super::rule::{Found, Limit, QueueSpec, Rule};
use super::signal::{Signals, Stamped};
use super::ties::mix;
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::stage::{Cause, Packet, Stage, Verdict};
use crate::units::{Instant, Rate};

/// Queues (RFC 8290 section 5.2.3).
const QUEUES: u64 = 1024;
/// A turn is no shorter, as in Linux, bytes.
const LEAST_QUANTUM: u64 = 256;
/// Packets that are held where the link has no limit (section 5.2.2).
const LIMIT: Limit = Limit::Packets(10_240);

/// Shares, and when CoDel acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes that a queue may send in a turn.
    pub quantum: u64,
    /// What each queue is under.
    pub codel: codel::Parameters,
}

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &{
        let [target, interval, mtu, ecn, ce_threshold] = codel::PARAMETERS;
        let quantum = Parameter {
            name: "quantum",
            kind: Kind::Bytes,
            default: Some("1514 B"),
            doc: "what a flow sends in a turn",
        };
        [quantum, target, interval, mtu, ecn, ce_threshold]
    };

    const KEEPS_ORDER: bool = false;
    const ACTS_EARLY: bool = true;

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        let quantum = reader.bytes_or("quantum", 1514)?;
        if quantum < LEAST_QUANTUM {
            return Err(reader.impossible("quantum", "takes many turns a packet; write at least \"256 B\""));
        }
        Ok(Parameters { quantum: quantum.min(u64::from(u32::MAX)), codel: Tuned::read(reader)? })
    }
}

/// A flow's queue.
#[derive(Debug, Clone)]
struct FlowQueue<P> {
    /// Its number among all.
    number: u64,
    packets: VecDeque<Stamped<P>>,
    bytes: u64,
    deficit: i64,
    control: Control,
    /// It is in one of the two lists.
    is_listed: bool,
}

/// Queues of flows, and the wire that they feed.
#[derive(Debug, Clone)]
pub struct FqCodel<P> {
    held: Held,
    rule: Rule,
    parameters: Parameters,
    seed: u64,
    /// By number, where in `flows` a queue is that has ever held a packet, from 1 on.
    places: Vec<u16>,
    flows: Vec<FlowQueue<P>>,
    /// Places of queues that go first, and of others.
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    signals: Signals<P>,
}

impl<P: Packet> FqCodel<P> {
    /// Where the queue of this flow is.
    fn place_of(&mut self, flow: u32) -> u16 {
        let number = ((u128::from(mix(self.seed ^ u64::from(flow))) * u128::from(QUEUES)) >> 64) as u64;
        if self.places.is_empty() {
            self.places = vec![0; QUEUES as usize];
        }
        let place = &mut self.places[number as usize];
        if *place == 0 {
            let (packets, control) = (VecDeque::new(), Control::default());
            self.flows.push(FlowQueue { number, packets, bytes: 0, deficit: 0, control, is_listed: false });
            *place = self.flows.len() as u16;
        }
        *place - 1
    }

    /// The wire was free, and found nothing in any queue: all of them are new from now on.
    fn forget_lists(&mut self) {
        while let Some(place) = self.new.pop_front().or_else(|| self.old.pop_front()) {
            self.flows[usize::from(place)].is_listed = false;
        }
    }

    /// Makes room for a packet of so many bytes, the last in the queue at `place`, by dropping from the head of the longest queue: in the
    /// end that may be the packet itself.
    fn make_room(&mut self, place: u16, bytes: u32, now: Instant) {
        let is_idle = self.held.is_idle(now);
        loop {
            let others = (self.held.bytes - u64::from(bytes), self.held.packets - 1);
            let found = Found {
                waiting_bytes: others.0,
                waiting_packets: others.1,
                in_service: if is_idle { (others.1 > 0).then_some(0) } else { Some(self.held.served_bytes) },
            };
            if !self.rule.drops(bytes, &found) {
                return;
            }
            // Who holds a packet is in a list: far fewer than have ever held one.
            let listed = self.new.iter().chain(&self.old).copied();
            let longest = listed.max_by_key(|&at| {
                let flow = &self.flows[usize::from(at)];
                (flow.bytes, Reverse(flow.number))
            });
            let Some(at) = longest else { return };
            let flow = &mut self.flows[usize::from(at)];
            let Some(Stamped { packet, .. }) = flow.packets.pop_front() else { return };
            flow.bytes -= u64::from(packet.bytes());
            self.held.remove(packet.bytes());
            let was_itself = at == place && flow.packets.is_empty();
            self.signals.drop(packet, Cause::Overflow);
            if was_itself {
                return;
            }
        }
    }
}

impl<P: Packet> Queueing<P> for FqCodel<P> {
    type Parameters = Parameters;
    const DROPS_LATER: bool = true;

    fn with(spec: &QueueSpec, parameters: &Parameters, rate: Rate) -> Self {
        let limit = spec.limit.or(Some(LIMIT));
        FqCodel {
            held: Held::new(rate),
            rule: Rule::new(&QueueSpec { limit, ..spec.clone() }),
            parameters: *parameters,
            seed: 0,
            places: Vec::new(),
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            signals: Signals::new(parameters.codel.marks),
        }
    }

    #[inline]
    fn passes(&mut self, packet: &P, now: Instant) -> bool {
        let bytes = packet.bytes();
        let nothing = Found { waiting_bytes: 0, waiting_packets: 0, in_service: None };
        let is_idle = self.held.packets == 0 && self.held.is_idle(now) && !self.signals.has_dropped();
        if !is_idle || self.rule.drops(bytes, &nothing) {
            return false;
        }
        let place = self.place_of(packet.flow());
        self.forget_lists();
        self.new.push_back(place);
        let flow = &mut self.flows[usize::from(place)];
        (flow.is_listed, flow.deficit) = (true, self.parameters.quantum as i64 - i64::from(bytes));
        flow.control.passes();
        self.held.pass(bytes, now);
        true
    }

    #[inline]
    fn held(&self) -> &Held {
        &self.held
    }

    fn held_mut(&mut self) -> &mut Held {
        &mut self.held
    }

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    #[inline]
    fn signals(&self) -> Option<&Signals<P>> {
        Some(&self.signals)
    }

    #[inline]
    fn signals_mut(&mut self) -> Option<&mut Signals<P>> {
        Some(&mut self.signals)
    }
}

impl<P: Packet> Stage<P> for FqCodel<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        let (place, bytes) = (self.place_of(packet.flow()), packet.bytes());
        if self.held.packets == 0 && self.held.is_idle(now) {
            self.forget_lists();
        }
        let flow = &mut self.flows[usize::from(place)];
        flow.packets.push_back(Stamped { packet, came: now });
        flow.bytes += u64::from(bytes);
        if !flow.is_listed {
            (flow.is_listed, flow.deficit) = (true, self.parameters.quantum as i64);
            self.new.push_back(place);
        }
        self.held.add(bytes, now);
        self.make_room(place, bytes, now);
        Verdict::Queued
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if !self.held.is_idle(now) || self.held.packets == 0 {
            return None;
        }
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let flow = &mut self.flows[usize::from(place)];
            if flow.deficit <= 0 {
                flow.deficit += self.parameters.quantum as i64;
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let FlowQueue { packets, bytes, control, .. } = flow;
            let held = &mut self.held;
            let next = control.dequeue(now, &self.parameters.codel, &mut self.signals, || {
                let stamped = packets.pop_front()?;
                *bytes -= u64::from(stamped.bytes());
                held.remove(stamped.bytes());
                Some((stamped, *bytes))
            });
            let Some(packet) = next else {
                list.pop_front();
                if is_new {
                    self.old.push_back(place); // so that it does not starve the others by coming back at once
                } else {
                    flow.is_listed = false;
                }
                continue;
            };
            flow.deficit -= i64::from(packet.bytes());
            self.held.serve(packet.bytes(), now);
            return Some(packet);
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.held.next_wakeup()
    }
}

//! Deficit round robin: a FIFO for each class, and classes that hold packets are served in turn, by bytes.
//!
//! *Idea.* In its turn a class may send its quantum and what it had left of its last turn, its deficit, as whole packets; what its next packet
//! is larger than stays for the next turn. So classes that always hold packets get bytes in the proportion of their quanta, whatever their
//! packets' sizes, to within a quantum and a packet; a class with nothing left to send keeps no deficit.
//!
//! *Parameters.* `quanta`: what each class sends in a turn, from 0 on; equal ones are equal shares. One of at least the largest packet takes
//! a constant time a packet. `limits`: what may wait of each class.
//!
//! *Choices.* The link's `buffer` is the limit of all classes together. At it, the newest packet of the class that holds most bytes is
//! dropped, with the arrival among them, until the rest fits (the paper's buffer stealing; ns-2 takes the oldest); of equals that of the
//! lowest class. So a class that sends more than its share cannot keep others out. A class whose last packet is on the wire has had its
//! turn, as in ns-2 and Linux: what comes then waits for the next.
//!
//! *Where it breaks.* A class waits for the quanta of all others, at worst: short delays need `priority`, or small quanta.
//!
//! *References.* M. Shreedhar, G. Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995, figure 2; P. McKenney,
//! "Stochastic fairness queueing", INFOCOM 1990, for buffer stealing; ns-2 2.35, `queue/drr.cc`; Linux `net/sched/sch_drr.c`.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use super::classes::{CLASSES, ClassQueues, LIMITS, read_limits};
use super::discipline::{Queueing, Tuned};
use super::held::Held;
use super::rule::{Limit, QueueSpec};
use super::signal::Signals;
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::stage::{Cause, Packet, Stage, Verdict};
use crate::units::{Instant, Rate};

/// A turn is no shorter, bytes.
const LEAST_QUANTUM: u64 = 256;
/// Of one that is not given, as in Linux on Ethernet: the largest packet with its header, bytes.
const QUANTUM: u64 = 1514;

/// Shares, and what classes may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// By class, what it sends in a turn, bytes.
    pub quanta: [u64; CLASSES],
    /// By class; `None` leaves it to the buffer.
    pub limits: Option<[Limit; CLASSES]>,
}

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "quanta",
            kind: Kind::ByClass(&Kind::Bytes),
            default: Some("1514 B"),
            doc: "what each class sends in a turn, from 0 on: their shares",
        },
        LIMITS,
    ];
    const KEEPS_ORDER: bool = false;
    const HAS_CLASSES: bool = true;

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        let quanta = match reader.given("quanta") {
            true => reader.by_class("quanta", |reader, name| reader.bytes(name))?,
            false => [QUANTUM; CLASSES],
        };
        if quanta.iter().any(|quantum| *quantum < LEAST_QUANTUM) {
            return Err(reader
                .impossible("quanta", "takes many turns a packet; write at least \"256 B\" for each class"));
        }
        let quanta = quanta.map(|quantum| quantum.min(u64::from(u32::MAX)));
        Ok(Parameters { quanta, limits: read_limits(reader)? })
    }
}

/// Queues by class, and the wire that they feed.
#[derive(Debug, Clone)]
pub struct Drr<P> {
    queues: ClassQueues<P>,
    quanta: [u64; CLASSES],
    deficits: [u64; CLASSES],
    /// Classes in the order of their turns, the paper's active list, and whose turn it is. One may have lost all its packets meanwhile.
    active: VecDeque<usize>,
    turn: Option<usize>,
    is_active: [bool; CLASSES],
    signals: Signals<P>,
}

impl<P: Packet> Drr<P> {
    /// The class that holds most bytes once a packet of so many has come to this class; of equals the lowest.
    fn longest(&self, class: usize, bytes: u32) -> Option<usize> {
        let held = |one: &usize| self.queues.bytes(*one) + if *one == class { u64::from(bytes) } else { 0 };
        (0..CLASSES).max_by_key(|one| (held(one), Reverse(*one)))
    }

    /// All rounds at once in which no class can send, because quanta are small beside packets.
    fn pass_rounds(&mut self) {
        let Drr { queues, quanta, deficits, active, is_active, .. } = self;
        let turns = active.iter().filter_map(|class| {
            let head = u64::from(queues.head(*class)?);
            Some(head.saturating_sub(deficits[*class]).div_ceil(quanta[*class]))
        });
        let rounds = turns.min().unwrap_or(0).saturating_sub(1);
        if rounds > 0 {
            active.retain(|class| {
                deficits[*class] += rounds * quanta[*class];
                is_active[*class] = queues.head(*class).is_some();
                is_active[*class]
            });
        }
    }
}

impl<P: Packet> Queueing<P> for Drr<P> {
    type Parameters = Parameters;
    const DROPS_LATER: bool = true;

    fn with(spec: &QueueSpec, parameters: &Parameters, rate: Rate) -> Self {
        Drr {
            queues: ClassQueues::new(spec, parameters.limits.as_ref(), rate),
            quanta: parameters.quanta,
            deficits: [0; CLASSES],
            active: VecDeque::new(),
            turn: None,
            is_active: [false; CLASSES],
            signals: Signals::new(false),
        }
    }

    #[inline]
    fn held(&self) -> &Held {
        &self.queues.held
    }

    fn held_mut(&mut self) -> &mut Held {
        &mut self.queues.held
    }

    #[inline]
    fn signals(&self) -> Option<&Signals<P>> {
        Some(&self.signals)
    }

    #[inline]
    fn signals_mut(&mut self) -> Option<&mut Signals<P>> {
        Some(&mut self.signals)
    }

    fn classify(&mut self, classes: &Arc<[u8]>) {
        self.queues.classify(classes);
    }
}

impl<P: Packet> Stage<P> for Drr<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        let (class, bytes) = (self.queues.class(&packet), packet.bytes());
        if self.queues.is_over_its_limit(class, bytes, now) {
            return Verdict::Refused(packet);
        }
        while self.queues.is_full(bytes, now) {
            let longest = self.longest(class, bytes).filter(|longest| *longest != class);
            match longest.and_then(|longest| self.queues.pop_newest(longest)) {
                Some(newest) => self.signals.drop(newest, Cause::Overflow),
                None if self.signals.has_dropped() => {
                    // those dropped for it come out first, and it with them
                    self.signals.drop(packet, Cause::Overflow);
                    return Verdict::Queued;
                }
                None => return Verdict::Refused(packet),
            }
        }
        self.queues.push(class, packet, now);
        if !self.is_active[class] {
            (self.is_active[class], self.deficits[class]) = (true, 0);
            self.active.push_back(class);
        }
        Verdict::Queued
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if !self.queues.held.is_idle(now) || self.queues.held.packets == 0 {
            return None;
        }
        loop {
            let class = match self.turn {
                Some(class) => class,
                None => {
                    let class = self.active.pop_front()?;
                    self.deficits[class] += self.quanta[class];
                    *self.turn.insert(class)
                }
            };
            match self.queues.head(class).map(u64::from) {
                Some(bytes) if bytes > self.deficits[class] => {
                    self.active.push_back(class);
                    self.turn = None;
                    self.pass_rounds();
                }
                Some(bytes) => {
                    self.deficits[class] -= bytes;
                    let packet = self.queues.pop(class)?;
                    if self.queues.head(class).is_none() {
                        (self.is_active[class], self.turn) = (false, None);
                    }
                    self.queues.held.serve(packet.bytes(), now);
                    return Some(packet);
                }
                None => (self.is_active[class], self.turn) = (false, None),
            }
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.queues.held.next_wakeup()
    }
}

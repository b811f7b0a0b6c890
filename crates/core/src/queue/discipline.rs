//! Queue disciplines, and the one list of them.
//!
//! A new discipline is a file beside this one and a line in `disciplines!` below: from there come the enum that dispatches ([`Queue`],
//! [`Discipline`]), the names in a scenario ([`DISCIPLINES`]), the parser and the documentation of its parameters, its place in random
//! scenarios, and the laws that it must pass (`tests/stage_laws/`).

use std::fmt;
use std::sync::Arc;

use super::driven::QueueDriver;
use super::held::Held;
use super::rule::QueueSpec;
use super::signal::Signals;
use super::{codel, drop_front, drop_tail, drr, dualpi2, fq_codel, pie, priority, red};
use crate::parameters::{Parameter, ParameterError, Reader, Value};
use crate::stage::{Cause, Packet, Stage, Verdict};
use crate::units::{Instant, Rate};
use crate::wire::Wire;

/// A discipline as a scenario names it: one row of [`DISCIPLINES`].
#[derive(Debug)]
pub struct Row {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Packets leave in the order in which they came.
    pub keeps_order: bool,
    /// It marks packets, or drops them before its limit is reached.
    pub acts_early: bool,
    /// It tells packets by their classes, and may have limits of its own for each.
    pub has_classes: bool,
    read: fn(&mut Reader<'_>) -> Result<Discipline, ParameterError>,
}

/// What the parameters of every discipline offer beside their fields.
pub(crate) trait Tuned: Sized {
    /// The parameters as scenarios name them.
    const PARAMETERS: &'static [Parameter];

    /// Packets leave in the order in which they came. A law for those that say so.
    const KEEPS_ORDER: bool = true;

    /// It marks packets, or drops them before its limit is reached; results then tell drops by their causes.
    const ACTS_EARLY: bool = false;

    /// It tells packets by their classes, and may have limits of its own for each.
    const HAS_CLASSES: bool = false;

    /// Reads them, refusing what is impossible.
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError>;

    /// Whether a packet's departure is known when it arrives ([`super::ClosedDropTail`]).
    fn has_closed_form(_is_limited: bool) -> bool {
        false
    }
}

/// A queue discipline with the wire that it feeds, a [`Stage`] whose `dequeue` begins the service of a packet.
pub(crate) trait Queueing<P: Packet>: Stage<P> {
    /// What can be set.
    type Parameters: Tuned;

    /// It drops packets beside those of its verdicts.
    const DROPS_LATER: bool = false;

    /// Empty; the wire is free.
    fn with(spec: &QueueSpec, parameters: &Self::Parameters, rate: Rate) -> Self;

    /// A packet that finds nothing held and the wire free goes on it now, as by an `enqueue` and a `dequeue`. `false`, and nothing has changed,
    /// where it has to go by these.
    #[inline]
    fn passes(&mut self, _packet: &P, _now: Instant) -> bool {
        false
    }

    /// What it holds, and the wire.
    fn held(&self) -> &Held;

    /// The same, to change it.
    fn held_mut(&mut self) -> &mut Held;

    /// What it does beside its verdicts; `None` if it never does anything. What follows asks it.
    #[inline]
    fn signals(&self) -> Option<&Signals<P>> {
        None
    }

    /// The same, to take what it has dropped.
    #[inline]
    fn signals_mut(&mut self) -> Option<&mut Signals<P>> {
        None
    }

    #[inline]
    fn take_dropped(&mut self) -> Option<(P, Cause)> {
        self.signals_mut()?.take_dropped()
    }

    #[inline]
    fn has_dropped(&self) -> bool {
        Self::DROPS_LATER && self.signals().is_some_and(Signals::has_dropped)
    }

    fn why_refused(&self) -> Cause {
        self.signals().map_or(Cause::Overflow, Signals::why_refused)
    }

    #[inline]
    fn marks(&self) -> u64 {
        self.signals().map_or(0, Signals::marks)
    }

    /// What its draws are made from; it has none without this.
    fn seed(&mut self, _seed: u64) {}

    /// The class of each [`Packet::flow`]; all are 0 without this.
    fn classify(&mut self, _classes: &Arc<[u8]>) {}
}

macro_rules! disciplines {
    ($($name:literal => $Variant:ident($module:ident::$Type:ident): $summary:literal;)+) => {
        /// A queue discipline and its parameters.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Discipline {
            $(#[doc = $summary] $Variant($module::Parameters),)+
        }

        /// Every discipline, in the order in which they are documented.
        pub const DISCIPLINES: &[Row] = &[$(Row {
            name: $name,
            summary: $summary,
            parameters: <$module::Parameters as Tuned>::PARAMETERS,
            keeps_order: <$module::Parameters as Tuned>::KEEPS_ORDER,
            acts_early: <$module::Parameters as Tuned>::ACTS_EARLY,
            has_classes: <$module::Parameters as Tuned>::HAS_CLASSES,
            read: |reader| Tuned::read(reader).map(Discipline::$Variant),
        },)+];

        impl Discipline {
            /// Its name in a scenario.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Discipline::$Variant(_) => $name,)+
                }
            }

            /// Whether it marks packets, or drops them before its limit is reached.
            pub fn acts_early(&self) -> bool {
                match self {
                    $(Discipline::$Variant(_) => <$module::Parameters as Tuned>::ACTS_EARLY,)+
                }
            }

            /// Whether it tells packets by their classes.
            pub fn has_classes(&self) -> bool {
                match self {
                    $(Discipline::$Variant(_) => <$module::Parameters as Tuned>::HAS_CLASSES,)+
                }
            }

            /// Whether a packet's departure is known when it arrives, with a limit or without.
            pub fn has_closed_form(&self, is_limited: bool) -> bool {
                match self {
                    $(Discipline::$Variant(_) => <$module::Parameters as Tuned>::has_closed_form(is_limited),)+
                }
            }
        }

        /// A queue: one of the list. Dispatch is by enum: it lies on the path of every packet.
        #[derive(Debug, Clone)]
        #[allow(clippy::large_enum_variant, reason = "a link has one, for the length of a run")]
        pub enum Queue<P> {
            $(#[doc = $summary] $Variant($module::$Type<P>),)+
        }

        impl<P: Packet> Queue<P> {
            /// An empty queue before a wire of that rate.
            pub fn new(spec: &QueueSpec, rate: Rate) -> Self {
                match &spec.discipline {
                    $(Discipline::$Variant(parameters) => Queue::$Variant(Queueing::with(spec, parameters, rate)),)+
                }
            }

            #[inline]
            fn held(&self) -> &Held {
                match self {
                    $(Queue::$Variant(queue) => Queueing::held(queue),)+
                }
            }

            #[inline]
            fn held_mut(&mut self) -> &mut Held {
                match self {
                    $(Queue::$Variant(queue) => Queueing::held_mut(queue),)+
                }
            }

            /// Lends the queue to a loop over many packets.
            #[inline]
            pub fn driven_by<D: QueueDriver<P>>(&mut self, driver: D) {
                match self {
                    $(Queue::$Variant(queue) => driver.drive(queue),)+
                }
            }

            /// Whether a packet that comes now is on the wire at once: that saves an `enqueue` and a `dequeue`. `false` where it has to go by
            /// these.
            #[inline]
            pub fn passes(&mut self, packet: &P, now: Instant) -> bool {
                match self {
                    $(Queue::$Variant(queue) => Queueing::passes(queue, packet, now),)+
                }
            }

            /// The next packet that it has dropped beside those of its verdicts: at a `dequeue`, or to make room. To be asked after every
            /// call until there is none; what is here is no longer held.
            #[inline]
            pub fn take_dropped(&mut self) -> Option<(P, Cause)> {
                match self {
                    $(Queue::$Variant(queue) => Queueing::take_dropped(queue),)+
                }
            }

            /// [`Self::take_dropped`] has something.
            #[inline]
            pub fn has_dropped(&self) -> bool {
                match self {
                    $(Queue::$Variant(queue) => Queueing::has_dropped(queue),)+
                }
            }

            /// Why it refused a packet last.
            pub fn why_refused(&self) -> Cause {
                match self {
                    $(Queue::$Variant(queue) => Queueing::why_refused(queue),)+
                }
            }

            /// How many packets it has marked: at most one a call, the one that has just come or leaves.
            #[inline]
            pub fn marks(&self) -> u64 {
                match self {
                    $(Queue::$Variant(queue) => Queueing::marks(queue),)+
                }
            }

            /// The same, with draws of its own for a discipline that draws.
            pub fn with_seed(mut self, seed: u64) -> Self {
                match &mut self {
                    $(Queue::$Variant(queue) => queue.seed(seed),)+
                }
                self
            }

            /// The same, with the class of each [`Packet::flow`] for a discipline that has classes; of a flow that is not there it is 0.
            pub fn with_classes(mut self, classes: &Arc<[u8]>) -> Self {
                match &mut self {
                    $(Queue::$Variant(queue) => queue.classify(classes),)+
                }
                self
            }
        }

        impl<P: Packet> Stage<P> for Queue<P> {
            #[inline]
            fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
                match self {
                    $(Queue::$Variant(queue) => queue.enqueue(packet, now),)+
                }
            }

            #[inline]
            fn dequeue(&mut self, now: Instant) -> Option<P> {
                match self {
                    $(Queue::$Variant(queue) => queue.dequeue(now),)+
                }
            }

            #[inline]
            fn next_wakeup(&self) -> Option<Instant> {
                match self {
                    $(Queue::$Variant(queue) => queue.next_wakeup(),)+
                }
            }
        }
    };
}

disciplines! {
    "drop-tail" => DropTail(drop_tail::DropTail): "first in, first out; what arrives at a full buffer is dropped";
    "drop-front" => DropFront(drop_front::DropFront): "first in, first out; at a full buffer what has waited longest is dropped";
    "codel" => Codel(codel::Codel): "first in, first out; drops or marks once packets have waited too long for too long (RFC 8289)";
    "fq-codel" => FqCodel(fq_codel::FqCodel): "a queue a flow, served in turn, each under CoDel (RFC 8290)";
    "pie" => Pie(pie::Pie): "first in, first out; drops or marks arrivals by a controller of the queueing delay (RFC 8033)";
    "red" => Red(red::Red): "first in, first out; drops or marks arrivals by the average queue (ns-2's RED)";
    "dualpi2" => DualPi2(dualpi2::DualPi2): "two coupled queues, for L4S and for the rest (RFC 9332)";
    "priority" => Priority(priority::Priority): "a queue a class; the highest class that holds a packet is served next";
    "drr" => Drr(drr::Drr): "a queue a class, served in turn by bytes: deficit round robin";
}

impl<P: Packet> Queue<P> {
    /// The wire: after a `dequeue`, its `free_at` is when the packet's last bit has left.
    #[inline]
    pub fn wire(&self) -> &Wire {
        &self.held().wire
    }

    /// No service begins before this time, whatever the wire's rate: of a link that sends at another.
    pub fn busy_until(&mut self, free_at: Instant) {
        self.held_mut().wire.is_free_from(free_at);
    }

    /// All that is held, bytes.
    pub fn held_bytes(&self) -> u64 {
        self.held().bytes
    }

    /// All that is held, packets.
    pub fn held_packets(&self) -> u64 {
        self.held().packets
    }
}

impl Default for Discipline {
    fn default() -> Self {
        Discipline::DropTail(drop_tail::Parameters)
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads a discipline: `values` returns what the scenario says of each parameter, `None` for one that it leaves out.
///
/// ```
/// # use paceline_core::{Rate, queue};
/// let link = Rate::from_bits_per_second(100_000_000);
/// assert_eq!(queue::parse("drop-front", &mut |_| None, link).map(|one| one.name()), Ok("drop-front"));
/// assert!(queue::parse("drop-font", &mut |_| None, link).is_err());
/// ```
pub fn parse(
    name: &str,
    values: &mut dyn FnMut(&str) -> Option<Value>,
    link_rate: Rate,
) -> Result<Discipline, ParameterError> {
    let row = DISCIPLINES.iter().find(|row| row.name == name);
    let known = || DISCIPLINES.iter().map(|row| row.name).collect();
    let row = row.ok_or_else(|| ParameterError::unknown("queue discipline", name, known()))?;
    (row.read)(&mut Reader::new(row.name, values, link_rate))
}

/// The table of disciplines and parameters for the documentation, in Markdown.
///
/// ```
/// assert!(paceline_core::queue::table().contains("| `drop-tail` |"));
/// ```
pub fn table() -> String {
    let mut table =
        String::from("| discipline | parameter | what it is | unit | default |\n|---|---|---|---|---|\n");
    for row in DISCIPLINES {
        table += &format!("| `{}` | | {} | | |\n", row.name, row.summary);
        for parameter in row.parameters {
            table += &parameter.table_row();
        }
    }
    table
}

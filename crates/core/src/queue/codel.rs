//! CoDel: a FIFO that drops, or marks, once packets have waited too long for too long.
//!
//! *Idea.* A queue that drains within a round trip is a burst, and does its work; one that does not is only delay. The least wait within
//! an interval tells them apart. When packets have waited `target` or more for an `interval`, the one that leaves next is dropped; and
//! the next one `interval` / √count after the last, until one has waited less.
//!
//! *Parameters.* `target` 5 ms and `interval` 100 ms (RFC 8289 section 4.4). With no more than `mtu` bytes behind it a packet is never
//! dropped. `ecn = "drop"` drops what a mark would do for. Of what understands marks, all that has waited longer than `ce_threshold` is marked
//! as it leaves, whatever the state: the step that DCTCP and L4S are made for, as Linux has it.
//!
//! *Count at a return.* Back in the dropping state within 16 intervals, it goes on from the drops of the last time, `count − last count`:
//! so the RFC's pseudo-code and Linux. (The ACM Queue article and ns-2 go on from `count − 2`.) Linux's 1/√count is a fixed-point Newton
//! step of 16 bits from the last count's, which is up to a few per cent off after a jump of the count; here it is exact, rounded down to
//! a nanosecond. Linux marks nothing unless it is told to.
//!
//! *Where it breaks.* Traffic that does not slow down is not held: drops come faster without bound, but slowly. Where a packet takes longer
//! than the target, the target should be a packet's time at least (section 4.3).
//!
//! *References.* K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue Management", RFC 8289, 2018; Linux
//! `include/net/codel_impl.h` for marks.

use super::discipline::{Queueing, Tuned};
use super::drop_tail::DropTail;
use super::held::Held;
use super::rule::QueueSpec;
use super::signal::{Signals, Stamped};
use crate::parameters::{Kind, Parameter, ParameterError, Reader};
use crate::stage::{Cause, Packet, Stage, Verdict};
use crate::units::{Instant, Rate, Span};

/// Whether packets that understand marks are marked: the words of `ecn`.
pub(super) const ECN: &[&str] = &["mark", "drop"];

/// When CoDel acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// A packet may wait so long.
    pub target: Span,
    /// It may wait longer for so long: about a round trip.
    pub interval: Span,
    /// With so little behind it a packet is never dropped, bytes.
    pub mtu: u64,
    /// It marks what understands marks.
    pub marks: bool,
    /// And that at once where it has waited longer than this; zero is not at all.
    pub ce_threshold: Span,
}

/// As scenarios name them, for queues under CoDel.
pub(super) const PARAMETERS: [Parameter; 5] = [
    Parameter {
        name: "target",
        kind: Kind::Span,
        default: Some("5 ms"),
        doc: "waiting time that may last, at least a packet's time",
    },
    Parameter {
        name: "interval",
        kind: Kind::Span,
        default: Some("100 ms"),
        doc: "how long it may be exceeded: about a round trip",
    },
    Parameter {
        name: "mtu",
        kind: Kind::Bytes,
        default: Some("1500 B"),
        doc: "with no more than this behind it a packet is not dropped",
    },
    Parameter {
        name: "ecn",
        kind: Kind::Choice(ECN),
        default: Some("mark"),
        doc: "what becomes of a packet that understands marks",
    },
    Parameter {
        name: "ce_threshold",
        kind: Kind::Span,
        default: Some("0 s"),
        doc: "waiting time beyond which each of those is marked; 0 s is none",
    },
];

impl Tuned for Parameters {
    const PARAMETERS: &'static [Parameter] = &PARAMETERS;

    const ACTS_EARLY: bool = true;

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParameterError> {
        let parameters = Parameters {
            target: reader.span_or("target", Span::from_millis(5))?,
            interval: reader.span_or("interval", Span::from_millis(100))?,
            mtu: reader.bytes_or("mtu", 1500)?,
            marks: reader.choice("ecn", ECN, 0)? == 0,
            ce_threshold: reader.span_or("ce_threshold", Span::ZERO)?,
        };
        if parameters.interval == Span::ZERO {
            return Err(reader.impossible("interval", "is no time; write for example \"100 ms\""));
        }
        Ok(parameters)
    }
}

/// The state of one queue: `codel_vars` in Linux.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Control {
    /// When packets will have waited too long for long enough, if they do now.
    first_above: Option<Instant>,
    is_dropping: bool,
    drop_next: Instant,
    /// Drops since it entered the dropping state, and what it was then.
    count: u32,
    last_count: u32,
}

impl Control {
    /// The next packet that leaves, of those that `pop` takes from the queue's head with the bytes left behind each.
    pub(super) fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        signals: &mut Signals<P>,
        mut pop: impl FnMut() -> Option<(Stamped<P>, u64)>,
    ) -> Option<P> {
        let mut next = self.pop(now, parameters, &mut pop);
        if self.is_dropping {
            self.is_dropping = next.is_late;
            while self.is_dropping && now >= self.drop_next {
                self.count = self.count.wrapping_add(1);
                if next.is_marked(signals) {
                    self.drop_next = self.control_law(self.drop_next, parameters);
                    break;
                }
                next.drop(signals);
                next = self.pop(now, parameters, &mut pop);
                self.is_dropping = next.is_late;
                if self.is_dropping {
                    self.drop_next = self.control_law(self.drop_next, parameters);
                }
            }
        } else if next.is_late {
            if !next.is_marked(signals) {
                next.drop(signals);
                next = self.pop(now, parameters, &mut pop);
            }
            self.is_dropping = true;
            let since_last = self.count.wrapping_sub(self.last_count);
            let recently = Span::from_nanos(parameters.interval.as_nanos().saturating_mul(16));
            let is_soon = now < self.drop_next + recently;
            self.count = if since_last > 1 && is_soon { since_last } else { 1 };
            self.last_count = self.count;
            self.drop_next = self.control_law(now, parameters);
        }
        if parameters.ce_threshold > Span::ZERO && next.waited > parameters.ce_threshold {
            next.is_marked(signals);
        }
        next.packet
    }

    /// A packet leaves as it comes, with nothing behind it: [`Control::dequeue`] of that.
    #[inline]
    pub(super) fn passes(&mut self) {
        (self.first_above, self.is_dropping) = (None, false);
    }

    /// The packet at the head, and whether it may be dropped.
    fn pop<P: Packet>(
        &mut self,
        now: Instant,
        parameters: &Parameters,
        pop: &mut impl FnMut() -> Option<(Stamped<P>, u64)>,
    ) -> Next<P> {
        let Some((Stamped { packet, came }, behind)) = pop() else {
            self.first_above = None;
            return Next { packet: None, is_late: false, waited: Span::ZERO };
        };
        let (mut is_late, waited) = (false, now.since(came));
        if waited < parameters.target || behind <= parameters.mtu {
            self.first_above = None;
        } else {
            let until = *self.first_above.get_or_insert(now + parameters.interval);
            is_late = now >= until;
        }
        Next { packet: Some(packet), is_late, waited }
    }

    /// When the next drop is due after one at `at`: interval / √count later.
    fn control_law(&self, at: Instant, parameters: &Parameters) -> Instant {
        let interval = u128::from(parameters.interval.as_nanos());
        let nanos = (interval * interval / u128::from(self.count.max(1))).isqrt();
        at + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// What has come from the head of the queue.
struct Next<P> {
    packet: Option<P>,
    /// It may be dropped: packets have waited too long for long enough.
    is_late: bool,
    waited: Span,
}

impl<P: Packet> Next<P> {
    fn is_marked(&mut self, signals: &mut Signals<P>) -> bool {
        self.packet.as_mut().is_some_and(|packet| signals.mark(packet))
    }

    fn drop(self, signals: &mut Signals<P>) {
        if let Some(packet) = self.packet {
            signals.drop(packet, Cause::Early);
        }
    }
}

/// A FIFO under CoDel, and the wire that it feeds.
#[derive(Debug, Clone)]
pub struct Codel<P> {
    fifo: DropTail<Stamped<P>>,
    control: Control,
    signals: Signals<P>,
    parameters: Parameters,
}

impl<P: Packet> Queueing<P> for Codel<P> {
    type Parameters = Parameters;
    const DROPS_LATER: bool = true;

    fn with(spec: &QueueSpec, parameters: &Parameters, rate: Rate) -> Self {
        Codel {
            fifo: DropTail::new(spec, rate),
            control: Control::default(),
            signals: Signals::new(parameters.marks),
            parameters: *parameters,
        }
    }

    #[inline]
    fn held(&self) -> &Held {
        self.fifo.held()
    }

    fn held_mut(&mut self) -> &mut Held {
        self.fifo.held_mut()
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

impl<P: Packet> Stage<P> for Codel<P> {
    fn enqueue(&mut self, packet: P, now: Instant) -> Verdict<P> {
        self.fifo.enqueue_stamped(packet, now)
    }

    fn dequeue(&mut self, now: Instant) -> Option<P> {
        if !self.fifo.is_idle(now) {
            return None;
        }
        let Codel { fifo, control, signals, parameters } = self;
        let packet = control.dequeue(now, parameters, signals, || Some((fifo.pop()?, fifo.held().bytes)))?;
        fifo.serve(packet.bytes(), now);
        Some(packet)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.fifo.next_wakeup()
    }
}

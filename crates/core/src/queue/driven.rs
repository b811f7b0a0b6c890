//! A queue lent to a loop over many packets, compiled for each discipline.

use super::discipline::Queueing;
use crate::stage::{Cause, Packet, Stage};
use crate::units::Instant;
use crate::wire::Wire;

/// What a loop over many packets asks of a queue, whichever it is.
pub trait Served<P: Packet>: Stage<P> {
    /// See [`Queue::passes`](super::Queue::passes).
    fn passes(&mut self, packet: &P, now: Instant) -> bool;
    /// See [`Queue::take_dropped`](super::Queue::take_dropped).
    fn take_dropped(&mut self) -> Option<(P, Cause)>;
    /// See [`Queue::has_dropped`](super::Queue::has_dropped).
    fn has_dropped(&self) -> bool;
    /// See [`Queue::why_refused`](super::Queue::why_refused).
    fn why_refused(&self) -> Cause;
    /// See [`Queue::marks`](super::Queue::marks).
    fn marks(&self) -> u64;
    /// See [`Queue::wire`](super::Queue::wire).
    fn wire(&self) -> &Wire;
}

impl<P: Packet, Q: Queueing<P>> Served<P> for Q {
    #[inline(always)]
    fn passes(&mut self, packet: &P, now: Instant) -> bool {
        Queueing::passes(self, packet, now)
    }

    #[inline(always)]
    fn take_dropped(&mut self) -> Option<(P, Cause)> {
        Queueing::take_dropped(self)
    }

    #[inline(always)]
    fn has_dropped(&self) -> bool {
        Queueing::has_dropped(self)
    }

    fn why_refused(&self) -> Cause {
        Queueing::why_refused(self)
    }

    #[inline(always)]
    fn marks(&self) -> u64 {
        Queueing::marks(self)
    }

    #[inline(always)]
    fn wire(&self) -> &Wire {
        &Queueing::held(self).wire
    }
}

/// A loop over many packets, which is compiled for each discipline: the queue is looked up once, not at each packet.
///
/// ```
/// # use paceline_core::queue::{Queue, QueueDriver, QueueSpec, Served};
/// # use paceline_core::{Instant, Packet, Rate, Stage};
/// # struct Frame;
/// # impl Packet for Frame { fn bytes(&self) -> u32 { 1500 } }
/// /// Begins to serve what may be served now.
/// struct Begin(Instant);
///
/// impl QueueDriver<Frame> for Begin {
///     fn drive<Q: Served<Frame>>(self, queue: &mut Q) {
///         while queue.dequeue(self.0).is_some() {}
///     }
/// }
///
/// let mut queue = Queue::new(&QueueSpec::default(), Rate::from_bits_per_second(12_000_000));
/// let _ = (queue.enqueue(Frame, Instant::ZERO), queue.enqueue(Frame, Instant::ZERO));
/// queue.driven_by(Begin(Instant::ZERO));
/// assert_eq!(queue.held_packets(), 1); // the other is on the wire
/// ```
pub trait QueueDriver<P: Packet> {
    /// Runs the loop.
    fn drive<Q: Served<P>>(self, queue: &mut Q);
}

//! What a link does with a packet.

use crate::kernel::cause::Cause;
use crate::kernel::packet::Event;
use paceline_core::Instant;

/// A packet's way over the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    /// Its serialisation begins.
    pub(crate) start: Instant,
    /// Its last bit is at the far end.
    pub(crate) arrival: Instant,
    /// A probe or the trace records it.
    pub(crate) recorded: bool,
    /// The queue has marked it, as it left.
    pub(crate) marked: bool,
}

/// What became of a packet that reached a link.
#[derive(Debug)]
pub(crate) enum Fate {
    /// Admitted by a plain FIFO: it is under way.
    Leaves(Passage),
    /// Held: ask [`Link::pump`].
    Held,
    /// The same, and it has been marked.
    Marked(Cause),
    /// Dropped.
    Dropped(Cause),
    /// Held, at the cost of this one.
    Displaced(Event),
}

/// What a link that holds packets does with one of them.
#[derive(Debug)]
pub(crate) enum Release {
    /// It is on the wire.
    Leaves(Passage),
    /// It is dropped.
    Dropped(Cause),
    /// It goes from the pacer to the queue, which marks it.
    Marked,
}

/// A lossless link whose single packets are not observed.
pub(crate) trait Carry {
    /// A packet reaches it at `at`: when its last bit is at the far end.
    fn carry(&mut self, bytes: u16, is_ack: bool, at: Instant) -> Instant;
}

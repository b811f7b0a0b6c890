//! The packets that a sender puts on the wire, and where they go.

/// A packet that the sender puts on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its number; a SYN, where the profile sends one, is 0.
    pub seq: u32,
    /// Size on the wire, bytes.
    pub bytes: u32,
    /// Sent before.
    pub retransmission: bool,
}

/// Where segments go.
pub trait Output {
    /// The sender puts a segment on the wire, now.
    fn send(&mut self, segment: Segment);
}

impl<O: Output> Output for &mut O {
    #[inline(always)]
    fn send(&mut self, segment: Segment) {
        (**self).send(segment);
    }
}

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
///
/// ```
/// use paceline_tcp::{Output, Segment};
///
/// struct Bytes(u64);
/// impl Output for Bytes {
///     fn send(&mut self, segment: Segment) {
///         self.0 += u64::from(segment.bytes);
///     }
/// }
///
/// let mut sent = Bytes(0);
/// sent.send(Segment { seq: 1, bytes: 1500, retransmission: false });
/// assert_eq!(sent.0, 1500);
/// ```
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

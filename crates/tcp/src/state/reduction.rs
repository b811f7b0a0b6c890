//! What a sender with ECN remembers of its last reduction.

/// The state of a sender with ECN.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EcnSender {
    /// `end` at the last cut by a mark: what was sent before it has been reacted to.
    pub(super) recover: u32,
    /// The first new packet after it, which carries CWR; `u32::MAX` is none.
    pub(super) reduced_at: u32,
    /// The acknowledgement at hand echoes a mark.
    pub(crate) is_echoed: bool,
    /// Marks that the receiver has told of, and 5 (RFC 9768 `s.cep`).
    pub(super) marked: u32,
}

impl EcnSender {
    pub(crate) const NONE: EcnSender =
        EcnSender { recover: 0, reduced_at: u32::MAX, is_echoed: false, marked: 5 };

    /// This packet is the one that says that the window is reduced.
    pub(crate) fn carries_reduced(&self, seq: u32) -> bool {
        seq == self.reduced_at
    }
}

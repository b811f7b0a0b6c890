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
    /// The next packet carries CWR, with [`crate::EcnRule::Ns2`] (ns-2 `cong_action_`).
    pub(super) says_reduced: bool,
    /// Marks come back though the window is one packet (ns-2 `ecn_backoff_`).
    pub(super) backs_off: bool,
}

impl EcnSender {
    pub(crate) const NONE: EcnSender = EcnSender {
        recover: 0,
        reduced_at: u32::MAX,
        is_echoed: false,
        says_reduced: false,
        backs_off: false,
        marked: 5,
    };
}

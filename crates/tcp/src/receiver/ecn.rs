//! The echo of marks.
//!
//! *Idea.* RFC 3168: from a marked packet on, every acknowledgement echoes, until a packet says that the window was reduced. RFC 8257: an
//! acknowledgement echoes what the packets that it covers were; so one that is delayed goes at once when a packet comes that differs from
//! those before it.
//! *References.* RFC 3168 section 6.1.3; RFC 8257 section 3.2.

use crate::config::EcnMode;

/// What a receiver with ECN remembers.
#[derive(Debug, Clone, Copy)]
pub(super) struct EcnReceiver {
    /// RFC 8257.
    is_exact: bool,
    /// Acknowledgements echo a mark.
    pub(super) echoes: bool,
}

impl EcnReceiver {
    pub(super) fn of(mode: EcnMode) -> Option<Self> {
        (mode != EcnMode::Off).then_some(EcnReceiver { is_exact: mode == EcnMode::Dctcp, echoes: false })
    }

    /// A packet arrives, marked or not; it may say that the window was reduced.
    pub(super) fn on_data(&mut self, is_marked: bool, is_reduced: bool) {
        self.echoes = is_marked || self.echoes && !self.is_exact && !is_reduced;
    }

    /// A delayed acknowledgement of earlier packets has to go before such a packet.
    pub(super) fn flushes_before(self, is_marked: bool) -> bool {
        self.is_exact && is_marked != self.echoes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echoes(mode: EcnMode, packets: &[(bool, bool)]) -> Vec<(bool, bool)> {
        let mut receiver = EcnReceiver::of(mode).expect("it has one");
        let step = |&(marked, reduced): &(bool, bool)| {
            let flush = receiver.flushes_before(marked);
            receiver.on_data(marked, reduced);
            (receiver.echoes, flush)
        };
        packets.iter().map(step).collect()
    }

    #[test]
    fn classic_echoes_until_the_window_is_reduced() {
        let packets =
            [(false, false), (true, false), (false, false), (false, true), (true, true), (false, false)];
        let echoed = echoes(EcnMode::Rfc3168, &packets).into_iter().map(|(echoes, _)| echoes);
        assert_eq!(echoed.collect::<Vec<_>>(), [false, true, true, false, true, true]);
    }

    #[test]
    fn dctcp_echoes_each_packet_and_flushes_at_changes() {
        let packets = [(false, false), (true, false), (true, false), (false, false)];
        assert_eq!(
            echoes(EcnMode::Dctcp, &packets),
            [(false, false), (true, true), (true, false), (false, true)]
        );
    }
}

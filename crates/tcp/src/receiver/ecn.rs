//! The echo of marks.
//!
//! *Idea.* RFC 3168: from a marked packet on, every acknowledgement echoes, until a packet says that the window was reduced. RFC 8257: an
//! acknowledgement echoes what the packets that it covers were; so one that is delayed goes at once when a packet comes that differs from
//! those before it. RFC 9768: each has the number of marked packets modulo 8, from 5 on; one goes at once at the first mark after packets
//! without, and at the second mark since the last acknowledgement.
//! *References.* RFC 3168 section 6.1.3; RFC 8257 section 3.2; RFC 9768 sections 3.2.2.1 and 3.2.2.5.1.

use crate::config::{Config, EcnMode};

/// What a receiver with ECN remembers.
#[derive(Debug, Clone, Copy)]
pub(super) struct EcnReceiver {
    mode: EcnMode,
    /// ns-2: what a delayed acknowledgement says is decided as it is sent, by both of its packets.
    is_decided_late: bool,
    /// The last packet was marked.
    was_marked: bool,
    /// Acknowledgements echo a mark.
    pub(super) echoes: bool,
    /// Marked packets, modulo 8, from 5 on.
    marked: u8,
    /// Of these, since the last acknowledgement; and the last of them follows a packet without a mark.
    since: u8,
    is_change: bool,
}

impl EcnReceiver {
    /// So many marks are acknowledged at once (RFC 9768 section 3.2.2.5.1: 2 to 6).
    const MOST_HELD: u8 = 2;

    pub(super) fn of(config: &Config) -> Option<Self> {
        (config.ecn != EcnMode::Off).then_some(EcnReceiver {
            mode: config.ecn,
            is_decided_late: config.has_ns2_marks(),
            was_marked: false,
            echoes: false,
            marked: 5,
            since: 0,
            is_change: false,
        })
    }

    /// A packet arrives, marked or not; it may say that the window was reduced. The one before may still `wait` to be acknowledged.
    pub(super) fn on_data(&mut self, is_marked: bool, is_reduced: bool, waits: bool) {
        if self.mode == EcnMode::Accurate {
            self.is_change = is_marked && !self.was_marked;
            self.since = self.since.saturating_add(is_marked.into());
            self.marked = (self.marked + u8::from(is_marked)) % 8;
        }
        let is_marked = is_marked || self.is_decided_late && waits && self.was_marked;
        self.was_marked = is_marked;
        self.echoes = is_marked || self.echoes && self.mode == EcnMode::Rfc3168 && !is_reduced;
    }

    /// A delayed acknowledgement of earlier packets has to go before such a packet.
    pub(super) fn flushes_before(self, is_marked: bool) -> bool {
        self.mode == EcnMode::Dctcp && is_marked != self.echoes
    }

    /// The acknowledgement of the packet that has just arrived must not be delayed.
    #[inline]
    pub(super) fn hurries(self) -> bool {
        self.is_change || self.since >= EcnReceiver::MOST_HELD
    }

    /// An acknowledgement goes.
    #[inline]
    pub(super) fn on_acknowledged(&mut self) {
        (self.since, self.is_change) = (0, false);
    }

    /// What its field ACE says.
    pub(super) fn ace(self) -> u8 {
        self.marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Profile, Variant};

    fn echoes(mode: EcnMode, packets: &[(bool, bool)]) -> Vec<(bool, bool)> {
        let config = Config { ecn: mode, ..Config::new(Profile::Rfc) };
        let mut receiver = EcnReceiver::of(&config).expect("it has one");
        let step = |&(marked, reduced): &(bool, bool)| {
            let flush = receiver.flushes_before(marked);
            receiver.on_data(marked, reduced, false);
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
    fn ns2_decides_by_both_packets_of_a_delayed_acknowledgement() {
        for (profile, echoes) in [(Profile::Ns2, true), (Profile::Rfc, false)] {
            let config = Config { ecn: EcnMode::Rfc3168, ..Config::of_variant(profile, Variant::Reno) };
            let mut receiver = EcnReceiver::of(&config).expect("it has one");
            receiver.on_data(true, false, false);
            receiver.on_data(false, true, true); // the acknowledgement of both
            assert_eq!(receiver.echoes, echoes, "{profile:?}");
            receiver.on_data(false, true, false);
            assert!(!receiver.echoes, "{profile:?}");
        }
    }

    #[test]
    fn dctcp_echoes_each_packet_and_flushes_at_changes() {
        let packets = [(false, false), (true, false), (true, false), (false, false)];
        assert_eq!(
            echoes(EcnMode::Dctcp, &packets),
            [(false, false), (true, true), (true, false), (false, true)]
        );
    }

    #[test]
    fn accurate_counts_and_hurries_at_a_change_and_at_the_second_mark() {
        let config = Config { ecn: EcnMode::Accurate, ..Config::new(Profile::Rfc) };
        let mut receiver = EcnReceiver::of(&config).expect("it has one");
        let mut step = |is_marked, is_acknowledged| {
            receiver.on_data(is_marked, false, false);
            let found = (receiver.ace(), receiver.hurries());
            if is_acknowledged {
                receiver.on_acknowledged();
            }
            found
        };
        assert_eq!(step(false, true), (5, false));
        assert_eq!(step(true, true), (6, true)); // a change
        assert_eq!(step(true, false), (7, false)); // the first since
        assert_eq!(step(true, true), (0, true)); // the second
        assert_eq!(step(false, true), (0, false));
        assert_eq!(step(true, true), (1, true));
        assert!(!receiver.flushes_before(false) && !receiver.flushes_before(true));
    }
}

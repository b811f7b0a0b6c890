//! What a packet's headers say of congestion: the ECN field of IP and the ECN flags of TCP, five bits.
//!
//! *References.* RFC 3168 sections 5 and 6.1; RFC 9768 section 3 for AE.

use paceline_core::Ecn;

/// Those bits. None is set by default: not ECN-capable, and nothing is echoed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Signals(u8);

#[allow(dead_code, reason = "TCP's side sets and reads the flags")]
impl Signals {
    /// All bits that they take.
    pub(crate) const MASK: u8 = 0b1_1111;
    /// Of a transport that understands no marks.
    pub(crate) const NONE: Signals = Signals(0);
    /// TCP: congestion was experienced (ECN-Echo); with the two others, RFC 9768's counter of marks.
    pub(crate) const ECE: Signals = Signals(1 << 2);
    /// TCP: the congestion window is reduced.
    pub(crate) const CWR: Signals = Signals(1 << 3);
    /// TCP: accurate ECN.
    pub(crate) const AE: Signals = Signals(1 << 4);

    /// Of that field, with no flag.
    #[inline]
    pub(crate) const fn of(ecn: Ecn) -> Self {
        Signals(ecn as u8)
    }

    #[inline]
    pub(super) const fn of_bits(bits: u8) -> Self {
        Signals(bits & Signals::MASK)
    }

    #[inline]
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// The ECN field.
    #[inline]
    pub(crate) const fn ecn(self) -> Ecn {
        Ecn::of_bits(self.0)
    }

    /// Not ECN-capable, with the field ACE of RFC 9768 section 3.2.1 in place of the flags: AE, CWR, ECE.
    #[inline]
    pub(crate) const fn of_ace(ace: u8) -> Self {
        Signals(ace << 2 & Signals::MASK)
    }

    /// That field.
    #[inline]
    pub(crate) const fn ace(self) -> u8 {
        self.0 >> 2
    }

    /// These flags too.
    #[inline]
    pub(crate) const fn with(self, flags: Signals) -> Self {
        Signals(self.0 | flags.0)
    }

    /// All these flags are set.
    #[inline]
    pub(crate) const fn has(self, flags: Signals) -> bool {
        self.0 & flags.0 == flags.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_and_the_flags_have_bits_of_their_own() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            let signals = Signals::of(ecn).with(Signals::CWR);
            assert_eq!(signals.ecn(), ecn);
            assert!(signals.has(Signals::CWR) && !signals.has(Signals::ECE) && !signals.has(Signals::AE));
            assert_eq!(Signals::of_bits(signals.bits()), signals);
        }
        let all = Signals::of(Ecn::Ce).with(Signals::ECE).with(Signals::CWR).with(Signals::AE);
        assert_eq!(all.bits(), Signals::MASK);
        for ace in 0..8 {
            let signals = Signals::of_ace(ace);
            assert_eq!((signals.ace(), signals.ecn()), (ace, Ecn::NotEct));
            let flags = [(Signals::AE, 4), (Signals::CWR, 2), (Signals::ECE, 1)];
            assert!(flags.iter().all(|(flag, bit)| signals.has(*flag) == (ace & bit != 0)));
        }
    }
}

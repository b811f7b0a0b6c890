//! What follows from a configuration.

use super::{Config, EcnMode, EcnRule, Variant};

impl Config {
    /// Losses are detected and repaired by RACK: [`Config::rack`], if the variant supports it.
    #[inline]
    pub(crate) fn has_rack(&self) -> bool {
        self.variant.is_by_rate()
            || self.rack && (self.variant == Variant::Rfc6675 || self.variant.is_control())
    }

    /// [`EcnRule::Ns2`] applies.
    #[inline]
    pub fn has_ns2_marks(&self) -> bool {
        let has_rule =
            matches!(self.variant, Variant::Tahoe | Variant::Reno | Variant::NewReno | Variant::Sack1);
        self.ecn == EcnMode::Rfc3168 && self.ecn_rule == EcnRule::Ns2 && has_rule
    }

    /// Acknowledgements may have to wait at the receiver: it has a timer.
    #[inline]
    pub fn delays_acks(&self) -> bool {
        self.delayed_ack.is_some() || self.gro.is_some()
    }

    /// The sender needs more of an acknowledgement than its number.
    pub fn needs_feedback(&self) -> bool {
        self.variant.is_selective() || self.timestamps
    }

    /// The sender needs the echo of acknowledgements that report blocks.
    #[inline]
    pub fn needs_echo(&self) -> bool {
        self.timestamps || self.variant == Variant::Fack
    }

    /// Size of an acknowledgement with `blocks` SACK blocks on the wire, bytes.
    ///
    /// ```
    /// # use paceline_tcp::{Config, Profile};
    /// let config = Config::new(Profile::Rfc);
    /// assert_eq!(config.ack_bytes(0), config.ack);
    /// assert_eq!(config.ack_bytes(2) - config.ack_bytes(1), 8);
    /// ```
    pub fn ack_bytes(&self, blocks: usize) -> u32 {
        if blocks == 0 { self.ack } else { self.ack + self.sack_header + 8 * blocks as u32 }
    }

    /// The window up to which Reno's grows, packets.
    #[inline(always)]
    pub(crate) fn most_growth(&self) -> f64 {
        if self.grow_unused { f64::INFINITY } else { f64::from(self.max_window) }
    }

    /// A data packet on the wire, bytes.
    ///
    /// ```
    /// # use paceline_tcp::{Config, Profile};
    /// let config = Config { payload: 1460, header: 40, ..Config::new(Profile::Rfc) };
    /// assert_eq!(config.data_bytes(), 1500);
    /// ```
    pub fn data_bytes(&self) -> u32 {
        self.payload + self.header
    }
}

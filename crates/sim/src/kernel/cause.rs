//! Why a link drops a packet, or marks it.

use paceline_core::Cause as QueueCause;

/// Why a link drops a packet, or marks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// The buffer's limit is reached.
    Overflow,
    /// The queue signals congestion before that.
    Early,
    /// A `[[drop]]` or `[[mark]]` of the scenario.
    Forced,
    /// It does not conform to the link's policer.
    Policer,
    /// The pacer before the buffer holds as much as it may.
    Pacer,
    /// The memory that the link shares has no room.
    Memory,
}

impl Cause {
    /// Names in a trace file, by discriminant.
    pub const NAMES: [&'static str; 6] = ["overflow", "early", "forced", "policer", "pacer", "memory"];

    /// All of them, by discriminant.
    pub(crate) const ALL: [Cause; 6] =
        [Cause::Overflow, Cause::Early, Cause::Forced, Cause::Policer, Cause::Pacer, Cause::Memory];
}

impl From<QueueCause> for Cause {
    #[inline]
    fn from(cause: QueueCause) -> Cause {
        match cause {
            QueueCause::Overflow => Cause::Overflow,
            QueueCause::Early => Cause::Early,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_causes_stand_by_discriminant() {
        for (number, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, number);
            assert_eq!(Cause::NAMES[number], format!("{cause:?}").to_lowercase());
        }
    }
}

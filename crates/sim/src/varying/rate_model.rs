//! The interface of rates that vary.

use crate::input::keys::Key;
use crate::input::{Result, Table};
use crate::kernel::chance::Stream;
use paceline_core::{Instant, Span};
use std::fmt::Debug;

/// Steps and states are at least so long: as many changes as packets.
pub(super) const SHORTEST: Span = Span::from_nanos(1_000);

/// How a link's rate varies, as its table describes it.
pub(crate) trait RateModel: Sized {
    /// The keys of its table. The first is needed, and no other kind has it.
    const KEYS: &'static [Key];
    /// How one would write it.
    const EXAMPLE: &'static str;
    /// See [`super::VaryingRate::waits_when_idle`].
    const WAITS_WHEN_IDLE: bool = false;

    /// Reads its keys.
    fn read(table: &Table<'_>) -> Result<Self>;

    /// See [`super::VaryingRate::mean`], bit/s.
    fn mean_bps(&self, duration: Span) -> u128;

    /// See [`super::VaryingRate::fastest`].
    fn most_bps(&self) -> u64;

    /// At work on one link.
    type Transmitter: Transmit;

    /// At work, with random numbers of its own.
    fn transmitter(&self, draws: Stream) -> Self::Transmitter;
}

/// The transmitter of one link: when a packet's service may begin, and when its last bit has left.
pub(crate) trait Transmit: Debug {
    /// A packet comes to the link, which is idle: when its service may begin.
    fn opens(&mut self, now: Instant) -> Instant {
        now
    }

    /// The service of a packet begins: when its last bit has left, and when that of the next may begin.
    fn send(&mut self, bytes: u16, start: Instant) -> (Instant, Instant);

    /// What it could send from one time to another, bits; it has sent nothing yet.
    fn bits_between(&mut self, from: Instant, to: Instant) -> f64;
}

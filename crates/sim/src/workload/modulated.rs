//! Packets at equal gaps of a rate that changes from piece to piece of time.
//!
//! *Idea.* A packet leaves whenever the rate's integral has grown by its bits; what a piece leaves over counts in the next.
//! So a source sends floor(integral / bits) packets by any time, and its rate is the pieces' mean to within one packet.
//! Integers only: bits times nanoseconds.
//! *Where it breaks.* Pieces shorter than a packet takes at their rate are seen only in their mean.

use super::on_off::{OnOff, Periods};
use super::self_similar::{SelfSimilar, Slots};
use crate::kernel::chance::Stream;
use paceline_core::{Instant, Span};

/// 1 bit, in bit/s times nanoseconds.
const BIT: u128 = 1_000_000_000;

/// A source whose rate changes.
#[derive(Debug)]
pub(crate) struct Modulated {
    pieces: Pieces,
    /// The present piece: its rate, bit/s, and its end.
    rate: u64,
    until: Instant,
    /// No piece that begins then or later matters.
    stop: Instant,
    /// The integral since the last packet, beyond its bits.
    over: u128,
}

#[derive(Debug)]
enum Pieces {
    OnOff(Periods),
    SelfSimilar(Slots),
}

impl Modulated {
    pub(crate) fn on_off(spec: &OnOff, start: Instant, stop: Instant, draws: Stream) -> Self {
        Modulated::new(Pieces::OnOff(Periods::new(*spec, draws)), start, stop)
    }

    pub(crate) fn self_similar(spec: &SelfSimilar, start: Instant, stop: Instant, draws: Stream) -> Self {
        let slots = stop.since(start).as_nanos().div_ceil(spec.slot.as_nanos().max(1));
        Modulated::new(Pieces::SelfSimilar(Slots::new(spec, slots as usize, draws)), start, stop)
    }

    fn new(pieces: Pieces, start: Instant, stop: Instant) -> Self {
        Modulated { pieces, rate: 0, until: start, stop, over: 0 }
    }

    /// When the integral since `now`, the last packet's time (or the start), has grown by the bits of the next.
    pub(crate) fn next_after(&mut self, now: Instant, bytes: u32) -> Option<Instant> {
        let mut needed = (u128::from(bytes) * 8 * BIT).saturating_sub(self.over);
        let mut at = now;
        loop {
            let rate = u128::from(self.rate);
            let rest = rate * u128::from(self.until.since(at).as_nanos());
            if rest >= needed && rate > 0 {
                let wait = needed.div_ceil(rate);
                self.over = rate * wait - needed;
                return Some(at + Span::from_nanos(wait as u64));
            }
            needed -= rest;
            at = self.until;
            if at >= self.stop {
                return None;
            }
            let (rate, length) = match &mut self.pieces {
                Pieces::OnOff(periods) => periods.next(),
                Pieces::SelfSimilar(slots) => slots.next()?,
            };
            self.rate = rate;
            self.until = at + length;
        }
    }
}

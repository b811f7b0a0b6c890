//! When packets were first sent that a receiver gets late.

use paceline_core::Instant;

/// First transmissions of packets that come late: those that a link dropped, and those that wait behind a gap.
///
/// Any other packet is delivered the moment it arrives, and says itself when it was sent.
#[derive(Debug, Default)]
pub(crate) struct Late(Vec<(u32, Instant)>);

impl Late {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A packet was dropped, or arrived beyond a gap.
    pub(crate) fn note(&mut self, seq: u32, sent: Instant) {
        match self.0.iter_mut().find(|(late, _)| *late == seq) {
            Some((_, first)) => *first = sent.min(*first),
            None => self.0.push((seq, sent)),
        }
    }

    /// Packet `seq` arrives where `next` was waited for: it waits if it lies beyond.
    pub(crate) fn on_arrival(&mut self, seq: u32, sent: Instant, next: u32) {
        if seq > next {
            self.note(seq, sent);
        }
    }

    /// Packet `seq` is delivered: when it was first sent, if it comes late.
    #[inline]
    pub(crate) fn take(&mut self, seq: u32) -> Option<Instant> {
        if self.0.is_empty() {
            return None;
        }
        let position = self.0.iter().position(|(late, _)| *late == seq)?;
        Some(self.0.swap_remove(position).1)
    }
}

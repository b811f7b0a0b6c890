//! What a loss recovery implements.

use crate::feedback::Ack;
use crate::segment::Output;
use crate::state::State;
use paceline_core::Instant;

/// The burst of [`LossRecovery::on_ack`] that sends nothing.
pub(crate) const NOTHING: u32 = 0;
/// The burst that sends everything that the window allows.
pub(crate) const WHOLE_WINDOW: u32 = u32::MAX;

/// A loss recovery: it acts on the state of a sender, and what it keeps is part of that state.
///
/// The functions that have a default are those of a recovery that counts duplicate acknowledgements and knows nothing of single
/// packets. While [`crate::state::Cold::sack`] is blank, nothing is missing, and the sender sends new data in order without asking.
pub(crate) trait LossRecovery {
    /// Processes an acknowledgement. May send single packets by [`State::transmit`]. Returns how many packets
    /// the sender may send then at most, as far as the window and pacing allow.
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32;

    /// The retransmission timer has run out.
    fn on_timeout(state: &mut State) {
        state.inflation = 0;
        state.duplicates = 0;
        state.recover = state.end;
    }

    /// The packet that may be sent now, if one may.
    fn next_packet(state: &State) -> Option<u32> {
        let fits = state.next - state.una < state.window() && state.next < state.limit;
        fits.then_some(state.next)
    }

    /// The packet that [`LossRecovery::next_packet`] has returned is sent.
    fn on_sent(state: &mut State, seq: u32, _now: Instant) {
        state.next = state.next.max(seq + 1);
    }
}

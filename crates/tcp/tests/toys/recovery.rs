//! A recovery as simple as can be: the third duplicate halves the window and retransmits.

use super::loss_recovery::{LossRecovery, WHOLE_WINDOW};
use crate::feedback::Ack;
use crate::segment::Output;
use crate::state::State;
use paceline_core::Instant;

pub(super) struct Toy;

impl LossRecovery for Toy {
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, out: &mut impl Output) -> u32 {
        if ack.next > state.una {
            state.on_new_ack(ack, now);
        } else if ack.next == state.una {
            state.count_duplicate();
            if state.duplicates == state.config.duplicate_threshold {
                state.cut_to_half();
                state.transmit(state.una, now, out);
            }
        }
        WHOLE_WINDOW
    }
}

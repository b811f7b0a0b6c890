//! A recovery as simple as can be: the third duplicate halves the window and retransmits.

use super::loss_recovery::{LossRecovery, WHOLE_WINDOW};
use crate::feedback::Report;
use crate::segment::Output;
use crate::state::State;
use paceline_core::Instant;

pub(super) struct Toy;

impl LossRecovery for Toy {
    fn on_ack(state: &mut State, next: u32, report: Report<'_>, now: Instant, out: &mut impl Output) -> u32 {
        if next > state.una {
            state.on_new_ack(next, report, now);
        } else if next == state.una {
            state.count_duplicate();
            if state.duplicates == state.config.duplicate_threshold {
                state.cut_to_half();
                state.transmit(state.una, now, out);
            }
        }
        WHOLE_WINDOW
    }
}

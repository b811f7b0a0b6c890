//! How many packets are lost, and in flight.

use crate::sack::SackState;
use crate::state::State;

/// The lost packet to be sent next.
pub(super) fn next_lost(state: &State) -> Option<u32> {
    let SackState { board, rack, .. } = &*state.cold.sack;
    let from = rack.resent_to.max(state.una);
    let first = if from < rack.lost_to { board.gap_from(from) } else { from };
    let first = (first < rack.lost_to).then_some(first);
    first.into_iter().chain(rack.resent.first_lost()).min()
}

/// Packets lost, retransmitted or not (`lost_out`).
pub(super) fn lost(state: &State) -> u32 {
    let SackState { board, rack, .. } = &*state.cold.sack;
    match rack.lost_to.saturating_sub(state.una) {
        0 => 0,
        below => below.saturating_sub(board.held() - board.held_from(rack.lost_to)), // few are held beyond,
    }
}

/// `tcp_packets_in_flight`
pub(super) fn pipe(state: &State) -> u32 {
    let SackState { board, rack, .. } = &*state.cold.sack;
    (state.end - state.una + rack.resent.in_flight()).saturating_sub(board.held() + lost(state))
}

/// What the windows let out beside it.
pub(in crate::recovery) fn room(state: &State) -> u32 {
    let offered = state.config.max_window.saturating_sub(state.next - state.una);
    (state.cwnd as u32).saturating_sub(pipe(state)).min(offered)
}

//! How many packets are lost, and in flight.

use crate::sack::SackState;
use crate::state::State;

/// The lost packet to be sent next.
pub(super) fn next_lost(state: &State) -> Option<u32> {
    let SackState { board, rack, .. } = &*state.cold.sack;
    let again = rack.resent.iter().filter(|one| one.lost).map(|one| one.seq).min();
    let first = board.gap_from(rack.resent_to.max(state.una));
    let first = (first < rack.lost_to).then_some(first);
    again.map_or(first, |again| Some(first.map_or(again, |first| first.min(again))))
}

/// Packets lost, retransmitted or not (`lost_out`).
pub(super) fn lost(state: &State) -> u32 {
    let SackState { board, rack, .. } = &*state.cold.sack;
    match rack.lost_to.saturating_sub(state.una) {
        0 => 0,
        below => below.saturating_sub(board.held_below(rack.lost_to)),
    }
}

/// `tcp_packets_in_flight`
pub(super) fn pipe(state: &State) -> u32 {
    let SackState { board, rack, .. } = &*state.cold.sack;
    let again = rack.resent.iter().filter(|one| !one.lost).count() as u32;
    (state.end - state.una + again).saturating_sub(board.held() + lost(state))
}

/// What the windows let out beside it.
pub(in crate::recovery) fn room(state: &State) -> u32 {
    let offered = state.config.max_window.saturating_sub(state.next - state.una);
    (state.cwnd as u32).saturating_sub(pipe(state)).min(offered)
}

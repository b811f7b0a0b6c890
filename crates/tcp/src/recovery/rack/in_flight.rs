//! How many packets are lost, and in flight.

use crate::sack::SackState;
use crate::state::State;

/// The lost packet to be sent next.
pub(super) fn next_lost(state: &State) -> Option<u32> {
    let SackState { board, rack, .. } = &*state.cold.sack;
    let from = rack.resent_to.max(rack.lost_from).max(state.una);
    let mut first = if from < rack.lost_to { board.gap_from(from) } else { from };
    while rack.is_undone && first < rack.lost_to && rack.resent.has(first) {
        first = board.gap_from(first + 1);
    }
    let first = (first < rack.lost_to).then_some(first);
    first.into_iter().chain(rack.resent.first_lost()).min()
}

/// Packets lost, retransmitted or not (`lost_out`).
pub(super) fn lost(state: &State) -> u32 {
    let SackState { board, rack, .. } = &*state.cold.sack;
    if rack.is_undone {
        return lost_of_undone(state);
    }
    match rack.lost_to.saturating_sub(state.una) {
        0 => 0,
        below => below.saturating_sub(board.held() - board.held_from(rack.lost_to)), // few are held beyond,
    }
}

/// Where losses were taken back, some packets that were sent again are not lost, and some are that are not among the others.
#[cold]
fn lost_of_undone(state: &State) -> u32 {
    let SackState { board, rack, .. } = &*state.cold.sack;
    let from = rack.lost_from.max(state.una);
    let among = from..rack.lost_to.max(from);
    let held = board.held_below(among.end) - board.held_below(among.start);
    let all = among.end - among.start - held;
    let resent = || rack.resent.iter().filter(|one| !board.holds(one.seq));
    let spared = resent().filter(|one| one.spared && among.contains(&one.seq)).count() as u32;
    let others = resent().filter(|one| !one.spared && !among.contains(&one.seq)).count() as u32;
    all + others - spared
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

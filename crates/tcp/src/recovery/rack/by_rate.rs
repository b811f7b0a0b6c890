//! What RACK tells a congestion control by rate, which sets the window itself.
//!
//! *References.* Linux net/ipv4/tcp_input.c `tcp_cong_control`, tcp_rate.c `tcp_rate_check_app_limited`.

use super::in_flight::{next_lost, pipe};
use crate::cc::{RateAck, Window};
use crate::sack::SackState;
use crate::state::State;
use paceline_core::Instant;

/// Packets in flight before an acknowledgement, if a control by rate needs it.
pub(super) fn pipe_before(state: &State) -> Option<u32> {
    state.config.variant.is_by_rate().then(|| pipe(state))
}

/// An acknowledgement was processed, which reports so many packets as delivered and as lost.
pub(super) fn control(
    state: &mut State,
    (delivered, lost): (u32, u32),
    prior_in_flight: u32,
    echo: Instant,
    now: Instant,
) {
    let ack = RateAck {
        now,
        next: state.una,
        echo: state.config.timestamps.then_some(echo),
        delivered,
        lost,
        prior_in_flight,
        in_flight: pipe(state),
        ca_state: state.cold.sack.rack.ca_state,
        srtt: state.cold.smoothed,
        paced_until: state.cold.pacing_at,
    };
    let mut window = Window { cwnd: state.cwnd, ssthresh: state.ssthresh };
    if let Some(control) = state.rate_control() {
        control.on_ack(&mut window, ack);
    }
    (state.cwnd, state.ssthresh) = (window.cwnd, window.ssthresh);
}

/// The application writes: from now on samples are limited by it, if everything before was sent though the window had room.
pub(crate) fn limit_by_application(state: &mut State) {
    let in_flight = pipe(state);
    let is_limited = state.next == state.limit && in_flight < state.cwnd as u32 && next_lost(state).is_none();
    if is_limited && let Some(control) = state.rate_control() {
        control.limit_by_application(in_flight);
    }
}

/// A timeout: packets before `lost_to`, the first one, and what was not sent again recently are lost, as far as they were not before.
pub(super) fn lose_by_timeout(
    state: &mut State,
    lost_to: u32,
    is_recent: impl Fn(Instant) -> bool,
    now: Instant,
) {
    let (una, cwnd) = (state.una, state.cwnd);
    let cold = &mut *state.cold;
    let Some(control) = cold.control.as_mut().and_then(|control| control.by_rate()) else { return };
    let SackState { board, rack, .. } = &*cold.sack;
    let mut seq = board.gap_from(rack.lost_to.max(una));
    while seq < lost_to {
        control.on_lost(seq, cwnd, now);
        seq = board.gap_from(seq + 1);
    }
    for one in rack.resent.iter().filter(|one| !one.lost && (one.seq == una || !is_recent(one.at))) {
        control.on_lost(one.seq, cwnd, now);
    }
}

pub(super) fn set_in_flight(state: &mut State) {
    let in_flight = pipe(state);
    if let Some(control) = state.rate_control() {
        control.set_in_flight(in_flight);
    }
}

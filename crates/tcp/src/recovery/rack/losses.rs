//! Which packets are lost: those sent long enough before one that has arrived.

use crate::sack::{CaState, SackState};
use crate::state::{State, probed_at};
use paceline_core::{Instant, Span};

/// The result of [`mark_lost`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marked {
    /// Packets newly lost.
    pub(super) lost: u32,
    /// Retransmissions among them.
    pub(super) again: bool,
    /// Packets may have been reordered: the timer runs.
    pub(super) waits: bool,
}

/// `tcp_rack_mark_lost`: marks the packets that are lost by the packets that have arrived.
pub(super) fn mark_lost(state: &mut State, now: Instant) -> Marked {
    let mut marked = Marked::default();
    if !state.cold.sack.rack.advanced {
        return marked;
    }
    state.cold.sack.rack.advanced = false;
    let waits = detect_losses(state, now, &mut marked);
    if waits > Span::ZERO {
        state.await_reordering(waits, now);
        marked.waits = true;
    }
    marked
}

/// `tcp_rack_detect_loss`: returns how long until the last packet that may be lost counts as lost.
pub(super) fn detect_losses(state: &mut State, now: Instant, marked: &mut Marked) -> Span {
    let (una, end) = (state.una, state.end);
    let threshold = state.config.duplicate_threshold;
    let cwnd = state.cwnd;
    let cold = &mut *state.cold;
    let least = cold.least();
    let (probe, trains) = (cold.probed(), &cold.trains);
    let mut control = cold.control.as_mut().and_then(|control| control.by_rate());
    let mut note = |seq: u32| {
        if let Some(control) = &mut control {
            control.on_lost(seq, cwnd, now);
        }
    };
    let (is_reordered, quarters) = (cold.reordering.is_seen, cold.reordering.quarters());
    let SackState { board, rack, .. } = &mut *cold.sack;
    // `tcp_rack_reo_wnd`
    let sure = !is_reordered && (rack.ca_state >= CaState::Recovery || board.held() >= threshold);
    let patience = match sure {
        true => Span::ZERO,
        false => Span::from_nanos(least.as_nanos() / 4 * quarters).min(Span::from_seconds(cold.smoothed)),
    };
    let mut longest = Span::ZERO;
    // How much longer a packet sent at `at` may be late; `None` where no packet sent after it has arrived.
    let (latest, round_trip) = (rack.latest, rack.round_trip);
    let wait = |at: Instant, end: u32| (latest > (at, end)).then(|| (at + round_trip + patience).since(now));
    // First transmissions are in order of number, so that none was sent before the latest that is beyond it, if that is one.
    let end = if rack.latest_resent { end } else { end.min(latest.1) };
    let mut seq = board.gap_from(rack.lost_to.max(una));
    while seq < end {
        if rack.is_undone && rack.resent.has(seq) {
            seq = board.gap_from(seq + 1);
            continue;
        }
        let at = probed_at(probe, seq).unwrap_or_else(|| trains.of(seq).at);
        match wait(at, seq + 1) {
            None => break,
            Some(Span::ZERO) => {
                marked.lost += 1;
                (rack.lost_to, rack.found_to) = (seq + 1, seq + 1);
                note(seq);
            }
            Some(more) => longest = longest.max(more),
        }
        seq = board.gap_from(seq + 1);
    }
    let (again, is_undone) = (rack.latest_resent, rack.is_undone);
    rack.resent.lose(|one| {
        if is_undone && board.holds(one.seq) {
            return Some(false);
        }
        let more = wait(one.at, if again { one.seq + 1 } else { one.end })?;
        longest = longest.max(more);
        let is_lost = more == Span::ZERO;
        if is_lost {
            marked.lost += 1;
            marked.again |= !one.spared;
            note(one.seq);
        }
        Some(is_lost)
    });
    longest
}

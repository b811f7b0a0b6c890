//! Reductions that turn out to have been needless are taken back: packets came late, and were not lost.
//!
//! *Idea.* With timestamps an acknowledgement says whether a retransmission called for it, or a packet sent before the first of them
//! (Eifel, RFC 3522). One at the end of a recovery takes its reduction back, and so does one within it, once no retransmission is in
//! flight; while one is, new data are sent, but nothing again. After a timeout any acknowledgement of new data does. Where the receiver tells of
//! every retransmission that it had the packet before (D-SACK), the reduction is taken back, too, even after the recovery.

use super::arrivals::note_reordering;
use super::in_flight::lost;
use crate::sack::{CaState, SackState};
use crate::state::{LastCut, State};
use paceline_core::Instant;

/// `tcp_init_undo`, and what the window and its threshold were.
pub(super) fn begin(state: &mut State, before: (f64, u32)) {
    let probes = u32::from(state.cold.probe.is_some_and(|probe| probe.again));
    let in_flight = state.cold.sack.rack.resent.in_flight() + probes;
    let (una, is_marked) = (state.una, state.cold.ecn.is_echoed);
    state.cold.undo.begin(una, in_flight, before, is_marked);
}

/// `tcp_undo_cwnd_reduction`; `unmark`: no packet is lost any more.
pub(super) fn take_back(state: &mut State, unmark: bool) {
    let una = state.una;
    let rack = &mut state.cold.sack.rack;
    if unmark {
        // What RACK found to be lost it does not look at again (`tcp_tsorted_anchor`), but at what a timeout took for lost.
        let kept = rack.found_to.max(una);
        (rack.lost_from, rack.lost_to, rack.resent_to) = (kept, kept, kept);
        rack.resent.spare();
        rack.is_undone = true;
    }
    rack.advanced = true;
    rack.frto = false;
    state.recover = una;
    state.last_cut = LastCut::RecoveryLeft;
    let undo = *state.cold.undo;
    state.cold.undo.from = None;
    if let Some(ssthresh) = undo.ssthresh {
        state.restore(undo.cwnd, ssthresh);
    }
}

/// The time that an acknowledgement echoes, if it has a timestamp.
fn echoed(state: &State, echo: Instant) -> Option<Instant> {
    state.config.timestamps.then_some(echo)
}

/// `tcp_may_undo`
pub(super) fn may_take_back(state: &State, echo: Instant) -> bool {
    state.cold.undo.is_needless(echoed(state, echo))
}

/// `tcp_try_undo_recovery`: everything is acknowledged that was outstanding at the reduction.
pub(super) fn end(state: &mut State, echo: Instant) {
    if may_take_back(state, echo) {
        take_back(state, false);
    } else if !state.cold.reordering.is_blank() {
        state.cold.reordering.on_recovered();
    }
}

/// `tcp_try_undo_dsack`: the receiver had all that was sent again before. Returns whether that is so.
pub(super) fn take_back_needless(state: &mut State) -> bool {
    let is_needless = state.cold.undo.are_all_needless();
    if is_needless {
        state.cold.reordering.on_needless();
        take_back(state, false);
    }
    is_needless
}

/// What [`take_back_within`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Nothing,
    /// The recovery is over.
    TakenBack,
    /// Retransmissions are in flight: until they have arrived nothing is taken for lost, or sent again.
    Waits,
}

/// `tcp_try_undo_partial`: a part of what was outstanding is acknowledged, from packet `before` on.
pub(super) fn take_back_within(state: &mut State, before: u32, echo: Instant) -> Within {
    let undo = &state.cold.undo;
    if undo.from.is_none() || !undo.is_by_original(echoed(state, echo)) {
        return Within::Nothing;
    }
    note_reordering(state, before, state.una);
    if state.cold.sack.rack.resent.in_flight() > 0 {
        return Within::Waits;
    }
    end_retransmissions(state);
    take_back(state, true);
    keep_open(state);
    Within::TakenBack
}

/// The first retransmission is forgotten if none is outstanding (`tcp_retrans_stamp_cleanup`).
pub(super) fn end_retransmissions(state: &mut State) {
    if state.cold.undo.first_resent.is_some() && !is_any_outstanding(state) {
        state.cold.undo.end_retransmissions();
    }
}

/// `tcp_any_retrans_done`
fn is_any_outstanding(state: &State) -> bool {
    let resent = &state.cold.sack.rack.resent;
    let is_first_probed = state.cold.probed().is_some_and(|(seq, _)| seq == state.una);
    resent.in_flight() > 0 || resent.has(state.una) || is_first_probed
}

/// `tcp_try_keep_open`
pub(super) fn keep_open(state: &mut State) {
    let is_any = lost(state) > 0 || is_any_outstanding(state);
    let SackState { board, rack, .. } = &mut *state.cold.sack;
    rack.ca_state = if board.is_empty() && !is_any { CaState::Open } else { CaState::Disorder };
}

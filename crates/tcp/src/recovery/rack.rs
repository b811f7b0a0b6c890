//! RACK: Linux's loss recovery, by the order in which packets were sent.
//!
//! *Idea.* A packet, or a retransmission, is **lost** when a packet sent after it has arrived. In a recovery, or where
//! `duplicate_threshold` packets are held, it is lost at once. Else it may have been reordered, and is lost a quarter of the least round
//! trip later; so it is everywhere once a packet was seen to be reordered. A loss begins a *recovery*: the window decreases in
//! proportion to what arrives, and each acknowledgement sends lost packets, lowest first, then new data, while fewer packets are in flight
//! than the window has. A timeout begins a *loss*: every packet older than a round trip is lost, and the window grows from one packet by
//! slow start. First the sender finds out whether the timeout was needless: the arrival of a packet that was not retransmitted undoes it
//! (F-RTO). Timestamps and D-SACK tell of any reduction whether it was (`undo`).
//! *Parameters.* `rack`, `duplicate_threshold`.
//! *Where it breaks.* An acknowledgement that another has overtaken is ignored with its blocks, and so is D-SACK once everything that the
//! application has written is acknowledged, where Linux reads both.
//! *References.* RFC 8985, 9937, 5682, 3522; Linux 6.18 net/ipv4/tcp_recovery.c, tcp_input.c (`tcp_ack` and the functions that it calls, which
//! the code names).

mod arrivals;
mod by_rate;
mod in_flight;
mod losses;
mod undo;

use super::loss_recovery::{LossRecovery, NOTHING, WHOLE_WINDOW};
use crate::feedback::Ack;
use crate::sack::{CaState, RateReduction, SackState};
use crate::segment::Output;
use crate::state::{LastCut, State, probed_at};
use arrivals::{Arrivals, measure, record};
pub(crate) use by_rate::limit_by_application;
pub(super) use in_flight::room;
use in_flight::{lost, next_lost, pipe};
use losses::{Marked, detect_losses, mark_lost};
use paceline_core::{Instant, Span};
use undo::{Within, keep_open, may_take_back, take_back};

pub(super) struct Rack;

impl LossRecovery for Rack {
    #[inline(never)]
    fn on_ack(state: &mut State, ack: Ack<'_>, now: Instant, _out: &mut impl Output) -> u32 {
        if !state.cold.sack.is_blank() || !ack.blocks.is_empty() {
            return if ack.next >= state.una { on_ack_with_holes(state, ack, now) } else { NOTHING };
        }
        if ack.next > state.una {
            state.on_new_ack(ack, now);
            return WHOLE_WINDOW;
        }
        if ack.next == state.una {
            state.process_probe_ack(ack.next, true, false);
        }
        NOTHING
    }

    /// The timeout of a SYN, or with nothing outstanding. For others see [`enter_loss`].
    fn on_timeout(state: &mut State) {
        if !state.cold.sack.is_blank() {
            state.cold.sack.clear();
        }
    }

    /// Lost packets, lowest first, then new data.
    fn next_packet(state: &State) -> Option<u32> {
        if pipe(state) >= state.cwnd as u32 {
            return None;
        }
        let rack = &state.cold.sack.rack;
        if !rack.new_data_first
            && !rack.holds_back
            && let Some(seq) = next_lost(state)
        {
            return Some(seq);
        }
        let fits = state.next - state.una < state.config.max_window && state.next < state.limit;
        fits.then_some(state.next)
    }

    fn on_sent(state: &mut State, seq: u32, now: Instant) {
        let rack = &mut state.cold.sack.rack;
        if rack.ca_state == CaState::Recovery {
            rack.reduction.sent += 1;
        }
        if seq >= state.next {
            state.next = seq + 1;
            return;
        }
        if rack.resent.may_have(seq) {
            rack.resent.take(seq);
        }
        rack.resent_to = rack.resent_to.max(seq + 1);
        rack.resent.push(seq, now, state.end);
        state.cold.undo.on_resent(now);
        if seq == state.una {
            state.restart_timeout(now);
        }
    }
}

fn on_ack_with_holes(state: &mut State, ack: Ack<'_>, now: Instant) -> u32 {
    let advanced = ack.next > state.una;
    let in_flight = state.next.saturating_sub(state.una);
    let prior_pipe = by_rate::pipe_before(state);
    let handshake = state.is_shaking_hands();
    if handshake && advanced {
        state.on_new_ack(ack, now); // blocks with the first acknowledgement: unusual
        state.cold.sack.rack.resent.clear(); // it covers everything that was sent, the SYN
    }
    let arrivals = record(state, ack, now);
    let before = state.una;
    if advanced {
        state.una = ack.next;
        state.next = state.next.max(ack.next);
        state.duplicates = 0;
        state.cold.sack.rack.timeouts = 0;
    }
    let sample = measure(state, &arrivals, ack.echo, advanced, now);
    let restart = advanced || arrivals.held.is_some_and(|(first, _)| first < state.last_sent_at(state.una));
    state.process_probe_ack(ack.next, !advanced && !arrivals.beyond, arrivals.is_of_probe);

    // `tcp_fastretrans_alert`
    let mut marked = Marked::default();
    let ca_state = state.cold.sack.rack.ca_state;
    if arrivals.beyond || arrivals.twice > 0 || !advanced || ca_state != CaState::Open {
        if !advanced && ca_state < CaState::Recovery && arrivals.beyond {
            state.count_duplicate();
        }
        marked = update_ca_state(state, &arrivals, (before, ack.echo), now);
    }
    if restart && !marked.waits {
        state.restart_timer(now);
        state.stop_timer_if_finished(now);
    }

    // `tcp_cong_control`
    if let Some(prior_pipe) = prior_pipe {
        if !handshake {
            by_rate::control(state, (arrivals.delivered, marked.lost), prior_pipe, ack.echo, now);
        }
        return WHOLE_WINDOW;
    }
    let ssthresh = state.ssthresh;
    let grows = advanced || arrivals.beyond && state.cold.reordering.is_far(); // `tcp_may_raise_cwnd`
    let rack = &mut state.cold.sack.rack;
    if rack.ca_state == CaState::Recovery {
        if arrivals.delivered > 0 {
            rack.reduction.delivered += arrivals.delivered;
            let reduction = rack.reduction;
            let pipe = pipe(state);
            let permitted =
                reduction.permits(ssthresh, pipe, arrivals.delivered, advanced && marked.lost == 0);
            state.cwnd = f64::from(pipe + permitted);
        }
    } else if grows && !handshake {
        let open = rack.ca_state == CaState::Open;
        state.grow_by_control((arrivals.delivered, open, true), in_flight, sample, now);
    }
    let in_recovery = state.cold.sack.rack.ca_state >= CaState::Recovery;
    if state.config.limited_transmit || advanced || in_recovery { WHOLE_WINDOW } else { NOTHING }
}

/// After the burst of [`Rack::on_ack`]: without new data the sender cannot find out whether the timeout was needless. Returns whether
/// that is so, and lost packets are sent now.
pub(crate) fn resumes_retransmission(state: &mut State) -> bool {
    if state.cold.sack.rack.holds_back {
        state.cold.sack.rack.holds_back = false;
    }
    let resumes = state.cold.sack.rack.new_data_first && state.end <= state.recover;
    if resumes {
        let rack = &mut state.cold.sack.rack;
        (rack.new_data_first, rack.frto) = (false, false);
    }
    resumes
}

/// `tcp_fastretrans_alert`, on an acknowledgement before which `before` was the first packet not acknowledged.
fn update_ca_state(
    state: &mut State,
    arrivals: &Arrivals,
    (before, echo): (u32, Instant),
    now: Instant,
) -> Marked {
    let ca_state = state.cold.sack.rack.ca_state;
    let (advanced, recovered) = (state.una > before, state.una >= state.recover);
    if state.cold.ecn.is_echoed && state.cold.undo.ssthresh.is_some() {
        state.cold.undo.ssthresh = None; // a mark called for the reduction, too
    }
    match ca_state {
        CaState::Recovery if recovered => {
            end_recovery(state, echo);
            undo::take_back_needless(state);
            look_for_losses(state, now)
        }
        CaState::Recovery => {
            if advanced && undo::take_back_within(state, before, echo) == Within::Waits {
                state.cold.sack.rack.holds_back = true;
                return Marked::default();
            }
            if undo::take_back_needless(state) {
                undo::end_retransmissions(state);
                keep_open(state);
            }
            let marked = mark_lost(state, now);
            if state.cold.sack.rack.ca_state != CaState::Recovery && lost(state) > 0 {
                enter_recovery(state);
            }
            marked
        }
        CaState::Loss => {
            process_loss(state, arrivals, advanced, recovered, echo);
            if state.cold.sack.rack.ca_state == CaState::Open {
                undo::take_back_needless(state);
            }
            let marked = mark_lost(state, now);
            if state.cold.sack.rack.ca_state == CaState::Open || marked.again {
                open_or_recover(state);
            }
            marked
        }
        CaState::Open | CaState::Disorder => {
            undo::take_back_needless(state);
            look_for_losses(state, now)
        }
    }
}

fn look_for_losses(state: &mut State, now: Instant) -> Marked {
    let marked = mark_lost(state, now);
    open_or_recover(state);
    marked
}

/// `tcp_time_to_recover`: begins a recovery if a packet is lost; else sets the state by whether one is missing (`tcp_try_to_open`).
fn open_or_recover(state: &mut State) {
    if lost(state) > 0 {
        enter_recovery(state);
        return;
    }
    undo::end_retransmissions(state);
    keep_open(state);
}

/// `tcp_try_undo_recovery`, `tcp_end_cwnd_reduction`
fn end_recovery(state: &mut State, echo: Instant) {
    undo::end(state, echo);
    state.cold.sack.rack.ca_state = CaState::Open;
    state.last_cut = LastCut::RecoveryLeft;
    if state.cold.undo.from.is_some() {
        state.deflate_to(u32::MAX);
    }
}

/// `tcp_process_loss`
fn process_loss(state: &mut State, arrivals: &Arrivals, advanced: bool, recovered: bool, echo: Instant) {
    state.cold.sack.rack.new_data_first = false;
    let is_original = state.cold.sack.rack.frto && arrivals.original;
    if advanced && may_take_back(state, echo) || is_original {
        return undo_loss(state);
    }
    let rack = &mut state.cold.sack.rack;
    if rack.frto {
        if state.end > state.recover {
            // step 3.a: a retransmission is acknowledged, or nothing, not even twice
            rack.frto = arrivals.twice > 0 && !arrivals.beyond && !advanced;
        } else if advanced && !recovered {
            state.recover = state.end;
            rack.new_data_first = true; // step 2.b
            return;
        }
    }
    if recovered {
        undo::end(state, echo);
        state.cold.sack.rack.ca_state = CaState::Open;
        state.last_cut = LastCut::RecoveryLeft;
    }
}

/// The timeout was needless (`tcp_try_undo_loss`).
fn undo_loss(state: &mut State) {
    take_back(state, true);
    let rack = &mut state.cold.sack.rack;
    (rack.ca_state, rack.timeouts) = (CaState::Open, 0);
}

/// `tcp_enter_recovery`; the acknowledgement sets the window.
fn enter_recovery(state: &mut State) {
    undo::end_retransmissions(state);
    undo::begin(state, (state.cwnd.floor(), state.ssthresh));
    state.recover = state.end;
    state.last_cut = LastCut::DuplicateAcks;
    let prior = state.cwnd as u32;
    state.cut();
    state.cwnd = state.cwnd.floor();
    state.rtt.stop_timing();
    state.forget_probe();
    let rack = &mut state.cold.sack.rack;
    rack.ca_state = CaState::Recovery;
    rack.reduction = RateReduction { prior, delivered: 0, sent: 0 };
}

/// `tcp_rack_reo_timeout`: the wait for reordered packets is over. Returns how many packets may be sent.
pub(crate) fn on_reordering(state: &mut State, now: Instant) -> u32 {
    let before = pipe(state);
    let mut marked = Marked::default();
    detect_losses(state, now, &mut marked);
    if pipe(state) == before {
        return NOTHING;
    }
    if state.cold.sack.rack.ca_state != CaState::Recovery {
        enter_recovery(state);
        if state.config.variant.is_by_rate() {
            return WHOLE_WINDOW;
        }
        state.cold.sack.rack.reduction.delivered = 1;
        let (reduction, pipe) = (state.cold.sack.rack.reduction, pipe(state));
        state.cwnd = f64::from(pipe + reduction.permits(state.ssthresh, pipe, 1, false));
    }
    WHOLE_WINDOW
}

/// `tcp_enter_loss`
pub(crate) fn enter_loss(state: &mut State, now: Instant) {
    let (una, end) = (state.una, state.end);
    if state.cold.sack.board.holds(una) {
        let SackState { board, rack, .. } = &mut *state.cold.sack;
        board.clear(); // the receiver no longer has what it reported (RFC 2018 section 8)
        rack.resent.clear();
        (rack.resent_to, rack.lost_to) = (una, end);
    }
    if state.cold.sack.rack.round_trip == Span::ZERO {
        state.cold.sack.rack.round_trip = Span::from_seconds(state.cold.smoothed);
    }
    // `tcp_timeout_mark_lost`
    let round_trip = state.cold.sack.rack.round_trip;
    let is_recent = |at: Instant| at + round_trip > now;
    let mut lost_to = una + 1;
    while lost_to < end {
        let at = probed_at(state.cold.probed(), lost_to);
        let train = state.cold.trains.of(lost_to);
        if is_recent(at.unwrap_or(train.at)) {
            break;
        }
        lost_to = if at.is_some() { lost_to + 1 } else { train.end.min(end - 1).max(lost_to + 1) };
    }
    let before = (state.cwnd.floor(), state.ssthresh);
    let (held, is_far) = (state.cold.sack.board.held(), state.cold.reordering.is_far());
    by_rate::lose_by_timeout(state, lost_to, is_recent, now);
    let rack = &mut state.cold.sack.rack;
    rack.lost_to = rack.lost_to.max(lost_to);
    rack.resent_to = if rack.is_undone { una } else { rack.resent_to.max(una) };
    rack.lost_from = 0;
    rack.resent.time_out(una, |at| !is_recent(at));
    let ca_state = rack.ca_state;
    if ca_state <= CaState::Disorder && held >= state.config.duplicate_threshold && is_far {
        state.cold.reordering.forget_distance();
    }
    let rack = &mut state.cold.sack.rack;
    let cuts = ca_state <= CaState::Disorder || ca_state == CaState::Loss && rack.timeouts == 0;
    rack.frto = ca_state < CaState::Recovery || rack.timeouts > 0;
    rack.new_data_first = false;
    rack.ca_state = CaState::Loss;
    rack.timeouts += 1;
    if cuts {
        undo::begin(state, before);
        state.cut();
    } else {
        state.count_cut();
    }
    state.cwnd = f64::from(pipe(state) + 1);
    by_rate::set_in_flight(state);
    state.duplicates = 0;
    state.recover = end;
    state.last_cut = LastCut::Timeout;
    state.forget_probe();
}

#[cfg(test)]
mod tests;

//! The packets whose arrival an acknowledgement reveals, and when they were sent.

use crate::cc::Control;
use crate::feedback::{Ack, Block, MOST_BLOCKS};
use crate::sack::{CaState, RackState, SackState};
use crate::state::{State, probed_at};
use paceline_core::{Instant, Span};

/// The packets that are newly known to have arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrivals {
    /// How many.
    pub(super) delivered: u32,
    /// One of those in order was retransmitted, so that the round trip is not known.
    resent: bool,
    /// One was sent once only, before the loss (`FLAG_ORIG_SACK_ACKED`).
    pub(super) original: bool,
    /// When the first and the last of those sent once only were sent: in order (`acked`), and beyond a hole (`held`).
    acked: Option<(Instant, Instant)>,
    pub(super) held: Option<(Instant, Instant)>,
    /// One is beyond a hole (`FLAG_DATA_SACKED`).
    pub(super) beyond: bool,
    /// The lowest of those sent once only, since it was last asked for.
    lowest: Option<u32>,
    /// When the one was sent that was sent last, and one more than its number.
    sent: Option<(Instant, u32)>,
    /// Packets that the receiver has had twice (`FLAG_DSACKING_ACK`); one of them was a probe (`FLAG_DSACK_TLP`).
    pub(super) twice: u32,
    pub(super) is_of_probe: bool,
}

/// `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`: records the packets that have arrived.
pub(super) fn record(state: &mut State, ack: Ack<'_>, now: Instant) -> Arrivals {
    let mut arrivals = Arrivals::default();
    let highest = state.cold.sack.board.end();
    note_twice(state, ack, &mut arrivals);
    let mut news = [Block::default(); MOST_BLOCKS];
    for block in new_blocks(state, ack, &mut news) {
        arrive_among(state, *block, true, (ack.echo, now), &mut arrivals);
        state.cold.sack.board.add(*block);
    }
    let lowest = arrivals.lowest.take();
    if state.cold.sack.rack.ca_state != CaState::Loss || state.cold.undo.from.is_some() {
        check_reordering(state, lowest, highest, ack.next);
    }
    let acked = Block { start: state.una, end: ack.next };
    arrive_among(state, acked, false, (ack.echo, now), &mut arrivals);
    state.cold.sack.board.forget_below(ack.next);
    if state.cold.sack.rack.is_undone {
        state.cold.sack.rack.resent.forget_below(ack.next);
    }
    check_reordering(state, arrivals.lowest, highest, ack.next);
    if let Some(sent) = arrivals.sent
        && !state.cold.reordering.is_blank()
    {
        let end = state.end;
        state.cold.reordering.on_delivered(sent, now, end);
    }
    arrivals.delivered += arrivals.twice;
    arrivals
}

/// `tcp_check_dsack`: the first block is of a packet that the receiver had before, where it is below the acknowledgement or in the second.
fn note_twice(state: &mut State, ack: Ack<'_>, arrivals: &mut Arrivals) {
    let Some(&first) = ack.blocks.first() else { return };
    let is_within = |second: &Block| second.start <= first.start && first.end <= second.end;
    let is_twice = first.start < ack.next || ack.blocks.get(1).is_some_and(is_within);
    if !is_twice || first.start >= first.end || first.end > state.end {
        return;
    }
    let (packets, resent) = (first.end - first.start, state.counts.retransmits);
    let is_of_probe = packets == 1 && state.cold.probe.is_some_and(|probe| probe.end == first.end);
    if !state.cold.reordering.note_twice(packets, resent, is_of_probe) {
        return;
    }
    (arrivals.twice, arrivals.is_of_probe) = (packets, is_of_probe);
    if state.cold.undo.from.is_some() {
        state.cold.undo.on_twice(packets, first.end);
    }
    let SackState { board, rack, .. } = &mut *state.cold.sack;
    for seq in first.start.max(ack.next)..first.end {
        if board.holds(seq) {
            rack.resent.take(seq); // it is in flight no more, if it was
            arrivals.lowest = Some(arrivals.lowest.map_or(seq, |lowest| lowest.min(seq)));
        }
    }
}

/// `tcp_check_sack_reordering`: a packet sent once only has arrived, the lowest of several, where all below `highest` were sent before one
/// that had arrived by then.
fn check_reordering(state: &mut State, lowest: Option<u32>, highest: Option<u32>, una: u32) {
    let Some((lowest, highest)) = lowest.zip(highest) else { return };
    if lowest < highest {
        note_reordering(state, lowest, una);
    }
}

/// Packet `lowest` came behind the highest that has arrived.
pub(super) fn note_reordering(state: &mut State, lowest: u32, una: u32) {
    let reach = state.cold.sack.board.end().unwrap_or(una);
    let threshold = state.config.duplicate_threshold;
    if lowest < reach {
        state.cold.reordering.note(reach - lowest, threshold);
    }
}

/// The blocks of an acknowledgement that report something new: most blocks have been reported before. Sorted by number, since the highest
/// packet counts as the one that arrived last.
#[inline]
fn new_blocks<'a>(state: &State, ack: Ack<'_>, news: &'a mut [Block; MOST_BLOCKS]) -> &'a [Block] {
    let (end, board, mut count) = (state.end, &state.cold.sack.board, 0);
    for block in ack.blocks.iter().take(MOST_BLOCKS) {
        let block = Block { start: block.start.max(ack.next), ..*block };
        if block.end <= end && !board.covers(block) {
            news[count] = block;
            count += 1;
        }
    }
    let news = &mut news[..count];
    if count > 1 {
        news.sort_unstable_by_key(|block| block.start);
    }
    news
}

/// Those of these packets that are not held have arrived.
#[inline]
fn arrive_among(
    state: &mut State,
    packets: Block,
    beyond: bool,
    times: (Instant, Instant),
    arrivals: &mut Arrivals,
) {
    let mut from = packets.start;
    while from < packets.end
        && let Some(missing) = state.cold.sack.board.first_gap(from, packets.end)
    {
        arrive(state, missing, beyond, times, arrivals);
        from = missing.end;
    }
}

/// These packets are newly known to have arrived.
fn arrive(
    state: &mut State,
    packets: Block,
    beyond: bool,
    (echo, now): (Instant, Instant),
    arrivals: &mut Arrivals,
) {
    arrivals.delivered += packets.end - packets.start;
    arrivals.beyond |= beyond;
    let (recover, timestamps) = (state.recover, state.config.timestamps);
    let cold = &mut *state.cold;
    if let Some(control) = cold.control.as_mut().and_then(Control::by_rate) {
        control.on_arrival(packets.start, packets.end, beyond);
    }
    let (least, probed) = (cold.least(), cold.probed());
    let rack = &mut cold.sack.rack;
    let mut once = packets; // from the first to the last that was sent once only
    if rack.resent.may_have(packets.start) || probed.is_some() {
        once = Block { start: packets.end, end: packets.start };
        for seq in packets.start..packets.end {
            let again = match beyond {
                true => rack.resent.take_held(seq),
                false => rack.resent.take(seq).map(|one| one.at),
            };
            let again = again.or_else(|| probed_at(probed, seq));
            let Some(at) = again else {
                once = Block { start: once.start.min(seq), end: seq + 1 };
                continue;
            };
            arrivals.resent |= !beyond;
            arrivals.sent = arrivals.sent.max(Some((at, seq + 1)));
            // Whether the original has arrived, not the retransmission (`tcp_rack_advance`, `tcp_skb_spurious_retrans`).
            let is_first = !beyond && timestamps && echo < at;
            if now.since(at) >= least && !is_first {
                rack.advance(at, seq + 1, true, now);
            }
        }
    }
    if once.start >= once.end {
        return;
    }
    let first = cold.trains.of(once.start);
    let last = if once.end <= first.end { first } else { cold.trains.of(once.end - 1) };
    let (first, last) = (first.at, last.at);
    rack.advance(last, once.end, false, now);
    arrivals.sent = arrivals.sent.max(Some((last, once.end)));
    arrivals.lowest = Some(arrivals.lowest.map_or(once.start, |lowest| lowest.min(once.start)));
    arrivals.original |= once.start < recover;
    let times = if beyond { &mut arrivals.held } else { &mut arrivals.acked };
    *times = Some(times.map_or((first, last), |(earliest, _)| (earliest, last)));
}

impl RackState {
    /// `tcp_rack_advance`
    fn advance(&mut self, at: Instant, end: u32, resent: bool, now: Instant) {
        self.advanced = true;
        self.round_trip = now.since(at);
        if (at, end) > self.latest {
            (self.latest, self.latest_resent) = ((at, end), resent);
        }
    }
}

/// `tcp_ack_update_rtt`: the round trip for congestion control, if there was one to measure.
pub(super) fn measure(
    state: &mut State,
    arrivals: &Arrivals,
    echo: Instant,
    advanced: bool,
    now: Instant,
) -> Option<Span> {
    let acked = arrivals.acked.filter(|_| !arrivals.resent);
    let echoed = (advanced && state.config.timestamps).then_some((echo, echo));
    let (first, mut last) = acked.or(arrivals.held).or(echoed)?;
    if let Some((_, held)) = arrivals.held {
        last = held;
    }
    state.add_sample(now.since(first), now.since(last), now);
    Some(now.since(last))
}

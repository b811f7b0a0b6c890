//! The packets whose arrival an acknowledgement reveals, and when they were sent.

use crate::feedback::{Ack, Block, MOST_BLOCKS};
use crate::sack::RackState;
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
}

/// `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`: records the packets that have arrived.
pub(super) fn record(state: &mut State, ack: Ack<'_>, now: Instant) -> Arrivals {
    let mut arrivals = Arrivals::default();
    let end = state.end;
    let mut sorted = [Block { start: 0, end: 0 }; MOST_BLOCKS];
    for &Block { start, end: block_end } in by_number(ack.blocks, &mut sorted) {
        if block_end > end {
            continue;
        }
        let start = start.max(ack.next);
        let mut from = start;
        while let Some(missing) = state.cold.sack.board.first_gap(from, block_end) {
            arrive(state, missing, true, ack.echo, now, &mut arrivals);
            from = missing.end;
        }
        if start < block_end {
            state.cold.sack.board.add(Block { start, end: block_end });
        }
    }
    let mut from = state.una;
    while let Some(missing) = state.cold.sack.board.first_gap(from, ack.next) {
        arrive(state, missing, false, ack.echo, now, &mut arrivals);
        from = missing.end;
    }
    state.cold.sack.board.forget_below(ack.next);
    arrivals
}

/// Sorted by number, since the highest packet counts as the one that arrived last.
#[inline]
fn by_number<'a>(blocks: &'a [Block], sorted: &'a mut [Block; MOST_BLOCKS]) -> &'a [Block] {
    if blocks.len() < 2 {
        return blocks;
    }
    let sorted = &mut sorted[..blocks.len().min(MOST_BLOCKS)];
    sorted.copy_from_slice(&blocks[..sorted.len()]);
    sorted.sort_unstable_by_key(|block| block.start);
    sorted
}

/// These packets are newly known to have arrived.
fn arrive(
    state: &mut State,
    packets: Block,
    beyond: bool,
    echo: Instant,
    now: Instant,
    arrivals: &mut Arrivals,
) {
    arrivals.delivered += packets.end - packets.start;
    arrivals.beyond |= beyond;
    if let Some(control) = state.rate_control() {
        control.on_arrival(packets.start, packets.end, beyond);
    }
    let least = state.cold.least();
    let timestamps = state.config.timestamps;
    let mut once = Block { start: packets.end, end: packets.start }; // from the first to the last that was sent once only
    for seq in packets.start..packets.end {
        let place = state.cold.sack.rack.resent.iter().position(|one| one.seq == seq);
        let again = match place {
            Some(place) => Some(state.cold.sack.rack.resent.remove(place).at),
            None => probed_at(state.cold.probed(), seq),
        };
        let Some(at) = again else {
            once = Block { start: once.start.min(seq), end: seq + 1 };
            if state.cold.sack.rack.resent.is_empty() && state.cold.probed().is_none() {
                once.end = packets.end; // the others were sent once only too
                break;
            }
            continue;
        };
        arrivals.resent |= !beyond;
        // Whether the original has arrived, not the retransmission (`tcp_rack_advance`, `tcp_skb_spurious_retrans`).
        let is_first = !beyond && timestamps && echo < at;
        if now.since(at) >= least && !is_first {
            state.cold.sack.rack.advance(at, seq + 1, true, now);
        }
    }
    if once.start >= once.end {
        return;
    }
    let trains = &state.cold.trains;
    let first = trains.of(once.start);
    let last = if once.end <= first.end { first } else { trains.of(once.end - 1) };
    let (first, last) = (first.at, last.at);
    state.cold.sack.rack.advance(last, once.end, false, now);
    arrivals.original |= once.start < state.recover;
    let times = if beyond { &mut arrivals.held } else { &mut arrivals.acked };
    *times = Some(times.map_or((first, last), |(earliest, _)| (earliest, last)));
}

impl RackState {
    /// `tcp_rack_advance`
    fn advance(&mut self, at: Instant, end: u32, resent: bool, now: Instant) {
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

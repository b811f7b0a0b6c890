//! What an acknowledgement says of packets that was not known: which have arrived, and when they were sent.

use super::{Rack, sent_as_probe};
use crate::feedback::{Block, MOST_BLOCKS, Told};
use crate::sender::Sender;
use paceline_core::{Instant, Span};

/// What an acknowledgement brings that was not known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct News {
    /// Packets that have arrived.
    pub(super) delivered: u32,
    /// Of those in order: one was sent again, so that the round trip is not known.
    resent: bool,
    /// One that was sent once, before the loss (`FLAG_ORIG_SACK_ACKED`).
    pub(super) original: bool,
    /// When the first and the last were sent of those sent once: in order, and beyond a hole.
    acked: Option<(Instant, Instant)>,
    pub(super) held: Option<(Instant, Instant)>,
    /// Something beyond a hole (`FLAG_DATA_SACKED`).
    pub(super) beyond: bool,
}

/// `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`: what has arrived, and when that was sent.
pub(super) fn take_in(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant) -> News {
    let mut news = News::default();
    let end = sender.end;
    // In the order of numbers: the one that arrived last of all is the highest.
    let mut blocks = [Block { start: 0, end: 0 }; MOST_BLOCKS];
    let blocks = &mut blocks[..told.blocks.len().min(MOST_BLOCKS)];
    blocks.copy_from_slice(&told.blocks[..blocks.len()]);
    blocks.sort_unstable_by_key(|block| block.start);
    for &Block { start, end: block_end } in &*blocks {
        if block_end > end {
            continue;
        }
        let start = start.max(next);
        let mut from = start;
        while let Some(missing) = sender.rare.selective.board.first_gap(from, block_end) {
            arrive(sender, missing, true, told.echo, now, &mut news);
            from = missing.end;
        }
        if start < block_end {
            sender.rare.selective.board.add(Block { start, end: block_end });
        }
    }
    let mut from = sender.una;
    while let Some(missing) = sender.rare.selective.board.first_gap(from, next) {
        arrive(sender, missing, false, told.echo, now, &mut news);
        from = missing.end;
    }
    sender.rare.selective.board.forget_below(next);
    news
}

/// These packets have arrived, and none was known to have.
fn arrive(sender: &mut Sender, packets: Block, beyond: bool, echo: Instant, now: Instant, news: &mut News) {
    news.delivered += packets.end - packets.start;
    news.beyond |= beyond;
    let least = sender.rare.least();
    let timestamps = sender.config.timestamps;
    let mut once = Block { start: packets.end, end: packets.start }; // from the first sent once to the last
    for seq in packets.start..packets.end {
        let place = sender.rare.selective.rack.resent.iter().position(|one| one.seq == seq);
        let again = match place {
            Some(place) => Some(sender.rare.selective.rack.resent.remove(place).at),
            None => sent_as_probe(sender.rare.probed(), seq),
        };
        let Some(at) = again else {
            once = Block { start: once.start.min(seq), end: seq + 1 };
            if sender.rare.selective.rack.resent.is_empty() && sender.rare.probed().is_none() {
                once.end = packets.end; // all others too
                break;
            }
            continue;
        };
        news.resent |= !beyond;
        // Which of the two has arrived? (`tcp_rack_advance`, `tcp_skb_spurious_retrans`)
        let is_first = !beyond && timestamps && echo < at;
        if now.since(at) >= least && !is_first {
            sender.rare.selective.rack.advance(at, seq + 1, true, now);
        }
    }
    if once.start >= once.end {
        return;
    }
    let (first, last) = (sender.rare.trains.of(once.start).at, sender.rare.trains.of(once.end - 1).at);
    sender.rare.selective.rack.advance(last, once.end, false, now);
    news.original |= once.start < sender.recover;
    let times = if beyond { &mut news.held } else { &mut news.acked };
    *times = Some(times.map_or((first, last), |(earliest, _)| (earliest, last)));
}

impl Rack {
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
    sender: &mut Sender,
    news: &News,
    echo: Instant,
    advanced: bool,
    now: Instant,
) -> Option<Span> {
    let acked = news.acked.filter(|_| !news.resent);
    let echoed = (advanced && sender.config.timestamps).then_some((echo, echo));
    let (first, mut last) = acked.or(news.held).or(echoed)?;
    if let Some((_, held)) = news.held {
        last = held;
    }
    sender.take_sample(now.since(first), now.since(last), now);
    Some(now.since(last))
}

//! RACK: loss recovery as Linux has it, by the order in which packets were sent.
//!
//! *Idea.* What was sent before something that has arrived is **lost**, sent again or not: at once in a recovery, or where
//! `duplicate_threshold` packets are held; else once it is a quarter of the least round trip later than that, as what is late may have
//! been overtaken. A loss begins a *recovery*: the window comes down in proportion to what arrives, and each acknowledgement sends
//! what is lost, lowest first, then new data, while fewer packets are under way than the window has. A timeout begins a *loss*:
//! everything that is older than a round trip is lost, and the window grows from one packet by slow start. Whether the timeout was
//! needless is asked first: what was sent once and arrives then undoes it (F-RTO).
//! *Parameters.* `rack`, `duplicate_threshold`.
//! *Where it breaks.* Packets are never reordered by much here, so that Linux's answers to reordering are left out: duplicates that
//! the receiver reports (DSACK), undone recoveries, a longer wait where reordering was seen.
//! *References.* RFC 8985, 9937, 5682; Linux 6.18 net/ipv4/tcp_recovery.c, tcp_input.c (`tcp_ack` and what it calls, whose names stand
//! in the code).

mod losses;
mod news;
mod reduction;

use super::{LastCut, Selective, count_duplicate};
use crate::feedback::Told;
use crate::sender::{Output, Sender};
use losses::{Marked, detect_losses, mark_lost};
use news::{News, measure, take_in};
use paceline_core::{Instant, Span};
use reduction::Reduction;

/// Linux `icsk_ca_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum State {
    #[default]
    Open,
    /// Something is held beyond what is not, but nothing is known to be lost.
    Disorder,
    Recovery,
    /// After a timeout.
    Loss,
}

/// A packet sent again.
#[derive(Debug, Clone, Copy)]
struct Resent {
    seq: u32,
    at: Instant,
    /// One more than the highest packet sent by then: what is beyond it was sent later, if at the same instant.
    end: u32,
    /// Lost again.
    lost: bool,
}

/// What is kept while something is missing.
#[derive(Debug, Clone, Default)]
pub(super) struct Rack {
    state: State,
    /// Packets before this that are not held are lost, whether sent again or not (`TCPCB_LOST`).
    lost_to: u32,
    /// Packets before this that are lost have been sent again.
    resent_to: u32,
    /// Those that have not arrived, in the order of sending (`TCPCB_SACKED_RETRANS`, where not `lost`).
    resent: Vec<Resent>,
    /// The packet sent last of those that have arrived: when it was, and one more than its number (`rack.mstamp`).
    latest: (Instant, u32),
    /// It was sent again.
    latest_resent: bool,
    /// Round trip of the one that arrived last (`rack.rtt_us`).
    round_trip: Span,
    reduction: Reduction,
    /// Window and threshold before the timeout.
    undo: (f64, u32),
    /// It may have been needless (`frto`).
    doubted: bool,
    /// New data are sent first, to find out.
    asks: bool,
    /// Timeouts since the last progress (`icsk_retransmits`).
    timeouts: u32,
}

impl Rack {
    pub(super) const NOTHING: Rack = Rack {
        state: State::Open,
        lost_to: 0,
        resent_to: 0,
        resent: Vec::new(),
        latest: (Instant::ZERO, 0),
        latest_resent: false,
        round_trip: Span::ZERO,
        reduction: Reduction { prior: 0, delivered: 0, sent: 0 },
        undo: (0.0, 0),
        doubted: false,
        asks: false,
        timeouts: 0,
    };

    pub(super) fn says_nothing(&self) -> bool {
        self.state == State::Open && self.resent.is_empty()
    }
}

#[inline(never)]
pub(super) fn on_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    if sender.rare.selective.is_blank() && told.blocks.is_empty() {
        if next > sender.una {
            sender.on_new_ack(next, told, now);
            sender.send_what_the_window_allows(u32::MAX, now, out);
        } else if next == sender.una {
            sender.answer_probe(next, true);
        }
        return;
    }
    if next >= sender.una {
        on_ack_with_holes(sender, next, told, now, out);
        super::settle(sender);
    }
}

fn on_ack_with_holes(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    let advanced = next > sender.una;
    let in_flight = sender.next.saturating_sub(sender.una);
    let handshake = sender.is_shaking_hands();
    if handshake && advanced {
        sender.on_new_ack(next, told, now); // an odd one: blocks with the first acknowledgement
        sender.rare.selective.rack.resent.clear(); // it covers all that was out, the SYN
    }
    let news = take_in(sender, next, told, now);
    if advanced {
        sender.una = next;
        sender.next = sender.next.max(next);
        sender.duplicates = 0;
        sender.rare.selective.rack.timeouts = 0;
    }
    let sample = measure(sender, &news, told.echo, advanced, now);
    let head = sent_at(sender, sender.una);
    let restart = advanced || news.held.is_some_and(|(first, _)| first < head);
    sender.answer_probe(next, !advanced && !news.beyond);

    // `tcp_fastretrans_alert`
    let mut marked = Marked::default();
    let state = sender.rare.selective.rack.state;
    if news.beyond || !advanced || state != State::Open {
        if !advanced && state < State::Recovery && news.beyond {
            count_duplicate(sender);
        }
        marked = judge(sender, &news, advanced, now);
    }
    if restart && !marked.waits {
        sender.restart_timer(now);
        sender.stop_timer_if_finished(now);
    }

    // `tcp_cong_control`
    let ssthresh = sender.ssthresh();
    let rack = &mut sender.rare.selective.rack;
    if rack.state == State::Recovery {
        if news.delivered > 0 {
            rack.reduction.delivered += news.delivered;
            let reduction = rack.reduction;
            let pipe = pipe(sender);
            let permitted = reduction.permits(ssthresh, pipe, news.delivered, advanced && marked.lost == 0);
            sender.cwnd = f64::from(pipe + permitted);
        }
    } else if advanced && !handshake {
        let open = rack.state == State::Open;
        sender.grow_by_control((news.delivered, open, true), in_flight, sample, now);
    }
    if sender.config.limited_transmit || advanced || sender.rare.selective.rack.state >= State::Recovery {
        send(sender, now, out);
    }
}

/// `tcp_xmit_recovery` and `tcp_data_snd_check`.
fn send(sender: &mut Sender, now: Instant, out: &mut impl Output) {
    sender.send_what_the_window_allows(u32::MAX, now, out);
    let rack = &mut sender.rare.selective.rack;
    if rack.asks && sender.end <= sender.recover {
        (rack.asks, rack.doubted) = (false, false); // there was nothing to ask with
        sender.send_what_the_window_allows(u32::MAX, now, out);
    }
}

/// `tcp_fastretrans_alert`
fn judge(sender: &mut Sender, news: &News, advanced: bool, now: Instant) -> Marked {
    let state = sender.rare.selective.rack.state;
    let recovered = sender.una >= sender.recover;
    match state {
        State::Recovery if recovered => {
            end_recovery(sender);
            look_for_losses(sender, news, now)
        }
        State::Recovery => mark_lost(sender, news, now),
        State::Loss => {
            process_loss(sender, news, advanced, recovered);
            let marked = mark_lost(sender, news, now);
            if sender.rare.selective.rack.state == State::Open || marked.again {
                open_or_recover(sender);
            }
            marked
        }
        State::Open | State::Disorder => look_for_losses(sender, news, now),
    }
}

fn look_for_losses(sender: &mut Sender, news: &News, now: Instant) -> Marked {
    let marked = mark_lost(sender, news, now);
    open_or_recover(sender);
    marked
}

/// `tcp_time_to_recover`: begins a recovery if anything is lost; else says whether anything is missing (`tcp_try_to_open`).
fn open_or_recover(sender: &mut Sender) {
    if lost(sender) > 0 {
        enter_recovery(sender);
        return;
    }
    let Selective { board, rack, .. } = &mut *sender.rare.selective;
    rack.state = match board.is_empty() && rack.resent.is_empty() {
        true => State::Open,
        false => State::Disorder,
    };
}

/// `tcp_end_cwnd_reduction`
fn end_recovery(sender: &mut Sender) {
    sender.rare.selective.rack.state = State::Open;
    sender.last_cut = LastCut::RecoveryLeft;
    sender.deflate_to(u32::MAX);
}

/// `tcp_process_loss`
fn process_loss(sender: &mut Sender, news: &News, advanced: bool, recovered: bool) {
    let rack = &mut sender.rare.selective.rack;
    rack.asks = false;
    if rack.doubted {
        if news.original {
            return undo(sender);
        }
        if sender.end > sender.recover {
            rack.doubted = false; // step 3.a: what is acknowledged was sent again, or nothing is
        } else if advanced && !recovered {
            sender.recover = sender.end;
            rack.asks = true; // step 2.b
            return;
        }
    }
    if recovered {
        rack.state = State::Open;
        sender.last_cut = LastCut::RecoveryLeft;
    }
}

/// The timeout was needless (`tcp_undo_cwnd_reduction`).
fn undo(sender: &mut Sender) {
    let (una, (cwnd, ssthresh)) = (sender.una, sender.rare.selective.rack.undo);
    let rack = &mut sender.rare.selective.rack;
    rack.resent.clear();
    (rack.state, rack.lost_to, rack.resent_to, rack.doubted) = (State::Open, una, una, false);
    sender.recover = una;
    sender.last_cut = LastCut::RecoveryLeft;
    sender.restore(cwnd, ssthresh);
}

/// `tcp_enter_recovery`; what is sent is for the acknowledgement to say.
fn enter_recovery(sender: &mut Sender) {
    sender.recover = sender.end;
    sender.last_cut = LastCut::DuplicateAcks;
    let prior = sender.cwnd as u32;
    sender.cut();
    sender.cwnd = sender.cwnd.floor();
    sender.rtt.stop_timing();
    sender.forget_probe();
    let rack = &mut sender.rare.selective.rack;
    rack.state = State::Recovery;
    rack.reduction = Reduction { prior, delivered: 0, sent: 0 };
}

/// `tcp_rack_reo_timeout`: the wait for what may have been overtaken is over.
pub(crate) fn on_reordering(sender: &mut Sender, now: Instant, out: &mut impl Output) {
    let before = pipe(sender);
    let mut marked = Marked::default();
    detect_losses(sender, now, &mut marked);
    if pipe(sender) == before {
        return;
    }
    if sender.rare.selective.rack.state != State::Recovery {
        enter_recovery(sender);
        sender.rare.selective.rack.reduction.delivered = 1;
        let (reduction, pipe) = (sender.rare.selective.rack.reduction, pipe(sender));
        sender.cwnd = f64::from(pipe + reduction.permits(sender.ssthresh(), pipe, 1, false));
    }
    sender.send_what_the_window_allows(u32::MAX, now, out);
}

/// `tcp_enter_loss`
pub(crate) fn on_timeout(sender: &mut Sender, now: Instant) {
    let (una, end) = (sender.una, sender.end);
    if sender.rare.selective.board.holds(una) {
        let Selective { board, rack, .. } = &mut *sender.rare.selective;
        board.clear(); // the receiver no longer has what it reported (RFC 2018 section 8)
        rack.resent.clear();
        (rack.resent_to, rack.lost_to) = (una, end);
    }
    if sender.rare.selective.rack.round_trip == Span::ZERO {
        sender.rare.selective.rack.round_trip = Span::from_seconds(sender.rare.smoothed);
    }
    // `tcp_timeout_mark_lost`
    let round_trip = sender.rare.selective.rack.round_trip;
    let is_recent = |at: Instant| at + round_trip > now;
    let mut lost_to = una + 1;
    while lost_to < end {
        let at = sent_as_probe(sender.rare.probed(), lost_to);
        let train = sender.rare.trains.of(lost_to);
        if is_recent(at.unwrap_or(train.at)) {
            break;
        }
        lost_to = if at.is_some() { lost_to + 1 } else { train.end.min(end - 1).max(lost_to + 1) };
    }
    let before = (sender.cwnd.floor(), sender.ssthresh());
    let rack = &mut sender.rare.selective.rack;
    rack.lost_to = rack.lost_to.max(lost_to);
    rack.resent_to = rack.resent_to.max(una);
    for one in &mut rack.resent {
        one.lost |= one.seq == una || !is_recent(one.at);
    }
    let state = rack.state;
    let cuts = state <= State::Disorder || state == State::Loss && rack.timeouts == 0;
    rack.doubted = state < State::Recovery || rack.timeouts > 0;
    rack.asks = false;
    rack.state = State::Loss;
    rack.timeouts += 1;
    if cuts {
        rack.undo = before;
        sender.cut();
    } else {
        sender.count_cut();
    }
    sender.cwnd = f64::from(pipe(sender) + 1);
    sender.duplicates = 0;
    sender.recover = end;
    sender.last_cut = LastCut::Timeout;
    sender.forget_probe();
}

/// What may be sent next: what is lost, lowest first, then new data.
pub(super) fn next_packet(sender: &Sender) -> Option<u32> {
    if pipe(sender) >= sender.cwnd as u32 {
        return None;
    }
    if !sender.rare.selective.rack.asks
        && let Some(seq) = next_lost(sender)
    {
        return Some(seq);
    }
    let fits = sender.next - sender.una < sender.config.max_window && sender.next < sender.limit;
    fits.then_some(sender.next)
}

fn next_lost(sender: &Sender) -> Option<u32> {
    let Selective { board, rack, .. } = &*sender.rare.selective;
    let again = rack.resent.iter().filter(|one| one.lost).map(|one| one.seq).min();
    let first = board.gap_from(rack.resent_to.max(sender.una));
    let first = (first < rack.lost_to).then_some(first);
    again.map_or(first, |again| Some(first.map_or(again, |first| first.min(again))))
}

pub(super) fn on_sent(sender: &mut Sender, seq: u32, now: Instant) {
    let rack = &mut sender.rare.selective.rack;
    if rack.state == State::Recovery {
        rack.reduction.sent += 1;
    }
    if seq >= sender.next {
        sender.next = seq + 1;
        return;
    }
    rack.resent_to = rack.resent_to.max(seq + 1);
    rack.resent.retain(|one| one.seq != seq);
    rack.resent.push(Resent { seq, at: now, end: sender.end, lost: false });
    if seq == sender.una {
        sender.restart_timeout(now);
    }
}

/// Nothing is known to be missing: a probe may ask.
pub(crate) fn is_open(sender: &Sender) -> bool {
    sender.rare.selective.rack.state == State::Open
}

/// When the packet was sent as a probe, if it was.
fn sent_as_probe(probed: Option<(u32, Instant)>, seq: u32) -> Option<Instant> {
    probed.filter(|(probed, _)| *probed == seq).map(|(_, at)| at)
}

/// When the packet was last sent.
pub(crate) fn sent_at(sender: &Sender, seq: u32) -> Instant {
    let again = sender.rare.selective.rack.resent.iter().find(|one| one.seq == seq).map(|one| one.at);
    again
        .or_else(|| sent_as_probe(sender.rare.probed(), seq))
        .unwrap_or_else(|| sender.rare.trains.of(seq).at)
}

/// Packets lost, those among them that were sent again too (`lost_out`).
fn lost(sender: &Sender) -> u32 {
    let Selective { board, rack, .. } = &*sender.rare.selective;
    rack.lost_to.saturating_sub(sender.una).saturating_sub(board.held_below(rack.lost_to))
}

/// `tcp_packets_in_flight`
fn pipe(sender: &Sender) -> u32 {
    let Selective { board, rack, .. } = &*sender.rare.selective;
    let again = rack.resent.iter().filter(|one| !one.lost).count() as u32;
    (sender.end - sender.una + again).saturating_sub(board.held() + lost(sender))
}

#[cfg(test)]
mod tests;

//! Loss recovery: what an acknowledgement says about losses, and what is sent next. One file a variant.

mod fack;
mod marks;
pub(crate) mod newreno;
pub(crate) mod rack;
mod rate_halving;
mod reno;
mod rfc6675;
mod sack1;
mod scoreboard;
mod tahoe;

use crate::config::Variant;
use crate::feedback::Told;
use crate::sender::{Output, Sender};
use crate::sparse::{Blank, Sparse};
use marks::Marks;
use paceline_core::Instant;
use scoreboard::Scoreboard;
use std::cmp::Ordering;
use std::hint::select_unpredictable;

/// The last thing that cut the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LastCut {
    #[default]
    None,
    /// Three duplicate acknowledgements: fast recovery runs.
    DuplicateAcks,
    /// Fast recovery is over.
    RecoveryLeft,
    Timeout,
}

/// The state of the variants that hear of single packets. Numbers are of packets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selective {
    /// What the receiver holds beyond a gap.
    board: Scoreboard,
    /// Fast recovery runs.
    recovering: bool,
    /// Sack1: a timeout, and nothing new acknowledged since. FACK: a retransmission is lost, and only a timeout helps. Rate
    /// halving: a timeout, and not all acknowledged that was outstanding.
    stalled: bool,
    /// Holes below this have been sent again.
    retransmitted_to: u32,
    /// Sack1: packets thought to be under way, during recovery.
    pipe: i64,
    /// Sack1 with `partial_ack`: where its search for unacknowledged packets goes on.
    partial_from: u32,
    /// RFC 6675: the rescue retransmission may be made once `una` is beyond this.
    rescue: u32,
    /// FACK: one more than the highest packet that the receiver is known to hold.
    forward: u32,
    /// FACK: packets sent again and not known to have arrived, each with `next` at that time.
    retransmitted: Vec<(u32, u32)>,
    /// With `rack`.
    rack: rack::Rack,
    /// FACK: packets between the acknowledged and the highest held; as many as duplicate acknowledgements would count.
    beyond: i64,
    /// Rate halving: this much may be in flight although the window is less.
    most: u32,
    /// The same: what is known of each packet.
    marks: Sparse<Marks>,
}

impl Blank for Marks {
    fn blank() -> &'static Self {
        static NOTHING: Marks = Marks::NONE;
        &NOTHING
    }
}

impl Blank for Selective {
    fn blank() -> &'static Self {
        static NOTHING: Selective = Selective {
            board: Scoreboard::new(),
            recovering: false,
            stalled: false,
            retransmitted_to: 0,
            pipe: 0,
            partial_from: 0,
            rescue: 0,
            forward: 0,
            retransmitted: Vec::new(),
            rack: rack::Rack::NOTHING,
            beyond: 0,
            most: 0,
            marks: Sparse::BLANK,
        };
        &NOTHING
    }
}

impl Selective {
    /// All before `una` is acknowledged, and nothing beyond it is known: what is left counts for nothing.
    fn says_nothing(&self, una: u32) -> bool {
        !self.recovering
            && !self.stalled
            && self.board.is_empty()
            && self.retransmitted.is_empty()
            && self.marks.is_empty()
            && self.beyond == 0
            && self.rack.says_nothing()
            && self.retransmitted_to.max(self.partial_from).max(self.forward) <= una
    }
}

/// Forgets what counts for nothing any more.
fn settle(sender: &mut Sender) {
    let says_nothing = !sender.rare.selective.is_blank() && sender.rare.selective.says_nothing(sender.una);
    if says_nothing && sender.rare.forget_selective() {
        sender.rare.clear();
    }
}

/// Processes an acknowledgement of all before `next`.
#[inline]
pub(crate) fn on_ack(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    // The two that the papers ran are inlined; the others cost a call.
    match sender.config.variant {
        Variant::Reno => reno::on_ack(sender, next, told, now, out),
        Variant::NewReno => newreno::on_ack(sender, next, told, now, out),
        Variant::Rfc6675 | Variant::Bic | Variant::Cubic if sender.config.rack => {
            rack::on_ack(sender, next, told, now, out);
        }
        Variant::Bic | Variant::Cubic if sender.config.halves_rate() => {
            rate_halving::on_ack(sender, next, told, now, out)
        }
        Variant::Rfc6675 | Variant::Bic | Variant::Cubic => rfc6675::on_ack(sender, next, told, now, out),
        _ => on_ack_of_others(sender, next, told, now, out),
    }
}

#[inline(never)]
fn on_ack_of_others(sender: &mut Sender, next: u32, told: Told<'_>, now: Instant, out: &mut impl Output) {
    match sender.config.variant {
        Variant::Sack1 => sack1::on_ack(sender, next, told, now, out),
        Variant::Fack => fack::on_ack(sender, next, told, now, out),
        _ => tahoe::on_ack(sender, next, told, now, out),
    }
}

/// The retransmission timer has run out: what each variant forgets.
pub(crate) fn on_timeout(sender: &mut Sender) {
    match sender.config.variant {
        Variant::Reno | Variant::NewReno => {
            sender.inflation = 0;
            sender.duplicates = 0;
            sender.recover = sender.end;
        }
        Variant::Tahoe => sender.recover = sender.end, // ns-2 goes on counting duplicates
        Variant::Sack1 => sack1::on_timeout(sender),
        // Of a SYN, before which nothing can be held, or of nothing: rack::on_timeout has the others.
        _ if sender.config.has_rack() => {
            if !sender.rare.selective.is_blank() {
                sender.rare.selective.clear();
            }
        }
        Variant::Bic | Variant::Cubic if sender.config.halves_rate() => rate_halving::on_timeout(sender),
        Variant::Rfc6675 | Variant::Bic | Variant::Cubic => rfc6675::on_timeout(sender),
        Variant::Fack => fack::on_timeout(sender),
    }
    settle(sender);
}

/// The application goes on after all was acknowledged: no retransmission is lost any more.
pub(crate) fn on_restart(sender: &mut Sender) {
    if !sender.rare.selective.is_blank() {
        sender.rare.selective.stalled = false;
        sender.rare.selective.retransmitted.clear();
        settle(sender);
    }
}

/// The packet that may be sent now, if one may.
#[inline]
pub(crate) fn next_packet(sender: &Sender) -> Option<u32> {
    if !sender.rare.selective.is_blank() {
        return next_selective_packet(sender);
    }
    let room = sender.next - sender.una < sender.window() && sender.next < sender.limit;
    room.then_some(sender.next)
}

#[inline(never)]
fn next_selective_packet(sender: &Sender) -> Option<u32> {
    match sender.config.variant {
        Variant::Rfc6675 | Variant::Bic | Variant::Cubic if sender.config.rack => rack::next_packet(sender),
        Variant::Bic | Variant::Cubic if sender.config.halves_rate() => rate_halving::next_packet(sender),
        Variant::Rfc6675 | Variant::Bic | Variant::Cubic => rfc6675::next_packet(sender),
        Variant::Fack => fack::next_packet(sender),
        Variant::Sack1 | Variant::Tahoe | Variant::Reno | Variant::NewReno => sack1::next_packet(sender),
    }
}

/// What [`next_packet`] said has been sent, where single packets have been heard of.
#[inline(never)]
pub(crate) fn on_selective_sent(sender: &mut Sender, seq: u32, now: Instant) {
    match sender.config.variant {
        Variant::Rfc6675 | Variant::Bic | Variant::Cubic if sender.config.rack => {
            rack::on_sent(sender, seq, now);
        }
        Variant::Bic | Variant::Cubic if sender.config.halves_rate() => rate_halving::on_sent(sender, seq),
        Variant::Rfc6675 | Variant::Bic | Variant::Cubic => rfc6675::on_sent(sender, seq),
        Variant::Fack => fack::on_sent(sender, seq),
        Variant::Sack1 | Variant::Tahoe | Variant::Reno | Variant::NewReno => sack1::on_sent(sender, seq),
    }
}

/// A duplicate acknowledgement: the third means a loss, if this variant `may_retransmit` now; later ones inflate the window;
/// the first two let a new packet out each, if limited transmit is on.
fn on_duplicate(sender: &mut Sender, may_retransmit: bool, now: Instant, out: &mut impl Output) {
    count_duplicate(sender);
    match sender.duplicates.cmp(&sender.config.duplicate_threshold) {
        Ordering::Less if sender.config.limited_transmit => sender.limited_transmit(now, out),
        Ordering::Less => {}
        Ordering::Equal if may_retransmit => {
            sender.recover = sender.end;
            sender.last_cut = LastCut::DuplicateAcks;
            sender.cut_to_half();
            sender.restart_timer_and_stop_timing(now);
            sender.transmit(sender.una, now, out);
            sender.inflation = sender.config.duplicate_threshold;
        }
        Ordering::Equal => {}
        Ordering::Greater if sender.last_cut == LastCut::DuplicateAcks => sender.inflation += 1,
        Ordering::Greater => {}
    }
}

#[inline(always)]
pub(crate) fn count_duplicate(sender: &mut Sender) {
    let is_first = sender.duplicates == 0;
    sender.end_before_duplicates = select_unpredictable(is_first, sender.end, sender.end_before_duplicates);
    sender.duplicates += 1;
}

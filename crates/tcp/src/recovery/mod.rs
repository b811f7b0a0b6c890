//! Loss recovery: what an acknowledgement says about losses, and what is sent next. One file a variant.

mod fack;
mod marks;
pub(crate) mod newreno;
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

/// Proportional rate reduction: the window during a recovery, packets (RFC 9937; Linux `tcp_cwnd_reduction` since 5.19).
#[derive(Debug, Clone, Copy, Default)]
struct Reduction {
    /// Window at the loss.
    prior: u32,
    /// Known to have arrived since.
    delivered: u32,
    /// Sent since.
    sent: u32,
}

impl Reduction {
    /// How many packets may go out on an acknowledgement of so many, while `pipe` are under way. `safe`: it moves on, and
    /// tells of no further loss.
    fn permits(&self, ssthresh: u32, pipe: u32, acknowledged: u32, safe: bool) -> u32 {
        if pipe > ssthresh {
            let share = u64::from(self.delivered) * u64::from(ssthresh);
            let due = share.div_ceil(u64::from(self.prior.max(1)));
            return u32::try_from(due).unwrap_or(u32::MAX).saturating_sub(self.sent);
        }
        let catch_up = self.delivered.saturating_sub(self.sent).max(acknowledged);
        (ssthresh - pipe).min(catch_up + u32::from(safe))
    }
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
    /// FACK, RFC 6675 with `rack`: packets sent again and not known to have arrived, each with `next` (RFC 6675: `end`) at
    /// that time.
    retransmitted: Vec<(u32, u32)>,
    /// RFC 6675 with `rack`: packets whose retransmission is lost, ascending.
    lost_again: Vec<u32>,
    /// The same: how the window comes down during this recovery.
    reduction: Reduction,
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
            lost_again: Vec::new(),
            reduction: Reduction { prior: 0, delivered: 0, sent: 0 },
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
        Variant::Bic | Variant::Cubic if sender.config.halves_rate() => rate_halving::on_timeout(sender),
        Variant::Rfc6675 | Variant::Bic | Variant::Cubic => rfc6675::on_timeout(sender),
        Variant::Fack => fack::on_timeout(sender),
    }
    settle(sender);
}

/// No packet is known to be held beyond one that is not, and no recovery runs.
pub(crate) fn nothing_is_missing(sender: &Sender) -> bool {
    !sender.rare.selective.recovering && sender.rare.selective.board.is_empty()
}

/// With `rack`: what is not held below something held was not just overtaken.
pub(crate) fn on_reordering(sender: &mut Sender, now: Instant, out: &mut impl Output) {
    if matches!(sender.config.variant, Variant::Rfc6675 | Variant::Bic | Variant::Cubic) {
        rfc6675::on_reordering(sender, now, out);
    }
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
        Variant::Bic | Variant::Cubic if sender.config.halves_rate() => rate_halving::next_packet(sender),
        Variant::Rfc6675 | Variant::Bic | Variant::Cubic => rfc6675::next_packet(sender),
        Variant::Fack => fack::next_packet(sender),
        Variant::Sack1 | Variant::Tahoe | Variant::Reno | Variant::NewReno => sack1::next_packet(sender),
    }
}

/// What [`next_packet`] said has been sent.
#[inline]
pub(crate) fn on_sent(sender: &mut Sender, seq: u32) {
    if !sender.rare.selective.is_blank() {
        on_selective_sent(sender, seq);
    } else {
        sender.next += 1;
    }
}

#[inline(never)]
fn on_selective_sent(sender: &mut Sender, seq: u32) {
    match sender.config.variant {
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

#[cfg(test)]
mod tests {
    use super::Reduction;

    #[test]
    fn above_ssthresh_what_leaves_is_in_proportion_to_what_arrives() {
        let reduction = Reduction { prior: 20, delivered: 5, sent: 2 };
        assert_eq!(reduction.permits(10, 12, 1, true), 1); // 5 · 10 / 20, rounded up, and 2 have left
    }

    #[test]
    fn below_it_what_was_held_back_is_made_up_for_whether_the_acknowledgement_moves_on_or_not() {
        let behind = Reduction { prior: 20, delivered: 12, sent: 5 };
        assert_eq!(behind.permits(10, 8, 1, false), 2); // no further than to ssthresh
        assert_eq!(behind.permits(10, 2, 1, false), 7);
        assert_eq!(behind.permits(10, 2, 1, true), 8);
    }

    #[test]
    fn with_nothing_to_make_up_for_it_is_one_for_one_and_one_more_where_nothing_else_is_lost() {
        let even = Reduction { prior: 20, delivered: 12, sent: 12 };
        assert_eq!(even.permits(10, 4, 1, false), 1); // RFC 9937: conservative
        assert_eq!(even.permits(10, 4, 1, true), 2); // as fast as slow start
    }
}

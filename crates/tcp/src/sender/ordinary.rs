//! The ordinary acknowledgement: of new data outside of recovery (or, with Reno, at its end), or a duplicate that is not the one
//! to tell of a loss.
//!
//! *Idea.* Most acknowledgements are like that, and do the same few things. Done by themselves these are a few dozen
//! instructions; the long way ([`crate::recovery::on_ack`]) comes to the same, and takes every other one. So it is with the
//! pacing timer of such a connection. Variants that hear of single packets have only the ordinary one of new data, while
//! nothing is missing ([`crate::recovery::Selective`] is blank). A connection that is bare ([`Sender::is_bare`]) has nothing of
//! what few have, and is not asked for it: one kind of connection, one copy of the code.

use super::{Output, Segment, Sender, pacing};
use crate::cc::reno;
use crate::config::{Config, Variant};
use crate::feedback::Told;
use crate::pacing::{Permit, pacing_window};
use crate::recovery::{LastCut, count_duplicate, newreno};
use crate::rtt::smoothed;
use paceline_core::{Instant, Span};
use std::hint::select_unpredictable;

/// Whether a connection has ordinary acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ordinary {
    None,
    /// And never has what few connections have ([`super::Rare`]).
    Bare,
    Unpaced,
    /// The same, and the variant hears of single packets.
    Selective,
    Paced,
    PacedSelective,
}

impl Ordinary {
    /// `is_bare`: it never has what few connections have.
    pub(super) fn of(config: &Config, is_bare: bool) -> Self {
        let selective = config.variant.is_selective();
        let counts_duplicates = matches!(config.variant, Variant::Reno | Variant::NewReno);
        let has_ordinary = (selective || counts_duplicates && config.limited_transmit)
            && !config.timestamps
            && !config.rack
            && !config.count_packets
            && config.overhead == Span::ZERO
            && config.max_burst == u32::MAX;
        match config.pacing {
            _ if !has_ordinary => Ordinary::None,
            None if selective => Ordinary::Selective,
            None if is_bare => Ordinary::Bare,
            None => Ordinary::Unpaced,
            Some(_) if selective => Ordinary::PacedSelective,
            Some(_) => Ordinary::Paced,
        }
    }
}

impl Sender {
    /// An acknowledgement of all before `next` that says no more arrives now: does what it makes the sender do, if it is an
    /// ordinary one; else says no, and nothing has happened.
    #[inline(always)]
    pub fn on_ordinary_ack(&mut self, next: u32, now: Instant, out: impl Output) -> bool {
        match self.ordinary {
            Ordinary::Bare => self.take::<false, true>(next, now, out),
            Ordinary::Unpaced => self.take::<false, false>(next, now, out),
            Ordinary::Paced => self.take::<true, false>(next, now, out),
            Ordinary::None => false,
            Ordinary::Selective | Ordinary::PacedSelective => self.take_selective(next, now, out),
        }
    }

    /// Nothing that few connections have is ever asked of it: it sends without end and without pacing, and is unobserved.
    #[inline]
    pub fn is_bare(&self) -> bool {
        self.ordinary == Ordinary::Bare
    }

    /// [`Sender::on_ordinary_ack`] of one that is bare: it is not asked again.
    #[inline(always)]
    pub fn on_ordinary_ack_of_bare(&mut self, next: u32, now: Instant, out: impl Output) -> bool {
        debug_assert!(self.is_bare());
        self.take::<false, true>(next, now, out)
    }

    /// The same where single packets are heard of.
    #[inline(never)]
    fn take_selective(&mut self, next: u32, now: Instant, mut out: impl Output) -> bool {
        if !self.is_news(next) || !self.rare.selective.is_blank() {
            return false;
        }
        if self.ordinary == Ordinary::PacedSelective {
            self.take_news::<true, false>(next, now, &mut out);
        } else {
            self.take_news::<false, false>(next, now, &mut out);
        }
        true
    }

    /// The same where they are not.
    #[inline(always)]
    fn take<const PACED: bool, const BARE: bool>(
        &mut self,
        next: u32,
        now: Instant,
        mut out: impl Output,
    ) -> bool {
        if next == self.una {
            return self.take_duplicate::<PACED, BARE>(now, &mut out);
        }
        let is_ordinary =
            self.is_news(next) && (self.last_cut != LastCut::DuplicateAcks || self.leaves_recovery());
        if is_ordinary {
            self.take_news::<PACED, BARE>(next, now, &mut out);
        }
        is_ordinary
    }

    /// It has another control than Reno's, of which only variants ask that hear of single packets: it lies apart.
    #[inline(always)]
    fn has_control(&self) -> bool {
        let is_selective = matches!(self.ordinary, Ordinary::Selective | Ordinary::PacedSelective);
        debug_assert!(is_selective || self.rare.control.is_none());
        is_selective && self.rare.control.is_some()
    }

    /// New data are acknowledged, but not all that there are to send; the handshake is over.
    #[inline(always)]
    fn is_news(&self, next: u32) -> bool {
        self.una > 0 && next > self.una && next <= self.end && next != self.limit
    }

    /// Whether any acknowledgement of new data ends recovery, as this one does then (see [`crate::recovery`]).
    #[inline(always)]
    fn leaves_recovery(&mut self) -> bool {
        let leaves = self.config.variant == Variant::Reno;
        if leaves {
            (self.last_cut, self.inflation) = (LastCut::RecoveryLeft, 0);
        }
        leaves
    }

    #[inline(always)]
    fn take_news<const PACED: bool, const BARE: bool>(
        &mut self,
        next: u32,
        now: Instant,
        out: &mut impl Output,
    ) {
        debug_assert!(self.rare.selective.is_blank());
        if !BARE && self.has_control() {
            self.on_controlled_news(next, now);
        } else {
            self.on_ordinary_news::<BARE>(next, now);
        }
        self.send_ordinarily::<PACED, BARE>(self.room(0), u32::MAX, now, out);
    }

    /// The same data are acknowledged again, others are under way, and this is not the duplicate that tells of a loss.
    #[inline(always)]
    fn take_duplicate<const PACED: bool, const BARE: bool>(
        &mut self,
        now: Instant,
        out: &mut impl Output,
    ) -> bool {
        let threshold = self.config.duplicate_threshold;
        if self.una == 0 || self.una == self.end || self.duplicates + 1 == threshold {
            return false;
        }
        count_duplicate(self);
        let are_few = self.duplicates < threshold;
        self.inflation += u32::from(!are_few & (self.last_cut == LastCut::DuplicateAcks));
        let are_few_at_once = self.config.variant == Variant::NewReno;
        let most = if are_few_at_once { newreno::BURST_IN_RECOVERY } else { u32::MAX };
        // Where duplicates are not yet enough to mean a loss: one (see [`Sender::limited_transmit`]).
        let room = self.room(select_unpredictable(are_few, self.duplicates, self.inflation));
        if PACED && are_few {
            self.send_and_pace((room, 1), true, now, out);
        } else {
            self.send_ordinarily::<PACED, BARE>(room, select_unpredictable(are_few, 1, most), now, out);
        }
        true
    }

    /// Sends so many packets, as many of them as pacing permits.
    #[inline(always)]
    fn send_ordinarily<const PACED: bool, const BARE: bool>(
        &mut self,
        room: u32,
        most: u32,
        now: Instant,
        out: &mut impl Output,
    ) {
        if !PACED {
            let packets = room.min(most);
            if packets > 0 {
                self.send_next::<BARE>(packets, now, out);
            }
            return;
        }
        let Some((pacing, pacing_at)) = pacing!(self) else { return };
        let permitted = match pacing.on_event(pacing_window!(self), pacing_at, now) {
            Permit::All => most,
            Permit::Some(packets) => packets.min(most),
            Permit::None => return,
        };
        self.send_and_pace((room, permitted), false, now, out);
    }

    /// The pacing timer does nothing else than to let packets go.
    #[inline(always)]
    pub(super) fn has_ordinary_timer(&self) -> bool {
        matches!(self.ordinary, Ordinary::Paced | Ordinary::PacedSelective)
            && self.una > 0
            && self.rare.selective.is_blank()
    }

    /// That pacing timer has run out.
    #[inline(always)]
    pub(super) fn on_ordinary_pacing_timer(&mut self, now: Instant, out: &mut impl Output) {
        let room = self.room(self.inflation);
        let Some((pacing, pacing_at)) = pacing!(self) else { return };
        *pacing_at = Instant::MAX;
        let permitted = match pacing.on_timer(pacing_window!(self)) {
            Permit::Some(packets) => packets,
            _ => u32::MAX,
        };
        if room > 0 && self.una == self.end {
            self.retransmission_at = now + self.rtt.timeout();
        }
        self.send_and_pace((room, permitted), false, now, out);
    }

    /// Sends as many of these packets as are permitted, then sets the pacing timer (see [`Sender::send_as_permitted`]).
    #[inline(always)]
    fn send_and_pace(
        &mut self,
        (room, permitted): (u32, u32),
        keeps_timer: bool,
        now: Instant,
        out: &mut impl Output,
    ) {
        let packets = room.min(permitted);
        if packets == 0 {
            return; // nothing leaves, and nothing waits
        }
        self.send_next::<false>(packets, now, out);
        if let Some((pacing, pacing_at)) = pacing!(self)
            && !keeps_timer
        {
            let sent = (packets, room > packets);
            pacing.after_burst(pacing_window!(self), sent, pacing_at, now);
        }
    }

    /// How many packets there are to send by this window with so much beyond it.
    #[inline(always)]
    fn room(&self, beyond: u32) -> u32 {
        let window = (self.cwnd as u32).saturating_add(beyond).min(self.config.max_window);
        window.saturating_sub(self.next - self.una).min(self.limit - self.next)
    }

    /// What is acknowledged is new.
    #[inline(always)]
    fn on_ordinary_news<const BARE: bool>(&mut self, next: u32, now: Instant) {
        debug_assert!(self.inflation == 0);
        self.una = next;
        self.next = self.next.max(next);
        self.duplicates = 0;
        self.partial_seen = false;
        let smoothed = if BARE { None } else { smoothed!(self) };
        if let Some(sample) = self.rtt.on_ack(&self.config, smoothed, next, now)
            && !BARE
            && let Some((pacing, _)) = pacing!(self)
        {
            pacing.on_sample(sample, self.cwnd);
        }
        self.retransmission_at = now + self.rtt.timeout();
        self.cwnd = reno::increase_by_one(self.cwnd, self.ssthresh);
        if self.cwnd > f64::from(self.config.max_window) {
            self.cwnd = self.cwnd.min(self.config.most_growth()); // few get there
        }
    }

    /// The same under another control than Reno's.
    #[inline(never)]
    fn on_controlled_news(&mut self, next: u32, now: Instant) {
        self.on_new_ack(next, Told { echo: now, blocks: &[] }, now);
    }

    /// The packets from this one on leave for the first time.
    #[inline(never)]
    fn tell_control(&mut self, from: u32, now: Instant) {
        let next = self.next;
        if let Some(control) = self.control() {
            (from..next).for_each(|seq| control.on_first_transmission(seq, now));
        }
    }

    /// Sends the next packets, so many, while others are outstanding.
    #[inline(always)]
    fn send_next<const BARE: bool>(&mut self, packets: u32, now: Instant, out: &mut impl Output) {
        debug_assert!(self.retransmission_at != Instant::MAX);
        let (first, end) = (self.next, self.end);
        self.next = first + packets;
        if first < end {
            self.counters.retransmits += self.next.min(end) - first;
        }
        if self.next > end {
            self.end = self.next;
            self.rtt.on_first_transmission(end, now);
            if !BARE && self.has_control() {
                self.tell_control(first.max(end), now);
            }
        }
        let rare = if BARE { None } else { self.rare.written() };
        let has_short = rare.is_some_and(|rare| {
            rare.on_sent(packets, now);
            self.next > rare.short_from
        });
        if !has_short {
            let bytes = self.config.data_bytes();
            for place in 0..packets {
                let seq = first + place;
                out.send(Segment { seq, bytes, retransmission: seq < end });
            }
        } else {
            for seq in first..self.next {
                out.send(Segment { seq, bytes: self.bytes_of(seq), retransmission: seq < end });
            }
        }
    }
}

#[cfg(test)]
mod tests;

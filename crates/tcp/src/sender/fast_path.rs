//! The fast path: acknowledgements of new data outside of recovery (or, with Reno, at its end), and duplicates other than the one that
//! means a loss.
//!
//! *Idea.* Nearly all acknowledgements are of these kinds, and change the same few fields, in a few dozen instructions. The slow path
//! ([`Sender::on_ack`]) gives the same result and handles every other acknowledgement. The pacing timer has a fast path likewise. With
//! a recovery that reads selective acknowledgements the fast path handles new data while no packet is missing
//! ([`crate::state::Cold::sack`] is blank). The code is compiled once for each kind of connection ([`FastPath`]); that of a bare
//! connection ([`Sender::is_bare`]) never looks for cold state.

use super::Sender;
use crate::cc::reno;
use crate::config::Variant;
use crate::feedback::Ack;
use crate::pacing::{Permit, pacing_window};
use crate::recovery::newreno;
use crate::rtt::smoothed;
use crate::segment::{Output, Segment};
use crate::state::{FastPath, LastCut, State, pacing};
use paceline_core::Instant;
use std::hint::select_unpredictable;

impl Sender {
    /// An acknowledgement of all before `next`, without blocks, arrives now. Processes it if the fast path can; else returns false and
    /// changes nothing.
    #[inline(always)]
    pub fn on_ack_fast(&mut self, next: u32, now: Instant, out: impl Output) -> bool {
        let state = &mut self.state;
        match state.fast_path {
            FastPath::Bare => state.process::<false, true>(next, now, out),
            FastPath::Unpaced => state.process::<false, false>(next, now, out),
            FastPath::Paced => state.process::<true, false>(next, now, out),
            FastPath::None => false,
            FastPath::Selective | FastPath::PacedSelective => state.process_selective(next, now, out),
        }
    }

    /// It never has cold state: it sends without end and without pacing, and is not observed.
    #[inline]
    pub fn is_bare(&self) -> bool {
        self.state.fast_path == FastPath::Bare
    }

    /// [`Sender::on_ack_fast`] of a bare sender, without asking whether it is bare.
    #[inline(always)]
    pub fn on_ack_fast_bare(&mut self, next: u32, now: Instant, out: impl Output) -> bool {
        debug_assert!(self.is_bare());
        self.state.process::<false, true>(next, now, out)
    }
}

impl State {
    /// [`Sender::on_ack_fast`] with selective acknowledgements.
    #[inline(never)]
    fn process_selective(&mut self, next: u32, now: Instant, mut out: impl Output) -> bool {
        if !self.is_new_ack(next) || !self.cold.sack.is_blank() {
            return false;
        }
        if self.fast_path == FastPath::PacedSelective {
            self.process_new_ack::<true, false>(next, now, &mut out);
        } else {
            self.process_new_ack::<false, false>(next, now, &mut out);
        }
        true
    }

    /// [`Sender::on_ack_fast`] without selective acknowledgements.
    #[inline(always)]
    fn process<const PACED: bool, const BARE: bool>(
        &mut self,
        next: u32,
        now: Instant,
        mut out: impl Output,
    ) -> bool {
        if next == self.una {
            return self.process_duplicate::<PACED, BARE>(now, &mut out);
        }
        let is_fast =
            self.is_new_ack(next) && (self.last_cut != LastCut::DuplicateAcks || self.leaves_recovery());
        if is_fast {
            self.process_new_ack::<PACED, BARE>(next, now, &mut out);
        }
        is_fast
    }

    /// The connection has another congestion control than Reno's. All of these read selective acknowledgements, so that the others need
    /// not look into the cold state.
    #[inline(always)]
    fn has_control(&self) -> bool {
        let is_selective = matches!(self.fast_path, FastPath::Selective | FastPath::PacedSelective);
        debug_assert!(is_selective || self.cold.control.is_none());
        is_selective && self.cold.control.is_some()
    }

    /// New data are acknowledged, but not everything that there is to send; the handshake is over.
    #[inline(always)]
    fn is_new_ack(&self, next: u32) -> bool {
        self.una > 0 && next > self.una && next <= self.end && next != self.limit
    }

    /// Ends the recovery if any acknowledgement of new data does. Returns whether it does.
    #[inline(always)]
    fn leaves_recovery(&mut self) -> bool {
        let leaves = self.config.variant == Variant::Reno;
        if leaves {
            (self.last_cut, self.inflation) = (LastCut::RecoveryLeft, 0);
        }
        leaves
    }

    #[inline(always)]
    fn process_new_ack<const PACED: bool, const BARE: bool>(
        &mut self,
        next: u32,
        now: Instant,
        out: &mut impl Output,
    ) {
        debug_assert!(self.cold.sack.is_blank());
        if !BARE && self.has_control() {
            self.on_new_ack_of_control(next, now);
        } else {
            self.on_new_ack_of_reno::<BARE>(next, now);
        }
        self.send_fast::<PACED, BARE>(self.room(0), u32::MAX, now, out);
    }

    /// A duplicate acknowledgement, while data are in flight, unless it is the one that means a loss.
    #[inline(always)]
    fn process_duplicate<const PACED: bool, const BARE: bool>(
        &mut self,
        now: Instant,
        out: &mut impl Output,
    ) -> bool {
        let threshold = self.config.duplicate_threshold;
        if self.una == 0 || self.una == self.end || self.duplicates + 1 == threshold {
            return false;
        }
        self.count_duplicate();
        let is_below = self.duplicates < threshold;
        self.inflation += u32::from(!is_below & (self.last_cut == LastCut::DuplicateAcks));
        let sends_few = self.config.variant == Variant::NewReno;
        let most = if sends_few { newreno::BURST_IN_RECOVERY } else { u32::MAX };
        // Duplicates below the threshold let one packet out each (see [`State::limited_transmit`]).
        let room = self.room(select_unpredictable(is_below, self.duplicates, self.inflation));
        if PACED && is_below {
            self.send_and_pace((room, 1), true, now, out);
        } else {
            self.send_fast::<PACED, BARE>(room, select_unpredictable(is_below, 1, most), now, out);
        }
        true
    }

    /// Sends at most `room` and at most `most` packets, as pacing permits.
    #[inline(always)]
    fn send_fast<const PACED: bool, const BARE: bool>(
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

    /// The pacing timer only lets packets out.
    #[inline(always)]
    pub(super) fn has_fast_pacing_timer(&self) -> bool {
        matches!(self.fast_path, FastPath::Paced | FastPath::PacedSelective)
            && self.una > 0
            && self.cold.sack.is_blank()
    }

    /// That pacing timer has run out.
    #[inline(always)]
    pub(super) fn on_pacing_timer_fast(&mut self, now: Instant, out: &mut impl Output) {
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

    /// Sends as many of these packets as are permitted, then sets the pacing timer.
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
            return; // nothing is sent, and nothing waits
        }
        self.send_next::<false>(packets, now, out);
        if let Some((pacing, pacing_at)) = pacing!(self)
            && !keeps_timer
        {
            let sent = (packets, room > packets);
            pacing.after_burst(pacing_window!(self), sent, pacing_at, now);
        }
    }

    /// Packets that the window lets out, with `beyond` added to it.
    #[inline(always)]
    fn room(&self, beyond: u32) -> u32 {
        let window = (self.cwnd as u32).saturating_add(beyond).min(self.config.max_window);
        window.saturating_sub(self.next - self.una).min(self.limit - self.next)
    }

    /// New data are acknowledged, with Reno's congestion control.
    #[inline(always)]
    fn on_new_ack_of_reno<const BARE: bool>(&mut self, next: u32, now: Instant) {
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
            self.cwnd = self.cwnd.min(self.config.most_growth()); // seldom
        }
    }

    /// New data are acknowledged, with another congestion control.
    #[inline(never)]
    fn on_new_ack_of_control(&mut self, next: u32, now: Instant) {
        self.on_new_ack(Ack { next, echo: now, blocks: &[] }, now);
    }

    /// The packets from `from` to `next` are sent for the first time.
    #[inline(never)]
    fn notify_control(&mut self, from: u32, now: Instant) {
        let next = self.next;
        if let Some(control) = self.control() {
            (from..next).for_each(|seq| control.on_first_transmission(seq, now));
        }
    }

    /// Sends the next `packets` packets, while others are outstanding.
    #[inline(always)]
    fn send_next<const BARE: bool>(&mut self, packets: u32, now: Instant, out: &mut impl Output) {
        debug_assert!(self.retransmission_at != Instant::MAX);
        let (first, end) = (self.next, self.end);
        self.next = first + packets;
        if first < end {
            self.counts.retransmits += self.next.min(end) - first;
        }
        if self.next > end {
            self.end = self.next;
            self.rtt.on_first_transmission(end, now);
            if !BARE && self.has_control() {
                self.notify_control(first.max(end), now);
            }
        }
        let cold = if BARE { None } else { self.cold.written() };
        let has_short = cold.is_some_and(|cold| {
            cold.on_sent(packets, now);
            self.next > cold.short_from
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

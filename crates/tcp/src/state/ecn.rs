//! What echoed marks do to a sender's window.
//!
//! *Idea.* A mark is a loss without the loss: the window is cut, once in a window of data, and nothing is sent again. An acknowledgement that
//! echoes a mark does not let the window grow. With classic ECN the next new packet says that the window is reduced (CWR), which ends the
//! echo. Controls by rate do not heed marks: neither Linux's BBR does, nor does draft-ietf-ccwg-bbr specify how. They only end the echo.
//! *Where it breaks.* The window is cut at once, as RFC 3168 and ns-2 have it; Linux lets it fall packet by packet (PRR), to the same
//! value.
//! *References.* RFC 3168 sections 6.1.2 and 6.1.5; RFC 8257 sections 3.3 and 3.4; ns-2.35 tcp/tcp.cc `ecn`, `recv_newack_helper`.

use super::{LastCut, State};
use crate::cc::{Echo, reno};
use crate::config::{EcnMode, Variant};

impl State {
    /// An acknowledgement of all before `next` comes on a connection with ECN, and is about to be handled: whether it echoes a mark.
    pub(crate) fn on_echo(&mut self, next: u32, is_marked: bool) {
        if self.config.has_ns2_marks() {
            return self.on_echo_as_ns2(next, is_marked);
        }
        let packets = next.saturating_sub(self.una);
        self.on_marks(next, packets, if is_marked { packets } else { 0 }, is_marked);
    }

    /// The same of one that has three bits of the number of marks.
    pub(crate) fn on_ace(&mut self, next: u32, ace: u8) {
        let packets = next.saturating_sub(self.una);
        let marked = new_marks(self.cold.ecn.marked, ace, packets);
        if marked > 0 {
            self.cold.ecn.marked += marked;
        }
        self.on_marks(next, packets, marked, marked > 0);
    }

    fn on_marks(&mut self, next: u32, packets: u32, marked: u32, is_marked: bool) {
        let echo = Echo { packets, marked, next, end: self.end };
        if let Some(control) = self.control() {
            control.on_echo(echo);
        }
        if self.cold.ecn.is_echoed != is_marked {
            self.cold.ecn.is_echoed = is_marked;
        }
        if is_marked && next > self.cold.ecn.recover && !self.is_repairing() {
            self.cut_by_mark();
        }
    }

    /// A loss has cut the window, and what was outstanding then is not yet acknowledged.
    fn is_repairing(&self) -> bool {
        matches!(self.last_cut, LastCut::DuplicateAcks | LastCut::Timeout) && self.una < self.recover
    }

    fn cut_by_mark(&mut self) {
        if self.cold.undo.from.is_some() {
            (self.cold.undo.from, self.cold.undo.ssthresh) = (None, None); // `tcp_enter_cwr`
        }
        if self.config.variant.is_by_rate() {
            self.note_reduction();
            return;
        }
        self.counts.window_cuts += 1;
        let (window, cwnd, least) = self.window_to_cut();
        let is_fractional = self.config.fractional_halving;
        let left = match self.control() {
            None => reno::half(window, is_fractional),
            Some(control) if is_fractional => control.cut_by_mark(window, cwnd),
            Some(control) => control.cut_by_mark(window, cwnd).floor(),
        };
        let left = left.max(least);
        self.ssthresh = (left as u32).max(2);
        self.cwnd = left.max(1.0);
        self.cold.ecn.recover = self.end;
        self.note_reduction();
    }

    /// The window is reduced, by a mark or a loss: the first new packet after says so (RFC 3168 section 6.1.2).
    #[inline]
    pub(super) fn note_reduction(&mut self) {
        if self.config.ecn == EcnMode::Rfc3168 {
            self.cold.ecn.reduced_at = self.end;
            self.cold.ecn.says_reduced = true;
        }
    }

    /// An acknowledgement that echoes does not let the window grow (RFC 3168 section 6.1.2; Prague itself counts which packets of it were
    /// marked), but after a timeout it does, as in Linux: the echo ends with a new packet, and a window of one would send none before all of
    /// the old ones are repaired. In ns-2 it ends with what is sent next.
    #[inline]
    pub(super) fn is_held_by_echo(&self) -> bool {
        self.cold.ecn.is_echoed
            && (!self.is_repairing() || self.config.has_ns2_marks())
            && self.config.variant != Variant::Prague
    }

    /// A loss within a window of data that a mark has cut: RFC 3168 section 6.1.2 has one reduction for both.
    pub(super) fn is_cut_by_mark(&self) -> bool {
        !self.config.variant.counts_marks() && self.una < self.cold.ecn.recover
    }
}

/// Marks since those that were `told`, from their number modulo 8 in an acknowledgement of so many packets. Where these are more than seven,
/// as many are taken for marked as can be: the counter may have come round in acknowledgements that were lost.
fn new_marks(told: u32, ace: u8, packets: u32) -> u32 {
    let least = u32::from(ace).wrapping_sub(told) % 8;
    if packets > least { packets - (packets - least) % 8 } else { least }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768 appendix A.2.1: d.cep = (ACE + 8 - s.cep mod 8) mod 8; dSafer.cep = newlyAckedPkt - ((newlyAckedPkt - d.cep) mod 8).
    #[test]
    fn a_counter_modulo_eight_is_read_to_the_safe_side() {
        for told in 5..40 {
            for marked in 0..8_u32 {
                let ace = ((told + marked) % 8) as u8;
                for packets in marked..40 {
                    let found = new_marks(told, ace, packets);
                    let all = (0..=packets).filter(|marks| (told + marks) % 8 == u32::from(ace));
                    assert_eq!(Some(found), all.max(), "{told} {marked} {packets}");
                    assert!(packets > 7 || found == marked);
                }
                // More than it newly covers: those are of duplicates, or of packets beyond a hole.
                assert_eq!(new_marks(told, ace, 0), marked);
            }
        }
    }
}

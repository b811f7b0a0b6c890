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
use crate::config::EcnMode;

impl State {
    /// An acknowledgement of all before `next` comes on a connection with ECN, and is about to be handled.
    pub(crate) fn on_echo(&mut self, next: u32, is_marked: bool) {
        let echo = Echo { packets: next.saturating_sub(self.una), next, is_marked, end: self.end };
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
        }
    }

    /// An acknowledgement that echoes does not let the window grow (RFC 3168 section 6.1.2), but after a timeout it does, as in Linux:
    /// the echo ends with a new packet, and a window of one would send none before all of the old ones are repaired.
    #[inline]
    pub(super) fn is_held_by_echo(&self) -> bool {
        self.cold.ecn.is_echoed && !self.is_repairing()
    }

    /// A loss within a window of data that a mark has cut: RFC 3168 section 6.1.2 has one reduction for both.
    pub(super) fn is_cut_by_mark(&self) -> bool {
        self.config.ecn == EcnMode::Rfc3168 && self.una < self.cold.ecn.recover
    }
}

//! What echoed marks do to a sender's window as in ns-2 ([`EcnRule::Ns2`](crate::config::EcnRule::Ns2)).
//!
//! *Idea.* A mark is one more reason to cut the window, beside losses and timeouts, and shares with them the number beyond which a recovery is
//! over: a mark does not cut a window that a loss has cut, nor a loss one that a mark has, which is then only repaired. A mark that comes
//! back when the window is one packet already leaves half of it, which sends nothing until the timer runs out; from the second in a row it
//! backs the timer off.
//! *Where it breaks.* A timeout in a window of data that a mark has cut leaves ssthresh as it is.
//! *References.* ns-2.35 tcp/tcp.cc `ecn`, `newack`, `recv_newack_helper`, `dupack_action`, `timeout`; tcp/tcp-sink.cc `TcpSink::ack`, which
//! agrees on ECN by an echo with the acknowledgement of packet 0.

use super::{LastCut, State};
use crate::config::Variant;
use crate::segment::{Output, Segment};
use paceline_core::Instant;

impl State {
    /// See [`State::on_echo`].
    pub(super) fn on_echo_as_ns2(&mut self, next: u32, is_marked: bool) {
        let is_new = next > self.una;
        let agrees = self.una == 0 && is_new;
        let may_cut = next > self.recover || self.last_cut == LastCut::Timeout;
        if (is_marked || agrees) && may_cut {
            self.recover = self.end;
            self.last_cut = LastCut::Mark;
            let is_least = self.cwnd <= 1.0;
            if is_least && self.cold.ecn.backs_off {
                self.rtt.back_off(&self.config, self.cold.smoothed);
            }
            self.cold.ecn.backs_off = is_least;
            self.cut_to_half();
        }
        let is_echoed = is_marked && !agrees;
        self.cold.ecn.is_echoed = is_echoed;
        self.rtt.hold_back_off(is_echoed && self.cold.ecn.backs_off);
        if is_new && !is_echoed && self.ends_back_off_by_marks(next, agrees) {
            self.cold.ecn.backs_off = false;
        }
    }

    /// An acknowledgement without an echo does, where it lets the window grow or gives a sample.
    fn ends_back_off_by_marks(&self, next: u32, agrees: bool) -> bool {
        let is_over = next >= self.recover;
        let (grows, samples) = match self.config.variant {
            Variant::NewReno if self.last_cut == LastCut::DuplicateAcks => (is_over, is_over),
            Variant::Sack1 if self.cold.sack.recovering => (false, is_over),
            _ => (true, true),
        };
        grows && !agrees || samples && self.rtt.times_before(next)
    }

    /// The window of data that is being repaired was cut by a mark: a loss in it does not cut it again.
    pub(crate) fn is_within_mark(&self) -> bool {
        let less_careful = self.config.careful && self.config.less_careful && self.una == self.recover;
        self.last_cut == LastCut::Mark && !self.is_beyond_recovery() && !less_careful
    }

    /// The third duplicate within such a window: the first packet is sent again.
    pub(crate) fn repair_within_mark(&mut self, now: Instant, out: &mut impl Output) {
        self.last_cut = LastCut::DuplicateAcks;
        self.restart_timer_and_stop_timing(now);
        self.transmit(self.una, now, out);
    }

    /// The window to one packet, and the threshold stays.
    pub(crate) fn shrink_to_one(&mut self) {
        self.counts.window_cuts += 1;
        self.note_reduction();
        self.cwnd = 1.0;
    }

    /// See [`crate::Sender::carries_reduced`].
    pub(crate) fn carries_reduced(&mut self, segment: Segment) -> bool {
        if self.config.has_ns2_marks() {
            return std::mem::take(&mut self.cold.ecn.says_reduced);
        }
        !segment.retransmission && segment.seq == self.cold.ecn.reduced_at
    }
}

#[cfg(test)]
mod tests;

//! HyStart++: slow start gives way to a slower growth where delay grows, and only then to congestion avoidance.
//!
//! *Idea.* A round is the time in which all that was sent at its start is acknowledged. Where the least of eight round trips or more of a
//! round is above that of the round before by an eighth of it (at least 4 ms, at most 16), conservative slow start begins: the window
//! grows a fourth as fast. If the least round trip then falls below where it began, the growth of delay was jitter, and slow start goes on;
//! if it does not for five rounds, slow start is over. An acknowledgement counts for eight packets at most, unless the sender is paced.
//! *Parameters.* None: the constants of the RFC.
//! *Where it breaks.* Only the first slow start of a connection is watched; with fewer than eight acknowledgements a round nothing is seen.
//! *References.* RFC 9406, sections 4.2 and 4.3.

use super::congestion_control::{Acked, Window};
use super::hystart::Departures;
use super::reno;
use paceline_core::{Instant, Span};

const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// Packets that an acknowledgement counts for, of a sender that is not paced.
const L: u32 = 8;

/// The state of one connection, while its first slow start lasts.
#[derive(Debug, Clone)]
pub(super) struct HyStartPlusPlus {
    /// Packets that an acknowledgement counts for.
    most: u32,
    departures: Departures,
    round: Round,
    /// Least round trip of the round before.
    last_round: Option<Span>,
    /// In conservative slow start.
    conservative: Option<Conservative>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// It is over once all before this packet is acknowledged; 0 before the first acknowledgement.
    end: u32,
    least: Option<Span>,
    samples: u32,
}

#[derive(Debug, Clone, Copy)]
struct Conservative {
    /// Least round trip of the round in which it began.
    baseline: Span,
    /// Rounds that have ended in it, the one in which it began included.
    rounds: u32,
}

impl HyStartPlusPlus {
    pub(super) fn new(is_paced: bool) -> Self {
        HyStartPlusPlus {
            most: if is_paced { u32::MAX } else { L },
            departures: Departures::default(),
            round: Round::default(),
            last_round: None,
            conservative: None,
        }
    }

    #[inline]
    pub(super) fn on_first_transmission(&mut self, seq: u32, now: Instant) {
        self.departures.add(seq, now);
    }

    /// New data are acknowledged in slow start: the window grows. Returns whether slow start ends.
    pub(super) fn increase(&mut self, window: &mut Window, acked: Acked) -> bool {
        let grown = reno::increase(window.cwnd, window.ssthresh, acked.weight.min(self.most));
        let divisor = if self.conservative.is_some() { CSS_GROWTH_DIVISOR } else { 1.0 };
        window.cwnd += (grown - window.cwnd) / divisor;
        if let Some(left) = self.departures.newest_before(acked.next) {
            self.sample(acked.now.since(left));
        }
        if self.round.end == 0 {
            self.round.end = acked.end; // the first round is the initial window
        }
        acked.next >= self.round.end && self.end_round(acked.end)
    }

    fn sample(&mut self, rtt: Span) {
        let round = &mut self.round;
        let least = round.least.map_or(rtt, |least| least.min(rtt));
        round.least = Some(least);
        round.samples += 1;
        if round.samples < N_RTT_SAMPLE {
            return;
        }
        match (self.conservative, self.last_round) {
            (Some(conservative), _) if least < conservative.baseline => self.conservative = None,
            (None, Some(last)) => {
                let threshold = Span::from_nanos(last.as_nanos() / MIN_RTT_DIVISOR);
                if least >= last + threshold.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH) {
                    self.conservative = Some(Conservative { baseline: least, rounds: 0 });
                }
            }
            _ => {}
        }
    }

    /// All is acknowledged that had been sent at the round's start; all before `end` have been sent now.
    fn end_round(&mut self, end: u32) -> bool {
        self.last_round = self.round.least;
        self.round = Round { end, ..Round::default() };
        let Some(conservative) = &mut self.conservative else { return false };
        conservative.rounds += 1;
        conservative.rounds >= CSS_ROUNDS
    }
}

#[cfg(test)]
mod tests;

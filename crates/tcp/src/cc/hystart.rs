//! HyStart: slow start ends where the queue begins, before the loss.
//!
//! *Idea.* A round is the time in which all that was sent at its start is acknowledged. Slow start ends when, at a window of
//! 16 packets or more, either the acknowledgements that follow each other within 2 ms stretch over half of the least round
//! trip (over all of it if the sender is paced): the path is as full as it can be without a queue; or the least of the
//! round trips of this round, from the ninth on, is above the least ever by an eighth of that (at least 4 ms, at most 16).
//! *Parameters.* None: Linux's constants (`hystart_low_window` 16 packets, `hystart_ack_delta` 2 ms, `HYSTART_MIN_SAMPLES`
//! 8, `HYSTART_DELAY_MIN` 4 ms, `HYSTART_DELAY_MAX` 16 ms; both ways of detecting).
//! *Where it breaks.* Cross traffic and delayed or bunched acknowledgements look like a queue: slow start ends early.
//! *References.* S. Ha, I. Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55(9), 2011; Linux
//! net/ipv4/tcp_cubic.c `hystart_update` (2.6.29, as of 5.5).

use super::congestion_control::Acked;
use paceline_core::{Instant, Span};
use std::collections::VecDeque;

/// Nothing ends below this window, packets.
const LOW_WINDOW: f64 = 16.0;
/// Acknowledgements closer than this make a train.
const CLOSE: Span = Span::from_millis(2);
/// Round trips to see in a round before their least counts.
const SAMPLES: u32 = 8;
/// Bounds of the delay that means a queue.
const LEAST_DELAY: Span = Span::from_millis(4);
const MOST_DELAY: Span = Span::from_millis(16);

/// The state of one connection.
#[derive(Debug, Clone)]
pub(super) struct HyStart {
    paced: bool,
    /// Slow start is over: nothing is measured.
    done: bool,
    departures: Departures,
    /// Least round trip of the connection.
    least: Option<Span>,
    round: Round,
}

#[derive(Debug, Clone, Copy, Default)]
struct Round {
    start: Instant,
    /// The last acknowledgement of the train.
    last_close: Instant,
    /// The round is over once more than all before this packet is acknowledged.
    end: u32,
    least: Option<Span>,
    samples: u32,
}

/// Packets on their way, with the time at which each left.
#[derive(Debug, Clone, Default)]
pub(super) struct Departures(VecDeque<(u32, Instant)>);

impl Departures {
    #[inline]
    pub(super) fn add(&mut self, seq: u32, now: Instant) {
        self.0.push_back((seq, now));
    }

    /// When the newest packet left of those that are acknowledged, which are all before `next`. They are forgotten.
    pub(super) fn newest_before(&mut self, next: u32) -> Option<Instant> {
        let mut newest = None;
        while let Some(&(seq, left)) = self.0.front()
            && seq < next
        {
            newest = Some(left);
            self.0.pop_front();
        }
        newest
    }
}

impl HyStart {
    pub(super) fn new(paced: bool) -> Self {
        HyStart {
            paced,
            done: false,
            departures: Departures::default(),
            least: None,
            round: Round::default(),
        }
    }

    #[inline]
    pub(super) fn on_first_transmission(&mut self, seq: u32, now: Instant) {
        if !self.done {
            self.departures.add(seq, now);
        }
    }

    /// New data are acknowledged in slow start at this window, packets. Returns whether slow start ends.
    pub(super) fn ends_slow_start(&mut self, cwnd: f64, acked: Acked) -> bool {
        if self.done {
            return false;
        }
        let Some(left) = self.departures.newest_before(acked.next) else { return false };
        let rtt = acked.now.since(left);
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if acked.next > self.round.end {
            self.round =
                Round { start: acked.now, last_close: acked.now, end: acked.end, least: None, samples: 0 };
        }
        if cwnd >= LOW_WINDOW
            && (self.train_fills_the_path(acked.now, least) | self.delay_has_grown(rtt, least))
        {
            self.stop();
        }
        self.done
    }

    fn train_fills_the_path(&mut self, now: Instant, least: Span) -> bool {
        if now.since(self.round.last_close) > CLOSE {
            return false;
        }
        self.round.last_close = now;
        let path = if self.paced { least.as_nanos() } else { least.as_nanos() / 2 };
        now.since(self.round.start).as_nanos() > path
    }

    fn delay_has_grown(&mut self, rtt: Span, least: Span) -> bool {
        let round = &mut self.round;
        let of_round = round.least.map_or(rtt, |of_round| of_round.min(rtt));
        round.least = Some(of_round);
        if round.samples < SAMPLES {
            round.samples += 1;
            return false;
        }
        let queue = Span::from_nanos(least.as_nanos() / 8).clamp(LEAST_DELAY, MOST_DELAY);
        of_round > least + queue
    }

    /// Slow start is over.
    pub(super) fn stop(&mut self) {
        if !self.done {
            self.done = true;
            self.departures = Departures::default();
        }
    }

    /// Slow start begins again, after a timeout. Packets in flight are not measured.
    pub(super) fn restart(&mut self) {
        *self = HyStart { least: self.least, ..HyStart::new(self.paced) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// Packet `seq` left this long before its acknowledgement comes at `now`, microseconds, and all before `end` have left.
    fn acknowledge(hystart: &mut HyStart, (seq, end): (u32, u32), rtt: u64, now: u64) -> bool {
        hystart.on_first_transmission(seq, at(now - rtt));
        let (now, next) = (at(now), seq + 1);
        let (packets, open, dubious, used, weight, srtt, sample) = (1, true, false, true, 1, 0.0, None);
        let acked = Acked {
            now,
            next,
            packets,
            open,
            dubious,
            used,
            weight,
            end,
            srtt,
            sample,
            paced_until: Instant::MAX,
        };
        hystart.ends_slow_start(LOW_WINDOW, acked)
    }

    /// A round with this least round trip, then one whose acknowledgements are `apart` microseconds apart. Returns after how many slow
    /// start ends.
    fn ends_after(hystart: &mut HyStart, (least, rtt): (u64, u64), apart: u64) -> Option<u32> {
        let start = 10_000_000;
        assert!(!acknowledge(hystart, (0, 1), least, start));
        (1..100)
            .find(|seq| acknowledge(hystart, (*seq, 1_000), rtt, start + 1_000_000 + u64::from(*seq) * apart))
    }

    /// Linux `hystart_update`, delay: an eighth of the least, 4 to 16 ms, is a queue, once eight samples of a round are seen.
    #[test]
    fn a_delay_beyond_an_eighth_of_the_least_ends_slow_start_at_the_ninth_sample() {
        for (least, bound) in [(40_000, 45_000), (16_000, 20_000), (400_000, 416_000), (32_000, 36_000)] {
            let ends = |rtt| ends_after(&mut HyStart::new(false), (least, rtt), 5_000);
            assert_eq!([bound, bound + 1].map(ends), [None, Some(9)], "{least} us");
        }
    }

    /// Acknowledgement train: those no more than 2 ms apart, for more than half the least round trip, or paced the whole.
    #[test]
    fn a_train_as_long_as_the_path_ends_slow_start() {
        for (apart, paced, expected) in [
            (1_000, false, Some(22)), // the first is at no time: 21 ms are more than 20
            (2_000, false, Some(12)),
            (2_001, false, None),
            (1_000, true, Some(42)),
        ] {
            let found = ends_after(&mut HyStart::new(paced), (40_000, 40_000), apart);
            assert_eq!(found, expected, "{apart} us, paced: {paced}");
        }
    }

    #[test]
    fn one_sign_is_enough_and_so_are_both_at_once() {
        // The ninth sample, 16 ms on, is above 15 ms, and as late as the first above 30 and 4.
        assert_eq!(ends_after(&mut HyStart::new(false), (30_000, 34_001), 2_000), Some(9));
    }

    #[test]
    fn a_timeout_begins_anew_and_keeps_the_least() {
        let mut hystart = HyStart::new(false);
        assert_eq!(ends_after(&mut hystart, (40_000, 50_000), 5_000), Some(9));
        assert_eq!(ends_after(&mut hystart, (60_000, 60_000), 5_000), None); // it is over
        hystart.restart();
        assert_eq!(ends_after(&mut hystart, (60_000, 60_000), 5_000), Some(9)); // 40 ms were seen before
    }
}

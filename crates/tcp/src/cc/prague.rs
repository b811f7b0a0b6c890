//! Prague: DCTCP for the Internet, beside a queue that marks early and often (L4S).
//!
//! *Idea.* As in DCTCP, a round trip with marks cuts the window by alpha / 2, alpha the mean share of marked packets. Marks are counted
//! exactly (accurate ECN), alpha is 1 until the first, and packets without a mark let the window grow. Round trips below 25 ms count as
//! 25: alpha is updated, and the window grows, as if they were that long, so that short round trips have no more than their share.
//! That begins 500 round trips after slow start. A lost packet halves, as in Reno.
//! *Parameters.* None: g = 1/16, 25 ms, 500 round trips.
//! *Where it breaks.* Windows below two packets are not used: many flows on short round trips keep a queue. Pacing, which it asks for, is
//! the scenario's (`pacing = "host"`).
//! *References.* K. De Schepper, O. Tilmans, B. Briscoe, "Prague congestion control", draft-briscoe-iccrg-prague-congestion-control; RFC 9331
//! section 4.3 (the Prague requirements); RFC 8257.

use super::congestion_control::{Acked, CongestionControl, Echo, Window};
use super::reno;
use crate::config::Config;
use paceline_core::{Instant, Span};

/// Gain of the mean share of marks.
const G: f64 = 1.0 / 16.0;
/// Shorter round trips count as this, seconds.
const VIRTUAL_RTT: f64 = 0.025;
/// From so many round trips after slow start on.
const TRANSITION: u32 = 500;

/// The state of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Prague {
    /// Mean share of marked packets.
    alpha: f64,
    /// A mark has come: alpha is a mean from then on.
    is_marked: bool,
    /// Packets acknowledged since alpha was updated, and those of them that were marked.
    acknowledged: u32,
    marked: u32,
    update_at: Instant,
    /// Packets of the acknowledgement at hand that were not marked.
    unmarked: u32,
    /// Round trips since slow start, and what ends the one under way.
    round_trips: u32,
    round_end: u32,
}

impl CongestionControl for Prague {
    fn new(_: &Config) -> Self {
        Prague {
            alpha: 1.0,
            is_marked: false,
            acknowledged: 0,
            marked: 0,
            update_at: Instant::ZERO,
            unmarked: 0,
            round_trips: 0,
            round_end: 0,
        }
    }

    fn increase(&mut self, window: &mut Window, acked: Acked) {
        let virtual_rtt = acked.srtt.max(VIRTUAL_RTT);
        if acked.now >= self.update_at {
            self.update_alpha();
            self.update_at = acked.now + Span::from_nanos((virtual_rtt * 1e9) as u64);
        }
        if window.cwnd < f64::from(window.ssthresh) {
            window.cwnd = reno::increase(window.cwnd, window.ssthresh, acked.weight);
            return;
        }
        if acked.next > self.round_end {
            self.round_trips += 1;
            self.round_end = acked.end;
        }
        let is_independent = self.round_trips > TRANSITION && acked.srtt > 0.0;
        let share = if is_independent { (acked.srtt / virtual_rtt).powi(2) } else { 1.0 };
        window.cwnd += share * f64::from(self.unmarked) / window.cwnd;
    }

    fn cut(&mut self, window: f64, _: f64) -> f64 {
        reno::half(window, true)
    }

    fn cut_by_mark(&mut self, _: f64, cwnd: f64) -> f64 {
        self.is_marked = true;
        cwnd * (1.0 - self.alpha / 2.0)
    }

    fn on_echo(&mut self, echo: Echo) {
        self.acknowledged += echo.packets;
        self.marked += echo.marked;
        self.unmarked = echo.packets.saturating_sub(echo.marked);
    }

    fn on_timeout(&mut self) {
        self.round_trips = 0;
    }
}

impl Prague {
    fn update_alpha(&mut self) {
        if self.is_marked && self.acknowledged > 0 {
            let share = (f64::from(self.marked) / f64::from(self.acknowledged)).min(1.0);
            self.alpha = (1.0 - G) * self.alpha + G * share;
        }
        (self.acknowledged, self.marked) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Profile, Variant};

    /// So many round trips of `rtt` ms, of packets that are all acknowledged one by one, the first `marked` of each round trip marked.
    fn run(prague: &mut Prague, window: &mut Window, (rtt, round_trips): (u64, u32), marked: u32) {
        let (mut next, mut now) = (prague.round_end, prague.update_at);
        for _ in 0..round_trips {
            let packets = window.cwnd as u32;
            let end = next + 2 * packets;
            for number in 0..packets {
                next += 1;
                now += Span::from_nanos(rtt * 1_000_000 / u64::from(packets));
                prague.on_echo(Echo { packets: 1, marked: (number < marked).into(), next, end });
                let (packets, open, dubious, used, weight, sample) = (1, true, false, true, 1, None);
                let srtt = rtt as f64 / 1e3;
                let paced_until = Instant::MAX;
                let acked =
                    Acked { now, next, packets, open, dubious, used, weight, end, srtt, sample, paced_until };
                prague.increase(window, acked);
            }
        }
    }

    fn new() -> Prague {
        Prague::new(&Config::of_variant(Profile::Rfc, Variant::Prague))
    }

    #[test]
    fn the_first_mark_halves_and_alpha_goes_to_the_share() {
        let mut prague = new();
        let mut window = Window { cwnd: 100.0, ssthresh: 100 };
        run(&mut prague, &mut window, (50, 10), 0);
        assert_eq!(prague.alpha, 1.0);
        assert_eq!(prague.cut_by_mark(100.0, 100.0), 50.0);
        // A tenth of each round trip: alpha = M + (1 - M) (1 - g)^n after n updates; one falls on the start.
        let mut window = Window { cwnd: 100.0, ssthresh: 100 };
        for _ in 0..40 {
            run(&mut prague, &mut window, (50, 1), 10);
            window.cwnd = 100.0;
        }
        let expected = |updates| 0.1 + 0.9 * (1.0 - G).powi(updates);
        assert!((expected(41)..=expected(38)).contains(&prague.alpha), "{} {}", prague.alpha, expected(40));
    }

    /// A packet a round trip; below 25 ms, after 500 round trips, (rtt / 25 ms)²: each virtual round trip a packet for rtt / 25 ms.
    #[test]
    fn short_round_trips_grow_as_long_ones() {
        for (rtt, expected) in [(50, 1.0), (25, 1.0), (10, 0.16), (5, 0.04)] {
            let mut prague = new();
            let mut window = Window { cwnd: 200.0, ssthresh: 2 };
            run(&mut prague, &mut window, (rtt, 1), 0);
            assert!((window.cwnd - 201.0).abs() < 0.01, "before the transition: {}", window.cwnd);
            prague.round_trips = TRANSITION;
            let before = window.cwnd;
            run(&mut prague, &mut window, (rtt, 10), 0);
            assert!(
                ((window.cwnd - before) / 10.0 - expected).abs() < 0.02,
                "{rtt} ms: {}",
                window.cwnd - before
            );
        }
    }

    /// A mark cuts by half of alpha, whatever that is; a round trip in which nothing was acknowledged tells nothing.
    #[test]
    fn a_mark_cuts_by_half_of_alpha() {
        let mut prague = Prague { alpha: 0.5, ..new() };
        assert_eq!(prague.cut_by_mark(80.0, 100.0), 75.0);
        prague.update_alpha();
        assert_eq!(prague.alpha, 0.5);
        prague.on_echo(Echo { packets: 4, marked: 4, next: 4, end: 8 });
        prague.update_alpha();
        assert_eq!(prague.alpha, 0.5 * 15.0 / 16.0 + 1.0 / 16.0);
    }

    fn acked(ms: u64, (next, end): (u32, u32), srtt: f64) -> Acked {
        let (packets, open, dubious, used, weight, sample) = (1, true, false, true, 1, None);
        let (now, paced_until) = (Instant::from_nanos(ms * 1_000_000), Instant::MAX);
        Acked { now, next, packets, open, dubious, used, weight, end, srtt, sample, paced_until }
    }

    /// Alpha is updated every round trip, or every 25 ms where that is longer.
    #[test]
    fn alpha_is_updated_every_virtual_round_trip() {
        for (srtt, every) in [(0.005, 25), (0.04, 40)] {
            let mut prague = Prague { is_marked: true, alpha: 0.0, ..new() };
            let mut window = Window { cwnd: 10.0, ssthresh: 2 };
            let mut alphas = Vec::new();
            for ms in [0, every - 1, every, 2 * every - 1, 2 * every] {
                prague.on_echo(Echo { packets: 1, marked: 1, next: 1, end: 9 });
                prague.increase(&mut window, acked(ms, (1, 9), srtt));
                alphas.push((prague.alpha * 256.0).round());
            }
            // 1/16, and from that 1 - (15/16)² and 1 - (15/16)³
            assert_eq!(alphas, [16.0, 16.0, 31.0, 31.0, 45.0], "{srtt}");
        }
    }

    /// Independence begins after the 500th round trip; a round trip ends with the packet after its last; without a sample none is short; at the
    /// threshold slow start is over.
    #[test]
    fn growth_changes_at_its_bounds() {
        let grows = |round_trips, next, srtt, ssthresh, marked| {
            let mut prague = Prague { round_trips, round_end: 100, update_at: Instant::MAX, ..new() };
            prague.on_echo(Echo { packets: 1, marked, next, end: 200 });
            let mut window = Window { cwnd: 10.0, ssthresh };
            prague.increase(&mut window, acked(1, (next, 200), srtt));
            ((window.cwnd - 10.0) * 1e6).round() as u32
        };
        let (whole, short) = (100_000, 4_000); // 1/10, and 1/10 (5 ms / 25 ms)²
        assert_eq!([500, 501].map(|trips| grows(trips, 50, 0.005, 2, 0)), [whole, short]);
        assert_eq!([100, 101].map(|next| grows(500, next, 0.005, 2, 0)), [whole, short]);
        assert_eq!(grows(501, 50, 0.0, 2, 0), whole);
        assert_eq!([10, 11].map(|ssthresh| grows(500, 50, 0.005, ssthresh, 1)), [0, 1_000_000]);
    }

    /// 500 round trips are counted anew after a timeout.
    #[test]
    fn after_a_timeout_short_round_trips_grow_as_their_own_again() {
        let mut prague = new();
        let mut window = Window { cwnd: 200.0, ssthresh: 2 };
        prague.round_trips = TRANSITION;
        prague.on_timeout();
        run(&mut prague, &mut window, (10, 10), 0);
        assert!((window.cwnd - 210.0).abs() < 0.5, "{}", window.cwnd);
    }

    #[test]
    fn only_packets_without_a_mark_let_the_window_grow_and_a_loss_halves() {
        let mut prague = new();
        let mut window = Window { cwnd: 100.0, ssthresh: 2 };
        run(&mut prague, &mut window, (50, 1), 40);
        assert!((window.cwnd - 100.6).abs() < 0.01, "{}", window.cwnd);
        assert_eq!(prague.cut(31.0, 31.0), 15.5);
    }
}

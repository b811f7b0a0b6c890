//! Host pacing: when a sender may release its next packet.
//!
//! *Idea.* A window's worth of packets is spread over the round trip instead of leaving in a burst. Three rules say how
//! long the gap is and when it binds:
//! - `wei`, D. X. Wei's patch for ns-2.28 (2006) with `pace_packet_` 2: slow start spreads 2 cwnd, at most ssthresh, over
//!   the round trip; congestion avoidance cwnd + 1. The round trip is smoothed with weight max(4, cwnd / 3) and replaced
//!   by the least one seen while recovering. A timer is armed only while more may be sent; an acknowledgement that finds it
//!   running sends at once if the gap has passed and else only ever pulls it earlier; one that finds none sends at once.
//! - `linux`: rate = packet max(cwnd, in flight) / srtt, twice that while cwnd < ssthresh / 2, else 1.2 times; the first
//!   ten packets free; bursts of about 1 ms, at least two packets, at most 64 KB.
//! - `ideal`: exactly srtt / cwnd after each packet.
//!
//! Fast retransmit and limited transmit go at once under every rule; before the first sample nothing is paced.
//!
//! *Parameters.* `gain` (1): the rate is multiplied by it. `jitter` (0): each gap is drawn from gap (1 ± jitter).
//! *Where it breaks.* Gaps of many flows with equal round trips line up and the flows lose together (Aggarwal, Savage and
//! Anderson 2000); a small jitter undoes that. Under a timeout regime the window is too small for gaps to matter.
//! All rules spread no more than the receiver's window over a round trip. Few decisions ask for a window: it is handed in as what makes it.
//!
//! *References.* X. Wei, P. Cao, S. Low, "TCP pacing revisited" (2006); Linux net/ipv4/tcp_input.c
//! `tcp_update_pacing_rate`, tcp_output.c `tcp_tso_autosize`; RFC 9002 section 7.7.

use crate::config::{Config, HostPacing, PacingRule};
use paceline_core::{Gap, Instant, Span};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg32;

/// Linux: a burst is what the rate sends in this time.
const LINUX_QUANTUM_S: f64 = 0.001;
/// Linux: the least and the greatest burst, packets and bytes.
const LINUX_LEAST_BURST: u32 = 2;
const LINUX_GREATEST_BURST_BYTES: u32 = 65_536;
/// Linux: packets of a connection that are not paced (`TCP_INIT_CWND`).
const LINUX_FREE_PACKETS: u64 = 10;

/// The window as a pacing rule sees it, packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    pub(crate) in_flight: f64,
    /// The receiver's: no more than that leaves in a round trip, however large `cwnd` has grown.
    pub(crate) limit: f64,
    /// In recovery: Wei's rule then paces by the least round trip.
    pub(crate) recovering: bool,
    /// A data packet on the wire, bytes.
    pub(crate) packet: u32,
}

impl Window {
    /// The window of a sender with these settings, whose packets from `una` to `next` are under way, and which recovers up to
    /// packet `recover`.
    #[inline]
    pub(crate) fn new(
        config: &Config,
        (cwnd, ssthresh): (f64, u32),
        (una, next): (u32, u32),
        recover: u32,
    ) -> Self {
        Window {
            cwnd,
            ssthresh: f64::from(ssthresh),
            in_flight: f64::from(next.saturating_sub(una)),
            limit: f64::from(config.max_window),
            recovering: una <= recover,
            packet: config.data_bytes(),
        }
    }
}

/// What makes the window of a sender as pacing sees it: it reads these fields of the sender, and no others.
macro_rules! pacing_window {
    ($sender:ident) => {
        || {
            $crate::pacing::Window::new(
                &$sender.config,
                ($sender.cwnd, $sender.ssthresh),
                ($sender.una, $sender.next),
                $sender.recover,
            )
        }
    };
}
pub(crate) use pacing_window;

/// What a sender may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permit {
    /// As many packets as the window allows.
    All,
    /// This many packets at most, then ask for a timer.
    Some(u32),
    /// Nothing before the timer.
    None,
}

/// The latest time of a timer that runs: [`Instant::MAX`] says that none does.
const LATEST: Instant = Instant::from_nanos(u64::MAX - 1);

/// The pacing state of one connection, but for its timer: the sender keeps that where it looks for it at each packet.
#[derive(Debug, Clone)]
pub(crate) struct Pacing {
    settings: HostPacing,
    /// Smoothed and least round trip, seconds; zero before the first sample.
    srtt: f64,
    least_rtt: f64,
    release: Gap,
    /// Packets sent, for Linux's free ones.
    sent: u64,
    draws: Pcg32,
}

impl Pacing {
    pub(crate) fn new(settings: HostPacing, seed: u64) -> Self {
        Pacing {
            settings,
            srtt: 0.0,
            least_rtt: 0.0,
            release: Gap::default(),
            sent: 0,
            draws: Pcg32::seed_from_u64(seed),
        }
    }

    /// A round trip was measured.
    pub(crate) fn on_sample(&mut self, sample: Span, cwnd: f64) {
        let seconds = sample.as_seconds();
        if self.srtt == 0.0 {
            self.srtt = seconds;
            self.least_rtt = seconds;
            return;
        }
        self.least_rtt = self.least_rtt.min(seconds);
        let weight = match self.settings.rule {
            PacingRule::Wei => (cwnd / 3.0).max(4.0),
            PacingRule::Linux | PacingRule::Ideal => 8.0,
        };
        self.srtt = (self.srtt * (weight - 1.0) + seconds) / weight;
    }

    /// Packets leave, whatever let them.
    #[inline]
    pub(crate) fn on_sent(&mut self, packets: u32, now: Instant) {
        self.release.released(now);
        self.sent += u64::from(packets);
    }

    /// May the sender send, now that an acknowledgement has come (or the retransmission timer has fired)?
    #[inline(always)]
    pub(crate) fn on_event(
        &mut self,
        window: impl FnOnce() -> Window,
        timer: &mut Instant,
        now: Instant,
    ) -> Permit {
        if self.is_free() {
            return Permit::All;
        }
        if *timer == Instant::MAX {
            return self.burst(window);
        }
        if self.settings.rule != PacingRule::Wei {
            return Permit::None; // the gap was fixed when the last packet left
        }
        let gap = self.gap(&window(), 1);
        self.release.set_gap(gap);
        let earliest = self.release.next_release(now);
        if earliest > now {
            *timer = earliest.min(*timer);
            return Permit::None;
        }
        Permit::Some(1)
    }

    /// The timer has fired: what may be sent.
    #[inline(always)]
    pub(crate) fn on_timer(&self, window: impl FnOnce() -> Window) -> Permit {
        if self.is_free() { Permit::All } else { self.burst(window) }
    }

    /// `sent` packets have just left together and `more` may leave by the window: arms the timer.
    #[inline(always)]
    pub(crate) fn after_burst(
        &mut self,
        window: impl FnOnce() -> Window,
        (sent, more): (u32, bool),
        timer: &mut Instant,
        now: Instant,
    ) {
        if self.is_free() {
            return;
        }
        // Wei's patch arms the timer only while there is more to send; the others hold the gap after the last packet too.
        if more || (self.settings.rule != PacingRule::Wei && sent > 0) {
            *timer = (now + self.gap(&window(), sent.max(1))).min(LATEST);
        }
    }

    /// A timeout: the schedule starts anew.
    pub(crate) fn reset(&mut self, timer: &mut Instant) {
        if self.settings.rule != PacingRule::Wei {
            *timer = Instant::MAX;
            self.release.reset();
        }
    }

    /// Wei's patch halves from what is in flight, not from the window.
    pub(crate) fn halves_in_flight(&self) -> bool {
        self.settings.rule == PacingRule::Wei
    }

    #[inline(always)]
    fn is_free(&self) -> bool {
        self.srtt == 0.0 || (self.settings.rule == PacingRule::Linux && self.sent < LINUX_FREE_PACKETS)
    }

    #[inline(always)]
    fn burst(&self, window: impl FnOnce() -> Window) -> Permit {
        match self.settings.rule {
            PacingRule::Wei | PacingRule::Ideal => Permit::Some(1),
            PacingRule::Linux => Permit::Some(self.linux_burst(&window())),
        }
    }

    #[inline(never)]
    fn linux_burst(&self, window: &Window) -> u32 {
        let packets = (LINUX_QUANTUM_S / self.seconds_a_packet(window)) as u32;
        let greatest = (LINUX_GREATEST_BURST_BYTES / window.packet).max(1);
        packets.min(greatest).max(LINUX_LEAST_BURST)
    }

    /// The gap after `packets` that left together.
    #[inline(never)]
    fn gap(&mut self, window: &Window, packets: u32) -> Span {
        let mut seconds = self.seconds_a_packet(window) * f64::from(packets);
        if self.settings.jitter > 0.0 {
            let unit = f64::from(self.draws.next_u32()) / 4_294_967_296.0;
            seconds *= 1.0 + self.settings.jitter * (2.0 * unit - 1.0);
        }
        Span::from_seconds(seconds)
    }

    #[inline]
    fn seconds_a_packet(&self, window: &Window) -> f64 {
        let Window { cwnd, ssthresh, in_flight, limit, recovering, .. } = *window;
        let seconds = match self.settings.rule {
            PacingRule::Wei => {
                let rtt = if recovering { self.least_rtt } else { self.srtt };
                let spread = if cwnd < ssthresh { (2.0 * cwnd).min(ssthresh) } else { cwnd + 1.0 };
                rtt / spread.min(limit + 1.0)
            }
            PacingRule::Linux => {
                let ratio = if cwnd < ssthresh / 2.0 { 2.0 } else { 1.2 };
                self.srtt / (cwnd.min(limit).max(in_flight).max(1.0) * ratio)
            }
            PacingRule::Ideal => self.srtt / cwnd.min(limit).max(1.0),
        };
        seconds / self.settings.gain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window =
        Window { cwnd: 4.0, ssthresh: 20.0, in_flight: 4.0, limit: 1000.0, recovering: false, packet: 1040 };

    fn pacing(rule: PacingRule) -> Pacing {
        let mut pacing = Pacing::new(HostPacing { rule, gain: 1.0, jitter: 0.0 }, 1);
        pacing.on_sample(Span::from_millis(240), 4.0);
        pacing
    }

    fn gap_ms(rule: PacingRule, window: Window) -> f64 {
        pacing(rule).gap(&window, 1).as_seconds() * 1e3
    }

    #[test]
    fn each_rule_gives_its_gap() {
        assert_eq!(gap_ms(PacingRule::Wei, WINDOW), 30.0); // 2 cwnd over the round trip
        assert_eq!(gap_ms(PacingRule::Wei, Window { ssthresh: 6.0, ..WINDOW }), 40.0); // at most ssthresh
        assert_eq!(gap_ms(PacingRule::Wei, Window { ssthresh: 3.0, ..WINDOW }), 48.0); // cwnd + 1
        assert_eq!(gap_ms(PacingRule::Ideal, WINDOW), 60.0);
        assert_eq!(gap_ms(PacingRule::Linux, WINDOW), 30.0);
        assert_eq!(gap_ms(PacingRule::Linux, Window { ssthresh: 8.0, ..WINDOW }), 50.0);
    }

    /// `tcp_tso_autosize`: what the rate sends in 1 ms, from two packets to 64 KiB.
    #[test]
    fn linux_sends_bursts_of_a_millisecond() {
        // In slow start the rate is 2 cwnd over the 240 ms: of 1200 packets 10 a millisecond.
        for (cwnd, packet, burst) in [
            (1_200.0, 1_040, 10),
            (1_319.0, 1_040, 10),
            (1_321.0, 1_040, 11),
            (120.0, 1_040, 2),
            (12_000.0, 1_040, 63), // 65,536 B / 1040 B
            (12_000.0, 70_000, 2),
            (600.0, 13_000, 5),
            (12_000.0, 13_000, 5),
        ] {
            let window = Window { cwnd, packet, ssthresh: 1e9, limit: 1e9, ..WINDOW };
            assert_eq!(pacing(PacingRule::Linux).linux_burst(&window), burst, "{cwnd} of {packet} B");
        }
    }

    /// `tcp_update_pacing_rate`: the first ten packets (`TCP_INIT_CWND`) are free.
    #[test]
    fn linux_paces_from_the_eleventh_packet_on() {
        let mut pacing = pacing(PacingRule::Linux);
        let mut timer = Instant::MAX;
        for sent in [4, 5, 1] {
            assert_eq!(pacing.on_event(|| WINDOW, &mut timer, Instant::ZERO), Permit::All);
            pacing.on_sent(sent, Instant::ZERO);
        }
        assert_eq!(pacing.on_event(|| WINDOW, &mut timer, Instant::ZERO), Permit::Some(2));
        pacing.after_burst(|| WINDOW, (2, false), &mut timer, Instant::ZERO);
        assert_eq!(timer, Instant::from_nanos(60_000_000)); // two packets of 30 ms
        assert_eq!(pacing.on_event(|| WINDOW, &mut timer, Instant::from_nanos(70_000_000)), Permit::None);
    }

    /// Whose timer is set where nothing more may leave, and where nothing has left; what a timeout does to it.
    #[test]
    fn the_gap_is_held_after_the_last_packet_but_for_wei() {
        for (rule, burst, armed) in [
            (PacingRule::Wei, (1, true), true),
            (PacingRule::Wei, (1, false), false),
            (PacingRule::Ideal, (1, false), true),
            (PacingRule::Ideal, (0, true), true),
            (PacingRule::Ideal, (0, false), false),
        ] {
            let mut timer = Instant::MAX;
            let mut pacing = pacing(rule);
            pacing.on_sent(1, Instant::ZERO);
            pacing.after_burst(|| WINDOW, burst, &mut timer, Instant::ZERO);
            assert_eq!(timer != Instant::MAX, armed, "{rule:?} {burst:?}");
            pacing.reset(&mut timer);
            assert_eq!(timer != Instant::MAX, armed && rule == PacingRule::Wei, "{rule:?} {burst:?}");
        }
        // A timer that would run out at the end of time still runs.
        let mut timer = Instant::MAX;
        pacing(PacingRule::Ideal).after_burst(|| WINDOW, (1, true), &mut timer, Instant::MAX);
        assert_eq!(timer, Instant::from_nanos(u64::MAX - 1));
    }

    /// Wei's patch weighs a sample by a third of the window, by a fourth at least; the others by an eighth (RFC 6298).
    #[test]
    fn round_trips_are_smoothed_by_each_rule() {
        let after = |rule, cwnd| {
            let mut pacing = pacing(rule); // 240 ms
            pacing.on_sample(Span::from_millis(360), cwnd);
            let recovering = pacing.gap(&Window { recovering: true, cwnd: 47.0, ssthresh: 2.0, ..WINDOW }, 1);
            (Span::from_seconds(pacing.srtt), recovering)
        };
        let least_rtt = Span::from_millis(5); // 240 ms / 48
        assert_eq!(after(PacingRule::Wei, 6.0), (Span::from_millis(270), least_rtt));
        assert_eq!(after(PacingRule::Wei, 36.0), (Span::from_millis(250), least_rtt));
        assert_eq!(after(PacingRule::Ideal, 36.0).0, Span::from_millis(255));
        assert_eq!(after(PacingRule::Linux, 36.0).0, Span::from_millis(255));
    }

    #[test]
    fn a_gain_divides_the_gap_and_packets_that_left_together_multiply_it() {
        let mut pacing = Pacing::new(HostPacing { rule: PacingRule::Ideal, gain: 1.5, jitter: 0.0 }, 1);
        pacing.on_sample(Span::from_millis(240), 4.0);
        assert_eq!(pacing.gap(&WINDOW, 3), Span::from_millis(120));
    }

    /// What is in flight counts where it is more than the window; and a packet at least is.
    #[test]
    fn linux_paces_by_what_is_in_flight() {
        let window = Window { cwnd: 4.0, in_flight: 10.0, ssthresh: 2.0, ..WINDOW };
        assert_eq!(gap_ms(PacingRule::Linux, window), 20.0);
        assert_eq!(
            gap_ms(PacingRule::Linux, Window { cwnd: 0.5, in_flight: 0.0, ssthresh: 1.0, ..window }),
            200.0
        );
    }

    #[test]
    fn a_window_is_that_of_its_sender() {
        let config = Config { max_window: 7, ..Config::new(crate::config::Profile::Ns2) };
        for (una, recovering) in [(9, true), (10, true), (11, false)] {
            let window = Window::new(&config, (3.5, 2), (una, 15), 10);
            assert_eq!((window.in_flight, window.recovering), (f64::from(15 - una), recovering));
            assert_eq!((window.cwnd, window.ssthresh, window.limit, window.packet), (3.5, 2.0, 7.0, 1040));
        }
    }

    #[test]
    fn a_window_beyond_the_receiver_s_does_not_count() {
        let window = Window { cwnd: 700.0, limit: 60.0, ..WINDOW };
        let window_of_59 = Window { limit: 59.0, ..window };
        assert_eq!(gap_ms(PacingRule::Wei, window_of_59), 4.0); // window + 1
        assert_eq!(gap_ms(PacingRule::Wei, Window { ssthresh: 1000.0, ..window_of_59 }), 4.0);
        assert_eq!(gap_ms(PacingRule::Ideal, window), 4.0);
        assert_eq!(gap_ms(PacingRule::Linux, Window { ssthresh: 700.0, cwnd: 720.0, ..window }), 3.333333);
    }

    #[test]
    fn wei_only_pulls_the_timer_earlier() {
        let mut pacing = pacing(PacingRule::Wei);
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut timer = Instant::MAX;
        assert_eq!(pacing.on_event(|| WINDOW, &mut timer, at(0)), Permit::Some(1));
        pacing.on_sent(1, at(0));
        pacing.after_burst(|| WINDOW, (1, true), &mut timer, at(0));
        assert_eq!(timer, at(30));
        // A smaller window wants a longer gap: the timer stays. A larger one pulls it.
        assert_eq!(pacing.on_event(|| Window { cwnd: 2.0, ..WINDOW }, &mut timer, at(1)), Permit::None);
        assert_eq!(timer, at(30));
        assert_eq!(pacing.on_event(|| Window { cwnd: 6.0, ..WINDOW }, &mut timer, at(2)), Permit::None);
        assert_eq!(timer, at(20));
        assert_eq!(pacing.on_event(|| Window { cwnd: 8.0, ..WINDOW }, &mut timer, at(16)), Permit::Some(1));
    }

    #[test]
    fn nothing_is_paced_before_a_sample() {
        let settings = HostPacing { rule: PacingRule::Ideal, gain: 1.0, jitter: 0.0 };
        let mut timer = Instant::MAX;
        assert_eq!(Pacing::new(settings, 1).on_event(|| WINDOW, &mut timer, Instant::ZERO), Permit::All);
    }

    #[test]
    fn jitter_stays_in_its_range_and_keeps_the_mean() {
        let settings = HostPacing { rule: PacingRule::Ideal, gain: 2.0, jitter: 0.5 };
        let mut pacing = Pacing::new(settings, 7);
        pacing.on_sample(Span::from_millis(240), 4.0);
        let gaps: Vec<f64> = (0..10_000).map(|_| pacing.gap(&WINDOW, 1).as_seconds()).collect();
        assert!(gaps.iter().all(|gap| (0.015..=0.045).contains(gap)));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 0.030).abs() < 0.0005, "{mean}");
    }
}

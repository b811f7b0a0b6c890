//! Host pacing: when a sender may release its next packet.
//!
//! *Idea.* A window of packets is spread over the round trip instead of being sent in a burst. Four rules set the gap between
//! packets and when it applies:
//! - `wei`, D. X. Wei's patch for ns-2.28 (2006) with `pace_packet_` 2: slow start spreads 2 cwnd, at most ssthresh, over
//!   the round trip; congestion avoidance cwnd + 1. The round trip is smoothed with weight max(4, cwnd / 3) and replaced
//!   by the least one seen while recovering. A timer is armed only while more may be sent; an acknowledgement that finds it
//!   running sends at once if the gap has passed, and else may only make it fire earlier; one that finds none sends at once.
//! - `linux`: rate = packet max(cwnd, in flight) / srtt, twice that while cwnd < ssthresh / 2, else 1.2 times; the first
//!   ten packets free; bursts of about 1 ms, at least two packets, at most 64 KB.
//! - `ideal`: exactly srtt / cwnd after each packet.
//! - `prague`, TCP Prague for Linux: as `linux`, but 1.0 times after slow start, and bursts of at most 1/4096 s, one packet at least: what comes
//!   together at a queue that marks from a shallow threshold on is marked.
//!
//! A congestion control that has a rate of its own ([`crate::cc::Pace`]) is paced by that, whatever the rule: trains of `burst` packets,
//! the first ten packets free, and a train that was held up by the window or the timer shortens the gap after it by that much, but no
//! more than by half (Linux `tcp_update_skb_after_send`).
//!
//! Fast retransmit and limited transmit are not delayed under any rule; before the first sample nothing is paced.
//!
//! *Parameters.* `gain` (1): the rate is multiplied by it. `jitter` (0): each gap is drawn from gap (1 ± jitter). `quantum` (the rule's):
//! so many packets leave together, and the gap after them is theirs.
//! *Where it breaks.* Gaps of many flows with equal round trips line up and the flows lose together (Aggarwal, Savage and
//! Anderson 2000); a small jitter undoes that. Under a timeout regime the window is too small for gaps to matter.
//! All rules spread no more than the receiver's window over a round trip. Few decisions need the window, so a function computes it on
//! demand.
//!
//! *References.* X. Wei, P. Cao, S. Low, "TCP pacing revisited" (2006); Linux net/ipv4/tcp_input.c
//! `tcp_update_pacing_rate`, tcp_output.c `tcp_tso_autosize`; tcp_prague.c of L4STeam's Linux 5.15
//! `prague_update_pacing_rate`, `prague_burst_shift`; draft-briscoe-iccrg-prague-congestion-control; RFC 9002 section 7.7.

pub(crate) mod window;

use crate::cc::Pace;
use crate::config::{Config, HostPacing, PacingRule};
use paceline_core::{Gap, Instant, Span};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg32;
use window::kernel_ratio;
pub(crate) use window::{Window, linux_ratio, pacing_window};

/// Linux: a burst is what the rate sends in this time.
const LINUX_QUANTUM_S: f64 = 0.001;
/// Prague: a burst is at most what the rate sends in this time (`prague_burst_shift` 12).
const PRAGUE_QUANTUM_S: f64 = 1.0 / 4096.0;
/// Linux: the least and the greatest burst, packets and bytes; Prague's greatest is the same (`GSO_LEGACY_MAX_SIZE`).
const LINUX_LEAST_BURST: u32 = 2;
const LINUX_GREATEST_BURST_BYTES: u32 = 65_536;
/// Linux: packets of a connection that are not paced (`TCP_INIT_CWND`).
const LINUX_FREE_PACKETS: u64 = 10;

/// What a sender may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permit {
    /// As many packets as the window allows.
    All,
    /// At most this many packets, then the timer.
    Some(u32),
    /// Nothing before the timer.
    None,
}

/// The latest time of a timer that runs; [`Instant::MAX`] is a timer that does not.
const LATEST: Instant = Instant::from_nanos(u64::MAX - 1);

/// The pacing state of one connection, without its timer, which every packet needs and the sender keeps. What each packet needs comes
/// first: with what it needs of [`Cold`](crate::state::Cold) it takes two cache lines.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Pacing {
    /// Nothing is held back yet: no round trip has been measured, or these are Linux's free packets. Kept, since it is asked several
    /// times a packet.
    is_free: bool,
    in_trains: bool,
    /// Packets that leave together; 0 is by the rule's rate.
    quantum: u32,
    /// The rate of the congestion control, where it sets one.
    control: Option<Box<ByControl>>,
    settings: HostPacing,
    /// Smoothed and least round trip, seconds; zero before the first sample.
    srtt: f64,
    least_rtt: f64,
    release: Gap,
    /// Packets sent, for Linux's free ones.
    sent: u64,
    /// When the last train allowed the next; kept where packets leave in trains (`tcp_wstamp_ns`).
    next: Instant,
    draws: Pcg32,
}

/// What pacing by the congestion control's rate needs.
#[derive(Debug, Clone, Copy)]
struct ByControl {
    pace: Pace,
    /// Bytes of a packet that count for the rate.
    payload: u32,
    /// Packets that are not paced, a SYN included.
    free: u64,
    /// When the last train allowed the next (`tcp_wstamp_ns`).
    next: Instant,
}

impl Pacing {
    pub(crate) fn new(settings: HostPacing, seed: u64) -> Self {
        Pacing {
            settings,
            srtt: 0.0,
            least_rtt: 0.0,
            release: Gap::default(),
            sent: 0,
            is_free: true,
            quantum: settings.quantum.unwrap_or(u32::from(!settings.rule.is_of_a_kernel())),
            draws: Pcg32::seed_from_u64(seed),
            control: None,
            next: Instant::ZERO,
            in_trains: false,
        }
    }

    /// Where packets leave in trains, a kernel's rule lets a late train shorten the gap after it, as by a control's rate.
    pub(crate) fn in_trains(self, are_trains: bool) -> Self {
        Pacing { in_trains: are_trains && self.settings.rule.is_of_a_kernel(), ..self }
    }

    /// Pacing by the rate that the congestion control sets.
    pub(crate) fn by_control(pace: Pace, config: &Config) -> Self {
        let free = LINUX_FREE_PACKETS + u64::from(config.syn.is_some());
        let control = ByControl { pace, payload: config.payload, free, next: Instant::ZERO };
        let rule = HostPacing { rule: PacingRule::Linux, gain: 1.0, jitter: 0.0, quantum: None };
        Pacing { control: Some(Box::new(control)), ..Pacing::new(rule, 0) }
    }

    /// The rate that the congestion control sets, if it sets one.
    #[inline]
    pub(crate) fn pace(&mut self) -> Option<&mut Pace> {
        self.control.as_mut().map(|control| &mut control.pace)
    }

    /// A round trip was measured.
    pub(crate) fn on_sample(&mut self, sample: Span, cwnd: f64) {
        let seconds = sample.as_seconds();
        if self.srtt == 0.0 {
            self.srtt = seconds;
            self.least_rtt = seconds;
            self.note_free();
            return;
        }
        self.least_rtt = self.least_rtt.min(seconds);
        let weight = match self.settings.rule {
            PacingRule::Wei => (cwnd / 3.0).max(4.0),
            PacingRule::Linux | PacingRule::Ideal | PacingRule::Prague => 8.0,
        };
        self.srtt = (self.srtt * (weight - 1.0) + seconds) / weight;
    }

    /// Packets leave, for whatever reason.
    #[inline]
    pub(crate) fn on_sent(&mut self, packets: u32, now: Instant) {
        self.release.released(now);
        self.sent += u64::from(packets);
        if self.is_free {
            self.note_free();
        }
    }

    /// [`Pacing::on_event`] permits nothing before the timer, whatever the rate is.
    #[inline]
    pub(crate) fn waits(&self, timer: Instant) -> bool {
        !self.is_free && timer != Instant::MAX && self.settings.rule != PacingRule::Wei
    }

    /// May the sender send, now that an acknowledgement has come (or the retransmission timer has fired)?
    #[inline(always)]
    pub(crate) fn on_event(
        &mut self,
        window: impl FnOnce() -> Window,
        timer: &mut Instant,
        now: Instant,
    ) -> Permit {
        if self.is_free {
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
        Permit::Some(self.quantum)
    }

    /// The timer has fired: what may be sent.
    #[inline(always)]
    pub(crate) fn on_timer(&self, window: impl FnOnce() -> Window) -> Permit {
        if self.is_free { Permit::All } else { self.burst(window) }
    }

    /// `sent` packets have just left together, and the window lets `more` out: sets the timer.
    #[inline(always)]
    pub(crate) fn after_burst(
        &mut self,
        window: impl FnOnce() -> Window,
        (sent, more): (u32, bool),
        timer: &mut Instant,
        now: Instant,
    ) {
        if self.is_free || sent == 0 {
            return; // a train that waits for a longer one leaves with an acknowledgement
        }
        if let Some(control) = &mut self.control {
            *timer = control.after_train(sent, now);
            return;
        }
        // Wei's patch sets the timer only while there is more to send; the others keep the gap after the last packet too.
        if more || self.settings.rule != PacingRule::Wei {
            let gap = self.gap(&window(), sent);
            let due = if self.in_trains { after_train(&mut self.next, gap, now) } else { now + gap };
            *timer = due.min(LATEST);
        }
    }

    /// Whether [`Pacing::after_burst`] asks if the window lets more out.
    #[inline]
    pub(crate) fn asks_for_more(&self) -> bool {
        !self.is_free && self.control.is_none() && self.settings.rule == PacingRule::Wei
    }

    /// A timeout: the schedule starts anew.
    pub(crate) fn reset(&mut self, timer: &mut Instant) {
        if self.settings.rule != PacingRule::Wei {
            *timer = Instant::MAX;
            self.release.reset();
        }
    }

    /// The rate of the rule, payload, byte/s; without bound before the first sample.
    pub(crate) fn payload_rate(&self, window: &Window, payload: u32) -> u64 {
        (f64::from(payload) / self.seconds_a_packet(window)) as u64
    }

    /// What leaves holds up what follows: a round trip has been measured, and Linux's free packets have left.
    pub(crate) fn holds_back(&self) -> bool {
        !self.is_free
    }

    /// Packets of the longest train, where settings or rule say so rather than the host (`tso_segs` of a congestion control).
    pub(crate) fn longest_train(&self, window: impl FnOnce() -> Window) -> Option<u32> {
        let is_of_rule = self.settings.rule == PacingRule::Prague;
        self.settings.quantum.or_else(|| is_of_rule.then(|| self.burst_by_rate(&window())))
    }

    /// When the last train lets the next one leave.
    pub(crate) fn next_train(&self) -> Instant {
        self.control.as_ref().map_or(self.next, |control| control.next)
    }

    /// Wei's patch halves from what is in flight, not from the window, but for congestion controls of their own.
    pub(crate) fn halves_in_flight(&self) -> bool {
        self.settings.rule == PacingRule::Wei
    }

    #[inline(never)]
    fn note_free(&mut self) {
        if let Some(control) = &self.control {
            self.is_free = self.sent < control.free;
            return;
        }
        self.is_free =
            self.srtt == 0.0 || (self.settings.rule.is_of_a_kernel() && self.sent < LINUX_FREE_PACKETS);
    }

    #[inline(always)]
    fn burst(&self, window: impl FnOnce() -> Window) -> Permit {
        if let Some(control) = &self.control {
            return Permit::Some(control.pace.burst);
        }
        let by_rate = self.quantum == 0;
        Permit::Some(if by_rate { self.burst_by_rate(&window()) } else { self.quantum })
    }

    #[inline(never)]
    fn burst_by_rate(&self, window: &Window) -> u32 {
        let (seconds, least) = match self.settings.rule {
            PacingRule::Prague => (PRAGUE_QUANTUM_S, 1),
            _ => (LINUX_QUANTUM_S, LINUX_LEAST_BURST),
        };
        let packets = (seconds / self.seconds_a_packet(window)) as u32;
        let greatest = (LINUX_GREATEST_BURST_BYTES / window.packet).max(1);
        packets.min(greatest).max(least)
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
            rule @ (PacingRule::Linux | PacingRule::Prague) => {
                let ratio =
                    if rule == PacingRule::Linux { linux_ratio(window) } else { kernel_ratio(window, 1.0) };
                self.srtt / (cwnd.min(limit).max(in_flight).max(1.0) * ratio)
            }
            PacingRule::Ideal => self.srtt / cwnd.min(limit).max(1.0),
        };
        // A division by one is as slow as any other.
        if self.settings.gain == 1.0 { seconds } else { seconds / self.settings.gain }
    }
}

impl ByControl {
    /// So many packets have left: when the next may.
    fn after_train(&mut self, packets: u32, now: Instant) -> Instant {
        let packets = packets.min(self.pace.burst); // more only where some of them were free
        let bytes = u64::from(packets) * u64::from(self.payload);
        let gap = (u128::from(bytes) * 1_000_000_000 / u128::from(self.pace.rate)) as u64;
        after_train(&mut self.next, Span::from_nanos(gap), now)
    }
}

/// A train has left: when the next one may. One that left late shortens the gap by that, but by no more than half.
fn after_train(next: &mut Instant, gap: Span, now: Instant) -> Instant {
    let (gap, credit) = (gap.as_nanos(), now.since(*next).as_nanos());
    *next = now + Span::from_nanos(gap - credit.min(gap / 2));
    *next
}

#[cfg(test)]
mod tests;

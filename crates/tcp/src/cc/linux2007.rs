//! BIC and CUBIC in the whole numbers of Linux 2.6.22, which ns-2's TCP-Linux runs.
//!
//! *Idea.* The window is in whole packets and grows by one every `count` acknowledgements. `count` is computed when the window has
//! changed, and every 31 ms. Time is in milliseconds. Slow start continues to a packet above ssthresh. The acknowledgement that makes
//! the window grow does not count for the next packet. A window that was not used up does not grow.
//! *Parameters.* beta 819/1024, C 410/1024; `max_increment` 16 packets (BIC: a round trip; CUBIC: 0.1 s, beyond W_max); while
//! W_max is unknown a packet each 20 (BIC), 50 (CUBIC). CUBIC looks a least round trip ahead, known from timestamps alone.
//! *Where it breaks.* At windows of a few packets rounding decides, and a growth of a packet each `count` of nearly two packets an
//! acknowledgement ([`super::ack_ratio`]). Linux starts its cube root from a table; [`cube_root`] comes within 0.1 % of it.
//! *References.* ns-2.35 tcp/linux/src/tcp_bic.c, tcp_cubic.c, tcp_cong.c (Linux 2.6.22.6).

use super::ack_ratio::AckRatio;
use super::bic::{self, acknowledgements_a_packet};
use super::congestion_control::{Acked, CongestionControl, Window};
use crate::config::{Config, Variant};
use paceline_core::{Instant, Span};

/// Of 1024 (`BICTCP_BETA_SCALE`).
const BETA: u64 = 819;
/// How long a `count` holds, ms (`HZ / 32`).
const HOLDS: u64 = 31;
/// CUBIC: packets for one packet of growth while W_max is unknown.
const UNKNOWN: u64 = 50;
/// C is this over 1024, packets/s³ (`bic_scale` times 10).
const C: u64 = 410;
/// Acknowledgements for a packet of Reno's, of its window, eighths (`beta_scale`).
const RENO: u64 = 23;

/// The state of one connection. Windows in packets, times in milliseconds.
#[derive(Debug, Clone)]
pub(crate) struct Linux2007 {
    is_cubic: bool,
    has_timestamps: bool,
    most: u64,
    ratio: AckRatio,
    /// Acknowledgements towards the next packet (`snd_cwnd_cnt`).
    gathered: u64,
    count: u64,
    /// The window and the time for which `count` was computed.
    counted: (u64, u64),
    w_max: u64,
    /// A loss has come since the last timeout.
    knows_loss: bool,
    curve: Curve,
}

/// CUBIC's.
#[derive(Debug, Clone, Copy, Default)]
struct Curve {
    /// 0 before the first acknowledgement of this congestion avoidance.
    start: u64,
    origin: u64,
    /// 1/1024 s.
    k: u64,
    /// 0 before the first sample.
    least_rtt: u64,
    acknowledgements: u64,
    /// What Reno would have.
    reno: u64,
}

impl CongestionControl for Linux2007 {
    const RECEIVES_UNUSED: bool = true;

    fn new(config: &Config) -> Self {
        Linux2007 {
            is_cubic: config.variant == Variant::Cubic,
            has_timestamps: config.timestamps,
            most: config.max_window.into(),
            ratio: AckRatio::new(),
            gathered: 0,
            count: 0,
            counted: (0, 0),
            w_max: 0,
            knows_loss: false,
            curve: Curve::default(),
        }
    }

    fn increase(&mut self, window: &mut Window, acked: Acked) {
        if acked.open {
            self.ratio.update(acked.packets);
        }
        if self.is_cubic && self.has_timestamps && !acked.dubious {
            self.measure(acked.now, acked.sample.unwrap_or(Span::ZERO));
        }
        if !acked.used {
            return;
        }
        let cwnd = window.cwnd as u64;
        if cwnd > window.ssthresh.into() {
            self.update_count(cwnd, milliseconds(acked.now));
            if self.gathered < self.count {
                self.gathered += 1;
                return;
            }
            self.gathered = 0;
        }
        if cwnd < self.most {
            window.cwnd = (cwnd + 1) as f64;
        }
    }

    fn cut(&mut self, window: f64, cwnd: f64) -> f64 {
        let (window, cwnd) = (window as u64, cwnd as u64);
        self.w_max = if cwnd < self.w_max { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        self.knows_loss = true;
        self.gathered = 0;
        self.curve.start = 0;
        let is_low = !self.is_cubic && cwnd <= bic::LOW_WINDOW;
        let left = if is_low { window / 2 } else { window * BETA / 1024 };
        left.max(2) as f64
    }

    fn on_timeout(&mut self) {
        *self = Linux2007 {
            ratio: AckRatio::new(),
            count: 0,
            counted: (0, 0),
            w_max: 0,
            knows_loss: false,
            curve: Curve::default(),
            ..*self
        };
    }
}

impl Linux2007 {
    /// The least round trip, not just after a loss (`measure_delay`).
    fn measure(&mut self, now: Instant, sample: Span) {
        let echo = (now.as_nanos() - sample.as_nanos() + 500_000) / 1_000_000;
        let now = milliseconds(now);
        if echo == 0 || now < self.curve.start + 1000 {
            return;
        }
        let delay = now.saturating_sub(echo);
        if self.curve.least_rtt == 0 || delay < self.curve.least_rtt {
            self.curve.least_rtt = delay.max(1);
        }
    }

    /// After how many acknowledgements the window grows by one.
    fn update_count(&mut self, cwnd: u64, now: u64) {
        self.curve.acknowledgements += 1;
        if self.counted.0 == cwnd && now - self.counted.1 <= HOLDS {
            return;
        }
        self.counted = (cwnd, now);
        self.count = match self.is_cubic {
            true => {
                let packets = self.packets_a_packet(cwnd, now);
                self.ratio.acknowledgements(packets)
            }
            false => acknowledgements_a_packet(cwnd, self.w_max, self.knows_loss, self.ratio),
        };
    }

    /// CUBIC: after how many packets.
    fn packets_a_packet(&mut self, cwnd: u64, now: u64) -> u64 {
        let curve = &mut self.curve;
        if curve.start == 0 {
            let distance = self.w_max.saturating_sub(cwnd);
            let k = if distance == 0 { 0 } else { cube_root((1 << 40) / C * distance) };
            *curve = Curve {
                start: now,
                acknowledgements: 1,
                reno: cwnd,
                k,
                origin: self.w_max.max(cwnd),
                ..*curve
            };
        }
        let time = ((now + curve.least_rtt - curve.start) << 10) / 1000;
        let from_origin = time.abs_diff(curve.k);
        let distance = (u128::from(C) * u128::from(from_origin).pow(3)) >> 40;
        let distance = u64::try_from(distance).unwrap_or(u64::MAX);
        let target = match time < curve.k {
            true => curve.origin.saturating_sub(distance),
            false => curve.origin.saturating_add(distance),
        };
        let mut count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if curve.least_rtt > 0 && time >= curve.k {
            count = count.max(cwnd * 100 / (bic::MOST_INCREMENT * curve.least_rtt));
        }
        if !self.knows_loss {
            count = UNKNOWN;
        }
        let each = (cwnd * RENO) >> 3;
        while curve.acknowledgements > each {
            curve.acknowledgements -= each;
            curve.reno += 1;
        }
        match curve.reno.saturating_sub(cwnd) {
            0 => count,
            behind => count.min(cwnd / behind),
        }
    }
}

fn milliseconds(time: Instant) -> u64 {
    time.as_nanos() / 1_000_000
}

/// Linux's cube root: a first value from the leading three to six bits, and one step of Newton's method with 341/1024 for a third. The
/// step is exact where the first value is 3 % above the root, as in Linux's table of first values, and here.
fn cube_root(a: u64) -> u64 {
    let bits = u64::from(u64::BITS - a.leading_zeros());
    let triple = ((bits * 84) >> 8) - 1;
    let leading = (a >> (3 * triple)) as f64;
    let first = (((64.0 * libm::cbrt(1.106 * leading + 0.32)).round() as u64) << triple) >> 6;
    ((2 * first + a / (first * (first - 1))) * 341) >> 10
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `bictcp_update`: beyond the last maximum 160 packets a second at most. 320 packets in 10 ms are 32,000 a second.
    #[test]
    fn beyond_the_maximum_it_grows_by_160_packets_a_second_at_most() {
        let config =
            Config { variant: Variant::Cubic, timestamps: true, ..Config::new(crate::config::Profile::Ns2) };
        let mut cubic = Linux2007::new(&config);
        cubic.cut(320.0, 320.0);
        cubic.curve.least_rtt = 10;
        cubic.packets_a_packet(320, 1_000);
        assert_eq!(cubic.packets_a_packet(320, 101_000), 32_000 / 160);
        cubic.curve.least_rtt = 0; // without a round trip nothing holds it
        assert_eq!(cubic.packets_a_packet(320, 101_000), 0);
    }

    /// `bictcp_update`: where Reno would be ahead, a packet every cwnd / (that distance) packets.
    #[test]
    fn it_catches_up_with_reno() {
        let mut cubic =
            Linux2007::new(&Config { variant: Variant::Cubic, ..Config::new(crate::config::Profile::Ns2) });
        cubic.cut(10.0, 10.0);
        assert!(cubic.packets_a_packet(8, 1_000) > 2);
        cubic.curve.reno = 8 + 4;
        assert_eq!(cubic.packets_a_packet(8, 1_000), 2);
    }

    #[test]
    fn the_cube_root_is_linux_s_within_a_hundredth_of_a_second_of_k() {
        // Linux 2.6.22's `cubic_root` for W_max this far away, 1/1024 s.
        for (distance, k) in [
            (1, 1388),
            (2, 1750),
            (6, 2523),
            (20, 3770),
            (36, 4587),
            (100, 6451),
            (500, 11027),
            (1999, 17489),
        ] {
            let ours = cube_root((1 << 40) / C * distance);
            assert!(ours.abs_diff(k) <= 11, "{distance} packets: {ours}, {k} in Linux");
        }
    }
}

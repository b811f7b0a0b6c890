//! BIC: binary search for the window at which the last loss came.
//!
//! *Idea.* Below the window of the last loss, W_max, the window grows by a quarter of what is missing a round trip, at most
//! by 16 packets; within two steps of it, by a fifth of a packet. Beyond it, it mirrors that: a fifth of a packet a round
//! trip for four packets, then a third of what it is beyond, at most 16. A loss cuts the window to 819/1024, and
//! W_max to less than the window if that was below W_max before (fast convergence). Up to 14 packets it is Reno.
//! *Parameters.* None: Linux's and ns-2's constants, the same in all their versions (Linux `max_increment` 16 packets,
//! `low_window` 14 packets, `smooth_part` 20, `BICTCP_B` 4, `beta` 819/1024, `fast_convergence` 1). The distance to W_max
//! counts in whole packets, as there. The paper has 32 packets for 16, and 7/8 for 819/1024.
//! It grows by acknowledgements ([`super::ack_ratio`]). [`super::linux2007`] has it in ns-2's whole numbers.
//! Where W_max is unknown, after a timeout or where slow start ended without a loss, Linux lets the window grow by up to 16 packets a
//! round trip. So it soon outgrows the path by many packets, and what is lost of their retransmissions RFC 6675 finds by a timeout
//! only: one after the other, for ever. With `constants = "rfc9438"` W_max is then the window at which slow start ended, as that
//! RFC's section 4.8 has it for CUBIC.
//! *Where it breaks.* Growth is per round trip, so flows with short round trips take the link from those with long ones.
//! *References.* L. Xu, K. Harfoush, I. Rhee, "Binary increase congestion control (BIC) for fast long-distance networks",
//! INFOCOM 2004; Linux net/ipv4/tcp_bic.c; ns-2.35 tcp/linux/src/tcp_bic.c.

use super::ack_ratio::AckRatio;
use super::congestion_control::{Acked, CongestionControl, Window};
use super::reno;
use crate::config::{Config, Constants};

/// Left of the window after a loss.
const BETA: f64 = 819.0 / 1024.0;
/// The most packets a round trip.
pub(super) const MOST_INCREMENT: u64 = 16;
/// Up to this window it is Reno, packets.
pub(super) const LOW_WINDOW: u64 = 14;
/// The window grows by 1/B of the distance to W_max, a round trip.
const B: u64 = 4;
/// Round trips that the last `B` packets before W_max take.
const SMOOTH_PART: u64 = 20;
/// Most acknowledgements for one packet of growth while W_max is unknown.
const MOST_UNKNOWN: u64 = 20;

/// The state of BIC.
#[derive(Debug, Clone)]
pub(crate) struct Bic {
    /// Window at the last loss, packets; 0 is unknown.
    w_max: f64,
    ratio: AckRatio,
    /// An unknown W_max is the window where slow start ends (RFC 9438 section 4.8).
    starts_from_window: bool,
}

impl CongestionControl for Bic {
    fn new(config: &Config) -> Self {
        let starts_from_window = config.constants == Constants::Rfc9438;
        Bic { w_max: 0.0, ratio: AckRatio::new(), starts_from_window }
    }

    fn increase(&mut self, window: &mut Window, acked: Acked) {
        if acked.open {
            self.ratio.update(acked.packets);
        }
        if window.cwnd < f64::from(window.ssthresh) {
            window.cwnd = reno::increase(window.cwnd, window.ssthresh, acked.weight);
            return;
        }
        if self.starts_from_window && self.w_max == 0.0 {
            self.w_max = window.cwnd;
        }
        let count =
            acknowledgements_a_packet(window.cwnd as u64, self.w_max as u64, self.w_max > 0.0, self.ratio);
        window.cwnd += 1.0 / count as f64;
    }

    fn cut(&mut self, window: f64, cwnd: f64) -> f64 {
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        let left = if cwnd as u64 <= LOW_WINDOW { window / 2.0 } else { window * BETA };
        left.max(2.0)
    }

    fn on_timeout(&mut self) {
        self.w_max = 0.0;
        self.ratio.reset();
    }
}

/// After how many acknowledgements the window grows by one (Linux `cnt`). As Reno, it makes no allowance for delayed ones.
pub(super) fn acknowledgements_a_packet(cwnd: u64, w_max: u64, knows_loss: bool, ratio: AckRatio) -> u64 {
    if cwnd <= LOW_WINDOW {
        return cwnd;
    }
    let smooth = cwnd * SMOOTH_PART / B;
    let packets = if cwnd < w_max {
        match (w_max - cwnd) / B {
            0 | 1 => smooth,
            step => cwnd / step.min(MOST_INCREMENT),
        }
    } else {
        match cwnd - w_max {
            beyond if beyond < B => smooth,
            beyond if beyond < MOST_INCREMENT * (B - 1) => cwnd * (B - 1) / beyond,
            _ => cwnd / MOST_INCREMENT,
        }
    };
    ratio.acknowledgements(if knows_loss { packets } else { packets.min(MOST_UNKNOWN) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;
    use paceline_core::Instant;

    fn bic() -> Bic {
        Bic::new(&Config::new(Profile::Rfc))
    }

    fn increase(bic: &mut Bic, cwnd: f64) -> f64 {
        let (packets, open, dubious, used, weight, end, srtt, sample) =
            (2, true, false, true, 1, 9, 0.1, None);
        let now = Instant::ZERO;
        let acked = Acked {
            now,
            next: 1,
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
        let mut window = Window { cwnd, ssthresh: 2 };
        bic.increase(&mut window, acked);
        1.0 / (window.cwnd - cwnd)
    }

    /// RFC 9438 section 4.8, as for CUBIC; Linux `bictcp_reset`.
    #[test]
    fn after_a_timeout_the_window_is_the_maximum_but_in_linux() {
        for (constants, counts) in [(Constants::Rfc9438, [100, 107, 15]), (Constants::Linux2013, [1, 1, 10])]
        {
            let mut bic = Bic::new(&Config { constants, ..Config::new(Profile::Rfc) });
            bic.cut(100.0, 100.0);
            bic.on_timeout();
            let counted = [40.0, 43.0, 500.0].map(|cwnd| increase(&mut bic, cwnd).round() as u32);
            assert_eq!(counted, counts, "{constants:?}");
        }
    }

    /// Linux `bictcp_update`: acknowledgements, of two packets each, until the window has grown by one.
    #[test]
    fn it_grows_by_the_distance_to_the_last_maximum() {
        let mut bic = bic();
        assert_eq!(bic.cut(100.0, 100.0), 100.0 * BETA);
        for (cwnd, count) in [
            (14, 14),   // Reno's
            (15, 1),    // 85 away: a fourth, 16 at most
            (60, 3),    // 40 away: a tenth of the way
            (97, 242),  // 3 away: five windows, of packets
            (103, 257), // and 3 beyond
            (110, 16),  // 10 beyond
            (147, 4),   // 47
            (200, 6),   // 16 a round trip at most
        ] {
            assert_eq!(increase(&mut bic, f64::from(cwnd)).round() as u32, count.max(1), "{cwnd}");
        }
    }

    #[test]
    fn a_second_loss_at_the_maximum_keeps_the_maximum() {
        let mut bic = bic();
        bic.cut(100.0, 100.0);
        bic.cut(100.0, 100.0);
        assert_eq!(bic.w_max, 100.0);
        bic.cut(90.0, 90.0);
        assert_eq!(bic.w_max, 90.0 * (1.0 + BETA) / 2.0);
    }
}

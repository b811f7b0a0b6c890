//! BIC: binary search for the window at which the last loss came.
//!
//! *Idea.* Below the window of the last loss, W_max, the window grows by a quarter of what is missing a round trip, at most
//! by 16 packets; within two steps of it, by a fifth of a packet. Beyond it, it mirrors that: a fifth of a packet a round
//! trip for four packets, then a third of what it is beyond, at most 16. A loss cuts the window to 819/1024, and
//! W_max to less than the window if that was below W_max before (fast convergence). Up to 14 packets it is Reno.
//! *Parameters.* None: Linux's and ns-2's constants, the same in all their versions (Linux `max_increment` 16 packets,
//! `low_window` 14 packets, `smooth_part` 20, `BICTCP_B` 4, `beta` 819/1024, `fast_convergence` 1). The distance to W_max
//! counts in whole packets, as there. The paper has 32 packets for 16, and 7/8 for 819/1024.
//! *Where it breaks.* Growth goes by round trips: short ones take the link from long ones. Before the first loss, and
//! after a timeout, the window grows by 5 % a round trip.
//! *References.* L. Xu, K. Harfoush, I. Rhee, "Binary increase congestion control (BIC) for fast long-distance networks",
//! INFOCOM 2004; Linux net/ipv4/tcp_bic.c; ns-2.35 tcp/linux/src/tcp_bic.c.

use super::{Acked, Window, reno};

/// Left of the window after a loss.
const BETA: f64 = 819.0 / 1024.0;
/// The most packets a round trip.
const MOST_INCREMENT: u32 = 16;
/// Up to this window it is Reno, packets.
const LOW_WINDOW: f64 = 14.0;
/// One part in so many of the distance to W_max, a round trip.
const B: u32 = 4;
/// Round trips that the last `B` packets before W_max take.
const SMOOTH_PART: f64 = 20.0;
/// The least growth while W_max is unknown, of the window, a round trip.
const LEAST_UNKNOWN: f64 = 0.05;

/// What BIC remembers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bic {
    /// Window at the last loss, packets; 0 is unknown.
    w_max: f64,
}

impl Bic {
    pub(super) fn increase(&mut self, window: &mut Window, acked: Acked) {
        if window.in_slow_start() {
            window.cwnd = reno::increase(window.cwnd, window.ssthresh, acked.weight);
            return;
        }
        let mut packets = self.a_round_trip(window.cwnd);
        if self.w_max == 0.0 {
            packets = packets.max(LEAST_UNKNOWN * window.cwnd);
        }
        window.cwnd += packets * (f64::from(acked.packets) / window.cwnd).min(1.0);
    }

    /// Packets that the window grows by in a round trip.
    fn a_round_trip(&self, cwnd: f64) -> f64 {
        let smooth = f64::from(B) / SMOOTH_PART;
        if cwnd <= LOW_WINDOW {
            return 1.0;
        }
        let (whole, w_max) = (cwnd as u32, self.w_max as u32);
        if whole < w_max {
            match (w_max - whole) / B {
                0 | 1 => smooth,
                step => f64::from(step.min(MOST_INCREMENT)),
            }
        } else {
            match whole - w_max {
                beyond if beyond < B => smooth,
                beyond if beyond < MOST_INCREMENT * (B - 1) => f64::from(beyond) / f64::from(B - 1),
                _ => f64::from(MOST_INCREMENT),
            }
        }
    }

    pub(super) fn cut(&mut self, window: f64, cwnd: f64) -> f64 {
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        let left = if cwnd <= LOW_WINDOW { window / 2.0 } else { window * BETA };
        left.max(2.0)
    }

    pub(super) fn on_timeout(&mut self) {
        self.w_max = 0.0;
    }
}

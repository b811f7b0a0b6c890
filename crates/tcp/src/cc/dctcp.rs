//! DCTCP: Reno whose cut by marks follows the share of packets that were marked.
//!
//! *Idea.* A queue that marks above a threshold tells by the share M of marked packets how far above. Each window of data updates the
//! mean alpha = (1 - g) alpha + g M; a window with a mark cuts cwnd by alpha / 2: by half where all are marked, by little where few
//! are. A lost packet halves, as in Reno.
//! *Parameters.* g = 1/16; alpha begins at 1, so that the first mark halves (RFC 8257 section 4.2; Linux `dctcp_shift_g`,
//! `dctcp_alpha_on_init`).
//! *Where it breaks.* Beside senders that halve it takes more than its share; it is for networks of one owner. A queue that drops
//! where it would mark makes it Reno.
//! *References.* RFC 8257 section 3.3; M. Alizadeh et al., "Data center TCP (DCTCP)" (SIGCOMM 2010); Linux net/ipv4/tcp_dctcp.c.

use super::congestion_control::{Acked, CongestionControl, Echo, Window};
use super::reno;
use crate::config::Config;

const G: f64 = 1.0 / 16.0;

/// The state of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Dctcp {
    /// Estimate of the share of marked packets.
    alpha: f64,
    /// Packets acknowledged in this window of data, and those of them that were marked.
    acknowledged: u32,
    marked: u32,
    /// One more than the last packet of this window of data.
    window_end: u32,
    is_fractional: bool,
    is_whole: bool,
}

impl CongestionControl for Dctcp {
    fn new(config: &Config) -> Self {
        let (is_fractional, is_whole) = (config.fractional_halving, config.count_packets);
        Dctcp { alpha: 1.0, acknowledged: 0, marked: 0, window_end: 0, is_fractional, is_whole }
    }

    fn increase(&mut self, window: &mut Window, acked: Acked) {
        let Window { cwnd, ssthresh } = *window;
        window.cwnd = match self.is_whole {
            true => reno::increase_whole(cwnd, ssthresh, acked.weight),
            false => reno::increase(cwnd, ssthresh, acked.weight),
        };
    }

    fn cut(&mut self, window: f64, _: f64) -> f64 {
        reno::half(window, self.is_fractional)
    }

    fn cut_by_mark(&mut self, _: f64, cwnd: f64) -> f64 {
        cwnd * (1.0 - self.alpha / 2.0)
    }

    fn on_echo(&mut self, echo: Echo) {
        self.acknowledged += echo.packets;
        self.marked += echo.marked;
        if echo.next > self.window_end {
            let share = f64::from(self.marked) / f64::from(self.acknowledged.max(1));
            self.alpha = (1.0 - G) * self.alpha + G * share;
            (self.acknowledged, self.marked, self.window_end) = (0, 0, echo.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Profile, Variant};

    fn after_windows(shares: &[(u32, u32)]) -> Dctcp {
        let mut dctcp = Dctcp::new(&Config::of_variant(Profile::Linux, Variant::Dctcp));
        let mut next = 0;
        for &(packets, marked) in shares {
            let end = next + packets;
            dctcp.window_end = end - 1;
            for number in 0..packets {
                next += 1;
                dctcp.on_echo(Echo { packets: 1, marked: (number < marked).into(), next, end });
            }
        }
        dctcp
    }

    /// RFC 8257 section 3.3: with a share M in each of n windows alpha = M + (1 - M) (1 - g)^n.
    #[test]
    fn alpha_goes_to_the_share_of_marks() {
        for (marked, windows) in [(0, 1), (25, 10), (50, 40), (100, 7)] {
            let share = f64::from(marked) / 100.0;
            let expected = share + (1.0 - share) * (1.0 - G).powi(windows as i32);
            let alpha = after_windows(&vec![(100, marked); windows]).alpha;
            assert!(
                (alpha - expected).abs() < 1e-12,
                "{marked} of 100, {windows} windows: {alpha}, {expected}"
            );
        }
    }

    #[test]
    fn a_mark_cuts_by_half_of_alpha_and_a_loss_by_half() {
        let mut dctcp = after_windows(&[(10, 10)]);
        assert_eq!((dctcp.cut_by_mark(40.0, 40.0), dctcp.cut(40.0, 40.0)), (20.0, 20.0));
        let mut rarely = after_windows(&vec![(100, 10); 1000]);
        let left = rarely.cut_by_mark(40.0, 40.0);
        assert!((left - 40.0 * 0.95).abs() < 1e-9, "{left}");
    }
}

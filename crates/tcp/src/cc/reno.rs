//! Reno's window: additive increase, multiplicative decrease.
//!
//! *Idea.* Below ssthresh the window grows by one packet an acknowledgement (slow start), above it by 1 / cwnd (one packet
//! a round trip); a loss halves it.
//! *Parameters.* None; `Config::fractional_halving` selects whether half a packet counts, `Config::count_packets` whether an
//! acknowledgement counts for every packet that it covers.
//! *Where it breaks.* At windows of a few packets a loss seldom brings three duplicate acknowledgements, and timeouts rule.
//! *References.* RFC 5681; ns-2.35 tcp/tcp.cc `opencwnd`, `slowdown`.

use std::hint::select_unpredictable;

/// The window after new data were acknowledged as if by `acknowledgements` acknowledgements, packets. Those that bring it to ssthresh
/// count in full, the others for 1 / cwnd.
#[inline]
pub(crate) fn increase(cwnd: f64, ssthresh: u32, acknowledgements: u32) -> f64 {
    let (ssthresh, all) = (f64::from(ssthresh), f64::from(acknowledgements));
    if cwnd >= ssthresh {
        return cwnd + all / cwnd;
    }
    let in_full = all.min((ssthresh - cwnd).ceil());
    let grown = cwnd + in_full;
    grown + (all - in_full) / grown
}

/// The window after `packets` were acknowledged in Linux, whose window is whole and grows by one when as many packets as it has are
/// acknowledged (`tcp_slow_start`, `tcp_cong_avoid_ai`). The fraction of `cwnd` is the share of these that has come. An
/// acknowledgement may complete one packet of growth and count the rest for the next, by the window as it is then.
pub(crate) fn increase_whole(cwnd: f64, ssthresh: u32, packets: u32) -> f64 {
    let mut window = (cwnd as u32).max(1);
    let mut count = ((cwnd - f64::from(window)).max(0.0) * f64::from(window)).round() as u32;
    let in_full = packets.min(ssthresh.saturating_sub(window));
    window += in_full;
    if packets > in_full {
        if count >= window {
            (window, count) = (window + 1, 0);
        }
        count += packets - in_full;
        if count >= window {
            let more = count / window;
            (window, count) = (window + more, count - more * window);
        }
    }
    f64::from(window) + f64::from(count) / f64::from(window)
}

/// [`increase`] after a single acknowledgement.
#[inline]
pub(crate) fn increase_by_one(cwnd: f64, ssthresh: u32) -> f64 {
    let is_avoidance = cwnd >= f64::from(ssthresh);
    cwnd + 1.0 / select_unpredictable(is_avoidance, cwnd, 1.0)
}

/// Half of a window, packets.
#[inline]
pub(crate) fn half(window: f64, fractional: bool) -> f64 {
    if fractional { window / 2.0 } else { f64::from(window as u32 / 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_doubles_a_round_trip_and_avoidance_adds_one() {
        let mut cwnd = 4.0;
        for _ in 0..4 {
            cwnd = increase(cwnd, 100, 1);
        }
        assert_eq!(cwnd, 8.0);
        for _ in 0..8 {
            cwnd = increase(cwnd, 8, 1);
        }
        // Each step adds 1 / cwnd, and cwnd has grown by then: a little under one packet (ln 9/8 * 8 < 1).
        assert!((8.9..9.0).contains(&cwnd), "{cwnd}");
    }

    #[test]
    fn a_whole_window_grows_by_one_after_as_many_packets_as_it_has() {
        let mut cwnd = 2.0;
        for expected in 3..50 {
            for _ in 0..expected - 1 {
                assert!(cwnd < f64::from(expected));
                cwnd = increase_whole(cwnd, 2, 1);
            }
            assert_eq!(cwnd, f64::from(expected));
        }
        assert_eq!(increase_whole(4.0, 6, 8), 7.0); // two in slow start, then six for the next
    }

    #[test]
    fn what_is_left_over_counts_by_the_window_that_it_is_left_for() {
        // Acknowledgements of two: 2 of 3, 4 of 3 is a packet and 1 of 4, 3 of 4, 5 of 4 is one and 1 of 5.
        let grown = [3.0, 3.0 + 2.0 / 3.0, 4.25, 4.75, 5.2];
        for step in grown.windows(2) {
            assert_eq!(increase_whole(step[0], 2, 2), step[1]);
        }
    }

    /// Linux `tcp_cong_avoid_ai`: what has come for a larger window is one packet of this, and what comes now counts for the next.
    #[test]
    fn what_came_for_a_larger_window_is_a_packet_and_no_more() {
        assert_eq!(increase_whole(3.9, 2, 1), 4.25);
        assert_eq!(increase_whole(3.9, 2, 0), 4.0);
    }

    #[test]
    fn one_is_one() {
        for cwnd in [1.0, 1.5, 7.25, 8.0, 8.5, 1000.125] {
            assert_eq!(increase_by_one(cwnd, 8), increase(cwnd, 8, 1));
        }
    }

    #[test]
    fn many_at_once_pass_ssthresh_no_faster() {
        assert_eq!(increase(4.0, 100, 6), 10.0);
        assert_eq!(increase(10.0, 10, 5), 10.5);
        assert_eq!(increase(6.0, 10, 9), 10.5); // four in slow start, five of a tenth each
    }

    #[test]
    fn halving_keeps_or_drops_the_half_packet() {
        assert_eq!(half(7.5, true), 3.75);
        assert_eq!(half(7.5, false), 3.0);
    }
}

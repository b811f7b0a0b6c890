//! Reno's window: additive increase, multiplicative decrease.
//!
//! *Idea.* Below ssthresh the window grows by one packet an acknowledgement (slow start), above it by 1 / cwnd (one packet
//! a round trip); a loss halves it.
//! *Parameters.* None; `Config::fractional_halving` says whether half a packet counts.
//! *Where it breaks.* At windows of a few packets a loss seldom brings three duplicate acknowledgements, and timeouts rule.
//! *References.* RFC 5681; ns-2.35 tcp/tcp.cc `opencwnd`, `slowdown`.

/// The window after an acknowledgement of new data, packets.
#[inline]
pub(crate) fn increase(cwnd: f64, ssthresh: u32) -> f64 {
    if cwnd < f64::from(ssthresh) { cwnd + 1.0 } else { cwnd + 1.0 / cwnd }
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
            cwnd = increase(cwnd, 100);
        }
        assert_eq!(cwnd, 8.0);
        for _ in 0..8 {
            cwnd = increase(cwnd, 8);
        }
        // Each step adds 1 / cwnd, and cwnd has grown by then: a little under one packet (ln 9/8 * 8 < 1).
        assert!((8.9..9.0).contains(&cwnd), "{cwnd}");
    }

    #[test]
    fn halving_keeps_or_drops_the_half_packet() {
        assert_eq!(half(7.5, true), 3.75);
        assert_eq!(half(7.5, false), 3.0);
    }
}

//! The window that a pacing rule spreads, and what a kernel's rules make of it.

use crate::config::Config;

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
    /// The window of a sender with these settings, whose packets from `una` to `next` are in flight, and which recovers up to
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

/// A function that computes the [`Window`] of a sender's state. It reads these fields of the state only.
macro_rules! pacing_window {
    ($state:ident) => {
        || {
            $crate::pacing::window::Window::new(
                &$state.config,
                ($state.cwnd, $state.ssthresh),
                ($state.una, $state.next),
                $state.recover,
            )
        }
    };
}
pub(crate) use pacing_window;

/// A kernel's rate over that of a window a round trip: twice that in slow start, and after it so many times.
#[inline]
pub(crate) fn kernel_ratio(window: &Window, after: f64) -> f64 {
    if window.cwnd < window.ssthresh / 2.0 { 2.0 } else { after }
}

/// Linux's (net.ipv4.tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
#[inline]
pub(crate) fn linux_ratio(window: &Window) -> f64 {
    kernel_ratio(window, 1.2)
}

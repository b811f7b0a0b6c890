//! What a congestion control implements: how the window grows, and what a loss leaves of it.

use crate::config::Config;
use paceline_core::{Instant, Span};

/// An acknowledgement of new data, as a congestion control sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acked {
    /// When it arrived.
    pub(crate) now: Instant,
    /// It covers all packets before this one.
    pub(crate) next: u32,
    /// Packets that it covers for the first time.
    pub(crate) packets: u32,
    /// No loss is under repair (Linux `TCP_CA_Open`).
    pub(crate) open: bool,
    /// It reports a missing packet, or one was missing (Linux `tcp_ack_is_dubious`).
    pub(crate) dubious: bool,
    /// The window was used up.
    pub(crate) used: bool,
    /// The number of acknowledgements that it counts for: `Config::count_packets`.
    pub(crate) weight: u32,
    /// One more than the highest packet sent so far.
    pub(crate) end: u32,
    /// Smoothed round trip, seconds; 0 before the first sample.
    pub(crate) srtt: f64,
    /// The round trip that it measured, if it measured one.
    pub(crate) sample: Option<Span>,
}

/// An acknowledgement on a connection with ECN.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Echo {
    /// Packets that it covers for the first time.
    pub(crate) packets: u32,
    /// It covers all packets before this one.
    pub(crate) next: u32,
    /// It echoes a mark.
    pub(crate) is_marked: bool,
    /// One more than the highest packet sent so far.
    pub(crate) end: u32,
}

/// What a congestion control changes, packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: u32,
}

/// A congestion control other than Reno's, and its state for one connection.
pub(crate) trait CongestionControl: Sized {
    /// `Acked::used` says that as much was in flight as the window allows, and the control also receives acknowledgements of a
    /// window that was not used up. By default `used` says that the application had enough to send, and the others are left out.
    const RECEIVES_UNUSED: bool = false;

    /// The state of a new connection.
    fn new(config: &Config) -> Self;

    /// New data are acknowledged outside of recovery.
    fn increase(&mut self, window: &mut Window, acked: Acked);

    /// A loss at this congestion window. Returns what is left of `window`, packets; `Config::halving` says what counts as the
    /// window.
    fn cut(&mut self, window: f64, cwnd: f64) -> f64;

    /// A mark at this congestion window, at most one in a window. Returns what is left of `window`, packets.
    fn cut_by_mark(&mut self, window: f64, cwnd: f64) -> f64 {
        self.cut(window, cwnd)
    }

    /// An acknowledgement has come on a connection with ECN, before the window is cut or grows by it.
    fn on_echo(&mut self, _echo: Echo) {}

    /// The retransmission timer has run out: what the path bears is unknown again.
    fn on_timeout(&mut self) {}

    /// The application sends again after it had nothing to send for `idle`.
    fn on_idle(&mut self, _idle: Span) {}

    /// Packet `seq` is sent for the first time.
    #[inline]
    fn on_first_transmission(&mut self, _seq: u32, _now: Instant) {}
}

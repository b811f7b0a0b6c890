//! What a congestion control implements: how the window grows, and what a loss leaves of it.

use crate::config::Config;
use crate::sack::CaState;
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
    /// When pacing lets the next packet leave; [`Instant::MAX`] where it does not wait.
    pub(crate) paced_until: Instant,
}

/// An acknowledgement on a connection with ECN.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Echo {
    /// Packets that it covers for the first time.
    pub(crate) packets: u32,
    /// It covers all packets before this one.
    pub(crate) next: u32,
    /// Those of them that were marked, as far as the echo tells.
    pub(crate) marked: u32,
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

    /// The seed of what the control draws, the connection's own.
    fn with_seed(self, _seed: u64) -> Self {
        self
    }

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

    /// Packet `seq` is sent again.
    #[inline]
    fn on_retransmission(&mut self, _seq: u32, _now: Instant) {}

    /// The rate at which packets leave, if the control sets it. The connection is then always paced, by this.
    fn pace(&self) -> Option<Pace> {
        None
    }

    /// The control sets the window at each acknowledgement, recovery or not, instead of [`CongestionControl::increase`] and
    /// [`CongestionControl::cut`] (Linux `cong_control`).
    fn by_rate(&mut self) -> Option<&mut dyn RateControl> {
        None
    }
}

/// How fast packets leave (Linux `sk_pacing_rate`, `tcp_tso_autosize`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Payload, byte/s; at least 1.
    pub(crate) rate: u64,
    /// Packets that leave together.
    pub(crate) burst: u32,
}

/// An acknowledgement, as a control by rate sees it once recovery has processed it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateAck {
    pub(crate) now: Instant,
    /// It acknowledges all before this packet.
    pub(crate) next: u32,
    /// When the packet was sent that it echoes, with timestamps.
    pub(crate) echo: Option<Instant>,
    /// Packets that it newly reports (Linux `acked_sacked`), and packets newly known to be lost.
    pub(crate) delivered: u32,
    pub(crate) lost: u32,
    /// Packets in flight before and after it.
    pub(crate) prior_in_flight: u32,
    pub(crate) in_flight: u32,
    pub(crate) ca_state: CaState,
    /// Smoothed round trip, seconds; 0 before the first sample.
    pub(crate) srtt: f64,
    /// [`Acked::paced_until`]
    pub(crate) paced_until: Instant,
}

/// What the state of a sender tells a control by rate, besides what all controls are told.
pub(crate) trait RateControl {
    /// Packets from `start` up to `end` have arrived, beyond a hole or in order.
    fn on_arrival(&mut self, start: u32, end: u32, beyond: bool);

    /// The last transmission of packet `seq` is lost.
    fn on_lost(&mut self, seq: u32, cwnd: f64, now: Instant);

    /// An acknowledgement has been processed: sets the window.
    fn on_ack(&mut self, window: &mut Window, ack: RateAck);

    /// A timer has changed how many packets are in flight.
    fn set_in_flight(&mut self, in_flight: u32);

    /// The application writes, after everything before was sent and while the window has room.
    fn limit_by_application(&mut self, in_flight: u32);

    /// The application sends again after nothing was in flight.
    fn on_restart(&mut self, window: &mut Window, now: Instant);

    /// The timeout was needless.
    fn on_undo(&mut self, window: &mut Window);
}

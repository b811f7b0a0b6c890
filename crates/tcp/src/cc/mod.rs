//! Congestion control: how the window grows and by how much a loss cuts it. One file a control.
//!
//! Which losses are found, and what is sent while they are repaired, is loss recovery's part: [`crate::recovery`].

mod ack_ratio;
mod bic;
mod cubic;
mod hystart;
mod linux2007;
pub(crate) mod reno;

pub use cubic::Constants;

use crate::config::{Config, Variant};
use bic::Bic;
use cubic::Cubic;
use linux2007::Linux2007;
use paceline_core::{Instant, Span};

/// The control of one connection, if it is another than Reno's, which has no state: the one list.
#[derive(Debug, Clone)]
pub(crate) enum Control {
    Bic(Bic),
    Cubic(Cubic),
    Linux2007(Box<Linux2007>),
}

/// An acknowledgement of new data, as a control sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acked {
    /// When it came.
    pub(crate) now: Instant,
    /// It covers all before this packet.
    pub(crate) next: u32,
    /// Packets that it covers for the first time.
    pub(crate) packets: u32,
    /// Nothing was lost that it, or one before it, is to acknowledge first (Linux `TCP_CA_Open`).
    pub(crate) open: bool,
    /// Something is missing by what it reports, or was (Linux `tcp_ack_is_dubious`).
    pub(crate) dubious: bool,
    /// The window was used up.
    pub(crate) used: bool,
    /// For how many acknowledgements it counts: `Config::count_packets`.
    pub(crate) weight: u32,
    /// One more than the highest packet sent so far.
    pub(crate) end: u32,
    /// Round trip, smoothed, seconds; 0 before the first sample.
    pub(crate) srtt: f64,
    /// The round trip that it measured, if it measured one.
    pub(crate) sample: Option<Span>,
}

/// What a control moves, packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: u32,
}

impl Control {
    /// The control that the settings ask for.
    pub(crate) fn new(config: &Config) -> Option<Self> {
        match config.variant {
            Variant::Bic | Variant::Cubic if config.constants == Constants::Linux2007 => {
                Some(Control::Linux2007(Box::new(Linux2007::new(config))))
            }
            Variant::Bic => Some(Control::Bic(Bic::new())),
            Variant::Cubic => Some(Control::Cubic(Cubic::new(config))),
            _ => None,
        }
    }

    /// New data are acknowledged, outside of recovery: the window grows, if it was used up.
    #[inline]
    pub(crate) fn increase(&mut self, window: &mut Window, acked: Acked) {
        match self {
            Control::Linux2007(control) => control.increase(window, acked),
            _ if !acked.used => {}
            Control::Bic(bic) => bic.increase(window, acked),
            Control::Cubic(cubic) => cubic.increase(window, acked),
        }
    }

    /// It asks whether as much was in flight as the window allows, not whether the application had too little to send.
    pub(crate) fn wants_flight(&self) -> bool {
        matches!(self, Control::Linux2007(_))
    }

    /// A loss at this congestion window: what is left of `window`, which may be counted in another way (`Config::halving`),
    /// packets.
    pub(crate) fn cut(&mut self, window: f64, cwnd: f64) -> f64 {
        match self {
            Control::Bic(bic) => bic.cut(window, cwnd),
            Control::Cubic(cubic) => cubic.cut(window, cwnd),
            Control::Linux2007(control) => control.cut(window, cwnd),
        }
    }

    /// The loss was found by a timeout: what the path bears is unknown again.
    pub(crate) fn on_timeout(&mut self) {
        match self {
            Control::Bic(bic) => bic.on_timeout(),
            Control::Cubic(cubic) => cubic.on_timeout(),
            Control::Linux2007(control) => control.on_timeout(),
        }
    }

    /// The application goes on after it had nothing to send for `idle`.
    pub(crate) fn on_idle(&mut self, idle: Span) {
        if let Control::Cubic(cubic) = self {
            cubic.on_idle(idle);
        }
    }

    /// Packet `seq` leaves for the first time.
    #[inline]
    pub(crate) fn on_first_transmission(&mut self, seq: u32, now: Instant) {
        if let Control::Cubic(cubic) = self {
            cubic.on_first_transmission(seq, now);
        }
    }
}

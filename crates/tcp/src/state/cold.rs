//! Cold state: what few connections have, or what is seldom read, apart from the state that every acknowledgement needs.

use super::overhead::Overhead;
use super::pending::{PendingTimer, Probe};
use super::reduction::EcnSender;
use super::reordering::Reordering;
use super::small_queue::SmallQueue;
use super::trains::Trains;
use super::undo::Undo;
use crate::cc::Control;
use crate::pacing::Pacing;
use crate::sack::SackState;
use crate::short::ShortPackets;
use crate::sparse::{Blank, Sparse};
use crate::wheel::Wheel;
use paceline_core::{Instant, Span};

/// The cold state of a sender. A connection has none while it sends without end and without pacing, with Reno's congestion control,
/// unless an observer reads its round trips, or a packet is missing that selective acknowledgements have revealed. What each packet
/// of a paced connection needs comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Cold {
    /// When the pacing timer is due; `Instant::MAX` is never.
    pub(crate) pacing_at: Instant,
    /// When the wait for the host ends: [`Config::overhead`](crate::Config::overhead), or what is in its queue, with
    /// [`Config::tsq`](crate::Config::tsq), which is not set with the other; `Instant::MAX` where nothing waits.
    pub(crate) host_at: Instant,
    /// When a packet was last sent; noted where everything may once have been acknowledged.
    pub(crate) last_sent: Instant,
    /// Packets from this number on may be listed in `short`; `u32::MAX` where none is.
    pub(crate) short_from: u32,
    pub(crate) pacing: Option<Pacing>,
    /// Smoothed round-trip time without ticks, seconds; 0 before the first sample.
    pub(crate) smoothed: f64,
    pub(crate) overhead: Option<Overhead>,
    /// Blank where no packet is missing.
    pub(crate) sack: Sparse<SackState>,
    /// The cold state stays when `sack` is dropped.
    pub(crate) is_permanent: bool,
    pub(crate) has_rack: bool,
    /// `None` is Reno's.
    pub(crate) control: Option<Control>,
    pub(crate) short: ShortPackets,
    /// When everything that the application had written was acknowledged; noted for [`crate::IdleRestart::One`] and [`crate::IdleRestart::Paced`].
    pub(crate) idle_since: Instant,
    /// How far apart packets leave after a pause, until an acknowledgement comes.
    pub(crate) restart_gap: Option<Span>,
    /// Packets that earlier connections have sent for the first time.
    pub(crate) sent_before: u64,
    pub(crate) wheel: Wheel,
    pub(crate) ecn: EcnSender,
    /// With [`Config::tsq`](crate::Config::tsq).
    pub(crate) small_queue: Option<Box<SmallQueue>>,
    // The fields below are used with `Config::has_rack`, `trains` and `least` with `Config::gso` too.
    pub(crate) trains: Trains,
    pub(crate) probe: Option<Probe>,
    /// These two stay when `sack` is dropped.
    pub(crate) reordering: Sparse<Reordering>,
    pub(crate) undo: Sparse<Undo>,
    /// What `retransmission_at` is set for.
    pub(crate) pending: PendingTimer,
    /// Least round trip; [`Span::MAX`] before the first sample.
    pub(super) least: Span,
}

impl Cold {
    const BLANK: Cold = Cold {
        sack: Sparse::BLANK,
        is_permanent: false,
        has_rack: false,
        pacing: None,
        overhead: None,
        pacing_at: Instant::MAX,
        host_at: Instant::MAX,
        last_sent: Instant::ZERO,
        smoothed: 0.0,
        short_from: u32::MAX,
        control: None,
        short: ShortPackets::NONE,
        idle_since: Instant::ZERO,
        restart_gap: None,
        sent_before: 0,
        wheel: Wheel::EXACT,
        ecn: EcnSender::NONE,
        small_queue: None,
        trains: Trains::NONE,
        probe: None,
        reordering: Sparse::BLANK,
        undo: Sparse::BLANK,
        pending: PendingTimer::Timeout,
        least: Span::MAX,
    };

    /// Packets leave, for whatever reason.
    #[inline(always)]
    pub(crate) fn on_sent(&mut self, packets: u32, now: Instant) {
        self.last_sent = now;
        if let Some(pacing) = &mut self.pacing {
            pacing.on_sent(packets, now);
        }
    }

    /// When the first of its timers for sending is due: of pacing, or of a wait for the host; [`Instant::MAX`] is never.
    #[inline(always)]
    pub(crate) fn pacing_due(&self) -> Instant {
        self.pacing_at.min(self.host_at)
    }

    /// The packet that was retransmitted as a probe, and when.
    pub(crate) fn probed(&self) -> Option<(u32, Instant)> {
        self.probe.filter(|probe| probe.again).map(|probe| (probe.end - 1, probe.at))
    }

    /// Least round trip; zero before the first sample.
    pub(crate) fn least(&self) -> Span {
        if self.least == Span::MAX { Span::ZERO } else { self.least }
    }
}

impl Default for Cold {
    fn default() -> Self {
        Cold::BLANK
    }
}

impl Blank for Cold {
    fn blank() -> &'static Self {
        static BLANK: Cold = Cold::BLANK;
        &BLANK
    }
}

/// The pacing of a sender's state, and its timer, if it paces. Borrows nothing else of the state.
macro_rules! pacing {
    ($state:ident) => {
        $state.cold.written().and_then(|cold| Some((cold.pacing.as_mut()?, &mut cold.pacing_at)))
    };
}
pub(crate) use pacing;

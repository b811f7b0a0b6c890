//! What few connections have: it lies apart from what all ask for.

use super::alarm::{Alarm, Probe};
use super::overhead::Overhead;
use super::trains::Trains;
use crate::cc::Control;
use crate::pacing::Pacing;
use crate::recovery::Selective;
use crate::short::ShortPackets;
use crate::sparse::{Blank, Sparse};
use crate::wheel::Wheel;
use paceline_core::{Instant, Span};

/// What few connections have: it lies apart. One that sends without end and without pacing, with Reno's control, has none, unless somebody
/// asks for round trips, or selective acknowledgements have told something that still counts. What each packet of a paced connection asks for lies first.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Rare {
    /// When pacing asks again; `Instant::MAX` is never.
    pub(super) pacing_at: Instant,
    /// When the wait for the host is over; `Instant::MAX` where nothing waits.
    pub(super) overhead_at: Instant,
    /// When a packet was last sent; noted where all may once have been acknowledged.
    pub(super) last_sent: Instant,
    /// Smoothed round-trip time without ticks, seconds; 0 before the first sample. Noted where somebody asks
    /// ([`super::Sender::keep_round_trips`]).
    pub(crate) smoothed: f64,
    /// Packets from this number on may be listed in `short`; `u32::MAX` where none is.
    pub(super) short_from: u32,
    pub(super) pacing: Option<Pacing>,
    pub(super) overhead: Option<Overhead>,
    /// What selective acknowledgements have told: Sack1, RFC 6675 and FACK. Blank where nothing is missing.
    pub(crate) selective: Sparse<Selective>,
    /// Else it goes with what selective acknowledgements have told.
    pub(super) lasts: bool,
    /// `None` is Reno's.
    pub(super) control: Option<Control>,
    pub(super) short: ShortPackets,
    /// When all that the application had given was acknowledged; noted for [`crate::IdleRestart::One`].
    pub(super) idle_since: Instant,
    /// Packets that earlier connections have sent for the first time.
    pub(super) sent_before: u64,
    pub(super) wheel: Wheel,
    // The others where `Config::has_rack`.
    pub(crate) trains: Trains,
    pub(super) probe: Option<Probe>,
    /// What `retransmission_at` is for.
    pub(super) alarm: Alarm,
    /// Least round trip; [`Span::MAX`] before the first sample.
    pub(super) least: Span,
}

impl Rare {
    const BLANK: Rare = Rare {
        selective: Sparse::BLANK,
        lasts: false,
        pacing: None,
        overhead: None,
        pacing_at: Instant::MAX,
        overhead_at: Instant::MAX,
        last_sent: Instant::ZERO,
        smoothed: 0.0,
        short_from: u32::MAX,
        control: None,
        short: ShortPackets::NONE,
        idle_since: Instant::ZERO,
        sent_before: 0,
        wheel: Wheel::EXACT,
        trains: Trains::NONE,
        probe: None,
        alarm: Alarm::Timeout,
        least: Span::MAX,
    };

    /// Packets leave, whatever let them.
    #[inline(always)]
    pub(super) fn on_sent(&mut self, packets: u32, now: Instant) {
        self.last_sent = now;
        if let Some(pacing) = &mut self.pacing {
            pacing.on_sent(packets, now);
        }
    }

    /// The packet that was sent again as a probe, if one was, and when.
    pub(crate) fn probed(&self) -> Option<(u32, Instant)> {
        self.probe.filter(|probe| probe.again).map(|probe| (probe.end - 1, probe.at))
    }

    /// Selective acknowledgements have told nothing that still counts: whether there is nothing else here either.
    pub(crate) fn forget_selective(&mut self) -> bool {
        self.selective.clear();
        !self.lasts
    }

    /// Least round trip; zero before the first sample.
    pub(crate) fn least(&self) -> Span {
        if self.least == Span::MAX { Span::ZERO } else { self.least }
    }
}

impl Default for Rare {
    fn default() -> Self {
        Rare::BLANK
    }
}

impl Blank for Rare {
    fn blank() -> &'static Self {
        static BLANK: Rare = Rare::BLANK;
        &BLANK
    }
}

/// The pacing of a sender and its timer, if it paces: borrows nothing else of the sender.
macro_rules! pacing {
    ($sender:ident) => {
        $sender.rare.written().and_then(|rare| Some((rare.pacing.as_mut()?, &mut rare.pacing_at)))
    };
}
pub(super) use pacing;

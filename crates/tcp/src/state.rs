//! The state of a sender, and what acknowledgements, losses and timers change in it.
//!
//! Loss recovery ([`crate::recovery`]) reads and changes this state, and sends single packets by it. What the window lets out, and
//! when, is up to [`crate::sender`], which owns the state and calls the recoveries.

mod cold;
mod ecn;
mod eligibility;
mod loss_timer;
mod ns2_marks;
mod overhead;
mod pending;
mod reduction;
mod reordering;
pub(crate) mod small_queue;
mod trains;
mod transmission;
mod undo;
mod window;

use crate::cc::{Control, RateControl};
use crate::config::{Config, EcnMode};
use crate::pacing::Pacing;
use crate::rtt::Rtt;
use crate::sparse::Sparse;
use crate::wheel::Wheel;
pub(crate) use cold::{Cold, pacing};
pub(crate) use eligibility::FastPath;
use overhead::Overhead;
use paceline_core::{Instant, Span};
pub(crate) use pending::{PendingTimer, probed_at};
use small_queue::SmallQueue;
use std::hint::select_unpredictable;
use std::sync::Arc;

/// The last event that cut the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LastCut {
    #[default]
    None,
    /// Three duplicate acknowledgements: fast recovery runs.
    DuplicateAcks,
    /// Fast recovery is over.
    RecoveryLeft,
    Timeout,
    /// An echoed mark, with [`crate::EcnRule::Ns2`].
    Mark,
}

/// The state of one sender. Windows and numbers in packets. Fields are in the order of use: those that every acknowledgement and
/// every packet needs share two cache lines; the others are in [`Cold`].
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct State {
    pub(crate) config: Arc<Config>,
    /// First packet not yet acknowledged.
    pub(crate) una: u32,
    /// Next packet to send; falls back to `una` after a timeout.
    pub(crate) next: u32,
    /// One more than the highest packet ever sent.
    pub(crate) end: u32,
    /// One more than the last packet that the application has written, the SYN included.
    pub(crate) limit: u32,
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: u32,
    /// What duplicate acknowledgements add to the window during fast recovery.
    pub(crate) inflation: u32,
    /// Duplicate acknowledgements in a row.
    pub(crate) duplicates: u32,
    /// `end` when the first of `duplicates` came: limited transmit has added what is beyond.
    pub(crate) end_before_duplicates: u32,
    pub(crate) last_cut: LastCut,
    /// NewReno: a partial acknowledgement has come in this recovery.
    pub(crate) partial_seen: bool,
    pub(crate) fast_path: FastPath,
    /// Timeouts of the first packet: what they do to the window after the handshake, see [`State::first_window`].
    pub(crate) lost_first: u8,
    /// `end` at the last loss: recovery is over beyond it.
    pub(crate) recover: u32,
    /// `Instant::MAX` is never.
    pub(crate) retransmission_at: Instant,
    pub(crate) counts: Counts,
    pub(crate) rtt: Rtt,
    pub(crate) cold: Sparse<Cold>,
}

/// [`crate::Counters`] in 12 bytes; the packets sent are `end` and the retransmissions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) retransmits: u32,
    pub(crate) timeouts: u32,
    pub(crate) window_cuts: u32,
}

impl State {
    /// See [`crate::Sender::new`].
    pub(crate) fn new(
        config: Arc<Config>,
        packets: Option<u64>,
        clock_phase: Span,
        jitter_seed: u64,
    ) -> Self {
        let syn = u64::from(config.syn.is_some());
        let limit = packets
            .map_or(u32::MAX, |packets| u32::try_from(packets.saturating_add(syn)).unwrap_or(u32::MAX));
        let ssthresh = config.initial_ssthresh.unwrap_or(config.max_window);
        let waits = config.syn.is_some() && !config.data_with_syn;
        let cwnd = if waits { 1.0 } else { f64::from(config.initial_window) };
        let mut cold = Sparse::<Cold>::default();
        let control = Control::new(&config, jitter_seed);
        let has_ticks = config.timer_tick != Span::ZERO;
        let has_ecn = config.ecn != EcnMode::Off;
        let keeps_round_trips = has_ecn
            || config.gso.is_some()
            || config.tsq.is_some()
            || control.is_some()
            || config.rack
            || config.min_rto_beyond_srtt
            || has_ticks;
        let is_bare = !keeps_round_trips
            && packets.is_none()
            && config.pacing.is_none()
            && config.overhead == Span::ZERO;
        if !is_bare {
            cold.is_permanent = true;
            cold.has_rack = config.has_rack();
            cold.pacing = match control.as_ref().and_then(Control::pace) {
                Some(pace) => Some(Pacing::by_control(pace, &config)),
                None => {
                    let are_trains = config.gso.is_some();
                    config.pacing.map(|settings| Pacing::new(settings, jitter_seed).in_trains(are_trains))
                }
            };
            cold.overhead = Overhead::new(config.overhead, jitter_seed);
            cold.small_queue = config.tsq.map(|_| Box::new(SmallQueue::EMPTY));
            cold.control = control;
            cold.wheel = Wheel::of(&config, jitter_seed);
        }
        State {
            una: 0,
            next: 0,
            end: 0,
            limit,
            lost_first: 0,
            cwnd,
            ssthresh,
            fast_path: FastPath::of(&config, is_bare),
            inflation: 0,
            duplicates: 0,
            end_before_duplicates: 0,
            recover: u32::from(!config.halves_rate()),
            last_cut: LastCut::None,
            partial_seen: false,
            rtt: Rtt::new(&config, clock_phase),
            retransmission_at: Instant::MAX,
            cold,
            counts: Counts::default(),
            config,
        }
    }

    /// The connection has cold state from now on.
    pub(crate) fn keep_cold_state(&mut self) {
        self.cold.is_permanent = true;
        self.fast_path = FastPath::of(&self.config, false);
    }

    /// Losses are detected and repaired by RACK: what [`Config::has_rack`] works out.
    #[inline]
    pub(crate) fn has_rack(&self) -> bool {
        self.cold.get().is_some_and(|cold| cold.has_rack)
    }

    /// It is known when the packets in flight were sent, and the least round trip.
    #[inline]
    pub(crate) fn keeps_trains(&self) -> bool {
        self.has_rack() || self.config.gso.is_some()
    }

    /// Everything that the application has written is acknowledged.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.una == self.limit
    }

    /// The SYN is not acknowledged, and nothing else may be sent.
    pub(crate) fn is_shaking_hands(&self) -> bool {
        self.una == 0 && self.config.syn.is_some() && !self.config.data_with_syn
    }

    /// The congestion control, if it is another than Reno's. Reads first, since a write would allocate cold state.
    #[inline]
    pub(crate) fn control(&mut self) -> Option<&mut Control> {
        if self.cold.control.is_some() { self.cold.control.as_mut() } else { None }
    }

    /// The congestion control, if it is one by rate.
    pub(crate) fn rate_control(&mut self) -> Option<&mut dyn RateControl> {
        self.control().and_then(Control::by_rate)
    }

    /// Pacing follows the rate of the congestion control, if that sets one.
    #[inline]
    pub(crate) fn follow_control(&mut self) {
        if let Some(cold) = self.cold.written()
            && let Some(pacing) = &mut cold.pacing
            && let Some(pace) = pacing.pace()
            && let Some(new) = cold.control.as_ref().and_then(Control::pace)
        {
            *pace = new;
        }
    }

    /// A duplicate acknowledgement has come.
    #[inline(always)]
    pub(crate) fn count_duplicate(&mut self) {
        let is_first = self.duplicates == 0;
        self.end_before_duplicates = select_unpredictable(is_first, self.end, self.end_before_duplicates);
        self.duplicates += 1;
    }
}

//! Loss recovery: which packets an acknowledgement reveals as lost, and what is sent next. One file a recovery, in the list of
//! `config/variants.rs`.

mod fack;
mod fast_retransmit;
mod loss_recovery;
pub(crate) mod newreno;
pub(crate) mod rack;
mod rate_halving;
mod reno;
mod rfc6675;
mod sack1;
mod tahoe;

use crate::config::{Variant, variants};
use crate::feedback::Ack;
use crate::sack::CaState;
use crate::segment::Output;
use crate::state::{LastCut, State};
use loss_recovery::LossRecovery;
pub(crate) use loss_recovery::{NOTHING, WHOLE_WINDOW};
use paceline_core::Instant;

/// Defines the recovery that a configuration selects, from the list.
macro_rules! define_selection {
    (
        duplicate_acks { $($duplicates_name:literal $duplicates_file:ident::$Duplicates:ident $duplicates_doc:literal,)* }
        selective_acks { $($sack_name:literal $sack_file:ident::$Sack:ident $sack_doc:literal,)* }
        controls { $($control_name:literal $control_file:ident::$Control:ident $control_doc:literal,)* }
    ) => {
        impl Recovery {
            #[inline(always)]
            fn of(state: &State) -> Self {
                let config = &state.config;
                match config.variant {
                    $(Variant::$Duplicates => Recovery::$Duplicates,)*
                    Variant::Rfc6675 $(| Variant::$Control)* if state.has_rack() => Recovery::Rack,
                    $(Variant::$Sack => Recovery::$Sack,)*
                    $(Variant::$Control)|* if config.halves_rate() => Recovery::RateHalving,
                    $(Variant::$Control)|* => Recovery::Rfc6675,
                }
            }
        }

        // Rack and rate halving are selected by settings, the others by the variant.
        define_dispatch! {
            rack::Rack rate_halving::RateHalving $($duplicates_file::$Duplicates)* $($sack_file::$Sack)*
        }
    };
}

/// Defines the functions that call those of the selected recovery.
macro_rules! define_dispatch {
    ($($file:ident::$Recovery:ident)*) => {
        /// Every recovery.
        enum Recovery {
            $($Recovery,)*
        }

        /// See [`LossRecovery::on_ack`].
        #[inline]
        pub(crate) fn on_ack(
            state: &mut State,
            ack: Ack<'_>,
            now: Instant,
            out: &mut impl Output,
        ) -> u32 {
            match Recovery::of(state) {
                $(Recovery::$Recovery => $file::$Recovery::on_ack(state, ack, now, out),)*
            }
        }

        /// See [`LossRecovery::on_timeout`].
        pub(crate) fn on_timeout(state: &mut State) {
            match Recovery::of(state) {
                $(Recovery::$Recovery => $file::$Recovery::on_timeout(state),)*
            }
            drop_stale(state);
        }

        /// See [`LossRecovery::next_packet`]: where a packet is missing.
        #[inline(never)]
        fn next_packet_by_recovery(state: &State) -> Option<u32> {
            match Recovery::of(state) {
                $(Recovery::$Recovery => $file::$Recovery::next_packet(state),)*
            }
        }

        /// See [`LossRecovery::on_sent`]: where a packet is missing.
        #[inline(never)]
        pub(crate) fn on_sent(state: &mut State, seq: u32, now: Instant) {
            match Recovery::of(state) {
                $(Recovery::$Recovery => $file::$Recovery::on_sent(state, seq, now),)*
            }
        }
    };
}
variants!(define_selection);

/// The packet that may be sent now, if one may.
#[inline]
pub(crate) fn next_packet(state: &State) -> Option<u32> {
    if !state.cold.sack.is_blank() {
        return next_packet_by_recovery(state);
    }
    let fits = state.next - state.una < state.window() && state.next < state.limit;
    fits.then_some(state.next)
}

/// A wait for the host ([`crate::Config::overhead`]) ends: what [`after_wait`] is told, if it is to be called.
pub(crate) fn before_wait_ends(state: &mut State) -> Option<u32> {
    let counts = state.cold.overhead.is_some() && !state.cold.sack.is_blank();
    (counts && matches!(Recovery::of(state), Recovery::RateHalving))
        .then(|| rate_halving::before_wait_ends(state))
}

/// What the window let out at the end of a wait has left.
pub(crate) fn after_wait(state: &mut State, most: u32) {
    if !state.cold.sack.is_blank() {
        rate_halving::after_wait(state, most);
    }
}

/// New packets that the windows let out now, one after the other, if there are so many.
pub(crate) fn room(state: &State) -> u32 {
    if state.cold.sack.is_blank() {
        return state.window().saturating_sub(state.next - state.una);
    }
    rack::room(state)
}

/// Losses are repaired (Linux `TCP_CA_Recovery`, `TCP_CA_Loss`).
pub(crate) fn is_repairing(state: &State) -> bool {
    if !state.cold.sack.is_blank() {
        return !state.has_rack() || state.cold.sack.rack.ca_state >= CaState::Recovery;
    }
    matches!(state.last_cut, LastCut::DuplicateAcks | LastCut::Timeout) && state.una < state.recover
}

/// The application sends again after everything was acknowledged: no retransmission is lost any more.
pub(crate) fn on_restart(state: &mut State) {
    if !state.cold.sack.is_blank() {
        state.cold.sack.stalled = false;
        state.cold.sack.retransmitted.clear();
        drop_stale(state);
    }
}

/// Drops the state of missing packets where none is missing any more.
#[inline]
pub(crate) fn drop_stale(state: &mut State) {
    let una = state.una;
    let Some(cold) = state.cold.written() else { return };
    let is_stale = cold.sack.get().is_some_and(|sack| sack.is_stale(una));
    if is_stale && !cold.reordering.is_pending {
        cold.sack.clear();
        if !cold.is_permanent {
            state.cold.clear();
        }
    }
}

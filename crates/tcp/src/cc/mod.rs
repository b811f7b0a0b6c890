//! Congestion control: how the window grows and by how much a loss cuts it. One file a control, in the list of
//! `config/variants.rs`.
//!
//! Which packets are lost, and what is sent while they are repaired, is loss recovery: [`crate::recovery`].

mod ack_ratio;
mod bbr;
mod bbr3;
mod bic;
mod congestion_control;
mod cubic;
mod dctcp;
mod hystart;
mod hystart_plus_plus;
mod linux2007;
mod prague;
mod rate;
pub(crate) mod reno;

use crate::config::{Config, Constants, Variant, variants};
use congestion_control::CongestionControl;
pub(crate) use congestion_control::{Acked, Echo, Pace, RateAck, RateControl, Window};
use linux2007::Linux2007;
use paceline_core::{Instant, Span};

macro_rules! define_control {
    (
        duplicate_acks { $($duplicates:tt)* }
        selective_acks { $($sack:tt)* }
        controls { $($name:literal $file:ident::$Control:ident $doc:literal,)* }
    ) => {
        /// The congestion control of one connection, if it is another than Reno's, which has no state.
        #[derive(Debug, Clone)]
        pub(crate) enum Control {
            /// BIC and CUBIC with [`Constants::Linux2007`].
            Linux2007(Box<Linux2007>),
            $($Control($file::$Control),)*
        }

        impl Control {
            /// The control that a configuration selects; `seed` is that of its draws.
            pub(crate) fn new(config: &Config, seed: u64) -> Option<Self> {
                match config.variant {
                    Variant::Bic | Variant::Cubic if config.constants == Constants::Linux2007 => {
                        Some(Control::Linux2007(Box::new(Linux2007::new(config))))
                    }
                    $(Variant::$Control => {
                        Some(Control::$Control($file::$Control::new(config).with_seed(seed)))
                    })*
                    _ => None,
                }
            }

            /// New data are acknowledged outside of recovery.
            #[inline]
            pub(crate) fn increase(&mut self, window: &mut Window, acked: Acked) {
                match self {
                    Control::Linux2007(control) => control.increase(window, acked),
                    $(Control::$Control(control) => {
                        if acked.used || $file::$Control::RECEIVES_UNUSED {
                            control.increase(window, acked);
                        }
                    })*
                }
            }

            /// [`CongestionControl::RECEIVES_UNUSED`]
            pub(crate) fn receives_unused(&self) -> bool {
                match self {
                    Control::Linux2007(_) => Linux2007::RECEIVES_UNUSED,
                    $(Control::$Control(_) => $file::$Control::RECEIVES_UNUSED,)*
                }
            }

            /// A loss: returns what is left of `window`.
            pub(crate) fn cut(&mut self, window: f64, cwnd: f64) -> f64 {
                match self {
                    Control::Linux2007(control) => control.cut(window, cwnd),
                    $(Control::$Control(control) => control.cut(window, cwnd),)*
                }
            }

            /// A mark: returns what is left of `window`.
            pub(crate) fn cut_by_mark(&mut self, window: f64, cwnd: f64) -> f64 {
                match self {
                    Control::Linux2007(control) => control.cut(window, cwnd),
                    $(Control::$Control(control) => control.cut_by_mark(window, cwnd),)*
                }
            }

            /// See [`CongestionControl::on_echo`].
            pub(crate) fn on_echo(&mut self, echo: Echo) {
                match self {
                    Control::Linux2007(_) => {}
                    $(Control::$Control(control) => control.on_echo(echo),)*
                }
            }

            /// The retransmission timer has run out.
            pub(crate) fn on_timeout(&mut self) {
                match self {
                    Control::Linux2007(control) => control.on_timeout(),
                    $(Control::$Control(control) => control.on_timeout(),)*
                }
            }

            /// The application sends again after `idle`.
            pub(crate) fn on_idle(&mut self, idle: Span) {
                match self {
                    Control::Linux2007(control) => control.on_idle(idle),
                    $(Control::$Control(control) => control.on_idle(idle),)*
                }
            }

            /// Packet `seq` is sent for the first time.
            #[inline]
            pub(crate) fn on_first_transmission(&mut self, seq: u32, now: Instant) {
                match self {
                    Control::Linux2007(control) => control.on_first_transmission(seq, now),
                    $(Control::$Control(control) => control.on_first_transmission(seq, now),)*
                }
            }

            /// Packet `seq` is sent again.
            pub(crate) fn on_retransmission(&mut self, seq: u32, now: Instant) {
                match self {
                    Control::Linux2007(_) => {}
                    $(Control::$Control(control) => control.on_retransmission(seq, now),)*
                }
            }

            /// [`CongestionControl::pace`]
            pub(crate) fn pace(&self) -> Option<Pace> {
                match self {
                    Control::Linux2007(_) => None,
                    $(Control::$Control(control) => control.pace(),)*
                }
            }

            /// [`CongestionControl::by_rate`]
            pub(crate) fn by_rate(&mut self) -> Option<&mut dyn RateControl> {
                match self {
                    Control::Linux2007(_) => None,
                    $(Control::$Control(control) => control.by_rate(),)*
                }
            }
        }
    };
}
variants!(define_control);

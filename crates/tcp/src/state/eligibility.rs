//! Which connections have a fast path.

use crate::config::{Config, IdleRestart, Variant};
use paceline_core::Span;

/// The fast path of a connection: [`crate::Sender::on_ack_fast`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FastPath {
    None,
    /// The connection counts duplicate acknowledgements and never has cold state ([`super::Cold`]).
    Bare,
    /// It counts duplicate acknowledgements.
    Unpaced,
    /// It reads selective acknowledgements.
    Selective,
    Paced,
    PacedSelective,
}

impl FastPath {
    /// `is_bare`: the connection never has cold state.
    pub(crate) fn of(config: &Config, is_bare: bool) -> Self {
        let selective = config.variant.is_selective();
        let counts_duplicates = matches!(config.variant, Variant::Reno | Variant::NewReno);
        let has_fast_path = (selective || counts_duplicates && config.limited_transmit)
            && !config.timestamps
            && !config.rack
            && !config.variant.is_by_rate()
            && !config.count_packets
            && config.overhead == Span::ZERO
            && config.timer_fix
            && config.timer_tick == Span::ZERO
            && config.max_burst == u32::MAX
            && config.idle_restart != IdleRestart::Paced
            && config.gso.is_none()
            && config.tsq.is_none();
        match config.pacing {
            _ if !has_fast_path => FastPath::None,
            None if selective => FastPath::Selective,
            None if is_bare => FastPath::Bare,
            None => FastPath::Unpaced,
            Some(_) if selective => FastPath::PacedSelective,
            Some(_) => FastPath::Paced,
        }
    }
}

//! Time order and chance: events, the one order of simultaneous ones, random streams. It knows no network.

pub(crate) mod chance;
pub(crate) mod packet;
pub(crate) mod precedence;

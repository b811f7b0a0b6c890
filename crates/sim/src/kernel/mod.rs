//! Time order and chance: events, the one order of simultaneous ones, their calendar, random streams. It knows no network.

pub(crate) mod calendar;
pub(crate) mod cause;
pub(crate) mod chance;
pub(crate) mod ids;
pub(crate) mod packet;
pub(crate) mod precedence;
pub(crate) mod signals;

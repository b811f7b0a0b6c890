//! The batched engine: ordered links are served an epoch at a time ([`epoch`]); results are those of the reference engine.

pub(crate) mod backlog;
pub(crate) mod deadline_index;
pub(crate) mod delivery;
pub(crate) mod epoch;
pub(crate) mod fallback;
pub(crate) mod idle_skip;
pub(crate) mod merge_buffer;
pub(crate) mod shared_hosts;

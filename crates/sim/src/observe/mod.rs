//! What is seen of a run: statistics, instruments, traces. Watching changes nothing.

pub(crate) mod error;
pub(crate) mod instruments;
pub mod output;
pub mod trace;

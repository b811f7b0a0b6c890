//! What is seen of a run: statistics, instruments, traces. Watching changes nothing.

pub(crate) mod instrument;
pub mod output;
pub mod trace;

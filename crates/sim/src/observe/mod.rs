//! What is seen of a run: statistics, instruments, traces. Watching changes nothing.

pub(crate) mod error;
pub(crate) mod instrument;
pub(crate) mod observer;
pub mod output;
pub(crate) mod rows;
pub mod trace;

//! Why a run has no results.

use std::fmt;

/// Why a run ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunError {
    /// [`crate::control::Control::cancel`] was called.
    Cancelled,
    /// The trace sink refused a row.
    TraceRefused,
    /// The batched engine was asked for by name (`windowed`), and this network needs the reference engine.
    NoBatchedEngine,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunError::Cancelled => "the run was cancelled",
            RunError::TraceRefused => "the trace could not be written",
            RunError::NoBatchedEngine => {
                "the windowed engine cannot run this: packets get from host to host, round a ring of links, or through a link faster than 8 Gbit/s, without a delay; or no link is fed by several others"
            }
        })
    }
}

impl std::error::Error for RunError {}

//! Regular samples over a time, both ends included.

use paceline_core::{Instant, Span};

/// The time of a sample after the one at `at`: the last is at `to`, however long that is after the one before.
pub(super) fn next_of(at: Instant, every: Span, to: Instant) -> Option<Instant> {
    (at < to).then(|| (at + every).min(to))
}

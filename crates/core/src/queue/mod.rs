//! Queues: what waits before a wire, and when an arrival is refused.

mod drop_tail;

pub use drop_tail::{Booking, Counts, Departure, DropTail, Limit, QueueSpec};

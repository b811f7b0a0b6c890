//! The parts that a simulated link and a real one share: units, the [`Stage`] seam, queues, pacers, the wire.
//!
//! Nothing here reads a clock, does I/O or draws a random number: time is an argument, and a caller asks
//! [`Stage::next_wakeup`] when to call again.

pub mod gap;
pub mod pacer;
pub mod parameters;
pub mod policer;
pub mod queue;
pub mod stage;
pub mod units;
pub mod wire;

pub use gap::Gap;
pub use stage::{Cause, Ecn, Packet, Stage, Verdict};
pub use units::{Bytes, Instant, Rate, Span};
pub use wire::Wire;

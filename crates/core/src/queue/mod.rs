//! Queues: what waits before a wire, and when an arrival is dropped.

mod alike;
mod alike_wire;
mod classes;
mod closed_form;
mod codel;
mod discipline;
mod driven;
mod drop_front;
mod drop_tail;
mod drr;
mod dualpi2;
mod fq_codel;
mod held;
mod mrg32k3a;
mod pie;
mod powers;
mod priority;
mod red;
mod rule;
mod signal;
mod ties;

pub use alike_wire::AlikeWire;
pub use classes::CLASSES;
pub use closed_form::{Admission, Booking, ClosedDropTail, Departure, Observer, Waited};
pub use discipline::{DISCIPLINES, Discipline, Queue, Row, parse, table};
pub use driven::{QueueDriver, Served};
pub use drop_front::DropFront;
pub use drop_tail::DropTail;
pub use rule::{Counts, Limit, QueueSpec};
pub use ties::{Arrival, Ties, draw, mix};

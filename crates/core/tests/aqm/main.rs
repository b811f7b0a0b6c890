//! Disciplines that signal congestion early, or serve classes of packets, packet for packet against the pseudo-code of their RFCs or papers,
//! or ns-2's, written out here from those alone; and against ns-2 itself.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]
#![allow(clippy::disallowed_methods, reason = "an oracle may be a last bit off")]

mod codel;
mod drive;
mod drr;
mod dualpi2;
mod every;
mod fq_codel;
mod pie;
mod priority;
mod red;

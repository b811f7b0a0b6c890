//! Disciplines that signal congestion early, packet for packet against the pseudo-code of their RFCs, or ns-2's, written out here from
//! those alone; and against ns-2 itself.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong")]
#![allow(clippy::disallowed_methods, reason = "an oracle may be a last bit off")]

mod codel;
mod drive;
mod dualpi2;
mod fq_codel;
mod pie;
mod red;

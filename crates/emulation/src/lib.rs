//! What `paceline emulate` runs beside the kernel.
//!
//! `paceline-wires` is the network: every link of a scenario in one process and in virtual time, between TUN devices
//! behind which Linux's own TCP works. `paceline-traffic` is the applications: sockets in these network namespaces. Both
//! are started by `python/paceline/emulate`, which makes the namespaces and devices and hands their descriptors over:
//! a line of JSON on standard input says what to do, `ready` on standard output that it is set up, `start` and a time
//! of the monotonic clock when to begin, and a line of JSON on standard output what was found.

pub mod dialogue;
pub mod system;
pub mod traffic;
pub mod wires;

//! TCP as pure state machines: a sender, a receiver, the retransmission timer, congestion control, host pacing.
//!
//! Nothing here knows a network: a caller hands in acknowledgements and the time, and gets segments to send.

mod cc;
pub mod config;
mod pacing;
mod receiver;
mod recovery;
mod rtt;
mod sender;
mod short;

pub use receiver::Receiver;
pub use sender::{Counters, Output, Segment, Sender};

pub use config::{Config, Halving, HostPacing, PacingRule, Profile, Variant};

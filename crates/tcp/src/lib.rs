//! TCP as pure state machines: a sender, a receiver, the retransmission timer, congestion control, host pacing.
//!
//! Nothing here knows a network: a caller hands in acknowledgements and the time, and gets segments to send.

mod cc;
pub mod config;
mod feedback;
pub mod options;
mod pacing;
mod receiver;
mod recovery;
mod rtt;
mod sender;
mod short;
mod sparse;
mod wheel;

pub use cc::Constants;
pub use feedback::{Block, Feedback, MOST_BLOCKS};
pub use receiver::{Receiver, Reply};
pub use sender::{Counters, Output, Segment, Sender};
pub use sparse::{Blank, Sparse};

pub use config::{Config, Halving, HostPacing, IdleRestart, PacingRule, Profile, Recovery, Variant};

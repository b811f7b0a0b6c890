//! TCP as pure state machines: a sender, a receiver, the retransmission timer, congestion control, host pacing.
//!
//! Nothing here knows a network: a caller passes acknowledgements and the time, and receives segments to send.

mod cc;
pub mod config;
mod feedback;
pub mod options;
mod pacing;
mod receiver;
mod recovery;
mod rtt;
mod sack;
mod segment;
mod segmentation;
mod sender;
mod short;
mod sparse;
mod state;
mod wheel;

pub use feedback::{Block, Feedback, MOST_BLOCKS};
pub use receiver::{Receiver, Reply};
pub use segment::{Output, Segment};
pub use sender::{Counters, Sender};
pub use sparse::{Blank, Sparse};

pub use config::{
    Config, Constants, EcnMode, EcnRule, Halving, HostPacing, HyStartMode, IdleRestart, PacingRule, Profile,
    Recovery, Variant,
};

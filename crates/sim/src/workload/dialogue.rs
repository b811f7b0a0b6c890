//! The interface of applications and connections: notices one way, actions the other.

use paceline_core::Instant;

/// The two ends of a dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that opens the connection, and its flow to the other.
    Opener,
    /// The one that is called, and its flow back.
    Answerer,
}

impl Side {
    /// Position of this side's flow after the opener's.
    pub(crate) fn index(self) -> u32 {
        match self {
            Side::Opener => 0,
            Side::Answerer => 1,
        }
    }

    /// The other end.
    pub fn other(self) -> Side {
        match self {
            Side::Opener => Side::Answerer,
            Side::Answerer => Side::Opener,
        }
    }
}

/// What an application is notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The flow starts.
    Start,
    /// What it waited for: the time of this side has come.
    Timer(Side),
    /// The opener's SYN has reached the other side, or there is none.
    Opened,
    /// The first byte of this side's next message is sent.
    Begun(Side),
    /// A message of this side has been delivered whole.
    Delivered(Side),
    /// The last byte of a message of this side has been acknowledged.
    Acknowledged(Side),
}

/// What an application does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The opener opens the connection before it has anything to send. [`Notice::Opened`] follows.
    Open,
    /// This side sends a message of so many bytes.
    Write(Side, u64),
    /// This side is to be notified at this time. One timer a side.
    Wait(Side, Instant),
    /// This side's connection is closed, and a new one takes its place; nothing of the old one counts any more.
    Reopen(Side),
    /// A transfer that is more than a message is complete: see [`Transfer`].
    Complete { started: Instant, data_from: Instant, bytes: u64 },
}

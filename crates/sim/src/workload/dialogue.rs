//! The interface of applications and connections: notices one way, actions the other; and what a kind of dialogue says of itself.

use super::distribution::Distribution;
use crate::input::keys::Key;
use crate::input::{Result, Table};
use paceline_core::Instant;
use std::fmt::Debug;

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

/// A kind of dialogue as it is configured: what its flows are like.
pub(crate) trait Dialogue {
    /// Who talks on the flow of this name; its draws come from streams of that name.
    fn application(&self, seed: u64, flow: &str) -> Box<dyn Converse>;

    /// What this side sends.
    fn messages(&self, side: Side) -> Messages;

    /// The side that is called has something to say too: a flow back follows the opener's.
    fn has_flow_back(&self) -> bool;

    /// The opener closes its connection and opens another.
    fn replaces_connections(&self) -> bool {
        false
    }

    /// Each message is a transfer of its own; else the application reports them ([`Action::Complete`]).
    fn messages_are_transfers(&self) -> bool {
        true
    }

    /// The two sides do not wait for each other.
    fn is_concurrent(&self) -> bool {
        false
    }

    /// The connection's window is kept over its pauses, unless the scenario says otherwise.
    fn keeps_window(&self) -> bool {
        false
    }
}

/// A kind of dialogue that a table of a scenario describes.
pub(crate) trait Described: Dialogue + Sized {
    /// The keys of its table, beside `tcp` and those of every traffic.
    const KEYS: &'static [Key];

    /// Reads them.
    fn read(table: &Table<'_>) -> Result<Self>;
}

/// An application at work.
pub(crate) trait Converse: Debug + Send {
    /// Something has happened: what follows goes to `actions`, in order.
    fn notify(&mut self, notice: Notice, now: Instant, actions: &mut Vec<Action>);

    /// Whether this side, which has written so many messages and is sending the last of these, will write no more to its connection.
    fn has_no_more(&self, side: Side, written: usize) -> bool;
}

/// The messages of one side of a dialogue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Messages {
    /// Of one, bytes.
    pub(crate) size: Distribution,
    /// Before one, seconds.
    pub(crate) pause: Distribution,
    /// So many at most.
    pub(crate) most: Option<u64>,
}

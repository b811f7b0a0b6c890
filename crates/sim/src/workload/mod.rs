//! What applications make hosts send: one file a kind.
//!
//! *Idea.* A conversation is one flow, or two that go opposite ways between the same hosts, and an application that reacts:
//! it hears that a message of its was delivered or acknowledged, or that its time has come ([`Heard`]), and says what to
//! send and when it wants to be woken ([`Act`]). It knows neither packets nor the network. Open-loop sources hear nothing;
//! they only say when the next packet leaves ([`open_loop`]).
//!
//! An application that waits has one timer in the calendar and costs nothing else.

pub mod closed_loop;
pub mod cvec;
pub mod distribution;
pub(crate) mod messages;
mod modulated;
mod noise;
pub mod on_off;
pub mod open_loop;
pub mod rpc;
pub mod self_similar;
mod vector;

use self::closed_loop::{ClosedLoop, User};
use self::cvec::Vector;
use self::rpc::{Caller, Rpc};
use self::vector::Player;
use paceline_core::Instant;
use std::sync::Arc;

pub use self::distribution::Distribution;
pub use self::messages::Transfer;

/// The two ends of a conversation.
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

/// What a conversation is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Talk {
    /// Files, one after the other, with time to think between them.
    ClosedLoop(ClosedLoop),
    /// Requests and responses.
    Rpc(Rpc),
    /// A connection that was measured.
    Vector(Arc<Vector>),
}

impl Talk {
    /// The side that is called has something to say too: a flow back follows the opener's.
    pub fn has_flow_back(&self) -> bool {
        match self {
            Talk::ClosedLoop(_) => false,
            Talk::Rpc(_) | Talk::Vector(_) => true,
        }
    }

    /// Mean size of what one side says in one go, bytes.
    pub(crate) fn mean_bytes(&self, side: Side) -> f64 {
        match (self, side) {
            (Talk::ClosedLoop(habits), Side::Opener) => habits.size.mean(),
            (Talk::ClosedLoop(_), Side::Answerer) => 0.0,
            (Talk::Rpc(spec), Side::Opener) => spec.request.mean(),
            (Talk::Rpc(spec), Side::Answerer) => spec.response.mean(),
            (Talk::Vector(vector), side) => {
                let units = vector.units.iter().filter(|unit| unit.side == side).count();
                vector.bytes()[side.index() as usize] as f64 / units.max(1) as f64
            }
        }
    }

    /// The opener closes its connection and opens another.
    pub(crate) fn replaces_connections(&self) -> bool {
        matches!(self, Talk::ClosedLoop(habits) if habits.new_connections)
    }

    /// Each message is a transfer of its own; else the application says what is.
    pub(crate) fn messages_are_transfers(&self) -> bool {
        match self {
            Talk::ClosedLoop(_) | Talk::Vector(_) => true,
            Talk::Rpc(_) => false,
        }
    }
}

/// What an application is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
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
pub(crate) enum Act {
    /// The opener opens the connection before it has anything to send. [`Heard::Opened`] follows.
    Open,
    /// This side sends a message of so many bytes.
    Give(Side, u64),
    /// This side is to be told when it is this late. One timer a side.
    Wait(Side, Instant),
    /// This side's connection is closed, and a new one takes its place; nothing of the old one counts any more.
    Reopen(Side),
    /// A transfer that is more than a message is complete: see [`Transfer`].
    Complete { started: Instant, data_from: Instant, bytes: u64 },
}

/// An application at work.
#[derive(Debug)]
pub(crate) enum Application {
    ClosedLoop(User),
    Rpc(Caller),
    Vector(Player),
}

impl Application {
    /// Its draws come from streams of the flow's name.
    pub(crate) fn new(talk: &Talk, seed: u64, flow: &str) -> Self {
        match talk {
            Talk::ClosedLoop(spec) => Application::ClosedLoop(User::new(*spec, seed, flow)),
            Talk::Rpc(spec) => Application::Rpc(Caller::new(*spec, seed, flow)),
            Talk::Vector(vector) => Application::Vector(Player::new(Arc::clone(vector))),
        }
    }

    /// Whether this side, which has given so many messages and is sending the last of these, will give no more to its connection.
    pub(crate) fn has_no_more(&self, side: Side, given: usize) -> bool {
        match self {
            Application::ClosedLoop(user) => user.has_no_more(),
            Application::Rpc(caller) => caller.has_no_more(),
            Application::Vector(player) => player.has_no_more(side, given),
        }
    }

    /// Something has happened: what follows goes to `acts`, in order.
    pub(crate) fn hear(&mut self, heard: Heard, now: Instant, acts: &mut Vec<Act>) {
        match self {
            Application::ClosedLoop(user) => user.hear(heard, now, acts),
            Application::Rpc(caller) => caller.hear(heard, now, acts),
            Application::Vector(player) => player.hear(heard, now, acts),
        }
    }
}

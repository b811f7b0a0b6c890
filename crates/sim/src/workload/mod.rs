//! What applications make hosts send: one file a kind.
//!
//! *Idea.* A dialogue is one flow, or two that go opposite ways between the same hosts, and an application that reacts:
//! it is notified that a message of its was delivered or acknowledged, or that its timer has run out ([`Notice`]), and returns what to
//! send and when it wants to be woken ([`Action`]). It knows neither packets nor the network. Open-loop sources are notified of nothing;
//! they only say when the next packet leaves ([`open_loop`]).
//!
//! An application that waits has one timer in the calendar and costs nothing else.

pub mod closed_loop;
pub mod cvec;
mod dialogue;
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

pub use self::dialogue::Side;
pub(crate) use self::dialogue::{Action, Notice};
pub use self::distribution::Distribution;
pub use self::messages::Transfer;

/// What a dialogue is about.
#[derive(Debug, Clone, PartialEq)]
pub enum DialogueSpec {
    /// Files, one after the other, with time to think between them.
    ClosedLoop(ClosedLoop),
    /// Requests and responses.
    Rpc(Rpc),
    /// A connection that was measured.
    Vector(Arc<Vector>),
}

impl DialogueSpec {
    /// The side that is called has something to say too: a flow back follows the opener's.
    pub fn has_flow_back(&self) -> bool {
        match self {
            DialogueSpec::ClosedLoop(_) => false,
            DialogueSpec::Rpc(_) | DialogueSpec::Vector(_) => true,
        }
    }

    /// Mean size of one side's message, bytes.
    pub(crate) fn mean_bytes(&self, side: Side) -> f64 {
        match (self, side) {
            (DialogueSpec::ClosedLoop(habits), Side::Opener) => habits.size.mean(),
            (DialogueSpec::ClosedLoop(_), Side::Answerer) => 0.0,
            (DialogueSpec::Rpc(spec), Side::Opener) => spec.request.mean(),
            (DialogueSpec::Rpc(spec), Side::Answerer) => spec.response.mean(),
            (DialogueSpec::Vector(vector), side) => {
                let units = vector.units.iter().filter(|unit| unit.side == side).count();
                vector.bytes()[side.index() as usize] as f64 / units.max(1) as f64
            }
        }
    }

    /// The opener closes its connection and opens another.
    pub(crate) fn replaces_connections(&self) -> bool {
        matches!(self, DialogueSpec::ClosedLoop(habits) if habits.new_connections)
    }

    /// Each message is a transfer of its own; else the application reports them.
    pub(crate) fn messages_are_transfers(&self) -> bool {
        match self {
            DialogueSpec::ClosedLoop(_) | DialogueSpec::Vector(_) => true,
            DialogueSpec::Rpc(_) => false,
        }
    }
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
    pub(crate) fn new(talk: &DialogueSpec, seed: u64, flow: &str) -> Self {
        match talk {
            DialogueSpec::ClosedLoop(spec) => Application::ClosedLoop(User::new(*spec, seed, flow)),
            DialogueSpec::Rpc(spec) => Application::Rpc(Caller::new(*spec, seed, flow)),
            DialogueSpec::Vector(vector) => Application::Vector(Player::new(Arc::clone(vector))),
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

    /// Something has happened: what follows goes to `actions`, in order.
    pub(crate) fn notify(&mut self, notice: Notice, now: Instant, actions: &mut Vec<Action>) {
        match self {
            Application::ClosedLoop(user) => user.notify(notice, now, actions),
            Application::Rpc(caller) => caller.notify(notice, now, actions),
            Application::Vector(player) => player.notify(notice, now, actions),
        }
    }
}

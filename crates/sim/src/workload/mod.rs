//! What applications make hosts send: one file a kind.
//!
//! *Idea.* A dialogue is one flow, or two that go opposite ways between the same hosts, and an application that reacts:
//! it is notified that a message of its was delivered or acknowledged, or that its timer has run out ([`Notice`]), and returns what to
//! send and when it wants to be woken ([`Action`]). It knows neither packets nor the network. Open-loop sources are notified of nothing;
//! they only say when the next packet leaves ([`open_loop`]).
//!
//! A kind of dialogue is a file and a line in `dialogues!`; an open-loop source implements what [`open_loop`] asks for.
//!
//! An application that waits has one timer in the calendar and costs nothing else.

pub mod closed_loop;
pub mod cvec;
mod dialogue;
pub mod distribution;
pub(crate) mod distribution_reader;
pub(crate) mod messages;
mod modulated;
mod noise;
pub mod on_off;
pub mod open_loop;
pub mod rpc;
pub mod self_similar;
mod vector;

use self::closed_loop::ClosedLoop;
use self::cvec::Vector;
use self::dialogue::{Described, Dialogue};
use self::rpc::Rpc;
use crate::input::keys::Key;
use crate::input::{Result, Table};
use std::sync::Arc;

pub use self::dialogue::Side;
pub(crate) use self::dialogue::{Action, Converse, Messages, Notice};
pub use self::distribution::Distribution;
pub use self::messages::Transfer;

macro_rules! dialogues {
    (tables { $($name:literal => $Variant:ident($Spec:ty): $summary:literal;)+ }
     files { $($file:literal => $Listed:ident($ListedSpec:ty): $listed:literal;)+ }) => {
        /// What a dialogue is about.
        #[derive(Debug, Clone, PartialEq)]
        pub enum DialogueSpec {
            $(#[doc = $summary] $Variant($Spec),)+
            $(#[doc = $listed] $Listed($ListedSpec),)+
        }

        /// Those that a table describes.
        pub(crate) const DIALOGUES: &[Row] = &[$(Row {
            name: $name,
            summary: $summary,
            keys: <$Spec as Described>::KEYS,
            read: |table| <$Spec as Described>::read(table).map(DialogueSpec::$Variant),
        },)+];

        impl DialogueSpec {
            /// Its name in a scenario.
            pub fn name(&self) -> &'static str {
                match self {
                    $(DialogueSpec::$Variant(_) => $name,)+
                    $(DialogueSpec::$Listed(_) => $file,)+
                }
            }

            /// What its kind says of it.
            pub(crate) fn kind(&self) -> &dyn Dialogue {
                match self {
                    $(DialogueSpec::$Variant(spec) => spec,)+
                    $(DialogueSpec::$Listed(spec) => spec,)+
                }
            }
        }
    };
}

dialogues! {
    tables {
        "closed-loop" => ClosedLoop(ClosedLoop): "files, one after the other, with time to think between them";
        "rpc" => Rpc(Rpc): "requests and responses";
    }
    files {
        "cvec" => Vector(Arc<Vector>): "a connection that was measured";
    }
}

/// A kind of dialogue as a scenario names it.
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it is, in a line.
    pub(crate) summary: &'static str,
    /// The keys of its table, beside `tcp` and those of every traffic.
    pub(crate) keys: &'static [Key],
    /// Reads them.
    pub(crate) read: fn(&Table<'_>) -> Result<DialogueSpec>,
}

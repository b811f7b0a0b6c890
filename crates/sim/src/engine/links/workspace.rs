//! What the links' half works with while it serves an ordered link.

use super::merge_buffer::MergeBuffer;
use crate::engine::plan::ordered_links::OrderedLink;
use crate::kernel::packet::Event;
use crate::model::link::batch::Notes;
use paceline_core::{Instant, Span};

/// Room to sort what comes to a link.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    pub(super) sorter: MergeBuffer,
    /// What comes in its epoch, and what comes later.
    pub(super) due: Vec<Event>,
    pub(super) later: Vec<Event>,
}

/// Room for what leaves it, if it may go anywhere, and what is noted of it.
#[derive(Debug, Default)]
pub(super) struct Passing {
    pub(super) room: Vec<Event>,
    pub(super) notes: Notes,
}

/// Where everything goes that leaves an ordered link.
#[derive(Debug, Clone, Copy)]
pub(super) enum Destination {
    /// To the next ordered link, or back to their places (`fastpath/isolated_packets.rs`).
    OrderedLink,
    /// To hosts, by suffixes.
    Hosts,
    /// To several places: each packet where its route says.
    Anywhere,
}

impl Destination {
    pub(super) fn of(link: &OrderedLink) -> Self {
        match (link.next, &link.ends) {
            (Some(_), _) => Destination::OrderedLink,
            (None, Some(_)) => Destination::Hosts,
            (None, None) => Destination::Anywhere,
        }
    }
}

/// How far hosts have run, how far the run goes, and about how long an epoch is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Epoch {
    pub(crate) hosts_until: Instant,
    pub(crate) until: Instant,
    pub(crate) length: Span,
}

/// How an ordered link is served in an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    Alone,
    /// With the ordered link that it feeds, when that is served.
    WithNext,
    /// With those that feed it.
    WithSources,
}

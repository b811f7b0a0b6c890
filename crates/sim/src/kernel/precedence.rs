//! Which of the packets that reach a link from others at one instant goes first.
//!
//! *Idea.* By flow. But a link that decides ties as ns-2 does takes first what ns-2 scheduled first: an arrival is scheduled when
//! the packet's service at the link before begins, so the packet with the longer service and propagation there goes first.
//!
//! *References.* ns-2 2.35, `link/delay.cc` (`LinkDelay::recv`), `common/scheduler.cc`.

use super::packet::Event;
use paceline_core::Span;
use std::cmp::Ordering;
use std::fmt::Debug;

/// A network in which links decide ties as ns-2 does.
pub(crate) trait Leads: Debug + Sync {
    /// How long before ns-2 would have scheduled a packet's arrival at this link; `None` where another rule decides. `ack_hop` is the
    /// hop of an acknowledgement at its first link.
    fn lead(&self, link: u32, event: &Event, ack_hop: u8) -> Option<Span>;
}

/// The order of simultaneous arrivals.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Precedence<'a> {
    /// `None` where no link decides ties as ns-2 does.
    pub(crate) leads: Option<&'a dyn Leads>,
    /// The hop of an acknowledgement at its first link.
    pub(crate) ack_hop: u8,
}

impl Precedence<'_> {
    /// Of two packets that reach this link from others at the same time; equal where flows decide.
    pub(crate) fn order(&self, link: u32, one: &Event, other: &Event) -> Ordering {
        self.lead(link, other).cmp(&self.lead(link, one))
    }

    /// How long before ns-2 would have scheduled a packet's arrival at this link; nothing where another rule decides.
    pub(crate) fn lead(&self, link: u32, event: &Event) -> Span {
        self.leads.and_then(|leads| leads.lead(link, event, self.ack_hop)).unwrap_or_default()
    }
}

//! Which of the packets that reach a link from others at one instant goes first.
//!
//! *Idea.* By flow. But a link that decides ties as ns-2 does takes first what ns-2 scheduled first: an arrival is scheduled when
//! the packet's service at the link before begins, so the packet with the longer service and propagation there goes first.
//!
//! *References.* ns-2 2.35, `link/delay.cc` (`LinkDelay::recv`), `common/scheduler.cc`.

use crate::network::{FlowSpec, LinkId, Network};
use crate::packet::Event;
use paceline_core::Span;
use paceline_core::queue::Ties;
use std::cmp::Ordering;

/// The order of simultaneous arrivals, for a network.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Precedence<'a> {
    /// `None` where no link decides ties as ns-2 does.
    network: Option<&'a Network>,
    /// The hop of an acknowledgement at its first link.
    ack_hop: u8,
}

impl<'a> Precedence<'a> {
    pub(crate) fn of(network: &'a Network, ack_hop: u8) -> Self {
        let is_asked_for = network.links.iter().any(|link| link.fitting.buffer.ties == Ties::Ns2);
        Precedence { network: is_asked_for.then_some(network), ack_hop }
    }

    /// Of two packets that reach this link from others at the same time; equal where flows decide.
    pub(crate) fn order(&self, link: LinkId, one: &Event, other: &Event) -> Ordering {
        self.lead(link, other).cmp(&self.lead(link, one))
    }

    /// How long before ns-2 would have scheduled a packet's arrival at this link; nothing where another rule decides.
    pub(crate) fn lead(&self, link: LinkId, event: &Event) -> Span {
        self.link_before(link, event).unwrap_or_default()
    }

    fn link_before(&self, link: LinkId, event: &Event) -> Option<Span> {
        let network = self.network?;
        if network.links.get(link as usize)?.fitting.buffer.ties != Ties::Ns2 {
            return None;
        }
        let FlowSpec { forward, reverse, .. } = network.flows.get(event.flow as usize)?;
        let (way, hop) = match event.is_ack() {
            false => (forward, event.hop()),
            true => (reverse, event.hop() - usize::from(self.ack_hop)),
        };
        debug_assert_eq!(way.get(hop), Some(&link), "a packet is elsewhere than its hop says");
        let before = *way.get(hop.checked_sub(1)?)?;
        Some(network.links[before as usize].latency(event.bytes))
    }
}

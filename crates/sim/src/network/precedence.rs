//! How long before its arrival ns-2 would have scheduled a packet's, for links that decide ties as ns-2 does.

use super::{FlowSpec, LinkId, Network};
use crate::kernel::packet::Event;
use crate::kernel::precedence::{Leads, Precedence};
use paceline_core::Span;
use paceline_core::queue::Ties;

impl Network {
    /// The order of simultaneous arrivals. `ack_hop` is the hop of an acknowledgement at its first link.
    pub(crate) fn precedence(&self, ack_hop: u8) -> Precedence<'_> {
        let is_asked_for = self.links.iter().any(|link| link.fitting.buffer.ties == Ties::Ns2);
        Precedence { leads: is_asked_for.then_some(self), ack_hop }
    }
}

impl Leads for Network {
    fn lead(&self, link: LinkId, event: &Event, ack_hop: u8) -> Option<Span> {
        if self.links.get(link as usize)?.fitting.buffer.ties != Ties::Ns2 {
            return None;
        }
        let FlowSpec { forward, reverse, .. } = self.flows.get(event.flow as usize)?;
        let (way, hop) = match event.is_ack() {
            false => (forward, event.hop()),
            true => (reverse, event.hop() - usize::from(ack_hop)),
        };
        debug_assert_eq!(way.get(hop), Some(&link), "a packet is elsewhere than its hop says");
        let before = *way.get(hop.checked_sub(1)?)?;
        Some(self.links[before as usize].latency(event.bytes))
    }
}

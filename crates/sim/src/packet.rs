//! A packet as the simulator carries it, the events it makes, and the one total order of simultaneous events.
//!
//! The order: time; then class (departure, arrival, acknowledgement, timer, application); then place (links by number,
//! then hosts); then flow; then the order in which the previous link let them go. Consequences of an event at the same
//! instant (a sent packet reaching its first link) belong to the event and follow it at once.

use paceline_core::{Instant, Packet as _};
use std::cmp::Ordering;

/// A data packet or an acknowledgement on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// When its sender sent it (this time).
    pub(crate) sent: Instant,
    /// Position in `Network::flows`.
    pub(crate) flow: u32,
    /// Data: the packet's number. Acknowledgement: the first packet not yet received in order.
    pub(crate) seq: u32,
    /// On the wire, bytes.
    pub(crate) bytes: u16,
    /// How many links of its route it has passed.
    pub(crate) hop: u8,
    /// Acknowledgements travel the reverse route.
    pub(crate) is_ack: bool,
}

impl paceline_core::Packet for Packet {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.bytes)
    }
}

/// What happens, in the order in which simultaneous events are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A link's pacer or queue may let packets go.
    LinkWakeup,
    /// A packet reaches a link, or data reach their destination.
    Arrival,
    /// An acknowledgement reaches the sender.
    Acknowledgement,
    /// A retransmission timer may have run out.
    RetransmissionTimer,
    /// A pacing timer may have run out.
    PacingTimer,
    /// A host's port may release a packet.
    PortTimer,
    /// A flow starts, or an open-loop source sends.
    Application,
}

/// Something that will happen: 32 bytes, a packet among them (its fields lie open here, so that there is no padding).
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Event {
    /// When.
    pub(crate) at: Instant,
    sent: Instant,
    /// Where: a link's number, or the number of links plus a host's number.
    pub(crate) place: u32,
    flow: u32,
    seq: u32,
    bytes: u16,
    /// [`Packet::hop`], with the highest bit set for an acknowledgement.
    hop: u8,
    pub(crate) kind: Kind,
}

const ACK_BIT: u8 = 0x80;

impl Event {
    #[inline]
    pub(crate) fn of_packet(at: Instant, place: u32, kind: Kind, packet: Packet) -> Self {
        let Packet { sent, flow, seq, bytes, hop, is_ack } = packet;
        Event { at, sent, place, flow, seq, bytes, hop: hop | if is_ack { ACK_BIT } else { 0 }, kind }
    }

    /// An event that carries no packet.
    #[inline]
    pub(crate) fn of_flow(at: Instant, place: u32, kind: Kind, flow: u32) -> Self {
        Event { at, sent: Instant::ZERO, place, flow, seq: 0, bytes: 0, hop: 0, kind }
    }

    #[inline]
    pub(crate) fn packet(&self) -> Packet {
        let Event { sent, flow, seq, bytes, hop, .. } = *self;
        Packet { sent, flow, seq, bytes, hop: hop & !ACK_BIT, is_ack: hop & ACK_BIT != 0 }
    }

    #[inline]
    pub(crate) fn flow(&self) -> u32 {
        self.flow
    }

    /// A packet travels with this event.
    pub(crate) fn carries_packet(&self) -> bool {
        self.packet().bytes() > 0
    }

    /// Whether this event comes strictly before `other` in the total order.
    #[inline]
    pub(crate) fn precedes(&self, other: &Event) -> bool {
        self.order(other).is_lt()
    }

    /// The total order; events of one flow at one place and instant are equal, and keep the order of their making.
    #[inline]
    pub(crate) fn order(&self, other: &Event) -> Ordering {
        match self.at.cmp(&other.at) {
            Ordering::Equal => (self.kind, self.place, self.flow).cmp(&(other.kind, other.place, other.flow)),
            unequal => unequal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_half_a_cache_line() {
        assert_eq!(size_of::<Event>(), 32);
    }
}
